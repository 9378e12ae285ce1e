"""Which wheels are read: those that belong to the GPU's stack, whoever they depend on.

A wheel belongs to it by its project (curated, or by its name) or by what its metadata require:
torch or a wheel of NVIDIA's. Of projects that are known to need the C and C++ libraries alone
nothing is read. Of all others a few small reads tell, as long as their number stays within bounds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from threading import Lock

from packaging.utils import NormalizedName, canonicalize_name

from resolver.model.artifact import Artifact, Metadata
from resolver.model.knowledge import Knowledge
from resolver.model.load_knowledge import LoadRule, NativeProjects
from resolver.model.stack import NO_EXTENSIONS, TORCH
from resolver.model.target import Target

# onnxruntime-gpu, cupy-cuda12x, transformer-engine-cu12, jax-cuda13-plugin, nvidia-cudnn-frontend.
_GPU_NAME = re.compile(r"(^|-)(cuda\d*x?|cu\d\d\d?|gpu|nvidia|cudnn|tensorrt|nccl)(-|$)")
_GPU_WHEEL = re.compile(r"nvidia-|cuda-(toolkit|bindings|python)$|tensorrt")
# Wheels of projects that nobody listed: so many files of one project, so many in a run.
_MOST_OF_PROJECT = 2
_MOST_UNLISTED = 24


class NativeScope:
    """Decides for one target; counts what is read of projects that nobody listed.

    ``providers`` bring NVIDIA's libraries: what they export is measured once for all.
    """

    def __init__(
        self,
        known: Knowledge,
        rules: Iterable[LoadRule],
        natives: Iterable[NativeProjects],
        target: Target,
    ) -> None:
        names = _named(known, rules)
        rows = tuple(natives)
        self._system = _projects(rows, "system") - names
        self._torch = frozenset(names) - NO_EXTENSIONS
        providers = {library.project for library in known.libraries}
        self._gpu = (self._torch | _projects(rows, "gpu")) - providers
        self._outside = NO_EXTENSIONS | providers
        self._target = target
        self._lock = Lock()
        self._unlisted: dict[NormalizedName, set[str]] = {}

    def is_named(self, project: NormalizedName) -> bool:
        """Whether a project's wheels are known to link with torch."""
        return project in self._torch

    def is_listed(self, artifact: Artifact) -> bool:
        """Whether a wheel is read for its project's sake, whatever its metadata say."""
        if artifact.name in self._outside or not artifact.is_native:
            return False
        return artifact.name in self._gpu or (
            artifact.name not in self._system and _GPU_NAME.search(artifact.name) is not None
        )

    def is_of_stack(self, artifact: Artifact, metadata: Metadata) -> bool:
        """Whether a wheel belongs to the GPU's stack: what it needs decides, and is to be read."""
        if artifact.name in self._outside or not artifact.is_native:
            return False
        return self.is_listed(artifact) or any(
            name == TORCH or (artifact.name not in self._system and _GPU_WHEEL.match(name))
            for name in self._required(metadata)
        )

    def is_worth_a_look(self, artifact: Artifact) -> bool:
        """Whether a wheel of a project that nobody listed is read: the first few of a run are."""
        name = artifact.name
        if not artifact.is_native or name in self._outside or name in self._system:
            return False
        key = artifact.sha256 or artifact.filename
        with self._lock:
            looked = self._unlisted.get(name, set())
            if key in looked:
                return True
            count = sum(map(len, self._unlisted.values()))
            if len(looked) >= _MOST_OF_PROJECT or count >= _MOST_UNLISTED:
                return False
            self._unlisted.setdefault(name, set()).add(key)
            return True

    def _required(self, metadata: Metadata) -> Iterable[NormalizedName]:
        return (
            canonicalize_name(requirement.name)
            for requirement in metadata.requires
            if self._target.holds(requirement.marker)
        )


def listed_projects(
    known: Knowledge, rules: Iterable[LoadRule], natives: Iterable[NativeProjects]
) -> tuple[NormalizedName, ...]:
    """The projects whose wheels are read whoever they depend on, sorted."""
    outside = NO_EXTENSIONS | {library.project for library in known.libraries}
    return tuple(sorted((_named(known, rules) | _projects(natives, "gpu")) - outside))


def _named(known: Knowledge, rules: Iterable[LoadRule]) -> set[NormalizedName]:
    names = {name for channel in known.channels for name in channel.projects}
    # What is never loaded is no reason to read a project.
    return names | {name for rule in rules if rule.load != "never" for name in rule.projects}


def _projects(rows: Iterable[NativeProjects], needs: str) -> frozenset[NormalizedName]:
    return frozenset(name for row in rows if row.needs == needs for name in row.projects)
