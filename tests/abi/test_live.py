"""Against real wheels of the public index: about 90 MB of reads, most of them by range."""

from __future__ import annotations

import io
import json
import re
import subprocess
import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection
from packaging.version import Version

from resolver.abi.diff import diff_torch
from resolver.abi.elf import Prefix, read_elf
from resolver.abi.elf_front import Front, Need, read_front
from resolver.abi.history_file import load_history
from resolver.abi.inspection import compare_members
from resolver.abi.link import link_wheel
from resolver.abi.torch_core import check_core, read_core
from resolver.abi.wheel import native_entries, probe_member, probe_wheel
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.model.cuda import DeviceCode
from resolver.wheelfile.byte_source import ByteSource, BytesSource
from resolver.wheelfile.member_stream import MemberStream
from resolver.wheelfile.zip_directory import read_directory
from tests.abi import live
from tests.abi.wheels import list_members

pytestmark = pytest.mark.live

KNOWLEDGE = Path(__file__).parents[2] / "knowledge" / "abi"
TRUTH: list[dict[str, Any]] = json.loads((Path(__file__).parent / "link_verdicts.json").read_text())
SGL = "sgl_kernel-0.3.21-cp310-abi3-manylinux2014_x86_64.whl"
SGLANG = "sglang_kernel-0.4.10-cp310-abi3-manylinux2014_x86_64.whl"
# Downloaded once as a whole: together 46 native members in 75 MB.
SMALL = [
    "bitsandbytes-0.50.2-py3-none-manylinux_2_24_x86_64.whl",
    "torchao-0.18.0-cp310-abi3-manylinux_2_24_x86_64.manylinux_2_28_x86_64.whl",
    "torchao-0.9.0-cp39-abi3-manylinux_2_17_x86_64.manylinux2014_x86_64.manylinux_2_28_x86_64.whl",
    "torchvision-0.24.1-cp312-cp312-manylinux_2_28_x86_64.whl",
    "torchvision-0.25.0-cp312-cp312-manylinux_2_28_x86_64.whl",
    "torchvision-0.29.2-py3-none-manylinux_2_28_x86_64.whl",
]
# Extensions over 100 MB, and the share of its bytes that a cold probe may read, in percent.
LARGE = {
    SGL: 0.5,
    "bitsandbytes-0.44.1-py3-none-manylinux_2_24_x86_64.whl": 1.0,
    "fbgemm_gpu-1.9.0-cp312-cp312-manylinux_2_28_x86_64.whl": 1.0,
    "lmdeploy-0.18.0-cp312-cp312-manylinux_2_28_x86_64.whl": 1.0,
    "onnxruntime_gpu-1.31.1-cp312-cp312-manylinux_2_28_x86_64.whl": 1.0,
    "sgl_kernel-0.1.9-cp39-abi3-manylinux2014_x86_64.whl": 1.0,
    "sglang_kernel-0.4.1-cp310-abi3-manylinux2014_x86_64.whl": 1.0,
    SGLANG: 1.0,
    "vllm-0.11.0-cp38-abi3-manylinux1_x86_64.whl": 1.0,
    "vllm-0.33.0-cp38-abi3-manylinux_2_28_x86_64.whl": 1.0,
    "xformers-0.0.33-cp39-abi3-manylinux_2_28_x86_64.whl": 1.0,
}


@cache
def whole(filename: str) -> BytesSource:
    source, _sha256 = live.open_wheel(filename)
    return BytesSource(source.read_at(0, source.size))


def member_bytes(source: ByteSource, path: str) -> bytes:
    (entry,) = (entry for entry in read_directory(source) if entry.path == path)
    return b"".join(MemberStream(source, entry, fetch=1 << 20))


def open_source(filename: str) -> ByteSource:
    return whole(filename) if filename in SMALL else live.open_wheel(filename)[0]


