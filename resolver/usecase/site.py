"""The database as a static site: what its pages say, gathered by the calls that answer people."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

from resolver import __version__
from resolver.dataclass import dataclass
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.model.measured_set import NoSet
from resolver.model.site import MatrixPage, Picker, ReleasePage, SetsPage, Site
from resolver.model.stack import TORCH
from resolver.usecase.session import Session
from resolver.usecase.site_folder import check_folder, write_folder
from resolver.usecase.site_picks import Axes, axes_of, gather
from resolver.usecase.site_reasons import reason_pages
from resolver.usecase.site_releases import torch_pages
from resolver.usecase.site_work import (
    Ground,
    MatrixTask,
    PickTask,
    ReleaseTask,
    Task,
    matrix_tasks,
    run_tasks,
)
from resolver.usecase.verify_knowledge import verify_knowledge


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteRequest:
    """Where to, by how many processes; ``full`` picks from every GPU and CUDA release."""

    place: Path
    jobs: int = 1
    full: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteResult:
    """What was written: files, bytes, and how many picks have how many answers."""

    place: Path
    files: int
    size: int
    picks: int
    answers: int


def write_site(
    session: Session,
    request: SiteRequest,
    tell: Callable[[int, int], None] = lambda _done, _all: None,
) -> SiteResult:
    """Write the site of the session's database into a directory, whole or not at all.

    ``tell`` is called with how many parts are done, of how many. The same database and version
    give the same bytes. Raises UsageError where the directory holds something else, DiskFailure.
    Cost: some 0.1 s a pick, shared by the processes.
    """
    from resolver.render.site import site_files

    check_folder(request.place)
    site = build_site(session, jobs=request.jobs, full=request.full, tell=tell)
    count, size = write_folder(request.place, site_files(site))
    return SiteResult(
        place=request.place,
        files=count,
        size=size,
        picks=sum(map(len, site.picker.cells.values())),
        answers=len(site.picker.answers),
    )


def build_site(
    session: Session,
    *,
    jobs: int = 1,
    full: bool = False,
    tell: Callable[[int, int], None] = lambda _done, _all: None,
) -> Site:
    """What the site says; see ``write_site``."""
    base = session.base
    known = base.facts
    axes = axes_of(known, full=full)
    projects = [canonicalize_name(name) for name in base.pack.projects() if name != TORCH]
    tasks: list[Task] = [
        *(ReleaseTask(project) for project in projects),
        *(PickTask(axes.choices, *row) for row in axes.rows),
        *matrix_tasks(projects, known.cuda),
    ]
    with tempfile.TemporaryDirectory(prefix="abilock-site-") as scratch:
        ground = Ground(
            knowledge=session.options.knowledge,
            overlays=session.world.environ.get("ABILOCK_KNOWLEDGE"),
            data_dir=session.world.data_dir,
            scratch=Path(scratch),
        )
        done = list(zip(tasks, run_tasks(ground, tasks, jobs, tell), strict=True))
    releases = tuple(page for pages in _of(done, ReleaseTask) for page in pages)
    sections = [(task, found) for task, found in done if isinstance(task, MatrixTask)]
    return Site(
        version=__version__,
        digest=digest_of(base),
        day=_day(session, releases),
        picker=_picker(axes, done),
        matrices=tuple(
            MatrixPage(
                project=project,
                sections=tuple(found for task, found in sections if task.project == project),
            )
            for project in projects
        ),
        releases=releases,
        torches=torch_pages(base, releases),
        reasons=reason_pages(),
        gpus=known.gpus,
        cudas=tuple(known.cuda[version] for version in sorted(known.cuda)),
        tuples=tuple(sorted(known.tuples, key=lambda t: (t.date, t.id), reverse=True)),
        sets=_sets(session),
        libraries=_libraries(session),
    )


def digest_of(base: KnowledgeBase) -> str:
    """The sha256 of the database as ``knowledge verify`` has it; of several, of all of these."""
    each = [verify_knowledge(layer).sha256 for layer in base.layers]
    return each[0] if len(each) == 1 else hashlib.sha256("\n".join(each).encode()).hexdigest()


def _of(done: list[tuple[Task, Any]], kind: type) -> Iterator[Any]:
    return (result for task, result in done if isinstance(task, kind))


def _picker(axes: Axes, done: list[tuple[Task, Any]]) -> Picker:
    return gather(axes, (row for rows in _of(done, PickTask) for row in rows))


def _day(session: Session, releases: tuple[ReleasePage, ...]) -> str:
    """The day of the newest fact that has one."""
    days = {known.date for known in session.knowledge.tuples}
    days |= {
        day
        for page in releases
        for reading in page.readings
        for file in reading.files
        for day in (file.recorded, file.read_on)
        if day
    }
    days |= {known.date for known in session.base.sets.all()}
    return max(days, default="")


def _sets(session: Session) -> tuple[SetsPage, ...]:
    """The generated sets, by root in the order of the database."""
    files = session.base.sets
    pages = []
    for root in session.base.set_roots:
        rows = files.rows(root.id)
        if rows:
            pages.append(
                SetsPage(
                    root=root.id,
                    source=root.source,
                    sets=files.of(root.id),
                    skipped=tuple(row for row in rows if isinstance(row, NoSet)),
                )
            )
    return tuple(pages)


def _libraries(session: Session) -> dict[str, tuple[str, ...]]:
    """Who brings a library, by its name."""
    found: dict[str, set[str]] = {}
    for library in session.knowledge.libraries:
        found.setdefault(library.soname, set()).add(library.project)
    return {soname: tuple(sorted(found[soname])) for soname in sorted(found)}
