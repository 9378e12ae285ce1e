"""``resolve --allow-sdist``: what has no wheel is locked as its source, and said so."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from resolver.errors import DamagedData
from resolver.index.sdist_metadata import read_sdist_metadata
from resolver.lockfile.pylock import load_lock
from resolver.model.artifact import Artifact
from tests.cli.conftest import TARGET, Result
from tests.support.wheels import build_wheel

Run = Callable[..., Result]


def sdist(name: str, version: str, *lines: str, egg: str = "") -> tuple[str, bytes]:
    top = f"{name}-{version}"
    head = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *lines, "", "words"]
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as tar:
        files = {"PKG-INFO": "\n".join(head), "setup.py": "raise SystemExit('it is not run')"}
        if egg:
            files |= {f"src/{name}.egg-info/PKG-INFO": "\n".join(head)}
            files |= {f"src/{name}.egg-info/requires.txt": egg}
        for path, text in files.items():
            info = tarfile.TarInfo(f"{top}/{path}")
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text.encode()))
    return f"{top}.tar.gz", stream.getvalue()


@pytest.fixture
def house(place: Path, publish: Callable[..., None]) -> Path:
    publish(build_wheel("unrelated", "1.0"))
    house = place / "house"
    house.mkdir()
    for wheel in (
        build_wheel("app", "1.0", requires=["source==2.0", "both"]),
        build_wheel("both", "1.0"),
        build_wheel("base", "1.0"),
    ):
        (house / wheel.filename).write_bytes(wheel.data)
    for filename, data in (
        sdist("source", "2.0", "Requires-Dist: base>=1"),
        sdist("both", "1.0"),
        sdist("both", "2.0"),
    ):
        (house / filename).write_bytes(data)
    return house


def test_a_source_is_locked_where_no_wheel_is(run: Run, place: Path, house: Path) -> None:
    options = (*TARGET, "--wheelhouse", house)
    refused = run("resolve", "app", *options)
    assert refused.code == 1
    assert "--allow-sdist" in refused.err
    done = run("resolve", "app", *options, "--allow-sdist", "--format", "json", "-o", "pylock.toml")
    document = json.loads(done.out)
    files = {package["name"]: package["filename"] for package in document["packages"]}
    # A wheel of an older release goes before the source of a newer one.
    assert files == {
        "app": "app-1.0-py3-none-any.whl",
        "base": "base-1.0-py3-none-any.whl",
        "both": "both-1.0-py3-none-any.whl",
        "source": "source-2.0.tar.gz",
    }
    [reason] = document["reasons"]
    assert (reason["code"], reason["severity"], reason["subject"], reason["found"]) == (
        "sdist-only",
        "warning",
        "source 2.0",
        "source-2.0.tar.gz: built from source, not judged",
    )
    [package] = [p for p in load_lock(place / "pylock.toml").packages if p.name == "source"]
    assert package.wheels is None
    assert package.sdist is not None
    assert package.sdist.path == "house/source-2.0.tar.gz"
    exported = run("export", "pylock.toml", "--to", "pip")
    assert "./house/source-2.0.tar.gz \\\n    --hash=sha256:" in exported.out
    checked = run("check", "pylock.toml", *options, "--format", "json")
    assert [f["code"] for f in json.loads(checked.out)["findings"]] == ["sdist-only"]


def test_a_newer_source_that_is_asked_for(run: Run, house: Path) -> None:
    options = (
        *TARGET,
        "--wheelhouse",
        house,
        "--offline",
        "--format",
        "json",
        "-o",
        "pylock.x.toml",
    )
    done = run("resolve", "both>=2", *options, "--allow-sdist")
    assert [p["filename"] for p in json.loads(done.out)["packages"]] == ["both-2.0.tar.gz"]


def artifact(filename: str) -> Artifact:
    from packaging.utils import parse_sdist_filename

    name, version = parse_sdist_filename(filename)
    return Artifact(
        filename=filename,
        name=name,
        version=version,
        kind="sdist",
        channel="default",
        origin="index",
    )


def test_requirements_of_a_source() -> None:
    filename, data = sdist(
        "a", "1.0", egg="six>=1\n\n[gpu]\ntorch\n\n[:sys_platform == 'win32']\nw\n"
    )
    metadata = read_sdist_metadata(artifact(filename), data)
    assert [str(requirement) for requirement in metadata.requires] == [
        "six>=1",
        'torch; extra == "gpu"',
        'w; sys_platform == "win32"',
    ]
    filename, data = sdist("a", "1.0", "Requires-Dist: six", egg="other")
    assert [str(r) for r in read_sdist_metadata(artifact(filename), data).requires] == ["six"]


def test_archives_that_are_none() -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("a-1.0/PKG-INFO", "Metadata-Version: 2.1\nName: a\nVersion: 1.0\n\n")
    assert read_sdist_metadata(artifact("a-1.0.zip"), stream.getvalue()).requires == ()
    for filename, data in (("a-1.0.zip", b"no"), ("a-1.0.tar.gz", b"no"), sdist("b", "1.0")):
        with pytest.raises(DamagedData):
            read_sdist_metadata(artifact(filename.replace("b-", "a-")), data)
