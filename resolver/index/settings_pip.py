"""pip's index settings: its variables and configuration files.

Order and names are those of ``pip._internal.configuration``: global, user, site, then
``PIP_CONFIG_FILE``, then variables, each overriding the former; ``[install]`` overrides
``[global]``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from resolver.dataclass import dataclass
from resolver.errors import UsageError
from resolver.files import read_text
from resolver.index.settings_layer import Host, Layer, parse_flag


@dataclass(frozen=True, slots=True)
class _Value:
    text: str
    origin: str
    base: Path


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
        for section, key, text in _read(path):
            if (known := by_section.get(section)) is not None:
                # pip takes relative paths from where it runs, not from the file's place.
                known[key] = _Value(text, f"{path} [{section}] {key}", host.cwd)
    variables = {
        name[4:].lower().replace("_", "-"): _Value(text, name, host.cwd)
        for name, text in host.environ.items()
        # An empty variable counts as unset, as in pip.
        if name.startswith("PIP_") and name.upper() == name and text
    }
    return {**by_section["global"], **by_section["install"], **variables}


def _read(path: Path) -> Iterator[tuple[str, str, str]]:
    """Section, key and value of each setting; nothing where there is no file."""
    try:
        text = read_text(path)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise _no_configuration(path, error) from error
    import configparser

    parser = configparser.RawConfigParser()
    parser.optionxform = _key_of  # type: ignore[assignment,method-assign]  # as documented there
    try:
        parser.read_string(text, source=str(path))
    except configparser.Error as error:
        raise _no_configuration(path, error) from error
    for section in parser.sections():
        for key, value in parser.items(section):
            yield section, key, value or ""


def _key_of(name: str) -> str:
    return name.lower().replace("_", "-").removeprefix("--")


def _no_configuration(path: Path, error: Exception) -> UsageError:
    return UsageError(f"{path}: not a configuration of pip: {str(error).splitlines()[0]}")


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
