"""The generated sets as a page for people: what was measured, and where metadata disagree."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from packaging.version import Version

from resolver.compat.set_file import Row, SetFiles
from resolver.model.cuda import Arch
from resolver.model.measured_set import MeasuredSet, NoSet, SetFinding, SetRoot
from resolver.model.plural import counted
from resolver.model.reason import Code, Grade, Severity
from resolver.model.stack import MACHINES, TORCH
from resolver.model.version import public_of

_HEAD = """\
# Generated sets

What releases pin exactly, measured as sets by the engine that answers `abilock why`: do the files
link, are they for one CUDA, do they bring their libraries, for which GPUs have they code. The data
lie in `knowledge/sets/`, `abilock knowledge list set` lists them, and `abilock knowledge show ID`
shows one with its packages. This page is made of them: `abilock knowledge measure --report
docs/sets.md` writes it.

A set is for one CUDA build of its torch, one machine and some Pythons. `from` says where torch is
from: `default` is what the default index serves, so what `pip install` of the release gives; other
builds of torch are of channels, whose files were read where they could be reached, and are known
less well else (the grade says it: [README](../README.md#grades)). `beside torch` counts the
extensions by grade. `GPUs` are those that every file has code for; where device code of a file was
not read it names the file. What has no wheel nobody looked at: installing builds it from its
source. Linking is not running ([evidence.md](evidence.md#what-is-not-decided)).
"""
_MISMATCH, _LOST = "metadata accept what the bytes refuse", "a feature is lost"
_KINDS = ("the set is bad", "the set is unknown", _MISMATCH, _LOST)


def sets_report(roots: Sequence[SetRoot], files: SetFiles) -> str:
    """The page, in Markdown. Raises KnowledgeError where a file of sets is damaged."""
    held = [(root, files.rows(root.id)) for root in roots if files.rows(root.id)]
    lines = [_HEAD, "## How many", ""]
    lines += _table(
        ("root", "releases", "no set", "sets", "good, by grade", "bad", "unknown", "measured"),
        (_count(root, rows) for root, rows in held),
    )
    lines += [""]
    for root, rows in held:
        if root.kind == "pins":
            lines += _reproduced(root, rows)
    lines += ["", "## Where metadata and measurement disagree", ""]
    lines += _disagreements(held) or ["Nowhere."]
    for root, rows in held:
        lines += ["", f"## {root.id}", "", f"Of: {root.source}.", ""]
        lines += _table(
            ("release", "machine", "Python", "CUDA", "from", "torch", "beside torch", "GPUs", "is"),
            (_row(row) for row in rows if isinstance(row, MeasuredSet)),
        )
        lines += _skipped(rows)
    return "\n".join(lines) + "\n"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [
        f"| {' | '.join(head)} |",
        f"| {' | '.join('---' for _ in head)} |",
        *(f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in rows),
    ]


def _count(root: SetRoot, rows: Sequence[Row]) -> Sequence[str]:
    sets = [row for row in rows if isinstance(row, MeasuredSet)]
    releases = {row.release for row in rows}
    with_set = {row.release for row in sets}
    grades = Counter(each.grade for each in sets if each.verdict == "good")
    verdicts = Counter(each.verdict for each in sets)
    dates = sorted({row.date for row in rows})
    return (
        root.id,
        str(len(releases)),
        str(len(releases - with_set)),
        str(len(sets)),
        ", ".join(f"{grades[grade]} {grade}" for grade in sorted(grades, key=lambda g: g.rank)),
        str(verdicts["bad"]),
        str(verdicts["unknown"]),
        dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}",
    )


def is_default(known: MeasuredSet) -> bool:
    """Whether the default index serves its torch: what installing the release gives."""
    return TORCH not in known.channels


def _reproduced(root: SetRoot, rows: Sequence[Row]) -> Iterator[str]:
    """Of how many releases the very pins load, and why the others do not."""
    for machine in MACHINES:
        by_release: dict[str, list[Row]] = defaultdict(list)
        for row in rows:
            if row.machine in (machine, None):
                by_release[str(row.release)].append(row)
        pinned = {
            release: [row for row in held if isinstance(row, MeasuredSet) and is_default(row)]
            for release, held in by_release.items()
        }
        judged = {release: sets for release, sets in pinned.items() if sets}
        good = [r for r, sets in judged.items() if any(s.verdict == "good" for s in sets)]
        read = [
            release
            for release in good
            if any(s.verdict == "good" and s.grade is Grade.MEASURED for s in judged[release])
        ]
        built = [r for r in good if all(s.sources for s in judged[r] if s.verdict == "good")]
        if not judged:
            yield f"- {root.id} on {machine}: the default index has no torch with CUDA for a pin."
            continue
        more = (
            f"; of {counted(len(built), 'release')} a package has no wheel, and the rest is meant"
            if built
            else ""
        )
        yield (
            f"- {root.id} on {machine}: the pins of {len(good)} of "
            f"{counted(len(judged), 'release')} fit together as the default index serves them, "
            f"{len(read)} of them measured throughout{more}."
        )
        for release in judged:
            if release not in good:
                yield f"  - {release} does not: {_first(judged[release])}."


def _first(sets: Sequence[MeasuredSet]) -> str:
    for known in sets:
        if known.findings:
            return f"{known.findings[0]} ({known.findings[0].code})"
    return "nothing says why"


def _disagreements(held: Sequence[tuple[SetRoot, Sequence[Row]]]) -> list[str]:
    """What was found, once for each file that it speaks of, with the sets that it is of."""
    found: dict[tuple[str, str, str], list[tuple[MeasuredSet, SetFinding]]] = defaultdict(list)
    for _, rows in held:
        for row in rows:
            if not isinstance(row, MeasuredSet):
                continue
            for finding in row.findings[:1] if row.verdict != "good" else row.findings:
                key = (_kind(row, finding), str(finding.code), finding.subject)
                found[key].append((row, finding))
    if not found:
        return []
    keys = sorted(found, key=lambda key: (_KINDS.index(key[0]), key))
    return _table(
        ("what", "code", "finding", "sets"),
        (
            (kind, code, str(found[kind, code, subject][0][1]), _named(found[kind, code, subject]))
            for kind, code, subject in keys
        ),
    )


def _kind(known: MeasuredSet, finding: SetFinding) -> str:
    if finding.severity is Severity.WARNING and finding.code is Code.METADATA_MISMATCH:
        return _MISMATCH
    return _LOST if known.verdict == "good" else f"the set is {known.verdict}"


def _named(found: Sequence[tuple[MeasuredSet, SetFinding]]) -> str:
    ids = list(dict.fromkeys(known.id for known, _ in found))
    more = f" and {len(ids) - 2} more" if len(ids) > 2 else ""
    return ", ".join(ids[:2]) + more


def _row(known: MeasuredSet) -> Sequence[str]:
    torch = known.packages[TORCH]
    return (
        str(public_of(Version(str(known.release.version)))),
        known.machine,
        python_range(known.pythons),
        str(known.cuda),
        known.channels.get(TORCH, "default"),
        str(torch),
        _pairs(known),
        _gpus(known),
        f"{known.verdict}, {known.grade}{_built(known)}",
    )


def _built(known: MeasuredSet) -> str:
    return f"; no wheel: {', '.join(known.sources)}" if known.sources else ""


def python_range(pythons: Sequence[str]) -> str:
    """``3.10 to 3.13``, or a list where one between is missing."""
    minors = [int(python.partition(".")[2]) for python in pythons]
    if len(minors) > 2 and minors == list(range(minors[0], minors[-1] + 1)):
        return f"{pythons[0]} to {pythons[-1]}"
    return ", ".join(pythons)


def _pairs(known: MeasuredSet) -> str:
    grades = Counter(known.pairs.values())
    return (
        ", ".join(f"{grades[grade]} {grade}" for grade in sorted(grades, key=lambda g: g.rank))
        or "-"
    )


def _gpus(known: MeasuredSet) -> str:
    if known.verdict != "good":
        return "-"
    if known.archs is None:
        return f"not read: {', '.join(known.unread)}"
    return archs_text(known.archs)


def archs_text(archs: Iterable[Arch]) -> str:
    """``sm_80, sm_90``; in words where there is none."""
    return ", ".join(map(str, archs)) or "no GPU"


def _skipped(rows: Sequence[Row]) -> list[str]:
    skipped = [row for row in rows if isinstance(row, NoSet)]
    if not skipped:
        return []
    alike: dict[tuple[str, str], list[str]] = defaultdict(list)
    for row in skipped:
        alike[row.machine or "any machine", row.why].append(str(row.release.version))
    return [
        "",
        "No set:",
        "",
        *_table(
            ("releases", "on", "why"),
            ((", ".join(held), machine, why) for (machine, why), held in alike.items()),
        ),
    ]
