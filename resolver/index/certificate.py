"""Whose certificates are trusted."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from resolver.errors import UsageError
from resolver.files import read_regular

if TYPE_CHECKING:
    import ssl


def load_context(path: str | Path) -> ssl.SSLContext:
    """A context that trusts the certificates of a file alone. Raises SSLError or OSError.

    A connection that the collector closes in this thread leaves its error in OpenSSL's queue, where
    the next call finds it as its own: only the second failure is the file's.
    """
    import ssl

    read_regular(path)
    try:
        return ssl.create_default_context(cafile=path)
    except ssl.SSLError:
        return ssl.create_default_context(cafile=path)


def load_certificates(ca_file: Path) -> ssl.SSLContext:
    """The context of pip's file of certificates. Raises UsageError."""
    try:
        return load_context(ca_file)
    except OSError as error:
        raise UsageError(
            f"{ca_file}: cannot be read as certificates", hint="check pip's cert setting"
        ) from error


@lru_cache(maxsize=4)
def trusted_by_default(directory: str | None) -> ssl.SSLContext:
    """The context that httpx would make for each client: of SSL_CERT_DIR, else of certifi.

    Cost: 40 ms, once in a process.
    """
    import ssl

    import httpx

    if directory is not None:
        return ssl.create_default_context(capath=directory)
    return httpx.create_ssl_context(trust_env=False)
