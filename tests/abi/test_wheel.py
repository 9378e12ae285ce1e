from __future__ import annotations

import bz2
import random
import string
import struct
import subprocess
import sys
import zlib
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resolver.abi.stored_view import StoredView
from resolver.abi.wheel import probe_wheel
from resolver.errors import DamagedData
from resolver.model.cuda import DeviceCode
from resolver.wheelfile.byte_source import BytesSource, FileSource
from resolver.wheelfile.member_stream import MemberStream
from resolver.wheelfile.wheel_errors import (
    ChecksumMismatch,
    DamagedElf,
    DamagedWheel,
    DamagedZip,
    EndlessStream,
    LyingSize,
    Overlap,
    ZipBomb,
)
from resolver.wheelfile.zip_directory import read_directory
from tests.abi.elf_builder import Elf
from tests.abi.test_fatbin import fatbin
from tests.abi.wheels import deflate, list_members, make_wheel, raw_zip

NAME = "demo-1.0-cp312-cp312-linux_x86_64.whl"
TORCH = "_ZN2at6Tensor5cloneEv"
NOISE = random.Random(7).randbytes(3_000_000)


def probe(data: bytes, *, full: bool = False) -> None:
    probe_wheel(BytesSource(data), filename=NAME, full=full)


@pytest.mark.parametrize("stored", [False, True])
def test_reads_members_from_their_beginnings(stored: bool) -> None:
    elf = Elf(undefined=[TORCH], needed=["libtorch.so", "libc.so.6"], filler=NOISE).build()
    source = BytesSource(make_wheel({"demo/_C.so": elf, "demo/x.py": b"x = 1"}, stored=stored))
    facts = probe_wheel(source, filename=NAME, sha256="ab" * 32)
    (member,) = facts.members
    assert member.path == "demo/_C.so"
    assert (member.size, member.crc32) == (len(elf), zlib.crc32(elf))
    assert member.facts is not None
    assert member.facts.undefined == {TORCH}
    assert member.facts.dynamic == "strings"
    assert member.device_code is None
    assert facts.bytes_read == source.bytes_read < 60_000
    assert (facts.depth, facts.size, facts.sha256) == ("symbols", source.size, "ab" * 32)


@pytest.mark.parametrize("stored", [False, True])
def test_full_reads_device_code_and_the_dynamic_section(stored: bool) -> None:
    code = fatbin([(2, 120, 0x100000), (1, 90, 0)])
    filler = NOISE[:1_000_000] + bytes(64) + code + NOISE[:500_000]
    elf = Elf(undefined=[TORCH], needed=["libz.so.1", "libc.so.6"], filler=filler).build()
    assert elf.index(code) % 8 == 0
    source = BytesSource(make_wheel({"demo/_C.so": elf}, stored=stored))
    (member,) = probe_wheel(source, filename=NAME, full=True).members
    assert member.facts is not None
    assert member.facts.dynamic == "read"
    assert member.facts.needed == ("libz.so.1", "libc.so.6")
    assert member.device_code == (DeviceCode.parse("compute_90"), DeviceCode.parse("sm_120a"))


def test_a_rewritten_member_is_read_as_a_whole() -> None:
    """As after patchelf: no table lies where a linker would put it."""
    recipe = Elf(undefined=[TORCH], defined=["one", "two"], filler=NOISE)
    data = bytearray(recipe.build())
    moved = recipe.offsets["hash"]
    data[moved : moved + 16] = b"X" * 16
    for full in (False, True):
        source = BytesSource(make_wheel({"demo/_C.so": bytes(data)}))
        (member,) = probe_wheel(source, filename=NAME, full=full).members
        assert member.facts is not None
        assert member.facts.undefined == {TORCH}
        assert member.facts.dynamic == "read"
        assert source.bytes_read > len(NOISE)
        assert member.device_code == (() if full else None)


def test_a_rewritten_member_that_is_stored_is_read_by_ranges() -> None:
    recipe = Elf(undefined=[TORCH], defined=names(3000, 60), needed=["libz.so.1"], filler=NOISE)
    data = bytearray(recipe.build())
    whole = probe_wheel(BytesSource(make_wheel({"a.so": bytes(data)})), filename=NAME, full=True)
    moved = recipe.offsets["hash"]
    data[moved : moved + 16] = b"X" * 16
    source = BytesSource(make_wheel({"a.so": bytes(data), "b.so": b"no ELF"}, stored=True))
    first, second = probe_wheel(source, filename=NAME).members
    assert first.facts == whole.members[0].facts
    assert second.facts is None
    assert source.bytes_read < len(NOISE) // 2


