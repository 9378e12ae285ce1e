"""Evidence that ships, beside the wheels: some chosen by chance are read again, forty by hand."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

from resolver.abi.bundled_evidence import EvidencePack
from resolver.compat.load_facts import knowledge_path
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.usecase.verify_knowledge import verify_knowledge

# What is read whole has to be small; of others a few hundred kB are read.
_SMALL = 4 << 20


@pytest.mark.parametrize(
    "wheels", [pytest.param(6, marks=pytest.mark.live), pytest.param(40, marks=pytest.mark.real)]
)
def test_a_sample_says_the_same_again(tmp_path: Path, wheels: int) -> None:
    pack = KnowledgeBase().pack
    rows = [
        (canonicalize_name(project), facts)
        for project in pack.projects()
        for facts in pack.all(canonicalize_name(project))
        if project != "torch" and (facts.depth == "symbols" or facts.size < _SMALL)
    ]
    seed = random.randrange(1 << 30)
    chosen = random.Random(seed).sample(rows, wheels)
    for path in knowledge_path().glob("*.toml"):
        (tmp_path / path.name).symlink_to(path)
    for project, _ in chosen:
        facts = [facts for name, facts in chosen if name == project]
        EvidencePack(tmp_path / "abi").write(project, facts)
    found = verify_knowledge(tmp_path, sample=wheels)
    assert len(found.sample) == wheels
    wrong = [(each.filename, each.differences) for each in found.sample if each.agrees is False]
    assert wrong == [], f"seed {seed}"
    assert sum(each.agrees is True for each in found.sample) >= wheels - 1, f"seed {seed}"
