"""Extras and groups of locks: what is installed together, and what excludes each other."""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

import pytest
from packaging.markers import Environment
from packaging.pylock import Pylock, PylockSelectError

from resolver.errors import UsageError
from resolver.lockfile.pin import LockFile
from resolver.model.options import LockOptions
from tests.load.test_check_lock import TARGET, check
from tests.load.test_command import Result, run
from tests.support.fakes import make_target
from tests.support.locks import load_lock_file

__all__ = ["check", "run"]  # the fixtures

CONFLICTS = """version = 1
conflicts = [[
    { package = "app", extra = "new" },
    { package = "app", extra = "old" },
    { package = "app", group = "dev" },
]]
"""
# As uv 0.13 writes it for a project with these extras and groups, without files.
UV = """
[[package]]
name = "app"
version = "0.1"
source = { virtual = "." }
dependencies = [{ name = "base" }]
[package.optional-dependencies]
free = [{ name = "six", extra = ["fast"] }]
new = [{ name = "alpha", version = "2.0" }, { name = "more" }]
old = [{ name = "alpha", version = "1.0" }]
[package.dev-dependencies]
dev = [{ name = "alpha", version = "3.0" }]
docs = [{ name = "writer" }]

[[package]]
name = "base"
version = "1.0"
dependencies = [
    { name = "helper", marker = "extra == 'extra-3-app-old' or extra != 'extra-3-app-new'" },
    { name = "gone", marker = "extra == 'extra-3-app-new' and extra == 'extra-3-app-old'" },
]

[[package]]
name = "six"
version = "1.0"
[package.optional-dependencies]
fast = [{ name = "quick" }]
slow = [{ name = "gone" }]
"""
UV += "".join(
    f'[[package]]\nname = "{name}"\nversion = "{version}"\n'
    for name, version in (
        *(("alpha", f"{number}.0") for number in (1, 2, 3)),
        *((name, "1.0") for name in ("more", "writer", "helper", "gone", "quick")),
    )
)


def load(tmp_path: Path, name: str, text: str, **options: Any) -> list[LockFile]:
    path = tmp_path / name
    path.write_text(text)
    return list(load_lock_file(path, make_target().environment, LockOptions(**options)))


def shown(locks: Iterable[LockFile]) -> dict[str, str]:
    return {lock.fork: " ".join(f"{p.name}-{p.version}" for p in lock.pins) for lock in locks}


def test_forks_of_uv(tmp_path: Path) -> None:
    locks = load(tmp_path, "uv.lock", CONFLICTS + UV)
    assert shown(locks) == {
        "extra new": "alpha-2.0 base-1.0 more-1.0 quick-1.0 six-1.0",
        "extra old": "alpha-1.0 base-1.0 helper-1.0 quick-1.0 six-1.0",
        "group dev": "alpha-3.0 base-1.0 helper-1.0 quick-1.0 six-1.0",
    }
    note = "dependency groups were not judged; to judge them: --group docs"
    assert {lock.notes for lock in locks} == {(note,)}


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"extras": ("old",)}, {"extra old": "alpha-1.0 base-1.0 helper-1.0"}),
        (
            {"extras": ("NEW",), "groups": ("docs",)},
            {"extra new, group docs": "alpha-2.0 base-1.0 more-1.0 writer-1.0"},
        ),
        ({"groups": ("dev",)}, {"group dev": "alpha-3.0 base-1.0 helper-1.0"}),
    ],
)
def test_a_choice_of_uv(tmp_path: Path, options: dict[str, Any], found: dict[str, str]) -> None:
    assert shown(load(tmp_path, "uv.lock", CONFLICTS + UV, **options)) == found


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        (
            {"all_extras": True},
            "extra new and extra old exclude each other in the lock",
            "name one of them: --extra new",
        ),
        (
            {"extras": ("old",), "groups": ("dev",)},
            "extra old and group dev exclude each other in the lock",
            "name one of them: --extra old",
        ),
        ({"extras": ("nope",)}, "the lock has no extra nope", "it has free, new, old"),
        ({"groups": ("nope",)}, "the lock has no group nope", "it has dev, docs"),
    ],
)
def test_a_choice_that_uv_refuses(
    tmp_path: Path, options: dict[str, Any], message: str, hint: str
) -> None:
    with pytest.raises(UsageError) as caught:
        load(tmp_path, "uv.lock", CONFLICTS + UV, **options)
    assert (caught.value.message, caught.value.hint) == (message, hint)


