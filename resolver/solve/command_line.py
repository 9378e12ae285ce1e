"""The command that locks what was solved: requirements, target, and what the user's own said."""

from __future__ import annotations

from collections.abc import Iterable

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from resolver.model.command import Command, Repeated
from resolver.model.outcome import Outcome
from resolver.model.target import Target, driver_text
from resolver.solve.request import REQUESTED, Request

# What is said of the machine beside CUDA, GPUs, driver and toolkit, which the target itself has.
_MACHINE = ("--gpu", "--python", "--machine", "--glibc")
_OF_TARGET = ("--cuda", "--arch", "--driver", "--toolkit")


def resolve_command(
    requirements: Iterable[str], target: Target, repeated: Repeated, files: Iterable[str] = ()
) -> Command:
    """``abilock resolve`` of ``requirements`` and ``files`` for ``target``.

    Driver and toolkit are those of the target, which another CUDA release may have done without.
    """
    words = ["abilock", "resolve", *requirements]
    for file in files:
        words += ("-r", file)
    words += ("--cuda", str(target.cuda))
    words += ("--arch", ",".join(str(arch).replace("_", "") for arch in target.archs))
    words += repeated.only(*_MACHINE).argv
    if target.driver is not None:
        words += ("--driver", driver_text(target.driver))
    if target.toolkit is not None:
        words += ("--toolkit", str(target.toolkit))
    return Command((*words, *repeated.without(*_MACHINE, *_OF_TARGET).argv))


def request_command(asked: Request, changed: Request, target: Target) -> Command:
    """What locks ``changed``, in the words that ``asked`` was stated in.

    Files are named where all that stands in them stays as it is; else each requirement is.
    """
    if changed.is_default and changed.requirements == asked.requirements:
        return resolve_command((), target, changed.options)
    kept = {stated for stated in asked.requirements if stated[1] != REQUESTED}
    files = asked.options.files if kept <= set(changed.requirements) else ()
    spelled = (
        str(requirement)
        for requirement, origin in changed.requirements
        if not files or origin == REQUESTED
    )
    return resolve_command(spelled, target, changed.options, files)


def pinned_to(outcome: Outcome, requirements: Iterable[Requirement]) -> list[str]:
    """Requirements at the versions that a solution has, by name; those that it has not left out."""
    pins = []
    for requirement in requirements:
        package = outcome.package(canonicalize_name(requirement.name))
        if package is not None:
            extras = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
            pins.append(f"{package.artifact.name}{extras}=={package.artifact.version}")
    return sorted(pins)
