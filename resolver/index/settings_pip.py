"""pip's index settings: its variables and configuration files.

Order and names are those of ``pip._internal.configuration``: global, user, site, then
``PIP_CONFIG_FILE``, then variables, each overriding the former; ``[install]`` overrides
``[global]``.
"""

from __future__ import annotations

import configparser
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from resolver.errors import UsageError
from resolver.files import read_text
from resolver.index.settings_layer import Host, Layer, parse_flag


@dataclass(frozen=True, slots=True)
class _Value:
    text: str
    origin: str
    base: Path


class _Parser(configparser.RawConfigParser):
    def optionxform(self, optionstr: str) -> str:
        return optionstr.lower().replace("_", "-").removeprefix("--")


def load_pip_layer(host: Host) -> Layer:
    """What pip would use. Raises UsageError for files and values that pip refuses too."""
    values = _values(host)
    layer = Layer()
    if (value := values.get("index-url")) is not None:
        _add(layer, value, value.text, "default", "default", host)
    for number, (value, text) in enumerate(_items(values, "extra-index-url"), start=1):
        _add(layer, value, text, f"extra-{number}", "extra", host)
    for number, (value, text) in enumerate(_items(values, "find-links"), start=1):
        _add(layer, value, text, f"find-links-{number}", "find-links", host)
    if (value := values.get("no-index")) is not None:
        layer.no_index = parse_flag(value.text, origin=value.origin)
    if (value := values.get("cert")) is not None and value.text:
        layer.ca_file = Path(value.text)
    if (value := values.get("keyring-provider")) is not None:
        layer.keyring = value.text
    for value, text in _items(values, "constraint"):
        layer.notices.append(f"pip's constraint {text} ({value.origin}) is not applied")
    return layer


def _add(layer: Layer, value: _Value, text: str, name: str, role: str, host: Host) -> None:
    layer.add(
        text,
        name=name,
        role=role,  # type: ignore[arg-type]  # one of the three above
        origin=value.origin,
        base=value.base,
        home=host.home,
    )


def _items(values: dict[str, _Value], key: str) -> Iterator[tuple[_Value, str]]:
    if (value := values.get(key)) is not None:
        for text in value.text.split():
            yield value, text


def _values(host: Host) -> dict[str, _Value]:
    by_section: dict[str, dict[str, _Value]] = {"global": {}, "install": {}}
    for path in _files(host):
        parser = _read(path)
        for section, known in by_section.items():
            if parser.has_section(section):
                for key, text in parser.items(section):
                    # pip takes relative paths from where it runs, not from the file's place.
                    known[key] = _Value(text or "", f"{path} [{section}] {key}", host.cwd)
    variables = {
        name[4:].lower().replace("_", "-"): _Value(text, name, host.cwd)
        for name, text in host.environ.items()
        # An empty variable counts as unset, as in pip.
        if name.startswith("PIP_") and name.upper() == name and text
    }
    return {**by_section["global"], **by_section["install"], **variables}


def _read(path: Path) -> _Parser:
    parser = _Parser()
    try:
        parser.read_string(read_text(path), source=str(path))
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
    except (configparser.Error, UnicodeDecodeError) as error:
        first = str(error).splitlines()[0]
        raise UsageError(f"{path}: not a configuration of pip: {first}") from error
    return parser


def _files(host: Host) -> Iterator[Path]:
    """The files that count, the weakest first."""
    environ = host.environ
    chosen = environ.get("PIP_CONFIG_FILE")
    if chosen == os.devnull:
        return
    named = Path(chosen) if chosen else None
    directories = environ.get("XDG_CONFIG_DIRS") or str(host.root / "etc/xdg")
    # The strongest of several comes first in XDG_CONFIG_DIRS, and pip keeps that order.
    yield from (Path(item) / "pip/pip.conf" for item in directories.split(":") if item)
    yield host.root / "etc/pip.conf"
    # A file that PIP_CONFIG_FILE names stands in for the user's own.
    if named is None or not named.exists():
        yield host.home / ".pip/pip.conf"
        config = environ.get("XDG_CONFIG_HOME")
        yield (Path(config) if config else host.home / ".config") / "pip/pip.conf"
    yield host.prefix / "pip.conf"
    if named is not None:
        yield named
