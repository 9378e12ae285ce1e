from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import FrozenInstanceError, fields
from datetime import date
from pathlib import Path
from typing import Any, get_type_hints

import httpx
import pytest

import abilock
from resolver import api
from resolver.index.http import HttpClient
from resolver.model.options import IndexOptions, TargetOptions
from resolver.render.contract import TargetModel
from resolver.usecase.arguments import IndexKeywords, TargetKeywords
from tests.support.still import still_world
from tests.support.wheels import build_wheel

TARGET: TargetKeywords = {
    "cuda": "13.0",
    "arch": "sm120",
    "python": "3.12",
    "machine": "x86_64",
    "glibc": "2.35",
}


def test_the_public_name_has_what_the_api_has() -> None:
    assert abilock.__all__ == api.__all__ == sorted(api.__all__)
    for name in abilock.__all__:
        assert getattr(abilock, name) is getattr(api, name)
    with pytest.raises(AttributeError, match="nothing_such"):
        getattr(abilock, "nothing_such")  # noqa: B009


def test_everything_public_is_documented() -> None:
    for name in abilock.__all__:
        if name != "__version__":
            assert inspect.getdoc(getattr(abilock, name)), name


def test_the_import_is_light() -> None:
    code = "import sys, abilock; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"pydantic", "httpx", "typer", "rich", "packaging", "resolvelib", "stamina"}
    assert heavy & set(done.stdout.split()) == set()


def test_the_module_is_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "abilock", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"abilock {abilock.__version__}\n"


def test_keywords_are_the_fields_of_the_options() -> None:
    assert set(get_type_hints(TargetKeywords)) == {f.name for f in fields(TargetOptions)}
    assert set(get_type_hints(IndexKeywords)) == {f.name for f in fields(IndexOptions)}


def test_results_are_frozen() -> None:
    answer = abilock.resolve("torch==2.9.1", offline=True, **TARGET)
    with pytest.raises(FrozenInstanceError):
        answer.lock = None  # type: ignore[misc]


def test_a_wheelhouse_is_locked_by_path(tmp_path: Path) -> None:
    house = tmp_path / "house"
    house.mkdir()
    wheel = build_wheel("demo", "1.0")
    (house / wheel.filename).write_bytes(wheel.data)
    answer = abilock.resolve("demo", offline=True, wheelhouse=house, **TARGET)
    assert answer.lock is not None
    answer.lock.write(tmp_path / "pylock.toml")
    assert f'path = "house/{wheel.filename}"' in (tmp_path / "pylock.toml").read_text()
    assert answer.lock.render(tmp_path) == (tmp_path / "pylock.toml").read_text()


def test_pins_of_a_lock_are_kept(tmp_path: Path) -> None:
    house, lock = tmp_path / "house", tmp_path / "pylock.toml"
    house.mkdir()

    def publish(version: str) -> None:
        wheel = build_wheel("demo", version)
        (house / wheel.filename).write_bytes(wheel.data)

    def versions(answer: abilock.ResolveResult) -> list[str]:
        return [str(package.version) for package in answer.packages]

    publish("1.0")
    first = abilock.resolve("demo", wheelhouse=house, offline=True, keep=lock, **TARGET)
    assert first.lock is not None
    first.lock.write(lock)
    publish("2.0")
    kept = abilock.resolve("demo", wheelhouse=house, offline=True, keep=lock, **TARGET)
    freed = abilock.resolve(
        "demo", wheelhouse=house, offline=True, keep=lock, upgrade=["demo"], **TARGET
    )
    assert [versions(kept), versions(freed)] == [["1.0"], ["2.0"]]


def test_files_and_texts_are_requirements(tmp_path: Path) -> None:
    stated = tmp_path / "requirements.txt"
    stated.write_text("torch==2.10.0\n")
    judged = abilock.why([stated, "sgl-kernel==0.3.21"], offline=True, **TARGET)
    assert judged.verdict == "rejected"
    assert judged.to_json()["requests"] == ["torch==2.10.0", "sgl-kernel==0.3.21"]
    assert str(judged).startswith("Rejected: torch==2.10.0 with sgl-kernel==0.3.21 on CUDA 13.0")


def test_the_target_of_the_documents() -> None:
    with abilock.open_session(offline=True) as session:
        more: TargetKeywords = {**TARGET, "driver": "580.65.06", "toolkit": "13.0"}
        full = abilock.find_target(session=session, **more)
        bare = abilock.find_target(session=session, **TARGET)
    for target in (full, bare):
        assert TargetModel.model_validate(target.to_json()).model_dump() == target.to_json()
    assert full.to_json()["driver"] == "580.65.06"


def test_a_session_reads_nothing_but_its_world(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another clock, another environment, another client: none of this process's counts."""
    asked: list[str] = []
    made: list[Mapping[str, str]] = []

    def respond(request: httpx.Request) -> httpx.Response:
        asked.append(str(request.url))
        return httpx.Response(404)

    def make_client(**options: Any) -> HttpClient:
        made.append(options["environ"])
        return HttpClient(transport=httpx.MockTransport(respond), **options)

    monkeypatch.setenv("ABILOCK_DEFAULT_INDEX", "https://of-the-process.test/simple")
    world = still_world(tmp_path, environ={"ABILOCK_DEFAULT_INDEX": "https://mine.test/simple"})
    with abilock.Session(
        options=IndexOptions(channels=("default",), no_cache=True),
        world=world,
        make_client=make_client,
    ) as session:
        answer = abilock.resolve("nothing-such", session=session, **TARGET)
        abilock.why("nothing-such", session=session, cuda="12.8", arch="sm90")
    assert answer.day == date(2026, 9, 1)
    assert {httpx.URL(url).host for url in asked} == {"mine.test"}
    # One client for all targets, and a page that is not there is asked for once.
    assert made == [world.environ]
    assert asked == ["https://mine.test/simple/nothing-such/"]
    assert not (tmp_path / "cache").exists()


def test_targets_and_sessions_are_said_once() -> None:
    with abilock.open_session(offline=True) as session:
        target = abilock.find_target(session=session, **TARGET)
        with pytest.raises(TypeError, match="a target is given, and cuda beside it"):
            abilock.why("torch", target=target, session=session, cuda="12.8")
        with pytest.raises(TypeError, match="offline: say it where the session is opened"):
            abilock.why("torch", target=target, session=session, offline=True)
    with pytest.raises(TypeError, match="nothing_such"):
        abilock.why("torch", nothing_such=1, **TARGET)  # type: ignore[call-arg]


def test_bad_input_is_one_clear_error() -> None:
    with pytest.raises(abilock.UsageError, match="nothing to judge"):
        abilock.why([], **TARGET)
    with pytest.raises(abilock.UsageError, match=r"--exclude-newer 'soon' is neither"):
        abilock.resolve("torch", offline=True, exclude_newer="soon", **TARGET)


def test_an_error_is_told_for_its_own_machine() -> None:
    told = abilock.explain_error(
        "ImportError: libnvrtc.so.13: cannot open shared object file", offline=True
    )
    assert [fault.kind for fault in told.faults] == ["missing-library"]
    assert (told.target, told.judgement) == (None, None)
    assert told.to_json()["verdict"] == "unknown"
