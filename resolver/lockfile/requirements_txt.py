"""Requirements as users write them: on the command line, in files, in ``pyproject.toml``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement

from resolver.dataclass import dataclass
from resolver.errors import UsageError
from resolver.index.pyproject import Project
from resolver.lockfile.requirement_lines import Line, load_lines
from resolver.model.dependency import parse_dependency
from resolver.model.stated import Stated

# The default stack: what an engineer who serves models on a GPU starts from.
DEFAULT_STACK = ("torch", "sgl-kernel", "flashinfer-python")
DEFAULT_ORIGIN = "default stack"
REQUESTED = "requested"


def parse_requirement(text: str, origin: str) -> Stated:
    """One requirement with where it was stated. Raises UsageError."""
    try:
        requirement = parse_dependency(text)
    except InvalidRequirement as error:
        detail = str(error).splitlines()[0]
        raise UsageError(
            f"{origin}: {text!r} is not a requirement: {detail}",
            hint="write it as name, name==1.2 or name>=1.2,<2 (PEP 508)",
        ) from error
    if requirement.url is not None:
        raise UsageError(
            f"{origin}: {requirement.name} is asked for by address, which cannot be resolved",
            hint="name the version, and its index with --index NAME=URL or a directory with "
            "--wheelhouse",
        )
    return Stated(requirement, origin)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What files and arguments ask for. ``limits`` narrow versions and ask for nothing.

    ``notes`` say what of them was not used, or taken for something else.
    """

    stated: tuple[Stated, ...] = ()
    limits: tuple[Stated, ...] = ()
    notes: tuple[str, ...] = ()

    @classmethod
    def joined(cls, parts: Iterable[Asked]) -> Asked:
        """All of them, each requirement once, from where it was stated first."""
        each = tuple(parts)
        return cls(
            stated=distinct(stated for part in each for stated in part.stated),
            limits=distinct(stated for part in each for stated in part.limits),
            notes=tuple(note for part in each for note in part.notes),
        )


def load_requirements(path: Path) -> Asked:
    """The requirements of a file, which may be what ``pip freeze`` printed.

    ``-r FILE`` inside is followed, ``-c FILE`` limits; hashes count for nothing here. An address is
    the release that it names, and where it names none the line is left out. Raises UsageError,
    naming every line that cannot be used.
    """
    lines = load_lines(path)
    notes = [*lines.index_notes, *lines.notes]
    for line in (*lines.asked, *lines.limits):
        if line.requirement is None:
            notes.append(line.left_out)
        elif line.by_address:
            notes.append(
                f"{line.origin}: {line.whose} is asked for as {line.requirement}, the release that "
                "its address names"
            )
    return Asked(stated=_stated(lines.asked), limits=_stated(lines.limits), notes=tuple(notes))


def _stated(lines: Iterable[Line]) -> tuple[Stated, ...]:
    found = ((line.requirement, line.origin) for line in lines)
    return tuple(Stated(each, origin) for each, origin in found if each is not None)


def state(items: Iterable[str | Path]) -> Asked:
    """Each item once: a ``str`` is a requirement, a ``Path`` a file of them. Raises UsageError."""
    return Asked.joined(
        load_requirements(item)
        if isinstance(item, Path)
        else Asked(stated=(parse_requirement(item, REQUESTED),))
        for item in items
    )


def distinct(stated: Iterable[Stated]) -> tuple[Stated, ...]:
    """Each requirement once, from where it was stated first."""
    first: dict[Requirement, str] = {}
    for requirement, origin in stated:
        first.setdefault(requirement, origin)
    return tuple(Stated(*item) for item in first.items())


def collect(items: Iterable[str | Path], project: Project) -> Asked:
    """What was asked for: texts and files, else the project's, else the default stack.

    Of a project the requirements of ``[tool.abilock]`` count, without them the dependencies of
    ``[project]``. Raises UsageError, also for files that hold no requirement where nothing else is
    asked for, and for dependencies that only a build of the project tells.
    """
    items = tuple(items)
    asked = state(items)
    if asked.stated:
        return asked
    if read := [str(item) for item in items if isinstance(item, Path)]:
        raise UsageError(
            f"{' and '.join(read)} {'holds' if len(read) == 1 else 'hold'} no requirement",
            hint="write one a line: name, name==1.2 or name>=1.2,<2",
        )
    if own := project.strings("requirements"):
        origin, texts = project.origin, own
    elif project.dependencies is None:
        raise UsageError(
            f"{project.path}: the dependencies of [project] are dynamic: nothing says what to lock",
            hint="name requirements, or write them into [tool.abilock]: requirements = [...]",
        )
    elif project.dependencies:
        origin, texts = f"{project.path} [project]", project.dependencies
    else:
        origin, texts = DEFAULT_ORIGIN, DEFAULT_STACK
    return Asked(stated=distinct(parse_requirement(text, origin) for text in texts))
