"""Proofs that read whole wheels of several GB; run by hand with ``make test-real``."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.version import Version

from resolver.abi.history_builder import read_torch_wheel
from resolver.abi.history_file import load_history
from resolver.abi.link import link_wheel
from resolver.abi.symbol import is_torch_symbol
from resolver.abi.wheel import native_entries, probe_wheel
from resolver.wheelfile.member_stream import MemberStream
from resolver.wheelfile.zip_directory import read_directory
from tests.abi import live

pytestmark = pytest.mark.real

KNOWLEDGE = Path(__file__).parents[2] / "knowledge" / "abi"
TRUTH = json.loads((Path(__file__).parent / "link_verdicts.json").read_text())
TORCH = {
    "2.9.1": "torch-2.9.1-cp312-cp312-manylinux_2_28_x86_64.whl",
    "2.11.0": "torch-2.11.0-cp312-cp312-manylinux_2_28_x86_64.whl",
}
# None of them is in link_verdicts.json.
WHEELS = [
    "sgl_kernel-0.3.16.post4-cp310-abi3-manylinux2014_x86_64.whl",
    "torchaudio-2.11.1-py3-none-manylinux_2_28_x86_64.whl",
    "torchcodec-0.9.1-cp312-cp312-manylinux_2_28_x86_64.whl",
    "vllm-0.33.0-cp38-abi3-manylinux_2_28_x86_64.whl",
]


@pytest.mark.parametrize("row", TRUTH, ids=lambda row: row["wheel"].rsplit("-", 3)[0])
def test_device_code_and_libraries_of_whole_wheels(row: dict[str, object]) -> None:
    source, sha256 = live.open_wheel(str(row["wheel"]))
    facts = probe_wheel(source, filename=str(row["wheel"]), sha256=sha256, full=True)
    found = {
        member.path: {
            "needed": list(member.facts.needed),
            "device_code": [str(code) for code in member.device_code or ()],
        }
        for member in facts.members
        if member.facts is not None
    }
    assert found == row["members"]


@pytest.fixture(scope="module")
def extensions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {name: unpack(name, tmp_path_factory.mktemp("wheel")) for name in WHEELS}


@pytest.fixture(scope="module", params=TORCH)
def torch(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Path]]:
    directory = unpack(TORCH[request.param], tmp_path_factory.mktemp("torch"), "torch/lib/")
    yield request.param, directory / "torch" / "lib"
    subprocess.run(["rm", "-r", str(directory)], check=True)


def unpack(filename: str, directory: Path, prefix: str = "") -> Path:
    source, _sha256 = live.open_wheel(filename)
    for entry in native_entries(source):
        if entry.path.startswith(prefix):
            path = directory / entry.path
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("wb") as file:
                file.writelines(MemberStream(source, entry, fetch=8 << 20))
    return directory


@pytest.mark.parametrize("name", WHEELS)
def test_missing_symbols_are_those_of_ldd(
    name: str, torch: tuple[str, Path], extensions: dict[str, Path]
) -> None:
    version, libraries = torch
    source, sha256 = live.open_wheel(name)
    facts = probe_wheel(source, filename=name, sha256=sha256)
    history = load_history(KNOWLEDGE)
    link = link_wheel(facts, history, (), machine="x86_64")
    match = history.match(Version(version), machine="x86_64")
    assert match is not None
    own = {n for m in facts.members if m.facts is not None for n in m.facts.defined}
    reported: set[str] = set()
    for member in facts.members:
        path = extensions[name] / member.path
        environment = {**os.environ, "LD_LIBRARY_PATH": f"{libraries}:{path.parent}"}
        answer = subprocess.run(
            ["ldd", "-r", str(path)], capture_output=True, text=True, env=environment, check=False
        )
        for symbol, file in re.findall(
            r"undefined symbol: (\S+?)(?:, version \S+)?\s+\((.*)\)", answer.stdout
        ):
            if file == str(path) and is_torch_symbol(symbol) and symbol not in own:
                reported.add(symbol)
    assert sorted(reported) == list(link.missing(match.index, every=True))


def test_a_column_is_the_same_when_it_is_read_again() -> None:
    filename = "torch-2.15.0-cp312-cp312-manylinux_2_28_x86_64.whl"
    source, sha256 = live.open_wheel(filename)
    build, exports = read_torch_wheel(source, filename=filename, sha256=sha256)
    history = load_history(KNOWLEDGE)
    match = history.match(Version("2.15.0"), machine="x86_64", sha256=sha256)
    assert match is not None
    assert match.build.digest == build.digest
    assert (match.build.cuda, match.build.cxx11_abi) == (build.cuda, build.cxx11_abi)
    assert history.names(match.index) == exports.keys()


def test_every_library_of_torch_is_where_the_builder_looks() -> None:
    source, _ = live.open_wheel(TORCH["2.11.0"])
    paths = {entry.path for entry in read_directory(source)}
    assert {"torch/lib/libc10.so", "torch/lib/libtorch_cpu.so", "torch/version.py"} <= paths
