"""The reader of installed objects: what it sees, and that damage is told."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerDefSection
from elftools.elf.sections import SymbolTableSection

from resolver.abi.shared_object import read_shared_object
from resolver.errors import DamagedData
from resolver.model.shared_object import SharedObject
from tests.load.world import elf


def read(tmp_path: Path, data: bytes) -> SharedObject | None:
    path = tmp_path / "lib.so"
    path.write_bytes(data)
    return read_shared_object(path)


def test_what_is_no_object(tmp_path: Path) -> None:
    assert read(tmp_path, b"") is None
    assert read(tmp_path, b"\x7fELF" + bytes(200)) is None
    with pytest.raises(FileNotFoundError):
        read_shared_object(tmp_path / "none")


def test_a_program_is_read_like_a_library(tmp_path: Path) -> None:
    data = bytearray(elf(None, needed=("libpython3.12.so.1.0",), defined=("Py_Main",)).build())
    data[16:18] = b"\2\0"
    found = read(tmp_path, bytes(data))
    assert found is not None
    assert (found.needed, found.plain) == (("libpython3.12.so.1.0",), frozenset({"Py_Main"}))


@pytest.mark.parametrize("version", ["GLIBC_2.34", "GLIBCXX_3.4.30"])
def test_versions_that_are_required(tmp_path: Path, version: str) -> None:
    found = read(tmp_path, elf("lib.so", versions=(("libx.so.6", version),)).build())
    assert found is not None
    assert found.needs == (("libx.so.6", version, False),)


def test_damage_is_told_and_nothing_else_is_raised(tmp_path: Path) -> None:
    whole = elf(
        "lib.so.1",
        needed=("liba.so", "libb.so"),
        undefined=("one", "two"),
        defined=tuple(f"name{i}" for i in range(20)),
        runpath="$ORIGIN:/opt",
        versions=(("liba.so", "A_1"), ("libb.so", "B_1")),
    ).build()
    chance = random.Random(7)
    told = 0
    for _ in range(800):
        data = bytearray(whole)
        for _ in range(chance.randint(1, 4)):
            data[chance.randrange(len(data))] = chance.choice(
                (0, 1, 127, 255, chance.randrange(256))
            )
        cut = len(data) if chance.random() < 0.7 else chance.randrange(len(data))
        try:
            read(tmp_path, bytes(data[:cut]))
        except DamagedData:
            told += 1
    assert told > 50


LIBRARIES = [
    path
    for name in ("libc.so.6", "libstdc++.so.6", "libm.so.6", "libgcc_s.so.1")
    for base in ("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64")
    if (path := Path(base, name)).exists()
]


@pytest.mark.parametrize("path", sorted(set(LIBRARIES)), ids=str)
def test_the_systems_libraries_as_pyelftools_reads_them(path: Path) -> None:
    found = read_shared_object(path)
    assert found is not None
    with path.open("rb") as file:
        file_ = ELFFile(file)
        dynamic = file_.get_section_by_name(".dynamic")
        assert isinstance(dynamic, DynamicSection)
        needed = [vars(tag)["needed"] for tag in dynamic.iter_tags("DT_NEEDED")]
        table = file_.get_section_by_name(".dynsym")
        assert isinstance(table, SymbolTableSection)
        defined = {
            symbol.name
            for symbol in table.iter_symbols()
            if symbol["st_shndx"] != "SHN_UNDEF"
            and symbol["st_info"]["bind"] in ("STB_GLOBAL", "STB_WEAK", "STB_LOOS")
        }
        given = file_.get_section_by_name(".gnu.version_d")
        assert isinstance(given, GNUVerDefSection)
        versions = {
            auxiliary.name
            for definition, each in given.iter_versions()
            for auxiliary in [next(iter(each))]
            if not definition["vd_flags"] & 1
        }
    assert list(found.needed) == needed
    assert found.plain | found.versioned.keys() == defined - {""}
    assert found.offers == versions


@pytest.mark.skipif(shutil.which("nm") is None or not LIBRARIES, reason="needs nm and a glibc")
def test_default_versions_as_nm_prints_them() -> None:
    path = LIBRARIES[0]
    found = read_shared_object(path)
    assert found is not None
    printed = subprocess.run(["nm", "-D", path], capture_output=True, text=True, check=True)
    names = [line.split()[-1] for line in printed.stdout.splitlines() if "@@" in line]
    # A version is a symbol of its own name too.
    names = [name for name in names if len(set(name.split("@@"))) == 2]
    ours = {
        f"{name}@{version}"
        for name, versions in found.versioned.items()
        for version in versions
        if version.startswith("@") and version != f"@{name}"
    }
    assert set(names) == ours
