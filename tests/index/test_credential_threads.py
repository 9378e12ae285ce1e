"""Logins are asked for by several threads at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from resolver.index.credential import Credentials


def test_a_netrc_that_is_not_there_is_none_for_every_thread(tmp_path: Path) -> None:
    for _ in range(20):
        credentials = Credentials((), tmp_path / "no-netrc")
        with ThreadPoolExecutor(8) as pool:
            asked = [f"https://host{number}.test/simple/" for number in range(16)]
            assert set(pool.map(credentials.authorization, asked)) == {None}
