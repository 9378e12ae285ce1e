"""What a file pins, of whichever tool it is; and whether it is a lock file at all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from packaging.markers import default_environment
from packaging.version import Version

from resolver.errors import DamagedData, UsageError
from resolver.files import read_start
from resolver.lockfile.lock_document import TAKEN, Kind, LockDocument, load_document
from resolver.lockfile.pin import LockFile, Reader
from resolver.lockfile.python_range import nearest_python
from resolver.lockfile.read_conda import conda_python, split_environment, stated_python
from resolver.lockfile.read_dockerfile import Image, parse_dockerfile
from resolver.lockfile.read_lock import read_lock
from resolver.lockfile.requirement_lines import Line, Lines, load_lines, parse_lines
from resolver.model.cuda import CudaVersion
from resolver.model.options import EACH_FORK, LockOptions
from resolver.model.target import Target

_LINES = (Kind.REQUIREMENTS, Kind.CONDA, Kind.DOCKERFILE)


def open_lock(path: Path, options: LockOptions = EACH_FORK) -> LockDocument:
    """A lock that is read whole. Raises UsageError where it is none, DamagedData where it is one
    and damaged.

    Markers are read as of this machine: what is pinned for a target is not judged.
    """
    document = load_document(path)
    if document.kind not in _LINES:
        here = {key: str(value) for key, value in default_environment().items()}
        read_lock(document, here, options)
        return document
    if options.said:
        raise UsageError(
            f"{path} has no extras and no groups",
            hint="leave --extra, --group, --all-extras and --environment out",
        )
    try:
        asked = [line for lines, *_ in _asked(document) for line in lines.asked]
        for line in asked:
            _ = line.digests  # a damaged one is told here
    except UsageError as error:
        if path.suffix in (".txt", ".in") or document.kind is not Kind.REQUIREMENTS:
            raise
        raise UsageError(
            f"{path} is no environment and no lock file: {str(error).splitlines()[0]}", hint=TAKEN
        ) from error
    if not asked and document.kind in (Kind.CONDA, Kind.DOCKERFILE):
        what = "hands pip no" if document.kind is Kind.CONDA else "installs no"
        raise UsageError(
            f"{path} {what} package that it names: there is nothing to check",
            hint="check the lock or the requirements that are installed there",
        )
    if not asked:
        raise UsageError(f"{path} names no package: there is nothing to check", hint=TAKEN)
    return document


def load_pins(
    path: Path | LockDocument, target: Target, options: LockOptions = EACH_FORK
) -> tuple[LockFile, ...]:
    """The forks of a lock, or the one of a file of pinned requirements.

    Raises UsageError, also for a choice that it does not have, and DamagedData.
    """
    document = load_document(path) if isinstance(path, Path) else path
    if document.kind in _LINES:
        locks: tuple[LockFile, ...] = (_read_lines(document, target),)
    else:
        locks = read_lock(document, target.environment, options)
    if not any(lock.pins or lock.left_out or lock.refused for lock in locks):
        raise UsageError(
            f"{document.path} pins no package for this target: there is nothing to check"
        )
    return locks


def locked_python(
    document: LockDocument, machine: str, running: Version, options: LockOptions = EACH_FORK
) -> tuple[str, str] | None:
    """The Python that a lock is for, near the running one, and by what; None where it says none.

    ``.python-version`` beside a ``uv.lock`` counts, as it does for uv.
    """
    stated, exact = _stated_python(document, machine, options)
    if exact is not None:
        return exact, f"the Python that {document.path} installs"
    markers = document.data.get("supported-markers") or document.data.get("environments") or ()
    markers = [text for text in markers if isinstance(text, str)]
    if stated is None and not markers:
        return None
    if document.kind is Kind.UV and (chosen := _python_version(document.path.parent)):
        running = chosen

    def fits(python: Version) -> bool:
        reader = Reader(document.path, replace(_ANY, python=python, machine=machine).environment)
        return not markers or any(map(reader.holds, markers))

    found = nearest_python(stated or "", running, fits)
    if found is None:
        return None
    what = f"for Python {stated}" if stated and not markers else "for other environments"
    return str(found), f"{document.path} is {what}"


# Its Python and machine are replaced; markers ask for nothing else of it.
_ANY = Target(cuda=CudaVersion(13, 0), archs=(), python=Version("3.12.0"))


def _python_version(directory: Path) -> Version | None:
    try:
        line = read_start(directory / ".python-version", 4096).split()[0]
        return Version(line)
    except (OSError, ValueError, IndexError):  # InvalidVersion is a ValueError
        return None


def _stated_python(
    document: LockDocument, machine: str, options: LockOptions
) -> tuple[str | None, str | None]:
    """A range of Pythons, or exactly one; each None where it is not said."""
    data = document.data
    match document.kind:
        case Kind.UV | Kind.PYLOCK:
            stated: object = data.get("requires-python")
        case Kind.POETRY:
            stated = data.get("metadata", {}).get("python-versions")
        case Kind.PDM:
            targets = data["metadata"].get("targets", [])
            pythons = [target.get("requires_python") for target in targets]
            stated = " || ".join(pythons) if pythons and all(pythons) else None
        case Kind.PIPFILE:
            version = data["_meta"].get("requires", {}).get("python_version")
            stated = f"=={version}.*" if version else None
        case Kind.CONDA:
            return None, stated_python(split_environment(data)[0])
        case Kind.DOCKERFILE:
            image = parse_dockerfile(document.text)
            return None, image.python if image is not None else None
        case Kind.PIXI | Kind.CONDA_LOCK:
            environment = {str(k): str(v) for k, v in default_environment().items()}
            locks = read_lock(document, {**environment, "platform_machine": machine}, options)
            return None, next(filter(None, (conda_python(lock.conda) for lock in locks)), None)
        case _:
            return None, None
    return (stated if isinstance(stated, str) else None), None


# files that are lines

_Asked = Iterable[tuple[Lines, tuple[str, ...], str]]
# What uv chooses a build of by ``--torch-backend``, as far as it is pinned without one.
_PYTORCH = frozenset({"torch", "torchvision", "torchaudio"})


def _asked(document: LockDocument) -> _Asked:
    """The lines of a file, in parts that share the addresses of their indexes, and uv's backend."""
    if document.kind is Kind.DOCKERFILE:
        image = _image(document)
        return [
            (
                parse_lines(
                    install.requirements, f"{document.path}, line {install.line}", document.path
                ),
                tuple(install.indexes),
                install.backend,
            )
            for install in image.installs
        ]
    if document.kind is Kind.CONDA:
        _, texts = split_environment(document.data)
        lines = parse_lines(texts, f"{document.path}, pip", document.path)
    else:
        lines = load_lines(document.path)
    return [(lines, tuple(address for _, address in lines.indexes), "")]


