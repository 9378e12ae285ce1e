from __future__ import annotations

import os
import platform

import pytest
from packaging.tags import Tag
from packaging.version import Version

from resolver.model.target import driver_text
from tests.support.fakes import make_target


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("580.65.06", "580.65.06", id="zero-kept"),
        pytest.param("525.60.13", "525.60.13", id="two-digits"),
        pytest.param("580", "580", id="branch-alone"),
        pytest.param("570.26", "570.26", id="two-parts"),
    ],
)
def test_a_driver_reads_as_its_maker_writes_it(text: str, expected: str) -> None:
    assert driver_text(Version(text)) == expected


@pytest.mark.parametrize(
    ("changes", "first", "last"),
    [
        pytest.param({}, "manylinux_2_35_x86_64", "linux_x86_64", id="x86_64"),
        pytest.param(
            {"machine": "aarch64", "glibc": (2, 28)},
            "manylinux_2_28_aarch64",
            "linux_aarch64",
            id="aarch64",
        ),
    ],
)
def test_platforms_from_the_newest_glibc_down(
    changes: dict[str, object], first: str, last: str
) -> None:
    platforms = list(make_target(**changes).platforms())
    assert (platforms[0], platforms[-1]) == (first, last)


@pytest.mark.parametrize(
    ("machine", "legacy"),
    [
        pytest.param("x86_64", ["manylinux2014", "manylinux2010", "manylinux1"], id="x86_64"),
        pytest.param("aarch64", ["manylinux2014"], id="aarch64"),
    ],
)
def test_legacy_platform_names(machine: str, legacy: list[str]) -> None:
    platforms = make_target(machine=machine).platforms()
    assert [p for p in platforms if "_2_" not in p and p.startswith("many")] == [
        f"{name}_{machine}" for name in legacy
    ]


@pytest.mark.parametrize(
    ("tag", "taken"),
    [
        pytest.param(("cp312", "cp312", "manylinux_2_35_x86_64"), True, id="own"),
        pytest.param(("cp312", "cp312", "manylinux_2_36_x86_64"), False, id="newer-glibc"),
        pytest.param(("cp38", "abi3", "manylinux2014_x86_64"), True, id="old-stable-abi"),
        pytest.param(("cp313", "abi3", "manylinux2014_x86_64"), False, id="newer-stable-abi"),
        pytest.param(("py3", "none", "any"), True, id="pure"),
        pytest.param(("py2", "none", "any"), False, id="python-2"),
        pytest.param(("cp312", "none", "any"), True, id="interpreter-pure"),
        pytest.param(("cp312", "cp312", "musllinux_1_2_x86_64"), False, id="musl"),
        pytest.param(("cp312", "cp312t", "linux_x86_64"), False, id="free-threaded"),
    ],
)
def test_tags(tag: tuple[str, str, str], taken: bool) -> None:
    assert (Tag(*tag) in make_target().tags) is taken


def test_a_free_threaded_target_has_no_stable_abi() -> None:
    target = make_target(python="3.13.0", free_threaded=True)
    assert target.python_short == "3.13t"
    assert Tag("cp313", "cp313t", "linux_x86_64") in target.tags
    assert not any(tag.abi == "abi3" for tag in target.tags)


def test_the_marker_environment_holds_nothing_of_the_host() -> None:
    environment = make_target(python="3.10.4", machine="aarch64").environment
    assert environment == {
        "implementation_name": "cpython",
        "implementation_version": "3.10.4",
        "os_name": "posix",
        "platform_machine": "aarch64",
        "platform_python_implementation": "CPython",
        "platform_release": "",
        "platform_system": "Linux",
        "platform_version": "",
        "python_full_version": "3.10.4",
        "python_version": "3.10",
        "sys_platform": "linux",
    }
    assert platform.release() not in environment.values()
    assert os.uname().version not in environment.values()


def test_texts() -> None:
    target = make_target(archs="sm100,sm_120", glibc=(2, 31))
    assert (target.archs_text, target.glibc_text, target.python_short, target.python_minor) == (
        "sm_100, sm_120",
        "2.31",
        "3.12",
        (3, 12),
    )
