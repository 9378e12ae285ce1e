"""Wheels, environments and locks through the API; and which file a name means."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from packaging.tags import parse_tag
from packaging.utils import NormalizedName
from packaging.version import Version

import abilock
from resolver import api
from resolver.errors import Unreachable
from resolver.model.artifact import Artifact, Listing
from resolver.usecase.arguments import TargetKeywords, WheelKeywords
from resolver.usecase.pick_file import find_wheels
from tests.cli.conftest import publish, server
from tests.support.fakes import make_target
from tests.support.server import Server
from tests.support.wheels import BuiltWheel, build_wheel

__all__ = ["publish", "server"]  # fixtures

Publish = Callable[..., None]
PLATFORM: WheelKeywords = {"python": "3.12", "machine": "x86_64", "channels": ["default"]}


def put(server: Server, *wheels: BuiltWheel, yanked: BuiltWheel) -> None:
    """Put wheels of one project on the index, one of them yanked."""
    entry = {**server._entry(yanked), "yanked": "broken"}
    server.project(yanked.filename.split("-")[0], [*wheels, entry])


def names(answer: api.InspectResult) -> list[str]:
    return [found.wheel.filename for found in answer.wheels]


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("zed", "1.1"),  # neither a pre-release nor a yanked file
        ("zed>=1.0", "1.1"),
        ("zed<1.1", "1.0"),
        ("zed>=2.0rc1", "2.0rc1"),
        ("zed==1.2", "1.2"),  # yanked, and named
    ],
)
def test_the_release_that_a_name_means(server: Server, text: str, version: str) -> None:
    wheels = [build_wheel("zed", each) for each in ("1.0", "1.1", "2.0rc1")]
    put(server, *wheels, yanked=build_wheel("zed", "1.2"))
    assert names(abilock.inspect(text, **PLATFORM)) == [f"zed-{version}-py3-none-any.whl"]


def test_pre_releases_where_there_is_nothing_else(publish: Publish) -> None:
    publish(build_wheel("early", "1.0a1"), build_wheel("early", "1.0a2"))
    assert names(abilock.inspect("early", **PLATFORM)) == ["early-1.0a2-py3-none-any.whl"]


def test_nothing_but_yanked_files(server: Server) -> None:
    put(server, yanked=build_wheel("gone", "1.0"))
    with pytest.raises(abilock.UsageError, match=r"^every wheel of gone was yanked$") as caught:
        abilock.inspect("gone", **PLATFORM)
    assert caught.value.hint == "name one: gone==1.0"


def test_no_release_that_fits(publish: Publish) -> None:
    publish(build_wheel("zed", "1.0"))
    with pytest.raises(
        abilock.UsageError, match=r"^no wheel of zed>3 for Python 3.12 on"
    ) as caught:
        abilock.inspect("zed>3", **PLATFORM)
    assert caught.value.hint == "newest that it has: 1.0"
    with pytest.raises(Unreachable, match="nothing of other is cached"):
        abilock.inspect("other", offline=True, python="3.12", channels=["default"])


class Listed:
    """An index of some files, by channel."""

    offline = False

    def __init__(self, *rows: tuple[str, str, str]) -> None:
        self._rows = rows

    def listings(self, project: NormalizedName) -> list[Listing]:
        return [
            Listing(
                project=project,
                channel=channel,
                artifacts=(
                    Artifact(
                        filename=f"{project}-{version}-py3-none-any.whl",
                        name=project,
                        version=Version(version),
                        kind="wheel",
                        channel=channel,
                        origin=origin,  # type: ignore[arg-type]
                        tags=parse_tag("py3-none-any"),
                    ),
                ),
            )
            for channel, version, origin in self._rows
        ]


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("torch", "2.9.1"),
        ("torch==2.9.1", "2.9.1"),
        ("torch==2.9.1+cu128", "2.9.1+cu128"),
        ("torch<2.9", "2.8.0+cu130"),  # of one channel the newest build
        ("torch<2.8", "2.7.0+cu126"),  # what an index lists now before what was recorded
    ],
)
def test_the_default_index_before_a_channel(text: str, version: str) -> None:
    index = Listed(
        ("pytorch", "2.9.1+cu128", "index"),
        ("pytorch", "2.9.1+cu130", "index"),
        ("default", "2.9.1", "index"),
        ("pytorch", "2.8.0+cu128", "index"),
        ("pytorch", "2.8.0+cu130", "index"),
        ("pytorch", "2.7.0+cu126", "index"),
        ("default", "2.7.0", "snapshot"),
    )
    connection: Any = SimpleNamespace(index=index)
    found, *_ = find_wheels(connection, text, make_target(), Path())
    assert str(found.version) == version


def test_files_and_what_two_share(tmp_path: Path) -> None:
    paths = []
    for version in ("1.0", "2.0"):
        wheel = build_wheel("demo", version)
        paths.append(tmp_path / wheel.filename)
        paths[-1].write_bytes(wheel.data)
    answer = abilock.inspect(paths)
    assert str(answer).startswith(f"{paths[0].name}\n")
    assert answer.to_json()["comparisons"][0]["same"] == []
    assert abilock.inspect(paths[0]).to_json()["wheel"] == paths[0].name
    with pytest.raises(abilock.UsageError, match=r"no file nothing-1-py3-none-any.whl"):
        abilock.inspect("nothing-1-py3-none-any.whl")


def test_two_releases_of_torch() -> None:
    answer = abilock.diff("torch==2.9.1", "torch==2.10.0", machine="x86_64", offline=True)
    assert str(answer).startswith("torch 2.9.1 to torch 2.10.0 (x86_64, measured)\n")
    assert answer.to_json()["used_by"] is None
    for wrong in ("torch", "torch>=2", "numpy==2.0", "torch==2.*"):
        with pytest.raises(abilock.UsageError, match="does not name one torch release"):
            abilock.diff("torch==2.9.1", wrong, offline=True)


def test_an_environment_and_its_lock(tmp_path: Path) -> None:
    site = tmp_path / "env" / "lib" / "python3.12" / "site-packages"
    info = site / "demo-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n")
    (info / "RECORD").write_text("demo-1.0.dist-info/METADATA,,\n")
    seen: list[str] = []
    with abilock.open_session(offline=True) as session:
        answer = abilock.check_environment(
            tmp_path / "env", session=session, on_package=lambda each: seen.append(each.name)
        )
        frozen = abilock.freeze(answer, session=session)
        again = abilock.freeze(tmp_path / "env", session=session)
    assert (answer.verdict, answer.findings, seen) == ("ok", (), ["demo"])
    assert answer.to_json()["prefix"] == str(tmp_path / "env")
    assert (frozen.found, [row.distribution.name for row in frozen.lost]) == (0, ["demo"])
    assert frozen.render() == again.render()
    frozen.write(tmp_path / "pylock.toml")
    tool = tomllib.loads((tmp_path / "pylock.toml").read_text())["tool"]["abilock"]
    assert tool["frozen"] == str(tmp_path / "env")


def test_a_lock_and_its_files(publish: Publish, tmp_path: Path) -> None:
    publish(build_wheel("demo", "1.0"))
    machine: TargetKeywords = {"cuda": "13.0", "arch": "sm120", "python": "3.12"}
    lock = abilock.resolve("demo", **machine).lock
    assert lock is not None
    lock.write(tmp_path / "pylock.toml")
    checked = abilock.check_lock(tmp_path / "pylock.toml")
    assert (checked.verdict, checked.environment) == ("ok", None)
    assert checked.target is not None
    assert str(checked.target.cuda) == "13.0"  # as the lock says
    with pytest.raises(abilock.UsageError, match="a lock file is a lock already"):
        abilock.freeze(checked)
    got = abilock.download(tmp_path / "pylock.toml", wheelhouse=tmp_path / "house")
    assert (got.failed, set(got.fates.values())) == ((), {"fetched"})
    got.write_lock(tmp_path / "pylock.away.toml")
    (package,) = tomllib.loads((tmp_path / "pylock.away.toml").read_text())["packages"]
    assert package["wheels"][0]["path"] == "house/demo-1.0-py3-none-any.whl"


def test_what_may_not_be_said_twice() -> None:
    with abilock.open_session(offline=True) as session:
        with pytest.raises(TypeError, match=r"^offline: say it where the session is opened$"):
            abilock.inspect("zed", session=session, offline=True)
        with pytest.raises(TypeError, match=r"^a platform is given, and python beside it$"):
            abilock.inspect(
                "zed", session=session, platform=abilock.PlatformOptions(), python="3.12"
            )
        with pytest.raises(TypeError, match=r"^a target is given, and cuda beside it$"):
            abilock.check_environment(session=session, target=abilock.TargetOptions(), cuda="13.0")
