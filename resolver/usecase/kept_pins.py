"""The pins of an existing lock that a new one keeps, and those that it may not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from resolver.dataclass import dataclass, field
from resolver.errors import DamagedData, UsageError
from resolver.lockfile.pylock import load_lock, lock_target, locked_versions, target_table
from resolver.lockfile.requirements_txt import parse_requirement
from resolver.model.stated import Stated
from resolver.model.target import Target

# Pins hold for one machine. A glibc or a driver decides which files fit, and those are judged anew.
_SAME = ("cuda", "arch", "python", "machine")
_UPGRADE = "--upgrade-package"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptPins:
    """Versions to keep by project; ``constraints`` are those of ``--upgrade-package NAME<2``.

    ``before`` are all pins of the lock, kept or not; None where there is none.
    """

    before: Mapping[NormalizedName, Version] | None = None
    versions: Mapping[NormalizedName, Version] = field(default_factory=dict)
    constraints: tuple[Stated, ...] = ()
    notes: tuple[str, ...] = ()


def load_kept(
    path: Path | None, upgrade: Iterable[str], target: Target, *, forget: bool = False
) -> KeptPins:
    """The pins of the lock at ``path``, but those of ``upgrade``; none where there is no lock.

    With ``forget`` none is kept, and a lock that cannot be read is as good as none.

    A lock that was made for another target is not kept, and a note says so. Raises UsageError for
    what is no name or requirement in ``upgrade``, and as ``load_lock`` does.
    """
    asked = tuple(parse_requirement(text, _UPGRADE) for text in upgrade)
    for requirement, _ in asked:
        if requirement.extras or requirement.marker is not None:
            raise UsageError(
                f"{_UPGRADE} {requirement}: an extra or a marker says nothing there",
                hint=f"write {_UPGRADE} '{requirement.name}{requirement.specifier}'",
            )
    constraints = tuple(stated for stated in asked if stated[0].specifier)
    if path is None or not path.is_file():
        return KeptPins(constraints=constraints)
    try:
        lock = load_lock(path)
    except (DamagedData, UsageError):
        if not forget:
            raise
        return KeptPins(constraints=constraints)
    before = pins = {canonicalize_name(name): pin for name, pin in locked_versions(lock).items()}
    free = {canonicalize_name(requirement.name) for requirement, _ in asked}
    notes = [f"{_UPGRADE} {name}: {path} has no pin of it" for name in sorted(free - pins.keys())]
    if other := ", ".join(_other(lock_target(lock), target)):
        notes.append(f"the pins of {path} are not kept: it was made for {other}")
        pins = {}
    if forget:
        pins, notes = {}, []
    return KeptPins(
        before=before,
        versions={name: version for name, version in pins.items() if name not in free},
        constraints=constraints,
        notes=tuple(notes),
    )


def _other(stated: Mapping[str, Any], target: Target) -> Iterator[str]:
    """What a lock's target has otherwise; a lock of another tool states none."""
    here = target_table(target)
    for key in _SAME:
        if key in stated and stated[key] != here.get(key):
            value = stated[key]
            yield f"{key} {', '.join(map(str, value)) if isinstance(value, list) else value}"
