"""The commands of ``abilock knowledge``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import typer

from resolver.cli import console
from resolver.cli.lazy import LazyGroup, Part, QuietOption

_HERE = "resolver.cli.knowledge"


class Commands(LazyGroup):
    """In the order of their help."""

    parts: ClassVar[Mapping[str, Part]] = {
        "list": Part(
            _HERE,
            "list_",
            "List the facts, then how many there are.",
            example="abilock knowledge list gpu",
        ),
        "show": Part(
            _HERE,
            "show",
            "Show a fact with its source, or a set with its packages.",
            example="abilock knowledge show blackwell-sm120-cu130-2026-02",
        ),
        "verify": Part(
            "resolver.cli.knowledge_verify",
            "verify",
            "Compare the database with its installation and with wheels.",
            example="abilock knowledge verify --sample 10",
        ),
        "validate": Part(
            _HERE,
            "validate",
            "Check every file against its schema, and every reference.",
            example="abilock knowledge validate mine --overlay",
        ),
        "update": Part(
            "resolver.cli.knowledge_update",
            "update",
            "Take a newer database, or go back to the one that ships.",
            example="abilock knowledge update abilock-knowledge.zip --sha256 HEX",
        ),
        "site": Part(
            "resolver.cli.knowledge_site",
            "site",
            "Write the database as a static site.",
            example="abilock knowledge site map",
        ),
        "learn": Part(
            "resolver.cli.knowledge_edit",
            "learn",
            "Record a set that works here, or evidence for the database.",
            example="abilock knowledge learn .venv",
        ),
        "forget": Part(
            "resolver.cli.knowledge_edit",
            "forget",
            "Remove a set that knowledge learn recorded.",
            example="abilock knowledge forget my-set",
        ),
        "build": Part(
            "resolver.cli.knowledge_edit",
            "build",
            "Read torch, NVIDIA's libraries or wheels into the database.",
            example="abilock knowledge build --wheels xformers --knowledge knowledge",
        ),
        "measure": Part(
            "resolver.cli.knowledge_measure",
            "measure",
            "Measure what releases pin exactly, as sets.",
            example="abilock knowledge measure sglang --knowledge knowledge",
        ),
        "pack": Part(
            "resolver.cli.knowledge_update",
            "pack",
            "Write a database as one file, for knowledge update.",
            example="abilock knowledge pack -o abilock-knowledge.zip",
        ),
    }


app = typer.Typer(
    name="knowledge",
    cls=Commands,
    help="Look at the compatibility database, and check it.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


@app.callback()
def _group(quiet: QuietOption = 0) -> None:
    """A group, whatever the number of its commands."""
    console.be_quiet(quiet)
