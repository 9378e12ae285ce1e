"""Reasons about an extension and torch that rest on all of its symbols."""

from __future__ import annotations

from packaging.specifiers import SpecifierSet

from resolver.abi.history import Match
from resolver.abi.verdict import link_evidence, works_with
from resolver.evidence.stand_in import Read
from resolver.model.artifact import Artifact
from resolver.model.reason import Code, Reason, Severity, weakest
from resolver.model.release import Named, Release
from resolver.model.stack import TORCH


def no_torch(subject: Release, read: Read) -> Reason:
    """That no torch among the candidates will do."""
    works = works_with(read.link)
    return Reason(
        code=Code.MISSING_SYMBOL,
        subject=subject,
        object=Named(TORCH),
        needs=f"a torch that exports its {len(read.link.symbols)} symbols",
        found="none among the candidates",
        works_with=works,
        grade=read.grade,
        evidence=f"the undefined symbols of {read.link.wheel.filename}, compared with every "
        "torch in the symbol history",
        remedy=f"allow {works}" if works else "build it from source against your torch",
    )


def overdeclared(
    extension: Artifact, torch: Artifact, refused: SpecifierSet, read: Read, match: Match
) -> Reason:
    """That the metadata refuse a torch that the bytes link with."""
    works = works_with(read.link)
    return Reason(
        code=Code.METADATA_MISMATCH,
        severity=Severity.WARNING,
        subject=extension.release,
        object=torch.release,
        needs=f"torch{refused}, says its metadata",
        found=f"bytes that link with {works}",
        works_with=works,
        grade=weakest((read.grade, match.grade)),
        evidence=f"Requires-Dist of {extension.filename}; {link_evidence(read.link, match)}",
        remedy="its authors pin what they test: lift the pin with --override only to try",
    )
