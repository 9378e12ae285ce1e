"""docs/api.md is run as it stands, and so is the script of the example, which mypy checks."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.examples.conftest import ROOT

SCRIPT = ROOT / "examples" / "python" / "lock_and_explain.py"
DOCUMENT = ROOT / "docs" / "api.md"


def test_the_document_runs(place: Path) -> None:
    text = re.sub(r"(?m)^```\w*$", "", DOCUMENT.read_text(encoding="utf-8"))
    test = doctest.DocTestParser().get_doctest(text, {}, "api.md", str(DOCUMENT), 0)
    failures: list[str] = []
    result = doctest.DocTestRunner(verbose=False).run(test, out=failures.append)
    assert result.attempted > 20
    assert "".join(failures) == ""
    assert (place / "pylock.toml").is_file()


@pytest.mark.usefixtures("warm")
def test_the_script_runs(place: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT)], capture_output=True, text=True, cwd=place, check=False
    )
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1].startswith("rejected missing-symbol: torch >=2.9,<2.10")
    assert (place / "pylock.toml").is_file()


def test_the_script_is_short() -> None:
    lines = SCRIPT.read_text(encoding="utf-8").partition("import abilock\n")[2].splitlines()
    assert len([line for line in lines if line]) <= 10
