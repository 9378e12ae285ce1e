"""What the bytes of wheels need, and which torch they link with."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from resolver.abi.inspection import (
    Comparison,
    Inspection,
    compare_members,
    has_more,
    inspect_facts,
)
from resolver.abi.wheel import WheelFacts
from resolver.dataclass import dataclass
from resolver.errors import AbilockError, IndexFailure, UsageError
from resolver.lockfile.requirements_txt import parse_requirement
from resolver.model.target import Target
from resolver.usecase.answer import Answer
from resolver.usecase.pick_file import find_wheels
from resolver.usecase.requested import named_tags
from resolver.usecase.session import Connection, Session, read_facts


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class InspectResult(Answer):
    """The answer to ``inspect``: each wheel, and of several which binaries each two share."""

    wheels: tuple[Inspection, ...]
    comparisons: tuple[Comparison, ...]

    def text(self) -> str:
        """The answer for people, as the command prints it."""
        from resolver.render.inspection import render_comparison, render_inspection

        blocks = [render_inspection(found) for found in self.wheels]
        blocks += [render_comparison(comparison) for comparison in self.comparisons]
        return "\n".join(blocks)

    def to_json(self) -> dict[str, Any]:
        """The document of ``inspect --format json`` (docs/json.md)."""
        from resolver.render.contract_wheel import InspectModel, InspectSetModel
        from resolver.render.inspection_json import comparison_to_json, inspection_to_json
        from resolver.render.render_json import document

        documents = [inspection_to_json(found) for found in self.wheels]
        if len(documents) == 1:
            return document(InspectModel.model_validate(documents[0]))
        shared = [comparison_to_json(comparison) for comparison in self.comparisons]
        return document(
            InspectSetModel.model_validate({"wheels": documents, "comparisons": shared})
        )


def inspect(
    session: Session, wheels: Sequence[str], platform: Target, *, full: bool = False
) -> InspectResult:
    """Read wheels: files, addresses or releases. Raises as ``find_wheels`` and reading do."""
    base = session.base
    found = []
    with session.connect(_tags(wheels)) as connection:
        for text in wheels:
            facts = read_wheel(session, connection, text, platform, full=full)
            found.append(inspect_facts(facts, history=base.history, rules=base.load_rules))
    return InspectResult(
        wheels=tuple(found),
        comparisons=tuple(
            compare_members(
                one.wheel.filename, one.wheel.members, other.wheel.filename, other.wheel.members
            )
            for one, other in combinations(found, 2)
        ),
    )


def read_wheel(
    session: Session, connection: Connection, text: str, platform: Target, *, full: bool = False
) -> WheelFacts:
    """The facts of the wheel that an argument means, else of another build of the release.

    The session is told where it is another build. Raises as ``find_wheels`` and reading do.
    """
    pack = session.base.pack
    first: AbilockError | None = None
    for artifact in find_wheels(connection, text, platform, session.world.cwd, pack.all):
        known = artifact.sha256
        kept = known and connection.store and connection.store.get(known, full=full)
        shipped = pack.get(artifact.name, known, full=full) if known and not kept else None
        if shipped is not None and not has_more(shipped):
            return shipped
        try:
            facts = read_facts(connection, artifact, full=full)
        except (IndexFailure, UsageError) as error:
            if shipped is not None:
                return shipped
            first = first or error
            continue
        if first is not None:
            session.tell(f"{first}; {artifact.filename} of channel {artifact.channel} was read")
        return facts
    raise first or UsageError(f"no wheel of {text}")


def _tags(texts: Sequence[str]) -> tuple[str, ...]:
    """Index tags that the releases asked for name by local version."""
    releases = [text for text in texts if "==" in text and "/" not in text]
    return named_tags([parse_requirement(text, "wheel") for text in releases])
