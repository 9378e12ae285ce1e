"""``check`` of a lock against ``resolve`` and ``why``, on random small indexes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.lockfile.pin import LockFile, Pin
from resolver.model.artifact import Artifact
from resolver.model.check_report import Report
from resolver.model.host_need import GPU, HostNeed
from resolver.model.reason import Code, Reason
from resolver.usecase.check_lock import judge_pins
from tests.solve.random_case import Case, make_case
from tests.support.fakes import FakeIndex, FakeRules, make_reason, make_workspace, pins, verdict

SEEDS = range(80)


class _Unread:
    def link_of(self, artifact: Artifact) -> None:  # noqa: ARG002
        return None

    def set_reasons(
        self,
        artifact: Artifact,  # noqa: ARG002
        files: Mapping[NormalizedName, Artifact],  # noqa: ARG002
    ) -> tuple[Reason, ...]:
        return ()


def lock_of(named: Mapping[str, str]) -> LockFile:
    """A lock without hashes."""
    return LockFile(
        kind="requirements",
        pins=tuple(
            Pin(name=canonicalize_name(name), version=Version(version))
            for name, version in sorted(named.items())
        ),
    )


def check(index: FakeIndex | str, named: Mapping[str, str], **options: Any) -> Report:
    workspace = make_workspace(index, **options)
    base = KnowledgeBase(facts=workspace.knowledge)
    return judge_pins(workspace, base, _Unread(), lock_of(named), Path("a.txt"))


def is_plain_ok(report: Report) -> bool:
    """Whether it says Ok without a word on what it did not judge or what the lock overrides."""
    told = {reason.code for reason in report.findings}
    return report.verdict == "ok" and not report.unjudged and Code.VERSION_CONFLICT not in told


@pytest.mark.parametrize("seed", SEEDS)
def test_what_resolve_locks_is_never_broken(seed: int) -> None:
    case = make_case(Random(seed))
    outcome = case.answer(FakeIndex(case.text))
    if outcome.verdict == "solved":
        report = check(FakeIndex(case.text), pins(outcome), **case.options)
        assert report.verdict != "broken", f"{case}\n{report.findings}"


@pytest.mark.parametrize("seed", SEEDS)
def test_what_why_rejects_is_never_ok(seed: int) -> None:
    random = Random(seed)
    case = make_case(random)
    for named in sets_of(random, case):
        asked = [f"{name}=={version}" for name, version in named.items()]
        judged = verdict(FakeIndex(case.text), *asked, **case.options)
        report = check(FakeIndex(case.text), named, **case.options)
        if judged.verdict != "accepted":
            assert not is_plain_ok(report), f"{case}\n{named}: {judged.reasons}"


def sets_of(random: Random, case: Case) -> Sequence[dict[str, str]]:
    """A few sets of releases of the index, one of a project."""
    releases = FakeIndex(case.text).releases
    by_name: dict[str, list[str]] = {}
    for release in releases:
        by_name.setdefault(release.artifact.name, []).append(str(release.artifact.version))
    found = []
    for _ in range(3):
        names = random.sample(sorted(by_name), random.randint(1, len(by_name))) if by_name else []
        if names:
            found.append({name: random.choice(by_name[name]) for name in names})
    return found


def test_random_sets_meet_both_verdicts() -> None:
    met = set()
    for seed in SEEDS:
        random = Random(seed)
        case = make_case(random)
        for named in sets_of(random, case):
            met.add(is_plain_ok(check(FakeIndex(case.text), named, **case.options)))
    assert met == {True, False}


def test_the_wish_and_the_facts_about_one_file_are_asked() -> None:
    def need(subject: str) -> tuple[HostNeed, ...]:
        return (HostNeed(GPU, "sm_90", subject, make_reason("no-device-code", subject)),)

    text = "torch 1 cp312-cp312-linux_x86_64"
    wish = check(text, {"torch": "1"}, rules=FakeRules(wish=need("CUDA 13.0")))
    assert told(wish) == [("no-device-code", "CUDA 13.0")]
    of_file = check(text, {"torch": "1"}, rules=FakeRules(needs={"torch 1": need("torch 1")}))
    assert told(of_file) == [("no-device-code", "torch 1")]
    assert (wish.verdict, of_file.verdict) == ("broken", "broken")


def told(report: Report) -> list[tuple[str, str]]:
    def pair(reason: Reason) -> tuple[str, str]:
        return (str(reason.code), str(reason.subject))

    return [pair(reason) for reason in report.findings]


def test_what_a_lock_does_not_name_is_not_judged() -> None:
    report = check("a 1 needs b | c>1\nb 1\nc 2", {"a": "1", "b": "1"})
    assert (report.verdict, report.unjudged) == ("ok", 1)
    assert report.notes == (
        "the lock does not name c, which a requires: whether it works without was not judged",
    )
