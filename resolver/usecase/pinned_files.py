"""What a release pins, and what these pin, before anything is solved: are there files of it?"""

from __future__ import annotations

from collections.abc import Iterable

from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.dataclass import dataclass, field
from resolver.model.artifact import Artifact, Metadata
from resolver.model.stack import TORCH
from resolver.model.version import public_of
from resolver.solve.pinned_stack import StackNames, exact_pins, pinned_twice
from resolver.solve.workspace import Workspace


@dataclass(slots=True)
class PinnedFiles:
    """The pins of one release on one target.

    ``direct`` are its own, ``twice`` those that it pins to several versions. ``sources`` have no
    wheel for any machine; ``missing`` is the first that has wheels, and none for this target: then
    there is no set.
    """

    direct: dict[NormalizedName, Version] = field(default_factory=dict)
    twice: dict[NormalizedName, tuple[Version, ...]] = field(default_factory=dict)
    sources: dict[NormalizedName, Version] = field(default_factory=dict)
    missing: str | None = None


def pinned_files(
    workspace: Workspace,
    stack: StackNames,
    project: NormalizedName,
    version: Version,
    extras: Iterable[str],
) -> PinnedFiles:
    """Walk the exact pins of a release through the stack; torch's own are not followed.

    Raises IndexFailure where a listing does not come. Cost: listings and metadata, nothing solved.
    """
    found = PinnedFiles()
    waiting: dict[NormalizedName, tuple[Version, tuple[str, ...]]] = {
        project: (version, tuple(extras))
    }
    done: set[NormalizedName] = set()
    while waiting and found.missing is None:
        name, (pin, wanted) = waiting.popitem()
        done.add(name)
        file = file_of(workspace, name, pin)
        if file is None:
            _note(workspace, name, pin, found)
            continue
        if name != project and (name not in stack or name == TORCH):
            continue
        metadata = workspace.metadata(file)
        if not isinstance(metadata, Metadata):
            continue
        pins = exact_pins(metadata, workspace.target, wanted)
        if name == project:
            found.direct = pins
            found.twice = pinned_twice(metadata, workspace.target, wanted)
        waiting |= {other: (pins[other], ()) for other in pins if other not in done}
    return found


def file_of(workspace: Workspace, project: NormalizedName, pin: Version) -> Artifact | None:
    """The wheel of a pinned release that the target takes; None where it takes none."""
    pinned = SpecifierSet(f"=={pin}")
    group = workspace.catalog(project).group(public_of(pin))
    return next(
        (
            file
            for file in group
            if file.kind == "wheel" and pinned.contains(file.version, prereleases=True)
        ),
        None,
    )


def _note(workspace: Workspace, name: NormalizedName, pin: Version, found: PinnedFiles) -> None:
    """Whether what the target cannot take has a wheel for another, a source alone, or nothing."""
    pinned = SpecifierSet(f"=={pin}")
    kinds = {
        file.kind
        for listing in workspace.index.listings(name)
        for version in listing.versions
        if pinned.contains(version, prereleases=True)
        for file in listing.files(version)
    }
    if "wheel" in kinds:
        target = workspace.target
        found.missing = (
            f"no wheel of {name} {pin} for Python {target.python_short} on Linux {target.machine}"
        )
    elif kinds:
        found.sources[name] = pin
