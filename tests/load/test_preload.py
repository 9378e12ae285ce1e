from __future__ import annotations

from pathlib import Path

import pytest
from packaging.version import Version

from resolver.errors import KnowledgeError
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.load.system_library import find_system
from resolver.model.load_knowledge import find_rule
from tests.support.database import write_database

RULES = KnowledgeBase().preloads


@pytest.mark.parametrize(
    ("version", "rule"),
    [
        ("2.3.1", None),
        ("2.4.0", "torch-2.4"),
        ("2.5.0", "torch-2.5.0"),
        ("2.8.0+cu128", "torch-2.8"),
        ("2.9.1", "torch-2.9"),
        ("2.11.0+cu130", "torch-2.11"),
        ("2.12.0.dev20260226+cu130", "torch-2.12"),
        ("2.13.0", "torch-2.12"),
        ("2.15.0", "torch-2.15"),
        ("2.17.0", "torch-2.15"),
    ],
)
def test_the_rule_of_a_release(version: str, rule: str | None) -> None:
    found = find_rule(RULES, Version(version), 0)
    assert (found.id if found else None) == rule


@pytest.mark.parametrize(
    ("build", "rule", "first"),
    [
        (0, "torch-2.10", "libcublas"),
        (2, "torch-2.10", "libcublas"),
        (3, "torch-2.10-build-3", "libcublasLt"),
        (4, "torch-2.10-build-3", "libcublasLt"),
        (None, "torch-2.10-build-3", "libcublasLt"),
    ],
)
def test_a_later_build_of_one_release_preloads_otherwise(
    build: int | None, rule: str, first: str
) -> None:
    found = find_rule(RULES, Version("2.10.0"), build)
    assert found is not None
    assert (found.id, found.always[0].stem) == (rule, first)


def test_nvrtc_is_preloaded_from_the_old_directory_first() -> None:
    rule = find_rule(RULES, Version("2.11.0"), 0)
    assert rule is not None
    assert rule.directories[:2] == ("nvidia/{folder}/lib", "nvidia/cu{major}/lib")
    assert "libnvrtc" in [wanted.stem for wanted in rule.always]
    assert rule.lazy == ("libnvrtc",)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("preloads.toml", "preload = 1", "preload: "),
        ("preloads.toml", "= ", "preloads.toml: not TOML"),
        (
            "system_libraries.toml",
            "[[system]]\nid = 'a'",
            r"a: date: the key is missing \(6 more\)",
        ),
    ],
)
def test_broken_files(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    base = KnowledgeBase(tmp_path)
    with pytest.raises(KnowledgeError, match=message):
        _ = base.preloads if name.startswith("pre") else base.system_libraries


def test_missing_files(tmp_path: Path) -> None:
    base = KnowledgeBase(tmp_path)
    with pytest.raises(KnowledgeError, match=r"preloads\.toml: there is no such file"):
        _ = base.preloads
    with pytest.raises(KnowledgeError, match=r"system_libraries\.toml: there is no such file"):
        _ = base.system_libraries


def test_the_database_is_validated_with_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import typer

    from resolver.cli.knowledge import validate

    write_database(tmp_path)
    (tmp_path / "preloads.toml").write_text("preload = 1")
    with pytest.raises(typer.Exit):
        validate(tmp_path)
    assert "error: preloads.toml: preload: " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("soname", "id_"),
    [
        ("libnuma.so.1", "numa"),
        ("libavcodec.so.60", "ffmpeg-6"),
        ("libcuda.so.1", "driver-cuda"),
        ("libpython3.11.so.1.0", "python"),
        ("libnothing.so.1", None),
    ],
)
def test_libraries_of_the_system(soname: str, id_: str | None) -> None:
    row = find_system(KnowledgeBase().system_libraries, soname)
    assert (row.id if row else None) == id_
