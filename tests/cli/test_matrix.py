"""``abilock matrix``: every pair of two projects' releases, judged as ``why`` judges it."""

from __future__ import annotations

import json
from collections.abc import Callable

import jsonschema
import pytest

from resolver.render.render_json import load_schema
from tests.cli.conftest import Result
from tests.support.server import Server
from tests.support.wheels import build_wheel

Run = Callable[..., Result]
TARGET = ("--cuda", "13.0", "--arch", "sm120", "--python", "3.12", "--machine", "x86_64")
HOST = (*TARGET, "--glibc", "2.35")


@pytest.fixture
def two(server: Server) -> None:
    """app 1 and 2 need lib below 2, app 3 needs 2; app 4 is for another Python, 5 a pre-release."""
    apps = [build_wheel("app", version, requires=["lib<2"]) for version in ("1", "2")]
    apps.append(build_wheel("app", "3", requires=["lib>=2"]))
    apps.append(build_wheel("app", "4", tag="cp310-cp310-manylinux_2_17_x86_64"))
    apps.append(build_wheel("app", "5rc1"))
    server.project("app", apps)
    server.project("lib", [build_wheel("lib", version) for version in ("1.0", "1.1", "2.0")])


@pytest.mark.usefixtures("two")
def test_the_table(run: Run) -> None:
    told = run("matrix", "app", "lib", *HOST)
    assert (told.code, told.err) == (0, "")
    assert told.out == (
        "app beside lib, for CUDA 13.0, sm_120, Python 3.12, Linux x86_64 with glibc 2.35\n"
        "\n"
        "app  2.0  1.1  1.0\n"
        "3    D    v    v\n"
        "2    v    D    D\n"
        "1    v    D    D\n"
        "\n"
        "loads    D declared\n"
        "fails    v version-conflict\n"
        "a cell   abilock why app==3 lib==2.0 tells what it rests on\n"
    )


@pytest.mark.usefixtures("two")
def test_ranges_and_numbers(run: Run) -> None:
    told = run("matrix", "lib>1", "app<3", *HOST, "--last", "1")
    assert told.out.splitlines()[2:] == [
        "lib  2  1",
        "2.0  v  v",
        "",
        "loads    nothing here",
        "fails    v version-conflict",
        "older    1 of lib is not shown: --last N, or name a range",
        "a cell   abilock why lib==2.0 app==2 tells what it rests on",
    ]


@pytest.mark.usefixtures("two")
def test_each_cell_is_what_why_says(run: Run) -> None:
    document = json.loads(run("matrix", "app", "lib", *HOST, "--format", "json").out)
    jsonschema.validate(document, load_schema("matrix"))
    for cell in document["cells"]:
        pins = (f"app=={cell['row']}", f"lib=={cell['column']}")
        said = json.loads(run("why", *pins, *HOST, "--format", "json").out)
        fatal = [reason["code"] for reason in said["reasons"] if reason["severity"] == "fatal"]
        assert (cell["verdict"], cell["code"]) == (said["verdict"], next(iter(fatal), None))


def test_the_evidence_that_ships(run: Run) -> None:
    host = ("--cuda", "12.9", "--arch", "sm90", *HOST[4:], "--offline", "--no-cache")
    told = run("matrix", "sgl-kernel>=0.3.20,<0.4", "torch>=2.8,<2.11", *host, "--format", "json")
    cells = {(c["row"], c["column"]): c for c in json.loads(told.out)["cells"]}
    for kernel in ("0.3.20", "0.3.21"):
        good, old = cells[kernel, "2.9.1"], cells[kernel, "2.8.0"]
        assert (good["verdict"], good["grade"], good["code"]) == ("accepted", "measured", None)
        assert (old["verdict"], old["code"]) == ("rejected", "missing-symbol")


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize(
    ("asked", "error"),
    [
        (("app", "app>1"), "app is named twice"),
        (("app>9", "lib"), "no release of app>9 has a wheel for "),
        (("app", "none"), "no release of none has a wheel for "),
        (("app", "=2"), "matrix: '=2' is not a requirement"),
    ],
)
def test_what_cannot_be_shown(run: Run, asked: tuple[str, str], error: str) -> None:
    told = run("matrix", *asked, *HOST)
    assert (told.code, told.out) == (2, "")
    assert told.err.startswith(f"error: {error}")
