"""A home and a directory of its own, and no network, as for the command."""

from __future__ import annotations

from tests.cli.conftest import _no_network, place, warm

__all__ = ["_no_network", "place", "warm"]
