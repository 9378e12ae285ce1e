"""What the nearest ``pyproject.toml`` says: ``[tool.abilock]``, and the project's dependencies.

``[tool.abilock]`` holds the requests, the target and the settings, under the names of the flags.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from resolver.dataclass import dataclass, field, fields
from resolver.errors import UsageError
from resolver.index.settings_layer import ancestors, load_toml, read_strings, read_table
from resolver.model.options import TargetOptions

TARGET_KEYS = tuple(each.name for each in fields(TargetOptions))
_FLAGS = ("offline", "no-cache", "pre", "strict", "no-tuples")
_TEXTS = ("wheelhouse", "cache-dir", "exclude-newer", "default-index", "keyring-provider")
_LISTS = ("requirements", "channel", "find-links")
KEYS = tuple(sorted((*TARGET_KEYS, *_FLAGS, *_TEXTS, *_LISTS, "index", "prefer")))
_PREFERENCES = ("known-good", "newest")


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """The nearest ``pyproject.toml``; ``path`` is None where there is none.

    ``table`` is its ``[tool.abilock]``, of known keys and the right types; ``dependencies`` are
    those of ``[project]``, None where they are only known when the project is built.
    """

    path: Path | None = None
    table: Mapping[str, Any] = field(default_factory=dict)
    dependencies: tuple[str, ...] | None = ()

    @property
    def origin(self) -> str:
        """The table, for messages."""
        return f"{self.path} [tool.abilock]"

    def text(self, key: str) -> str | None:
        """The value of a key that holds text."""
        value = self.table.get(key)
        return ",".join(value) if isinstance(value, list) else value

    def flag(self, key: str) -> bool:
        """The value of a key that is true or false."""
        return bool(self.table.get(key))

    def strings(self, key: str) -> tuple[str, ...]:
        """The value of a key that holds strings."""
        return tuple(read_strings(self.table, key, origin=self.origin))

    @property
    def prefer(self) -> Literal["known-good", "newest"] | None:
        """What is to be tried first."""
        value: Literal["known-good", "newest"] | None = self.table.get("prefer")
        return value

    def place(self, key: str) -> Path | None:
        """A path, which is relative to the file."""
        text = self.text(key)
        return None if text is None or self.path is None else self.path.parent / text


def load_project(cwd: Path) -> Project:
    """The nearest ``pyproject.toml`` of a directory.

    Raises UsageError where it cannot be read, and for a key or a value that is none.
    """
    for directory in ancestors(cwd):
        path = directory / "pyproject.toml"
        document = load_toml(path)
        if document is not None:
            return _read(path, document)
    return Project()


def _read(path: Path, document: Mapping[str, Any]) -> Project:
    tool = read_table(document, "tool", dict, origin=str(path)) or {}
    table = read_table(tool, "abilock", dict, origin=str(path)) or {}
    origin = f"{path} [tool.abilock]"
    if unknown := sorted(table.keys() - set(KEYS)):
        raise UsageError(
            f"{origin}: there is no key {unknown[0]}", hint=f"the keys are {', '.join(KEYS)}"
        )
    for key in (*TARGET_KEYS, *_TEXTS):
        if key != "arch" or not isinstance(table.get(key), list):
            read_table(table, key, str, origin=origin)
    for key in _FLAGS:
        read_table(table, key, bool, origin=origin)
    for key in ("arch", *_LISTS):
        read_strings(table, key, origin=origin)
    if (prefer := table.get("prefer")) is not None and prefer not in _PREFERENCES:
        raise UsageError(f"{origin}: prefer must be one of {', '.join(_PREFERENCES)}")
    return Project(path=path, table=table, dependencies=_dependencies(path, document))


def _dependencies(path: Path, document: Mapping[str, Any]) -> tuple[str, ...] | None:
    origin = f"{path} [project]"
    own = read_table(document, "project", dict, origin=str(path)) or {}
    if "dependencies" in (read_table(own, "dynamic", list, origin=origin) or ()):
        return None
    return tuple(read_strings(own, "dependencies", origin=origin))
