"""What the bytes of wheels need, and which torch they link with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from resolver.abi.inspect import Comparison, Inspection, compare_members, inspect_facts
from resolver.lockfile.requirements_txt import parse_requirement
from resolver.model.target import Target
from resolver.usecase.pick_file import find_wheel
from resolver.usecase.requested import named_tags
from resolver.usecase.session import Session, read_facts


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectResult:
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
        from resolver.render.contract import InspectModel, InspectSetModel
        from resolver.render.inspection_json import comparison_to_json, inspection_to_json
        from resolver.render.render_json import document

        documents = [inspection_to_json(found) for found in self.wheels]
        if len(documents) == 1:
            return document(InspectModel.model_validate(documents[0]))
        shared = [comparison_to_json(comparison) for comparison in self.comparisons]
        return document(
            InspectSetModel.model_validate({"wheels": documents, "comparisons": shared})
        )

    def __str__(self) -> str:
        return self.text()


def inspect(
    session: Session, wheels: Sequence[str], platform: Target, *, full: bool = False
) -> InspectResult:
    """Read wheels: files, addresses or releases. Raises as ``find_wheel`` and reading do."""
    base = session.base
    found = []
    with session.connect(_tags(wheels)) as connection:
        for text in wheels:
            artifact = find_wheel(connection, text, platform, session.world.cwd)
            facts = read_facts(connection, artifact, full=full)
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


def _tags(texts: Sequence[str]) -> tuple[str, ...]:
    """Index tags that the releases asked for name by local version."""
    releases = [text for text in texts if "==" in text and "/" not in text]
    return named_tags([parse_requirement(text, "wheel") for text in releases])
