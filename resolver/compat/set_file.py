"""Generated sets on disk: ``sets/<root>.jsonl``, a set a line, written the same way every time.

A line is JSON with sorted keys; what is empty is left out. Lines stand by version of the root,
machine, CUDA and Python; a release that is no set has a line that says why.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from resolver.errors import KnowledgeError
from resolver.files import read_text, replace_file
from resolver.model.cuda import Arch, CudaVersion
from resolver.model.measured_set import MeasuredSet, NoSet, RootId, SetFinding
from resolver.model.reason import Code, Grade, Severity
from resolver.model.release import Release
from resolver.model.version import as_version

DIRECTORY = "sets"
_SUFFIX = ".jsonl"
Row = MeasuredSet | NoSet


class SetFiles:
    """The generated sets of a database and of what adds to it; a root's are read when asked for.

    A later directory's lines of a release replace those below. Raises KnowledgeError for a line
    that is no set.
    """

    def __init__(self, *layers: Path) -> None:
        self._places = tuple(layer / DIRECTORY for layer in layers)
        self._read: dict[RootId, tuple[Row, ...]] = {}

    def roots(self) -> tuple[RootId, ...]:
        """The roots that have sets, sorted; reads no file."""
        names = {
            file.name.removesuffix(_SUFFIX)
            for place in self._places
            for file in place.glob(f"*{_SUFFIX}")
        }
        return tuple(RootId(name) for name in sorted(names))

    def rows(self, root: RootId) -> tuple[Row, ...]:
        """Every line of a root, as the file has them; empty where there is none."""
        known = self._read.get(root)
        if known is None:
            found: dict[Release, list[Row]] = {}
            for place in self._places:
                file = place / f"{root}{_SUFFIX}"
                if file.exists():
                    mine: dict[Release, list[Row]] = defaultdict(list)
                    for row in load_rows(file):
                        mine[row.release].append(row)
                    found |= mine
            known = self._read[root] = tuple(
                row for release in sorted(found, key=_by_version) for row in found[release]
            )
        return known

    def of(self, root: RootId) -> tuple[MeasuredSet, ...]:
        """The sets of one root, oldest release first."""
        return tuple(row for row in self.rows(root) if isinstance(row, MeasuredSet))

    def of_project(self, project: NormalizedName) -> tuple[MeasuredSet, ...]:
        """Those of the root that is called as its project is."""
        return self.of(RootId(project))

    def all(self) -> Iterator[MeasuredSet]:
        """Every set, root by root. Cost: some 20 ms for those that ship."""
        for root in self.roots():
            yield from self.of(root)

    def named(self, id_: str) -> MeasuredSet | None:
        """The set of an id; only roots are read that it may be of."""
        return next(
            (
                known
                for root in self.roots()
                if id_.startswith(f"{root}-")
                for known in self.of(root)
                if known.id == id_
            ),
            None,
        )


def load_rows(file: Path) -> tuple[Row, ...]:
    """The lines of one file. Raises KnowledgeError naming the first that is none."""
    root = RootId(file.name.removesuffix(_SUFFIX))
    try:
        lines = read_text(file).splitlines()
    except (OSError, ValueError) as error:
        raise KnowledgeError(f"{file} cannot be read: {error}", hint="Restore the file.") from error
    rows = []
    for number, line in enumerate(lines, 1):
        try:
            rows.append(parse_row(root, line))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise KnowledgeError(
                f"{DIRECTORY}/{file.name}, line {number} is no set: {error!r}",
                hint="Restore the file, or run abilock knowledge measure.",
            ) from error
    return tuple(rows)


def parse_row(root: RootId, line: str) -> Row:
    """One line. Raises ValueError, KeyError, TypeError or AttributeError where it is none."""
    values: dict[str, Any] = json.loads(line)
    release = Release(canonicalize_name(values["project"]), as_version(values["version"]))
    if "skipped" in values:
        return NoSet(
            root=root,
            release=release,
            why=values["skipped"],
            date=values["date"],
            machine=values.get("machine"),
        )
    archs = values.get("archs")
    return MeasuredSet(
        id=values["id"],
        root=root,
        release=release,
        cuda=CudaVersion.parse(values["cuda"]),
        machine=values["machine"],
        pythons=tuple(values["python"]),
        verdict=values["verdict"],
        grade=Grade(values["grade"]),
        date=values["date"],
        packages=_versions(values["packages"]),
        channels={canonicalize_name(n): c for n, c in values.get("channels", {}).items()},
        pairs={
            canonicalize_name(name): Grade(grade)
            for grade, names in values.get("pairs", {}).items()
            for name in names
        },
        sources=tuple(map(canonicalize_name, values.get("sources", ()))),
        archs=None if archs is None else tuple(map(Arch.parse, archs)),
        bound=tuple(map(Arch.parse, values.get("bound", ()))),
        unread=tuple(map(canonicalize_name, values.get("unread", ()))),
        findings=tuple(
            SetFinding(
                code=Code(each["code"]),
                severity=Severity(each["severity"]),
                subject=each["subject"],
                needs=each["needs"],
                found=each["found"],
            )
            for each in values.get("findings", ())
        ),
    )


def render_row(row: Row) -> str:
    """One line, without its end."""
    values: dict[str, Any] = {
        "project": row.release.name,
        "version": str(row.release.version),
        "date": row.date,
    }
    if isinstance(row, NoSet):
        values["skipped"] = row.why
        if row.machine is not None:
            values["machine"] = row.machine
    else:
        by_grade: dict[str, list[str]] = defaultdict(list)
        for name, grade in sorted(row.pairs.items()):
            by_grade[str(grade)].append(name)
        values |= {
            "id": row.id,
            "cuda": str(row.cuda),
            "machine": row.machine,
            "python": list(row.pythons),
            "verdict": row.verdict,
            "grade": str(row.grade),
            "packages": {name: str(version) for name, version in row.packages.items()},
        }
        optional: Mapping[str, Any] = {
            "channels": dict(row.channels),
            "pairs": by_grade,
            "sources": list(row.sources),
            "bound": [str(arch) for arch in row.bound],
            "unread": list(row.unread),
            "findings": [
                {
                    "code": str(each.code),
                    "severity": str(each.severity),
                    "subject": each.subject,
                    "needs": each.needs,
                    "found": each.found,
                }
                for each in row.findings
            ],
        }
        values |= {key: value for key, value in optional.items() if value}
        if row.archs is not None:
            values["archs"] = [str(arch) for arch in row.archs]
    return json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def render_rows(rows: Iterable[Row]) -> str:
    """The text of one file: a line a row, in the order that the module states."""
    return "".join(f"{render_row(row)}\n" for row in sorted(rows, key=_order))


def write_rows(root_dir: Path, root: RootId, rows: Iterable[Row]) -> Path:
    """Write the rows of one root into the database ``root_dir``; whoever reads sees old or new."""
    file = root_dir / DIRECTORY / f"{root}{_SUFFIX}"
    file.parent.mkdir(parents=True, exist_ok=True)
    replace_file(file, render_rows(rows).encode())
    return file


def _versions(values: Mapping[str, str]) -> dict[NormalizedName, Version]:
    return {canonicalize_name(name): as_version(text) for name, text in values.items()}


def _by_version(release: Release) -> tuple[Version, str]:
    return (as_version(str(release.version)), release.name)


def _order(row: Row) -> tuple[Any, ...]:
    if isinstance(row, NoSet):
        return (*_by_version(row.release), row.machine or "", (), "")
    cuda = (row.cuda.major, row.cuda.minor)
    return (*_by_version(row.release), row.machine, cuda, row.id)
