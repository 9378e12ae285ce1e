"""A set of files as a whole: libraries, collisions, leftovers, before anything is installed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.abi.link import WheelLink
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.evidence.load_role import role_of
from resolver.load.set_closure import WheelInSet, WheelMember
from resolver.load.wheel_set import check_set
from resolver.model.artifact import Artifact
from resolver.model.load_knowledge import find_rule
from resolver.model.reason import Reason
from resolver.model.release import Release
from resolver.model.stack import TORCH
from resolver.model.target import Target


class Links(Protocol):
    """The bytes of files that were read."""

    def link_of(self, artifact: Artifact) -> WheelLink | None:
        """What was read of a file, or of the sibling that stands in for it; None for neither."""
        ...

    def set_reasons(
        self, artifact: Artifact, files: Mapping[NormalizedName, Artifact]
    ) -> tuple[Reason, ...]:
        """What a read file finds, or lacks, on this machine and in a set, torch apart."""
        ...


def check_whole(
    base: KnowledgeBase,
    target: Target,
    artifacts: Iterable[Artifact],
    links: Links,
    *,
    complete: bool = True,
) -> tuple[Reason, ...]:
    """What the files of a set do to each other.

    Only the files that the solve has read count. Raises KnowledgeError.
    """
    files = tuple(artifacts)
    file = next((artifact for artifact in files if artifact.name == TORCH), None)
    torch = None if file is None else file.version
    wheels = [
        WheelInSet(
            name=artifact.name,
            subject=artifact.release,
            filename=artifact.filename,
            is_native=artifact.is_native,
            members=tuple(_members(links.link_of(artifact), target, torch)),
        )
        for artifact in files
    ]
    found = check_set(
        wheels,
        target,
        libraries=base.facts.libraries,
        system=base.system_libraries,
        preload=None
        if file is None
        else find_rule(base.preloads, file.version, file.build[0] if file.build else 0),
        torch=None if torch is None else Release(TORCH, torch),
        complete=complete,
    )
    held = {file.name: file for file in files}
    return (*found, *(reason for file in files for reason in links.set_reasons(file, held)))


def _members(
    link: WheelLink | None, target: Target, torch: Version | None
) -> Iterator[WheelMember]:
    for row in link.members if link is not None else ():
        facts = row.member.facts
        role = role_of(row.load, target.archs, torch)
        if facts is None or role == "skipped" or facts.machine != target.machine:
            continue
        yield WheelMember(
            path=row.member.path,
            needed=facts.needed,
            versions=facts.versions,
            paths=(*facts.rpath, *facts.runpath),
            load="required" if role is None else role.kind,
            group="" if role is None else role.group,
            choice="" if role is None else role.choice,
            optional=role is not None and role.optional,
            curated=role is not None,
            opens=() if role is None else role.opens,
        )
