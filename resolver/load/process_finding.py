"""What goes wrong between libraries that all load: two CUDA runtimes, leftovers that answer."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping

from resolver.load.finding_context import Surroundings
from resolver.load.simulation import Examination
from resolver.model.reason import Code, Reason, Severity


def check_process(
    examination: Examination, around: Surroundings, foreign: Mapping[str, str]
) -> tuple[Reason, ...]:
    """Findings about processes that start, and packages of which nothing can start here.

    ``foreign`` are the files for other machines.
    """
    return (
        *_leftovers(examination, around),
        *_two_majors(examination, around),
        *_platforms(examination, around, foreign),
    )


def _platforms(
    examination: Examination, around: Surroundings, foreign: Mapping[str, str]
) -> Iterator[Reason]:
    """Packages whose libraries are all for another machine: a wheel that was forced in."""
    here = {attempt.distribution.info for attempt in examination.attempts}
    told: set[str] = set()
    for path, machine in foreign.items():
        owner = around.owner(path)
        if owner is None or owner.info in here or owner.info in told:
            continue
        told.add(owner.info)
        yield Reason(
            code=Code.PLATFORM_UNSUPPORTED,
            subject=owner.release,
            member=around.shown(path),
            needs=f"a machine of type {machine}",
            found="another one",
            evidence=f"the ELF header of {around.shown(path)}",
            remedy=around.command("install --reinstall", f"{owner.name}=={owner.version}"),
        )


def _leftovers(examination: Examination, around: Surroundings) -> Iterator[Reason]:
    """Libraries of another CUDA that torch preloads although its own are there."""
    torch = examination.torch
    if torch is None or around.torch is None:
        return
    for preload in torch.preloads:
        if preload.loaded is None or len(preload.matches) < 2:
            continue
        first, *others = preload.matches
        names = {posixpath.basename(path) for path in others}
        owner = around.owner(first)
        if owner is None or posixpath.basename(first) in names:
            continue
        majors = {
            lib.cuda for lib in around.libraries if lib.soname == posixpath.basename(first)
        } - {None}
        if not majors or around.cuda_major in majors:
            continue
        yield Reason(
            code=Code.SHADOWED_LIBRARY,
            severity=Severity.DEGRADED,
            subject=around.torch.release,
            object=owner.release,
            needs=posixpath.basename(others[0]),
            found=f"{around.shown(first)} of {owner}, which torch loads instead",
            evidence=f"the preloads of torch/__init__.py, which look in "
            f"{posixpath.dirname(around.shown(first))} first",
            remedy=around.command("uninstall", owner.name),
        )


def _two_majors(examination: Examination, around: Surroundings) -> Iterator[Reason]:
    told: set[str] = set()
    for attempt in examination.attempts:
        if attempt.faults or len(attempt.cuda) < 2 or attempt.distribution.name in told:
            continue
        told.add(attempt.distribution.name)
        majors = sorted(attempt.cuda)
        yield Reason(
            code=Code.CUDA_MISMATCH,
            severity=Severity.DEGRADED,
            subject=attempt.distribution.release,
            object=around.torch.release if around.torch else None,
            member=attempt.member,
            needs="one CUDA runtime in a process",
            found=" and ".join(f"libcudart.so.{major}" for major in majors),
            evidence=f"the libraries that {attempt.member} is loaded with",
            remedy=f"Use a build of {attempt.distribution.name} for CUDA {around.cuda_major}."
            if around.cuda_major
            else "Use builds for one CUDA.",
        )
