from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from packaging.pylock import Pylock
from packaging.utils import parse_wheel_filename

from tests.examples.conftest import ROOT, Run

Example = Callable[[str], Path]
EXAMPLES = ROOT / "examples"


def pins(requirements: str) -> dict[str, tuple[str, str]]:
    """Version and sha256 by project, however a file is named: by version, address or path."""
    found = {}
    joined = requirements.replace("\\\n", "")
    for line in filter(None, re.sub(r"(?m)^#.*$", "", joined).splitlines()):
        what, digest = line.split("--hash=sha256:")
        if match := re.match(r"([a-z0-9-]+)==(\S+)", what):
            found[match[1]] = (match[2], digest)
        else:
            file = what.strip().rpartition("/")[2].replace("%2B", "+")
            name, version, _, _ = parse_wheel_filename(file)
            found[str(name)] = (str(version), digest)
    return found


@pytest.mark.parametrize(
    ("name", "count", "stack"),
    [
        (
            "blackwell",
            48,
            {"torch": "2.9.1+cu130", "sgl-kernel": "0.3.21+cu130", "flashinfer-python": "0.6.4"},
        ),
        (
            "sglang",
            163,
            {
                "sglang": "0.5.9",
                "torch": "2.9.1+cu130",
                "sgl-kernel": "0.3.21+cu130",
                "flashinfer-python": "0.6.4",
            },
        ),
    ],
)
def test_lock_without_network_equals_committed_export(
    example: Example, run: Run, name: str, count: int, stack: dict[str, str]
) -> None:
    committed = pins((EXAMPLES / name / "requirements.txt").read_text(encoding="utf-8"))
    directory = example(name)

    done = run("./lock.sh", cwd=directory)

    assert done.returncode == 0, done.stderr
    lock = Pylock.from_dict(tomllib.loads((directory / "pylock.toml").read_text(encoding="utf-8")))
    exported = pins((directory / "requirements.txt").read_text(encoding="utf-8"))
    assert len(lock.packages) == len(exported) == count
    assert exported == committed
    assert {package: exported[package][0] for package in stack} == stack


def test_override_replaces_what_sglang_pins(example: Example, run: Run) -> None:
    directory = example("sglang")
    (directory / "overrides.txt").write_text("", encoding="utf-8")

    done = run("./lock.sh", cwd=directory)

    assert done.returncode == 0, done.stderr
    exported = pins((directory / "requirements.txt").read_text(encoding="utf-8"))
    assert exported["flashinfer-python"][0] == exported["flashinfer-cubin"][0] == "0.6.3"


@pytest.mark.parametrize(
    ("file", "code", "lines"),
    [
        ("works.txt", 0, ("accepted, ",)),
        (
            "fails.txt",
            1,
            (
                "rejected, ",
                "  missing-symbol: sgl-kernel 0.3.21+cu130 with torch 2.10.0+cu130",
                "  instead: torch 2.9.1+cu130 (",
            ),
        ),
    ],
)
def test_pipeline_fails_for_a_pair_that_cannot_work(
    example: Example, run: Run, file: str, code: int, lines: tuple[str, ...]
) -> None:
    done = run("./check.sh", file, cwd=example("ci-why"))

    assert done.returncode == code, done.stderr
    printed = done.stdout.splitlines()
    for line in lines:
        assert any(text.startswith(line) for text in printed), done.stdout


def test_pipeline_tells_a_failure_of_its_own_from_a_verdict(example: Example, run: Run) -> None:
    done = run("./check.sh", "none.txt", cwd=example("ci-why"))

    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.splitlines()[-1] == "abilock could not decide about none.txt"


@pytest.mark.parametrize(
    ("file", "code", "lines"),
    [
        ("works.txt", 0, ("Ok, as far as it could be judged: ",)),
        (
            "fails.txt",
            1,
            (
                "::error file=fails.txt,title=missing-symbol%3A sgl-kernel 0.3.21+cu130,line=2::",
                "Broken: fails.txt does not load as a whole",
            ),
        ),
    ],
)
def test_workflow_annotates_what_does_not_load(
    example: Example, run: Run, file: str, code: int, lines: tuple[str, ...]
) -> None:
    done = run("./check.sh", file, cwd=example("github-actions"))

    assert done.returncode == code, done.stderr
    printed = done.stdout.splitlines()
    for line in lines:
        assert any(text.startswith(line) for text in printed), done.stdout


def test_every_example_is_listed() -> None:
    text = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    directories = {path.name for path in EXAMPLES.iterdir() if path.is_dir()}
    assert set(re.findall(r"\]\(([a-z-]+)\)", text)) == directories
