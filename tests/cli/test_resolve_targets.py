"""``abilock resolve --target FILE``: a lock for each target, all or none."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from resolver.lockfile.pylock import load_lock, locked_versions
from resolver.render.render_json import load_schema
from tests.cli.test_errors import Run
from tests.support.server import Server
from tests.support.wheels import build_wheel

REST = ("--python", "3.12", "--glibc", "2.35")
FLEET = """
requirements = ["a"]

[[target]]
name = "blackwell"
cuda = "13.0"
gpu = "RTX PRO 6000"
machine = "x86_64"

[[target]]
name = "hopper-311"
cuda = "12.9"
arch = ["sm90"]
python = "3.11"
machine = "x86_64"
"""
ARM = '\n[[target]]\nname = "arm"\ncuda = "13.0"\narch = "sm121"\nmachine = "aarch64"\n'


@pytest.fixture(autouse=True)
def _index(publish: Callable[..., None]) -> None:
    publish(
        build_wheel("a", "1.0", requires=["b"]),
        build_wheel("b", "1.0", tag="py3-none-manylinux_2_28_x86_64"),
        build_wheel("c", "1.0"),
    )


def fleet(text: str) -> None:
    Path("fleet.toml").write_text(text, encoding="utf-8")


def locks() -> list[str]:
    return sorted(path.name for path in Path().glob("pylock*.toml"))


def test_each_has_its_lock_and_pages_are_read_once(run: Run, server: Server) -> None:
    fleet(FLEET)
    told = run("resolve", "--target", "fleet.toml", *REST)
    assert told.code == 0, told.err
    assert told.err.splitlines() == [
        "target      machine           verdict  torch  weakest  lock",
        "blackwell   13.0 sm_120 3.12  solved                   new",
        "hopper-311  12.9 sm_90 3.11   solved                   new",
        "",
        "Wrote pylock.blackwell.toml, pylock.hopper-311.toml.",
    ]
    assert locks() == ["pylock.blackwell.toml", "pylock.hopper-311.toml"]
    assert locked_versions(load_lock(Path("pylock.hopper-311.toml"))).keys() == {"a", "b"}
    pages = [path for path in server.paths if path == "/simple/a/"]
    assert len(pages) == 1
    assert run("resolve", "--target", "fleet.toml", *REST, "--check").err.splitlines()[-1] == (
        "All locks are up to date."
    )
    Path("pylock.blackwell.toml").unlink()
    stale = run("resolve", "--target", "fleet.toml", *REST, "--check")
    assert (stale.code, stale.err.splitlines()[-1]) == (
        1,
        "Not up to date: pylock.blackwell.toml.",
    )


def test_all_or_none(run: Run) -> None:
    fleet(FLEET + ARM)
    told = run("resolve", "--target", "fleet.toml", *REST, "--format", "json")
    assert (told.code, locks()) == (1, [])
    assert told.err.splitlines()[-1] == (
        "Nothing was written: 1 of 3 targets has no lock; --keep-going writes the others."
    )
    assert "\n\narm: No solution for a on CUDA 13.0, sm_121, " in told.err
    document = json.loads(told.out)
    jsonschema.validate(document, load_schema("resolve-targets"))
    assert document["verdict"] == "incomplete"
    assert [(row["name"], row["verdict"]) for row in document["targets"]] == [
        ("blackwell", "solved"),
        ("hopper-311", "solved"),
        ("arm", "conflict"),
    ]
    told = run("resolve", "--target", "fleet.toml", *REST, "--keep-going")
    assert (told.code, locks()) == (1, ["pylock.blackwell.toml", "pylock.hopper-311.toml"])
    assert told.err.splitlines()[-1] == (
        "Wrote pylock.blackwell.toml, pylock.hopper-311.toml; 1 of 3 targets has no lock."
    )


def test_requirements_of_a_target_and_of_the_command(run: Run) -> None:
    fleet(FLEET + 'requirements = ["c"]\n')
    Path("locks").mkdir()
    assert run("resolve", "--target", "fleet.toml", *REST, "-o", "locks").code == 0
    read = {
        path.name: set(locked_versions(load_lock(path))) for path in Path("locks").glob("*.toml")
    }
    assert read == {"pylock.blackwell.toml": {"a", "b"}, "pylock.hopper-311.toml": {"c"}}
    assert run("resolve", "c", "--target", "fleet.toml", *REST).code == 0
    assert set(locked_versions(load_lock(Path("pylock.blackwell.toml")))) == {"c"}


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "fleet.toml has no [[target]]"),
        ("[[target]]\ncuda = '13.0'", "fleet.toml [[target]] 1: it has no name"),
        ("[[target]]\nname = 'a.b'", "fleet.toml [[target]] a.b: 'a.b' is no name"),
        ("[[target]]\nname = '../a'", "fleet.toml [[target]] ../a: '../a' is no name"),
        (
            "[[target]]\nname = 'a'\n[[target]]\nname = 'A'",
            "fleet.toml: two targets are called A",
        ),
        ("[[target]]\nname = 'a'\nsm = '9'", "fleet.toml [[target]] a: there is no key sm"),
        ("roots = []\n[[target]]\nname = 'a'", "fleet.toml: there is no key roots"),
        (
            "[[target]]\nname = 'a'\ncuda = '13.0'\narch = 'sm1'",
            "fleet.toml [[target]] a: --arch 'sm1' is not a GPU architecture",
        ),
        ("[[target]]\nname = 'a'\ncuda = 13", "fleet.toml [[target]] a: cuda must be a string"),
        ("[[target]", "fleet.toml: not valid TOML: "),
    ],
)
def test_a_wrong_file_is_one_error(run: Run, text: str, error: str) -> None:
    fleet(text)
    told = run("resolve", "a", "--target", "fleet.toml", *REST)
    assert (told.code, locks()) == (2, [])
    assert told.err.startswith(f"error: {error}")
    assert len(told.err.splitlines()) <= 2


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (("--keep-going",), "error: --keep-going is for several targets"),
        (("--target", "none.toml"), "error: no file none.toml"),
        (("--target", "fleet.toml", "-o", "x.toml"), "error: -o x.toml is no directory, "),
    ],
)
def test_options_that_do_not_go_together(run: Run, options: tuple[str, ...], error: str) -> None:
    fleet(FLEET)
    told = run("resolve", "a", *options)
    assert told.code == 2
    assert told.err.startswith(error)
