"""Records that outlived their files: two releases of one package, of which one is there.

An uninstall or upgrade that broke off leaves both ``torch-2.8.0.dist-info`` and
``torch-2.9.1.dist-info``. Python takes either; the files are those of one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from packaging.version import Version

from resolver.dataclass import dataclass
from resolver.load.distribution import Distribution
from resolver.load.tree import HERE, Tree
from resolver.model.version import parse_version


@dataclass(frozen=True, slots=True, kw_only=True)
class Stale:
    """Two records of one name in one directory: ``kept`` is the one whose files lie there.

    ``sure`` says that the files tell which, and ``whole`` that all of its files are as recorded.
    """

    kept: Distribution
    left: Distribution
    sure: bool
    whole: bool


def set_stale_aside(
    distributions: Iterable[Distribution], tree: Tree = HERE
) -> tuple[tuple[Distribution, ...], tuple[Stale, ...]]:
    """The distributions that are there, and the records that are not theirs.

    Cost: a stat a file, of packages that are recorded twice.
    """
    same: dict[tuple[str, str], list[Distribution]] = {}
    for distribution in distributions:
        same.setdefault((distribution.site, distribution.name), []).append(distribution)
    kept: list[Distribution] = []
    stale: list[Stale] = []
    for rows in same.values():
        if len(rows) == 1:
            kept += rows
            continue
        if len({row.version for row in rows}) == 1:
            # Debian writes both forms of records; RECORD says more than what was found.
            kept.append(max(rows, key=lambda row: (row.info.endswith(".dist-info"), row.info)))
            continue
        lost = {row.info: _lost(row, tree) for row in rows}
        best, *rest = sorted(rows, key=_age, reverse=True)
        for row in rest:
            best = row if lost[row.info] < lost[best.info] else best
        kept.append(best)
        stale += (
            Stale(
                kept=best,
                left=row,
                sure=lost[best.info] < lost[row.info],
                whole=lost[best.info] == 0,
            )
            for row in rows
            if row.version != best.version
        )
    return tuple(kept), tuple(stale)


def _lost(distribution: Distribution, tree: Tree) -> float:
    """Which part of its recorded files is not there as recorded; all of it where none is named."""
    own = [
        file
        for file in distribution.files
        if not file.path.startswith((f"{distribution.info}/", "../"))
    ]
    lost = sum(not _is_there(distribution.site, file.path, file.size, tree) for file in own)
    return lost / len(own) if own else 1.0


def _is_there(site: str, path: str, size: int | None, tree: Tree) -> bool:
    try:
        found = os.stat(tree.place(os.path.join(site, path))).st_size
    except OSError:
        return False
    return size is None or found == size


def _age(distribution: Distribution) -> tuple[bool, Version, str]:
    version = parse_version(distribution.version)
    return version is not None, version or Version("0"), distribution.info
