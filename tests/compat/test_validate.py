"""The cross-checks: a sound database passes, and each fault is named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from resolver.compat.snapshot_record import write_pins, write_snapshot
from resolver.compat.validate import validate
from resolver.index.index_source import library_endpoint
from resolver.usecase.validate_knowledge import validate_knowledge
from tests.support.database import (
    BAD,
    BUILDS,
    CHANNELS,
    CUDA,
    GOOD,
    GPUS,
    WHEELS,
    torch_record,
)

Change = Callable[[Path], object]


def edit(name: str, text: str, old: str, new: str) -> Change:
    assert old in text
    return lambda path: (path / name).write_text(text.replace(old, new), encoding="utf-8")


def records(**changes: object) -> Change:
    def change(path: Path) -> None:
        (path / "snapshot" / "pytorch.torch.jsonl").unlink()
        write_snapshot(path / "snapshot", [torch_record(**changes)])

    return change


def pins(*lines: str) -> Change:
    return lambda path: write_pins(path, "good", [Requirement(line) for line in lines])


def append_line(path: Path) -> None:
    file = path / "snapshot" / "pytorch.torch.jsonl"
    file.write_text(file.read_text(encoding="utf-8") * 2, encoding="utf-8")


TUPLE = "tuples/good.toml"
SNAPSHOT = "snapshot/pytorch.torch.jsonl"
WHEEL = "torch-2.9.1+cu130-cp312-cp312-manylinux_2_28_x86_64.whl"
NO_RECORD = f"{TUPLE}, good: no record of torch 2.9.1+cu130 on pytorch for Python 3.12 on x86_64"


def test_a_sound_database_has_no_problem(database: Path) -> None:
    assert validate(database) == []


def test_pins_that_cover_the_packages_pass(database: Path) -> None:
    pins("torch==2.9.1+cu130 ; python_version >= '3.12'")(database)
    assert validate(database) == []


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(
            edit(TUPLE, GOOD, '"13.0"', '"13.9"'),
            f"{TUPLE}, good: there is no CUDA release 13.9",
            id="unknown CUDA",
        ),
        pytest.param(
            edit(TUPLE, GOOD, '["sm_120"]', '["sm_70"]'),
            f"{TUPLE}, good: CUDA 13.0 does not serve sm_70",
            id="architecture that CUDA does not serve",
        ),
        pytest.param(
            edit(TUPLE, GOOD, 'torch = "pytorch"', 'torch = "elsewhere"'),
            f"{TUPLE}, good: there is no channel elsewhere",
            id="unknown channel",
        ),
        pytest.param(
            edit("channels.toml", CHANNELS, '["torch"]', '["triton"]'),
            f"{TUPLE}, good: channel pytorch may not supply torch",
            id="channel may not supply",
        ),
        pytest.param(
            edit(TUPLE, GOOD, '"x86_64"', '"x86_64", "aarch64"'),
            f"{TUPLE}, good: no record of torch 2.9.1+cu130 on pytorch for Python 3.12 on aarch64",
            id="machine without a file",
        ),
        pytest.param(
            edit(TUPLE, GOOD, ">=3.12,<3.13", ">=3.12,<3.14"),
            f"{TUPLE}, good: no record of torch 2.9.1+cu130 on pytorch for Python 3.13 on x86_64",
            id="Python without a file",
        ),
        pytest.param(records(requires_python=">=3.13"), NO_RECORD, id="requires another Python"),
        pytest.param(
            edit(TUPLE, GOOD, 'id = "good"', 'id = "best"'),
            f"{TUPLE}, best: the file's name is not the tuple's id",
            id="file name",
        ),
        pytest.param(
            edit("tuples/bad.toml", BAD, '"extension 1.0"', '"extension 1.1"'),
            "tuples/bad.toml, bad: the reason speaks of extension 1.1, the tuple of extension 1.0",
            id="reason of another version",
        ),
        pytest.param(
            edit("tuples/bad.toml", BAD, '"extension 1.0"', '"other 1.0"'),
            "tuples/bad.toml, bad: the reason's subject 'other 1.0' is none of the packages",
            id="reason of another package",
        ),
        pytest.param(
            lambda path: (path / "tuples/twice.toml").write_text(GOOD, encoding="utf-8"),
            "tuples/twice.toml, good: the id is used twice, also in tuples/good.toml",
            id="id twice among tuples",
        ),
        pytest.param(
            lambda path: (path / "gpus.toml").write_text(GPUS + GPUS, encoding="utf-8"),
            "gpus.toml, h100: the id is used twice, also in gpus.toml",
            id="id twice in a file",
        ),
        pytest.param(
            edit("gpus.toml", GPUS, "2026-01-01", "2026-02-02"),
            "gpus.toml, h100: the date 2026-02-02 is later than the newest snapshot record, "
            "2026-02-01",
            id="future date",
        ),
        pytest.param(
            edit("builds.toml", BUILDS, '"12.9"', '"12.8"'),
            "builds.toml, torch-public: there is no CUDA release 12.8",
            id="build of an unknown CUDA",
        ),
        pytest.param(
            edit("builds.toml", BUILDS, '"12.9"', '"cpu"'),
            "builds.toml, torch-public: a CPU build has device code",
            id="CPU build with device code",
        ),
        pytest.param(
            edit("wheels.toml", WHEELS, "python", 'channel = "here"\npython'),
            "wheels.toml, one-1: there is no channel here",
            id="wheels of an unknown channel",
        ),
        pytest.param(
            edit("wheels.toml", WHEELS, 'python = ">=3.9,<3.14"\n', ""),
            "wheels.toml, one-1: it says neither which Pythons nor which machines",
            id="wheels of which nothing is said",
        ),
        pytest.param(
            edit("wheels.toml", WHEELS, "python", "whole = true\npython"),
            "wheels.toml, one-1: it says of no channel that its snapshot is whole",
            id="a whole snapshot of no channel",
        ),
        pytest.param(
            edit("builds.toml", BUILDS, 'machine = "x', 'channel = "here"\nmachine = "x'),
            "builds.toml, torch-public: there is no channel here",
            id="build of an unknown channel",
        ),
        pytest.param(
            lambda path: (path / "cuda.toml").unlink(),
            "cuda.toml: there is no such file",
            id="missing file",
        ),
        pytest.param(
            edit("cuda.toml", CUDA, '"sm_70"', '"x"'),
            "cuda.toml, cuda-12.9: archs[0]: not a GPU architecture: 'x'",
            id="schema",
        ),
        pytest.param(
            records(sha256=None),
            f"{SNAPSHOT}, {WHEEL}: neither a sha256 nor a note",
            id="no hash",
        ),
        pytest.param(
            records(sha256="abc"),
            f"{SNAPSHOT}, {WHEEL}: a hash is not 64 hexadecimal digits",
            id="bad hash",
        ),
        pytest.param(records(url=None), f"{SNAPSHOT}, {WHEEL}: no address", id="no address"),
        pytest.param(
            records(url="https://files.example/torch.whl"),
            f"{SNAPSHOT}, {WHEEL}: the address is on files.example, which no channel uses",
            id="foreign host",
        ),
        pytest.param(
            records(directories=("cu118",)),
            f"{SNAPSHOT}, {WHEEL}: channel pytorch has no directory cu118",
            id="unknown directory",
        ),
        pytest.param(
            records(version=Version("2.9.0+cu130")),
            f"{SNAPSHOT}, {WHEEL}: the file name says torch 2.9.1+cu130, "
            "the record torch 2.9.0+cu130",
            id="version and file name differ",
        ),
        pytest.param(
            records(filename="torch.whl"),
            f"{SNAPSHOT}, torch.whl: no file name: Invalid wheel filename "
            "(wrong number of parts): 'torch'",
            id="no wheel's name",
        ),
        pytest.param(records(source=" "), f"{SNAPSHOT}, {WHEEL}: no source", id="no source"),
        pytest.param(
            records(date="2026-02"),
            f"{SNAPSHOT}, {WHEEL}: not a date: '2026-02'",
            id="no date",
        ),
        pytest.param(
            append_line, f"{SNAPSHOT}, {WHEEL}: the record is held twice", id="record twice"
        ),
        pytest.param(
            lambda path: (path / SNAPSHOT).write_text(
                (path / SNAPSHOT).read_text(encoding="utf-8").replace('":', '": '),
                encoding="utf-8",
            ),
            f"{SNAPSHOT}: the file is not as write_snapshot writes it: order, keys or spaces",
            id="spaces",
        ),
        pytest.param(
            lambda path: (path / SNAPSHOT).write_text("[]\n", encoding="utf-8"),
            f"{SNAPSHOT}: line 1: not a record: 'list' object has no attribute 'get'",
            id="no record",
        ),
        pytest.param(
            lambda path: (path / SNAPSHOT).rename(path / "snapshot/pytorch.triton.jsonl"),
            f"snapshot/pytorch.triton.jsonl, {WHEEL}: the record stands in the wrong file",
            id="wrong file",
        ),
        pytest.param(
            lambda path: write_snapshot(
                path / "snapshot", [torch_record(channel="default", directories=())]
            ),
            f"snapshot/default.torch.jsonl, {WHEEL}: a record of the default index has an address",
            id="address of the default index",
        ),
        pytest.param(
            lambda path: write_snapshot(path / "snapshot", [torch_record(channel="gone")]),
            f"snapshot/gone.torch.jsonl, {WHEEL}: there is no channel gone",
            id="record of an unknown channel",
        ),
        pytest.param(
            pins("numpy==2.2.6"),
            "tuples/good.pins.toml, good: "
            "torch 2.9.1+cu130 is not pinned for Python 3.12 on x86_64",
            id="package without a pin",
        ),
        pytest.param(
            pins("torch==2.9.0+cu130"),
            "tuples/good.pins.toml, good: "
            "torch 2.9.1+cu130 is not pinned for Python 3.12 on x86_64: 2.9.0+cu130 is",
            id="package with another pin",
        ),
        pytest.param(
            pins("torch==2.9.1+cu130", "numpy==2.2.6"),
            "tuples/good.pins.toml, good: no record of numpy 2.2.6 for Python 3.12 on x86_64",
            id="pin without a file",
        ),
        pytest.param(
            pins("torch==2.9.1+cu130", "torch==2.9.1+cu130 ; python_version >= '3.12'"),
            "tuples/good.pins.toml, good: torch is pinned twice for Python 3.12 on x86_64",
            id="pinned twice",
        ),
        pytest.param(
            pins("torch>=2.9"),
            "tuples/good.pins.toml, good: not an exact pin: torch>=2.9",
            id="not exact",
        ),
        pytest.param(
            lambda path: write_pins(path, "gone", [Requirement("torch==2")]),
            "tuples/gone.pins.toml: there is no tuple for these pins",
            id="stray pins",
        ),
        pytest.param(
            lambda path: (path / "tuples/good.pins.toml").write_text(
                'tuple = "bad"\npins = ["torch==2.9.1+cu130"]\n', encoding="utf-8"
            ),
            "tuples/good.pins.toml, good: the pins are those of bad",
            id="pins of another tuple",
        ),
        pytest.param(
            lambda path: (path / "tuples/good.pins.toml").write_text(
                'tuple = "good"\npins = []\n', encoding="utf-8"
            ),
            "tuples/good.pins.toml: pins: must not be empty",
            id="no pins",
        ),
    ],
)
def test_a_fault_is_named(database: Path, change: Change, expected: str) -> None:
    change(database)
    found = validate(database)
    assert expected in [str(problem) for problem in found]
    assert all(problem.remedy for problem in found)


def test_no_file_names_the_host_of_the_public_index(database: Path) -> None:
    (database / "notes.txt").write_text(library_endpoint(), encoding="utf-8")
    assert validate(database) == []
    problem = validate_knowledge(database)[0]
    assert str(problem) == "notes.txt: the file names the host of the public package index"
