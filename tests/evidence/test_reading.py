"""Where facts come from: store, pack, bytes, a sibling; and what cannot be read."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

from resolver.abi.bundled_evidence import EvidencePack
from resolver.abi.evidence_cache import EvidenceStore
from resolver.errors import IndexFailure, KnowledgeError
from resolver.evidence.wheel_reader import WheelReader
from resolver.model import host_need
from resolver.model.artifact import Artifact
from resolver.model.host_need import HostNeed
from resolver.model.reason import Code, Grade, Reason
from resolver.solve.candidate import Bound
from resolver.wheelfile.byte_source import ByteSource, BytesSource, FileSource
from tests.abi.columns import CHECK_INT, CLONE, SYM_NE
from tests.abi.elf_builder import Elf
from tests.evidence.world import World, facts, file, member, metadata, torch, unreachable
from tests.support.named import named
from tests.support.wheels import build_wheel

KERNEL = file("kernel")
NAME = "kernel-1.0-cp312-cp312-manylinux_2_28_x86_64.whl"
# The build of another index, whose address is not known, and its sibling on the default index.
LOCAL = file("kernel", "1.0+cu130", url=None, channel="sgl-project")


def wheel(*symbols: str, needed: tuple[str, ...] = ("libtorch.so",)) -> bytes:
    """A wheel whose one extension needs these symbols."""
    elf = Elf(undefined=list(symbols), needed=list(needed)).build()
    built = build_wheel(
        "kernel", "1.0", tag="cp312-cp312-manylinux_2_28_x86_64", files={"kernel/core.so": elf}
    )
    return built.data


BYTES = wheel(CLONE, CHECK_INT, SYM_NE)


def test_a_file_is_read_once_from_its_bytes_and_kept() -> None:
    world = World(wheels={NAME: BYTES}).tell()
    for _ in range(2):
        evidence = world.evidence()
        evidence.prefetch([KERNEL, KERNEL])
        (need,) = evidence.needs(KERNEL, metadata(KERNEL))
        assert isinstance(need, Bound)
        assert need.text == "torch >=2.9,<2.10"
        pair = evidence.pair(KERNEL, torch("2.9.1"))
        assert pair is not None
        assert pair.grade is Grade.MEASURED
        assert evidence.notices() == ()
        evidence.close()
    assert world.opened == world.announced == [NAME]


def test_a_file_without_a_hash_is_read_and_not_kept() -> None:
    nameless = file("kernel", sha256=None)
    world = World(wheels={NAME: BYTES}).tell()
    for _ in range(2):
        assert len(world.evidence().needs(nameless, metadata(nameless))) == 1
    assert world.opened == [NAME, NAME]


def test_a_project_that_nobody_named_is_read_when_its_metadata_is() -> None:
    other = file("other")
    world = World(wheels={other.filename: BYTES})
    evidence = world.evidence()
    evidence.prefetch([other])  # not ahead of need
    assert world.opened == []
    # It links with torch, and does not say so.
    assert len(evidence.needs(other, metadata(other, "numpy"))) == 1
    assert world.opened == [other.filename]


# store and pack


def packed(place: Path, *symbols: str, codes: str | None, full: bool) -> EvidencePack:
    pack = EvidencePack(place)
    row = facts(
        KERNEL,
        member("kernel/core.so", *symbols, codes=codes),
        depth="full" if full else "symbols",
    )
    pack.write(canonicalize_name("kernel"), [row])
    return pack


@pytest.mark.parametrize(
    ("stored", "packed_full", "text"),
    [
        pytest.param("full", True, "torch >=2.9,<2.10", id="full-store-first"),
        pytest.param(
            "symbols", True, "torch >=2.6 (or older),<2.10", id="full-pack-before-symbols"
        ),
        pytest.param("symbols", False, "torch >=2.9,<2.10", id="store-before-pack"),
        pytest.param(None, False, "torch >=2.6 (or older),<2.10", id="pack-alone"),
    ],
)
def test_the_deepest_facts_count(
    tmp_path: Path, stored: str | None, packed_full: bool, text: str
) -> None:
    pack = packed(tmp_path, CHECK_INT, codes="sm_120" if packed_full else None, full=packed_full)
    world = World(pack=pack)
    if stored is not None:
        row = member("kernel/core.so", CHECK_INT, SYM_NE)
        world.tell(facts(KERNEL, row, depth="full" if stored == "full" else "symbols"))
    (need,) = world.evidence().needs(KERNEL, metadata(KERNEL))
    assert isinstance(need, Bound)
    assert need.text == text
    assert world.opened == []


@pytest.mark.parametrize(
    ("wheels", "text"),
    [
        pytest.param({NAME: BYTES}, "torch >=2.9,<2.10", id="reached"),
        pytest.param({}, "torch >=2.6 (or older),<2.10", id="no-address"),
        pytest.param({NAME: unreachable(NAME)}, "torch >=2.6 (or older),<2.10", id="unreachable"),
    ],
)
def test_a_small_wheel_whose_device_code_does_not_ship_is_read_where_it_can(
    tmp_path: Path, wheels: dict[str, bytes | IndexFailure], text: str
) -> None:
    pack = EvidencePack(tmp_path)
    core = member("kernel/core.so", CHECK_INT, needed=["libtorch.so", "libcudart.so.12"])
    pack.write(canonicalize_name("kernel"), [facts(KERNEL, core, depth="symbols")])
    world = World(wheels=wheels, pack=pack)
    evidence = world.evidence()
    need = evidence.needs(KERNEL, metadata(KERNEL))[0]
    assert isinstance(need, Bound)
    assert need.text == text
    assert world.opened == [NAME]
    assert evidence.notices() == ()


def test_a_damaged_pack_is_an_error(tmp_path: Path) -> None:
    pack = packed(tmp_path, CHECK_INT, codes=None, full=False)
    path = tmp_path / "wheels" / "kernel.jsonl.xz"
    path.write_bytes(b"nonsense")
    with pytest.raises(KnowledgeError, match="damaged evidence"):
        World(pack=EvidencePack(tmp_path)).evidence().needs(KERNEL, metadata(KERNEL))
    del pack


# what cannot be read


def unread(needs: Sequence[HostNeed | Bound]) -> Reason:
    """That a file be read, where nothing else is needed."""
    (need,) = needs
    assert isinstance(need, HostNeed)
    assert need.fact == host_need.BYTES
    assert need.reason is not None
    assert need.reason.is_open
    return need.reason


def test_a_host_that_does_not_answer_is_a_notice() -> None:
    world = World(wheels={NAME: unreachable(NAME)})
    evidence = world.evidence()
    reason = unread(evidence.needs(KERNEL, metadata(KERNEL)))
    assert reason == Reason(
        code=Code.UNREADABLE,
        subject=named("kernel 1.0"),
        needs="its own bytes, read",
        found="no answer within 10 s",
        evidence=f"{NAME} on channel default",
        grade=Grade.ASSUMED,
        remedy="run where channel default answers, put the wheel into a directory and give it "
        "with --wheelhouse, or try its import beside the torch of the set on sm_120",
    )
    assert evidence.pair(KERNEL, torch("2.9.1")) is None
    assert evidence.refusals(KERNEL, metadata(KERNEL), torch("2.10.0")) == ()
    assert evidence.overdeclared(KERNEL, metadata(KERNEL), torch("2.10.0")) == ()
    assert evidence.remarks(KERNEL, torch("2.9.1")) == ()
    (notice,) = evidence.notices()
    assert notice.startswith(f"{NAME} could not be read: ")
    assert "no answer within 10 s" in notice
    assert world.opened == [NAME]


def test_damaged_bytes_are_a_notice() -> None:
    evidence = World(wheels={NAME: b"PK, but no wheel"}).evidence()
    assert unread(evidence.needs(KERNEL, metadata(KERNEL))).grade is Grade.ASSUMED
    (notice,) = evidence.notices()
    assert notice.startswith(f"{NAME} could not be read: ")


def test_no_address_is_no_notice() -> None:
    evidence = World().evidence()
    reason = unread(evidence.needs(KERNEL, metadata(KERNEL)))
    assert reason.found == "nothing that is reached here has it"
    assert evidence.notices() == ()


@pytest.mark.parametrize("pin", ["torch==2.9.1", "torch~=2.9.0", "torch==2.9.*"])
def test_metadata_that_pin_torch_speak_for_the_file(pin: str) -> None:
    assert World().evidence().needs(KERNEL, metadata(KERNEL, pin)) == ()


def test_a_floor_says_nothing_of_the_torch_it_was_built_with() -> None:
    assert unread(World().evidence().needs(KERNEL, metadata(KERNEL, "torch>=2.4")))


def test_files_of_one_project_are_one_notice() -> None:
    files = [file("kernel", version) for version in ("1.0", "2.0", "3.0")]
    evidence = World(wheels={f.filename: unreachable(f.filename) for f in files}).evidence()
    for artifact in files:
        evidence.needs(artifact, metadata(artifact))
    assert evidence.notices() == (
        f"{NAME} and 2 more files could not be read: no answer within 10 s",
    )


# siblings


def sibling_world(*symbols: str, needed: tuple[str, ...] = ("libtorch.so",)) -> World:
    return World(wheels={NAME: wheel(*symbols, needed=needed)}, siblings={LOCAL.filename: [KERNEL]})


def test_a_file_inherits_the_symbols_of_its_sibling() -> None:
    evidence = sibling_world(CLONE, CHECK_INT).evidence()
    own, need = evidence.needs(LOCAL, metadata(LOCAL))
    assert unread([own]).grade is Grade.INFERRED
    assert unread([own]).needs == f"its own bytes, read, not {NAME} for it"
    assert isinstance(need, Bound)
    assert (need.origin, need.text) == ("kernel 1.0+cu130", "torch >=2.6 (or older),<2.10")
    pair = evidence.pair(LOCAL, torch("2.9.1"))
    assert pair is not None
    assert pair.grade is Grade.INFERRED
    assert str(pair.extension) == "kernel 1.0+cu130"
    assert pair.evidence.startswith(f"all 2 symbols of {NAME} ")
    assert pair.evidence.endswith(f"links, not run; {LOCAL.filename} itself was not read")
    assert pair.summary == f"all 2 torch symbols are exported; links, not run, read from {NAME}"
    assert evidence.notices() == ()


def test_a_refusal_by_a_sibling_says_so() -> None:
    evidence = sibling_world(CHECK_INT).evidence()
    (reason,) = evidence.refusals(LOCAL, metadata(LOCAL), torch("2.10.0"))
    assert reason.grade is Grade.INFERRED
    assert str(reason.subject) == "kernel 1.0+cu130"
    assert reason.evidence.startswith(
        f"{NAME} stands in for a file that was not read; the undefined symbols of kernel/core.so"
    )


def test_a_name_says_more_of_cuda_than_a_sibling() -> None:
    evidence = sibling_world(CLONE, needed=("libcudart.so.13",)).evidence()
    needs = evidence.needs(LOCAL, metadata(LOCAL))
    assert [need.fact for need in needs if isinstance(need, HostNeed)] == [host_need.BYTES]


def test_a_sibling_s_answer_makes_the_failure_no_news() -> None:
    world = sibling_world(CHECK_INT)
    answering = file("kernel", "1.0+cu130", channel="sgl-project")
    world.wheels = {**world.wheels, answering.filename: unreachable(answering.filename)}
    evidence = world.evidence()
    own, _ = evidence.needs(answering, metadata(answering))
    assert unread([own]).found == "no answer within 10 s"
    assert evidence.notices() == ()


def test_the_first_sibling_that_can_be_read_answers() -> None:
    gone = file("kernel", tag="cp312-cp312-manylinux_2_17_x86_64")
    world = sibling_world(CHECK_INT)
    world.siblings = {LOCAL.filename: [gone, KERNEL]}
    evidence = world.evidence()
    evidence.needs(LOCAL, metadata(LOCAL))
    assert world.opened == [LOCAL.filename, gone.filename, NAME]


# the reader by itself


def test_reading_ahead_does_not_wait() -> None:
    gate = threading.Event()
    opened: list[str] = []

    def opener(artifact: Artifact) -> ByteSource:
        opened.append(artifact.filename)
        assert gate.wait(10)
        return BytesSource(BYTES)

    reader = WheelReader(opener)
    reader.start(KERNEL)
    reader.start(KERNEL)
    gate.set()
    assert reader.read(KERNEL) is not None
    assert opened == [NAME]
    reader.close()


def test_a_local_file_is_closed_after_reading(tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_bytes(BYTES)
    sources: list[FileSource] = []

    def opener(artifact: Artifact) -> ByteSource:
        del artifact
        sources.append(FileSource(path))
        return sources[-1]

    reader = WheelReader(opener, store=EvidenceStore(tmp_path / "cache"))
    assert reader.read(KERNEL) is not None
    with pytest.raises(OSError, match="Bad file descriptor"):
        sources[0].read_at(0, 1)


def test_a_local_file_that_vanished_is_a_failure(tmp_path: Path) -> None:
    def opener(artifact: Artifact) -> ByteSource:
        del artifact
        return FileSource(tmp_path / "gone.whl")

    reader = WheelReader(opener)
    assert reader.read(KERNEL) is None
    (failure,) = reader.failures()
    assert failure.startswith(f"{NAME} could not be read: [Errno 2] No such file or directory")
    reader.forget_failure(KERNEL)
    reader.forget_failure(KERNEL)
    assert reader.failures() == ()
