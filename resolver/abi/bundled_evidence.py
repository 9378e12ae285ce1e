"""Evidence that comes with abilock: one compressed file a project, in ``knowledge/abi/wheels``.

It holds what a verdict about torch, CUDA and GPUs needs of the wheels that people use most, so that
it is there at once and without a network: symbols of torch, of NVIDIA's libraries and of the driver
that no member defines, libraries, symbol versions, device code. Everything else of a wheel's
symbols is left out.
"""

from __future__ import annotations

import json
import lzma
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias

from packaging.utils import NormalizedName, parse_wheel_filename
from packaging.version import Version

from resolver.abi.evidence_cache import facts_from_json, facts_to_json
from resolver.abi.symbol import is_library_symbol, may_be_torchs
from resolver.abi.wheel import Depth, Member, WheelFacts
from resolver.dataclass import dataclass, replace
from resolver.errors import KnowledgeError
from resolver.files import read_regular, replace_file

DIRECTORY = "wheels"
_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME}]
_MEMORY = 256 << 20

# The parts of a line that tell what it is about; members, which may be many, stand between them.
_SHA256 = '"sha256":"'
_DEPTH = re.compile(r'"depth":"(\w+)"')
_FILENAME = re.compile(r'"filename":"([^"]+)"')
_DAY = re.compile(r'"read":"(\d{4}-\d\d-\d\d)","sha256"')

