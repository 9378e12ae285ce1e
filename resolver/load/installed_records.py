"""What the records of installed distributions say, before anything is loaded."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping

from packaging.utils import canonicalize_name
from packaging.version import Version

from resolver.files import open_regular
from resolver.load.distribution import Distribution, Installed
from resolver.load.environment import Environment
from resolver.load.finding_context import Surroundings
from resolver.load.tree import Tree
from resolver.model.command import Command
from resolver.model.knowledge import KnownTuple, SkewGroup
from resolver.model.reason import Code, Grade, Reason, Severity
from resolver.model.release import Named, Several
from resolver.model.version import parse_version

_NATIVE = re.compile(r"\.so(?:\.\d+)*$")
_INFO = re.compile(r"\.(dist|egg)-info/")
_MAX_HASHED = 512 << 20


def check_records(
    environment: Environment,
    around: Surroundings,
    *,
    skews: Iterable[SkewGroup],
    marker: Mapping[str, str],
) -> tuple[Reason, ...]:
    """Broken records, collisions, versions that do not go together. Cost: a stat a native file."""
    reasons = [*_interpreter(environment)]
    for distribution in environment.distributions:
        reasons += _problems(distribution, around)
    reasons += _twice(environment, around)
    reasons += _collisions(environment, around)
    reasons += _requirements(environment, around, marker)
    reasons += check_skews(environment, skews)
    return tuple(reasons)


def _problems(distribution: Distribution, around: Surroundings) -> Iterator[Reason]:
    again = around.command("install --reinstall", distribution.name)
    for problem in distribution.problems:
        yield Reason(
            code=Code.BROKEN_INSTALL,
            severity=Severity.WARNING,
            subject=distribution.release,
            needs="records that can be read",
            found=problem,
            evidence=f"{distribution.site}/{distribution.info}",
            remedy=again,
        )
    own = any(not _INFO.search(file.path) for file in distribution.files)
    bare = not own and not distribution.problems and distribution.editable is None
    if distribution.name.startswith("nvidia-") and bare:
        yield Reason(
            code=Code.PLACEHOLDER_PACKAGE,
            severity=Severity.WARNING,
            subject=distribution.release,
            needs="files of its own",
            found="none: the wheel is a placeholder",
            evidence=f"RECORD of {distribution}",
            remedy=around.command("uninstall", distribution.name),
        )


def _twice(environment: Environment, around: Surroundings) -> Iterator[Reason]:
    for stale in environment.stale:
        kept, left = stale.kept, stale.left
        again = around.command("install --reinstall", f"{kept.name}=={kept.version}")
        remove = f"rm -r {shlex.quote(f'{left.site}/{left.info}')}"
        lie = f"the files that lie there are those of {kept.version}"
        yield Reason(
            code=Code.BROKEN_INSTALL,
            severity=Severity.DEGRADED,
            subject=kept.release,
            object=left.release,
            needs="one version of a package",
            found=f"{kept.info} and {left.info}" + (f"; {lie}" if stale.sure else ""),
            evidence=f"the directories of {kept.site}"
            + ("; the files that each recorded" if stale.sure else ""),
            remedy=remove if stale.sure and stale.whole else f"{remove} && {again}",
        )


def _interpreter(environment: Environment) -> Iterator[Reason]:
    if environment.dangling is None:
        return
    version = environment.python_short
    kept = ("--allow-existing", *(("--python", version) if version else ()))
    yield Reason(
        code=Code.BROKEN_INSTALL,
        severity=Severity.FATAL,
        subject=Named("Python", version or ""),
        needs="an interpreter",
        found=environment.dangling,
        evidence=f"the links of {environment.prefix}/bin",
        remedy=str(Command.of("uv", "venv", *kept, environment.prefix)),
    )


# files that two wheels wrote


def _collisions(environment: Environment, around: Surroundings) -> Iterator[Reason]:
    owners: dict[str, tuple[Distribution, Installed]] = {}
    clashes: dict[tuple[str, str], list[tuple[Installed, Installed, str]]] = {}
    names: dict[tuple[str, str], tuple[Distribution, Distribution]] = {}
    for distribution in environment.distributions:
        for file in distribution.files:
            if not file.digest or _INFO.search(file.path):
                continue
            path = f"{distribution.site}/{file.path}"
            first = owners.setdefault(path, (distribution, file))
            if first[0] is distribution or first[1].digest == file.digest:
                continue
            key = (first[0].info, distribution.info)
            names[key] = (first[0], distribution)
            clashes.setdefault(key, []).append((first[1], file, path))
    for key, rows in sorted(clashes.items()):
        one, other = names[key]
        rows.sort(key=lambda row: (not _NATIVE.search(row[2]), row[2]))
        native = [row for row in rows if _NATIVE.search(row[2])]
        winner = _winner(one, other, environment.tree, *rows[0])
        more = f" and {len(rows) - 1} more" if len(rows) > 1 else ""
        yield Reason(
            code=Code.FILE_COLLISION,
            severity=Severity.DEGRADED if native else Severity.WARNING,
            subject=one.release,
            object=other.release,
            member=rows[0][0].path,
            needs=f"{rows[0][0].path}{more}, each its own",
            found=f"that of {winner}" if winner else "one file, of neither",
            evidence=f"RECORD of {one} and of {other}, compared with the file",
            remedy=_parting(one, other, around),
        )


def _winner(
    one: Distribution,
    other: Distribution,
    tree: Tree,
    mine: Installed,
    theirs: Installed,
    path: str,
) -> Distribution | None:
    """Whose bytes lie there, by size, else by hash."""
    try:
        size = os.stat(place := tree.place(path)).st_size
    except OSError:
        return None
    if mine.size != theirs.size and None not in (mine.size, theirs.size):
        return {mine.size: one, theirs.size: other}.get(size)
    digest = _digest(place) if size <= _MAX_HASHED else None
    return {mine.digest: one, theirs.digest: other}.get(digest)


def _digest(path: str) -> str | None:
    try:
        with open_regular(path) as file:
            value = hashlib.file_digest(file, "sha256").digest()
    except OSError:
        return None
    return "sha256=" + base64.urlsafe_b64encode(value).decode().rstrip("=")


def _parting(one: Distribution, other: Distribution, around: Surroundings) -> str:
    """The commands that leave one of two: that of torch's CUDA, where the names tell."""
    major = around.cuda_major
    keep, drop = other, one
    if major is not None and one.name.endswith(f"-cu{major}"):
        keep, drop = one, other
    return (
        f"{around.command('uninstall', drop.name)} && "
        f"{around.command('install --reinstall', f'{keep.name}=={keep.version}')}"
    )


