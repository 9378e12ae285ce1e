"""Shared objects that are not what was installed: each is told once, and is fatal."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.load.world import World, elf

MODULE = elf(None, defined=("PyInit__a",)).build()
LIBRARY = elf("libodd.so.9").build()


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "env")


def told(world: World) -> list[tuple[str, str, str | None, str]]:
    return [(str(r.code), str(r.severity), r.member, r.found) for r in world.check().findings]


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", "an empty file"),
        (bytes(range(256)) * 16, "a file that is no ELF object"),
        (b"\x7f", "a file that is no ELF object"),
        (b"just words", "a file that is no ELF object"),
        (MODULE[:40], "a file that ends early: 40 bytes"),
        (MODULE[:-1], f"a file that ends early: {len(MODULE) - 1} bytes"),
    ],
)
def test_an_extension_that_is_none(world: World, data: bytes, found: str) -> None:
    world.install("pkg", "1.0", {"pkg/_a.abi3.so": MODULE, "pkg/_b.abi3.so": MODULE})
    (world.site / "pkg/_a.abi3.so").write_bytes(data)
    assert told(world) == [("broken-install", "fatal", "pkg/_a.abi3.so", found)]
    assert world.check().verdict == "broken"


@pytest.mark.parametrize("data", [b"", b"\x00\x01\x02" * 100, LIBRARY[:-1]])
def test_a_needed_library_that_is_none(world: World, data: bytes) -> None:
    module = elf(None, needed=("libodd.so.9",), defined=("PyInit__a",), runpath="$ORIGIN").build()
    world.install("pkg", "1.0", {"pkg/_a.abi3.so": module, "pkg/libodd.so.9": LIBRARY})
    (world.site / "pkg/libodd.so.9").write_bytes(data)
    assert [row[:3] for row in told(world)] == [("broken-install", "fatal", "pkg/libodd.so.9")]


def test_what_nobody_loads_is_spared(world: World) -> None:
    files = {
        "pkg/libscript.so": b"/* GNU ld script */\nGROUP ( libodd.so.9 )\n",
        "pkg/libtext.so.1": "Ein Wort für später\n".encode(),
        "pkg/libmac.so": b"\xcf\xfa\xed\xfe" + bytes(200),
        "pkg/libsmall.so": b"\x7fELF\x01\x01\x01" + bytes(100),
        "pkg/libempty.so": b"",
        "pkg/__init__.py": b"",
    }
    world.install("pkg", "1.0", files)
    assert told(world) == []


def test_a_recorded_library_that_is_gone(world: World) -> None:
    world.install("pkg", "1.0", {f"pkg/lib{n}.so": LIBRARY for n in "abcde"})
    for name in "abcde":
        (world.site / f"pkg/lib{name}.so").unlink()
    [reason] = world.check().findings
    assert (reason.code, reason.severity) == ("broken-install", "fatal")
    assert reason.needs == "pkg/liba.so, pkg/libb.so, pkg/libc.so and 2 more"
    assert reason.found.startswith("no such file: ")


def test_an_emptied_record(world: World) -> None:
    info = world.install("pkg", "1.0", {"pkg/sub/_a.abi3.so": MODULE, "pkg/__init__.py": b""})
    (info / "RECORD").write_bytes(b"")
    nothing = (
        "broken-install",
        "warning",
        None,
        "RECORD lists nothing: nobody knows which files are its own",
    )
    report = world.check()
    assert (report.members_checked, told(world)) == (1, [nothing])
    (world.site / "pkg/sub/_a.abi3.so").write_bytes(b"")
    assert told(world) == [
        ("broken-install", "fatal", "pkg/sub/_a.abi3.so", "an empty file"),
        nothing,
    ]


def test_paths_that_leave_the_site(world: World, tmp_path: Path) -> None:
    info = world.install("pkg", "1.0", {"../../libup.so": LIBRARY})
    away = tmp_path / "libaway.so"
    away.write_bytes(LIBRARY)
    with (info / "RECORD").open("a") as record:
        record.write(f"{away},sha256=abc,{len(LIBRARY)}\n")
    assert told(world) == []
    away.write_bytes(b"")
    assert [row[:2] for row in told(world)] == [("broken-install", "fatal")]


@pytest.mark.parametrize("data", [b"", b"GROUP ( libmore.so )\n"])
def test_a_stub_that_is_needed(world: World, data: bytes) -> None:
    module = elf(None, needed=("libodd.so",), defined=("PyInit__a",), runpath="$ORIGIN").build()
    world.install("pkg", "1.0", {"pkg/_a.abi3.so": module, "pkg/libodd.so": data})
    assert [row[:3] for row in told(world)] == [("broken-install", "fatal", "pkg/libodd.so")]


def test_words_where_a_library_was_recorded(world: World) -> None:
    world.install("pkg", "1.0", {"pkg/libodd.so.9": LIBRARY})
    (world.site / "pkg/libodd.so.9").write_text("404: Not Found")
    assert [row[3] for row in told(world)] == ["a file that is no ELF object"]
