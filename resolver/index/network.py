"""The client of httpx, once the variables that it reads by itself are known to be of use."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from resolver.errors import UsageError
from resolver.index.address import redact
from resolver.index.certificate import load_certificates, load_context, trusted_by_default
from resolver.index.fetch_failure import Bounds

if TYPE_CHECKING:
    import ssl

    import httpx

_PROXIES = ("http_proxy", "https_proxy", "all_proxy")
_SCHEMES = ("http", "https", "socks5", "socks5h")


def open_client(
    *,
    version: str,
    bounds: Bounds,
    ca_file: Path | None,
    transport: httpx.BaseTransport | None,
    environ: Mapping[str, str],
) -> httpx.Client:
    """A client that follows no redirects. Raises UsageError naming the variable that is wrong."""
    import httpx

    verify: ssl.SSLContext | None = None
    if transport is None:
        verify = check_variables(environ, certificates=ca_file is None)
    if ca_file is not None:
        verify = load_certificates(ca_file)
    return httpx.Client(
        headers={"User-Agent": f"abilock/{version}"},
        timeout=httpx.Timeout(bounds.read, connect=bounds.connect, pool=None),
        follow_redirects=False,
        verify=verify or trusted_by_default(environ.get("SSL_CERT_DIR") or None),
        transport=transport,
    )


def check_variables(
    environ: Mapping[str, str], *, certificates: bool = True
) -> ssl.SSLContext | None:
    """Raise UsageError for a proxy or a file of certificates that httpx cannot use.

    Gives the context with the certificates of SSL_CERT_FILE, None without one. Names are read as
    ``urllib`` reads them: in small letters first, in capitals else; ``NO_PROXY`` with a ``*`` means
    that no proxy is used.
    """
    bypassed = environ.get("no_proxy", environ.get("NO_PROXY", ""))
    if "*" not in (host.strip() for host in bypassed.split(",")):
        for small in _PROXIES:
            name = small if small in environ else small.upper()
            if value := environ.get(name):
                _check_proxy(name, value)
    name = "SSL_CERT_FILE"
    if certificates and (value := environ.get(name)):
        import ssl

        try:
            return load_context(value)
        except ssl.SSLError as error:
            raise UsageError(
                f"{name}={value} holds no certificate",
                hint=f"name a file of certificates in PEM form, or unset {name}",
            ) from error
        except OSError as error:
            cause = (error.strerror or str(error)).lower()
            raise UsageError(
                f"{name}={value} cannot be read: {cause}",
                hint=f"name a file of certificates in PEM form, or unset {name}",
            ) from error
    return None


def _check_proxy(name: str, value: str) -> None:
    import httpx

    address = value if "://" in value else f"http://{value}"
    try:
        parts = httpx.URL(address)
        usable = parts.scheme in _SCHEMES and bool(parts.host)
    except httpx.InvalidURL:
        usable = False
    if not usable:
        shown = redact(address) if "://" in value else redact(address).removeprefix("http://")
        raise UsageError(
            f"{name}={shown} is not a proxy that can be used",
            hint="write http://HOST:PORT, https://HOST:PORT or socks5://HOST:PORT",
        )