def _image(document: LockDocument) -> Image:
    image = parse_dockerfile(document.text)
    if image is None:
        raise DamagedData(f"{document.path} has no FROM", hint="write its first stage")
    return image


def _read_lines(document: LockDocument, target: Target) -> LockFile:
    """Raises UsageError, naming all lines that pin nothing, for files that are to pin all."""
    reader = Reader(document.path, target.environment)
    strict = document.kind is Kind.REQUIREMENTS
    loose = list[str]()
    indexes: dict[str, str] = {}
    for lines, addresses, backend in _asked(document):
        for line in lines.asked:
            if backend and line.name in _PYTORCH:
                # The machine that it is built on decides which build that is.
                reader.leave_out(f"{line.requirement}", f"of --torch-backend {backend}, by machine")
            elif target.holds(line.marker):
                _add_line(line, reader, addresses, loose, latest=not strict)
        reader.notes += lines.notes
        loose += lines.unread
        indexes |= {address: origin for origin, address in lines.indexes}
        if document.kind is Kind.DOCKERFILE:
            indexes |= dict.fromkeys(addresses, f"{document.path}")
    if loose and strict:
        name = document.path.name
        many = "\n  ".join([f"{name} is no lock, {len(loose)} lines pin nothing:", *loose])
        raise UsageError(
            many if loose[1:] else f"{loose[0]}, and {name} is no lock",
            hint="lock it first, or name a pylock.toml, uv.lock or poetry.lock",
        )
    reader.left_out += len(loose)
    reader.notes += [f"{text}: not judged" for text in loose]
    if document.kind is Kind.CONDA:
        reader.conda = dict.fromkeys(split_environment(document.data)[0])
    if document.kind is Kind.DOCKERFILE:
        image = _image(document)
        reader.notes.append(f"what the image {image.base} holds was not judged")
        reader.notes += [
            f"{document.path}, line {install.line}: -r {file} was not read: check it by itself"
            for install in image.installs
            for file in install.files
        ]
    named = tuple((origin, address) for address, origin in indexes.items())
    return replace(reader.lock(document.kind), indexes=named)


def _add_line(
    line: Line, reader: Reader, indexes: tuple[str, ...], loose: list[str], *, latest: bool
) -> None:
    if line.requirement is None:
        reader.leave_out(line.whose, "its address names no wheel")
        return
    if (version := line.version) is None:
        loose.append(f"{line.origin}: {line.requirement} is not pinned")
        return
    if latest:  # a later command replaces what an earlier one installed
        reader.pins.pop(line.name, None)
    reader.add(line.name, version, line.digests, False, line.url, line.path, indexes)
