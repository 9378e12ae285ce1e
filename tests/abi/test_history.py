from __future__ import annotations

import itertools
import json
import lzma
import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from resolver.abi.history import History, digest_of
from resolver.abi.history_builder import extend_history, has_cxx11_abi, read_torch_wheel
from resolver.abi.history_file import BUILDS_FILE, SYMBOLS_FILE, dump_history, load_history
from resolver.abi.name_table import NameTable
from resolver.errors import KnowledgeError
from resolver.model.reason import Grade
from resolver.wheelfile.byte_source import BytesSource
from resolver.wheelfile.wheel_errors import DamagedWheel
from tests.abi.columns import (
    CHECK_INT,
    CHECK_UNSIGNED,
    CLONE,
    EXPORTS,
    SYM_NE,
    column,
    small_history,
)
from tests.abi.elf_builder import Elf
from tests.abi.wheels import make_wheel

KNOWLEDGE = Path(__file__).parents[2] / "knowledge" / "abi"


def columns_of(history: History, name: str) -> list[str]:
    mask = history.mask(name)
    return [str(build.version) for i, build in enumerate(history.builds) if mask >> i & 1]


def test_masks() -> None:
    history = small_history()
    assert columns_of(history, CLONE) == ["2.6.0", "2.8.0", "2.9.0", "2.9.1", "2.10.0"]
    assert columns_of(history, CHECK_INT) == ["2.6.0", "2.8.0", "2.9.0", "2.9.1"]
    assert columns_of(history, SYM_NE) == ["2.9.0", "2.9.1", "2.10.0"]
    assert history.mask("_ZN2at7nothingEv") == 0
    assert history.mask("") == 0
    assert history.library(SYM_NE) == "libc10.so"
    assert history.library("nothing") is None
    assert len(history) == 5
    assert history.machines() == {"x86_64"}
    assert dict(history.prefixed("_ZN3c104cuda")) == {
        CHECK_INT: history.mask(CHECK_INT),
        CHECK_UNSIGNED: history.mask(CHECK_UNSIGNED),
    }


def bytes_of(history: History, directory: Path) -> tuple[bytes, bytes]:
    directory.mkdir(exist_ok=True)
    dump_history(history, directory)
    return (directory / SYMBOLS_FILE).read_bytes(), (directory / BUILDS_FILE).read_bytes()


def test_the_order_of_adding_makes_no_difference(tmp_path: Path) -> None:
    columns = [column(version, names) for version, names in EXPORTS.items()]
    columns.append(column("2.10.0", EXPORTS["2.9.0"], machine="aarch64"))
    wanted = bytes_of(History.from_columns(columns), tmp_path)
    for order in itertools.islice(itertools.permutations(columns), 0, 720, 97):
        history: History | None = None
        for one in order:
            history = extend_history(history, [one])
        assert history is not None
        assert bytes_of(history, tmp_path) == wanted


def test_a_new_column_leaves_the_others() -> None:
    before = small_history()
    after = extend_history(before, [column("2.10.0", {CLONE: "a.so", "_ZN2at3newEv": "b.so"})])
    kept = {build.digest: after.exports(i) for i, build in enumerate(after.builds)}
    for index, build in enumerate(before.builds):
        assert kept[build.digest].keys() == before.exports(index).keys()


def test_an_agreeing_wheel_is_another_file() -> None:
    other, exports = column("2.9.1", EXPORTS["2.9.1"], python="cp311")
    history = extend_history(small_history(), [(other, exports)])
    assert len(history.builds) == 5
    (build,) = [build for build in history.builds if build.version == Version("2.9.1")]
    assert [file.filename for file in build.files] == [
        "torch-2.9.1-cp311-cp311-manylinux_2_28_x86_64.whl",
        "torch-2.9.1-cp312-cp312-manylinux_2_28_x86_64.whl",
    ]


def test_a_wheel_that_disagrees_is_left_out_unless_it_decides() -> None:
    odd = {CLONE: "libtorch_cpu.so"}
    for order in (("cp310", "cp312"), ("cp312", "cp310"), ("cp312", "cp313", "cp310")):
        history: History | None = None
        for python in order:
            exports = odd if python == "cp310" else EXPORTS["2.9.1"]
            history = extend_history(history, [column("2.9.1", exports, python=python)])
        assert history is not None
        (build,) = history.builds
        assert build.digest == digest_of(EXPORTS["2.9.1"])
        assert not any("cp310" in file.filename for file in build.files)


@given(
    st.dictionaries(
        st.text(min_size=1, max_size=30).filter(lambda s: "\n" not in s),
        st.integers(0, 7),
        max_size=300,
    )
)
def test_the_table_holds_what_it_was_given(names: dict[str, int]) -> None:
    table = NameTable.from_rows((name, number, number % 3) for name, number in names.items())
    again = NameTable.unpack(table.pack(), len(table))
    assert [name for _, name in again.names()] == sorted(names, key=str.encode)
    for name, number in names.items():
        index = again.find(name)
        assert (again.masks[index], again.homes[index]) == (number, number % 3)
        assert again.find(name + "x") == -1 or name + "x" in names
    assert again.pack() == table.pack()


