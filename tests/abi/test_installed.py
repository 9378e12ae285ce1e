from __future__ import annotations

import struct
import zlib
from pathlib import Path

import pytest

from resolver.abi.damage import DamagedElf, DamagedFatbin
from resolver.abi.elf import Prefix, read_elf
from resolver.abi.installed import probe_file
from resolver.model.cuda import DeviceCode
from tests.abi.elf_builder import Elf
from tests.abi.test_fatbin import fatbin

TORCH = "_ZN2at6Tensor5cloneEv"


def test_reads_in_place(tmp_path: Path) -> None:
    path = tmp_path / "_C.so"
    data = Elf(undefined=[TORCH], filler=fatbin([(2, 120, 0x100000)]) + bytes(40)).build()
    path.write_bytes(data)
    member = probe_file(path, name="demo/_C.so")
    assert (member.path, member.size, member.crc32) == ("demo/_C.so", len(data), 0)
    assert member.facts == read_elf(Prefix(data, len(data)))
    assert member.device_code is None
    whole = probe_file(path, name="demo/_C.so", full=True)
    assert whole.crc32 == zlib.crc32(data)
    assert whole.device_code == (DeviceCode.parse("sm_120a"),)


def test_what_is_no_shared_object(tmp_path: Path) -> None:
    path = tmp_path / "libx.so"
    path.write_bytes(b"INPUT(libx.so.1)")
    assert probe_file(path, name="libx.so").facts is None
    path.write_bytes(b"")
    assert probe_file(path, name="libx.so", full=True).device_code == ()


def test_damage_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "_C.so"
    data = bytearray(Elf().build())
    struct.pack_into("<H", data, 56, 60000)
    path.write_bytes(data)
    with pytest.raises(DamagedElf) as caught:
        probe_file(path, name="demo/_C.so")
    assert str(caught.value) == "demo/_C.so: has 60000 program headers of 56 bytes"
    recipe = Elf(filler=fatbin([(2, 90, 0), (2, 80, 0)]))
    body = bytearray(recipe.build())
    struct.pack_into("<Q", body, recipe.offsets["filler"] + 16 + 88 + 8, 1 << 40)
    path.write_bytes(body)
    with pytest.raises(DamagedFatbin):
        probe_file(path, name="demo/_C.so", full=True)


def test_absent(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        probe_file(tmp_path / "gone.so", name="gone.so")