@pytest.mark.parametrize("row", TRUTH, ids=lambda row: row["wheel"].rsplit("-", 3)[0])
def test_verdicts(row: dict[str, Any]) -> None:
    facts = probe_wheel(open_source(row["wheel"]), filename=row["wheel"])
    history = load_history(KNOWLEDGE)
    link = link_wheel(facts, history, (), machine="x86_64")
    assert len(link.symbols) == row["strong_torch_symbols"]
    columns = {
        str(build.version): index
        for index, build in enumerate(history.builds)
        if build.machine == "x86_64"
    }
    linking = [str(version) for version in link.releases(link.every_mask)]
    assert [version for version in linking if version in row["missing_count"]] == row["links_with"]
    for version, count in row["missing_count"].items():
        assert len(link.missing(columns[version], every=True)) == count, version
    for version, names in row["missing"].items():
        assert list(link.missing(columns[version], every=True)) == sorted(names), version
    needed = {m.path: sorted(m.facts.needed) for m in facts.members if m.facts is not None}
    assert needed == {path: sorted(m["needed"]) for path, m in row["members"].items()}


@pytest.mark.parametrize("filename", SMALL, ids=lambda name: name.rsplit("-", 3)[0])
def test_device_code_of_whole_wheels(filename: str) -> None:
    (row,) = (row for row in TRUTH if row["wheel"] == filename)
    facts = probe_wheel(whole(filename), filename=filename, full=True)
    found = {
        m.path: {
            "needed": list(m.facts.needed) if m.facts else [],
            "device_code": [str(code) for code in m.device_code or ()],
        }
        for m in facts.members
    }
    assert found == row["members"]


@pytest.mark.parametrize("filename", LARGE, ids=lambda name: name.rsplit("-", 3)[0])
def test_a_cold_probe_reads_little(filename: str) -> None:
    source, sha256 = live.open_wheel(filename)
    assert source.size > 100_000_000
    facts = probe_wheel(source, filename=filename, sha256=sha256)
    assert facts.bytes_read == source.bytes_read
    assert 100 * facts.bytes_read / facts.size <= LARGE[filename]


def test_symbols_are_those_of_pyelftools() -> None:
    count = 0
    for filename in SMALL:
        source = whole(filename)
        for entry in native_entries(source):
            data = member_bytes(source, entry.path)
            facts = read_elf(Prefix(data, len(data)))
            assert (facts.undefined, facts.weak, facts.defined) == _pyelftools(data), entry.path
            _check_front(data, entry.path)
            count += 1
    assert count >= 40


def _check_front(data: bytes, path: str) -> None:
    """The leading bytes alone say the same, or say that they cannot."""
    facts = read_elf(Prefix(data, len(data)))
    have = 4096
    name = path.rsplit("/", 1)[-1]
    while isinstance(answer := read_front(data[:have], len(data), filename=name), Need):
        if answer.upto >= len(data):
            return
        have = answer.upto
    assert isinstance(answer, Front)
    for field in ("machine", "soname", "undefined", "weak", "defined", "versions"):
        assert getattr(answer.facts, field) == getattr(facts, field), (path, field)
    assert sorted(answer.facts.needed) == sorted(facts.needed)
    assert set(answer.facts.runpath) == {*facts.runpath, *facts.rpath}


def _pyelftools(data: bytes) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    undefined: set[str] = set()
    weak: set[str] = set()
    defined: set[str] = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = ELFFile(io.BytesIO(data)).get_section_by_name(".dynsym")
        assert isinstance(table, SymbolTableSection)
        for symbol in table.iter_symbols():
            binding, hidden = symbol["st_info"]["bind"], symbol["st_other"]["visibility"]
            if not symbol.name or binding == "STB_LOCAL":
                continue
            if symbol["st_shndx"] != "SHN_UNDEF":
                if hidden not in ("STV_HIDDEN", "STV_INTERNAL"):
                    defined.add(symbol.name)
            elif binding == "STB_WEAK":
                weak.add(symbol.name)
            else:
                undefined.add(symbol.name)
    return frozenset(undefined), frozenset(weak - undefined), frozenset(defined)


