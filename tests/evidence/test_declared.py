"""What a local version says of torch, where the bytes of its file cannot be read."""

from __future__ import annotations

import pytest

from resolver.evidence.local_version import (
    declared_bounds,
    declared_pair,
    named_cxx11_abi,
    named_torch,
)
from resolver.model.outcome import Pair
from resolver.model.reason import Code, Grade, Reason
from tests.evidence.world import World, file, metadata, torch
from tests.support.named import named

FLASH = file("flash-attn", "2.8.3+cu12torch2.8cxx11abitrue", url=None)
NAME = "flash_attn-2.8.3+cu12torch2.8cxx11abitrue-cp312-cp312-manylinux_2_28_x86_64.whl"


@pytest.mark.parametrize(
    ("local", "release", "abi"),
    [
        ("cu12torch2.8cxx11abiTRUE", (2, 8), True),
        ("cu118torch2.2cxx11abiFALSE", (2, 2), False),
        ("cu130torch2.10", (2, 10), None),
        ("pt28cu128", (2, 8), None),
        ("pt210cu130", (2, 10), None),
        ("cu130", None, None),
        ("git7416ffcb", None, None),
    ],
)
def test_what_local_versions_name(
    local: str, release: tuple[int, int] | None, abi: bool | None
) -> None:
    artifact = file("kernel", f"1.0+{local}")
    assert named_torch(artifact) == release
    assert named_cxx11_abi(artifact) is abi


def test_a_named_release_bounds_torch() -> None:
    release, _ = declared_bounds(FLASH, lambda _: True)
    assert (release.project, release.text) == ("torch", "torch 2.8")
    assert [release.accepts(torch(v)) for v in ("2.8.0", "2.9.1")] == [True, False]
    assert release.explain(torch("2.9.1")) == (
        Reason(
            code=Code.MISSING_SYMBOL,
            subject=named("flash-attn 2.8.3+cu12torch2.8cxx11abitrue"),
            object=named("torch 2.9.1"),
            needs="the symbols of torch 2.8, which it was built with",
            found="torch 2.9.1",
            works_with="torch 2.8",
            grade=Grade.DECLARED,
            evidence=f"local version of {NAME}; the file itself was not read",
            remedy="use torch 2.8, or the build of flash-attn for your torch",
        ),
    )
    assert release.explain(None)[0].found == "another release of torch"


@pytest.mark.parametrize(("known", "accepted"), [(True, True), (False, False), (None, True)])
def test_a_named_string_abi_bounds_torch(known: bool | None, accepted: bool) -> None:
    _, abi = declared_bounds(FLASH, lambda _: known)
    assert abi.accepts(torch("2.8.0")) is accepted
    (reason,) = abi.explain(torch("2.6.0"))
    assert (reason.code, str(reason.object), reason.grade) == (
        Code.CXX11_ABI,
        "torch 2.6.0",
        Grade.DECLARED,
    )
    assert reason.needs == "a torch with the new C++11 ABI of std::string"
    assert reason.found == "one with the old ABI"
    assert reason.remedy == "take the build of flash-attn named cxx11abiFALSE"
    assert str(abi.explain(None)[0].object) == "torch"


def test_a_pair_as_its_local_version_declares_it() -> None:
    assert declared_pair(FLASH, torch("2.8.0")) == Pair(
        extension=named("flash-attn 2.8.3+cu12torch2.8cxx11abitrue"),
        torch=named("torch 2.8.0"),
        grade=Grade.DECLARED,
        evidence=f"its local version names torch 2.8; {NAME} itself was not read",
        summary="its local version names torch 2.8",
    )
    assert declared_pair(FLASH, torch("2.9.1")) is None
    assert declared_pair(file("kernel"), torch("2.9.1")) is None


def test_it_counts_only_where_the_bytes_cannot_be_read() -> None:
    evidence = World().evidence()
    needs = evidence.needs(FLASH, metadata(FLASH, "torch"))
    assert [str(need) for need in needs] == [
        "<cuda> 12",
        "torch (torch 2.8)",
        "torch (the new C++11 ABI)",
    ]
    pair = evidence.pair(FLASH, torch("2.8.0"))
    assert pair is not None
    assert pair.grade is Grade.DECLARED
    assert evidence.refusals(FLASH, metadata(FLASH, "torch"), torch("2.9.1")) == ()
