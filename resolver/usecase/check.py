"""Whether what is installed, or what a lock names, loads: the answer to ``check``."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from packaging.version import Version

from resolver.dataclass import dataclass, replace
from resolver.errors import UsageError
from resolver.load.distribution import Distribution
from resolver.load.environment import Environment, load_environment
from resolver.lockfile.lock_document import LockDocument
from resolver.lockfile.pins import locked_python, open_lock
from resolver.model.check_report import Report
from resolver.model.options import EACH_FORK, LockOptions, TargetOptions
from resolver.model.reason import Reason
from resolver.model.release import Release
from resolver.model.target import Target
from resolver.model.version import public_of
from resolver.usecase import check_lock as locks
from resolver.usecase.answer import Answer
from resolver.usecase.check_environment import simulate
from resolver.usecase.check_image import on_musl, open_image
from resolver.usecase.session import Session
from resolver.usecase.target_options import (
    Wish,
    make_project_target,
    make_wish,
    with_machine,
    with_project,
)
from resolver.usecase.world import World


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CheckResult(Answer):
    """The answer to ``check``. ``environment`` or ``document`` is what was looked at."""

    report: Report
    environment: Environment | None = None
    document: LockDocument | None = None

    @property
    def verdict(self) -> Literal["ok", "degraded", "broken"]:
        """What the gravest finding comes to."""
        return self.report.verdict

    @property
    def target(self) -> Target | None:
        """The machine that it holds for; None where its CUDA release is not known."""
        return self.report.target

    @property
    def findings(self) -> tuple[Reason, ...]:
        """All that is wrong, the gravest first."""
        return self.report.findings

    @property
    def notes(self) -> tuple[str, ...]:
        """What else a user should know."""
        return (*self.report.notes, *self.report.asides)

    def text(self, *, verbose: bool = False) -> str:
        """The answer for people, as the command prints it; all of each finding if ``verbose``."""
        from resolver.render.render_check import check_text

        return check_text(self.report, verbose=verbose)

    def to_json(self) -> dict[str, Any]:
        """The document of ``check --format json`` (docs/json.md)."""
        from resolver.render.render_check import check_model
        from resolver.render.render_json import document

        return document(check_model(self.report))

    @property
    def lines(self) -> dict[str, int]:
        """The line in the lock of each release that a finding names, by the release's text."""
        from resolver.lockfile.locate import find_line

        if self.document is None:
            return {}
        find = find_line(self.document)
        found: dict[str, int] = {}
        for each in (r for reason in self.findings for r in (reason.subject, reason.object)):
            if isinstance(each, Release) and str(each) not in found:
                line = find(each.name, str(each.version))
                if line is not None:
                    found[str(each)] = line
        return found


def check_environment(
    session: Session,
    place: Path | None,
    options: TargetOptions,
    *,
    root: Path | None = None,
    full: bool = False,
    verify: bool = False,
    on_package: Callable[[Distribution], None] = lambda _: None,
) -> CheckResult:
    """Load an environment in simulation; without ``place`` the active one, else abilock's own.

    ``root`` is an image's unpacked root, see ``check_image``. ``full`` reads the device code of
    every library, ``verify`` compares every file with its hash in RECORD. ``on_package`` is called
    before a package is looked at. Raises UsageError for a place that is none, and for options that
    an environment answers itself.
    """
    for name in ("python", "machine", "glibc"):
        if getattr(options, name) is not None:
            raise UsageError(
                f"--{name} is for lock files: an environment has its own",
                hint=f"leave --{name} out",
            )
    world = session.world
    options = with_project(options, session.project)
    wish = make_wish(session.knowledge, options, session.tell)
    if root is not None:
        return _check_image(
            session, place, root, wish, options, full=full, verify=verify, on_package=on_package
        )
    place, note = (place, None) if place is not None else _active(world)
    environment = load_environment(
        Path(os.path.normpath(world.cwd / place)),
        python_path=_python_path(world),
        user_base=_user_base(world),
    )
    if not wish.archs:
        wish = with_machine(wish, world.probe_accelerator(session.knowledge))
    report = simulate(
        session.base,
        environment,
        world.probe_host(),
        cuda=wish.cuda,
        archs=wish.archs,
        driver=wish.driver,
        toolkit=wish.toolkit,
        gpu=options.gpu,
        cache=session.cache_dir,
        environ=world.environ,
        full=full,
        on_package=on_package,
        notes=() if note is None else (note,),
        verify=verify,
    )
    return CheckResult(report=report, environment=environment)


