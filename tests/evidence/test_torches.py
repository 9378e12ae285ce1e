"""A torch that nobody has read: judged by its two small libraries where it can be reached."""

from __future__ import annotations

from dataclasses import replace

import pytest

from resolver.model.reason import Code, Grade
from resolver.solve.candidate import Bound
from tests.abi.columns import CHECK_INT, CHECK_UNSIGNED, SYM_NE
from tests.abi.elf_builder import Elf
from tests.abi.wheels import make_wheel
from tests.evidence.world import World, facts, file, member, metadata, torch

KERNEL = file("kernel")
NIGHTLY = torch("2.12.0.dev20260226", read=False)


def torch_wheel(check: str) -> bytes:
    return make_wheel(
        {
            "torch/lib/libc10.so": Elf(defined=[SYM_NE]).build(),
            "torch/lib/libc10_cuda.so": Elf(defined=[check]).build(),
        }
    )


def bound(world: World) -> Bound:
    world.tell(facts(KERNEL, member("kernel/core.so", CHECK_INT, SYM_NE)))
    (need,) = world.evidence().needs(KERNEL, metadata(KERNEL))
    assert isinstance(need, Bound)
    return need


@pytest.mark.parametrize(
    ("exported", "accepted"),
    [
        pytest.param(CHECK_UNSIGNED, False, id="the-signature-moved"),
        pytest.param(CHECK_INT, True, id="nothing-speaks-against-it"),
    ],
)
def test_a_nightly_is_judged_by_its_core(exported: str, accepted: bool) -> None:
    need = bound(World(wheels={NIGHTLY.filename: torch_wheel(exported)}))
    assert need.accepts(NIGHTLY) is accepted


def test_a_refused_nightly_is_told_by_its_symbol() -> None:
    need = bound(World(wheels={NIGHTLY.filename: torch_wheel(CHECK_UNSIGNED)}))
    reason = need.explain(NIGHTLY)[0]
    assert (reason.code, str(reason.object), reason.grade, reason.symbols) == (
        Code.MISSING_SYMBOL,
        "torch 2.12.0.dev20260226",
        Grade.MEASURED,
        (CHECK_INT,),
    )
    assert reason.found.endswith("(int, char const*, char const*, unsigned int, bool)")


@pytest.mark.parametrize("wheels", [{}, {NIGHTLY.filename: b"no zip"}], ids=["absent", "damaged"])
def test_a_nightly_that_cannot_be_read_stays_open(wheels: dict[str, bytes]) -> None:
    world = World(wheels=wheels)
    assert bound(world).accepts(NIGHTLY)
    assert world.evidence().pair(KERNEL, NIGHTLY) is None


def test_a_search_reads_a_bounded_number_of_nightlies() -> None:
    days = [
        replace(torch(f"2.12.0.dev202602{day}", read=False), sha256=f"{day:064x}")
        for day in range(10, 20)
    ]
    world = World(wheels={a.filename: torch_wheel(CHECK_UNSIGNED) for a in days})
    need = bound(world)
    verdicts = [need.accepts(nightly) for nightly in days]
    assert verdicts == [False] * 4 + [True] * 6
    assert len(world.opened) == 4


def test_a_known_release_is_never_opened() -> None:
    world = World()
    need = bound(world)
    assert [need.accepts(torch(v)) for v in ("2.9.1", "2.10.0")] == [True, False]
    assert world.opened == []
