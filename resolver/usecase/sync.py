"""A lock into an environment: whether it fits, what changes, uv or pip, and whether it loads."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from packaging.pylock import Pylock
from packaging.utils import canonicalize_name
from packaging.version import Version

from resolver.dataclass import dataclass, field, replace
from resolver.errors import DiskFailure, InstallFailed, UsageError
from resolver.load.environment import Environment, load_environment
from resolver.lockfile.pylock import load_lock, lock_target, locked_versions
from resolver.model.cuda import Arch, CudaVersion
from resolver.model.options import TargetOptions
from resolver.model.outcome import Change
from resolver.model.reason import Code, Grade, Reason
from resolver.model.release import Named
from resolver.model.target import Target
from resolver.model.version import parse_version
from resolver.usecase.answer import Answer
from resolver.usecase.check import CheckResult, check_environment
from resolver.usecase.installer_environ import installer_environ
from resolver.usecase.session import Session

if TYPE_CHECKING:
    from resolver.host.installer import Installer, Kind

# What installs stays, where the lock says nothing of it.
_TOOLS = frozenset({"pip", "setuptools", "wheel", "uv"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncRequest:
    """``python`` is an interpreter or an environment; None means the active one.

    With ``elsewhere`` the environment is for another machine: this one's GPUs and driver do not
    count. ``installer`` None means uv, and pip where there is none. With ``reinstall`` what is
    there in the right version is installed anew: its file may be another.
    """

    lock: Path
    python: Path | None = None
    installer: Kind | None = None
    elsewhere: bool = False
    reinstall: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SyncPlan:
    """What would be done. ``reasons`` say why the lock is not for this environment or machine."""

    request: SyncRequest
    lock: Pylock
    environment: Environment
    python: str
    installer: Installer
    changes: tuple[Change, ...]
    reasons: tuple[Reason, ...]
    environ: Mapping[str, str] = field(repr=False)
    offline: bool = False

    def text(self) -> str:
        """What it is, for people."""
        from resolver.render.render_sync import plan_text

        here = self.environment
        return plan_text(
            str(self.request.lock), here.prefix, here.python_short, self.changes, self.reasons
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SyncResult(Answer):
    """The answer to ``sync``. ``check`` is None where nothing was installed."""

    plan: SyncPlan
    check: CheckResult | None = None

    @property
    def verdict(self) -> Literal["planned", "refused", "ok", "degraded", "broken"]:
        """What came of it."""
        if self.check is not None:
            return self.check.verdict
        return "refused" if self.plan.reasons else "planned"

    def text(self, *, verbose: bool = False) -> str:
        """The answer for people."""
        parts = [self.plan.text()]
        if self.check is not None:
            parts.append(self.check.text(verbose=verbose))
        return "\n\n".join(parts)

    def to_json(self) -> dict[str, Any]:
        """The document of ``sync --format json`` (docs/json.md)."""
        from resolver.render.render_json import document
        from resolver.render.render_sync import sync_model

        plan, here = self.plan, self.plan.environment
        return document(
            sync_model(
                here.prefix,
                here.python_short,
                plan.installer.kind,
                self.verdict,
                plan.changes,
                plan.reasons,
                None if self.check is None else self.check.report,
            )
        )


def plan_sync(session: Session, request: SyncRequest) -> SyncPlan:
    """What installing a lock would do. Nothing is changed.

    Raises UsageError for a lock or an environment that is none, and where there is neither uv nor
    pip.
    """
    lock = load_lock(request.lock)
    environment, python = _environment(session, request)
    return SyncPlan(
        request=request,
        lock=lock,
        environment=environment,
        python=python,
        installer=_installer(session, request, python),
        changes=tuple(_changes(lock, environment)),
        reasons=tuple(_reasons(session, request, lock, environment)),
        environ=installer_environ(session),
        offline=session.offline,
    )


def run_plan(plan: SyncPlan, *, quiet: bool = False) -> None:
    """Install. Raises InstallFailed where uv or pip does not come to its end."""
    run = _run_uv if plan.installer.kind == "uv" else _run_pip
    try:
        run(plan, quiet)
    except OSError as error:
        raise DiskFailure(
            f"cannot run {plan.installer.kind}: {(error.strerror or str(error)).lower()}",
            hint="install uv, or choose the other one with --installer",
        ) from error


def check_synced(session: Session, plan: SyncPlan) -> CheckResult:
    """Whether what was installed loads, on this machine or on those of the lock."""
    stated = lock_target(plan.lock)
    archs = stated.get("arch", ())
    found = session.world.probe_accelerator(session.knowledge)
    options = TargetOptions(
        cuda=_text(stated.get("cuda")),
        arch=",".join(map(str, archs)) if plan.request.elsewhere or not found.archs else None,
        driver=_text(stated.get("driver")) if plan.request.elsewhere else None,
    )
    options = options if options.arch else replace(options, arch=None)
    return check_environment(session, Path(plan.environment.prefix), options)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


# where to, and by what


def _environment(session: Session, request: SyncRequest) -> tuple[Environment, str]:
    world = session.world
    place = request.python
    if place is None:
        named = (world.environ.get(name) for name in ("VIRTUAL_ENV", "CONDA_PREFIX"))
        dotted = ".venv" if (world.cwd / ".venv/pyvenv.cfg").is_file() else None
        active = next(filter(None, named), dotted)
        if active is None:
            raise UsageError(
                "no environment is active, and there is no .venv here",
                hint="make one (uv venv, or python -m venv .venv), or name one with --python",
            )
        place = Path(active)
    place = world.cwd / place
    if place.is_file():
        place = place.parent.parent  # bin/python, whose link leads elsewhere
    place = Path(os.path.normpath(place))
    environment = load_environment(place)
    if environment.python is None or not (place / "bin/python").exists():
        raise UsageError(
            f"{place} has no interpreter that runs", hint="make the environment anew: uv venv"
        )
    if os.path.realpath(place) == os.path.realpath(world.prefix):
        raise UsageError(
            f"{place} is the environment that abilock runs in, which sync would remove",
            hint="install abilock apart (uv tool install abilock), or name another environment "
            "with --python",
        )
    return environment, str(place / "bin/python")


def _installer(session: Session, request: SyncRequest, python: str) -> Installer:
    from resolver.host.installer import find_pip, find_uv

    found = None if request.installer == "pip" else find_uv(session.world.environ)
    if found is None and request.installer != "uv":
        found = find_pip(python)
    if found is None:
        what = request.installer or "neither uv nor pip"
        raise UsageError(
            f"{what} {'is not here' if request.installer else 'is here'}",
            hint="install uv; abilock's own environment needs pip where pip is to do it",
        )
    return found


# whether it fits


def _reasons(
    session: Session, request: SyncRequest, lock: Pylock, environment: Environment
) -> Iterator[Reason]:
    stated = lock_target(lock)
    host = session.world.probe_host()
    wanted = _text(stated.get("python"))
    lock_name = Named(request.lock.name)
    have = environment.python_short
    evidence = "the lock's [tool.abilock.target]"
    if wanted is not None and have is not None and wanted != have:
        yield Reason(
            code=Code.PYTHON_UNSUPPORTED,
            subject=lock_name,
            needs=f"Python {wanted}",
            found=f"Python {have} in {environment.prefix}",
            evidence=evidence,
            grade=Grade.DECLARED,
            remedy=f"make an environment of it: uv venv --python {wanted}",
        )
    elif have is not None and lock.requires_python is not None:
        spec = lock.requires_python
        if not any(spec.contains(f"{have.rstrip('t')}.{patch}") for patch in range(60)):
            yield Reason(
                code=Code.PYTHON_UNSUPPORTED,
                subject=lock_name,
                needs=f"Python {spec}",
                found=f"Python {have} in {environment.prefix}",
                evidence="the lock's requires-python",
                grade=Grade.DECLARED,
                remedy="make an environment of it: uv venv --python VERSION",
            )
    machine = _text(stated.get("machine"))
    if machine is not None and machine != host.machine:
        yield Reason(
            code=Code.PLATFORM_UNSUPPORTED,
            subject=lock_name,
            needs=machine,
            found=host.machine,
            evidence=evidence,
            grade=Grade.DECLARED,
            remedy=f"lock for it: abilock resolve ... --machine {host.machine}",
        )
    glibc = parse_version(_text(stated.get("glibc")) or "")
    if glibc is not None and (host.glibc is None or glibc.release[:2] > host.glibc):
        here = "none" if host.glibc is None else "{}.{}".format(*host.glibc)
        yield Reason(
            code=Code.GLIBC_TOO_OLD,
            subject=lock_name,
            needs=f"glibc {glibc} or newer",
            found=f"glibc {here}",
            evidence=evidence,
            grade=Grade.DECLARED,
            remedy=f"lock for it: abilock resolve ... --glibc {here}",
        )
    if not request.elsewhere:
        yield from _gpu_reasons(session, lock_name, stated)


def _gpu_reasons(session: Session, lock_name: Named, stated: Mapping[str, Any]) -> Iterator[Reason]:
    """What this machine's GPUs and driver have against the lock; nothing where it has none."""
    from resolver.compat.target_rules import TargetRules

    found = session.world.probe_accelerator(session.knowledge)
    try:
        archs = {Arch.parse(str(text)) for text in stated.get("arch", ())}
        cuda = CudaVersion.parse(str(stated.get("cuda")))
    except ValueError:
        return  # another tool's lock
    others = [arch for arch in found.archs if arch not in archs]
    if others and archs:
        names = {str(d.arch): d.name for d in found.devices}
        yield Reason(
            code=Code.NO_DEVICE_CODE,
            subject=lock_name,
            needs=f"a GPU of {', '.join(map(str, sorted(archs)))}",
            found=", ".join(f"{names[str(arch)]}, {arch}" for arch in others),
            evidence=f"the lock's [tool.abilock.target]; {found.source}",
            grade=Grade.DECLARED,
            remedy="lock for this machine: abilock resolve; or, for another one, add "
            "--other-machine",
        )
    if found.driver is not None:
        target = Target(cuda=cuda, archs=found.archs, python=Version("3.12"), driver=found.driver)
        for need in TargetRules(session.knowledge, target).target_needs():
            if need.reason is not None and need.reason.code in _OF_DRIVER:
                yield need.reason


