"""The user's index settings, as one value.

Strongest first: options, ``ABILOCK_*``, ``[tool.abilock]``, then uv's settings, then pip's. Each
tool's settings are read as that tool reads them. The strongest tool that says what the default
index is closes the list: indexes that weaker tools name do not count beside it, or a project that
chose its index would be read from another tool's extra ones too. Places of files are joined.
"""

from __future__ import annotations

from pathlib import Path

from resolver.dataclass import dataclass, field, replace
from resolver.errors import UsageError
from resolver.index.credential import Credential
from resolver.index.index_source import IndexSource
from resolver.index.pyproject import Project, load_project
from resolver.index.settings_layer import (
    Host,
    Layer,
    environment_credential,
    parse_flag,
    read_table,
    split_named,
)
from resolver.index.settings_pip import load_pip_layer
from resolver.index.settings_uv import load_uv_layer
from resolver.model.options import IndexOptions

PUBLIC_INDEX = IndexSource(name="default", url=None, role="default", origin="pypi-simple")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Which indexes count, strongest source first.

    ``default`` is None where the user wants no index at all (pip's ``no-index``). ``named`` come
    before it, ``extra`` after it, then ``find_links``; ``wheelhouse`` adds to every project.
    ``keyring`` is true where the program of that name may be asked for passwords.
    """

    default: IndexSource | None = PUBLIC_INDEX
    named: tuple[IndexSource, ...] = ()
    extra: tuple[IndexSource, ...] = ()
    find_links: tuple[IndexSource, ...] = ()
    wheelhouse: Path | None = None
    credentials: tuple[Credential, ...] = field(default=(), repr=False)
    netrc_file: Path | None = None
    ca_file: Path | None = None
    keyring: bool = False
    offline: bool = False
    cache_dir: Path | None = None
    no_cache: bool = False
    channels: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


def load_settings(
    host: Host, options: IndexOptions | None = None, project: Project | None = None
) -> Settings:
    """Read the settings of all tools. Raises UsageError naming the place of a wrong value.

    ``project`` is the nearest ``pyproject.toml`` where it was read before.
    """
    options = options or IndexOptions()
    environ = host.environ
    project = project or load_project(host.cwd)
    layers = [_load_own_layer(host, options, project), load_uv_layer(host), load_pip_layer(host)]
    default: IndexSource | None = PUBLIC_INDEX
    named: list[IndexSource] = []
    extra: list[IndexSource] = []
    for layer in layers:
        if layer.no_index:
            default = None
            break
        named += layer.named
        extra += layer.extra
        if layer.default is not None:
            default = layer.default
            break
    find_links = [source for layer in layers for source in layer.find_links]
    sources = [*named, *([default] if default is not None else []), *extra, *find_links]
    own = [environment_credential(environ, "ABILOCK_INDEX", source) for source in sources]
    cache_dir = environ.get("ABILOCK_CACHE_DIR")
    ca_file = next((layer.ca_file for layer in layers if layer.ca_file is not None), None)
    if environ.get("SSL_CERT_FILE") or environ.get("SSL_CERT_DIR"):
        # What speaks of every program on this machine is read by httpx, and wins over pip's.
        ca_file = None
    netrc_file = environ.get("NETRC")
    return Settings(
        default=default,
        named=_named_apart(named),
        extra=_named_apart(extra),
        find_links=_named_apart(_distinct(find_links)),
        wheelhouse=options.wheelhouse or project.place("wheelhouse"),
        credentials=(
            *(found for found in own if found is not None),
            *(item for layer in layers for item in layer.credentials),
        ),
        netrc_file=Path(netrc_file) if netrc_file else host.home / ".netrc",
        ca_file=ca_file,
        keyring=_wants_keyring(layers),
        offline=options.offline or _first_set(layers),
        cache_dir=options.cache_dir
        or (host.cwd / cache_dir if cache_dir else project.place("cache-dir")),
        no_cache=options.no_cache
        or (
            parse_flag(no_cache, origin="ABILOCK_NO_CACHE")
            if (no_cache := environ.get("ABILOCK_NO_CACHE"))
            else project.flag("no-cache")
        ),
        channels=options.channels or project.strings("channel"),
        notices=tuple(sorted({text for layer in layers for text in layer.notices})),
    )


def _load_own_layer(host: Host, options: IndexOptions, project: Project) -> Layer:
    layer = Layer()
    environ, cwd = host.environ, host.cwd
    for item in options.index:
        _add_own(layer, item, "--index", cwd, host)
    if url := environ.get("ABILOCK_DEFAULT_INDEX", "").strip():
        _add_own(layer, f"default={url}", "ABILOCK_DEFAULT_INDEX", cwd, host)
    for item in environ.get("ABILOCK_INDEX", "").split():
        _add_own(layer, item, "ABILOCK_INDEX", cwd, host)
    places = [
        (item, "ABILOCK_FIND_LINKS", cwd) for item in environ.get("ABILOCK_FIND_LINKS", "").split()
    ]
    layer.keyring = environ.get("ABILOCK_KEYRING_PROVIDER") or None
    if (text := environ.get("ABILOCK_OFFLINE")) is not None:
        layer.offline = parse_flag(text, origin="ABILOCK_OFFLINE")
    table, origin = project.table, project.origin
    base = cwd if project.path is None else project.path.parent
    if layer.offline is None and "offline" in table:
        layer.offline = project.flag("offline")
    layer.keyring = layer.keyring or project.text("keyring-provider")
    if default := project.text("default-index"):
        _add_own(layer, f"default={default}", f"{origin} default-index", base, host)
    for entry in read_table(table, "index", list, origin=origin) or []:
        where = f"{origin} [[index]]"
        values = entry if isinstance(entry, dict) else {}
        name = read_table(values, "name", str, origin=where)
        url = read_table(values, "url", str, origin=where)
        if not name or not url:
            raise UsageError(f"{where}: each needs a name and a url")
        _add_own(layer, f"{name}={url}", where, base, host)
    places += [(item, f"{origin} find-links", base) for item in project.strings("find-links")]
    for number, (item, where, directory) in enumerate(places, start=1):
        layer.add(
            item,
            name=f"find-links-{number}",
            role="find-links",
            origin=where,
            base=directory,
            home=host.home,
            ours=True,
        )
    return layer


def _add_own(layer: Layer, item: str, origin: str, base: Path, host: Host) -> None:
    name, url = split_named(item, origin=origin)
    if name is None:
        raise UsageError(
            f"{origin}: an index is given as NAME=URL",
            hint="the name is what --channel takes; default=URL sets the default index",
        )
    layer.add(
        url,
        name=name,
        role="default" if name == "default" else "named",
        origin=origin,
        base=base,
        home=host.home,
        ours=True,
    )


def _first_set(layers: list[Layer]) -> bool:
    return next((layer.offline for layer in layers if layer.offline is not None), False)


def _wants_keyring(layers: list[Layer]) -> bool:
    """The strongest setting; pip's ways to reach a keyring are one here. Raises UsageError."""
    chosen = next((layer.keyring for layer in layers if layer.keyring is not None), "disabled")
    if chosen not in ("disabled", "auto", "import", "subprocess"):
        raise UsageError(
            f"keyring-provider: {chosen!r} is none",
            hint="it is one of disabled, subprocess, import, auto",
        )
    # pip's "auto" asks a keyring only where it would ask a person else: here nobody is asked.
    return chosen in ("import", "subprocess")


def _distinct(sources: list[IndexSource]) -> list[IndexSource]:
    return list({source.url: source for source in reversed(sources)}.values())[::-1]


def _named_apart(sources: list[IndexSource]) -> tuple[IndexSource, ...]:
    """``sources`` with distinct names: layers number their unnamed ones by themselves."""
    taken: set[str] = set()
    apart: list[IndexSource] = []
    for source in sources:
        name, number = source.name, 1
        while name in taken:
            number += 1
            name = f"{source.name}.{number}"
        taken.add(name)
        apart.append(source if name == source.name else replace(source, name=name))
    return tuple(apart)
