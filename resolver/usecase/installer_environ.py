"""The user's indexes and passwords, as uv and pip take them."""

from __future__ import annotations

import base64
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit

from resolver.index.index_source import IndexSource
from resolver.index.settings import Settings
from resolver.usecase.session import Session


def installer_environ(session: Session) -> dict[str, str]:
    """The user's environment, with the indexes and passwords of all settings.

    They are for uv and pip alone, and are printed nowhere.
    """
    settings = session.settings
    # uv warns of what it calls experimental, and that is what is wanted.
    environ = {**session.world.environ, "UV_PREVIEW_FEATURES": "pylock"}
    default = None if settings.default is None else _address(settings.default, settings)
    others = [
        address
        for source in (*settings.named, *settings.extra)
        if (address := _address(source, settings)) is not None
    ]
    if default is not None:
        environ |= {"UV_DEFAULT_INDEX": default, "PIP_INDEX_URL": default}
    if others:
        environ |= {"UV_INDEX": " ".join(others), "PIP_EXTRA_INDEX_URL": " ".join(others)}
    links = [a for s in settings.find_links if (a := _address(s, settings)) is not None]
    if links:
        environ |= {"UV_FIND_LINKS": ",".join(links), "PIP_FIND_LINKS": " ".join(links)}
    if settings.ca_file is not None:
        environ |= {"SSL_CERT_FILE": str(settings.ca_file), "PIP_CERT": str(settings.ca_file)}
    return environ


def _address(source: IndexSource, settings: Settings) -> str | None:
    """An address with its password, as uv and pip take it; None for the public index."""
    from resolver.index.credential import Credentials
    from resolver.index.keyring import ask_keyring

    if source.url is None:
        return None
    if "://" not in source.url:
        return Path(source.url).absolute().as_uri()
    known = Credentials(settings.credentials, None, ask_keyring if settings.keyring else None)
    basic = known.authorization(source.url)
    if basic is None:
        return source.url
    user, _, password = base64.b64decode(basic.partition(" ")[2]).decode().partition(":")
    parts = urlsplit(source.url)
    login = quote(user, safe="") + (f":{quote(password, safe='')}" if password else "")
    return urlunsplit(parts._replace(netloc=f"{login}@{parts.netloc}"))
