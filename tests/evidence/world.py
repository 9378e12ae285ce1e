"""Evidence over wheels in memory: a small symbol history, facts as given, and what was opened."""

from __future__ import annotations

import atexit
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any

from packaging.requirements import Requirement
from packaging.tags import parse_tag
from packaging.utils import canonicalize_name
from packaging.version import Version

from resolver.abi.bundled_evidence import EvidencePack
from resolver.abi.driver import dump_functions
from resolver.abi.elf import ElfFacts
from resolver.abi.evidence_cache import EvidenceStore
from resolver.abi.history import digest_of
from resolver.abi.history_file import dump_history
from resolver.abi.wheel import Depth, Member, WheelFacts
from resolver.errors import IndexFailure, Unreachable
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.evidence.stand_in import CodesOf
from resolver.evidence.wheel_evidence import WheelEvidence
from resolver.model.artifact import Artifact, Metadata
from resolver.model.cuda import DeviceCode
from resolver.model.knowledge import Knowledge, Library
from resolver.model.target import Target
from resolver.wheelfile.byte_source import ByteSource, BytesSource
from tests.abi.columns import small_history
from tests.support.fakes import make_knowledge, make_target

PLATFORM = "manylinux_2_28_x86_64"
RULES = """
[[rule]]
id = "kernel-core"
projects = ["kernel"]
pattern = 'kernel/core\\.so'
load = "required"
source = "a test"
date = 2026-01-01

[[rule]]
id = "kernel-extra"
projects = ["kernel"]
pattern = 'kernel/extra\\w*\\.so'
load = "optional"
source = "a test"
date = 2026-01-01

[[rule]]
id = "kernel-provider"
projects = ["kernel"]
pattern = 'kernel/provider\\.so'
load = "optional"
purpose = true
source = "a test"
date = 2026-01-01

[[rule]]
id = "kernel-hopper"
projects = ["kernel"]
pattern = 'kernel/hopper\\.so'
load = "required"
feature = true
source = "a test"
date = 2026-01-01

[[rule]]
id = "kernel-by-torch"
projects = ["kernel"]
pattern = 'kernel/bridge(?P<choice>\\d+)\\.so'
load = "selected-by"
group = "bridge"
by = "torch"
torch = "<2.10"
optional = true
source = "a test"
date = 2026-01-01

[[rule]]
id = "kernel-by-gpu"
projects = ["kernel"]
pattern = 'kernel/(?P<choice>sm90|sm100)/ops\\.so'
load = "selected-by"
group = "ops"
by = "gpu"
gpu = { "9.0" = "sm90" }
otherwise = "sm100"
source = "a test"
date = 2026-01-01
"""


NATIVES = """
[[native]]
id = "gpu"
projects = ["engine"]
needs = "gpu"
source = "a test"
date = 2026-01-01

[[native]]
id = "system"
projects = ["numbers", "tensors-cu12", "jax-cuda12-plugin"]
needs = "system"
source = "a test"
date = 2026-01-01
"""
# By the CUDA that brought them: 10.0, 12.4.
FUNCTIONS = {"cuMemAlloc_v2": 3020, "cuGraphLaunch": 10000, "cuGreenCtxDestroy": 12040}


def library(soname: str, cuda: int | None) -> Library:
    """A shared library of one CUDA major, or of none."""
    return Library(
        id=f"{soname}-{cuda}",
        soname=soname,
        cuda=cuda,
        project=canonicalize_name("some-library"),
        directory="nvidia/lib",
        source="a test",
    )


LIBRARIES = (
    library("libcublas.so.12", 12),
    library("libcublas.so.13", 13),
    library("libcusparse.so.12", 12),
    library("libcusparse.so.12", 13),
    library("libnccl.so.2", 12),
    library("libnccl.so.2", None),
)


@cache
def directory() -> Path:
    """A database of the symbol history and the load rules, once for all tests."""
    place = Path(mkdtemp(prefix="abilock-evidence-"))
    atexit.register(rmtree, place, ignore_errors=True)
    (place / "abi").mkdir()
    dump_history(small_history(), place / "abi")
    (place / "abi" / "load_rules.toml").write_text(RULES, encoding="utf-8")
    (place / "natives.toml").write_text(NATIVES, encoding="utf-8")
    dump_functions(FUNCTIONS, ["runtime.whl"], place / "abi")
    return place


