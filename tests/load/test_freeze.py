from __future__ import annotations

import hashlib
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
from packaging.pylock import Pylock
from packaging.utils import canonicalize_name, parse_wheel_filename
from packaging.version import Version

from resolver.errors import NotFound, UsageError
from resolver.load.environment import load_environment
from resolver.model.artifact import Artifact, Listing
from resolver.usecase.freeze import check_place, freeze_with
from resolver.wheelfile.byte_source import BytesSource
from tests.load.test_command import run
from tests.load.world import World
from tests.support.wheels import BuiltWheel, build_wheel

__all__ = ["run"]  # the fixture


class Index:
    """A session over wheels in memory."""

    def __init__(self, *wheels: BuiltWheel) -> None:
        self.wheels = {wheel.filename: wheel for wheel in wheels}
        self.index = self

    def listings(self, project: str) -> tuple[Listing, ...]:
        if project == "gone":
            raise NotFound("no such project", url="https://index.example/gone/")
        artifacts = [
            Artifact(
                filename=name,
                name=canonicalize_name(project),
                version=Version(name.split("-")[1]),
                kind="wheel",
                channel="default",
                origin="index",
                tags=parse_wheel_filename(name)[3],
                url=f"https://index.example/{name}",
                sha256=wheel.sha256,
                size=len(wheel.data),
            )
            for name, wheel in self.wheels.items()
            if canonicalize_name(name.split("-")[0]) == project
        ]
        name = canonicalize_name(project)
        return (Listing(project=name, channel="default", artifacts=artifacts),)

    def opener(self, artifact: Artifact) -> BytesSource:
        return BytesSource(self.wheels[artifact.filename].data)


def unpack(world: World, wheel: BuiltWheel, tmp_path: Path) -> Path:
    path = tmp_path / wheel.filename
    path.write_bytes(wheel.data)
    with zipfile.ZipFile(path) as archive:
        archive.extractall(world.site)
    info = world.site / "-".join(wheel.filename.split("-")[:2])
    info = info.with_name(info.name + ".dist-info")
    with (info / "RECORD").open("a") as record:
        record.write(f"{info.name}/INSTALLER,sha256=abc,3\n../../../bin/tool,sha256=def,3\n")
    return info


def test_what_is_found_again_is_locked(tmp_path: Path) -> None:
    world = World(tmp_path / "env")
    mine = build_wheel("pkg", "1.0", files={"pkg/__init__.py": b"x = 1\n"})
    other = build_wheel("pkg", "1.0", build="1", files={"pkg/__init__.py": b"x = 2\n"})
    changed = build_wheel("odd", "2.0", files={"odd.py": b"here\n"})
    unpack(world, mine, tmp_path)
    unpack(world, changed, tmp_path)
    direct = world.install("near", "3.0", {"near.py": b""})
    (direct / "direct_url.json").write_text(
        '{"url": "https://files.example/near-3.0.whl",'
        f' "archive_info": {{"hashes": {{"sha256": "{"0" * 64}"}}}}}}'
    )
    edit = world.install("edit", "4.0")
    (edit / "direct_url.json").write_text(
        '{"url": "file:///src/edit", "dir_info": {"editable": true}}'
    )
    world.install("gone", "5.0", {"gone.py": b""})
    index = Index(other, mine, build_wheel("odd", "2.0", files={"odd.py": b"there\n"}))
    path = tmp_path / "pylock.before.toml"
    frozen = freeze_with(index, load_environment(world.prefix), "x86_64")  # type: ignore[arg-type]
    frozen.write(path)
    lock = tomllib.loads(path.read_text())
    Pylock.from_dict(lock)
    by_name = {package["name"]: package for package in lock["packages"]}
    assert set(by_name) == {"pkg", "near"}
    assert by_name["pkg"]["wheels"][0]["hashes"]["sha256"] == (
        hashlib.sha256(mine.data).hexdigest()
    )
    assert by_name["near"]["archive"]["url"] == "https://files.example/near-3.0.whl"
    why = {row["name"]: row["why"] for row in lock["tool"]["abilock"]["not-found"]}
    assert why == {
        "edit": "an editable install of /src/edit",
        "gone": "no such project",
        "odd": "no file of an index has the same RECORD",
    }
    assert (len(frozen.rows), frozen.found, len(frozen.lost)) == (5, 2, 3)


def test_the_name_of_a_lock(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a name for a lock file"):
        check_place(tmp_path / "freeze.txt")


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("nowhere/pylock.toml", "no directory nowhere to write pylock.toml to"),
        ("file/pylock.toml", "no directory file to write pylock.toml to"),
        ("pylock.full.toml", "cannot write pylock.full.toml"),
        ("freeze.txt", "'freeze.txt' is not a name for a lock file"),
    ],
)
def test_a_place_that_takes_no_lock_is_told_first(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, message: str
) -> None:
    world = World(tmp_path / "env")
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("")
    Path("pylock.full.toml").mkdir()
    done = run("check", world.prefix, "--freeze", place)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"error: {message}\n")


def test_a_broken_environment_is_frozen_and_told(run: Any, tmp_path: Path) -> None:
    world = World(tmp_path / "env")
    edit = world.install("edit", "4.0", {"edit/_a.abi3.so": b"\0"})
    (edit / "direct_url.json").write_text(
        '{"url": "file:///nowhere/edit", "dir_info": {"editable": true}}'
    )
    path = tmp_path / "pylock.toml"
    done = run("check", world.prefix, "--freeze", path, "--offline")
    assert done.code == 1
    assert path.exists()
    assert done.err.splitlines() == [
        f"Wrote {path}: 0 packages.",
        "Not found again, and listed in its [tool.abilock]:",
        "  edit 4.0: an editable install of /nowhere/edit",
        "The environment is broken, and this is a lock of it as it is.",
    ]