_OF_DRIVER = frozenset({Code.DRIVER_TOO_OLD, Code.DRIVER_TOO_NEW})


def _changes(lock: Pylock, environment: Environment) -> Iterator[Change]:
    after = {canonicalize_name(name): version for name, version in locked_versions(lock).items()}
    # What a virtual environment sees of the system's stays there.
    before = {
        each.name: each.version
        for each in environment.distributions
        if Path(each.site).is_relative_to(environment.prefix)
    }
    for name in sorted({*before, *after}):
        old, new = before.get(name), after.get(name)
        if new is None and name in _TOOLS:
            continue
        if old is None or new is None or parse_version(old) != new:
            yield Change(name=name, before=old, after=None if new is None else str(new))


# the run


def _run_uv(plan: SyncPlan, quiet: bool) -> None:
    lock = str(plan.request.lock.absolute())
    arguments = ["pip", "sync", "--python", plan.python, lock]
    arguments += ["--offline"] if plan.offline else []
    arguments += ["--reinstall"] if plan.request.reinstall else []
    arguments += ["--quiet"] if quiet else []
    _require(plan, plan.installer.run(arguments, plan.environ, quiet=quiet))


def _run_pip(plan: SyncPlan, quiet: bool) -> None:
    """Install all before anything is removed: a download that fails leaves all as it was."""
    from resolver.lockfile.export_requirements import render_pip

    text = render_pip(plan.lock, source=plan.request.lock.name)
    # Paths in it are relative to the lock's directory.
    directory = plan.request.lock.absolute().parent
    rows = (f"{directory}/{r}" if r.startswith(("./", "../")) else r for r in text.splitlines())
    with tempfile.TemporaryDirectory(prefix="abilock-") as place:
        file = Path(place, "requirements.txt")
        file.write_text("\n".join(rows) + "\n", encoding="utf-8")
        arguments = ["install", "--no-deps", "--require-hashes", "-r", str(file)]
        arguments += ["--disable-pip-version-check", *(["--quiet"] if quiet else [])]
        arguments += ["--force-reinstall"] if plan.request.reinstall else []
        _require(plan, plan.installer.run(arguments, plan.environ, quiet=quiet))
    gone = [change.name for change in plan.changes if change.after is None]
    if gone:
        arguments = ["uninstall", "--yes", "--disable-pip-version-check", *gone]
        _require(plan, plan.installer.run(arguments, plan.environ, quiet=quiet))


def _require(plan: SyncPlan, code: int) -> None:
    if code:
        raise InstallFailed(
            f"{plan.installer.kind} ended with code {code}; {plan.environment.prefix} may hold a "
            "part of the lock",
            hint="what it printed says why; mend that and run sync once more",
        )
