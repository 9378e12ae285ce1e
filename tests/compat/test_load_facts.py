"""Loading the database, and what the shipped one holds."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from resolver.compat.load_facts import knowledge_path, load_knowledge
from resolver.compat.snapshot import DirectorySnapshot
from resolver.compat.snapshot_record import artifact_of
from resolver.errors import KnowledgeError
from resolver.model.cuda import Arch, CudaVersion
from resolver.model.knowledge import KnownTuple
from resolver.model.reason import Code, Grade, Severity
from resolver.model.target import Target

TORCH = canonicalize_name("torch")
SGL_KERNEL = canonicalize_name("sgl-kernel")
SHIPPED = load_knowledge()


def by_id(tuple_id: str) -> KnownTuple:
    return next(known for known in SHIPPED.tuples if known.id == tuple_id)


def test_a_small_database_becomes_values(database: Path) -> None:
    known = load_knowledge(database)
    assert [channel.name for channel in known.channels] == ["pytorch"]
    assert list(known.cuda) == [CudaVersion(12, 9), CudaVersion(13, 0)]
    assert known.gpus[0].arch == Arch(9, 0)
    assert known.builds[0].cuda == CudaVersion(12, 9)
    assert known.skews[0].projects == ("one", "two")
    assert str(known.pairs[0].versions) == "==1.0"
    assert str(known.pairs[0].torch) == "==2.9.1"
    assert (known.successors[0].project, known.successors[0].successor) == ("one", "two")
    assert known.libraries[0].soname == "libcudart.so.13"
    bad, good = known.tuples
    assert (bad.id, good.id) == ("bad", "good")
    assert bad.reason is not None
    assert bad.reason.code is Code.MISSING_SYMBOL
    assert good.pins == ()
    assert good.channels == {"torch": "pytorch"}
    listing = known.snapshot.listing("pytorch", TORCH)
    assert listing is not None
    assert listing.artifacts[0].version == Version("2.9.1+cu130")


def test_a_directory_is_loaded_once(database: Path) -> None:
    assert load_knowledge(database) is load_knowledge(database)


def test_a_damaged_file_is_an_error_with_a_hint(database: Path) -> None:
    (database / "gpus.toml").write_text(
        '[[gpu]]\nid = "x"\nnames = ["X"]\narch = "nine"\nsource = "s"\n', encoding="utf-8"
    )
    with pytest.raises(KnowledgeError) as caught:
        load_knowledge(database)
    assert str(caught.value) == "gpus.toml, x: date: the key is missing (1 more)"
    assert caught.value.hint == "Add the key 'date'."


def test_a_missing_file_is_an_error(database: Path) -> None:
    (database / "skews.toml").unlink()
    with pytest.raises(KnowledgeError, match=r"^skews\.toml: there is no such file$"):
        load_knowledge(database)


def test_what_is_no_regular_file_is_an_error(database: Path) -> None:
    (database / "gpus.toml").unlink()
    os.mkfifo(database / "gpus.toml")
    with pytest.raises(KnowledgeError, match=r"^gpus\.toml: cannot be read: not a regular file$"):
        load_knowledge(database)


def test_the_shipped_database_is_beside_the_package() -> None:
    assert (knowledge_path() / "cuda.toml").is_file()


def test_the_default_stack_of_blackwell() -> None:
    known = by_id("blackwell-sm120-cu130-2026-02")
    assert {str(k): str(v) for k, v in known.packages.items()} == {
        "flashinfer-python": "0.6.4",
        "sgl-kernel": "0.3.21+cu130",
        "torch": "2.9.1+cu130",
    }
    assert (known.verdict, known.grade) == ("good", Grade.REPORTED)
    assert known.cuda == (CudaVersion(13, 0),)
    assert known.archs == (Arch(12, 0),)
    assert known.exclude_newer == "2026-02-28"
    assert any("nvidia-cuda-nvrtc-cu12" in remedy for remedy in known.remedies)


def test_wheels_without_a_local_version_on_aarch64(database: Path) -> None:
    file = database / "tuples/good.toml"
    text = file.read_text(encoding="utf-8")
    text += '\n[packages-by-machine.aarch64]\ntorch = "2.9.1"\ntriton = "3.5.1"\n'
    file.write_text(text, encoding="utf-8")
    known = load_knowledge(database).tuples[1]
    assert known.packages_for("x86_64") == {TORCH: Version("2.9.1+cu130")}
    assert known.packages_for("aarch64") == {
        TORCH: Version("2.9.1"),
        canonicalize_name("triton"): Version("3.5.1"),
    }


@pytest.mark.parametrize("torch", ["2.10.0+cu130", "2.12.0.dev20260226+cu130"])
def test_the_pair_that_cost_hours_is_known_to_fail(torch: str) -> None:
    (known,) = [
        known
        for known in SHIPPED.tuples
        if known.packages == {TORCH: Version(torch), SGL_KERNEL: Version("0.3.21+cu130")}
    ]
    assert known.reason is not None
    assert str(known.reason.subject) == "sgl-kernel 0.3.21+cu130"
    assert str(known.reason.object) == f"torch {torch}"
    assert known.reason.needs == (
        "c10::cuda::c10_cuda_check_implementation(int, char const*, char const*, int, bool)"
    )
    assert known.reason.found == (
        "c10::cuda::c10_cuda_check_implementation"
        "(int, char const*, char const*, unsigned int, bool)"
    )
    assert known.reason.symbols[0] == "_ZN3c104cuda29c10_cuda_check_implementationEiPKcS2_ib"
    assert known.reason.works_with == "torch >=2.9,<2.10"


def test_known_bad_tuples_reject_unless_they_load() -> None:
    bad = [known for known in SHIPPED.tuples if known.verdict == "bad"]
    fatal = [k for k in bad if k.reason and k.reason.severity is Severity.FATAL]
    assert len(fatal) >= 8
    assert all(
        "#" in known.source or "wheel" in known.source or "report" in known.source for known in bad
    )


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize("python", ["3.10", "3.11", "3.12", "3.13"])
def test_the_snapshot_holds_torch_for_every_python_and_machine(python: str, machine: str) -> None:
    target = Target(
        cuda=CudaVersion(13, 0),
        archs=(Arch(12, 0),),
        python=Version(f"{python}.0"),
        machine=machine,
    )
    listing = SHIPPED.snapshot.listing("pytorch", TORCH, {"cu130"})
    assert listing is not None
    fitting = {
        str(artifact.version): artifact
        for artifact in listing.artifacts
        if not artifact.tags.isdisjoint(target.tag_rank)
    }
    for version in ("2.9.1+cu130", "2.10.0+cu130"):
        assert fitting[version].sha256
    metadata = SHIPPED.snapshot.metadata(fitting["2.9.1+cu130"])
    assert metadata is not None
    pins = {str(r.name): str(r.specifier) for r in metadata.requires if r.specifier}
    assert pins["nvidia-cuda-runtime"] == "==13.0.48"
    assert pins["triton"] == "==3.5.1"


def test_the_current_hash_of_a_reuploaded_wheel_comes_first() -> None:
    listing = SHIPPED.snapshot.listing("sgl-project", SGL_KERNEL, {"cu130"})
    assert listing is not None
    (wheel,) = [
        artifact
        for artifact in listing.artifacts
        if artifact.filename == "sgl_kernel-0.3.21+cu130-cp310-abi3-manylinux2014_x86_64.whl"
    ]
    assert wheel.sha256 == "4be1313f82808f0fb6df8107e79f6b6cea07a4aa2b20139e0342eafe31eb28bd"
    assert len(wheel.alternates) == 4
    metadata = SHIPPED.snapshot.metadata(wheel)
    assert metadata is not None
    assert metadata.requires == ()


def test_one_name_at_one_address_of_a_directory() -> None:
    """aarch64 wheels of torchvision have one name in every directory, and are other files."""
    listing = SHIPPED.snapshot.listing("pytorch", canonicalize_name("torchvision"), {"cu130"})
    assert listing is not None
    names = [artifact.filename for artifact in listing.artifacts]
    assert len(names) == len(set(names))


def test_every_file_name_of_the_snapshot_can_be_read() -> None:
    snapshot = SHIPPED.snapshot
    assert isinstance(snapshot, DirectorySnapshot)
    for channel, project in snapshot.projects():
        for record in snapshot.records(channel, project):
            assert artifact_of(record).name == project


def test_every_record_of_vllm_requires_torch() -> None:
    # Of a lock that was made with overrides two requirements of ninety were left once.
    snapshot = SHIPPED.snapshot
    assert isinstance(snapshot, DirectorySnapshot)
    read = 0
    for channel in ("default", "vllm"):
        for record in snapshot.records(channel, canonicalize_name("vllm")):
            if record.requires_dist is None:
                continue
            names = {Requirement(text).name for text in record.requires_dist}
            assert {"torch", "torchvision", "transformers"} <= names, record.filename
            read += 1
    assert read > 20


def test_a_soname_is_not_the_cuda_major() -> None:
    carriers = {
        (library.cuda, str(library.project), library.directory)
        for library in SHIPPED.libraries
        if library.soname == "libcusparse.so.12"
    }
    assert carriers == {
        (12, "nvidia-cusparse-cu12", "nvidia/cusparse/lib"),
        (13, "nvidia-cusparse", "nvidia/cu13/lib"),
    }


def test_pytorch_supplies_no_project_of_others() -> None:
    (pytorch,) = [channel for channel in SHIPPED.channels if channel.name == "pytorch"]
    assert "torch" in pytorch.projects
    assert not {"sglang", "requests", "numpy", "sgl-kernel"} & pytorch.projects
    assert {c.name for c in SHIPPED.channels if c.opt_in} == {
        "pytorch-nightly",
        "pytorch-test",
        "vllm-nightly",
    }