def test_extras_that_exclude_nothing_are_one(tmp_path: Path) -> None:
    text = "version = 1\n" + UV.replace('"alpha", version = "2.0"', '"alpha", version = "1.0"')
    (lock,) = load(tmp_path, "uv.lock", text)
    assert (lock.fork, [str(pin.name) for pin in lock.pins]) == (
        "",
        ["alpha", "base", "gone", "helper", "more", "quick", "six"],
    )


def paired(count: int, *, all_with_all: bool = False) -> str:
    """A lock whose extras ``a0`` and ``b0``, ``a1`` and ``b1`` exclude each other."""
    names = [f"{letter}{n}" for n in range(count) for letter in "ab"]
    pairs = (
        itertools.combinations(names, 2)
        if all_with_all
        else zip(names[::2], names[1::2], strict=True)
    )
    rows = "".join(
        f'[{{ package = "app", extra = "{a}" }}, {{ package = "app", extra = "{b}" }}], '
        for a, b in pairs
    )
    extras = "".join(f'{name} = [{{ name = "of-{name}" }}]\n' for name in names)
    project = '[[package]]\nname = "app"\nversion = "1"\nsource = { virtual = "." }\n'
    head = f"version = 1\nconflicts = [{rows}]\n{project}[package.optional-dependencies]\n"
    packages = "".join(f'[[package]]\nname = "of-{n}"\nversion = "1"\n' for n in names)
    return f"{head}{extras}{packages}"


def test_of_too_many_forks_single_choices_are_judged(tmp_path: Path, check: Any, run: Any) -> None:
    forks = load(tmp_path, "uv.lock", paired(4))  # 3 ** 4 ways, 8 of one item and one of none
    assert {fork.forks_left for fork in forks} == {81 - 9}
    assert [fork.fork for fork in forks] == [f"extra {x}{n}" for x in "ab" for n in range(4)]
    few = load(tmp_path, "uv.lock", paired(5, all_with_all=True))  # 45 pairs leave 11 ways
    assert ({fork.forks_left for fork in few}, len(few)) == ({0}, 10)
    done = check("uv.lock", paired(4))
    document = done.json("check")
    assert (done.code, document["verdict"], document["forks_left"]) == (3, "ok", 72)
    assert document["notes"][0].startswith(
        "the lock has 72 forks more, of extras and groups chosen"
    )
    text: Result = run("check", "uv.lock", *TARGET, "--offline")
    assert text.out.startswith("Ok, as far as it could be judged: 72 forks were not; 1 package ")
    assert run("check", "uv.lock", "--extra", "a1", *TARGET, "--offline").code == 0


def test_members_that_exclude_each_other_are_not_one_set(tmp_path: Path) -> None:
    """As ``uv sync`` installs: what the project of the lock's own directory needs."""
    text = """
version = 1
conflicts = [[{ package = "app", extra = "x" }, { package = "other", extra = "x" }]]
[[package]]
name = "app"
version = "1"
source = { virtual = "." }
dependencies = [{ name = "both", version = "1" }]
[package.optional-dependencies]
x = [{ name = "with-x" }]
[[package]]
name = "other"
version = "1"
source = { editable = "other" }
dependencies = [{ name = "both", version = "2" }]
[package.optional-dependencies]
x = [{ name = "with-other-x" }]
""" + "".join(
        f'[[package]]\nname = "{name}"\nversion = "{version}"\n'
        for name, version in (("both", 1), ("both", 2), ("with-x", 1), ("with-other-x", 1))
    )
    (fork,) = load(tmp_path, "uv.lock", text)
    assert [str(pin.version) for pin in fork.pins] == ["1", "1"]
    assert [pin.name for pin in fork.pins] == ["both", "with-x"]
    assert fork.notes == (
        "what app needs was judged, and not what other do: members of the workspace exclude each "
        "other",
    )
    (named,) = load(tmp_path, "uv.lock", text, extras=("other[x]",))
    assert {pin.name: str(pin.version) for pin in named.pins} == {"both": "2", "with-other-x": "1"}
    with pytest.raises(UsageError, match=r"extra app\[x\] and extra other\[x\] exclude") as caught:
        load(tmp_path, "uv.lock", text, extras=("x", "other[x]"))
    assert caught.value.hint == "name one of them: --extra app[x]"


