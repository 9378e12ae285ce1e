"""Evidence on disk: what was read of a wheel, by the sha256 of its bytes.

An entry never changes meaning, so there is nothing to invalidate: processes may read and write at
once, and the last writer of an entry wrote what the first did. A damaged entry counts as absent.
"""

from __future__ import annotations

import contextlib
import json
import re
import zlib
from pathlib import Path
from typing import Any

from resolver.abi.elf import ElfFacts
from resolver.abi.wheel import Depth, Member, WheelFacts
from resolver.files import read_regular, replace_file
from resolver.model.cuda import DeviceCode

# Raise it whenever a reader learns to see more: older entries then count as absent.
_FORMAT = 1
_SHA256 = re.compile(r"[0-9a-f]{64}")
_MAX_INFLATED = 64 << 20


class EvidenceStore:
    """A directory of entries; it is made when the first one is written."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory / f"evidence-{_FORMAT}"

    def get(self, sha256: str, *, full: bool = False) -> WheelFacts | None:
        """What is known of a wheel, at least as deep as asked for; None where it was not read.

        ``bytes_read`` of the answer is 0. Never raises.
        """
        depths: tuple[Depth, ...] = ("full",) if full else ("full", "symbols")
        for depth in depths:
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError, zlib.error):
                facts = _decode(read_regular(self._path(sha256, depth)))
                if facts.sha256 == sha256 and facts.depth == depth:
                    return facts
        return None

    def put(self, facts: WheelFacts) -> bool:
        """Keep what was read; False where the disk refuses, or the file's sha256 is not known."""
        if facts.sha256 is None or not _SHA256.fullmatch(facts.sha256):
            return False
        path = self._path(facts.sha256, facts.depth)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, _encode(facts), mode=0o600, durable=False)
        except OSError:
            return False
        return True

    def _path(self, sha256: str, depth: Depth) -> Path:
        if not _SHA256.fullmatch(sha256):
            raise ValueError(f"not a sha256: {sha256!r}")
        return self._directory / sha256[:2] / f"{sha256}.{depth}"


def _encode(facts: WheelFacts) -> bytes:
    return zlib.compress(json.dumps(facts_to_json(facts), separators=(",", ":")).encode(), 6)


def _decode(data: bytes) -> WheelFacts:
    inflater = zlib.decompressobj()
    body = inflater.decompress(data, _MAX_INFLATED)
    if not inflater.eof:  # its checksum comes last
        raise ValueError("the entry is cut off")
    return facts_from_json(json.loads(body))


def facts_to_json(facts: WheelFacts) -> dict[str, Any]:
    """The facts as plain values; what reading them cost is left out."""
    return {
        "filename": facts.filename,
        "sha256": facts.sha256,
        "size": facts.size,
        "depth": facts.depth,
        "members": [_member_to_json(member) for member in facts.members],
    }


def facts_from_json(document: dict[str, Any]) -> WheelFacts:
    """The facts that ``facts_to_json`` gave.

    Raises ValueError, KeyError or TypeError when the values are not of its form.
    """
    depth = document["depth"]
    if depth not in ("symbols", "full"):
        raise ValueError(f"no such depth: {depth!r}")
    return WheelFacts(
        filename=_text(document["filename"]),
        sha256=_text(document["sha256"]),
        size=_number(document["size"]),
        bytes_read=0,
        depth=depth,
        members=tuple(_member_from_json(row) for row in document["members"]),
    )


def _member_to_json(member: Member) -> dict[str, Any]:
    row: dict[str, Any] = {"path": member.path, "crc32": member.crc32, "size": member.size}
    if member.device_code is not None:
        row["device_code"] = [str(code) for code in member.device_code]
    if (facts := member.facts) is not None:
        row["facts"] = {
            "machine": facts.machine,
            "soname": facts.soname,
            "needed": facts.needed,
            "runpath": facts.runpath,
            "rpath": facts.rpath,
            "undefined": sorted(facts.undefined),
            "weak": sorted(facts.weak),
            "defined": sorted(facts.defined),
            "versions": facts.versions,
            "dynamic": facts.dynamic,
        }
        if facts.offers:
            row["facts"]["offers"] = facts.offers
    return row


def _member_from_json(row: dict[str, Any]) -> Member:
    codes = row.get("device_code")
    facts = row.get("facts")
    return Member(
        path=_text(row["path"]),
        crc32=_number(row["crc32"]),
        size=_number(row["size"]),
        facts=_facts_from_json(facts) if facts is not None else None,
        device_code=None if codes is None else tuple(DeviceCode.parse(code) for code in codes),
    )


def _facts_from_json(row: dict[str, Any]) -> ElfFacts:
    soname = row["soname"]
    if row["dynamic"] not in ("read", "strings"):
        raise ValueError("no such origin of the dynamic section")
    return ElfFacts(
        machine=_text(row["machine"]),
        soname=None if soname is None else _text(soname),
        needed=_texts(row["needed"]),
        runpath=_texts(row["runpath"]),
        rpath=_texts(row["rpath"]),
        undefined=frozenset(_texts(row["undefined"])),
        weak=frozenset(_texts(row["weak"])),
        defined=frozenset(_texts(row["defined"])),
        versions=tuple((_text(library), _text(name)) for library, name in row["versions"]),
        offers=_texts(row.get("offers", [])),
        dynamic=row["dynamic"],
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"not text: {value!r}")
    return value


def _texts(values: object) -> tuple[str, ...]:
    if not isinstance(values, list):
        raise TypeError(f"not a list: {values!r}")
    return tuple(_text(value) for value in values)


def _number(value: object) -> int:
    if not isinstance(value, int) or value < 0:
        raise TypeError(f"not a size: {value!r}")
    return value
