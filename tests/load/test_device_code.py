from __future__ import annotations

import struct
from pathlib import Path

import pytest

from resolver.model.cuda import Arch
from tests.load.world import World, elf


def fatbin(*numbers: int) -> bytes:
    """One fat binary with a cubin for each SM number."""
    entries = b"".join(
        struct.pack("<HHIQ12xI8xQ", 2, 1, 64, 8, number, 0) + bytes(16) + bytes(8)
        for number in numbers
    )
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entries)) + entries


@pytest.fixture
def world(tmp_path: Path) -> World:
    found = World(tmp_path / "env")
    found.torch()
    module = elf(None, needed=("libtorch.so",), defined=("PyInit__ext",))
    module.filler = fatbin(80, 90)
    found.install("ext", "1.0", {"ext/_ext.abi3.so": module.build()})
    return found


def test_small_libraries_are_read_at_once(world: World) -> None:
    (reason,) = world.check(archs=(Arch(12, 0),)).findings
    assert (str(reason.code), reason.found) == ("no-device-code", "sm_80, sm_90")


def test_device_code_is_read_on_demand_and_kept(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("resolver.evidence.installed_device_code.SMALL", 0)
    cache = tmp_path / "cache"
    blackwell = (Arch(12, 0),)
    before = world.check(archs=blackwell, cache=cache)
    assert before.verdict == "ok"
    assert before.notes[-1] == ("device code of 1 libraries was not read: --full reads it, once")
    full = world.check(archs=blackwell, cache=cache, full=True)
    (reason,) = full.findings
    assert (str(reason.code), str(reason.severity)) == ("no-device-code", "fatal")
    assert reason.found == "sm_80, sm_90"
    assert world.check(archs=blackwell, cache=cache).findings == full.findings


def test_device_code_that_serves(world: World) -> None:
    assert world.check(archs=(Arch(9, 0),), full=True).verdict == "ok"
