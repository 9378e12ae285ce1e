"""The checker of locks finds what is wrong with one: else its silence would say nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from packaging.tags import Tag

from tests.cli.conftest import TARGET, Result, peek
from tests.support.lockcheck import check_text, fits
from tests.support.server import Server, ranged
from tests.support.wheels import build_wheel

Run = Callable[..., Result]
A = build_wheel("a", "1.0", requires=["b>=2", "c; extra == 'more'"], extras=["more"])
B = build_wheel("b", "2.0", requires_python=">=3.9")
C = build_wheel("c", "1.0")


@pytest.fixture
def lock(run: Run, publish: Callable[..., None]) -> str:
    publish(A, B, C)
    assert run("resolve", "a[more]", *TARGET, "--glibc", "2.35").code == 0
    return Path("pylock.toml").read_text(encoding="utf-8")


def check(text: str, **options: list[str]) -> list[str]:
    return check_text(text, Path(), fetch=peek, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        pytest.param("", "", [], id="nothing"),
        pytest.param(B.sha256, A.sha256, [f"{B.filename} has another hash"], id="hash"),
        pytest.param(
            f"size = {len(B.data)}",
            "size = 1",
            [f"{B.filename} has another size"],
            id="size",
        ),
        pytest.param(
            'name = "b"\nversion = "2.0"',
            'name = "b"\nversion = "1.0"',
            [
                f"{B.filename} is not b 1.0",
                "a 1.0 requires b>=2, and the lock has 1.0",
                "b calls itself b 2.0",
            ],
            id="version",
        ),
        pytest.param(
            "a[more]",
            "a",
            ["nobody requires c"],
            id="too much",
        ),
        pytest.param(
            "a[more]",
            "d",
            [
                "nobody requires a",
                "nobody requires b",
                "nobody requires c",
                "the request requires d",
            ],
            id="too little",
        ),
        pytest.param(
            'platform_machine == \\"x86_64',
            'platform_machine == \\"aarch64',
            ["the lock says that it is for "],
            id="machine",
        ),
    ],
)
def test_what_is_wrong_is_found(lock: str, old: str, new: str, found: list[str]) -> None:
    assert not old or old in lock
    wrong = check(lock.replace(old, new) if old else lock)
    assert len(wrong) == len(found)
    for line, words in zip(sorted(wrong), sorted(found), strict=True):
        assert line.startswith(words)


def test_a_wheel_that_changed_is_found(lock: str, server: Server) -> None:
    server.routes[f"/files/{B.filename}"] = ranged(B.data + b"x")
    assert check(lock) == [f"{B.filename} has another hash"]


def test_a_wheel_that_is_gone_is_found(lock: str, server: Server) -> None:
    del server.routes[f"/files/{B.filename}"]
    assert check(lock) == [f"nobody knows {B.filename} with sha256 {B.sha256}"]


def test_overrides_count(lock: str) -> None:
    assert check(lock, overrides=["b>=3"]) == ["a 1.0 requires b>=3, and the lock has 2.0"]


@pytest.mark.parametrize(
    ("tag", "fitting"),
    [
        ("py3-none-any", True),
        ("py310-none-any", True),
        ("py313-none-any", False),
        ("cp312-cp312-linux_x86_64", True),
        ("cp312-cp312-linux_aarch64", False),
        ("cp312-cp312t-linux_x86_64", False),
        ("cp311-cp311-linux_x86_64", False),
        ("cp310-abi3-manylinux2014_x86_64", True),
        ("cp313-abi3-manylinux2014_x86_64", False),
        ("cp312-none-manylinux_2_35_x86_64", True),
        ("cp312-none-manylinux_2_36_x86_64", False),
        ("py3-none-musllinux_1_1_x86_64", False),
        ("py2-none-any", False),
    ],
)
def test_tags(tag: str, fitting: bool) -> None:
    target = {"python": "3.12", "machine": "x86_64", "glibc": "2.35"}
    assert fits(Tag(*tag.split("-")), target) is fitting
