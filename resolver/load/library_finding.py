"""A library that no file answers: why, and what cures it."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Sequence

from resolver.load.distribution import Distribution
from resolver.load.finding_context import Surroundings
from resolver.load.preload import Preloaded
from resolver.load.process import MissingLibrary
from resolver.load.system_library import find_system
from resolver.model.command import Command
from resolver.model.knowledge import Library
from resolver.model.reason import Code, Reason, Severity
from resolver.model.release import Named, Release

_MAX_SEARCHED = 6
_STEM = re.compile(r"lib(\w+?)(?:-[0-9a-f]{8})?\.so")


def missing_library(
    fault: MissingLibrary,
    subject: Release,
    severity: Severity,
    around: Surroundings,
    preloads: Sequence[Preloaded],
) -> Reason:
    """The reason for one missing library. Looks whether the files that may bring it are there."""
    name = posixpath.basename(fault.name)
    member = around.shown(fault.needed_by)
    evidence = f"DT_NEEDED of {member}; searched: {_searched(fault, around)}"
    recorded = around.places.get(name, [])
    places = [(path, owner) for path, owner in recorded if around.exists(path)]
    if recorded and not places:
        owner = recorded[0][1]
        return Reason(
            code=Code.MISSING_LIBRARY,
            severity=severity,
            subject=subject,
            object=owner.release,
            member=member,
            needs=name,
            found=f"no such file, although {owner} recorded {around.shown(recorded[0][0])}",
            evidence=f"{evidence}; RECORD of {owner}",
            remedy=around.command("install --reinstall", f"{owner.name}=={owner.version}"),
        )
    shadow = _shadow(name, places, around, preloads)
    if shadow is not None:
        path, leftover, folder = shadow
        lies = posixpath.dirname(places[0][0]) if places else None
        way = f", or: {_to_cache(lies, around)}" if lies else ""
        return Reason(
            code=Code.SHADOWED_LIBRARY,
            severity=severity,
            subject=subject,
            object=leftover.release,
            member=member,
            needs=name,
            found=f"{around.shown(path)} of {leftover}, which {around.torch} loads instead: "
            f"it looks in {folder} first",
            evidence=f"{evidence}; the preloads of torch/__init__.py",
            remedy=f"{around.command('uninstall', leftover.name)}{way}",
        )
    majors = {lib.cuda for lib in around.libraries if lib.soname == name}
    foreign = around.cuda_major is not None and majors and around.cuda_major not in majors
    if foreign and None not in majors:
        major = max(filter(None, majors))
        return Reason(
            code=Code.CUDA_MISMATCH,
            severity=severity,
            subject=subject,
            object=around.torch.release if around.torch else None,
            member=member,
            needs=f"{name}, of CUDA {major}",
            found=f"CUDA {around.cuda_major} and its libraries",
            evidence=evidence,
            remedy=f"Use a build of {subject.name} for CUDA {around.cuda_major}.",
        )
    if places:
        lies = posixpath.dirname(places[0][0])
        return Reason(
            code=Code.MISSING_LIBRARY,
            severity=severity,
            subject=subject,
            object=places[0][1].release,
            member=member,
            needs=name,
            found=f"{around.shown(places[0][0])}, where the loader does not look",
            evidence=evidence,
            remedy=f"{_to_path(lies, around)}, or: {_to_cache(lies, around)}",
        )
    brings = _brings(name, around)
    if brings is not None:
        return Reason(
            code=Code.MISSING_LIBRARY,
            severity=severity,
            subject=subject,
            object=Named(brings.project),
            member=member,
            needs=name,
            found="no such file",
            evidence=f"{evidence}; {brings.source}",
            remedy=around.command("install", brings.project),
        )
    system = find_system(around.system, name)
    if system is not None:
        return Reason(
            code=Code.MISSING_SYSTEM_LIBRARY,
            severity=severity,
            subject=subject,
            object=Named(system.title),
            member=member,
            needs=name,
            found="not in this image" if around.is_image else "not on this machine",
            evidence=f"{evidence}; {system.source}",
            remedy=system.remedy or None,
        )
    return Reason(
        code=Code.MISSING_LIBRARY,
        severity=severity,
        subject=subject,
        member=member,
        needs=name,
        found="no such file",
        evidence=evidence,
        remedy=around.command("install --reinstall", subject.name)
        if posixpath.basename(fault.needed_by) == name
        else f"Install what brings {name}.",
    )


def _to_path(directory: str, around: Surroundings) -> str:
    """What puts a directory before those that LD_LIBRARY_PATH holds already."""
    if around.is_image:
        return f"ENV LD_LIBRARY_PATH={directory}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"
    rest = '"${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"'
    return f"export LD_LIBRARY_PATH={shlex.quote(directory)}{rest}"


def _to_cache(directory: str, around: Surroundings) -> str:
    """What makes every process find a directory's libraries."""
    line = f"echo {shlex.quote(directory)} > /etc/ld.so.conf.d/abilock.conf; ldconfig"
    if around.is_image:
        return f"RUN {line}"
    return str(Command.of("sudo", "sh", "-c", line))


def _searched(fault: MissingLibrary, around: Surroundings) -> str:
    """The directories that were searched, in order, those of the processor left out."""
    tried = dict.fromkeys(
        posixpath.dirname(around.shown(path)) or "."
        for path in fault.tried
        if "/glibc-hwcaps/" not in path
    )
    more = f" and {len(tried) - _MAX_SEARCHED} more" if len(tried) > _MAX_SEARCHED else ""
    return ", ".join(list(tried)[:_MAX_SEARCHED]) + more if tried else "nowhere"


def _brings(name: str, around: Surroundings) -> Library | None:
    """The wheel to install for a library: of two, that of torch's CUDA."""
    known = [lib for lib in around.libraries if lib.soname == name]
    known.sort(key=lambda lib: (lib.cuda not in (around.cuda_major, None), lib.project))
    return known[0] if known else None


def _shadow(
    name: str,
    places: list[tuple[str, Distribution]],
    around: Surroundings,
    preloads: Sequence[Preloaded],
) -> tuple[str, Distribution, str] | None:
    """The file that torch preloaded where this one was meant, whose it is, and where it lies."""
    match = _STEM.match(name)
    if match is None:
        return None
    for preload in preloads:
        if preload.wanted.stem != f"lib{match[1]}" or preload.loaded is None:
            continue
        path = preload.matches[0]
        if posixpath.basename(path) == name or not any(p in preload.matches for p, _ in places):
            continue
        owner = around.owner(path)
        if owner is not None:
            return path, owner, posixpath.dirname(around.shown(path))
    return None