@pytest.mark.parametrize("size", [0, 1, 65_536, 65_537, 200_000])
def test_a_stored_view_gives_any_part(size: int) -> None:
    data = NOISE[:size]
    view = StoredView(BytesSource(b"before" + data + b"behind"), 6, size)
    for offset, length in ((0, size), (size // 3, size // 2), (size, 0), (max(0, size - 1), 1)):
        if offset + length <= size:
            assert view.take(offset, length) == data[offset : offset + length]
    with pytest.raises(DamagedElf):
        view.take(1, size)


def names(count: int, length: int) -> list[str]:
    """Names that do not compress, so that tables take many reads."""
    chance = random.Random(count)
    letters = ((string.ascii_letters + string.digits + "_") * 5)[:256].encode()
    return [f"n{chance.randbytes(length).translate(letters).decode()}" for _ in range(count)]


@pytest.mark.parametrize(
    ("count", "length", "full"), [(3000, 60, False), (3000, 60, True), (9000, 250, False)]
)
def test_large_tables_take_more_reads(count: int, length: int, full: bool) -> None:
    """The larger one exceeds what is held of several members at a time."""
    defined = names(count, length)
    elf = Elf(undefined=[TORCH], defined=defined, filler=NOISE).build()
    source = BytesSource(make_wheel({"demo/_C.so": elf}))
    (member,) = probe_wheel(source, filename=NAME, full=full).members
    assert member.facts is not None
    assert member.facts.defined == set(defined)
    assert member.facts.dynamic == ("read" if full else "strings")
    assert full or source.bytes_read < len(elf) - 2_500_000


@pytest.mark.parametrize("full", [False, True])
def test_a_large_rewritten_member_with_device_code(full: bool) -> None:
    recipe = Elf(undefined=[TORCH], filler=bytes(64) + fatbin([(2, 90, 0)]) + NOISE)
    data = bytearray(recipe.build())
    data[recipe.offsets["hash"] : recipe.offsets["hash"] + 16] = b"X" * 16
    (member,) = probe_wheel(
        BytesSource(make_wheel({"demo/_C.so": bytes(data)})), filename=NAME, full=full
    ).members
    assert member.device_code == ((DeviceCode.parse("sm_90"),) if full else None)


@pytest.mark.parametrize("extra", range(0, 300, 23))
def test_streams_are_whole_at_any_length(extra: int) -> None:
    """The inflater may hold output back when its input is used up."""
    data = bytes((1 << 20) + extra)
    source = BytesSource(make_wheel({"a.so": data}))
    (entry,) = read_directory(source)
    pieces = list(MemberStream(source, entry, fetch=7))
    assert b"".join(pieces) == data
    assert max(map(len, pieces)) <= 1 << 20


def test_what_is_no_shared_object_has_no_facts() -> None:
    script = b"INPUT(libfoo.so.1)\n"
    wheel = make_wheel({"demo/libfoo.so": script, "demo/empty.so.1": b"", "demo/so": Elf().build()})
    facts = probe_wheel(BytesSource(wheel), filename=NAME)
    assert [(m.path, m.facts) for m in facts.members] == [
        ("demo/empty.so.1", None),
        ("demo/libfoo.so", None),
    ]


def test_lists_members_without_reading_them() -> None:
    elf = Elf(filler=NOISE).build()
    source = BytesSource(make_wheel({"demo/_C.so": elf}))
    (member,) = list_members(source)
    assert (member.path, member.size, member.crc32) == ("demo/_C.so", len(elf), zlib.crc32(elf))
    assert source.bytes_read <= 16 << 10


def test_reads_local_files(tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_bytes(make_wheel({"demo/_C.so": Elf(undefined=[TORCH]).build()}))
    with FileSource(path) as source:
        facts = probe_wheel(source, filename=NAME)
    assert facts.members[0].facts is not None
    assert facts.bytes_read > 0


def test_a_file_that_was_truncated_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_bytes(make_wheel({"demo/_C.so": Elf(filler=NOISE).build()}))
    with FileSource(path) as source:
        path.write_bytes(b"")
        with pytest.raises(LyingSize, match="ends at byte"):
            probe_wheel(source, filename=NAME)


BODY = Elf(undefined=[TORCH], filler=NOISE[:40_000]).build()

DAMAGE: dict[str, tuple[bytes, type[DamagedZip], str]] = {
    "no archive": (b"x" * 100, DamagedZip, "no end of central directory"),
    "nothing": (b"", DamagedZip, "no end of central directory"),
    "a size that is too large": (
        raw_zip("a.so", deflate(BODY), size=len(BODY) + 9, crc=zlib.crc32(BODY)),
        LyingSize,
        "has .* bytes, not the declared",
    ),
    "a stream that goes on": (
        raw_zip("a.so", deflate(BODY), size=1000),
        EndlessStream,
        "goes on past its declared size of 1000 bytes",
    ),
    "a stream that never ends": (
        raw_zip("a.so", deflate(bytes(4_000_000))[:-30] * 3, size=50_000),
        EndlessStream,
        "goes on past",
    ),
    "a stream that stops": (
        raw_zip("a.so", deflate(BODY)[:-100], size=len(BODY)),
        LyingSize,
        "middle of its deflate stream",
    ),
    "bytes behind the stream": (
        raw_zip("a.so", deflate(BODY) + b"more", size=len(BODY)),
        LyingSize,
        "ends before its compressed size",
    ),
    "a member beyond the end": (
        raw_zip("a.so", deflate(BODY), size=len(BODY), compressed=1 << 30),
        LyingSize,
        "beyond the last member's place",
    ),
    "two members on the same bytes": (
        raw_zip("abcd0.so", deflate(BODY), size=len(BODY), copies=2),
        Overlap,
        "shares bytes",
    ),
    "rubbish": (
        raw_zip("a.so", b"\xff" * 500, size=len(BODY)),
        DamagedZip,
        "cannot be inflated",
    ),
    "another method": (raw_zip("a.so", b"x", method=9), DamagedZip, "compression method 9"),
    "no bzip2": (raw_zip("a.so", b"x" * 99, method=12, size=9), DamagedZip, "cannot be inflated"),
    "half a bzip2 stream": (
        raw_zip("a.so", bz2.compress(BODY)[:-20], method=12, size=len(BODY)),
        LyingSize,
        "middle of its bzip2 stream",
    ),
    "no LZMA": (
        raw_zip("a.so", b"\0\0\5\0" + b"\xff" * 50, method=14, size=9),
        DamagedZip,
        "cannot be inflated: its LZMA properties are none",
    ),
    "an LZMA window without bound": (
        raw_zip("a.so", b"\0\0\5\0]\0\0\0\x7f" + b"\0" * 50, method=14, size=9),
        DamagedZip,
        "cannot be inflated: its LZMA window has 2130706432 bytes",
    ),
    "an LZMA stream that stops": (
        raw_zip("a.so", b"\0\0\5", method=14, size=9),
        LyingSize,
        "has 0 bytes, not the declared 9",
    ),
    "another name in its own header": (
        raw_zip("a.so", b"x", method=0).replace(b"a.so", b"b.so", 1),
        DamagedZip,
        "is named 'b.so' by its own header",
    ),
    "encrypted": (raw_zip("a.so", b"x", flags=1), DamagedZip, "is encrypted"),
    "stored with two sizes": (raw_zip("a.so", b"x", method=0, size=2), LyingSize, "two sizes"),
    "a bomb": (
        raw_zip("a.so", deflate(bytes(1 << 20)), size=1 << 30),
        ZipBomb,
        "would expand from",
    ),
    "another checksum": (
        raw_zip("a.so", deflate(BODY), size=len(BODY), crc=1),
        ChecksumMismatch,
        "another CRC-32",
    ),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_one_typed_error_for_each_damage(case: str) -> None:
    data, kind, message = DAMAGE[case]
    with pytest.raises(kind, match=message) as caught:
        probe(data, full=True)
    assert type(caught.value) is kind
    assert isinstance(caught.value, DamagedData)
    assert caught.value.exit_code == 3


def test_errors_name_the_member() -> None:
    with pytest.raises(EndlessStream) as caught:
        probe(raw_zip("demo/a.so", deflate(BODY), size=1000), full=True)
    assert str(caught.value).startswith("demo/a.so: goes on past")
    bad = bytearray(Elf().build())
    struct.pack_into("<H", bad, 56, 60000)
    with pytest.raises(DamagedElf) as other:
        probe(make_wheel({"demo/b.so": bytes(bad)}))
    assert str(other.value) == "demo/b.so: has 60000 program headers of 56 bytes"


def test_a_local_header_elsewhere() -> None:
    data = bytearray(raw_zip("a.so", deflate(BODY), size=len(BODY)))
    data[0] = 0
    with pytest.raises(DamagedZip, match="no local header"):
        probe(bytes(data))


def test_a_local_header_that_pushes_its_data_out() -> None:
    data = bytearray(raw_zip("a.so", deflate(BODY), size=len(BODY)))
    struct.pack_into("<H", data, 28, 60000)
    with pytest.raises(Overlap, match="shares bytes"):
        probe(bytes(data))


def test_a_directory_that_lies() -> None:
    data = raw_zip("a.so", b"x", method=0)
    for at, form, value in ((-10, "<I", 1 << 20), (-6, "<I", 1 << 20), (-12, "<H", 500)):
        body = bytearray(data)
        struct.pack_into(form, body, len(body) + at, value)
        with pytest.raises(DamagedZip):
            read_directory(BytesSource(bytes(body)))


def test_zip64_fields() -> None:
    raw = b"a.so"
    head = (20, 0, 0, 0, 0x21, zlib.crc32(b"xyz"), 3, 3, len(raw), 0)
    body = struct.pack("<4sHHHHHIIIHH", b"PK\3\4", *head) + raw + b"xyz"
    extra = struct.pack("<HHQQQ", 1, 24, 3, 3, 0)
    long = (20, 0, 0, 0, 0x21, zlib.crc32(b"xyz"), 0xFFFFFFFF, 0xFFFFFFFF, len(raw), len(extra))
    entry = struct.pack("<4sHHHHHHIIIHHHHHII", b"PK\1\2", 20, *long, 0, 0, 0, 0, 0xFFFFFFFF)
    directory = entry + raw + extra
    where = len(body)
    end64 = struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, 1, 1, len(directory), where)
    locator = struct.pack("<4sIQI", b"PK\6\7", 0, where + len(directory), 1)
    end = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    (found,) = read_directory(BytesSource(body + directory + end64 + locator + end))
    assert (found.path, found.size, found.compressed, found.offset) == ("a.so", 3, 3, 0)
    with pytest.raises(DamagedZip, match="no ZIP64 locator"):
        read_directory(BytesSource(body + directory + end))


@given(st.binary(max_size=400))
def test_any_bytes_give_a_value_or_one_error(data: bytes) -> None:
    for body in (data, raw_zip("a.so", data, size=5000), raw_zip("a.so", data, method=0)):
        with suppress(DamagedWheel):
            probe(body, full=True)


@given(st.data())
def test_any_damage_gives_a_value_or_one_error(data: st.DataObject) -> None:
    body = bytearray(SOUND)
    for _ in range(data.draw(st.integers(1, 6))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    for full in (False, True):
        with suppress(DamagedWheel):
            probe(bytes(body), full=full)


SOUND = make_wheel(
    {"a.so": Elf(undefined=[TORCH], filler=fatbin([(2, 90, 0)])).build(), "b.py": b"pass"}
)

# In a process of its own, which measures itself.
_MEMORY_SCRIPT = """
import re, sys
from pathlib import Path
from resolver.wheelfile.wheel_errors import DamagedWheel
from resolver.wheelfile.byte_source import FileSource
from resolver.abi.wheel import probe_wheel
for path in sys.argv[1:]:
    for full in (False, True):
        try:
            with FileSource(Path(path)) as source:
                probe_wheel(source, filename="a-1-py3-none-any.whl", full=full)
        except DamagedWheel as error:
            print(type(error).__name__)
# Not ru_maxrss: exec does not reset that of the parent.
print(int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) // 1024)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="measured through procfs")
def test_memory_stays_bounded(tmp_path: Path) -> None:
    zeros = tmp_path / "zeros.whl"
    zeros.write_bytes(raw_zip("a.so", deflate(bytes(100 << 20)), size=100 << 20))
    head = BODY[:64]
    tail = tmp_path / "elf.whl"
    tail.write_bytes(
        make_wheel({f"{n}.so": replace_size(head) + bytes(30 << 20) for n in "abcdef"})
    )
    result = subprocess.run(
        [sys.executable, "-c", _MEMORY_SCRIPT, str(zeros), str(tail)],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    *errors, memory = result.stdout.split()
    assert errors[:2] == ["ZipBomb", "ZipBomb"]
    assert int(memory) < 256


def replace_size(head: bytes) -> bytes:
    """An ELF header whose program headers lie at its end and are all zeros."""
    data = bytearray(head)
    struct.pack_into("<H", data, 56, 1)
    return bytes(data)
