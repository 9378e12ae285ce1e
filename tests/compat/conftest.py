from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.database import write_database


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """The small database, which tests break."""
    write_database(tmp_path)
    return tmp_path
