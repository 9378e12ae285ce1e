"""Inspections and differences as text for people; plain, aligned, and the same at every width."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from resolver.abi.demangle import demangle
from resolver.abi.diff import TorchDiff, Usage
from resolver.abi.inspection import Comparison, Inspection, newest_version
from resolver.abi.link import WheelLink
from resolver.abi.verdict import torch_text
from resolver.model.cuda import DeviceCode

_MAX_CHANGES = 20
_MAX_MISSING = 4


def render_inspection(inspection: Inspection) -> str:
    """What ``abilock inspect`` prints for one wheel."""
    link, wheel = inspection.link, inspection.wheel
    share = 100 * wheel.bytes_read / wheel.size if wheel.size else 0.0
    cost = (
        f"read {_bytes(wheel.bytes_read)} of {_bytes(wheel.size)} ({share:.2f} %)"
        if wheel.bytes_read
        else f"{_bytes(wheel.size)}, read before"
    )
    lines = [wheel.filename, f"  {cost}", ""]
    if not wheel.members:
        return "\n".join([*lines, "  no native members"]) + "\n"
    rows = [("member", "size", "torch symbols", "glibc", "device code", "load", "links with")]
    rows.extend(
        (
            row.member.path,
            _bytes(row.member.size),
            str(len(row.symbols)) if row.symbols else "-",
            newest_version(row.member, "GLIBC") or "-",
            _codes(row.member.device_code),
            str(row.load) if row.load.curated else f"{row.load}?",
            (torch_text(link, row.mask & link.builds) or "no torch that was read")
            if row.symbols
            else "-",
        )
        for row in link.members
    )
    lines += _table(rows)
    lines.append("")
    if not all(row.load.curated for row in link.members):
        lines.append("  ? nobody has read how the package loads this member; it counts as required")
    lines += _verdict(link)
    return "\n".join(lines) + "\n"


def _verdict(link: WheelLink) -> list[str]:
    lines = []
    if not link.symbols:
        lines.append("  needs no symbol of torch")
    elif not link.binding:
        works = torch_text(link, link.every_mask) or "no torch that was read"
        lines.append("  no member that must load needs a symbol of torch")
        lines.append(f"  the optional ones link with {works} ({len(link.symbols)} symbols)")
    else:
        works = torch_text(link, link.mask) or "no torch that was read"
        lines.append(f"  links with {works} ({len(link.symbols)} symbols)")
    if link.unowned:
        lines.append(f"  {len(link.unowned)} symbols are exported by nobody that was read:")
        lines += [f"      {demangle(name)}" for name in link.unowned[:_MAX_MISSING]]
        if len(link.unowned) > _MAX_MISSING:
            lines.append(f"      and {len(link.unowned) - _MAX_MISSING} more")
    if not link.binding:
        return lines
    groups: list[tuple[tuple[str, ...], list[str]]] = []
    for column, build in enumerate(link.history.builds):
        if not link.builds >> column & 1:
            continue
        names = () if link.mask >> column & 1 else link.missing(column)
        if groups and groups[-1][0] == names:
            groups[-1][1].append(str(build.version))
        else:
            groups.append((names, [str(build.version)]))
    for names, versions in groups:
        if not names:
            continue
        which = versions[0] if len(versions) == 1 else f"{versions[0]} to {versions[-1]}"
        verb = "lacks" if len(versions) == 1 else "lack"
        shown = [demangle(name) for name in names[:_MAX_MISSING]]
        lines.append(f"  torch {which} {verb} {len(names)}:")
        lines += [f"      {name}" for name in shown]
        if len(names) > _MAX_MISSING:
            lines.append(f"      and {len(names) - _MAX_MISSING} more")
    return lines


def render_comparison(comparison: Comparison) -> str:
    """What ``abilock inspect A B`` adds: which binaries are the same."""
    lines = [f"{comparison.left}", f"{comparison.right}"]
    if comparison.identical:
        lines.append(f"  hold the same {len(comparison.same)} native members (CRC-32 and size)")
    elif not comparison.same:
        lines.append("  share no native member")
    else:
        lines.append(f"  share {len(comparison.same)} native members (CRC-32 and size):")
        lines += [f"      {twin.left}" for twin in comparison.same]
    for name, paths in (
        (comparison.left, comparison.only_left),
        (comparison.right, comparison.only_right),
    ):
        if paths and comparison.same:
            lines.append(f"  only in {name}:")
            lines += [f"      {path}" for path in paths]
    return "\n".join(lines) + "\n"


def render_diff(diff: TorchDiff) -> str:
    """What ``abilock diff`` prints: with a wheel, only what breaks it is listed."""
    lines = [
        f"torch {diff.before} to torch {diff.after} ({diff.machine}, {diff.grade})",
        f"  {len(diff.removed)} symbols removed, {len(diff.added)} added, "
        f"{len(diff.changed)} functions with another signature",
        "",
    ]
    if diff.used_by is not None:
        return "\n".join([*lines, *_usage(diff.used_by, diff)]) + "\n"
    for change in diff.changed[:_MAX_CHANGES]:
        lines += [f"  {change.name}", f"    - {change.before}", f"    + {change.after}"]
    if len(diff.changed) > _MAX_CHANGES:
        lines.append(f"  and {len(diff.changed) - _MAX_CHANGES} more; --format json lists all")
    return "\n".join(lines) + "\n"


def _usage(usage: Usage, diff: TorchDiff) -> list[str]:
    if not usage.breaks:
        lines = [f"  {usage.wheel}: none of them is one of the {usage.symbols} symbols it needs"]
    else:
        lines = [f"  {usage.wheel}: {len(usage.breaks)} of the {usage.symbols} symbols it needs go"]
    for row in usage.breaks:
        lines += ["", f"  {row.symbol}", f"    - {row.before}"]
        lines += [f"    + {name}" for name in row.after] or ["    + no symbol of that name"]
        if row.library:
            lines.append(f"    in {row.library}")
        lines += [f"    needed by {path}" for path in row.members]
    if usage.absent:
        lines += ["", f"  {len(usage.absent)} more are in neither build"]
    if usage.gained:
        lines += ["", f"  {len(usage.gained)} others are in torch {diff.after} only"]
    return lines


def _codes(codes: tuple[DeviceCode, ...] | None) -> str:
    if codes is None:
        return "not read"
    return " ".join(map(str, codes)) or "none"


def _bytes(count: int) -> str:
    if count < 1_000_000:
        return f"{count / 1000:.0f} kB"
    return f"{count / 1_000_000:.1f} MB"


def _table(rows: Sequence[Sequence[str]]) -> Iterable[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (text.ljust(width) for text, width in zip(row, widths, strict=True))
        yield "  " + "  ".join(cells).rstrip()