# PEP 751

PYLOCK = """
lock-version = "1.0"
created-by = "someone"
extras = ["gpu", "plot"]
dependency-groups = ["dev", "test"]
default-groups = ["dev"]
"""
ROWS = (
    ("alpha", None),
    ("cuda", "'gpu' in extras"),
    ("plots", "'plot' in extras and sys_platform == 'linux'"),
    ("linter", "'dev' in dependency_groups"),
    ("runner", "'test' in dependency_groups or 'gpu' in extras"),
    ("windows", "sys_platform == 'win32'"),
)


def pylock(rows: Iterable[tuple[str, str | None]], head: str = PYLOCK) -> str:
    text = head
    for name, marker in rows:
        name, _, version = name.partition(" ")
        version = version or "1.0"
        text += f'[[packages]]\nname = "{name}"\nversion = "{version}"\n'
        text += f'marker = "{marker}"\n' if marker else ""
        url = f"https://files.example/{name}-{version}-py3-none-any.whl"
        text += f'[[packages.wheels]]\nurl = "{url}"\nhashes = {{ sha256 = "{"dd" * 32}" }}\n'
    return text


CHOICES = [
    (extras, groups)
    for extras in ((), ("gpu",), ("plot",), ("gpu", "plot"))
    for groups in ((), ("dev",), ("test",), ("dev", "test"))
    if extras or groups
]


@pytest.mark.parametrize(("extras", "groups"), CHOICES)
def test_a_choice_is_what_packaging_selects(
    tmp_path: Path, extras: tuple[str, ...], groups: tuple[str, ...]
) -> None:
    text = pylock(ROWS)
    (lock,) = load(tmp_path, "pylock.toml", text, extras=extras, groups=groups)
    selected = Pylock.from_dict(tomllib.loads(text)).select(
        environment=cast(Environment, make_target().environment),
        tags=list(make_target().tags),
        extras=extras,
        dependency_groups=groups or None,
    )
    assert [pin.name for pin in lock.pins] == sorted(package.name for package, _ in selected)


def test_without_a_choice_all_extras_and_the_default_groups(tmp_path: Path) -> None:
    (lock,) = load(tmp_path, "pylock.toml", pylock(ROWS))
    names = ["alpha", "cuda", "linter", "plots", "runner"]
    assert (lock.fork, [pin.name for pin in lock.pins]) == ("", names)
    assert lock.notes == ("dependency groups were not judged; to judge them: --group test",)


def test_extras_that_pin_one_package_twice_are_forks(tmp_path: Path) -> None:
    rows = (
        ("alpha 1.0", "'gpu' in extras"),
        ("alpha 2.0", "'plot' in extras"),
        ("linter", "'dev' in dependency_groups"),
    )
    text = pylock(rows)
    assert shown(load(tmp_path, "pylock.toml", text)) == {
        "extra gpu": "alpha-1.0 linter-1.0",
        "extra plot": "alpha-2.0 linter-1.0",
    }
    both = ("gpu", "plot")
    (lock,) = load(tmp_path, "pylock.toml", text, extras=both)
    assert lock.left_out == 1
    assert lock.notes == (
        "alpha 2.0 was left out: the lock pins it for this target beside 1.0, which was judged",
    )
    with pytest.raises(PylockSelectError, match="Multiple packages"):
        list(
            Pylock.from_dict(tomllib.loads(text)).select(
                environment=cast(Environment, make_target().environment), extras=both
            )
        )


