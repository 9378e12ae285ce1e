"""Lines of ``pip freeze`` that name a package by its address."""

from __future__ import annotations

import pytest

from resolver.errors import DamagedData, UsageError
from resolver.lockfile.requirement_lines import find_left_out, parse_line


@pytest.mark.parametrize(
    ("line", "whose", "pin"),
    [
        ("torch==2.9.1", "torch", "torch==2.9.1"),
        (
            "flash-attn @ https://files.test/v2.8.3/flash_attn-2.8.3%2Bcu12torch2.8cxx11abiTRUE-"
            "cp312-cp312-linux_x86_64.whl#sha256=00",
            "flash-attn",
            "flash-attn==2.8.3+cu12torch2.8cxx11abitrue",
        ),
        ("a[b] @ file:///tmp/a-1.0-py3-none-any.whl", "a", "a==1.0"),
        ("a @ file:///home/me/a", "a", None),
        ("a @ git+https://me:secret@files.test/a@main", "a", None),
        ("a @ https://[1/x", "a", None),
        ("-e git+ssh://x/y#egg=z", "z", None),
        ("--editable=/home/me/z", "an editable install", None),
        ("-e.", "an editable install", None),
        ("git+https://files.test/z.git#egg=z", "z", None),
        ("./pkg", "what is installed from a place", None),
        ("https://files.test/z.tar.gz", "what is installed from a place", None),
        ("./dist/a-1.0-py3-none-any.whl", "a", "a==1.0"),
        ("dist/a-1.0-py3-none-any.whl", "a", "a==1.0"),
        ("https://files.test/a-1.0%2Bcu130-py3-none-any.whl", "a", "a==1.0+cu130"),
        (
            "a @ https://files.test/a-1.0-py3-none-any.whl ; os_name == 'nt'",
            "a",
            'a==1.0; os_name == "nt"',
        ),
    ],
)
def test_a_line(line: str, whose: str, pin: str | None) -> None:
    found = parse_line(line, "f.txt, line 1")
    assert found.whose == whose
    assert (None if found.requirement is None else str(found.requirement)) == pin
    assert found.by_address is (line != "torch==2.9.1")


def test_a_password_is_never_told() -> None:
    line = parse_line("a @ git+https://me:secret@files.test/a@main", "f.txt, line 1")
    assert "secret" not in line.left_out


def test_names_that_are_none() -> None:
    with pytest.raises(UsageError, match=r"^f, line 1: 'a-1.whl' is not a wheel's name: "):
        parse_line("./a-1.whl", "f, line 1")
    with pytest.raises(UsageError, match=r"is not a wheel's name: no project can be called '-x'$"):
        parse_line("./.x-1-py3-none-any.whl", "f, line 1")
    with pytest.raises(DamagedData, match=r"^f, line 1: a-1.0-py3-none-any.whl is no wheel of b$"):
        parse_line("b @ file:///a-1.0-py3-none-any.whl", "f, line 1")


def test_what_is_left_out_is_told_by_line() -> None:
    text = "a==1\n-e /x\nb @ file:///b\n./what a log may hold\nhttps://example.test\n"
    assert find_left_out("f.txt", text) == (
        "f.txt, line 2: an editable install is left out, its address names no release",
        "f.txt, line 3: b is left out, its address names no release",
    )
