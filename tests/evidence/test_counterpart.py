"""A torch that was read for x86_64 alone speaks against a wheel for aarch64, never for it."""

from __future__ import annotations

import pytest

from resolver.model.artifact import Artifact
from resolver.model.reason import Code, Grade, Severity
from resolver.solve.candidate import Bound
from tests.abi.columns import CHECK_INT, CLONE, SYM_NE
from tests.evidence.world import World, facts, file, member, metadata, torch
from tests.support.fakes import make_target

KERNEL = file("kernel", tag="cp312-cp312-manylinux_2_28_aarch64")
# Nobody exports it: a name that x86_64 builds may never have had.
VA_LIST = "_ZN3c1010log_formatEPKcSt9__va_list"


def world(*symbols: str, machine: str = "aarch64") -> World:
    target = make_target(cuda="12.8", machine=machine)
    return World(target=target).tell(facts(KERNEL, member("kernel/core.so", *symbols)))


def bound(of: World) -> Bound:
    (need,) = of.evidence().needs(KERNEL, metadata(KERNEL))
    assert isinstance(need, Bound)
    return need


def build(version: str) -> Artifact:
    return torch(version, read=False)


@pytest.mark.parametrize(
    ("version", "accepted"),
    [
        pytest.param("2.10.0", False, id="the-signature-moved"),
        pytest.param("2.10.0+cu130", False, id="with-another-cuda"),
        pytest.param("2.9.1+cu130", True, id="it-is-there"),
        pytest.param("2.10.0+cpu", True, id="no-cpu-build-was-read"),
        pytest.param("2.6.0+cu124", True, id="another-abi"),
        pytest.param("2.10.0rc1", True, id="a-pre-release"),
        pytest.param("2.13.0", True, id="a-release-that-nobody-read"),
    ],
)
def test_what_is_gone_there_is_gone_here(version: str, accepted: bool) -> None:
    assert bound(world(CLONE, CHECK_INT, SYM_NE)).accepts(build(version)) is accepted


def test_other_machines_are_no_counterpart() -> None:
    evidence = world(CHECK_INT, machine="ppc64le").evidence()
    assert evidence.refusals(KERNEL, metadata(KERNEL), build("2.10.0")) == ()


def test_a_refusal_is_inferred_and_says_what_was_compared() -> None:
    evidence = world(CHECK_INT, SYM_NE).evidence()
    (reason,) = evidence.refusals(KERNEL, metadata(KERNEL), build("2.10.0+cu130"))
    assert (reason.code, reason.severity, reason.grade, reason.symbols, reason.works_with) == (
        Code.MISSING_SYMBOL,
        Severity.FATAL,
        Grade.INFERRED,
        (CHECK_INT,),
        "torch >=2.9,<2.10",
    )
    assert reason.evidence.endswith(
        "; torch 2.10.0+cu130 was not read for aarch64: the x86_64 build of the release was "
        "compared, and what is gone there is gone here"
    )


def test_that_it_is_there_proves_nothing() -> None:
    evidence = world(CHECK_INT, SYM_NE).evidence()
    evidence.needs(KERNEL, metadata(KERNEL))
    assert evidence.pair(KERNEL, build("2.9.1")) is None
    (remark,) = evidence.remarks(KERNEL, build("2.9.1"))
    assert (remark.code, remark.grade) == (Code.UNVERIFIED, Grade.ASSUMED)


def test_a_name_that_x86_64_never_had_is_not_missed() -> None:
    assert bound(world(CHECK_INT, VA_LIST)).accepts(build("2.9.1"))
    assert not bound(world(CHECK_INT, VA_LIST)).accepts(build("2.10.0"))


def test_a_feature_that_is_gone_there_is_told_beside_what_is_not_known() -> None:
    needs = (member("kernel/core.so", CLONE), member("kernel/extra.so", CHECK_INT))
    evidence = World(target=make_target(cuda="12.8", machine="aarch64")).tell(facts(KERNEL, *needs))
    running = evidence.evidence()
    running.needs(KERNEL, metadata(KERNEL))
    found = [(r.code, r.severity, r.grade) for r in running.remarks(KERNEL, build("2.10.0"))]
    assert found == [
        (Code.MISSING_SYMBOL, Severity.DEGRADED, Grade.INFERRED),
        (Code.UNVERIFIED, Severity.WARNING, Grade.ASSUMED),
    ]


@pytest.mark.parametrize(
    ("machine", "symbols", "bounds"),
    [
        pytest.param("aarch64", (CHECK_INT,), 1, id="an-older-torch-of-another-machine"),
        pytest.param("aarch64", (CHECK_INT, VA_LIST), 0, id="no-torch-at-all"),
        pytest.param("x86_64", (CHECK_INT, VA_LIST), 0, id="no-torch-of-its-own-machine"),
    ],
)
def test_members_that_link_with_no_torch_are_alternatives(
    machine: str, symbols: tuple[str, ...], bounds: int
) -> None:
    of = world(machine=machine).tell(facts(KERNEL, member("kernel/unnamed.so", *symbols)))
    assert len(of.evidence().needs(KERNEL, metadata(KERNEL, "torch"))) == bounds
