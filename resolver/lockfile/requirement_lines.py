"""The lines of a requirements file: one reading of pip's format for all that take such files.

What cannot be used is told at once, with its line. What another tool would do and abilock does not
(an index, an install from source) is left out with a note. Source: pip's requirements file format.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from packaging.markers import InvalidMarker, Marker
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import (
    NormalizedName,
    canonicalize_name,
)
from packaging.version import Version

from resolver.dataclass import dataclass, field, replace
from resolver.errors import DamagedData, UsageError
from resolver.files import read_text
from resolver.index.address import redact
from resolver.model.dependency import parse_dependency
from resolver.model.filename import parse_wheel_name
from resolver.model.pattern import later
from resolver.model.version import pinned

_COMMENT = later(r"(^|\s+)#.*$")
_HASH = later(r"\s--hash[= ]\s*(\S+)")
_BUILD = later(r"\s--(?:config-settings?|global-option|install-option)[= ]\s*\S+")
_OPTION = later(r"(?P<name>--[\w-]+|-[A-Za-z])[ =]*(?P<value>.*)")
_DIRECT = later(r"(?P<name>[A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*@\s*(?P<address>\S+)")
_ADDRESS = later(r"(?P<place>[a-z][a-z+]*:/\S+|[./][^;]*|\S+\.whl(?:\[[^\]]*\])?|\.)", re.I)
# pip takes a semicolon for part of an address unless a space is beside it.
_MARKED = later(r"\s+;\s*|;\s+")
_EGG = later(r"#(?:.*&)?egg=(?P<name>[A-Za-z0-9][\w.-]*)")

# More of them say that the file is none of requirements.
_MOST = 20
_FORM = "write it as name, name==1.2 or name>=1.2,<2 (PEP 508)"
_INCLUDES = ("-r", "--requirement")
_CONSTRAINTS = ("-c", "--constraint")
_EDITABLES = ("-e", "--editable")
INDEX_OPTIONS = ("-i", "--index-url", "--extra-index-url")
# What options of pip say, and how abilock is told the same.
_TOLD = {
    "-i": "give it with --index default=URL",
    "--index-url": "give it with --index default=URL",
    "--extra-index-url": "give it with --index NAME=URL",
    "-f": "give a directory with --wheelhouse DIR, an address as ABILOCK_FIND_LINKS",
    "--find-links": "give a directory with --wheelhouse DIR, an address as ABILOCK_FIND_LINKS",
    "--no-index": "give --offline, or the channels that count with --channel",
    "--pre": "give it as an option, where pre-releases are wanted",
    "--no-binary": "only wheels are locked",
    "--only-binary": "only wheels are locked anyway",
    "--prefer-binary": "only wheels are locked anyway",
    "--require-hashes": "every file of a lock has its hash anyway",
    "--trusted-host": "certificates are checked, SSL_CERT_FILE names more of them",
    "--use-feature": "it is pip's own",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line that asks for a package.

    ``requirement`` is what it asks of an index: of a wheel by address the release that the address
    names; None where that names none. ``whose`` is the package, or words for it. ``url`` and
    ``path`` are where the wheel is that the line names. Addresses may hold passwords: they are
    never told.
    """

    origin: str
    text: str
    whose: str
    requirement: Requirement | None
    hashes: tuple[str, ...] = ()
    url: str | None = None
    path: str | None = None
    marker: Marker | None = None

    @property
    def by_address(self) -> bool:
        """Whether it names a place, and not what an index lists."""
        return self.requirement is None or self.url is not None or self.path is not None

    @property
    def name(self) -> NormalizedName:
        """The project, where the line says one."""
        return canonicalize_name(self.whose)

    @property
    def version(self) -> Version | None:
        """The release that it pins; None where it pins none."""
        return None if self.requirement is None else pinned(self.requirement.specifier)

    @property
    def digests(self) -> frozenset[str]:
        """The sha256 that files may have. Raises DamagedData for a hash that is none."""
        return frozenset(_digests(self.hashes, self.origin))

    @property
    def left_out(self) -> str:
        """The note on a line whose address says no release."""
        return f"{self.origin}: {self.whose} is left out, its address names no release"