def test_groups_that_pin_one_package_twice_are_forks(tmp_path: Path) -> None:
    rows = (
        ("alpha 1.0", "'dev' in dependency_groups"),
        ("alpha 2.0", "'test' in dependency_groups"),
    )
    assert shown(load(tmp_path, "pylock.toml", pylock(rows))) == {
        "none of group test": "alpha-1.0",
        "group test": "alpha-2.0",
    }


# poetry

POETRY = """
[[package]]
name = "torch"
version = "2.9.1"
optional = true
groups = ["main"]
markers = "extra == \\"gpu\\""
files = []
[package.dependencies]
deep = "*"

[[package]]
name = "deep"
version = "1.0"
optional = true
groups = ["main"]
files = []

[[package]]
name = "base"
version = "1.0"
optional = false
groups = ["main"]
files = []

[[package]]
name = "tester"
version = "1.0"
optional = false
groups = ["dev"]
files = []

[extras]
gpu = ["torch (>=2.9)"]
none = []
"""


def test_extras_and_groups_of_poetry(tmp_path: Path) -> None:
    everything = "base-1.0 deep-1.0 tester-1.0 torch-2.9.1"
    assert shown(load(tmp_path, "poetry.lock", POETRY)) == {"": everything}
    assert shown(load(tmp_path, "poetry.lock", POETRY, extras=("gpu",))) == {
        "extra gpu": everything
    }
    chosen = shown(load(tmp_path, "poetry.lock", POETRY, groups=("dev",), extras=("none",)))
    assert chosen == {"extra none, group dev": "base-1.0 tester-1.0"}


# the report

FORKS = """version = 1
conflicts = [[{ package = "app", extra = "new" }, { package = "app", extra = "old" }]]
[[package]]
name = "app"
version = "0.1"
source = { virtual = "." }
dependencies = [{ name = "beta" }]
[package.optional-dependencies]
new = [{ name = "alpha" }]
old = [{ name = "old" }]
""" + "".join(
    f'[[package]]\nname = "{name}"\nversion = "{version}"\n'
    for name, version in (("alpha", "1.0"), ("beta", "2.0"), ("old", "1.0"))
)


def test_the_report_names_the_forks(check: Any, run: Any) -> None:
    done = check("uv.lock", FORKS)
    document = done.json("check")
    assert (done.code, document["verdict"], document["fork"]) == (1, "broken", None)
    assert [(f["name"], f["verdict"], f["packages"]) for f in document["forks"]] == [
        ("extra new", "ok", 2),
        ("extra old", "broken", 2),
    ]
    assert [len(fork["findings"]) for fork in document["forks"]] == [0, 1]
    place = ("--offline", "--wheelhouse", "wheels")
    text: Result = run("check", "uv.lock", *TARGET, *place)
    lines = text.out.splitlines()
    assert lines[0] == "Broken: uv.lock does not load as a whole; 2 packages, 0 wheels checked"
    assert lines[2:4] == ["  extra new: ok; 2 packages", "  extra old: broken; 2 packages"]
    assert lines[4:8] == ["", "Broken:", "", lines[7]]
    assert lines[8] == "  with        extra old"
    one: Result = run("check", "uv.lock", "--extra", "new", *TARGET, *place)
    assert one.code == 0
    assert one.out.splitlines()[0] == (
        "Ok: uv.lock with extra new loads; 2 packages, 0 wheels checked"
    )


def test_a_choice_where_there_is_none(check: Any, run: Any, tmp_path: Path) -> None:
    check("requirements.txt", "beta==2.0\n")
    done: Result = run("check", "requirements.txt", "--all-extras", *TARGET, "--offline")
    assert (done.code, done.err.splitlines()[0]) == (
        2,
        "error: requirements.txt has no extras and no groups",
    )
    done = run("check", tmp_path, "--extra", "x")
    assert (done.code, done.err.splitlines()[0]) == (
        2,
        "error: --extra, --group, --all-extras and --environment are for lock files",
    )
