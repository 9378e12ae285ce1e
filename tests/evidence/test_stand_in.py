"""What other files of a release say of one that was not read: what they lack, it lacks."""

from __future__ import annotations

from dataclasses import replace

import pytest
from packaging.version import Version

from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.evidence.stand_in import sibling_files
from resolver.model.artifact import Artifact, Listing
from resolver.model.cuda import Arch, CudaVersion, DeviceCode
from resolver.model.host_need import BYTES, CUDA, DRIVER, GPU, HostNeed
from resolver.model.knowledge import CudaRelease
from resolver.model.reason import Code, Grade
from resolver.solve.candidate import Bound
from tests.abi.columns import CHECK_INT, CLONE
from tests.evidence.world import LIBRARIES, World, facts, file, member, metadata, torch
from tests.support.fakes import make_knowledge, make_target

READ = file("kernel", "1.0")
OTHER = file("kernel", "1.0+cu130", channel="sgl-project", url=None)
UNNAMED = file("kernel", "1.0", tag="cp312-cp312-manylinux_2_17_x86_64", channel="sgl-project")
ARM = file("kernel", "1.0", tag="cp312-cp312-manylinux_2_28_aarch64", channel="sgl-project")
CORE = "kernel/core.so"


def release(version: str, archs: str) -> CudaRelease:
    cuda = CudaVersion.parse(version)
    return CudaRelease(
        id=version,
        version=cuda,
        archs=tuple(map(Arch.parse, archs.split())),
        driver_family=Version("580"),
        driver_packaged=None,
        archs_source="a test",
        driver_source="a test",
    )


TOOLKITS = tuple(
    release(version, archs)
    for version, archs in (
        ("12.6", "sm_75 sm_90"),
        ("12.8", "sm_75 sm_90 sm_120"),
        ("13.0", "sm_75 sm_90 sm_110 sm_120"),
    )
)
DRIVEN = make_knowledge(libraries=LIBRARIES, cuda=dict(KnowledgeBase().facts.cuda))
KNOWN = make_knowledge(libraries=LIBRARIES, cuda={toolkit.version: toolkit for toolkit in TOOLKITS})


def needs(
    artifact: Artifact,
    codes: str,
    needed: tuple[str, ...] = ("libcudart.so.12",),
    symbols: tuple[str, ...] = (CLONE,),
    **target: str,
) -> list[HostNeed | Bound]:
    """What a file needs whose release was read in another file."""
    world = World(
        known=KNOWN,
        target=make_target(**{"cuda": "13.0", **target}),
        siblings={artifact.filename: [READ]},
    )
    world.tell(facts(READ, member(CORE, *symbols, needed=needed, codes=codes)))
    return list(world.evidence().needs(artifact, metadata(artifact)))


def unmet(found: list[HostNeed | Bound], fact: str) -> list[HostNeed]:
    return [n for n in found if isinstance(n, HostNeed) and n.fact == fact]


def test_device_code_that_a_sibling_leaves_out() -> None:
    (need,) = unmet(needs(OTHER, "sm_90 sm_120", archs="sm75"), GPU)
    assert need.origin == "kernel 1.0+cu130"
    assert need.reason is not None
    assert (need.reason.code, need.reason.grade) == (Code.NO_DEVICE_CODE, Grade.INFERRED)
    assert need.reason.evidence.startswith(
        f"{READ.filename} stands in for a file that was not read; .nv_fatbin of {CORE} in "
    )


@pytest.mark.parametrize("arch", ["sm110", "sm120"])
def test_code_that_the_sibling_s_toolkit_may_not_make_says_nothing(arch: str) -> None:
    # 12.6 makes none for sm_120, and which 12.x made the sibling is not known.
    assert unmet(needs(OTHER, "sm_90", archs=arch), GPU) == []


def test_a_sibling_s_code_says_nothing_where_the_build_s_own_is_known() -> None:
    # The release for CUDA 13 has code for sm_103a, which the one for 12.9 leaves out.
    world = World(
        known=KNOWN,
        target=make_target(cuda="13.0", archs="sm75"),
        siblings={OTHER.filename: [READ]},
    )
    world.tell(facts(READ, member(CORE, CLONE, needed=("libcudart.so.12",), codes="sm_90")))
    known = {OTHER.filename: (DeviceCode.parse("sm_75"),)}
    evidence = world.evidence(codes_of=lambda artifact: known.get(artifact.filename))
    assert unmet(list(evidence.needs(OTHER, metadata(OTHER))), GPU) == []
    (need,) = unmet(list(world.evidence().needs(OTHER, metadata(OTHER))), GPU)
    assert need.origin == "kernel 1.0+cu130"


