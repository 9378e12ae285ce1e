"""A lock file by what stands in it: which tool wrote it, and its text as values.

Names say nothing for sure (``locks/gpu.toml``); they help only where the content tells nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Any

from resolver.dataclass import dataclass, field
from resolver.documents import parse_json, parse_toml
from resolver.errors import DamagedData, UsageError
from resolver.files import read_text

# What ``check`` takes, as errors tell it.
TAKEN = (
    "name an environment, or a lock: uv.lock, pylock.toml, poetry.lock, pdm.lock, Pipfile.lock, "
    "pixi.lock, conda-lock.yml, pinned requirements, environment.yml, a Dockerfile"
)


class Kind(StrEnum):
    """The forms that are read, each by the name it usually has."""

    UV = "uv.lock"
    PYLOCK = "pylock.toml"
    POETRY = "poetry.lock"
    PDM = "pdm.lock"
    PIPFILE = "Pipfile.lock"
    PIXI = "pixi.lock"
    CONDA_LOCK = "conda-lock.yml"
    CONDA = "environment.yml"
    DOCKERFILE = "Dockerfile"
    REQUIREMENTS = "requirements"


@dataclass(frozen=True, slots=True)
class LockDocument:
    """A file that is read: ``data`` is its tree, empty for forms that are lines."""

    path: Path
    kind: Kind
    text: str
    data: dict[str, Any] = field(default_factory=dict)


_TABLE = re.compile(r"(?m)^\s*\[\[?[\w.\"' -]+\]\]?\s*(?:#.*)?$")
_ASSIGNED = re.compile(r"[\w\"'.-]+\s*=\s*[^=\s]")
_MAPPED = re.compile(r"---|%YAML|[\"']?[\w.-]+[\"']?:(?:\s|$)")
_STAGE = re.compile(r"(?mi)^\s*FROM\s+\S")
_BUILT = re.compile(r"(?i)(?:FROM|ARG)\s+\S")
_MERGE = re.compile(r"(?m)^(?:<{7}|>{7}) ")
_PYLOCK = re.compile(r"pylock(\.[^.]+)?\.toml")
_NAMED = {kind.value.lower(): kind for kind in Kind}
_EMPTY = "write it again with its tool"


def load_document(path: Path) -> LockDocument:
    """Read a file and recognise it.

    Raises UsageError where it cannot be read or is none that is taken, DamagedData where it is
    one and does not parse.
    """
    text = _read(path)
    named = Kind.PYLOCK if _PYLOCK.fullmatch(path.name) else _NAMED.get(path.name.lower())
    if (merge := _MERGE.search(text)) is not None:
        line = text.count("\n", 0, merge.start()) + 1
        raise DamagedData(
            f"{path}, line {line}: an unfinished merge left its marks",
            hint="resolve the merge, and lock again",
        )
    first = next((s for line in text.splitlines() if (s := line.strip()) and s[0] != "#"), "")
    if named is None and text.startswith("# syntax=") and _STAGE.search(text):
        named = Kind.DOCKERFILE
    if not first:
        if named in (None, Kind.DOCKERFILE):
            return LockDocument(path, Kind.REQUIREMENTS, text)
        raise DamagedData(f"{path} is empty", hint=_EMPTY)
    if first == "@EXPLICIT":
        raise _no_lock(path, "it lists packages of conda alone, of which none is judged")
    if _BUILT.match(first) and _STAGE.search(text):
        return LockDocument(path, Kind.DOCKERFILE, text)
    form = _form(text, first, named)
    if form is None:
        return LockDocument(path, Kind.REQUIREMENTS, text)
    name, parse, known = form
    try:
        data = parse(text)
    except ValueError as error:
        if named is None:
            raise _no_lock(path, f"not valid {name}: {error}") from error
        raise DamagedData(f"{path} is not valid {name}: {error}", hint=_EMPTY) from error
    kind = (known(data) if isinstance(data, dict) else None) or named
    if kind is None:
        raise _no_lock(path, _what(data))
    if not isinstance(data, dict):
        raise DamagedData(f"{path} is not a valid {kind}: no table", hint=_EMPTY)
    return LockDocument(path, kind, text, data)


def _no_lock(path: Path, why: str) -> UsageError:
    return UsageError(f"{path} is no environment and no lock file: {why}", hint=TAKEN)


def _read(path: Path) -> str:
    try:
        return read_text(path, encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(
            f"cannot read {path}: {(error.strerror or str(error)).lower()}",
            hint="check the file name",
        ) from error
    except UnicodeDecodeError as error:
        raise _no_lock(path, f"not UTF-8 text: {error.reason}") from error


_Form = tuple[str, Callable[[str], Any], Callable[[dict[str, Any]], Kind | None]]


def _form(text: str, first: str, named: Kind | None) -> _Form | None:
    """The language of a text, its parser, and what tells its locks apart; None for lines."""
    toml: _Form = ("TOML", parse_toml, _of_toml)
    as_json: _Form = ("JSON", parse_json, _of_json)
    yaml: _Form = ("YAML", _parse_yaml, _of_yaml)
    if first.startswith("{"):
        return as_json
    if _ASSIGNED.match(first) or (first.startswith("[") and _TABLE.search(text)):
        return toml
    if _MAPPED.match(first):
        return yaml
    if named in (Kind.UV, Kind.PYLOCK, Kind.POETRY, Kind.PDM):
        return toml
    if named is Kind.PIPFILE:
        return as_json
    return yaml if named in (Kind.PIXI, Kind.CONDA_LOCK, Kind.CONDA) else None


def _parse_yaml(text: str) -> Any:
    """All scalars as text: ``3.10`` stays what it is. Raises ValueError."""
    import yaml  # costs 30 ms, and few locks are written in it

    # The loader in C is 10 times faster and refuses what is nested deeply.
    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        return yaml.load(text, Loader=loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = "" if mark is None else f" at line {mark.line + 1}, column {mark.column + 1}"
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise ValueError(f"{problem}{where}") from error
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _of_toml(data: dict[str, Any]) -> Kind | None:
    metadata, packages = data.get("metadata"), data.get("package")
    if "packages" in data and {"lock-version", "created-by"} & set(data):
        return Kind.PYLOCK
    if isinstance(metadata, dict):
        if {"lock_version", "strategy"} & set(metadata):
            return Kind.PDM
        if {"lock-version", "python-versions", "content-hash"} & set(metadata):
            return Kind.POETRY
    if "version" not in data or not isinstance(packages, list):
        return None
    # The locks of Cargo have the same keys, and sources that are texts.
    of_tables = all(
        isinstance(row, dict) and isinstance(row.get("source", {}), dict) for row in packages
    )
    return Kind.UV if of_tables and ("checksum" not in str(packages[:1])) else None


def _of_json(data: dict[str, Any]) -> Kind | None:
    return Kind.PIPFILE if {"_meta", "default"} <= set(data) else None


def _of_yaml(data: dict[str, Any]) -> Kind | None:
    if "environments" in data and "packages" in data:
        return Kind.PIXI
    if "package" in data and "version" in data:
        return Kind.CONDA_LOCK
    return Kind.CONDA if isinstance(data.get("dependencies"), list) else None


def _what(data: object) -> str:
    """Words for a file that parses and is no lock."""
    keys = set(data) if isinstance(data, dict) else set()
    if {"project", "build-system", "tool"} & keys:
        return "it states what a project needs, and pins nothing: lock it first"
    if {"jobs", "services"} & keys or "FROM" in keys:
        return "it describes what runs, and pins nothing"
    named = ", ".join(sorted(map(str, keys))[:4])
    return f"it has no packages that are pinned, only {named}" if named else "it holds no table"
