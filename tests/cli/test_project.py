"""``pyproject.toml``: requests, target and settings under the options' names."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from resolver.index.pyproject import KEYS
from tests.cli.test_errors import Run
from tests.support.wheels import build_wheel

TARGET = 'cuda = "13.0"\narch = ["sm120"]\npython = "3.12"\nmachine = "x86_64"\nglibc = "2.39"\n'


def write(place: Path, table: str, rest: str = "") -> Path:
    path = place / "pyproject.toml"
    path.write_text(f"{rest}\n[tool.abilock]\n{table}", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("table", "options", "expected"),
    [
        pytest.param("", (), {"cuda": "13.0", "arch": ["sm_120"]}, id="as-it-is"),
        pytest.param("", ("--cuda", "12.8"), {"cuda": "12.8", "arch": ["sm_120"]}, id="an-option"),
        pytest.param("", ("--gpu", "H100"), {"cuda": "13.0", "arch": ["sm_90"]}, id="another-gpu"),
        pytest.param(
            'driver = "580.65.06"\n',
            (),
            {"cuda": "13.0", "arch": ["sm_120"], "driver": "580.65.06"},
            id="a-driver",
        ),
    ],
)
def test_the_target(
    run: Run,
    place: Path,
    publish: Callable[..., None],
    table: str,
    options: tuple[str, ...],
    expected: dict[str, object],
) -> None:
    publish(build_wheel("a", "1.0"))
    write(place, f'requirements = ["a"]\n{TARGET}{table}')
    result = run("resolve", *options, "--format", "json")
    assert result.code == 0, result.err
    found = json.loads(result.out)["target"]
    assert {key: found[key] for key in expected} == expected
    assert (found["python"], found["machine"], found["glibc"]) == ("3.12", "x86_64", "2.39")
    assert result.err.startswith(f"From {place}/pyproject.toml: ")


def test_a_lock_is_checked_for_its_own_target_first(
    run: Run, place: Path, publish: Callable[..., None]
) -> None:
    publish(build_wheel("a", "1.0"))
    machine = ("--arch", "sm90", "--python", "3.11", "--machine", "x86_64", "--glibc", "2.35")
    assert run("resolve", "a", "--cuda", "12.8", *machine).code == 0
    write(place, f'{TARGET}toolkit = "13.0"\n')
    result = run("check", "pylock.toml", "--format", "json")
    target = json.loads(result.out)["target"]
    assert (target["cuda"], target["arch"], target["toolkit"]) == ("12.8", ["sm_90"], "13.0")


@pytest.mark.parametrize(
    ("table", "message", "hint"),
    [
        pytest.param(
            'cuda_version = "13.0"\n',
            " [tool.abilock]: there is no key cuda_version",
            f"the keys are {', '.join(KEYS)}",
            id="unknown-key",
        ),
        pytest.param(
            "cuda = 13.0\n", " [tool.abilock]: cuda must be a string", None, id="a-number"
        ),
        pytest.param(
            'strict = "yes"\n', " [tool.abilock]: strict must be true or false", None, id="no-flag"
        ),
        pytest.param(
            'prefer = "oldest"\n',
            " [tool.abilock]: prefer must be one of known-good, newest",
            None,
            id="no-choice",
        ),
        pytest.param(
            f"{TARGET}".replace("13.0", "99.0"),
            " [tool.abilock]: cuda 99.0 is not a known CUDA release",
            "nearest known: 13.5",
            id="no-cuda",
        ),
        pytest.param(
            f'{TARGET}wheelhouse = "none"\n',
            " [tool.abilock] wheelhouse {place}/none is not a directory",
            "name a directory of wheels; abilock download fills one",
            id="no-directory",
        ),
    ],
)
def test_faults_name_the_key(
    run: Run, place: Path, table: str, message: str, hint: str | None
) -> None:
    write(place, f'requirements = ["a"]\n{table}')
    result = run("resolve")
    assert (result.code, result.out) == (2, "")
    lines = result.err.splitlines()
    told = [line for line in lines if not line.startswith("From ")]
    assert told[0] == f"error: {place}/pyproject.toml{message.format(place=place)}"
    assert len(told) == (1 if hint is None else 2)
    assert hint is None or told[1].startswith(f"hint: {hint}")


def test_dependencies_that_only_a_build_tells(run: Run, place: Path) -> None:
    write(place, TARGET, '[project]\nname = "p"\ndynamic = ["dependencies"]\n')
    result = run("resolve")
    assert result.code == 2
    assert result.err.splitlines()[-2:] == [
        f"error: {place}/pyproject.toml: the dependencies of [project] are dynamic: nothing says "
        "what to lock",
        "hint: name requirements, or write them into [tool.abilock]: requirements = [...]",
    ]


def test_the_target_command_says_where_it_has_it_from(run: Run, place: Path) -> None:
    path = write(place, TARGET)
    document = json.loads(run("target", "--cuda", "12.8", "--format", "json").out)
    assert document["target"]["cuda"] == "12.8"
    assert (document["sources"]["cuda"], document["sources"]["arch"]) == ("option", str(path))
