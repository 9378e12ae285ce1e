"""One wheel, inspected: its members, how they load, and the torch releases they link with."""

from __future__ import annotations

from collections.abc import Iterable

from packaging.utils import parse_wheel_filename

from resolver.abi.elf import MACHINES
from resolver.abi.evidence_cache import EvidenceStore
from resolver.abi.history import History
from resolver.abi.link import WheelLink, link_wheel
from resolver.abi.wheel import Member, WheelFacts, probe_wheel
from resolver.dataclass import dataclass, replace
from resolver.model.cuda import Arch
from resolver.model.load_knowledge import LoadRule
from resolver.model.pattern import later
from resolver.wheelfile.byte_source import ByteSource

# Wheels of that size are read whole where they may hold device code: a second or two.
SMALL = 64 << 20
# Who links with one of them may hold device code.
_CUDA_LIBRARY = later(r"lib(cudart|torch_cuda|c10_cuda|cuda)\.so.*")
_VERSION = later(r"(GLIBC|GLIBCXX|CXXABI)_(\d+(?:\.\d+)*)")


@dataclass(frozen=True, kw_only=True)
class Inspection:
    """What there is to say about one wheel; ``link`` holds its facts."""

    link: WheelLink
    machine: str

    @property
    def wheel(self) -> WheelFacts:
        """The facts read from the bytes."""
        return self.link.wheel


@dataclass(frozen=True, slots=True, kw_only=True)
class Twin:
    """Two members of two wheels that hold the same bytes, by CRC-32 and size."""

    left: str
    right: str
    crc32: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Which native members two wheels share; paths in order."""

    left: str
    right: str
    same: tuple[Twin, ...]
    only_left: tuple[str, ...]
    only_right: tuple[str, ...]

    @property
    def identical(self) -> bool:
        """Whether the wheels hold the same binaries, and no others."""
        return bool(self.same) and not self.only_left and not self.only_right


def read_evidence(
    source: ByteSource,
    *,
    filename: str,
    sha256: str | None,
    full: bool = False,
    store: EvidenceStore | None = None,
    workers: int = 8,
    small: int = SMALL,
) -> WheelFacts:
    """Facts of a wheel, from the store where it was read before; ``source`` is then not touched.

    A wheel of up to ``small`` bytes that links with CUDA is read to its end, for its device code.
    ``sha256`` must be that of the file behind ``source``; without it nothing is kept. Raises
    DamagedWheel, and what the source raises.
    """
    if store is not None and sha256 is not None:
        known = store.get(sha256, full=full)
        if known is not None:
            return known
    facts = probe_wheel(source, filename=filename, sha256=sha256, full=full, workers=workers)
    if not full and facts.size <= small and any(map(may_hold_code, facts.members)):
        cost = facts.bytes_read
        facts = probe_wheel(source, filename=filename, sha256=sha256, full=True, workers=workers)
        facts = replace(facts, bytes_read=cost + facts.bytes_read)
    if store is not None:
        store.put(facts)
    return facts


def may_hold_code(member: Member) -> bool:
    """Whether a member links with CUDA, and so may hold device code."""
    return member.facts is not None and any(map(_CUDA_LIBRARY.fullmatch, member.facts.needed))


def has_more(facts: WheelFacts) -> bool:
    """Whether the bytes say more than was read of them, for what a small wheel costs.

    Evidence that ships was read in bulk: of many a wheel its symbols alone.
    """
    return facts.depth != "full" and facts.size <= SMALL and any(map(may_hold_code, facts.members))


def inspect_facts(
    wheel: WheelFacts,
    *,
    history: History,
    rules: Iterable[LoadRule],
    archs: Iterable[Arch] = (),
    machine: str | None = None,
) -> Inspection:
    """Judge a wheel that was read before."""
    machine = machine or machine_of(wheel)
    link = link_wheel(wheel, history, rules, machine=machine, archs=archs)
    return Inspection(link=link, machine=machine)


def machine_of(wheel: WheelFacts) -> str:
    """The machine a wheel is for, by its name, else by its first member; x86_64 where none says."""
    try:
        _name, _version, _build, tags = parse_wheel_filename(wheel.filename)
    except ValueError:  # InvalidWheelFilename, or a number that is too long
        tags = frozenset()
    for machine in sorted(MACHINES.values()):
        if any(tag.platform.endswith(machine) for tag in tags):
            return machine
    machines = (member.facts.machine for member in wheel.members if member.facts is not None)
    return next(machines, "x86_64")


def compare_members(
    left_name: str, left: Iterable[Member], right_name: str, right: Iterable[Member]
) -> Comparison:
    """Which members hold the same bytes. Directory entries suffice: nothing is downloaded."""
    left, right = sorted(left, key=_path), sorted(right, key=_path)
    waiting: dict[tuple[int, int], list[str]] = {}
    for member in right:
        waiting.setdefault((member.crc32, member.size), []).append(member.path)
    same: list[Twin] = []
    only_left: list[str] = []
    for member in left:
        paths = waiting.get((member.crc32, member.size))
        if not paths:
            only_left.append(member.path)
            continue
        # Two members of one wheel may hold the same bytes: prefer the one of the same path.
        path = member.path if member.path in paths else paths[0]
        paths.remove(path)
        same.append(Twin(left=member.path, right=path, crc32=member.crc32, size=member.size))
    only_right = sorted(path for paths in waiting.values() for path in paths)
    return Comparison(
        left=left_name,
        right=right_name,
        same=tuple(same),
        only_left=tuple(only_left),
        only_right=tuple(only_right),
    )


def _path(member: Member) -> str:
    return member.path


def newest_version(member: Member, family: str) -> str | None:
    """The newest version of ``GLIBC``, ``GLIBCXX`` or ``CXXABI`` that a member needs: ``2.17``."""
    if member.facts is None:
        return None
    found = [
        tuple(map(int, match[2].split(".")))
        for _library, name in member.facts.versions
        if (match := _VERSION.fullmatch(name)) and match[1] == family
    ]
    return ".".join(map(str, max(found))) if found else None
