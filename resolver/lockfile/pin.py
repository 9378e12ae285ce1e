"""What a lock of any tool says in the end: pins, and what of it is none."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from packaging.markers import InvalidMarker
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from resolver.dataclass import dataclass, field, replace
from resolver.lockfile.forks import Fork
from resolver.lockfile.marker_text import MarkerTexts
from resolver.lockfile.python_range import allows
from resolver.model.version import parse_version

_NAMED = 6
_OF_SEVERAL = {
    "it is no file of an index": "they are no files of an index",
    "its address names no wheel": "their addresses name no wheels",
}
_SHA256 = re.compile(r"[0-9a-fA-F]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """One package of a lock: its version, and the sha256 of the files that it may be.

    ``digests`` is empty where the lock has none. ``local`` says that it is no file of an index: a
    directory, a repository, an archive. ``url`` and ``path`` are set for a wheel that is named by
    its address or place. ``indexes`` are the addresses that the lock looks at beside or in place
    of the default index, the first one first. ``by_extra`` says that it comes with extras alone
    that nobody named.
    """

    name: NormalizedName
    version: Version
    digests: frozenset[str] = frozenset()
    local: bool = False
    url: str | None = None
    path: str | None = None
    indexes: tuple[str, ...] = ()
    by_extra: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LockFile:
    """The pins of one target, by name; ``notes`` say what was left out and why.

    ``fork`` names the extras and groups that are meant, where the lock has several choices.
    ``conda`` are the packages that conda installs beside these, as ``name version``. ``indexes``
    are addresses for all pins, each with the line that names it. ``refused`` says for which
    targets the lock alone is, where that is not this one: what it needs, and what was found.
    ``forks_left`` are forks of the lock that are too many to be judged.
    """

    kind: str
    pins: tuple[Pin, ...]
    notes: tuple[str, ...] = ()
    left_out: int = 0
    fork: str = ""
    conda: tuple[str, ...] = ()
    indexes: tuple[tuple[str, str], ...] = ()
    refused: tuple[str, str] | None = None
    forks_left: int = 0


@dataclass(slots=True)
class Reader:
    """The pins of one fork, as they are read. ``active`` are extras as markers name them."""

    path: Path
    environment: Mapping[str, str]
    fork: Fork = field(default_factory=Fork)
    active: frozenset[str] = frozenset()
    pins: dict[str, Pin] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    without: dict[str, list[str]] = field(default_factory=dict)
    left_out: int = 0
    twice: set[str] = field(default_factory=set)
    conda: dict[str, None] = field(default_factory=dict)
    by_extras: set[str] = field(default_factory=set)
    refused: tuple[str, str] | None = None
    markers: MarkerTexts | None = None

    def leave_out(self, name: str, why: str) -> None:
        """Say that a package is not among the pins."""
        self.without.setdefault(why, []).append(name)
        self.left_out += 1

    def holds(self, marker: object) -> bool:
        """Whether a marker holds on the target; one that is none counts as holding, with a note."""
        if not isinstance(marker, str) or not marker.strip():
            return True
        if self.markers is None:
            self.markers = MarkerTexts(self.environment)
        chosen = {kind: self.fork.names(kind) for kind in ("extra", "group")}
        fork = {"extras": chosen["extra"], "dependency_groups": chosen["group"]}
        try:
            return self.markers.holds(marker, self.active, fork)
        except (InvalidMarker, RecursionError):
            self.notes.append(f"{self.path}: {marker!r} is not a marker and was taken as true")
            return True

    def refuse(self, requires_python: object, markers: Iterable[object]) -> None:
        """Take down that the lock is for other Pythons, or for none of its environments here."""
        python = self.environment["python_full_version"]
        if isinstance(requires_python, str) and not allows(requires_python, Version(python)):
            self.refused = (f"Python {requires_python}, as the lock says", f"Python {python}")
        stated = [marker for marker in markers if isinstance(marker, str)]
        if stated and self.refused is None and not any(map(self.holds, stated)):
            machine, system = self.environment["platform_machine"], self.environment["sys_platform"]
            self.refused = (
                f"one of the environments of the lock: {'; '.join(stated)}",
                f"Python {python}, {system}, {machine}",
            )

    def add(
        self,
        name: str,
        version: object,
        digests: frozenset[str] = frozenset(),
        local: bool = False,
        url: str | None = None,
        path: str | None = None,
        indexes: tuple[str, ...] = (),
    ) -> None:
        parsed = parse_version(str(version))
        if parsed is None:
            self.leave_out(f"{name} {version}", "not a version")
            return
        if path is not None:
            path = str(self.path.absolute().parent / path)
        key = canonicalize_name(name)
        pin = Pin(
            name=key,
            version=parsed,
            digests=digests,
            local=local,
            url=url,
            path=path,
            indexes=indexes,
        )
        other = self.pins.setdefault(key, pin)
        if other != pin:
            self.twice.add(key)
            why = f"the lock pins it for this target beside {other.version}, which was judged"
            self.leave_out(f"{name} {version}", why)

    def lock(self, kind: str) -> LockFile:
        """What was read."""
        return LockFile(
            kind=kind,
            pins=tuple(
                replace(self.pins[name], by_extra=name in self.by_extras)
                for name in sorted(self.pins)
            ),
            notes=tuple(
                dict.fromkeys(
                    [
                        *self.notes,
                        *(left_out_note(names, why) for why, names in self.without.items()),
                    ]
                )
            ),
            left_out=self.left_out,
            fork=self.fork.name,
            conda=tuple(self.conda),
            refused=self.refused,
            forks_left=self.fork.beside,
        )


def left_out_note(names: Sequence[str], why: str) -> str:
    """That packages were left out, for one reason: ``a, b and 2 more were left out: ...``."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED + 1 else ""
    listed = names[:_NAMED] if more else names
    if not names[1:]:
        return f"{names[0]} was left out: {why}"
    return f"{', '.join(listed)}{more} were left out: {_OF_SEVERAL.get(why, why)}"


def is_wheel(place: object) -> bool:
    """Whether an address or a path names a wheel."""
    return str(place or "").partition("#")[0].partition("?")[0].endswith(".whl")


def parse_digest(text: str) -> str | None:
    """The sha256 of ``sha256:...``, None for another algorithm. Raises ValueError for none."""
    kind, colon, digest = text.partition(":")
    if colon and kind != "sha256":
        return None
    if not colon or not _SHA256.fullmatch(digest):
        raise ValueError(f"{text!r} is not a sha256")
    return digest.lower()


def sha256_of(values: object) -> str | None:
    """The sha256 of a text as above, or of a table of hashes. Raises ValueError as above."""
    if isinstance(values, str):
        return parse_digest(values)
    digest = values.get("sha256") if isinstance(values, dict) else None
    return parse_digest(f"sha256:{digest}") if digest is not None else None


def digests_of(files: object, key: str) -> frozenset[str]:
    """The sha256 of a list of files, each with its hash below ``key``. Raises ValueError."""
    rows = files if isinstance(files, list) else []
    return frozenset(digest for row in rows if (digest := sha256_of(row.get(key))) is not None)
