"""Real wheels beside real torch builds: the check against imports and ``ldd -r``. By hand only."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.load.pairs import TORCHES, WHEELS, RealEnvironment, pair

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc for a stub of the driver"),
]


@pytest.fixture(scope="module", params=TORCHES)
def environment(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RealEnvironment]:
    directory: Path = tmp_path_factory.mktemp("real")
    yield RealEnvironment(directory, request.param)
    shutil.rmtree(directory)


@pytest.mark.parametrize("wheel", WHEELS)
def test_a_pair(environment: RealEnvironment, wheel: str) -> None:
    row = pair(environment, wheel)
    assert row.agrees, row


def test_the_leftover_of_an_upgrade(environment: RealEnvironment) -> None:
    if environment.torch != "2.11.0":
        pytest.skip("the story is that of CUDA 13")
    environment.install("sglang-kernel==0.4.4")
    assert environment.try_import("sgl_kernel") == (True, "")
    assert environment.check()["verdict"] == "ok"
    environment.install("nvidia-cuda-nvrtc-cu12==12.8.93")
    works, _ = environment.try_import("sgl_kernel")
    document = environment.check()
    assert not works
    assert document["verdict"] == "broken"
    (fatal,) = [f for f in document["findings"] if f["severity"] == "fatal"]
    assert (fatal["code"], fatal["needs"]) == ("shadowed-library", "libnvrtc.so.13")
    command = fatal["remedy"].partition(", or")[0].split()
    assert command[:3] == ["uv", "pip", "uninstall"]
    environment.remove(command[-1])
    assert environment.try_import("sgl_kernel") == (True, "")
    assert environment.check()["verdict"] == "ok"
    environment.remove("sglang-kernel")