class TestMatch:
    history = small_history()

    def match(self, version: str, sha256: str | None = None, machine: str = "x86_64") -> str | None:
        found = self.history.match(Version(version), machine=machine, sha256=sha256)
        return f"{found.build.version} {found.grade}" if found else None

    def test_the_index_s_own_release(self) -> None:
        assert self.match("2.9.1") == "2.9.1 measured"

    def test_a_file_that_was_read(self) -> None:
        digest = self.history.builds[0].files[0].sha256
        assert self.match("9.9", digest) == "2.6.0 measured"

    def test_another_file_of_the_release(self) -> None:
        assert self.match("2.9.1", "0" * 64) == "2.9.1 inferred"

    def test_another_cuda_build(self) -> None:
        assert self.match("2.9.1+cu130") == "2.9.1 inferred"

    def test_cpu_and_rocm_builds_inherit_from_no_cuda_build(self) -> None:
        assert self.match("2.9.1+cpu") is None
        assert self.match("2.9.1+rocm6.4") is None

    def test_another_abi(self) -> None:
        assert self.match("2.6.0+cu118") == "2.6.0 inferred"
        assert self.match("2.6.0+cu126") is None

    def test_pre_releases_inherit_nothing(self) -> None:
        assert self.match("2.10.0.dev20260226+cu130") is None
        assert self.match("2.9.1rc1") is None

    def test_unknown(self) -> None:
        assert self.match("2.9.7") is None
        assert self.match("2.9.1", machine="aarch64") is None


def test_absent_files(tmp_path: Path) -> None:
    with pytest.raises(KnowledgeError, match="cannot read the symbol history"):
        load_history(tmp_path)


def test_damaged_files(tmp_path: Path) -> None:
    packed, builds = bytes_of(small_history(), tmp_path)
    body = lzma.decompress(packed)
    line, _, rest = body.partition(b"\n")
    header = json.loads(line)
    few = json.dumps({"format": 1, "builds": []}).encode()
    for symbols, listing in (
        (packed[:-9], builds),
        (b"", builds),
        (packed, b"{"),
        (packed, b"[]"),
        (packed, few),
        (packed, builds.replace(b'"format": 1', b'"format": 2')),
        (lzma.compress(body[:-1]), builds),
        (lzma.compress(json.dumps(header | {"names": 4}).encode() + b"\n" + rest), builds),
        (lzma.compress(json.dumps(header | {"masks": ["1"]}).encode() + b"\n" + rest), builds),
        (lzma.compress(json.dumps(header | {"libraries": []}).encode() + b"\n" + rest), builds),
    ):
        (tmp_path / SYMBOLS_FILE).write_bytes(symbols)
        (tmp_path / BUILDS_FILE).write_bytes(listing)
        with pytest.raises(KnowledgeError, match="damaged symbol history"):
            load_history(tmp_path)


def test_round_trip(tmp_path: Path) -> None:
    history = small_history()
    bytes_of(history, tmp_path)
    again = load_history(tmp_path)
    assert again.builds == history.builds
    assert list(again.items()) == list(history.items())
    assert again.exports(4) == history.exports(4)


def test_an_empty_history(tmp_path: Path) -> None:
    bytes_of(History.from_columns([]), tmp_path)
    assert len(load_history(tmp_path)) == 0


def test_reads_a_torch_wheel() -> None:
    fail = (
        "_ZN3c106detail14torchCheckFailEPKcS2_jRKNSt7"
        "__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
    )
    filler = random.Random(3).randbytes(10_000)
    wheel = make_wheel(
        {
            "torch/lib/libc10.so": Elf(
                defined=[SYM_NE, fail, "_ZN3foo3barEv"], filler=filler
            ).build(),
            "torch/lib/libtorch_cpu.so": Elf(defined=[CLONE, SYM_NE], undefined=[fail]).build(),
            "torch/_C.so": Elf(defined=["THPNothing"]).build(),
            "torch/version.py": b"__version__ = '2.9.1+cu128'\ncuda: Optional[str] = '12.8'\n",
        }
    )
    name = "torch-2.9.1-cp312-cp312-manylinux_2_28_aarch64.whl"
    build, exports = read_torch_wheel(BytesSource(wheel), filename=name, sha256="a" * 64)
    assert exports == {SYM_NE: "libc10.so", fail: "libc10.so", CLONE: "libtorch_cpu.so"}
    assert build.id == "2.9.1+cu128 aarch64"
    assert (build.cxx11_abi, build.symbols, build.digest) == (True, 3, digest_of(exports))
    assert build.files[0].size == len(wheel)


