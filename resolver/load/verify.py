"""``check --verify``: every recorded file against its hash and size in RECORD.

Source: the PyPA specification "Recording installed projects" (hashes in urlsafe base64).
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Callable, Iterator

from resolver.dataclass import dataclass, field
from resolver.files import open_regular
from resolver.load.distribution import Distribution, Installed
from resolver.load.environment import Environment
from resolver.load.finding_context import Surroundings
from resolver.load.tree import Tree
from resolver.model.plural import counted
from resolver.model.reason import Code, Reason, Severity

_NATIVE = re.compile(r"\.so(?:\.\d+)*$")
_BLOCK = 1 << 20
_NAMED = 3
# Scripts are written anew at install time: their first line names the interpreter.
_REWRITTEN = ("../../../bin/", "../../bin/")


@dataclass(slots=True)
class _Differing:
    changed: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)


def verify(
    environment: Environment, around: Surroundings, on_package: Callable[[Distribution], None]
) -> Iterator[Reason]:
    """A finding for each package with files that are not what was recorded.

    Degraded where shared objects are among them, or files are gone; else a warning: somebody may
    have patched it. Cost: every byte of the environment is read.
    """
    for distribution in environment.distributions:
        on_package(distribution)
        found = _Differing()
        for file in distribution.files:
            _compare(distribution, file, environment.tree, found)
        if names := [*found.gone, *found.changed]:
            grave = bool(found.gone) or any(map(_NATIVE.search, names))
            yield _reason(distribution, found, names, around, grave=grave)


def _reason(
    distribution: Distribution,
    found: _Differing,
    names: list[str],
    around: Surroundings,
    *,
    grave: bool,
) -> Reason:
    told = [f"{counted(len(found.changed), 'file')} with other content"] if found.changed else []
    told += [f"{counted(len(found.gone), 'file')} gone"] if found.gone else []
    more = f" and {len(names) - _NAMED} more" if names[_NAMED:] else ""
    return Reason(
        code=Code.BROKEN_INSTALL,
        severity=Severity.DEGRADED if grave else Severity.WARNING,
        subject=distribution.release,
        member=names[0],
        needs=f"{', '.join(names[:_NAMED])}{more} as installed",
        found=", ".join(told),
        evidence=f"sha256 in the RECORD of {distribution}",
        remedy=around.command(
            "install --reinstall", f"{distribution.name}=={distribution.version}"
        ),
    )


def _compare(distribution: Distribution, file: Installed, tree: Tree, found: _Differing) -> None:
    kind, _, wanted = (file.digest or "").partition("=")
    if kind != "sha256" or not wanted or file.path.startswith(_REWRITTEN):
        return
    place = os.path.join(distribution.site, file.path)
    try:
        with open_regular(tree.place(place)) as stream:
            hashed = hashlib.sha256()
            while block := stream.read(_BLOCK):
                hashed.update(block)
    except (FileNotFoundError, NotADirectoryError):
        found.gone.append(file.path)
        return
    except (OSError, ValueError):
        found.changed.append(file.path)
        return
    digest = base64.urlsafe_b64encode(hashed.digest()).rstrip(b"=").decode()
    if digest != wanted.rstrip("="):
        found.changed.append(file.path)
