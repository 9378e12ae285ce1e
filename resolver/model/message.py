"""A message that programs print when something does not fit, and what is known of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from packaging.utils import NormalizedName

from resolver.dataclass import dataclass, field
from resolver.model.pattern import Pattern
from resolver.model.reason import Code
from resolver.model.template import Template

# Where a fault lies: in the packages that are installed, in the machine, in what was built here,
# in how a program is run, or in how packages were asked for.
Place = Literal["set", "machine", "build", "run", "request"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One row of ``messages.toml``.

    The texts may name variables of the templates in braces.
    ``ask`` is what would tell more, ``run`` a command that installs nothing: it looks, or sets
    what a program reads. ``harmless`` marks what can be left as it is.
    ``installed`` says of which project a variable is the installed version. A ``weak`` message
    follows from another one, and is told where there is none.
    """

    id: str
    templates: tuple[Template, ...]
    code: Code
    place: Place
    meaning: str
    fix: str
    ask: str
    source: str
    run: str | None = None
    subject: str | None = None
    library: str | None = None
    installed: Mapping[str, str] = field(default_factory=dict)
    arch: str | None = None
    weak: bool = False
    harmless: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Soname:
    """One row of ``sonames.toml``: what it says that a shared object is looked for.

    ``meaning`` follows on "X needs SONAME: "; ``fix`` may name ``{whom}``. ``project`` brings it,
    where a wheel does; ``symbols`` are those that it exports and no other library does.
    """

    id: str
    pattern: Pattern
    code: Code
    place: Place
    title: str
    meaning: str
    fix: str
    source: str
    project: NormalizedName | None = None
    run: str | None = None
    symbols: Pattern | None = None
