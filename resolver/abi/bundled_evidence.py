"""Evidence that comes with abilock: one compressed file a project, in ``knowledge/abi/wheels``.

It holds what a verdict about torch, CUDA and GPUs needs of the wheels that people use most, so that
it is there at once and without a network: symbols of torch, of NVIDIA's libraries and of the driver
that no member defines, libraries, symbol versions, device code. Everything else of a wheel's
symbols is left out.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from packaging.utils import NormalizedName, parse_wheel_filename
from packaging.version import Version

from resolver.abi.evidence_cache import facts_from_json, facts_to_json
from resolver.abi.symbol import is_library_symbol, may_be_torchs
from resolver.abi.wheel import Member, WheelFacts
from resolver.errors import KnowledgeError

DIRECTORY = "wheels"
_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME}]
_MEMORY = 256 << 20


class EvidencePack:
    """The packed evidence of some directories; a project's file is read when first asked for.

    What a later directory says of a file replaces what an earlier one does.
    """

    def __init__(self, *directories: Path) -> None:
        self._directories = tuple(directory / DIRECTORY for directory in directories)
        self._loaded: dict[NormalizedName, dict[str, WheelFacts | str]] = {}

    def get(self, project: NormalizedName, sha256: str, *, full: bool = False) -> WheelFacts | None:
        """What is known of a file; None where nothing is, or not as deep as asked for.

        Raises KnowledgeError when the project's file is damaged.
        """
        lines = self._load(project)
        found = lines.get(sha256)
        if isinstance(found, str):
            try:
                found = lines[sha256] = facts_from_json(json.loads(found))
            except (ValueError, KeyError, TypeError) as error:
                raise self._damaged(project, error) from error
        if found is None or (full and found.depth != "full"):
            return None
        return found

    def named(self, project: NormalizedName, prefix: str) -> tuple[WheelFacts, ...]:
        """What is held of the files of a project whose names begin so."""
        marker = f'"filename":"{prefix}'
        found = []
        for sha256, row in list(self._load(project).items()):
            known = row.filename.startswith(prefix) if not isinstance(row, str) else marker in row
            facts = self.get(project, sha256) if known else None
            if facts is not None:
                found.append(facts)
        return tuple(found)

    def all(self, project: NormalizedName) -> tuple[WheelFacts, ...]:
        """Everything that is held of a project."""
        found = (self.get(project, sha256) for sha256 in list(self._load(project)))
        return tuple(facts for facts in found if facts is not None)

    def projects(self) -> tuple[str, ...]:
        """The projects that have a file, sorted."""
        files = (path for place in self._directories for path in place.glob("*.jsonl.xz"))
        return tuple(sorted({path.name.split(".")[0] for path in files}))

    def write(self, project: NormalizedName, facts: Iterable[WheelFacts]) -> Path:
        """Replace the file of ``project`` in the last directory; equal facts give equal bytes.

        Raises OSError.
        """
        rows = {fact.sha256: reduce_facts(fact) for fact in facts if fact.sha256 is not None}
        ordered = sorted(
            rows.values(), key=lambda fact: (_version(fact), fact.filename, fact.sha256)
        )
        text = "".join(
            json.dumps(facts_to_json(fact), separators=(",", ":"), sort_keys=True) + "\n"
            for fact in ordered
        )
        path = self._directories[-1] / f"{project}.jsonl.xz"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(lzma.compress(text.encode(), check=lzma.CHECK_CRC32, filters=_FILTERS))
        self._loaded.pop(project, None)
        return path

    def _load(self, project: NormalizedName) -> dict[str, WheelFacts | str]:
        known = self._loaded.get(project)
        if known is None:
            known = self._loaded[project] = self._read(project)
        return known

    def _read(self, project: NormalizedName) -> dict[str, WheelFacts | str]:
        marker = '"sha256":"'
        rows: dict[str, WheelFacts | str] = {}
        for directory in self._directories:
            path = directory / f"{project}.jsonl.xz"
            if not path.exists():
                continue
            try:
                text = lzma.decompress(path.read_bytes(), memlimit=_MEMORY).decode()
            except (OSError, lzma.LZMAError, EOFError, UnicodeDecodeError) as error:
                raise self._damaged(project, error) from error
            for line in text.splitlines():
                start = line.find(marker) + len(marker)
                rows[line[start : start + 64]] = line
        return rows

    def _damaged(self, project: NormalizedName, error: Exception) -> KnowledgeError:
        name = f"{project}.jsonl.xz"
        places = [place / name for place in self._directories if (place / name).exists()]
        where = ", ".join(map(str, places or [self._directories[-1] / name]))
        return KnowledgeError(f"{where}: damaged evidence: {error}", hint="reinstall abilock")


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
