"""The nearest sets that work: which are tried, in what order, and that each one solves."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, note
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from resolver.model.artifact import Artifact
from resolver.model.command import Repeated
from resolver.model.cuda import Arch, CudaVersion
from resolver.model.host import CUDA, HostNeed
from resolver.model.knowledge import CudaRelease, KnownTuple, Successor
from resolver.model.outcome import Alternative, Outcome, Pair
from resolver.model.reason import Grade, Reason, Severity
from resolver.model.target import Target
from resolver.solve.candidate import Bound
from resolver.solve.judge import judge
from resolver.solve.near import Distance, around, distance
from resolver.solve.neighbour import MAX_SOLVES
from resolver.solve.strategy import attempt, resolve
from tests.solve.brute import Rulebook, solvable
from tests.solve.test_random import ENVIRONMENT, indexes, quick, requests
from tests.support.fakes import (
    FakeEvidence,
    FakeIndex,
    FakeRules,
    make_catalog,
    make_knowledge,
    make_reason,
    make_request,
    make_target,
    make_tuple,
    make_workspace,
    verdict,
)

TORCH = "torch 2.8.0\ntorch 2.9.0\ntorch 2.9.1\ntorch 2.10.0\ntorch 2.11.0\n"


def release(version: str, archs: str = "sm120", driver: str = "525") -> CudaRelease:
    return CudaRelease(
        id=version,
        version=CudaVersion.parse(version),
        archs=tuple(map(Arch.parse, archs.split(","))),
        driver_family=Version(driver),
        driver_packaged=None,
        archs_source="ptxas",
        driver_source="the guide",
    )


def told(alternative: Alternative) -> str:
    return ", ".join(f"{c.name} {c.before} -> {c.after}" for c in alternative.changes)


def find(text: str, *asked: str, **options: Any) -> list[Alternative]:
    """The alternatives of a rejected set; each is solved once more by its own pins."""
    known = options.pop("knowledge", make_knowledge())
    rules = options.pop("rules", lambda _: FakeRules())
    target = options.pop("target", make_target())
    index = FakeIndex(text)

    def open_at(other: Target) -> Any:
        return make_workspace(index, target=other, rules=rules(other))

    @contextmanager
    def elsewhere(other: Target) -> Iterator[Any]:
        yield open_at(other)

    request = make_request(*asked, **options)
    judgement = judge(open_at(target), known, request, elsewhere)
    assert judgement.verdict == "rejected"
    again = judge(open_at(target), known, request, elsewhere)
    assert again.alternatives == judgement.alternatives
    for alternative in judgement.alternatives:
        program, command, *words = alternative.command.argv
        assert (program, command) == ("abilock", "resolve")
        assert shlex.split(str(alternative.command)) == [program, command, *words]
        start = words.index("--cuda")
        requirements = words[:start]
        there = dict(itertools.pairwise(words[start:]))
        python = there.get("--python", target.python_short)
        other = replace(
            target,
            cuda=CudaVersion.parse(there["--cuda"]),
            python=Version(f"{python.rstrip('t')}.0"),
            free_threaded=python.endswith("t"),
        )
        outcome = resolve(open_at(other), known, make_request(*requirements))
        assert outcome.verdict == "solved", alternative.command
    return list(judgement.alternatives)


RELEASES = [
    pytest.param(
        TORCH + "ext 1 needs torch<2.10",
        ["torch==2.11.0", "ext==1"],
        ["torch 2.11.0 -> 2.9.1"],
        id="the-nearest-release",
    ),
    pytest.param(
        TORCH + "ext 1 needs torch==2.9.*\next 2 needs torch==2.10.*",
        ["torch==2.10.0", "ext==1"],
        ["torch 2.10.0 -> 2.9.1", "ext 1 -> 2"],
        id="the-smaller-change-first",
    ),
    pytest.param(
        "torch 2.9.1+cu128\ntorch 2.9.1+cu130\ntorch 2.11.0+cu128\next 1 needs torch==2.9.1+cu130",
        ["torch==2.9.1+cu128", "ext"],
        ["torch 2.9.1+cu128 -> 2.9.1+cu130"],
        id="another-build",
    ),
    pytest.param(
        TORCH + "a 1 needs torch==2.9.1\nb 1 needs torch==2.9.1",
        ["torch==2.11.0", "a==1", "b==1"],
        ["torch 2.11.0 -> 2.9.1"],
        id="one-change-that-serves-all",
    ),
    pytest.param(
        TORCH + "a 1 needs torch==2.9.1\na 2 needs torch==2.10.0\nb 1 needs torch==2.10.0",
        ["torch==2.11.0", "a==1", "b==1"],
        ["a 1 -> 2, torch 2.11.0 -> 2.10.0"],
        id="two-changes",
    ),
    pytest.param(TORCH, ["torch==2.12.0"], ["torch 2.12.0 -> 2.11.0"], id="no-such-release"),
    pytest.param(
        TORCH + "ext 1 extras:x needs torch==2.9.1",
        ["torch>=2.10", "ext[x]==1"],
        ["torch >=2.10 -> 2.9.1"],
        id="of-a-range",
    ),
    pytest.param("a 1 needs gone", ["a==1"], [], id="nothing-works"),
    pytest.param("a 1 needs b==2\nb 1", ["a"], [], id="nothing-was-named"),
]


@pytest.mark.parametrize(("text", "asked", "expected"), RELEASES)
def test_other_releases(text: str, asked: list[str], expected: list[str]) -> None:
    assert [told(alternative) for alternative in find(text, *asked)] == expected


def test_the_command_repeats_the_users_options() -> None:
    text = TORCH + "ext 1 extras:x needs torch==2.9.1"
    (found,) = find(
        text,
        "torch==2.10.0",
        "ext[x]==1",
        target=make_target(driver="580.65.06"),
        options=Repeated.of("--cuda 13.0", "--python 3.12", "--index 'a=a b'", "--pre"),
    )
    assert str(found.command) == (
        "abilock resolve 'ext[x]==1' torch==2.9.1 --cuda 13.0 --arch sm120 --python 3.12 "
        "--driver 580.65.06 --index 'a=a b' --pre"
    )


def _unmet(subject: str) -> HostNeed:
    return HostNeed(CUDA, "another", subject, make_reason("cuda-mismatch", subject))


def by_local(target: Target) -> FakeRules:
    """A build for another CUDA major does not count."""
    wrong = {
        f"torch 2.9.1+cu{cuda}": (_unmet(f"torch 2.9.1+cu{cuda}"),)
        for cuda in (126, 128, 130)
        if cuda // 10 != target.cuda.major
    }
    return FakeRules(needs=wrong)


def test_another_cuda_release_that_the_files_serve() -> None:
    cudas = {r.version: r for r in map(release, ("12.6", "12.8", "12.9", "13.0"))}
    found = find(
        "torch 2.9.1+cu128",
        "torch==2.9.1+cu128",
        knowledge=make_knowledge(cuda=cudas),
        rules=by_local,
    )
    assert list(map(told, found)) == ["<cuda> 13.0 -> 12.8"]
    assert str(found[0].command) == "abilock resolve torch==2.9.1+cu128 --cuda 12.8 --arch sm120"


def test_a_cuda_release_must_know_the_gpu_and_run_on_the_driver() -> None:
    cudas = [release("12.8", archs="sm90"), release("12.9", driver="590"), release("12.6")]
    found = find(
        "torch 2.9.1+cu128",
        "torch==2.9.1+cu128",
        knowledge=make_knowledge(cuda={r.version: r for r in cudas}),
        rules=by_local,
        target=make_target(driver="580"),
    )
    assert list(map(told, found)) == ["<cuda> 13.0 -> 12.6"]


def test_another_python() -> None:
    said = Repeated.of("--python 3.12")
    found = find("a 1 cp311-cp311-linux_x86_64", "a==1", options=said)
    assert list(map(told, found)) == ["<python> 3.12 -> 3.11"]
    command = "abilock resolve a==1 --cuda 13.0 --arch sm120 --python 3.11"
    assert str(found[0].command) == command


def test_the_same_python_with_a_lock() -> None:
    found = find(
        "a 1 cp313-cp313-linux_x86_64\na 2 cp312-cp312-linux_x86_64",
        "a==1",
        target=make_target(python="3.13.0", free_threaded=True),
        options=Repeated.of("--python 3.13t"),
    )
    assert list(map(told, found)) == ["<python> 3.13t -> 3.13"]
    command = "abilock resolve a==1 --cuda 13.0 --arch sm120 --python 3.13"
    assert str(found[0].command) == command


def test_the_successor_of_a_project() -> None:
    successor = Successor(
        id="new",
        project=canonicalize_name("old"),
        successor=canonicalize_name("new"),
        since=Version("2"),
        source="its page",
    )
    found = find(
        TORCH + "old 1 needs torch==2.8.0\nnew 2 needs torch==2.11.0\ntorchx 1 needs torch==2.11.0",
        "torch",
        "torchx",
        "old==1",
        knowledge=make_knowledge(successors=(successor,)),
    )
    assert list(map(told, found)) == ["old 1 -> new 2"]


def test_the_number_of_solves_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"p{i}" for i in range(8)]
    text = "\n".join(f"{name} 1 needs gone" for name in names)
    calls: list[object] = []

    def counted(*given: Any) -> Outcome | None:
        calls.append(given)
        return attempt(*given)

    monkeypatch.setattr("resolver.solve.neighbour.attempt", counted)
    assert find(text, *(f"{name}==1" for name in names)) == []
    assert len(calls) == 2 * MAX_SOLVES  # asked twice


NATIVE = "cp312-cp312-linux_x86_64"
KERNELS = TORCH + "\n".join(f"ext {v} {NATIVE} needs torch" for v in ("1.0", "1.1", "1.2"))


def graded(*known: tuple[str, str, Grade], good: tuple[KnownTuple, ...] = ()) -> list[str]:
    """The alternatives of torch 2.10.0 with ext 1.1, which do not load together, by grades."""
    broken = make_reason("missing-symbol", "ext 1.1", object="torch 2.10.0")
    torch = canonicalize_name("torch")

    def accepts(artifact: Artifact) -> bool:
        return artifact.version < Version("2.10.0")

    evidence = FakeEvidence(
        bounds={
            f"ext {v}": (Bound.because(torch, accepts, broken, f"ext {v}"),) for v in ("1.1", "1.2")
        },
        pairs={
            (ext, beside): Pair(extension=ext, torch=beside, grade=grade, evidence="a test")
            for ext, beside, grade in known
        },
    )
    judgement = verdict(
        KERNELS,
        "torch==2.10.0",
        "ext==1.1",
        evidence=evidence,
        knowledge=make_knowledge(*good),
    )
    assert judgement.verdict == "rejected"
    return [f"{told(a)}: {a.grade}" for a in judgement.alternatives]


def test_of_as_many_changes_the_best_known_comes_first() -> None:
    assert graded(
        ("ext 1.0", "torch 2.10.0", Grade.DECLARED), ("ext 1.1", "torch 2.9.1", Grade.REPORTED)
    ) == ["torch 2.10.0 -> 2.9.1: reported", "ext 1.1 -> 1.0: declared"]


def test_what_is_only_assumed_comes_last() -> None:
    assert graded(("ext 1.1", "torch 2.9.1", Grade.INFERRED)) == [
        "torch 2.10.0 -> 2.9.1: inferred",
        "ext 1.1 -> 1.0: assumed",
    ]


def test_what_is_only_assumed_comes_after_two_changes() -> None:
    assert graded(good=(make_tuple("torch 2.9.1, ext 1.2"),)) == [
        "ext 1.1 -> 1.2, torch 2.10.0 -> 2.9.1: reported",
        "ext 1.1 -> 1.0: assumed",
        "torch 2.10.0 -> 2.9.1: assumed",
    ]


def collision(severity: str, one: str, other: str, member: str | None = None) -> Reason:
    return make_reason(
        "file-collision", one, object=other, member=member, severity=Severity(severity)
    )


@pytest.mark.parametrize(
    ("finding", "expected"),
    [
        pytest.param(collision("degraded", "a 2", "b 2", "x/lib.so"), [], id="the-same"),
        pytest.param(collision("degraded", "b 2", "a 2"), [], id="the-other-way-round"),
        pytest.param(collision("warning", "a 2", "b 2"), ["a 1 -> 2"], id="a-word"),
        pytest.param(collision("degraded", "a 2", "c 2"), ["a 1 -> 2"], id="with-another"),
        pytest.param(
            make_reason("version-skew", "a 2", object="b 2", severity=Severity.DEGRADED),
            ["a 1 -> 2"],
            id="another-code",
        ),
    ],
)
def test_a_set_with_the_finding_that_rejected_the_request_is_no_alternative(
    finding: Reason, expected: list[str]
) -> None:
    assert beside(collision("fatal", "a 1", "b 2"), finding) == expected


def test_another_member_is_another_finding() -> None:
    fatal = collision("fatal", "a 1", "b 2", "x/core.so")
    assert beside(fatal, collision("degraded", "a 2", "b 2", "x/extra.so")) == ["a 1 -> 2"]
    assert beside(fatal, collision("degraded", "a 2", "b 2", "x/core.so")) == []


def beside(fatal: Reason, finding: Reason) -> list[str]:
    """The alternatives where a 1 with b 2 is refused, and a 2 with b 2 has a finding."""
    workspace = make_workspace("a 1\na 2\nb 2")
    workspace.together = lambda _: (finding,)
    known = make_knowledge(make_tuple("a 1, b 2", "bad", reason=fatal))
    judgement = judge(workspace, known, make_request("a==1", "b==2"))
    assert judgement.verdict == "rejected"
    return list(map(told, judgement.alternatives))


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("2.9.1", "2.9.1+cu130", Distance(0, 0)),
        ("2.9.1", "2.9.0", Distance(1, 1)),
        ("2.9.1", "2.11.0", Distance(2, 2)),
        ("2.9.1", "3.0", Distance(3, 3)),
    ],
)
def test_distance(one: str, other: str, expected: Distance) -> None:
    publics = [Version(v) for v in ("3.0", "2.11.0", "2.10.0", "2.9.1", "2.9.0")]
    assert distance(Version(one), Version(other), publics) == expected


@pytest.mark.parametrize(
    ("specifier", "expected"),
    [
        ("==2.9.1", "2.9.1 2.9.0 2.10.0 2.11.0 2.8.0"),
        ("==2.9.5", "2.9.1 2.9.0 2.10.0 2.11.0 2.8.0"),
        ("<2.9", "2.8.0 2.9.0 2.9.1 2.10.0 2.11.0"),
        (">3", "2.11.0 2.10.0 2.9.1 2.9.0 2.8.0"),
    ],
)
def test_around(specifier: str, expected: str) -> None:
    catalog = make_catalog(TORCH, "torch")
    assert " ".join(map(str, around(catalog, SpecifierSet(specifier)))) == expected


def test_around_final_releases_only_those_count() -> None:
    catalog = make_catalog(TORCH + "torch 2.12.0rc1", "torch")
    assert Version("2.12.0rc1") not in around(catalog, SpecifierSet(">3"))
    assert around(catalog, SpecifierSet(">3"), pre=True)[0] == Version("2.12.0rc1")
    assert around(catalog, SpecifierSet("==2.12.0rc1"))[0] == Version("2.12.0rc1")
    only = make_catalog("torch 1.0rc1", "torch")
    assert around(only, SpecifierSet(">3")) == (Version("1.0rc1"),)


@quick
@given(indexes(), requests)
def test_what_is_offered_solves_on_any_index(text: str, asked: list[str]) -> None:
    """Alternatives solve by their own pins, relaxations by the releases that they name."""
    note(text)
    note(f"requests: {asked}")
    index = FakeIndex(text)
    known = make_knowledge()
    request = make_request(*asked)
    judgement = judge(make_workspace(index), known, request)
    for alternative in judgement.alternatives:
        pins = [word for word in alternative.command.argv if "==" in word]
        assert solvable(pins, index.releases, ENVIRONMENT, Rulebook()), alternative.command
        assert {Requirement(pin).name for pin in pins} == {Requirement(a).name for a in asked}
        assert alternative.changes
