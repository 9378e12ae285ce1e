"""The picks of the shipped database beside ``resolve --offline``: the same answers."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import abilock
from resolver.compat.gpu_name import find_gpu
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.model.cuda import Arch, CudaVersion
from resolver.model.site import Choice, Place
from resolver.usecase.session import Session
from resolver.usecase.site_picks import GLIBC, answer_pick, axes_of, cell_of, part_of
from resolver.usecase.site_work import Ground
from tests.support.still import still_world

AXES = axes_of(KnowledgeBase().facts)
PICKS = [(choice, *row) for row in AXES.rows for choice in AXES.choices]
FEW = random.Random(3).sample(PICKS, 2)
FIFTY = random.Random(50).sample(PICKS, 50)


def words(pick: Any) -> list[str]:
    choice, place, cuda, python = pick
    machine = f"--machine {place.machine} --glibc {GLIBC}".split()
    gpu = ["--cuda", str(cuda), "--arch", f"sm{place.arch.number}", "--python", python]
    return [*choice.requirements, *gpu, *machine]


def test_the_axes() -> None:
    """Every project is one that the database lists, and all is within a few minutes."""
    assert {choice.id for choice in AXES.choices} >= {"torch", "sglang", "vllm", "flash-attn"}
    assert AXES.pythons == ("3.10", "3.11", "3.12", "3.13", "3.14")
    assert 1_000 <= len(AXES) <= 1_500
    assert len(AXES) == len(PICKS)
    assert len({cell_of(*row) for row in AXES.rows}) == len(AXES.rows)


def test_the_axes_in_full() -> None:
    facts = KnowledgeBase().facts
    full = axes_of(facts, full=True)
    assert {place.arch for place in full.places} == {gpu.arch for gpu in facts.gpus}
    spark = find_gpu(facts.gpus, "DGX Spark")
    assert spark is not None
    assert [place.machine for place in full.places if place.arch == spark.arch] == ["aarch64"]
    assert full.cudas[-1] == max(facts.cuda)
    assert set(AXES.rows) < set(full.rows)


def test_few_picks(shared_facts: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache/facts").symlink_to(shared_facts)
    ground = Ground(knowledge=None, overlays="", data_dir=tmp_path / "data", scratch=tmp_path)
    options = abilock.IndexOptions(offline=True)
    with ground.open() as session:
        for pick in FEW:
            choice, place, cuda, python = pick
            found = answer_pick(session, choice, place, cuda, python)
            with Session(options=options, world=still_world(tmp_path)) as other:
                answer = abilock.resolve(
                    choice.requirements,
                    cuda=str(cuda),
                    arch=str(place.arch),
                    python=python,
                    machine=place.machine,
                    glibc=GLIBC,
                    session=other,
                )
            del found["sets"]
            assert found == part_of(answer), words(pick)


@pytest.mark.live  # reads no index: fifty runs of the command take minutes
def test_fifty_picks_by_the_command(tmp_path: Path) -> None:
    ground = Ground(knowledge=None, overlays="", data_dir=tmp_path, scratch=tmp_path / "scratch")
    ground.scratch.mkdir()
    program = Path(sys.executable).parent / "abilock"
    verdicts = set()
    with ground.open() as session:
        for number, pick in enumerate(FIFTY):
            found = answer_pick(session, *pick)
            verdicts.add(found["verdict"])
            home = tmp_path / str(number)
            home.mkdir()
            done = subprocess.run(
                [
                    program,
                    "resolve",
                    *words(pick),
                    "--offline",
                    "--format",
                    "json",
                ],
                cwd=home,
                env={"PATH": os.environ["PATH"], "HOME": str(home), "ABILOCK_KNOWLEDGE": ""},
                capture_output=True,
                text=True,
                check=False,
            )
            compare(found, done, words(pick))
    assert verdicts >= {"solved", "unknown"}


def compare(found: dict[str, Any], done: subprocess.CompletedProcess[str], pick: list[str]) -> None:
    """What the site shows of a pick beside what the command said."""
    codes = {"solved": 0, "conflict": 1, "unknown": 3}
    assert done.returncode == codes[found["verdict"]], (pick, done.stderr)
    if not done.stdout:
        assert found["verdict"] == "unknown"
        return
    document = json.loads(done.stdout)
    assert found["verdict"] == document["verdict"], pick
    rows = [[p["name"], p["version"], p["channel"], p["origin"]] for p in document["packages"]]
    assert found["packages"] == rows, pick
    pairs = [{key: row[key] for key in row if key != "summary"} for row in found["pairs"]]
    assert pairs == document["pairs"], pick
    for key in ("tuple", "reasons"):
        assert found[key] == document[key], pick
    assert found["newer"] == [[each["release"], each["why"]] for each in document["passed_over"]]
    if document["conflict"] is not None:
        assert found["against"] == document["conflict"]["tree"]["reasons"][: len(found["against"])]
        assert [text for text, _ in found["relaxations"]] == document["relaxations"]


def test_sets_are_named_where_nothing_was_found(database: Path, tmp_path: Path) -> None:
    """Good ones that serve the machine, of what is asked for."""
    ground = Ground(knowledge=database, overlays="", data_dir=tmp_path, scratch=tmp_path)
    choice = Choice(id="sglang", requirements=("sglang",))
    place = Place(machine="x86_64", arch=Arch(9, 0))
    named = {}
    with ground.open() as session:
        for python in ("3.12", "3.13"):
            found = answer_pick(session, choice, place, CudaVersion(13, 0), python)
            assert found["verdict"] != "solved"
            named[python] = found["sets"]
    whole = ["sglang-0.5.0-cu130-x86_64", "sglang 0.5.0 with CUDA 13.0", "measured"]
    assert named == {"3.12": [whole], "3.13": []}
