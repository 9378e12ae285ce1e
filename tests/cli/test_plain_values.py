"""Values of options: what is plainly right is taken as typer takes it, all else is left to it."""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.main import get_command

from resolver.cli.plain_values import take_plain_values


class Colour(StrEnum):
    RED = "red"
    DARK_BLUE = "dark-blue"


def command(
    words: Annotated[list[str] | None, typer.Argument()] = None,
    text: Annotated[str | None, typer.Option()] = None,
    paths: Annotated[list[Path] | None, typer.Option("--path")] = None,
    place: Annotated[Path, typer.Option()] = Path("here"),
    colour: Annotated[Colour, typer.Option()] = Colour.RED,
    flag: Annotated[bool, typer.Option("--flag/--no-flag")] = False,
    count: Annotated[int | None, typer.Option()] = None,
) -> None:
    print(repr((words, text, paths, place, colour, flag, count)), end="")  # noqa: T201


def told(arguments: list[str], *, plainly: bool, capsys: pytest.CaptureFixture[str]) -> Any:
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command()(command)
    made = get_command(app)
    if plainly:
        take_plain_values(made, command)
    try:
        made(arguments, standalone_mode=False)
    except Exception as error:  # noqa: BLE001  what typer says is compared
        return type(error), str(error), vars(error).get("message")
    return capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["a", "b é"],
        ["--text", "x", "--flag", "--count", "7"],
        ["--text", "\udcff"],
        ["--path", "/nowhere/x", "--path", os.devnull],
        ["--path", "\udcff"],
        ["--place", "/", "--no-flag"],
        ["--colour", "dark-blue"],
        ["--colour", "green"],
        ["--colour", "RED"],
        ["--count", "many"],
        ["--nothing"],
    ],
)
def test_as_typer_takes_them(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    expected = told(arguments, plainly=False, capsys=capsys)
    assert told(arguments, plainly=True, capsys=capsys) == expected


def test_plain_values_need_no_pydantic(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "typer._adapters", None)  # importing it fails
    given = ["a", "--text", "x", "--path", os.devnull, "--colour", "red", "--flag"]
    assert "<Colour.RED: 'red'>, True, None" in told(given, plainly=True, capsys=capsys)
    failure = told([*given, "--count", "7"], plainly=True, capsys=capsys)
    assert issubclass(failure[0], ImportError)  # a number is typer's to read
