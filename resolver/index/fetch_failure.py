"""Why one attempt to fetch failed, in words of ours, and whether another is worth making."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urljoin

from resolver.dataclass import dataclass
from resolver.index.address import redact, split_address, strip_credentials

_RETRIED = frozenset({429, 500, 502, 503, 504})


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What a request may cost: seconds, except ``redirects`` and ``attempts``.

    ``total`` covers a page with its redirects and retries; ``download`` a whole file. ``hasty`` is
    for connections to hosts that something else stands in for.
    """

    connect: float = 10.0
    hasty: float = 3.0
    read: float = 30.0
    total: float = 120.0
    download: float = 1800.0
    redirects: int = 10
    attempts: int = 3
    first_wait: float = 0.25
    longest_wait: float = 20.0


class Failed(Exception):
    """One attempt failed; ``retry`` is the wait in seconds before the next, False for none."""

    def __init__(
        self, cause: str, *, retry: bool | float, host: bool = False, hint: str | None = None
    ) -> None:
        super().__init__(cause)
        self.cause = cause
        self.retry = retry
        self.host = host
        self.hint = hint
        self.origin = ""


def explain_status(status: int, headers: Mapping[str, str], bounds: Bounds) -> Failed:
    """What a status that is no success means."""
    if status in (401, 403):
        return Failed(
            f"the server answered {status} (credentials are missing or not accepted)",
            retry=False,
            hint="give them in .netrc, in the address, or as ABILOCK_INDEX_<NAME>_USERNAME "
            "and ABILOCK_INDEX_<NAME>_PASSWORD",
        )
    if status not in _RETRIED:
        return Failed(f"the server answered {status}", retry=False)
    cause = f"the server answered {status}"
    wait = _retry_after(headers)
    if wait is None:
        return Failed(cause, retry=True)
    if not 0 <= wait <= bounds.longest_wait:
        return Failed(f"{cause} and asks to wait {wait:g} s", retry=False)
    return Failed(cause, retry=wait or True)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds, given as a number or, by the server's own clock, as a date (RFC 9110, 10.2.3)."""
    text = headers.get("retry-after", "")
    try:
        return float(text)
    except ValueError:
        pass
    try:
        from email.utils import parsedate_to_datetime

        until = parsedate_to_datetime(text)
        return max(0.0, (until - parsedate_to_datetime(headers.get("date", ""))).total_seconds())
    except (ValueError, TypeError):
        return None


def next_hop(here: str, location: str) -> str:
    """Where a redirect from ``here`` leads. Raises Failed where it must not be followed."""
    # User information in a redirect is dropped: a server must not choose our credentials.
    try:
        target = strip_credentials(urljoin(here, location))[0].partition("#")[0]
    except ValueError:
        target = ""
    parts = split_address(target)
    if parts is None or parts.scheme not in ("http", "https"):
        raise Failed("it redirects to something that is no web address", retry=False)
    if here.lower().startswith("https:") and parts.scheme == "http":
        raise Failed(
            f"it redirects from https to http ({redact(target)}), which is refused", retry=False
        )
    return target


def explain_error(error: Exception, where: str, bounds: Bounds) -> Failed:
    """Say what a failure of the transport means, without the words of the libraries."""
    import ssl

    import httpx

    if isinstance(error, httpx.ConnectTimeout):
        cause = f"no connection within {bounds.connect:g} s{where}"
        return Failed(cause, retry=False, host=True)
    if isinstance(error, httpx.TimeoutException):
        return Failed(f"no answer within {bounds.read:g} s{where}", retry=False, host=True)
    if isinstance(error, httpx.ProxyError):
        return Failed(
            f"the proxy refused: {error}{where}",
            retry=False,
            host=True,
            hint="check HTTPS_PROXY, HTTP_PROXY and NO_PROXY",
        )
    if isinstance(error, httpx.ConnectError | ssl.SSLError):
        if "CERTIFICATE_VERIFY_FAILED" in str(error):
            return Failed(
                f"its TLS certificate is not trusted{where}",
                retry=False,
                host=True,
                hint="set SSL_CERT_FILE to the certificates of your organisation",
            )
        # A server that starts anew, or a name server's "try again", passes soon.
        cause = f"no connection: {_system_words(error)}{where}"
        return Failed(cause, retry=True, host=True)
    if isinstance(error, httpx.InvalidURL):
        return Failed("it is not a web address", retry=False, hint="check the address")
    return Failed(f"the connection broke off{where}", retry=True)


def _system_words(error: Exception) -> str:
    """``[Errno 111] Connection refused`` as ``connection refused``."""
    words = str(error).partition("] ")[2] or str(error) or type(error).__name__
    return words[:1].lower() + words[1:]