@pytest.mark.parametrize(("driver", "refused"), [("535.183.06", True), ("550.54.14", False)])
def test_what_a_sibling_calls_of_the_driver_counts(driver: str, refused: bool) -> None:
    target = make_target(cuda="13.0", driver=driver)
    world = World(known=DRIVEN, target=target, siblings={OTHER.filename: [READ]})
    world.tell(facts(READ, member(CORE, CLONE, "cuGreenCtxDestroy", needed=("libcuda.so.1",))))
    found = unmet(list(world.evidence().needs(OTHER, metadata(OTHER))), DRIVER)
    assert [need.reason.grade for need in found if need.reason] == [Grade.INFERRED] * refused


def test_code_that_the_sibling_has_is_no_need() -> None:
    assert unmet(needs(OTHER, "sm_75 sm_90", archs="sm75"), GPU) == []


def test_the_cuda_major_of_a_sibling_counts_where_no_name_says_another() -> None:
    (need,) = unmet(needs(UNNAMED, "sm_120"), CUDA)
    assert need.reason is not None
    assert (need.reason.code, need.reason.grade) == (Code.CUDA_MISMATCH, Grade.INFERRED)
    assert unmet(needs(OTHER, "sm_120"), CUDA) == []


def test_a_file_that_only_a_sibling_speaks_for_is_behind_those_that_were_read() -> None:
    (need,) = unmet(needs(OTHER, "sm_120"), BYTES)
    assert need.reason is not None
    assert need.reason.grade is Grade.INFERRED


# another machine


def on_arm(*symbols: str) -> World:
    world = World(
        target=make_target(cuda="12.9", machine="aarch64"),
        siblings={ARM.filename: [READ]},
    )
    return world.tell(facts(READ, member(CORE, *symbols)))


def test_a_build_for_another_machine_says_what_is_lacking() -> None:
    evidence = on_arm(CLONE, CHECK_INT).evidence()
    bound, unread = evidence.needs(ARM, metadata(ARM))
    assert isinstance(bound, Bound)
    assert str(bound) == "torch (torch >=2.6 (or older),<2.10)"
    gone = replace(torch("2.10.0"), sha256="8" * 64)
    assert not bound.accepts(gone)
    assert bound.accepts(replace(torch("2.9.1"), sha256="8" * 64))
    (reason,) = bound.explain(gone)
    assert (reason.code, reason.grade) == (Code.MISSING_SYMBOL, Grade.INFERRED)
    assert reason.evidence.startswith(f"{READ.filename} stands in for a file that was not read; ")
    assert evidence.refusals(ARM, metadata(ARM), gone) == (reason,)
    # That nothing is lacking proves nothing: the file stays unread.
    assert isinstance(unread, HostNeed)
    assert unread.reason is not None
    assert unread.reason.grade is Grade.ASSUMED
    assert evidence.pair(ARM, torch("2.9.1")) is None


def test_what_a_release_lacks_counts_where_not_even_metadata_are_read() -> None:
    evidence = on_arm(CLONE, CHECK_INT).evidence()
    (bound,) = evidence.sibling_needs(ARM)
    assert str(bound) == "torch (torch >=2.6 (or older),<2.10)"
    assert evidence.sibling_needs(file("unheard-of")) == ()


# which files are siblings


def listing(*artifacts: Artifact, channel: str = "default") -> Listing:
    return Listing(project=artifacts[0].name, channel=channel, artifacts=artifacts)


def test_siblings_are_the_files_of_a_release_the_default_index_first() -> None:
    cu128 = file("kernel", "1.0+cu128", channel="sgl-project")
    newer = file("kernel", "2.0")
    pages = [listing(OTHER, cu128, channel="sgl-project"), listing(READ, newer)]
    assert sibling_files(pages, OTHER) == [READ, cu128]


@pytest.mark.parametrize("version", ["1.0.dev20260226", "1.0rc1"])
def test_a_nightly_has_no_siblings(version: str) -> None:
    nightly = file("kernel", version, url=None)
    again = file("kernel", version, tag="cp312-cp312-manylinux_2_17_x86_64")
    assert sibling_files([listing(nightly, again)], nightly) == []


def test_files_for_other_torches_are_no_siblings() -> None:
    one = file("flash-attn", "2.8.3+cu12torch2.8cxx11abiTRUE")
    other = file("flash-attn", "2.8.3+cu12torch2.9cxx11abiTRUE")
    assert sibling_files([listing(one, other)], one) == []