@dataclass(slots=True)
class Lines:
    """What a file asks for, ``-r`` lines followed; the limits of its ``-c`` lines; what was not
    used. ``indexes`` are the addresses of its index lines, each with its origin."""

    asked: list[Line] = field(default_factory=list)
    limits: list[Line] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    indexes: list[tuple[str, str]] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)

    @property
    def index_notes(self) -> list[str]:
        """That no index line of a file is used: for commands that ask the user's indexes alone."""
        return [
            f"{origin} {redact(address)} is not read from a file: {_TOLD[origin.split()[-1]]}"
            for origin, address in self.indexes
        ]


def load_lines(path: Path) -> Lines:
    """Read a file and those that it includes. Raises UsageError, naming every line that is wrong.

    Raises DamagedData for an address with another wheel than the one it is given for.
    """
    found, wrong = Lines(), list[tuple[str, str]]()
    _load(path, (), found, found.asked, wrong)
    _tell(path, wrong)
    return found


def parse_lines(texts: Iterable[str], origin: str, path: Path) -> Lines:
    """The lines that a file of another form holds, where they are plain; ``origin`` is where.

    What is no requirement is in ``unread``. Raises as load_lines for files that are included.
    """
    found, wrong = Lines(), list[tuple[str, str]]()
    for text in texts:
        for _, line in logical_lines(text):
            try:
                _take(line, origin, path, (), found, found.asked, wrong)
            except DamagedData as error:
                wrong.append((error.message, ""))
    found.unread = [message for message, _ in wrong]
    return found


def _tell(path: Path, wrong: Sequence[tuple[str, str]]) -> None:
    if len(wrong) == 1:
        message, hint = wrong[0]
        raise UsageError(message, hint=hint)
    if wrong:
        listed = "".join(f"\n  {message}" for message, _ in wrong[:_MOST])
        listed += f"\n  and {len(wrong) - _MOST} more" if len(wrong) > _MOST else ""
        raise UsageError(f"{path}: {len(wrong)} lines cannot be used{listed}", hint=wrong[0][1])


def _load(
    path: Path,
    above: tuple[str, ...],
    found: Lines,
    kept: list[Line],
    wrong: list[tuple[str, str]],
) -> None:
    try:
        place = os.path.realpath(path)
    except ValueError as error:  # a NUL in it
        raise UsageError(f"{str(path)!r} is no file name", hint="check the line") from error
    if place in above:
        raise UsageError(f"{path} includes itself", hint="remove the line that closes the ring")
    for number, line in logical_lines(_text(path)):
        _take(line, f"{path}, line {number}", path, (*above, place), found, kept, wrong)


def _take(
    line: str,
    origin: str,
    path: Path,
    above: tuple[str, ...],
    found: Lines,
    kept: list[Line],
    wrong: list[tuple[str, str]],
) -> None:
    bare = _BUILD.sub("", _HASH.sub("", line)).strip()
    option = _OPTION.fullmatch(bare)
    name, value = (option["name"], option["value"].strip()) if option else ("", "")
    if name in (*_INCLUDES, *_CONSTRAINTS) and value:
        inner = found.limits if name in _CONSTRAINTS else kept
        _load(path.parent / value, above, found, inner, wrong)
    elif name in INDEX_OPTIONS and "://" in value:
        found.indexes.append((f"{origin}: {name}", value))
    elif name in _TOLD:
        said = f" {redact(value)}" if "://" in value else ""
        found.notes.append(f"{origin}: {name}{said} is not read from a file: {_TOLD[name]}")
    elif option is not None and name not in _EDITABLES:
        what = f"{origin}: the option {bare.split()[0]!r} is not read from a file"
        wrong.append((what, "give indexes with --index, constraints with -c"))
    else:
        try:
            kept.append(parse_line(bare, origin, _HASH.findall(line), path.absolute().parent))
        except UsageError as error:
            wrong.append((error.message, error.hint or ""))