def test_reads_a_cpu_wheel() -> None:
    old = "_ZN3c106detail14torchCheckFailEPKcS2_jRKSs"
    wheel = make_wheel({"torch/lib/libc10.so": Elf(defined=[old]).build(), "torch/version.py": b""})
    name = "torch-2.4.0-cp312-cp312-manylinux1_x86_64.whl"
    build, _ = read_torch_wheel(BytesSource(wheel), filename=name, sha256="a" * 64)
    assert (build.id, build.cxx11_abi) == ("2.4.0+cpu x86_64", False)
    assert not has_cxx11_abi([])


def test_a_wheel_that_is_not_torch_s() -> None:
    with pytest.raises(DamagedWheel, match="has no libraries in torch/lib/"):
        read_torch_wheel(
            BytesSource(make_wheel({"a.so": Elf().build()})),
            filename="torch-2.9.1-cp312-cp312-manylinux_2_28_x86_64.whl",
            sha256="a" * 64,
        )


class TestShipped:
    """The history in ``knowledge/``."""

    history = load_history(KNOWLEDGE)

    def test_it_is_small(self) -> None:
        assert (KNOWLEDGE / SYMBOLS_FILE).stat().st_size < 1_500_000

    def test_it_covers_the_releases(self) -> None:
        for machine in ("x86_64", "aarch64"):
            versions = [b.version for b in self.history.builds if b.machine == machine]
            assert versions[0] == Version("2.1.0")
            assert versions == sorted(set(versions))
        # The public wheels for aarch64 have CUDA from 2.11 on.
        cuda = {
            b.version: b.cuda is not None for b in self.history.builds if b.machine == "aarch64"
        }
        assert all(has is (version >= Version("2.11")) for version, has in cuda.items())

    def test_a_release_for_aarch64_before_cuda_is_its_cpu_build(self) -> None:
        match = self.history.match(Version("2.7.1"), machine="aarch64")
        assert match is not None
        assert (match.build.id, match.grade) == ("2.7.1+cpu aarch64", Grade.MEASURED)
        assert self.history.match(Version("2.7.1+cu128"), machine="aarch64") is None

    def test_the_names_of_c10d_are_there(self) -> None:
        name = "_ZN4c10d4Work18blockCurrentStreamEv"
        mask = self.history.mask(name)
        having = {b.version for i, b in enumerate(self.history.builds) if mask >> i & 1}
        assert min(having) == Version("2.9.0")
        assert not any(n.startswith(("_ZNSt", "_ZNKSt", "_ZSt")) for n, _ in self.history.items())

    def test_its_columns_are_what_their_digests_say(self) -> None:
        # The first, the last and one between; all are compared when they are read again.
        for index in (0, len(self.history.builds) // 2, len(self.history.builds) - 1):
            build, names = self.history.builds[index], self.history.names(index)
            assert (len(names), digest_of(names)) == (build.symbols, build.digest)

    @pytest.mark.real  # ten seconds; what it rests on is tested on small histories above
    def test_it_is_written_as_it_would_be_again(self, tmp_path: Path) -> None:
        columns = [(b, self.history.exports(i)) for i, b in enumerate(self.history.builds)]
        random.Random(5).shuffle(columns)
        again = extend_history(None, columns)
        assert bytes_of(again, tmp_path) == (
            (KNOWLEDGE / SYMBOLS_FILE).read_bytes(),
            (KNOWLEDGE / BUILDS_FILE).read_bytes(),
        )

    def test_the_function_that_2_10_renamed(self) -> None:
        x86 = {
            str(b.version): i for i, b in enumerate(self.history.builds) if b.machine == "x86_64"
        }
        old, new = self.history.mask(CHECK_INT), self.history.mask(CHECK_UNSIGNED)
        assert (old >> x86["2.9.1"] & 1, new >> x86["2.9.1"] & 1) == (1, 0)
        assert (old >> x86["2.10.0"] & 1, new >> x86["2.10.0"] & 1) == (0, 1)
        assert self.history.library(CHECK_INT) == "libc10_cuda.so"

    def test_abi_and_cuda(self) -> None:
        known = {b.id: b.cxx11_abi for b in self.history.builds}
        assert known["2.6.0+cu124 x86_64"] is False
        assert known["2.7.0+cu126 x86_64"] is True
        assert known["2.15.0+cu132 aarch64"] is True
        assert known["2.5.1+cpu aarch64"] is False
        assert known["2.6.0+cpu aarch64"] is True

    def test_both_wheels_of_2_10_0_agree(self) -> None:
        (build,) = [b for b in self.history.builds if b.id == "2.10.0+cu128 x86_64"]
        assert {"torch-2.10.0-3-cp312-cp312-manylinux_2_28_x86_64.whl"} <= {
            file.filename for file in build.files
        }


def test_builds_are_ordered() -> None:
    build, _ = column("2.9.1", {})
    assert build.key < replace(build, version=Version("2.10.0")).key
