"""Lock files against a directory of wheels, without a network."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.load.test_command import Result, run
from tests.support.wheels import build_wheel

__all__ = ["run"]  # the fixture

TARGET = ("--cuda", "13.0", "--arch", "sm120", "--python", "3.12", "--machine", "x86_64")


@pytest.fixture
def check(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Checks a text as a lock of that name, beside the wheels of a directory."""
    for name in [name for name in os.environ if name.startswith(("PIP_", "UV_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("UV_NO_CONFIG", "1")
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    for wheel in (
        build_wheel("alpha", "1.0", requires=["beta>=2"]),
        build_wheel("beta", "1.0"),
        build_wheel("beta", "2.0"),
        build_wheel("old", "1.0", requires_python="<3.12"),
        build_wheel("elsewhere", "1.0", tag="cp312-cp312-win_amd64"),
    ):
        (wheels / wheel.filename).write_bytes(wheel.data)
    monkeypatch.chdir(tmp_path)

    def call(name: str, text: str) -> Result:
        Path(name).write_text(text)
        options = ("--offline", "--wheelhouse", wheels, "--format", "json")
        done: Result = run("check", name, *TARGET, *options)
        return done

    return call


def findings(done: Result) -> list[tuple[str, str, str]]:
    document = done.json("check")
    return [(f["code"], f["severity"], f["subject"]) for f in document["findings"]]


def test_a_set_that_fits(check: Any) -> None:
    done = check("requirements.txt", "alpha==1.0\nbeta==2.0 ; python_version >= '3.9'\n")
    assert (done.code, findings(done)) == (0, [])
    document = done.json("check")
    assert (document["kind"], document["verdict"], document["packages"]) == ("lock", "ok", 2)


def test_a_requirement_that_the_lock_overrides(check: Any) -> None:
    done = check("requirements.txt", "alpha==1.0\nbeta==1.0\n")
    assert (done.code, findings(done)) == (0, [("version-conflict", "warning", "alpha 1.0")])


def test_files_that_this_target_does_not_take(check: Any) -> None:
    done = check("requirements.txt", "old==1.0\nelsewhere==1.0\n")
    assert done.code == 1
    assert sorted(findings(done)) == [
        ("platform-unsupported", "fatal", "elsewhere 1.0"),
        ("python-unsupported", "fatal", "old 1.0"),
    ]


def test_what_no_index_has_is_a_warning(check: Any) -> None:
    done = check("requirements.txt", "unheard-of==1.0\n")
    assert (done.code, findings(done)) == (0, [("not-found", "warning", "unheard-of 1.0")])


def test_versions_that_must_agree(check: Any) -> None:
    done = check(
        "poetry.lock",
        "".join(
            f'[[package]]\nname = "{name}"\nversion = "{version}"\noptional = false\nfiles = []\n'
            for name, version in (("flashinfer-python", "0.6.4"), ("flashinfer-cubin", "0.6.3"))
        ),
    )
    assert done.code == 1
    assert ("version-skew", "fatal", "flashinfer-python 0.6.4") in findings(done)


def test_what_is_no_file_of_an_index_is_left_out(check: Any) -> None:
    text = (
        'version = 1\n[[package]]\nname = "app"\nversion = "0"\nsource = { virtual = "." }\n'
        'dependencies = [{ name = "mine" }, { name = "beta" }]\n'
        '[[package]]\nname = "mine"\nversion = "1.0"\nsource = { git = "https://example.org/m" }\n'
        '[[package]]\nname = "beta"\nversion = "2.0"\nsource = { registry = "https://x.example" }\n'
    )
    done = check("uv.lock", text)
    assert (done.code, findings(done)) == (0, [])
    assert "mine was left out: it is no file of an index" in done.json("check")["notes"]