# Lines, and the facts of those that were asked for, which nothing changes.
_Rows: TypeAlias = dict[str, WheelFacts | str]
# What this process has read, with the state that the file had.
_read: dict[Path, tuple[tuple[int, int], _Rows]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A wheel that evidence is held of. ``day`` (ISO) is when it was read, None where no one said.

    ``machine`` is None for a wheel of neither machine.
    """

    filename: str
    sha256: str
    depth: Depth
    day: str | None

    @property
    def machine(self) -> Literal["x86_64", "aarch64"] | None:
        """The machine that the file's name ends in."""
        if self.filename.endswith("x86_64.whl"):
            return "x86_64"
        return "aarch64" if self.filename.endswith("aarch64.whl") else None


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceCount:
    """The wheels of one project that evidence ships of; all of it is measured.

    ``full`` were read with their device code, the others for their symbols and libraries.
    ``days`` (ISO) have the number that was read on each, "" for those of which no one said.
    """

    project: NormalizedName
    wheels: int
    full: int
    machines: Mapping[str, int]
    days: Mapping[str, int]


def count_evidence(project: NormalizedName, held: Iterable[Held]) -> EvidenceCount:
    """The counts of one project."""
    rows = tuple(held)
    return EvidenceCount(
        project=project,
        wheels=len(rows),
        full=sum(row.depth == "full" for row in rows),
        machines=dict(sorted(Counter(row.machine for row in rows if row.machine).items())),
        days=dict(sorted(Counter(row.day or "" for row in rows).items())),
    )


class EvidencePack:
    """The packed evidence of some directories; a project's file is read when first asked for.

    What a later directory says of a file replaces what an earlier one does. A process reads and
    parses the same file once, for all packs.
    """

    def __init__(self, *directories: Path) -> None:
        self._directories = tuple(directory / DIRECTORY for directory in directories)
        self._loaded: dict[NormalizedName, tuple[_Rows, ...]] = {}

    def get(self, project: NormalizedName, sha256: str, *, full: bool = False) -> WheelFacts | None:
        """What is known of a file; None where nothing is, or not as deep as asked for.

        Raises KnowledgeError when the project's file is damaged.
        """
        for rows in reversed(self._load(project)):
            found = rows.get(sha256)
            if isinstance(found, str):
                try:
                    found = rows[sha256] = facts_from_json(json.loads(found))
                except (ValueError, KeyError, TypeError) as error:
                    raise self._damaged(project, error) from error
            if found is not None:
                return None if full and found.depth != "full" else found
        return None

    def named(self, project: NormalizedName, prefix: str) -> tuple[WheelFacts, ...]:
        """What is held of the files of a project whose names begin so."""
        marker = f'"filename":"{prefix}'
        return self._chosen(
            project, lambda row: marker in row, lambda f: f.filename.startswith(prefix)
        )

    def needing(self, project: NormalizedName, symbol: str) -> tuple[WheelFacts, ...]:
        """What is held of the files of a project with a member that leaves a symbol undefined."""
        marker = json.dumps(symbol)
        return self._chosen(
            project,
            lambda row: marker in row,
            lambda facts: any(m.facts and symbol in m.facts.undefined for m in facts.members),
        )

    def _chosen(
        self,
        project: NormalizedName,
        may: Callable[[str], bool],
        does: Callable[[WheelFacts], bool],
    ) -> tuple[WheelFacts, ...]:
        """The facts that do; of rows that were not parsed yet, those that may are."""
        layers = self._load(project)
        found = []
        for sha256 in dict.fromkeys(sha256 for rows in layers for sha256 in rows):
            row = next(rows[sha256] for rows in reversed(layers) if sha256 in rows)
            facts = self.get(project, sha256) if not isinstance(row, str) or may(row) else None
            if facts is not None and does(facts):
                found.append(facts)
        return tuple(found)

    def all(self, project: NormalizedName) -> tuple[WheelFacts, ...]:
        """Everything that is held of a project."""
        return self._chosen(project, lambda _: True, lambda _: True)

    def projects(self) -> tuple[str, ...]:
        """The projects that have a file, sorted."""
        files = (path for place in self._directories for path in place.glob("*.jsonl.xz"))
        return tuple(sorted({path.name.split(".")[0] for path in files}))

    def held(self, project: NormalizedName) -> tuple[Held, ...]:
        """What is held of a project, without parsing it. Raises KnowledgeError where it is damaged.

        In the order of the file: by version and name.
        """
        rows: dict[str, Held] = {}
        for directory in self._directories:
            path = directory / f"{project}.jsonl.xz"
            if path.exists():
                rows |= {held.sha256: held for held in map(_held, self._lines(project, path))}
        return tuple(rows.values())

    def write(
        self, project: NormalizedName, facts: Iterable[WheelFacts], *, day: str | None = None
    ) -> Path:
        """Replace the file of ``project`` in the last directory; equal facts give equal bytes.

        ``day`` is when they were read; what the file holds already keeps its own, where it says the
        same. Nothing is written where nothing changes. Raises OSError, and KnowledgeError where the
        file that is replaced is damaged.
        """
        path = self._directories[-1] / f"{project}.jsonl.xz"
        before = {}
        if path.exists():
            before = {line: _held(line).day for line in self._lines(project, path)}
        days = {_without_day(line): when for line, when in before.items()}
        rows = {fact.sha256: reduce_facts(fact) for fact in facts if fact.sha256 is not None}
        ordered = sorted(
            rows.values(), key=lambda fact: (_version(fact), fact.filename, fact.sha256)
        )
        lines = []
        for fact in ordered:
            row = facts_to_json(fact)
            when = days.get(_dump(row), day)
            lines.append(_dump(row if when is None else row | {"read": when}))
        if path.exists() and list(before) == lines:
            return path
        path.parent.mkdir(parents=True, exist_ok=True)
        text = "".join(f"{line}\n" for line in lines)
        packed = lzma.compress(text.encode(), check=lzma.CHECK_CRC32, filters=_FILTERS)
        replace_file(path, packed)
        self._loaded.pop(project, None)
        return path

    def _lines(self, project: NormalizedName, path: Path) -> list[str]:
        try:
            return _lines_of(path)
        except (OSError, lzma.LZMAError, EOFError, UnicodeDecodeError) as error:
            raise self._damaged(project, error) from error

    def _load(self, project: NormalizedName) -> tuple[_Rows, ...]:
        known = self._loaded.get(project)
        if known is None:
            paths = (directory / f"{project}.jsonl.xz" for directory in self._directories)
            try:
                known = tuple(_rows_of(path) for path in paths if path.exists())
            except (OSError, lzma.LZMAError, EOFError, UnicodeDecodeError) as error:
                raise self._damaged(project, error) from error
            self._loaded[project] = known
        return known

    def _damaged(self, project: NormalizedName, error: Exception) -> KnowledgeError:
        name = f"{project}.jsonl.xz"
        places = [place / name for place in self._directories if (place / name).exists()]
        where = ", ".join(map(str, places or [self._directories[-1] / name]))
        return KnowledgeError(f"{where}: damaged evidence: {error}", hint="reinstall abilock")


def _rows_of(path: Path) -> _Rows:
    """The rows of one file, by sha256; raises what reading and inflating it raises."""
    state = path.stat()
    known = _read.get(path)
    if known is not None and known[0] == (state.st_mtime_ns, state.st_size):
        return known[1]
    rows: _Rows = {}
    for line in _lines_of(path):
        start = line.find(_SHA256) + len(_SHA256)
        rows[line[start : start + 64]] = line
    _read[path] = (state.st_mtime_ns, state.st_size), rows
    return rows


def _lines_of(path: Path) -> list[str]:
    return lzma.decompress(read_regular(path), memlimit=_MEMORY).decode().splitlines()


def _dump(row: dict[str, Any]) -> str:
    return json.dumps(row, separators=(",", ":"), sort_keys=True)


def _held(line: str) -> Held:
    """What a line is about; of a damaged one as much as can be told."""
    depth, filename, day = _DEPTH.search(line), _FILENAME.search(line), _DAY.search(line)
    start = line.find(_SHA256) + len(_SHA256)
    return Held(
        filename=filename[1] if filename else "",
        sha256=line[start : start + 64],
        depth="full" if depth and depth[1] == "full" else "symbols",
        day=day[1] if day else None,
    )


def _without_day(line: str) -> str:
    return _DAY.sub('"sha256"', line)


def reduce_facts(facts: WheelFacts) -> WheelFacts:
    """The part of a wheel's facts that verdicts rest on; the verdicts stay the same."""
    own = {name for member in facts.members if member.facts for name in member.facts.defined}
    return replace(
        facts, bytes_read=0, members=tuple(_reduce(member, own) for member in facts.members)
    )


def _reduce(member: Member, own: set[str]) -> Member:
    if member.facts is None:
        return member
    kept = frozenset(
        n
        for n in member.facts.undefined
        if n not in own and (may_be_torchs(n) or is_library_symbol(n))
    )
    return replace(
        member,
        facts=replace(member.facts, undefined=kept, weak=frozenset(), defined=frozenset()),
    )


def _version(facts: WheelFacts) -> Version:
    return parse_wheel_filename(facts.filename)[1]
