from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.testing import CliRunner

from resolver.cli.flatten import Omit, flattened
from resolver.model.options import Flag, IndexOptions, TargetOptions


def run(*words: str) -> tuple[dict[str, Any], str]:
    """What a command was given, and what was printed."""
    seen: dict[str, Any] = {}

    @flattened
    def command(
        name: Annotated[str, typer.Argument()],
        target: TargetOptions = TargetOptions(),
        index: Annotated[IndexOptions, Omit("wheelhouse")] = IndexOptions(),
        loud: Annotated[bool, typer.Option("--loud")] = False,
    ) -> None:
        """Say what was given."""
        seen.update(name=name, target=target, index=index, loud=loud)

    app = typer.Typer(rich_markup_mode=None)
    app.command()(command)
    return seen, CliRunner().invoke(app, list(words)).output


def test_options_become_one_value() -> None:
    assert run("x")[0] == {
        "name": "x",
        "target": TargetOptions(),
        "index": IndexOptions(),
        "loud": False,
    }
    words = ("--cuda", "13.0", "--index", "a=1", "--index", "b=2", "--offline", "--cache-dir", "c")
    assert run("x", "--loud", *words)[0] == {
        "name": "x",
        "target": TargetOptions(cuda="13.0"),
        "index": IndexOptions(index=("a=1", "b=2"), offline=True, cache_dir=Path("c")),
        "loud": True,
    }


def test_what_is_omitted_is_no_option() -> None:
    assert "No such option: --wheelhouse" in run("x", "--wheelhouse", "d")[1]


def test_help_is_that_of_the_fields() -> None:
    _, text = run("--help")
    assert re.search(r"  --cuda VERSION +CUDA release the machine is set up for: 13\.0\.\n", text)
    assert "--wheelhouse" not in text
    assert "Say what was given." in text


def test_a_field_without_a_flag_is_a_mistake_of_ours() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Half:
        given: Annotated[str, Flag("--given", "It.")] = ""
        bare: Annotated[str, "words"] = ""

    def command(half: Half = Half()) -> None:
        del half

    command.__annotations__["half"] = Half
    with pytest.raises(TypeError, match=r"Half\.bare has no Flag"):
        inspect.signature(flattened(command))
