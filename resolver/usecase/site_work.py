"""The parts of the site that cost time, as tasks which processes share.

A task sees the database and nothing of this machine: no settings, no index, no cache but an empty
directory, so that every process, and every machine, gets the same answers.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from packaging.requirements import Requirement
from packaging.utils import NormalizedName

from resolver.dataclass import dataclass, fields, replace
from resolver.errors import AbilockError, UsageError
from resolver.model.cuda import CudaVersion
from resolver.model.matrix import Matrix
from resolver.model.options import IndexOptions, TargetOptions
from resolver.model.site import Choice, MatrixSection, Place, ReleasePage
from resolver.model.stack import TORCH
from resolver.usecase.matrix import MatrixRequest, matrix
from resolver.usecase.session import Session
from resolver.usecase.site_picks import GLIBC, answer_pick, cell_of
from resolver.usecase.site_releases import release_pages
from resolver.usecase.target_options import make_target
from resolver.usecase.world import World

# Of the rows of a table; the command shows more.
_ROWS = 16
_MACHINES = (
    ("13.0", "sm120", "x86_64"),
    ("12.8", "sm90", "x86_64"),
    ("13.0", "sm90", "aarch64"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What tasks work on: a database, the user's own directory of facts, an empty cache."""

    knowledge: Path | None
    overlays: str | None
    data_dir: Path
    scratch: Path

    @contextmanager
    def open(self) -> Iterator[Session]:
        """A session without network, settings and cache."""
        named = {} if self.overlays is None else {"ABILOCK_KNOWLEDGE": self.overlays}
        world = replace(
            World.of_process(),
            environ={"PIP_CONFIG_FILE": "/dev/null", "UV_NO_CONFIG": "1", **named},
            cwd=self.scratch,
            home=self.scratch,
            prefix=self.scratch,
            cache_dir=self.scratch / "cache",
            data_dir=self.data_dir,
        )
        options = IndexOptions(offline=True, knowledge=self.knowledge)
        with Session(options=options, world=world) as session:
            yield session


@dataclass(frozen=True, slots=True)
class PickTask:
    """The answers to all choices on one machine."""

    choices: tuple[Choice, ...]
    place: Place
    cuda: CudaVersion
    python: str

    def run(self, session: Session) -> list[tuple[str, str, Mapping[str, Any]]]:
        """Each choice's id with the cell and the answer."""
        cell = cell_of(self.place, self.cuda, self.python)
        return [
            (one.id, cell, answer_pick(session, one, self.place, self.cuda, self.python))
            for one in self.choices
        ]

    @property
    def weight(self) -> int:
        """How many solves it is."""
        return len(self.choices)


@dataclass(frozen=True, slots=True)
class MatrixTask:
    """The table of a project beside torch on one machine."""

    project: NormalizedName
    target: TargetOptions
    title: str
    weight: int = 1

    def run(self, session: Session) -> MatrixSection:
        """The section of the project's page; its title alone where there is no release."""
        target = make_target(session.knowledge, self.target, session.world)
        try:
            found = matrix(
                session,
                MatrixRequest(
                    target=target,
                    projects=(Requirement(TORCH), Requirement(self.project)),
                    last=_ROWS,
                ),
            )
        except UsageError as error:
            return MatrixSection(title=self.title, matrix=None, why=str(error))
        plain = {field.name: getattr(found, field.name) for field in fields(Matrix)}
        plain["target"] = replace(target)  # what it keeps of itself does not go between processes
        return MatrixSection(title=self.title, matrix=Matrix(**plain))


@dataclass(frozen=True, slots=True)
class ReleaseTask:
    """The pages of a project's releases."""

    project: NormalizedName
    weight: int = 1

    def run(self, session: Session) -> tuple[ReleasePage, ...]:
        """All of them, newest first."""
        return release_pages(session.base, self.project)


Task: TypeAlias = PickTask | MatrixTask | ReleaseTask

# The session of a process that works for others.
_own: Session | None = None


def run_tasks(
    ground: Ground, tasks: Sequence[Task], jobs: int, tell: Callable[[int, int], None]
) -> list[Any]:
    """What each task gives, in their order; ``tell`` is called with what is done, of how much.

    Raises AbilockError as tasks do, and where a process dies.
    """
    every = sum(task.weight for task in tasks)
    done = 0
    results: list[Any] = []
    try:
        with _runner(ground, jobs) as run:
            for task, result in zip(tasks, run(tasks), strict=True):
                results.append(result)
                done += task.weight
                tell(done, every)
    except BrokenProcessPool as error:
        raise AbilockError(
            "a process ended before its part of the site was done",
            hint="where memory is short, run again with --jobs 1",
        ) from error
    return results


@contextmanager
def _runner(ground: Ground, jobs: int) -> Iterator[Callable[[Sequence[Task]], Iterator[Any]]]:
    if jobs == 1:
        with ground.open() as session:
            yield lambda tasks: (task.run(session) for task in tasks)
        return
    # Not by fork: this process may hold threads and open files of its caller's.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin, initargs=(ground,))
    try:
        yield lambda tasks: pool.map(_run, tasks)
    finally:
        pool.shutdown(cancel_futures=True)


def _begin(ground: Ground) -> None:
    global _own
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started it hears the same, and ends it
    _own = ground.open().__enter__()


def _run(task: Task) -> Any:
    if _own is None:
        raise RuntimeError("the process was not begun")
    try:
        return task.run(_own)
    except AbilockError as error:  # with what an error of its class alone holds it stays here
        raise AbilockError(str(error), hint=error.hint) from None


def matrix_tasks(
    projects: Sequence[NormalizedName], cudas: Container[CudaVersion]
) -> list[MatrixTask]:
    """A table of each project on each of the machines that most differ."""
    return [
        MatrixTask(
            project,
            TargetOptions(cuda=cuda, arch=arch, python="3.12", machine=machine, glibc=GLIBC),
            f"CUDA {cuda}, {arch.replace('sm', 'sm_')}, Python 3.12, {machine}",
        )
        for project in projects
        for cuda, arch, machine in _MACHINES
        if CudaVersion.parse(cuda) in cudas
    ]
