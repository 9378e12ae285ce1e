"""Passwords from the program ``keyring``, asked as uv and pip ask it: address first, then host."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

from resolver.index.address import host_of

# A keyring may wait for a person to unlock it.
PATIENCE = 30.0

AskKeyring = Callable[[str, str], str | None]


def ask_keyring(url: str, user: str) -> str | None:
    """The password of ``user`` for the index at ``url``; None where the keyring gives none."""
    for service in (url, host_of(url)):
        try:
            done = subprocess.run(
                ["keyring", "get", service, user],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=PATIENCE,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError):
            return None
        if done.returncode == 0 and (password := done.stdout.rstrip("\r\n")):
            return password
    return None
