"""A lock as hashed requirements for uv and pip, and as constraints."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from packaging.pylock import Package, PackageWheel, Pylock
from packaging.utils import canonicalize_name
from packaging.version import Version

from resolver.errors import DamagedData
from resolver.lockfile.export_requirements import render_constraints, render_pip, render_uv
from resolver.lockfile.pylock import build_lock
from tests.support.fakes import answer

X = "cp312-cp312-linux_x86_64"
TEXT = f"""
torch 2.9.1+cu130 {X} channel:pytorch url:https://x.test/torch-2.9.1%2Bcu130.whl hash:ab needs dep
dep 1.0 hash:cd
gone 1.0 url:none hash:12 snapshot:2026-01-01
near 1.0 local hash:ef
"""


def test_the_whole_text() -> None:
    outcome = answer(TEXT, "torch", "gone", "near")
    lock = build_lock(outcome, wheelhouse="wheelhouse", lock_dir=Path("/project"))
    assert (
        render_uv(lock, source="pylock.toml")
        == f"""\
# abilock export --to uv, from pylock.toml
# CUDA 13.0, sm_120, Python 3.12, Linux x86_64, glibc 2.35 or newer
# install: uv pip sync --require-hashes THIS-FILE
dep==1.0 \\
    --hash=sha256:{"cd" * 32}
./wheelhouse/gone-1.0-py3-none-any.whl \\
    --hash=sha256:{"12" * 32}
../wheels/near-1.0-py3-none-any.whl \\
    --hash=sha256:{"ef" * 32}
torch @ https://x.test/torch-2.9.1%2Bcu130.whl \\
    --hash=sha256:{"ab" * 32}
"""
    )


def test_the_same_files_for_pip() -> None:
    outcome = answer(TEXT, "torch", "gone", "near")
    lock = build_lock(outcome, wheelhouse="wheelhouse", lock_dir=Path("/project"))
    for_uv = render_uv(lock, source="pylock.toml").splitlines()
    for_pip = render_pip(lock, source="pylock.toml").splitlines()
    assert for_pip[0] == "# abilock export --to pip, from pylock.toml"
    assert for_pip[2] == "# install: pip install --no-deps --require-hashes -r THIS-FILE"
    assert [for_pip[1], *for_pip[3:]] == [for_uv[1], *for_uv[3:]]


def test_constraints_hold_versions_alone() -> None:
    outcome = answer(TEXT, "torch", "gone", "near")
    lock = build_lock(outcome, wheelhouse="wheelhouse", lock_dir=Path("/project"))
    assert (
        render_constraints(lock, source="pylock.toml")
        == """\
# abilock export --to constraints, from pylock.toml
# CUDA 13.0, sm_120, Python 3.12, Linux x86_64, glibc 2.35 or newer
# use: pip install -c THIS-FILE ..., or uv pip install -c THIS-FILE ...
dep==1.0
gone==1.0
near==1.0
torch==2.9.1+cu130
"""
    )


@pytest.mark.parametrize(
    ("arch", "shown"), [(7, "7"), (["sm_90", 8], "sm_90, 8"), ("a\n-r x", "a?-r x"), ((), "")]
)
def test_a_target_of_other_types_stays_a_comment(arch: object, shown: str) -> None:
    lock = replace(lock_with(), tool={"abilock": {"version": 1, "target": {"arch": arch}}})
    lines = render_constraints(lock, source="pylock.toml").splitlines()
    assert lines[1].startswith(f"# CUDA None, {shown}, Python None")
    assert all(line.startswith(("#", "a==")) for line in lines)


def lock_with(*wheels: PackageWheel) -> Pylock:
    package = Package(
        name=canonicalize_name("a"), version=Version("1.0"), wheels=list(wheels) or None
    )
    return Pylock(
        lock_version=Version("1.0"),
        created_by="another tool",
        packages=[package],
    )


def wheel(digest: str = "sha256") -> PackageWheel:
    return PackageWheel(
        name="a-1.0-py3-none-any.whl", url="https://x.test/a.whl", hashes={digest: "ab" * 32}
    )


def test_another_tool_s_lock_has_no_line_for_the_target() -> None:
    assert (
        render_uv(lock_with(wheel()), source="pylock.x.toml")
        == f"""\
# abilock export --to uv, from pylock.x.toml
# install: uv pip sync --require-hashes THIS-FILE
a==1.0 \\
    --hash=sha256:{"ab" * 32}
"""
    )


@pytest.mark.parametrize(
    ("wheels", "count"),
    [
        pytest.param([], 0, id="no-wheel"),
        pytest.param([wheel(), wheel()], 2, id="several-wheels"),
        pytest.param([wheel("sha512")], 1, id="another-hash"),
    ],
)
def test_what_cannot_be_exported(wheels: list[PackageWheel], count: int) -> None:
    with pytest.raises(DamagedData) as caught:
        render_uv(lock_with(*wheels), source="pylock.toml")
    assert str(caught.value) == (
        f"a 1.0 is locked by {count} wheels; one wheel with a sha256 is needed"
    )
    assert caught.value.hint == "export from a lock that abilock resolve wrote"


def test_an_address_cannot_add_a_line() -> None:
    evil = PackageWheel(
        name="a-1.0-py3-none-any.whl",
        url="https://x.test/a.whl\n--index-url https://evil.test/",
        hashes={"sha256": "ab" * 32},
    )
    with pytest.raises(DamagedData) as caught:
        render_uv(lock_with(evil), source="pylock.toml")
    assert str(caught.value) == ("the lock gives a an address or a path with control characters")
