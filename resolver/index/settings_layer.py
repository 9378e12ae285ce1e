"""What one tool's settings say of indexes, and how a setting becomes a source."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from resolver.dataclass import dataclass, field
from resolver.documents import parse_toml
from resolver.errors import UsageError
from resolver.files import read_text
from resolver.index.address import path_of, redact, split_address, strip_credentials
from resolver.index.credential import Credential
from resolver.index.index_source import IndexSource, Role

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_TRUE = frozenset({"1", "true", "yes", "on", "y", "t"})
_FALSE = frozenset({"", "0", "false", "no", "off", "n", "f"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """The parts of the machine that settings depend on; only ``resolver.cli`` reads them.

    ``prefix`` is the Python environment's (``sys.prefix``); ``root`` is ``/``, another in tests.
    """

    environ: Mapping[str, str]
    cwd: Path
    home: Path
    prefix: Path
    root: Path = field(default=Path("/"))


@dataclass(slots=True)
class Layer:
    """The settings of one tool, as they are collected; earlier entries of a list are stronger."""

    default: IndexSource | None = None
    no_index: bool = False
    named: list[IndexSource] = field(default_factory=list)
    extra: list[IndexSource] = field(default_factory=list)
    find_links: list[IndexSource] = field(default_factory=list)
    credentials: list[Credential] = field(default_factory=list)
    ca_file: Path | None = None
    offline: bool | None = None
    keyring: str | None = None
    notices: list[str] = field(default_factory=list)

    def add(
        self,
        value: str,
        *,
        name: str,
        role: Role,
        origin: str,
        base: Path,
        home: Path,
        ours: bool = False,
    ) -> None:
        """Add an index or a place of files. Raises UsageError for a value that is neither."""
        url, credential = parse_place(value, origin=origin, base=base, home=home)
        if credential is not None:
            self.credentials.append(credential)
        source = IndexSource(name=name, url=url, role=role, origin=origin, ours=ours)
        if role == "default":
            self.default = self.default or source
            return
        places = {"named": self.named, "extra": self.extra}.get(role, self.find_links)
        if all(known.url != url for known in places):
            places.append(source)


def parse_place(
    value: str, *, origin: str, base: Path, home: Path
) -> tuple[str, Credential | None]:
    """An address without credentials or an absolute path, and the credentials it named.

    ``base`` is what a relative path is relative to. Raises UsageError.
    """
    text = value.strip()
    if "://" in text or text.lower().startswith("file:"):
        # "{cuda}" is no part of an address, but of the rule that --index gives for a channel.
        parts = split_address(text)
        scheme = parts.scheme.lower() if parts is not None else ""
        if scheme == "file" and (path := path_of(text)) is not None:
            return str(path), None
        if parts is None or scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(
                f"{origin}: {redact(text)} is no address of an index",
                hint="an index is given as https://..., http://..., file:///... or a path",
            )
        url, user, password = strip_credentials(text)
        if user is None and password is None:
            return url, None
        return url, Credential(prefix=url, user=user or "", password=password or "")
    if not text:
        raise UsageError(f"{origin}: an empty address")
    if text == "~" or text.startswith("~/"):
        return str(home / text[2:]), None
    return str((base / text).absolute()), None


def split_named(item: str, *, origin: str) -> tuple[str | None, str]:
    """``name=url`` as its parts; None as the name where there is only an address."""
    name, equals, url = item.partition("=")
    if not equals or "/" in name or ":" in name:
        return None, item
    if not _NAME.fullmatch(name):
        raise UsageError(f"{origin}: {name!r} is no name for an index (letters, digits, . _ -)")
    return name, url


def parse_flag(value: str, *, origin: str) -> bool:
    """A boolean of a configuration. Raises UsageError."""
    text = value.strip().lower()
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise UsageError(f"{origin}: {value!r} is neither true nor false")


def environment_credential(
    environ: Mapping[str, str], prefix: str, source: IndexSource
) -> Credential | None:
    """What ``<prefix>_<NAME>_USERNAME`` and ``_PASSWORD`` say of an index."""
    if source.url is None or "://" not in source.url:
        return None
    name = re.sub(r"[^A-Z0-9]", "_", source.name.upper())
    user = environ.get(f"{prefix}_{name}_USERNAME")
    password = environ.get(f"{prefix}_{name}_PASSWORD")
    if user is None and password is None:
        return None
    return Credential(prefix=source.url, user=user or "", password=password or "")


def load_toml(path: Path) -> dict[str, Any] | None:
    """A TOML file, None when there is none. Raises UsageError when it cannot be read."""
    try:
        return parse_toml(read_text(path))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
    except ValueError as error:
        raise UsageError(f"{path}: not valid TOML: {error}") from error


def ancestors(directory: Path) -> Iterator[Path]:
    """``directory`` and what it lies in, up to the root."""
    yield directory
    yield from directory.parents


def read_table(table: Mapping[str, Any], key: str, kind: type, *, origin: str) -> Any:
    """``table[key]`` when it is a ``kind``, None when it is absent. Raises UsageError."""
    value = table.get(key)
    if value is None or isinstance(value, kind):
        return value
    names = {str: "a string", list: "an array", dict: "a table", bool: "true or false"}
    raise UsageError(f"{origin}: {key} must be {names[kind]}")


def read_strings(table: Mapping[str, Any], key: str, *, origin: str) -> list[str]:
    """``table[key]`` as strings: an array of them, or one. Raises UsageError."""
    value = table.get(key, [])
    if isinstance(value, str):
        return [value]
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return list(value)
    raise UsageError(f"{origin}: {key} must be an array of strings")
