"""Inspections and differences as plain values: the documents of ``inspect`` and ``diff``."""

from __future__ import annotations

from typing import Any

from resolver.abi.diff import TorchDiff
from resolver.abi.inspection import Comparison, Inspection, newest_version
from resolver.abi.link import MemberLink, WheelLink
from resolver.abi.verdict import works_with


def inspection_to_json(inspection: Inspection) -> dict[str, Any]:
    """The ``inspect`` document of the JSON contract."""
    link, wheel = inspection.link, inspection.wheel
    linking = [str(version) for version in link.releases(link.mask)] if link.binding else None
    missing = {
        str(build.version): list(link.missing(column))
        for column, build in enumerate(link.history.builds)
        if link.builds >> column & 1 and not link.mask >> column & 1
    }
    return {
        "version": 1,
        "wheel": wheel.filename,
        "sha256": wheel.sha256,
        "size": wheel.size,
        "bytes_read": wheel.bytes_read,
        "depth": wheel.depth,
        "machine": inspection.machine,
        "members": [_member_to_json(link, member) for member in link.members],
        "torch_symbols": len(link.symbols),
        "unowned_symbols": list(link.unowned),
        "links_with": {"torch": linking},
        "missing": {"torch": missing},
        "works_with": works_with(link),
    }


def _member_to_json(link: WheelLink, row: MemberLink) -> dict[str, Any]:
    member, facts = row.member, row.member.facts
    codes = member.device_code
    linking = [str(version) for version in link.releases(row.mask & link.builds)]
    return {
        "path": member.path,
        "crc32": f"{member.crc32:08x}",
        "size": member.size,
        "machine": facts.machine if facts else None,
        "soname": facts.soname if facts else None,
        "needed": list(facts.needed) if facts else [],
        "runpath": list(facts.runpath or facts.rpath) if facts else [],
        "dynamic": facts.dynamic if facts else None,
        "torch_symbols": len(row.symbols),
        "glibc": newest_version(member, "GLIBC"),
        "glibcxx": newest_version(member, "GLIBCXX"),
        "cxxabi": newest_version(member, "CXXABI"),
        "device_code": None if codes is None else [str(code) for code in codes],
        "load": str(row.load),
        "curated": row.load.curated,
        "links_with": {"torch": linking if row.symbols else None},
    }


def comparison_to_json(comparison: Comparison) -> dict[str, Any]:
    """The comparison of ``inspect A B``."""
    return {
        "left": comparison.left,
        "right": comparison.right,
        "identical": comparison.identical,
        "same": [
            {"left": t.left, "right": t.right, "crc32": f"{t.crc32:08x}", "size": t.size}
            for t in comparison.same
        ],
        "only_left": list(comparison.only_left),
        "only_right": list(comparison.only_right),
    }


def diff_to_json(diff: TorchDiff) -> dict[str, Any]:
    """The ``diff`` document of the JSON contract; ``used_by`` is null where no wheel was named."""
    usage = diff.used_by
    return {
        "version": 1,
        "from": str(diff.before),
        "to": str(diff.after),
        "machine": diff.machine,
        "grade": str(diff.grade),
        "removed": len(diff.removed),
        "added": len(diff.added),
        "changed": [
            {"name": change.name, "from": change.before, "to": change.after}
            for change in diff.changed
        ],
        "used_by": None
        if usage is None
        else {
            "wheel": usage.wheel,
            "symbols": usage.symbols,
            "breaks": [
                {
                    "symbol": row.symbol,
                    "from": row.before,
                    "to": list(row.after),
                    "library": row.library,
                    "members": list(row.members),
                }
                for row in usage.breaks
            ],
            "gained": list(usage.gained),
            "absent": list(usage.absent),
        },
    }
