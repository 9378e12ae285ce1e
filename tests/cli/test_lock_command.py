"""``abilock lock``: pyproject.toml asks, the lock lies beside it, and CI compares."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from resolver.lockfile.pylock import load_lock, locked_versions
from tests.cli.test_errors import Run
from tests.cli.test_project import TARGET, write
from tests.support.wheels import build_wheel

Publish = Callable[..., None]


def test_it_writes_beside_the_project_and_checks(
    run: Run, place: Path, publish: Publish, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(build_wheel("a", "1.0"))
    write(place, f'requirements = ["a"]\n{TARGET}')
    (place / "src").mkdir()
    monkeypatch.chdir(place / "src")
    missing = run("lock", "--check")
    assert missing.code == 1
    assert missing.err.splitlines()[-1] == "../pylock.toml is not there: abilock lock writes it."
    told = run("lock")
    assert (told.code, told.err.splitlines()[-1]) == (
        0,
        "Wrote ../pylock.toml. Install it: uv pip sync ../pylock.toml, or pip install -r "
        "../pylock.toml.",
    )
    assert run("lock", "--check").code == 0
    # What pyproject.toml says now, the lock does not.
    publish(build_wheel("a", "1.0"), build_wheel("b", "1.0"))
    write(place, f'requirements = ["a", "b"]\n{TARGET}')
    stale = run("lock", "--check")
    assert stale.code == 1
    assert stale.err.splitlines()[-4:] == [
        "Changed in the lock:",
        "  b  new -> 1.0",
        "",
        "../pylock.toml is not up to date: abilock lock writes another one.",
    ]
    assert locked_versions(load_lock(place / "pylock.toml")).keys() == {"a"}


def test_what_differs_beside_versions_is_shown_as_lines(
    run: Run, place: Path, publish: Publish
) -> None:
    publish(build_wheel("a", "1.0"))
    write(place, f'requirements = ["a"]\n{TARGET}')
    run("lock")
    write(place, f'requirements = ["a>=1"]\n{TARGET}')
    stale = run("lock", "--check")
    assert stale.code == 1
    assert stale.err.splitlines()[-6:] == [
        " requests = [",
        '-    "a",',
        '+    "a>=1",',
        " ]",
        "",
        "pylock.toml is not up to date: abilock lock writes another one.",
    ]


@pytest.mark.parametrize(
    ("project", "where"),
    [(None, "here"), ("[project]\nname = 'x'\n", "in {place}/pyproject.toml")],
    ids=["none", "no-requirements"],
)
def test_nothing_to_lock(run: Run, place: Path, project: str | None, where: str) -> None:
    if project is not None:
        (place / "pyproject.toml").write_text(project, encoding="utf-8")
    told = run("lock", "--cuda", "13.0", "--arch", "sm120")
    assert (told.code, told.err.splitlines()[0]) == (
        2,
        "error: nothing says what to lock: there are no requirements " + where.format(place=place),
    )
