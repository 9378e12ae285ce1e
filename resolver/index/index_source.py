"""One place that is asked for listings, and the address it is asked at."""

from __future__ import annotations

import ast
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from resolver.dataclass import dataclass, field
from resolver.index.address import with_slash

Role = Literal["named", "default", "extra", "find-links", "wheelhouse"]


@cache
def library_endpoint() -> str:
    """The address of the public index, as the library pypi-simple knows it.

    Read from the library's text: importing it loads requests and bs4, 0.25 s. It is imported where
    its text says nothing.
    """
    name = "PYPI_SIMPLE_ENDPOINT"
    found = find_spec("pypi_simple")
    if found is not None and found.origin is not None and found.origin.endswith(".py"):
        for line in ast.parse(Path(found.origin).read_bytes()).body:
            match line:
                case (
                    ast.AnnAssign(target=ast.Name(id=id_), value=ast.Constant(value=str(value)))
                    | ast.Assign(targets=[ast.Name(id=id_)], value=ast.Constant(value=str(value)))
                ) if id_ == name:
                    return value
    from pypi_simple import PYPI_SIMPLE_ENDPOINT

    return PYPI_SIMPLE_ENDPOINT


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexSource:
    """An index or a place of files that the user set.

    ``url`` has no credentials, and is a path for local places; None stands for the public index.
    ``origin`` says where the setting was read, for messages. ``ours`` is true for abilock's own
    settings, which alone may replace the address of a built-in channel.
    """

    name: str
    url: str | None
    role: Role
    origin: str
    ours: bool = field(default=False)

    def address(self) -> str:
        """The root of the index, with its final slash."""
        return with_slash(self.url if self.url is not None else library_endpoint())

    @property
    def key(self) -> str:
        """What its listings are cached under: found without loading anything."""
        return "the public index" if self.url is None else with_slash(self.url)