def test_device_code_is_that_of_cuobjdump(tmp_path: Path) -> None:
    tool = _cuobjdump(tmp_path)
    members = [
        (SGLANG, "sgl_kernel/spatial_ops.abi3.so"),
        (SGL, "sgl_kernel/spatial_ops.abi3.so"),
        *((SMALL[1], m.path) for m in list_members(whole(SMALL[1]))),
        *((name, m.path) for name in SMALL[3:] for m in list_members(whole(name))),
        *((SMALL[0], m.path) for m in list_members(whole(SMALL[0])) if "cuda" in m.path),
    ]
    seen: set[DeviceCode] = set()
    compared = 0
    for filename, path in members:
        source = open_source(filename)
        (entry,) = (entry for entry in native_entries(source) if entry.path == path)
        member = probe_member(source, entry, full=True)
        with tempfile.NamedTemporaryFile(suffix=".so", dir=tmp_path) as file:
            file.write(member_bytes(source, path))
            file.flush()
            # By default it passes over the fat binaries beside the one that nvlink made.
            answer = subprocess.run(
                [str(tool), "-all", file.name], capture_output=True, text=True, check=False
            )
        if answer.returncode:  # "Invalid ELF": it refuses the cubins of some older toolkits
            continue
        pairs = re.findall(r"Fatbin (elf|ptx) code:\n=+\narch = (sm_\w+)", answer.stdout)
        wanted = {
            DeviceCode.parse(arch if kind == "elf" else arch.replace("sm_", "compute_"))
            for kind, arch in pairs
        }
        assert set(member.device_code or ()) == wanted, path
        seen |= wanted
        compared += bool(wanted)
    assert compared >= 10
    assert {DeviceCode.parse("sm_100f"), DeviceCode.parse("sm_120a")} <= seen


def _cuobjdump(directory: Path) -> Path:
    wheels = sorted(
        (Version(name.split("-")[1]), name)
        for name in live.files("nvidia-cuda-cuobjdump")
        if name.endswith("x86_64.whl")
    )
    source, _sha256 = live.open_wheel(wheels[-1][1])
    (path,) = (e.path for e in read_directory(source) if e.path.endswith("bin/cuobjdump"))
    tool = directory / "cuobjdump"
    tool.write_bytes(member_bytes(source, path))
    tool.chmod(0o755)
    return tool


def test_the_step_from_2_9_to_2_10_breaks_sgl_kernel() -> None:
    source, sha256 = live.open_wheel(SGL)
    facts = probe_wheel(source, filename=SGL, sha256=sha256)
    history = load_history(KNOWLEDGE)
    link = link_wheel(facts, history, KnowledgeBase().load_rules, machine="x86_64")
    diff = diff_torch(history, Version("2.9.1"), Version("2.10.0"), machine="x86_64", used_by=link)
    assert diff.used_by is not None
    message, check = diff.used_by.breaks
    assert (message.symbol, check.symbol) == (
        "_ZN3c1013MessageLoggerC1EPKcii",
        "_ZN3c104cuda29c10_cuda_check_implementationEiPKcS2_ib",
    )
    assert check.before.endswith("(int, char const*, char const*, int, bool)")
    assert check.after[0].endswith("(int, char const*, char const*, unsigned int, bool)")
    assert check.library == "libc10_cuda.so"


def test_the_two_wheels_of_torch_2_10_0_hold_the_same_binaries() -> None:
    names = [f"torch-2.10.0{b}-cp312-cp312-manylinux_2_28_x86_64.whl" for b in ("", "-3")]
    sources = [live.open_wheel(name)[0] for name in names]
    found = compare_members(names[0], list_members(sources[0]), names[1], list_members(sources[1]))
    assert found.identical
    assert len(found.same) == 13
    assert sum(source.bytes_read for source in sources) < 3_000_000


def test_the_small_libraries_of_torch_refuse_sgl_kernel() -> None:
    name = "torch-2.10.0-cp312-cp312-manylinux_2_28_x86_64.whl"
    torch, torch_sha256 = live.open_wheel(name)
    core = read_core(torch, filename=name, sha256=torch_sha256)
    assert torch.bytes_read < 3_000_000
    source, sha256 = live.open_wheel(SGL)
    facts = probe_wheel(source, filename=SGL, sha256=sha256)
    link = link_wheel(facts, load_history(KNOWLEDGE), KnowledgeBase().load_rules, machine="x86_64")
    (reason,) = check_core(link, core, Version("2.10.0"))
    assert reason.symbols == (
        "_ZN3c1013MessageLoggerC1EPKcii",
        "_ZN3c104cuda29c10_cuda_check_implementationEiPKcS2_ib",
    )
