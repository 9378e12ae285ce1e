from __future__ import annotations

import io
import struct
from contextlib import suppress
from dataclasses import replace

import pytest
from elftools.elf.dynamic import DynamicSegment
from elftools.elf.elffile import ELFFile
from hypothesis import given
from hypothesis import strategies as st

from resolver.abi.elf import ElfFacts, Prefix, read_elf
from resolver.abi.elf_front import Front, Need, read_front
from resolver.abi.elf_tables import gnu_hash, sysv_hash
from resolver.wheelfile.wheel_errors import DamagedElf, TooLarge
from tests.abi.elf_builder import Elf

TORCH = "_ZN2at6Tensor5cloneEv"

NAMES = st.lists(
    st.text("abcdefghijklmnopqrstuvwxyz_0123456789", min_size=1, max_size=40),
    unique=True,
    max_size=40,
)


def whole(data: bytes) -> ElfFacts:
    return read_elf(Prefix(data, len(data)))


def front(data: bytes, size: int, filename: str = "_C.so") -> Front | Need:
    """Grow a prefix as the wheel reader does, from 64 bytes on."""
    have = 64
    for _ in range(40):
        answer = read_front(data[:have], size, filename=filename)
        if isinstance(answer, Front) or answer.upto >= size:
            return answer
        assert answer.upto > have
        have = answer.upto
    raise AssertionError("asks for more and more")


def test_reads_every_fact() -> None:
    data = Elf(
        undefined=[TORCH, "puts"],
        weak=["__gmon_start__"],
        defined=["PyInit__C", "_ZN3foo3barEv"],
        needed=["libtorch.so", "libc.so.6"],
        soname="lib_C.so",
        runpath="$ORIGIN/../torch/lib:/opt/lib",
        versions=[("libc.so.6", "GLIBC_2.17"), ("libc.so.6", "GLIBC_2.2.5")],
    ).build()
    assert whole(data) == ElfFacts(
        machine="x86_64",
        soname="lib_C.so",
        needed=("libtorch.so", "libc.so.6"),
        runpath=("$ORIGIN/../torch/lib", "/opt/lib"),
        rpath=(),
        undefined=frozenset({TORCH, "puts"}),
        weak=frozenset({"__gmon_start__"}),
        defined=frozenset({"PyInit__C", "_ZN3foo3barEv"}),
        versions=(("libc.so.6", "GLIBC_2.17"), ("libc.so.6", "GLIBC_2.2.5")),
        dynamic="read",
    )


def test_front_equals_whole_without_the_dynamic_section() -> None:
    recipe = Elf(
        undefined=[TORCH],
        weak=["w"],
        needed=["libtorch.so", "libcudart.so.13", "libc.so.6"],
        soname="_C.so",
        runpath="$ORIGIN",
        versions=[("libc.so.6", "GLIBC_2.17"), ("libcudart.so.13", "libcudart.so.13")],
        filler=bytes(100_000),
        padding=333,
    )
    data = recipe.build()
    answer = front(data[: recipe.offsets["filler"] + 8000], len(data))
    assert isinstance(answer, Front)
    assert answer.facts == replace(whole(data), dynamic="strings")


@pytest.mark.parametrize("machine", [(62, "x86_64"), (183, "aarch64"), (243, "em-243")])
def test_names_the_machine(machine: tuple[int, str]) -> None:
    assert whole(Elf(machine=machine[0]).build()).machine == machine[1]


def test_counts_symbols_without_section_headers() -> None:
    data = Elf(undefined=["a", "b"], defined=["c", "d", "e"], sections=False).build()
    assert whole(data).defined == {"c", "d", "e"}


def test_hidden_definitions_are_no_exports() -> None:
    assert whole(Elf(defined=["a", "b"], hidden=["b"]).build()).defined == {"a"}


def test_a_renamed_library_keeps_its_soname() -> None:
    recipe = Elf(soname="libz.so.1", needed=["libc.so.6"], filler=bytes(20_000))
    data = recipe.build()
    answer = front(data[: recipe.offsets["filler"] + 8000], len(data), "libz.def23b81.so.1")
    assert isinstance(answer, Front)
    assert (answer.facts.soname, answer.facts.needed) == ("libz.so.1", ("libc.so.6",))