def file(name: str = "kernel", version: str = "1.0", **changes: Any) -> Artifact:
    """A wheel for CPython 3.12 on Linux, as the default index lists it."""
    tag = changes.pop("tag", f"cp312-cp312-{PLATFORM}")
    filename = f"{name.replace('-', '_')}-{version}-{tag}.whl"
    values: dict[str, Any] = {
        "filename": filename,
        "name": canonicalize_name(name),
        "version": Version(version),
        "kind": "wheel",
        "channel": "default",
        "origin": "index",
        "tags": parse_tag(tag),
        "url": f"https://files.test/{filename}",
        "sha256": hashlib.sha256(filename.encode()).hexdigest(),
        **changes,
    }
    return Artifact(**values)


def torch(version: str, *, read: bool = True) -> Artifact:
    """A wheel of torch: one of the history's, or another that nobody read."""
    artifact = file("torch", version)
    known = digest_of([artifact.filename])
    return replace(artifact, sha256=known if read else "9" * 64)


def metadata(artifact: Artifact, *requires: str) -> Metadata:
    """What a file's metadata says."""
    return Metadata(
        name=artifact.name,
        version=artifact.version,
        requires=tuple(map(Requirement, requires)),
        requires_python=None,
        extras=frozenset(),
        source="METADATA of the wheel",
    )


def member(
    path: str,
    *undefined: str,
    needed: Sequence[str] = ("libtorch.so",),
    codes: str | None = None,
    defined: Sequence[str] = (),
) -> Member:
    """One native member; ``codes`` are device-code targets, None where they were not read."""
    return Member(
        path=path,
        crc32=1,
        size=100,
        facts=ElfFacts(
            machine="x86_64",
            needed=tuple(needed),
            undefined=frozenset(undefined),
            defined=frozenset(defined),
        ),
        device_code=None
        if codes is None
        else tuple(DeviceCode.parse(code) for code in codes.split()),
    )


def facts(artifact: Artifact, *members: Member, depth: Depth = "full") -> WheelFacts:
    """What was read of a file."""
    return WheelFacts(
        filename=artifact.filename,
        sha256=artifact.sha256,
        size=1000,
        bytes_read=10,
        depth=depth,
        members=members,
    )


class MemoryStore(EvidenceStore):
    """A store without a disk."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str | None, Depth], WheelFacts] = {}

    def get(self, sha256: str, *, full: bool = False) -> WheelFacts | None:
        deep = self._kept.get((sha256, "full"))
        return deep if deep is not None or full else self._kept.get((sha256, "symbols"))

    def put(self, facts: WheelFacts) -> bool:
        self._kept[facts.sha256, facts.depth] = facts
        return True


@dataclass
class World:
    """Wheels by address, and what was asked of them.

    ``wheels`` holds bytes by file name, or the failure that opening it comes to. What is told with
    ``tell`` is known as if it had been read before.
    """

    wheels: Mapping[str, bytes | IndexFailure] = field(default_factory=dict)
    siblings: Mapping[str, Sequence[Artifact]] = field(default_factory=dict)
    target: Target = field(default_factory=lambda: make_target(cuda="12.8"))
    known: Knowledge = field(default_factory=lambda: make_knowledge(libraries=LIBRARIES))
    store: EvidenceStore | None = None
    pack: EvidencePack | None = None
    opened: list[str] = field(default_factory=list)
    announced: list[str] = field(default_factory=list)

    def tell(self, *known: WheelFacts) -> World:
        """Keep facts in a store."""
        if self.store is None:
            self.store = MemoryStore()
        for row in known:
            assert self.store.put(row)
        return self

    def evidence(self, codes_of: CodesOf = lambda _: None) -> WheelEvidence:
        """The port over this world."""
        base = KnowledgeBase(directory(), facts=self.known)
        if self.pack is not None:
            base.pack = self.pack
        return WheelEvidence(
            base,
            self.target,
            opener=self._open,
            siblings=lambda artifact: self.siblings.get(artifact.filename, ()),
            store=self.store,
            codes_of=codes_of,
            on_read=lambda artifact: self.announced.append(artifact.filename),
        )

    def _open(self, artifact: Artifact) -> ByteSource | None:
        self.opened.append(artifact.filename)
        found = self.wheels.get(artifact.filename)
        if isinstance(found, IndexFailure):
            raise found
        return None if found is None else BytesSource(found)


def unreachable(filename: str) -> Unreachable:
    """A host that does not answer."""
    return Unreachable("no answer within 10 s", url=f"https://files.test/{filename}")