def _text(path: Path) -> str:
    try:
        return read_text(path, encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(
            f"cannot read {path}: {(error.strerror or str(error)).lower()}",
            hint="check the file name",
        ) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text: {error.reason}") from error


def _digests(texts: Iterable[str], origin: str) -> Iterator[str]:
    for text in texts:
        try:
            from resolver.lockfile.pin import parse_digest

            digest = parse_digest(text)
        except ValueError as error:
            raise DamagedData(f"{origin}: {error}", hint="write it again with its tool") from error
        if digest is not None:
            yield digest


def parse_line(
    text: str, origin: str, hashes: Sequence[str] = (), directory: Path = Path()
) -> Line:
    """One line that is no option but ``-e``; paths are relative to ``directory``.

    Raises UsageError where it is no requirement, and DamagedData for an address with another
    wheel than the one it is given for.
    """
    option = _OPTION.fullmatch(text)
    if option is not None and option["name"] in _EDITABLES:
        egg = _EGG.search(option["value"])
        whose = egg["name"] if egg else "an editable install"
        return Line(origin=origin, text=text, whose=whose, requirement=None)
    bare, *rest = _MARKED.split(text, maxsplit=1)
    direct, place = _DIRECT.match(bare), _ADDRESS.fullmatch(bare.strip())
    if direct or place:
        line = (
            _addressed(text, origin, hashes, directory, direct["address"], direct["name"])
            if direct
            else _addressed(text, origin, hashes, directory, bare.strip(), None)
        )
        return line if not rest else _marked(line, rest[0])
    return Line(
        origin=origin,
        text=text,
        whose=(requirement := _requirement(text, origin)).name,
        requirement=requirement,
        hashes=tuple(hashes),
        marker=requirement.marker,
    )


def _requirement(text: str, origin: str) -> Requirement:
    try:
        return parse_dependency(text)
    except InvalidRequirement as error:
        detail = str(error).splitlines()[0]
        raise UsageError(
            f"{origin}: {text!r} is not a requirement: {detail}", hint=_FORM
        ) from error


def _addressed(
    text: str,
    origin: str,
    hashes: Sequence[str],
    directory: Path,
    address: str,
    named: str | None,
) -> Line:
    """A line that says where its package is: with the release that a wheel's name says."""
    try:
        parts = urlsplit(address)
    except ValueError:  # no address
        parts = urlsplit("")
    filename = unquote(parts.path).rsplit("/", 1)[-1]
    if not filename.endswith(".whl"):
        egg = _EGG.search(address)
        whose = named or (egg["name"] if egg else "what is installed from a place")
        return Line(origin=origin, text=text, whose=whose, requirement=None)
    try:
        name, version, _build, _tags = parse_wheel_name(filename)
    except ValueError as error:  # InvalidWheelFilename, or too long a number
        raise UsageError(
            f"{origin}: {filename!r} is not a wheel's name: {error}", hint=_FORM
        ) from error
    if named is not None and canonicalize_name(named) != name:
        raise DamagedData(f"{origin}: {filename} is no wheel of {canonicalize_name(named)}")
    pin = Requirement(f"{name}=={version}")
    fragment = [parts.fragment.replace("=", ":", 1)] if "sha256=" in parts.fragment else ()
    local = parts.scheme in ("", "file")
    place = unquote(parts.path)
    return Line(
        origin=origin,
        text=text,
        whose=name,
        requirement=pin,
        hashes=(*hashes, *fragment),
        url=None if local else parts._replace(fragment="").geturl(),
        path=(place if parts.scheme else str(directory / place)) if local else None,
    )


def _marked(line: Line, text: str) -> Line:
    """The line where its marker holds. Raises UsageError for one that is none."""
    try:
        marker = Marker(text)
    except InvalidMarker as error:
        detail = str(error).splitlines()[0]
        raise UsageError(
            f"{line.origin}: {text!r} is not a marker: {detail}", hint=_FORM
        ) from error
    if line.requirement is not None:
        line.requirement.marker = marker
    return replace(line, marker=marker)


def find_left_out(path: str, text: str) -> tuple[str, ...]:
    """The notes on the lines of ``pip freeze`` that say no release; other text is passed over."""
    notes = []
    for number, line in logical_lines(text):
        if not line.startswith("-") and not _DIRECT.match(line):
            continue
        try:
            parsed = parse_line(line, f"{path}, line {number}")
        except (UsageError, DamagedData):
            continue
        if parsed.requirement is None:
            notes.append(parsed.left_out)
    return tuple(notes)


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