@given(NAMES, NAMES, st.integers(0, 700))
def test_front_equals_whole_and_pyelftools(names: list[str], others: list[str], pad: int) -> None:
    defined = [f"d{name}" for name in names] or ["PyInit"]
    undefined = [f"u{name}" for name in others]
    recipe = Elf(
        undefined=undefined, defined=defined, padding=pad, filler=bytes(20_000), sections=False
    )
    data = recipe.build()
    facts = whole(data)
    assert facts.defined == set(defined)
    assert facts.undefined == set(undefined)
    answer = front(data[: recipe.offsets["filler"] + 8000], len(data))
    assert isinstance(answer, Front)
    assert answer.facts == replace(facts, dynamic="strings")
    segments = ELFFile(io.BytesIO(data)).iter_segments()
    dynamic = next(s for s in segments if isinstance(s, DynamicSegment))
    assert {s.name for s in dynamic.iter_symbols() if s.name} == facts.defined | facts.undefined


def test_stale_names_ask_for_the_whole_member() -> None:
    """patchelf leaves rubbish where the string table was: the hashes tell."""
    recipe = Elf(undefined=[TORCH], defined=["one", "two"], filler=bytes(9000))
    data = bytearray(recipe.build())
    at = recipe.offsets["strings"]
    data[at + 1 : at + 10] = b"X" * 9
    for name in ("one", "two"):
        data = data.replace(name.encode(), b"XXX")
    assert front(bytes(data), len(data) + 4096) == Need(len(data) + 4096)


def test_a_version_that_hashes_wrong_asks_for_the_whole_member() -> None:
    recipe = Elf(undefined=[TORCH], filler=b"\7" * 300_000)
    data = bytearray(recipe.build())
    data[recipe.offsets["needs"] + 16] ^= 1
    assert front(bytes(data[:-200]), len(data)) == Need(len(data))


def test_asks_for_as_much_as_it_needs() -> None:
    data = Elf(undefined=[TORCH] * 1, filler=bytes(1_000_000)).build()
    assert read_front(data[:64], len(data)) == Need(176)
    answer = read_front(data[:176], len(data))
    assert isinstance(answer, Need)
    assert answer.upto < 1000


def test_an_object_without_a_dynamic_section_has_no_symbols() -> None:
    data = bytearray(Elf().build())
    data[64 + 56 : 64 + 60] = struct.pack("<I", 6)  # its program header becomes PT_PHDR
    assert whole(bytes(data)) == ElfFacts(machine="x86_64")


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ((0, "<I"), 0, "is not a 64-bit little-endian ELF shared object"),
        ((56, "<H"), 60000, "has 60000 program headers of 56 bytes"),
        ((64 + 32, "<Q"), 1 << 40, "has a segment that reaches beyond the end of the file"),
        ((64 + 56 + 8, "<Q"), 1 << 63, "has a segment that reaches beyond the end of the file"),
        ((32, "<Q"), 1 << 62, r"refers to bytes \d+ to \d+ of \d+"),
    ],
)
def test_lying_headers(place: tuple[int, str], value: int, message: str) -> None:
    data = bytearray(Elf().build())
    struct.pack_into(place[1], data, place[0], value)
    with pytest.raises(DamagedElf, match=message):
        whole(bytes(data))


def _with_dynamic(recipe: Elf, tag: int, value: int) -> bytes:
    data = bytearray(recipe.build())
    at = recipe.offsets["dynamic"]
    while (found := struct.unpack_from("<QQ", data, at)) != (0, 0):
        if found[0] == tag:
            struct.pack_into("<Q", data, at + 8, value)
            return bytes(data)
        at += 16
    raise AssertionError("no such entry")


def test_overlapping_tables() -> None:
    recipe = Elf(undefined=["a", "b", "c"])
    recipe.build()
    data = _with_dynamic(recipe, 6, recipe.offsets["strings"] - 8)
    with pytest.raises(DamagedElf, match="overlap"):
        whole(data)


def test_a_string_table_outside() -> None:
    with pytest.raises(DamagedElf, match="a string table outside every segment"):
        whole(_with_dynamic(Elf(), 5, 1 << 40))


def test_a_string_table_longer_than_the_file() -> None:
    with pytest.raises(DamagedElf, match="refers to bytes"):
        whole(_with_dynamic(Elf(), 10, 1 << 20))


