"""``abilock export``: a lock in the form another tool takes."""

from __future__ import annotations

import shlex
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from resolver import api
from resolver.cli import console
from resolver.cli.flatten import Omit, flattened
from resolver.cli.opened import opened
from resolver.lockfile.write_file import write_file
from resolver.model.options import IndexOptions

_NO_INDEX = Omit("index", "channels", "offline", "wheelhouse", "no_cache", "cache_dir")


class Form(StrEnum):
    """What a lock can be exported to."""

    UV = "uv"
    PIP = "pip"
    CONSTRAINTS = "constraints"
    PYPROJECT = "pyproject"
    CONDA = "conda"
    DOCKERFILE = "dockerfile"
    SMOKE = "smoke"


@flattened
def export(
    lock: Annotated[Path, typer.Argument(metavar="[LOCK]", help="The lock.")] = Path("pylock.toml"),
    to: Annotated[Form, typer.Option("--to", help="The form to write.")] = Form.UV,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="Where to; - prints it.")
    ] = Path("-"),
    index: Annotated[IndexOptions, _NO_INDEX] = IndexOptions(),
) -> None:
    """Write a lock for another tool: uv, pip, Docker, conda, ..."""
    with opened(index) as session:
        text = api.export(lock, to.value, session=session)
    if str(output) == "-":
        console.data(text)
        return
    write_file(output, text)
    file = shlex.quote(str(output))
    match to:
        case Form.UV:
            use = f"Install it: uv pip sync --require-hashes {file}"
        case Form.PIP:
            use = f"Install it: pip install --no-deps --require-hashes -r {file}"
        case Form.CONSTRAINTS:
            use = f"Use it: pip install -c {file} ..., or uv pip install -c {file} ..."
        case Form.PYPROJECT:
            use = "Install it where it lies, as pyproject.toml: uv sync"
        case Form.CONDA:
            use = f"Install it: conda env create -f {file}, or mamba env create -f {file}"
        case Form.DOCKERFILE:
            use = f"Build it: docker build -t gpu-stack -f {file} ."
        case Form.SMOKE:
            use = f"Run it with the Python of the environment: python {file}"
    console.words(f"Wrote {output}. {use}")
