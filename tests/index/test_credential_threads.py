"""Logins are asked for by several threads at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from resolver.index.credential import Credentials


def test_a_netrc_that_another_thread_found_not_to_be_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    credentials = Credentials((), tmp_path / "no-netrc")

    class Late:
        """A lock that is had once the other thread is done."""

        def __enter__(self) -> None:
            monkeypatch.setattr(credentials, "_netrc_file", None)

        def __exit__(self, *_: object) -> None:
            pass

    monkeypatch.setattr(credentials, "_lock", Late())
    assert credentials.authorization("https://host.test/simple/") is None
