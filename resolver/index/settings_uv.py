"""uv's index settings: its variables, ``uv.toml`` and ``[tool.uv]``.

Order as in uv's documentation ("Configuration files", "Package indexes"): variables, the project's
file, the user's, the system's; lists of all are joined. What the table ``pip`` of a file sets wins
over the file's own: locks are installed by ``uv pip``. Indexes marked ``explicit`` serve only the
packages that uv's ``sources`` pin to them, and are not used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from resolver.index.index_source import Role
from resolver.index.settings_layer import (
    Host,
    Layer,
    ancestors,
    environment_credential,
    load_toml,
    parse_flag,
    read_strings,
    read_table,
    split_named,
)

_PIP_KEYS = ("index-url", "extra-index-url", "no-index", "find-links", "keyring-provider")


def load_uv_layer(host: Host) -> Layer:
    """What uv would use. Raises UsageError for files and values that uv refuses too."""
    reader = _Reader(host)
    reader.read_variables()
    for table, origin, base in _tables(host):
        reader.read_table(table, origin, base)
    layer = reader.layer
    sources = [*layer.named, *([layer.default] if layer.default is not None else [])]
    for source in sources:
        if (found := environment_credential(host.environ, "UV_INDEX", source)) is not None:
            layer.credentials.append(found)
    return layer


class _Reader:
    def __init__(self, host: Host) -> None:
        self.layer = Layer()
        self._host = host
        self._unnamed = 0

    def read_variables(self) -> None:
        environ = self._host.environ
        cwd = self._host.cwd
        for key in ("UV_DEFAULT_INDEX", "UV_INDEX_URL"):
            if given := environ.get(key, "").strip():
                self._add(split_named(given, origin=key)[1], None, "default", key, cwd)
        for item in environ.get("UV_INDEX", "").split():
            name, address = split_named(item, origin="UV_INDEX")
            self._add(address, name, "named", "UV_INDEX", cwd)
        # Deprecated by uv, and weaker than UV_INDEX; still before the default index.
        for item in environ.get("UV_EXTRA_INDEX_URL", "").split():
            self._add(item, None, "named", "UV_EXTRA_INDEX_URL", cwd)
        for item in environ.get("UV_FIND_LINKS", "").replace(",", " ").split():
            self._add(item, None, "find-links", "UV_FIND_LINKS", cwd)
        if (text := environ.get("UV_NO_INDEX")) is not None:
            self.layer.no_index = parse_flag(text, origin="UV_NO_INDEX")
        self.layer.keyring = environ.get("UV_KEYRING_PROVIDER") or None
        if (text := environ.get("UV_OFFLINE")) is not None:
            self.layer.offline = parse_flag(text, origin="UV_OFFLINE")

    def read_table(self, table: Mapping[str, Any], origin: str, base: Path) -> None:
        pip = read_table(table, "pip", dict, origin=origin) or {}
        table = {**table, **{key: pip[key] for key in _PIP_KEYS if key in pip}}
        for entry in read_table(table, "index", list, origin=origin) or []:
            self._read_entry(entry if isinstance(entry, dict) else {}, origin, base)
        if url := read_table(table, "index-url", str, origin=origin):
            self._add(url, None, "default", f"{origin} index-url", base)
        for item in read_strings(table, "extra-index-url", origin=origin):
            self._add(item, None, "named", f"{origin} extra-index-url", base)
        for item in read_strings(table, "find-links", origin=origin):
            self._add(item, None, "find-links", f"{origin} find-links", base)
        if read_table(table, "no-index", bool, origin=origin):
            self.layer.no_index = True
        if self.layer.keyring is None:
            self.layer.keyring = read_table(table, "keyring-provider", str, origin=origin)
        if self.layer.offline is None:
            self.layer.offline = read_table(table, "offline", bool, origin=origin)

    def _read_entry(self, entry: Mapping[str, Any], origin: str, base: Path) -> None:
        where = f"{origin} [[index]]"
        name = read_table(entry, "name", str, origin=where)
        url = read_table(entry, "url", str, origin=where) or ""
        if read_table(entry, "explicit", bool, origin=where):
            self.layer.notices.append(
                f"uv's index {name or '(unnamed)'} ({origin}) is marked explicit and not used"
            )
            return
        role: Role = "named"
        if read_table(entry, "format", str, origin=where) == "flat":
            role = "find-links"
        elif read_table(entry, "default", bool, origin=where):
            role = "default"
        self._add(url, name, role, where, base)

    def _add(self, url: str, name: str | None, role: Role, origin: str, base: Path) -> None:
        if role == "default":
            name = "default"
        elif name is None:
            self._unnamed += 1
            name = f"uv-{self._unnamed}"
        self.layer.add(url, name=name, role=role, origin=origin, base=base, home=self._host.home)


def _tables(host: Host) -> Iterator[tuple[Mapping[str, Any], str, Path]]:
    """The tables that count, the strongest first, each with its name and directory."""
    environ = host.environ
    if chosen := environ.get("UV_CONFIG_FILE"):
        path = host.cwd / chosen
        if (table := load_toml(path)) is not None:
            yield table, str(path), path.parent
        return
    if parse_flag(environ.get("UV_NO_CONFIG", ""), origin="UV_NO_CONFIG"):
        return
    if (project := _project_table(host.cwd)) is not None:
        yield project
    config = environ.get("XDG_CONFIG_HOME")
    for path in (
        (Path(config) if config else host.home / ".config") / "uv/uv.toml",
        _system_file(host),
    ):
        if (table := load_toml(path)) is not None:
            yield table, str(path), path.parent


def _project_table(cwd: Path) -> tuple[Mapping[str, Any], str, Path] | None:
    for directory in ancestors(cwd):
        path = directory / "uv.toml"
        if (table := load_toml(path)) is not None:
            return table, str(path), directory
        path = directory / "pyproject.toml"
        document = load_toml(path) or {}
        tool = read_table(document, "tool", dict, origin=str(path)) or {}
        if (table := read_table(tool, "uv", dict, origin=str(path))) is not None:
            return table, f"{path} [tool.uv]", directory
    return None


def _system_file(host: Host) -> Path:
    directories = host.environ.get("XDG_CONFIG_DIRS") or str(host.root / "etc/xdg")
    for directory in filter(None, directories.split(":")):
        if (path := Path(directory) / "uv/uv.toml").is_file():
            return path
    return host.root / "etc/uv/uv.toml"
