"""The command: what it writes, what it says, and what it refuses."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import pytest

from resolver.cli.app import main
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.usecase.site import digest_of
from resolver.usecase.verify_knowledge import verify_knowledge
from tests.site.conftest import Written
from tests.support.database import GPUS, altered


def run(monkeypatch: pytest.MonkeyPatch, home: Path, *words: str) -> int:
    for name in ("XDG_DATA_HOME", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.setenv(name, str(home))
    monkeypatch.chdir(home)
    monkeypatch.setattr(sys, "argv", ["abilock", "knowledge", "site", *words])
    with pytest.raises(SystemExit) as stopped:
        main()
    return int(stopped.value.code or 0)


def test_it_writes_what_the_call_gives(
    written: Written,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = run(monkeypatch, tmp_path, "map", "-j", "1", "--knowledge", str(written.database))
    told = capsys.readouterr()
    assert (code, told.out) == (0, "")
    files = [path for path in written.place.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files) / 1_000_000
    assert (
        told.err
        == f"Wrote map: {len(files)} files, {size:.1f} MB, 45 picks.\nOpen map/index.html\n"
    )
    for path in files:
        assert (
            tmp_path / "map" / path.relative_to(written.place)
        ).read_bytes() == path.read_bytes()


def test_it_refuses_what_is_no_site_before_it_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    assert run(monkeypatch, tmp_path, str(tmp_path)) == 2
    assert capsys.readouterr().err == (
        f"error: {tmp_path} is not empty, and holds no site that abilock wrote\n"
        "hint: name a new or an empty directory\n"
    )


def test_the_digest_is_of_all_directories(written: Written, tmp_path: Path) -> None:
    whole = verify_knowledge(written.database).sha256
    assert written.site.digest == whole
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "gpus.toml").write_text(altered(GPUS, id="mine"), encoding="utf-8")
    both = f"{whole}\n{verify_knowledge(mine).sha256}"
    found = digest_of(KnowledgeBase(written.database, [mine]))
    assert found == hashlib.sha256(both.encode()).hexdigest()