def _check_image(
    session: Session,
    place: Path | None,
    root: Path,
    wish: Wish,
    options: TargetOptions,
    *,
    full: bool,
    verify: bool,
    on_package: Callable[[Distribution], None],
) -> CheckResult:
    """Load an environment of an image in simulation; nothing of this machine counts but its files.

    Without ``place`` the environment is looked for. Raises UsageError where there is none or it is
    not plain which, and Undecided for what runs on musl.
    """
    world = session.world
    environment, image, notes = open_image(
        world.cwd / root, place, world.cwd, world.probe_host().machine
    )
    if image.musl is not None:
        report = on_musl(environment, image, notes)
    else:
        report = simulate(
            session.base,
            environment,
            image.host,
            cuda=wish.cuda,
            archs=wish.archs,
            driver=wish.driver,
            toolkit=wish.toolkit,
            gpu=options.gpu,
            cache=session.cache_dir,
            environ={},
            full=full,
            on_package=on_package,
            notes=notes,
            verify=verify,
            image=image,
        )
    return CheckResult(report=report, environment=environment)


def _python_path(world: World) -> list[Path]:
    """The directories of PYTHONPATH, as the Python of the environment would take them here."""
    stated = world.environ.get("PYTHONPATH", "")
    return [world.cwd / part for part in stated.split(os.pathsep) if part]


def _user_base(world: World) -> Path | None:
    """Where ``pip install --user`` puts packages; None where Python is told not to look."""
    if world.environ.get("PYTHONNOUSERSITE"):
        return None
    return Path(world.environ.get("PYTHONUSERBASE") or world.home / ".local")


def _active(world: World) -> tuple[Path, str]:
    """The active environment, as its activation script says, else the one that runs abilock."""
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if value := world.environ.get(name):
            return Path(value), f"checked the environment of {name}"
    if not str(world.prefix):
        raise UsageError("no environment is active", hint="name one: abilock check .venv")
    return world.prefix, "no environment is active: checked the one abilock runs in"


def check_lock(
    session: Session, path: Path, options: TargetOptions, choice: LockOptions = EACH_FORK
) -> CheckResult:
    """Judge the files that a lock names; a lock of abilock says itself for which machine.

    ``choice`` are its extras and groups, each fork where nothing is said. Raises UsageError for a
    file that is no lock or has not what is chosen, and IndexFailure where an index is silent.
    """
    document = open_lock(path, choice)
    said = locks.stated_target(document)
    if options.gpu:
        said.pop("arch", None)
    unsaid = {name: value for name, value in said.items() if not getattr(options, name)}
    options = _with_python(session, document, replace(options, **unsaid), choice)
    target = make_project_target(
        session.knowledge, options, session.project, session.world, session.tell
    )
    report = locks.check_lock(session, document, target, choice)
    return CheckResult(report=report, document=document)


def _with_python(
    session: Session, document: LockDocument, options: TargetOptions, choice: LockOptions
) -> TargetOptions:
    """The options with the lock's Python where none is said and the running one is another."""
    if with_project(options, session.project).python is not None:
        return options
    host = session.world.probe_host()
    running = public_of(Version(host.python))
    machine = options.machine or host.machine
    found = locked_python(document, machine, running, choice)
    if found is None or Version(found[0]) == running:
        return options
    session.tell(f"Python {found[0]}: {found[1]}.")
    return replace(options, python=found[0])
