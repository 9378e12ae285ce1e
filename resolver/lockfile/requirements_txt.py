"""Requirements as users write them: on the command line, in files, in ``pyproject.toml``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement

from resolver.errors import UsageError
from resolver.index.project import Project
from resolver.lockfile.frozen import left_out, parse_line
from resolver.model.dependency import parse_dependency
from resolver.model.stated import Stated

_COMMENT = re.compile(r"(^|\s+)#.*$")

# The default stack: what an engineer who serves models on a GPU starts from.
DEFAULT_STACK = ("torch", "sgl-kernel", "flashinfer-python")
DEFAULT_ORIGIN = "default stack"


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


def load_requirements(path: Path, notes: list[str] | None = None) -> tuple[Stated, ...]:
    """The requirements of a file, ``-r`` and ``-c``-style. Raises UsageError, naming the line.

    ``-r FILE`` inside is followed; hashes and index options are left to the settings. With
    ``notes`` the file may be what ``pip freeze`` printed: an address is the release it names, and
    where it names none the line is left out, which ``notes`` then tell.
    """
    return tuple(_read(path, (), notes))


def _read(path: Path, above: tuple[Path, ...], notes: list[str] | None) -> Iterator[Stated]:
    if path.resolve() in above:
        raise UsageError(f"{path} includes itself", hint="remove the -r line that closes the ring")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(
            f"cannot read {path}: {(error.strerror or str(error)).lower()}",
            hint="check the file name",
        ) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text: {error.reason}") from error
    for number, line in logical_lines(text):
        origin = f"{path}, line {number}"
        bare = re.sub(r"\s--hash=\S+", "", line).strip()
        if notes is not None:
            pin, whose = parse_line(bare)
            if whose is not None:
                notes.append(left_out(origin, whose))
            bare = pin or ""
        if not bare:
            continue
        if match := re.fullmatch(r"(?:-r|--requirement)[ =]?(.+)", bare):
            yield from _read(path.parent / match[1].strip(), (*above, path.resolve()), notes)
        elif bare.startswith("-"):
            raise UsageError(
                f"{origin}: the option {bare.split()[0]!r} is not read from a file",
                hint="give indexes with --index, constraints with -c",
            )
        else:
            yield parse_requirement(bare, origin)


def logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines that hold something, without comments, joined as pip joins them.

    Each comes with its first number. A line that is all comment ends what a backslash continues,
    and continues nothing itself (pip's ``join_lines``).
    """
    start, parts = 0, list[str]()
    for number, line in enumerate(text.splitlines(), 1):
        start = start if parts else number
        comment = _COMMENT.match(line) is not None
        if line.endswith("\\") and not comment:
            parts.append(line.strip("\\"))
            continue
        # The space keeps a comment one, whatever it is joined to.
        yield from _told(start, "".join([*parts, " " if comment else "", line]))
        parts = []
    yield from _told(start, "".join(parts))


def _told(number: int, line: str) -> Iterator[tuple[int, str]]:
    bare = _COMMENT.sub("", line).strip()
    if bare:
        yield number, bare


def distinct(stated: Iterable[Stated]) -> tuple[Stated, ...]:
    """Each requirement once, from where it was stated first."""
    first: dict[Requirement, str] = {}
    for requirement, origin in stated:
        first.setdefault(requirement, origin)
    return tuple(Stated(*item) for item in first.items())


def collect(
    arguments: Iterable[str], files: Iterable[Path], project: Project
) -> tuple[Stated, ...]:
    """What was asked for: arguments and files, else the project's, else the default stack.

    Of a project the requirements of ``[tool.abilock]`` count, without them the dependencies of
    ``[project]``. Raises UsageError, also for files that hold no requirement where nothing else is
    asked for, and for dependencies that only a build of the project tells.
    """
    files = tuple(files)
    stated = [parse_requirement(text, "requested") for text in arguments]
    for path in files:
        stated += load_requirements(path)
    if stated:
        return distinct(stated)
    if read := list(map(str, files)):
        raise UsageError(
            f"{' and '.join(read)} {'holds' if len(read) == 1 else 'hold'} no requirement",
            hint="write one a line: name, name==1.2 or name>=1.2,<2",
        )
    if own := project.strings("requirements"):
        return distinct(parse_requirement(text, project.origin) for text in own)
    if project.dependencies is None:
        raise UsageError(
            f"{project.path}: the dependencies of [project] are dynamic: nothing says what to lock",
            hint="name requirements, or write them into [tool.abilock]: requirements = [...]",
        )
    if project.dependencies:
        origin = f"{project.path} [project]"
        return distinct(parse_requirement(text, origin) for text in project.dependencies)
    return tuple(parse_requirement(text, DEFAULT_ORIGIN) for text in DEFAULT_STACK)
