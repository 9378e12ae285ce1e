"""Pins of what is installed: ``torch==2.9.1`` there is the default index's file, not any build.

A build of a channel has its local version in its own metadata, and so ``pip freeze`` writes it.
"""

from __future__ import annotations

from collections.abc import Collection

from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

from resolver.dataclass import replace
from resolver.model.artifact import Artifact
from resolver.model.channel import DEFAULT_CHANNEL
from resolver.model.stated import Stated
from resolver.model.version import pinned, public_of
from resolver.solve.request import Request
from resolver.solve.workspace import Workspace


def as_installed(
    workspace: Workspace, wish: Request, names: Collection[NormalizedName]
) -> tuple[Request, tuple[str, ...]]:
    """The request with the pins of ``names`` held to the default index's files, and what to tell.

    A release that the default index does not list stays what it was: any build of it.
    """
    held: list[Stated] = []
    notes: list[str] = []
    for requirement, origin in wish.requirements:
        name, version = canonicalize_name(requirement.name), pinned(requirement.specifier)
        if name not in names or version is None or version.local is not None:
            continue
        if not any(a.version == version for a in default_files(workspace, name)):
            continue
        held.append(Stated(Requirement(f"{requirement.name}==={version}"), origin))
        if note := builds_note(workspace, requirement.name, f"{version}"):
            notes.append(note)
    return replace(wish, installed=tuple(held)), tuple(notes)


def default_files(workspace: Workspace, name: NormalizedName) -> list[Artifact]:
    """The wheels of a project on the default index."""
    return [
        artifact
        for listing in workspace.index.listings(name)
        if listing.channel == DEFAULT_CHANNEL
        for artifact in listing.artifacts
        if artifact.kind == "wheel"
    ]


def builds_note(workspace: Workspace, name: str, version: str) -> str | None:
    """That a pin means one of several builds; None where there is one alone."""
    catalog = workspace.catalog(canonicalize_name(name))
    public = next((p for p in catalog.publics if str(p) == version), None)
    others = sorted(
        {
            f"{artifact.version} ({artifact.channel})"
            for artifact in (() if public is None else catalog.group(public))
            if artifact.version.local is not None and public_of(artifact.version) == public
        }
    )
    if not others:
        return None
    return (
        f"{name}=={version} is the default index's file, as an installer writes it; other builds "
        f"of the release: {', '.join(others)}"
    )
