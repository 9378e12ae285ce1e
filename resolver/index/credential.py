"""Users and passwords, and which address may see them."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from resolver.dataclass import dataclass
from resolver.files import read_regular
from resolver.index.address import host_of, origin_of
from resolver.index.keyring import AskKeyring
from resolver.index.thread_pool import Once

_MOST = 1 << 20  # of a .netrc

if TYPE_CHECKING:
    import netrc


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """A user and a password for the addresses that begin with ``prefix``, or share its host."""

    prefix: str
    user: str
    password: str

    def __repr__(self) -> str:
        return f"Credential(prefix={self.prefix!r}, user=****, password=****)"


class Credentials:
    """What the settings and ``.netrc`` give; the file is read when it is first needed.

    ``ask_keyring`` is asked, once each, for the passwords of users that are named without one.
    """

    def __init__(
        self,
        known: Iterable[Credential],
        netrc_file: Path | None,
        ask_keyring: AskKeyring | None = None,
    ) -> None:
        self._ask_keyring = ask_keyring
        self._asked: Once[str | None] = Once()
        self._credentials = list(known)
        self._netrc_file = netrc_file
        self._netrc: netrc.netrc | None = None
        self._lock = threading.Lock()

    def add(self, credential: Credential) -> None:
        """Know one more: an address that carries its own."""
        with self._lock:
            if credential not in self._credentials:
                self._credentials.append(credential)

    def authorization(self, url: str, *, asked: str | None = None) -> str | None:
        """Basic credentials for ``url``: the closest prefix on its host, else ``.netrc``.

        ``asked`` is the address that redirected there. ``.netrc`` knows hosts and no ports: an
        entry counts for its host wherever the request came from, as in curl 7.88 and uv 0.13.9,
        both tried. Its ``default`` does not count where a redirect leads to another host: there a
        server would choose who gets the password.
        """
        origin = origin_of(url)
        mine = [known for known in self._credentials if origin_of(known.prefix) == origin]
        best = max(
            mine,
            key=lambda known: len(known.prefix) if url.startswith(known.prefix) else 0,
            default=None,
        )
        if best is not None:
            return _basic(best.user, best.password or self._password_of(best))
        host = host_of(url)
        everywhere = asked is None or host_of(asked) == host
        login = self._netrc_login(host, everywhere=everywhere)
        return _basic(*login) if login is not None else None

    def _password_of(self, credential: Credential) -> str:
        ask = self._ask_keyring
        if ask is None or not credential.user:
            return ""
        key = f"{credential.user} {credential.prefix}"
        return self._asked.get(key, lambda: ask(credential.prefix, credential.user)) or ""

    def _netrc_login(self, host: str, *, everywhere: bool) -> tuple[str, str] | None:
        with self._lock:  # of several threads the first finds that there is none
            if self._netrc_file is None:
                return None
            import netrc

            if self._netrc is None:
                try:
                    read_regular(self._netrc_file, most=_MOST)
                    self._netrc = netrc.netrc(str(self._netrc_file))
                except (OSError, netrc.NetrcParseError, UnicodeDecodeError):
                    # As pip, curl and requests do: an unreadable .netrc counts as none.
                    self._netrc_file = None
                    return None
            found = self._netrc.hosts.get(host)
            if found is None and everywhere:
                found = self._netrc.hosts.get("default")
        return (found[0] or found[1] or "", found[2] or "") if found is not None else None


def _basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode("ascii")
