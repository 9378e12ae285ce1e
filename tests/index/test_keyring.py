"""Passwords from the program ``keyring``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from resolver.index.credential import Credential
from resolver.index.http import HttpClient
from resolver.index.keyring import ask_keyring
from tests.support.server import Reply, Server


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A ``keyring`` that answers for one service and writes down what it was asked."""
    place = tmp_path / "bin"
    place.mkdir()
    script = place / "keyring"
    script.write_text(
        "#!/bin/sh\n"
        f'echo "$@" >> {tmp_path}/asked\n'
        'if [ "$2" = h.test ]; then echo secret; else exit 1; fi\n'
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{place}:/usr/bin:/bin")
    return tmp_path / "asked"


def test_address_then_host(program: Path) -> None:
    assert ask_keyring("https://h.test/simple", "me") == "secret"
    assert program.read_text().splitlines() == ["get https://h.test/simple me", "get h.test me"]


def test_keyring_that_knows_nothing(program: Path) -> None:
    assert ask_keyring("https://other.test/simple", "me") is None
    assert len(program.read_text().splitlines()) == 2


def test_no_such_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert ask_keyring("https://h.test/simple", "me") is None


def test_each_user_is_asked_for_once(
    server: Server, make_client: Callable[..., HttpClient]
) -> None:
    asked: list[tuple[str, str]] = []

    def ask(url: str, user: str) -> str:
        asked.append((url, user))
        return "secret"

    server.routes["/x"] = Reply(body=b"")
    own = Credential(prefix=server.url, user="me", password="")
    client = make_client(credentials=[own], ask_keyring=ask)
    client.get(f"{server.url}/x")
    client.get(f"{server.url}/x")
    assert asked == [(server.url, "me")]
    assert {r.headers["authorization"] for r in server.requests} == {"Basic bWU6c2VjcmV0"}


def test_a_stated_password_is_not_asked_for(
    server: Server, make_client: Callable[..., HttpClient]
) -> None:
    server.routes["/x"] = Reply(body=b"")
    own = Credential(prefix=server.url, user="me", password="stated")
    client = make_client(credentials=[own], ask_keyring=lambda *_: pytest.fail("asked"))
    client.get(f"{server.url}/x")
    assert server.requests[0].headers["authorization"] == "Basic bWU6c3RhdGVk"
