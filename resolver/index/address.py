"""Addresses: shown without secrets, compared by origin, turned into paths."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

_MISPLACED = re.compile(r"[^/@:\s]++:[^/@\s]*+@")
_DEFAULT_PORTS = {"http": 80, "https": 443}


def split_address(url: str) -> SplitResult | None:
    """The parts of ``url``, None where it is not an address at all."""
    try:
        parts = urlsplit(url)
        # Reading the port is what finds "http://host:port-that-is-no-number/".
        _ = parts.port
    except ValueError:
        return None
    return parts


def redact(url: str) -> str:
    """``url`` as it may be shown: without credentials, without a query's or fragment's content.

    Signed addresses of file hosts carry their secret in the query. A user and a password count
    where a slash is missing or one too many, too: ``https:/user:password@host/``.
    """
    parts = split_address(url)
    if parts is None:
        return "(an unreadable address)"
    user, at, host = parts.netloc.rpartition("@")
    scheme, path = parts.scheme, _MISPLACED.sub("****@", parts.path)
    if not parts.netloc and "@" in path.partition("/")[0]:
        scheme, path = "", "****@" + path.partition("@")[2]  # user:password@host, with no scheme
    shown = urlunsplit((scheme, f"****@{host}" if at and user else host, path, "", ""))
    if parts.query:
        shown += "?****"
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in shown)


def strip_credentials(url: str) -> tuple[str, str | None, str | None]:
    """``url`` without its user information, and the user and password that it named."""
    parts = split_address(url)
    if parts is None or "@" not in parts.netloc:
        return url, None, None
    host = parts.netloc.rpartition("@")[2]
    user = unquote(parts.username) if parts.username else None
    password = unquote(parts.password) if parts.password is not None else None
    return urlunsplit(parts._replace(netloc=host)), user, password


def origin_of(url: str) -> str:
    """Scheme, host and port: what credentials and reachability belong to."""
    parts = split_address(url)
    if parts is None or parts.hostname is None:
        return ""
    port = parts.port or _DEFAULT_PORTS.get(parts.scheme.lower(), 0)
    return f"{parts.scheme.lower()}://{parts.hostname.lower()}:{port}"


def host_of(url: str) -> str:
    """The host's name, for messages."""
    parts = split_address(url)
    return (parts.hostname or "") if parts else ""


def with_slash(url: str) -> str:
    """``url`` as the root of an index: with the slash that relative links need."""
    return url if url.endswith("/") else url + "/"


def path_of(url: str) -> Path | None:
    """The path that a ``file:`` address names, None for any other address."""
    # Asked of every file of every page: splitting comes only where it may matter.
    if url[:5].lower() != "file:":
        return None
    parts = split_address(url)
    if parts is None or parts.netloc not in ("", "localhost"):
        return None
    return Path(unquote(parts.path))
