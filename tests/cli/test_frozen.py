"""Lines of ``pip freeze`` that name a package by its address."""

from __future__ import annotations

import pytest

from resolver.lockfile.frozen import find_left_out, parse_line


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("torch==2.9.1", ("torch==2.9.1", None)),
        (
            "flash-attn @ https://files.test/v2.8.3/flash_attn-2.8.3%2Bcu12torch2.8cxx11abiTRUE-"
            "cp312-cp312-linux_x86_64.whl#sha256=00",
            ("flash-attn==2.8.3+cu12torch2.8cxx11abitrue", None),
        ),
        ("a[b] @ file:///tmp/a-1.0-py3-none-any.whl", ("a==1.0", None)),
        ("a @ file:///home/me/a", (None, "a")),
        ("a @ git+https://me:secret@files.test/a@main", (None, "a")),
        ("a @ https://[1/x", (None, "a")),
        ("-e git+ssh://x/y#egg=z", (None, "z")),
        ("--editable=/home/me/z", (None, "an editable install")),
    ],
)
def test_a_line(line: str, expected: tuple[str | None, str | None]) -> None:
    assert parse_line(line) == expected


def test_what_is_left_out_is_told_by_line() -> None:
    assert find_left_out("f.txt", "a==1\n-e /x\nb @ file:///b\n") == (
        "f.txt, line 2: an editable install is left out, its address names no release",
        "f.txt, line 3: b is left out, its address names no release",
    )
