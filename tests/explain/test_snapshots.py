"""The text of many conflicts, as it was read and judged: would a tired engineer know what to do?

``python -m tests.explain.test_snapshots`` writes the files anew; read what changed before keeping
it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.explain.scenes import SCENES

DIRECTORY = Path(__file__).parent / "snapshots"


def text_of(name: str) -> str:
    """A snapshot: what ``resolve`` and ``why`` say of one scene."""
    scene = SCENES[name]
    parts = [
        f"$ abilock {command} {' '.join(scene.asked)}\n{text}\n" for command, text in scene.texts()
    ]
    return "\n".join(parts)


@pytest.mark.parametrize("name", SCENES)
def test_text(name: str) -> None:
    assert text_of(name) == (DIRECTORY / f"{name}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", SCENES)
def test_each_fits_on_a_screen(name: str) -> None:
    for _, text in SCENES[name].texts():
        assert len(text.splitlines()) <= 40


def test_no_snapshot_is_without_a_scene() -> None:
    assert {path.stem for path in DIRECTORY.glob("*.txt")} == set(SCENES)


if __name__ == "__main__":
    DIRECTORY.mkdir(exist_ok=True)
    for scene_name in SCENES:
        (DIRECTORY / f"{scene_name}.txt").write_text(text_of(scene_name), encoding="utf-8")
