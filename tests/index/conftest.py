from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from resolver.index.failure import Bounds
from resolver.index.http import HttpClient
from tests.support.server import Server, serve

QUICK = Bounds(connect=2.0, read=0.4, total=1.5, first_wait=0.01, longest_wait=0.3)


@pytest.fixture
def server() -> Iterator[Server]:
    with serve() as running:
        yield running


@pytest.fixture
def make_client() -> Iterator[Callable[..., HttpClient]]:
    made: list[HttpClient] = []

    def make(**options: Any) -> HttpClient:
        options.setdefault("bounds", QUICK)
        client = HttpClient(version="test", **options)
        made.append(client)
        return client

    yield make
    for client in made:
        client.close()


@pytest.fixture
def client(make_client: Callable[..., HttpClient]) -> HttpClient:
    return make_client()