def test_tables_beyond_the_bound() -> None:
    with pytest.raises(TooLarge, match="has a string table of"):
        whole(_with_dynamic(Elf(), 10, 1 << 30))


def test_names_beyond_the_bound() -> None:
    data = Elf(undefined=[f"name{i}" for i in range(50)]).build()
    with pytest.raises(TooLarge, match="more symbol names"):
        read_elf(Prefix(data, len(data)), limit=1000)


def test_a_name_outside_its_table() -> None:
    recipe = Elf(undefined=["a"])
    data = bytearray(recipe.build())
    struct.pack_into("<I", data, recipe.offsets["symbols"] + 24, 1 << 20)
    with pytest.raises(DamagedElf, match="lies outside its string table"):
        whole(bytes(data))


def test_library_names_have_the_length_of_file_names() -> None:
    for recipe in (
        Elf(needed=["lib" + "x" * 300 + ".so"]),
        Elf(versions=[("libc.so.6", "GLIBC_" + "2" * 300)]),
        Elf(versions=[("lib" + "c" * 300, "GLIBC_2.17")]),
    ):
        with pytest.raises(DamagedElf, match="has a file name or version of 3"):
            whole(recipe.build())


def test_strings_that_cannot_be_libraries_are_none() -> None:
    """Nor do they take the time of a pattern that backtracks."""
    odd = ["so", "lib.sox", ".so" * 80 + "!", "a b.so", "x" * 20_000 + ".so", "y.so" * 70]
    good = ["libc.so.6", "lib-odd+name.so", "libpython3.12.so.1.0"]
    recipe = Elf(needed=[*odd[:4], *good], filler=bytes(90_000))
    recipe.extra = odd[4:]
    data = recipe.build()
    answer = front(data[: recipe.offsets["filler"] + 8000], len(data))
    assert isinstance(answer, Front)
    assert answer.facts.needed == tuple(good)


def test_more_libraries_than_a_file_may_need() -> None:
    recipe = Elf(filler=bytes(90_000))
    recipe.extra = [f"lib{number}.so" for number in range(5000)]
    data = recipe.build()
    assert front(data[: recipe.offsets["filler"] + 8000], len(data)) == Need(len(data))


def test_a_version_requirement_of_an_unknown_kind() -> None:
    recipe = Elf()
    data = bytearray(recipe.build())
    struct.pack_into("<H", data, recipe.offsets["needs"], 7)
    with pytest.raises(DamagedElf, match="unknown kind"):
        whole(bytes(data))


def test_hashes() -> None:
    # The examples of the GNU hash section's description, and of gABI's ELF hash.
    assert gnu_hash(b"printf") == 0x156B2BB8
    assert gnu_hash(b"") == 5381
    assert sysv_hash(b"printf") == 0x077905A6
    assert sysv_hash(b"GLIBC_2.2.5") == 0x09691A75


@given(st.binary(max_size=600), st.integers(0, 1 << 20))
def test_any_bytes_give_a_value_or_one_error(data: bytes, missing: int) -> None:
    for body in (data, b"\x7fELF\x02\x01\x01" + bytes(9) + b"\3\0\x3e\0" + data):
        for read in (
            lambda body=body: whole(body),
            lambda body=body: read_front(body, len(body) + missing),
        ):
            with suppress(DamagedElf, TooLarge):
                read()


@given(st.data())
def test_any_damage_gives_a_value_or_one_error(data: st.DataObject) -> None:
    recipe = Elf(undefined=[TORCH, "puts"], defined=["a", "b", "c"], filler=bytes(2000))
    body = bytearray(recipe.build())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(body) - 9))
        width = data.draw(st.sampled_from(["<B", "<H", "<I", "<Q"]))
        value = data.draw(
            st.sampled_from([0, 1, 0xFF, (1 << 16) - 1, (1 << 32) - 1, (1 << 64) - 1, 1 << 31])
        )
        struct.pack_into(width, body, at, value & ((1 << 8 * struct.calcsize(width)) - 1))
    cut = data.draw(st.integers(64, len(body)))
    for read in (lambda: whole(bytes(body)), lambda: read_front(bytes(body[:cut]), len(body))):
        with suppress(DamagedElf, TooLarge):
            read()
