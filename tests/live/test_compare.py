"""A large stack, beside what uv makes of the same question; and one that cannot be."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tests.live.conftest import Command

pytestmark = pytest.mark.live

DAY = "2026-11-20"
GLIBC = "2.36"


def uv_pins(text: str) -> dict[str, str]:
    lines = (line.split(";")[0].strip() for line in text.splitlines())
    found = (re.fullmatch(r"([A-Za-z0-9._-]+)==(\S+)", line) for line in lines)
    return {match[1]: match[2] for match in found if match}


def test_sglang_is_what_uv_makes_of_it(call: Command, tmp_path: Path) -> None:
    done = call(
        "abilock",
        "resolve",
        "sglang==0.5.9",
        *("--cuda", "12.8", "--arch", "sm120", "--python", "3.12"),
        *("--machine", "x86_64", "--glibc", GLIBC),
        *("--channel", "default", "--exclude-newer", DAY, "-o", "-"),
    )
    assert done.returncode == 0, done.stderr
    ours = {p["name"]: p["version"] for p in tomllib.loads(done.stdout)["packages"]}
    assert len(ours) > 150
    (tmp_path / "asked.in").write_text("sglang==0.5.9\n", encoding="utf-8")
    compiled = call(
        "uv",
        "pip",
        "compile",
        "asked.in",
        *("--python-version", "3.12", "--only-binary", ":all:"),
        *("--python-platform", f"x86_64-manylinux_{GLIBC.replace('.', '_')}"),
        *("--exclude-newer", DAY, "--no-annotate", "--no-header"),
    )
    assert compiled.returncode == 0, compiled.stderr
    theirs = uv_pins(compiled.stdout)
    different = sorted(
        f"{name}: {ours.get(name, 'none')} here, {theirs.get(name, 'none')} by uv"
        for name in ours.keys() | theirs.keys()
        if ours.get(name) != theirs.get(name)
    )
    assert different == []


def test_two_stacks_that_exclude_each_other(call: Command, tmp_path: Path) -> None:
    done = call(
        "abilock",
        "resolve",
        "sglang==0.5.9",
        "vllm==0.33.0",
        *("--cuda", "13.0", "--arch", "sm120", "--python", "3.12", "--machine", "x86_64"),
    )
    assert done.returncode == 1, done.stderr
    assert done.stdout == ""
    assert not (tmp_path / "pylock.toml").exists()
    lines = done.stderr.splitlines()
    head = lines.index("sglang 0.5.9 and vllm 0.33.0 exclude each other:")
    assert lines[head + 1].startswith("  because sglang 0.5.9 needs torch==2.9.1 ")
    assert "vllm 0.33.0 needs torch==" in lines[head + 1]
    assert all(line.startswith("  and ") for line in lines[head + 2 : head + 4])
    # Each stack alone fits this machine.
    told = " ".join(done.stderr.split())
    for kept in ("sglang==0.5.9", "vllm==0.33.0"):
        assert f"abilock resolve {kept} --cuda 13.0 --arch sm120" in told
