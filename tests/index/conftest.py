from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from resolver.index.http import HttpClient
from tests.support.patience import LONG
from tests.support.server import Server, serve

# A server that answers does so within these on any machine; what waits for more says so itself.
BOUNDS = replace(LONG, longest_wait=0.3)


@pytest.fixture
def server() -> Iterator[Server]:
    with serve() as running:
        yield running


@pytest.fixture
def make_client() -> Iterator[Callable[..., HttpClient]]:
    made: list[HttpClient] = []

    def make(**options: Any) -> HttpClient:
        options.setdefault("bounds", BOUNDS)
        client = HttpClient(version="test", **options)
        made.append(client)
        return client

    yield make
    for client in made:
        client.close()


@pytest.fixture
def client(make_client: Callable[..., HttpClient]) -> HttpClient:
    return make_client()
