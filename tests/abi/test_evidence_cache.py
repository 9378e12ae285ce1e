from __future__ import annotations

import json
import multiprocessing
import random
import zlib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from resolver.abi.evidence_cache import EvidenceStore
from resolver.abi.inspection import read_evidence
from resolver.abi.wheel import WheelFacts, probe_wheel
from resolver.wheelfile.byte_source import BytesSource
from tests.abi.elf_builder import Elf
from tests.abi.test_fatbin import fatbin
from tests.abi.wheels import make_wheel

SHA = "0123456789abcdef" * 4
WHEEL = make_wheel(
    {
        "demo/_C.so": Elf(
            undefined=["_ZN2at6Tensor5cloneEv"],
            weak=["w"],
            soname="_C.so",
            runpath="$ORIGIN",
            filler=fatbin([(2, 120, 0x100000), (1, 90, 0)]),
        ).build(),
        "demo/script.so": b"INPUT(x)",
    }
)


def facts(*, full: bool = False, sha256: str = SHA) -> WheelFacts:
    return probe_wheel(
        BytesSource(WHEEL), filename="demo-1-py3-none-any.whl", sha256=sha256, full=full
    )


def entries(directory: Path) -> list[Path]:
    return sorted(path for path in directory.rglob("*") if path.is_file())


def test_round_trip(tmp_path: Path) -> None:
    store = EvidenceStore(tmp_path)
    assert store.get(SHA) is None
    for full in (False, True):
        wanted = facts(full=full)
        assert store.put(wanted)
        assert store.get(SHA, full=full) == replace(wanted, bytes_read=0)


def test_the_deeper_entry_answers_for_both(tmp_path: Path) -> None:
    store = EvidenceStore(tmp_path)
    store.put(facts())
    assert store.get(SHA, full=True) is None
    store.put(facts(full=True))
    found = store.get(SHA)
    assert found is not None
    assert found.depth == "full"


def test_without_a_sha256_nothing_is_kept(tmp_path: Path) -> None:
    store = EvidenceStore(tmp_path)
    assert not store.put(replace(facts(), sha256=None))
    assert not store.put(facts(sha256="../../etc/passwd"))
    assert store.get("../../etc/passwd") is None
    assert entries(tmp_path) == []


def test_a_disk_that_refuses(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert not EvidenceStore(tmp_path / "file").put(facts())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_damaged_entry_is_absent(tmp_path: Path, data: st.DataObject) -> None:
    store = EvidenceStore(tmp_path)
    store.put(facts())
    whole = store.get(SHA)
    (path,) = entries(tmp_path)
    body = bytearray(path.read_bytes())
    if cut := data.draw(st.booleans()):
        del body[data.draw(st.integers(0, len(body) - 1)) :]
    else:
        body[data.draw(st.integers(2, len(body) - 1))] ^= data.draw(st.integers(1, 255))
    path.write_bytes(body)
    # The bits between the last block and the checksum mean nothing.
    assert store.get(SHA) in ((None,) if cut else (None, whole))
    store.put(facts())
    assert store.get(SHA) is not None


@pytest.mark.parametrize(
    "change",
    [
        {"sha256": "f" * 64},
        {"depth": "deep"},
        {"size": "big"},
        {"members": [{}]},
        {"members": [{"path": "a", "crc32": -1, "size": 1}]},
        {"filename": 3},
    ],
)
def test_an_entry_of_another_shape_is_absent(tmp_path: Path, change: dict[str, object]) -> None:
    store = EvidenceStore(tmp_path)
    store.put(facts())
    (path,) = entries(tmp_path)
    document = json.loads(zlib.decompress(path.read_bytes())) | change
    path.write_bytes(zlib.compress(json.dumps(document).encode()))
    assert store.get(SHA) is None


@pytest.mark.parametrize(
    "change",
    [{"needed": "libc"}, {"needed": [1]}, {"dynamic": "guess"}, {"soname": 1}, {"versions": [1]}],
)
def test_facts_of_another_shape_are_absent(tmp_path: Path, change: dict[str, object]) -> None:
    store = EvidenceStore(tmp_path)
    store.put(facts())
    (path,) = entries(tmp_path)
    document = json.loads(zlib.decompress(path.read_bytes()))
    document["members"][0]["facts"] |= change
    path.write_bytes(zlib.compress(json.dumps(document).encode()))
    assert store.get(SHA) is None


def test_a_known_wheel_is_not_read_again(tmp_path: Path) -> None:
    store = EvidenceStore(tmp_path)
    name = "demo-1-py3-none-any.whl"
    source = BytesSource(WHEEL)
    first = read_evidence(source, filename=name, sha256=SHA, store=store)
    cost = source.bytes_read
    again = read_evidence(source, filename=name, sha256=SHA, store=store)
    assert (first.bytes_read, again.bytes_read) == (cost, 0)
    assert source.bytes_read == cost > 0
    assert again.members == first.members


def _work(directory: Path, seed: int) -> int:
    """Write, read and damage entries; every answer must be right or absent."""
    store = EvidenceStore(directory)
    chance = random.Random(seed)
    wanted = {f"{n:064x}": replace(facts(sha256=f"{n:064x}"), bytes_read=0) for n in range(4)}
    wrong = 0
    for _ in range(100):
        sha256 = chance.choice(sorted(wanted))
        if chance.random() < 0.5:
            store.put(wanted[sha256])
        else:
            found = store.get(sha256)
            wrong += found is not None and found != wanted[sha256]
        if chance.random() < 0.1:
            for path in list(directory.rglob("*.symbols"))[:1]:
                path.write_bytes(b"damage")
    return wrong


def test_processes_may_share_it(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    with context.Pool(3) as pool:
        wrong = pool.starmap(_work, [(tmp_path, seed) for seed in range(3)])
    assert wrong == [0, 0, 0]
    # Nothing but entries is left behind.
    assert all(path.suffix == ".symbols" for path in entries(tmp_path))