# versions


def _requirements(
    environment: Environment, around: Surroundings, marker: Mapping[str, str]
) -> Iterator[Reason]:
    """What installed packages require and do not have, as ``pip check`` reports it."""
    values = {**marker, "extra": ""}
    for distribution in environment.distributions:
        for requirement in distribution.requires:
            if requirement.marker is not None and not requirement.marker.evaluate(values):
                continue
            found = environment.find(canonicalize_name(requirement.name))
            version = None if found is None else parse_version(found.version)
            good = found is not None and (
                version is None or requirement.specifier.contains(version, prereleases=True)
            )
            if good:
                continue
            yield Reason(
                code=Code.VERSION_CONFLICT,
                severity=Severity.WARNING,
                subject=distribution.release,
                object=found.release if found is not None else Named(requirement.name),
                needs=f"{requirement.name}{requirement.specifier}",
                found=found.version if found is not None else "not installed",
                grade=Grade.DECLARED,
                evidence=f"Requires-Dist of {distribution}",
                remedy=around.command("install", f"{requirement.name}{requirement.specifier}"),
            )


def check_skews(environment: Environment, skews: Iterable[SkewGroup]) -> Iterator[Reason]:
    """Packages that must share a public version and do not."""
    for skew in skews:
        found = [d for name in skew.projects if (d := environment.find(name)) is not None]
        versions = {d.name: v for d in found if (v := parse_version(d.version)) is not None}
        if skew.differ(versions):
            yield Reason(
                code=Code.VERSION_SKEW,
                subject=found[0].release,
                object=Several(tuple(each.release for each in found[1:])),
                needs="one version of " + ", ".join(d.name for d in found),
                found=", ".join(map(str, found)),
                evidence=skew.source,
                remedy=skew.remedy,
            )


def check_known_bad(
    environment: Environment, tuples: Iterable[KnownTuple], machine: str
) -> Iterator[Reason]:
    """Reports that name exactly what is installed; ``tuples`` are bad ones of this target."""
    for known in tuples:
        named = known.packages_for(machine)
        if known.reason is not None and all(
            _is(environment, name, version) for name, version in named.items()
        ):
            yield known.reason


def _is(environment: Environment, name: str, version: Version) -> bool:
    found = environment.find(name)
    return found is not None and parse_version(found.version) == version


# run-time compilation


def check_toolkit(
    environment: Environment,
    around: Surroundings,
    nvcc: Callable[[], str | None],
) -> tuple[Reason, ...]:
    """flashinfer compiles what its cache lacks: it needs nvcc, or the cache of its own version."""
    python = environment.find("flashinfer-python")
    if python is None or nvcc() is not None:
        return ()
    cache = environment.find("flashinfer-jit-cache")
    public = parse_version(python.version)
    if cache is not None and public is not None:
        version = parse_version(cache.version)
        if version is not None and version.public == public.public:
            return ()
    return (
        Reason(
            code=Code.TOOLKIT_MISSING,
            severity=Severity.DEGRADED,
            subject=python.release,
            needs="nvcc of a CUDA toolkit, or flashinfer-jit-cache of the same version",
            found="neither",
            grade=Grade.REPORTED,
            evidence="no nvcc in CUDA_HOME, on PATH, in /usr/local/cuda or in the environment; "
            "vllm-project/vllm#49497",
            remedy=around.command("install", f"flashinfer-jit-cache=={python.version}")
            + " (from flashinfer's index), or install the CUDA toolkit",
        ),
    )
