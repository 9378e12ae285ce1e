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
from packaging.utils import canonicalize_name
from packaging.version import Version

from resolver.model.artifact import Artifact
from resolver.model.command import Repeated
from resolver.model.cuda import Arch, CudaVersion
from resolver.model.host_need import CUDA, HostNeed
from resolver.model.knowledge import CudaRelease, Family, KnownTuple, Successor
from resolver.model.outcome import Alternative, Change, Outcome, Pair
from resolver.model.reason import Grade, Reason, Severity
from resolver.model.target import Target
from resolver.render.render_text import step_text
from resolver.solve.candidate import Bound
from resolver.solve.judge import judge
from resolver.solve.release_window import Window
from resolver.solve.strategy import attempt, resolve
from resolver.solve.trials import MAX_DROPS, MAX_SOLVES
from resolver.solve.version_distance import Distance, distance
from tests.solve.brute import Rulebook, solvable
from tests.solve.test_random import ENVIRONMENT, indexes, quick, requests
from tests.support.fakes import (
    FakeEvidence,
    FakeIndex,
    FakeRules,
    make_knowledge,
    make_reason,
    make_request,
    make_skew,
    make_target,
    make_tuple,
    make_workspace,
    verdict,
)
from tests.support.named import named

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
        return make_workspace(index, target=other, rules=rules(other), knowledge=known)

    @contextmanager
    def elsewhere(other: Target) -> Iterator[Any]:
        yield open_at(other)

    request = make_request(*asked, **options)
    judgement = judge(open_at(target), request, elsewhere)
    assert judgement.verdict == "rejected"
    again = judge(open_at(target), request, elsewhere)
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
        outcome = resolve(open_at(other), make_request(*requirements))
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


CUPY = Family(
    id="cupy",
    projects={12: canonicalize_name("cupy-cuda12x"), 13: canonicalize_name("cupy-cuda13x")},
    source="its page",
)


@pytest.mark.parametrize(
    ("files", "asked", "change"),
    [
        pytest.param(
            "cupy-cuda12x 14.1\ncupy-cuda12x 14.2",
            "cupy-cuda13x==14.1",
            "cupy-cuda13x 14.1 -> cupy-cuda12x 14.1",
            id="in-the-release-that-was-named",
        ),
        pytest.param(
            "cupy-cuda12x 13.6",
            "cupy-cuda13x==14.1",
            "cupy-cuda13x 14.1 -> cupy-cuda12x 13.6",
            id="in-another-release",
        ),
        pytest.param(
            "cupy-cuda12x 13.6",
            "cupy-cuda13x",
            "cupy-cuda13x None -> cupy-cuda12x 13.6",
            id="in-any",
        ),
    ],
)
def test_the_project_of_the_other_cuda_major(files: str, asked: str, change: str) -> None:
    needs = {"cupy-cuda13x 14.1": (_unmet("cupy-cuda13x 14.1"),)}
    cudas = {r.version: r for r in map(release, ("12.9", "13.0"))}
    found = find(
        f"cupy-cuda13x 14.1\n{files}",
        asked,
        knowledge=make_knowledge(families=(CUPY,), cuda=cudas),
        rules=lambda _: FakeRules(needs=needs),
        target=make_target(cuda="12.9"),
    )
    assert list(map(told, found)) == [change]


def test_another_cuda_goes_with_the_project_for_it() -> None:
    """An old GPU: neither the CUDA release alone nor the project alone is a cure."""

    def old(target: Target) -> FakeRules:
        wish = HostNeed("<gpu>", "sm_70", "CUDA", make_reason("no-device-code", "CUDA 13.0"))
        return FakeRules(wish=(wish,) if target.cuda.major == 13 else ())

    cudas = {r.version: r for r in (release("12.9", archs="sm70"), release("13.0"))}
    found = find(
        "cupy-cuda13x 14.1\ncupy-cuda12x 14.1",
        "cupy-cuda13x",
        knowledge=make_knowledge(families=(CUPY,), cuda=cudas),
        rules=old,
        target=make_target(cuda="13.0", archs="sm70"),
    )
    assert list(map(told, found)) == ["<cuda> 13.0 -> 12.9, cupy-cuda13x None -> cupy-cuda12x 14.1"]


def test_the_number_of_solves_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"p{i}" for i in range(8)]
    text = "\n".join(f"{name} 1 needs gone" for name in names)
    calls: list[object] = []

    def counted(*given: Any) -> Outcome | None:
        calls.append(given)
        return attempt(*given)

    monkeypatch.setattr("resolver.solve.trials.attempt", counted)
    assert find(text, *(f"{name}==1" for name in names)) == []
    assert len(calls) == 2 * (MAX_SOLVES + MAX_DROPS)  # asked twice


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
            (ext, beside): Pair(
                extension=named(ext), torch=named(beside), grade=grade, evidence="a test"
            )
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
    known = make_knowledge(make_tuple("a 1, b 2", "bad", reason=fatal))
    workspace = make_workspace("a 1\na 2\nb 2", knowledge=known, together=lambda _: (finding,))
    judgement = judge(workspace, make_request("a==1", "b==2"))
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
    assert " ".join(map(str, around(TORCH, f"torch{specifier}"))) == expected


def test_around_final_releases_only_those_count() -> None:
    text = TORCH + "torch 2.12.0rc1"
    assert Version("2.12.0rc1") not in around(text, "torch>3")
    assert around(text, "torch>3", pre=True)[0] == Version("2.12.0rc1")
    assert around(text, "torch==2.12.0rc1")[0] == Version("2.12.0rc1")
    assert around("torch 1.0rc1", "torch>3") == (Version("1.0rc1"),)


def around(
    index: FakeIndex | str, *asked: str, far: bool = False, **options: Any
) -> tuple[Version, ...]:
    """The versions of the first that was asked for that are tried beside the others."""
    requirements = {canonicalize_name(r.name): r for r in map(Requirement, asked)}
    name = next(iter(requirements))
    pre = options.pop("pre", False)
    workspace = make_workspace(index, **options)
    window = Window(workspace, requirements, pre=pre)
    found = window.around(name, [name], far=far)
    limit = window.limit(name, found)
    assert limit is not None
    publics = workspace.catalog(name).publics
    allowed = {p for p in publics if limit.specifier.contains(p, prereleases=True)}
    assert allowed == {Version(version.public) for version in found}
    return found


MANY = "\n".join(f"torch {release}.0" for release in range(1, 41)) + "\n"
IN_STEP = MANY + "\n".join(f"ext {v} needs torch=={v}.0" for v in range(1, 41))


@pytest.mark.parametrize(
    ("text", "asked", "tried"),
    [
        pytest.param("a 1 needs torch==2.0", "a==1", "33.0 2.0", id="a-pin"),
        pytest.param("a 1 needs torch<3,>1", "a==1", "33.0 2.0", id="a-range"),
        pytest.param("a 1 needs torch<30", "a==1", "33.0 29.0 22.0", id="the-nearest-eight"),
        pytest.param("a 1 extras:x needs torch==2.0; extra == 'x'", "a[x]==1", "2.0", id="extra"),
        pytest.param("a 1 needs torch==2.0\na 2 needs torch==3.0", "a", "33.0 3.0", id="newest"),
        pytest.param("a 1", "a==1", "33.0", id="needs-nothing"),
    ],
)
def test_what_a_partner_needs_is_tried(text: str, asked: str, tried: str) -> None:
    found = around(MANY + text, "torch==40.0", asked)
    assert set(map(Version, tried.split())) <= set(found)
    assert Version("20.0") not in found
    assert len(found) <= 16


def test_what_must_be_one_version_and_what_is_known_is_tried() -> None:
    text = MANY.replace("torch", "a") + MANY.replace("torch", "b")
    skewed = make_knowledge(skews=(make_skew("a", "b"),))
    assert around(text, "a==40.0", "b==3.0", knowledge=skewed)[-1] == Version("3.0")
    assert Version("3.0") not in around(text, "a==40.0", "b>=3.0", knowledge=skewed)
    known = make_knowledge(make_tuple("a 5.0, b 3.0"))
    assert around(text, "a==40.0", "b==3.0", knowledge=known)[-1] == Version("5.0")
    bad = make_knowledge(make_tuple("a 5.0, b 3.0", "bad"))
    assert Version("5.0") not in around(text, "a==40.0", "b==3.0", knowledge=bad)


def test_where_a_partner_fits_is_found_by_halving() -> None:
    index = FakeIndex(IN_STEP)
    near = around(index, "ext==40", "torch==3.0")
    assert Version("3") not in near
    index.asked.clear()
    found = around(index, "ext==40", "torch==3.0", far=True)
    assert [str(v) for v in found if v not in near] == ["5", "4", "3", "2", "1"]
    assert sum(file.startswith("ext-") for file in index.asked) <= 6
    assert around(index, "ext==40", "torch==99.0", far=True) == near  # none has it
    assert around(MANY + "ext 1\next 40", "ext==40", "torch==3.0", far=True)


def test_of_a_long_list_only_what_is_blamed_is_read() -> None:
    names = [canonicalize_name(f"p{i}") for i in range(12)]
    needy = "\n".join(f"{name} 1 needs torch=={i + 2}.0" for i, name in enumerate(names))
    index = FakeIndex(MANY + needy)
    asked = {canonicalize_name("torch"): Requirement("torch==40.0")}
    asked |= {name: Requirement(f"{name}==1") for name in names}
    workspace = make_workspace(index)
    window = Window(workspace, asked, blamed=names[:1])
    torch = canonicalize_name("torch")
    assert window.around(torch, [torch], far=True)[-1] == Version("2.0")
    read = {file for file in index.asked if file.endswith(".whl")}
    assert {file for file in read if file.startswith("p")} == {"p0-1-py3-none-any.whl"}


def test_bytes_name_a_partner_too() -> None:
    torch = canonicalize_name("torch")
    text = MANY + "\n".join(f"ext {v} {NATIVE}" for v in range(1, 41))

    def only(release: int) -> Bound:
        wanted = Version(f"{release}.0")
        broken = make_reason("missing-symbol", f"ext {release}", object="torch")
        return Bound.because(torch, lambda a: a.version == wanted, broken, f"ext {release}")

    evidence = FakeEvidence(bounds={f"ext {v}": (only(v),) for v in range(1, 41)})
    assert around(text, "torch==40.0", "ext==2", evidence=evidence)[-1] == Version("2.0")
    assert Version("2") in around(text, "ext==40", "torch==2.0", evidence=evidence, far=True)


@pytest.mark.parametrize(
    ("text", "asked", "expected"),
    [
        pytest.param(
            MANY + "ext 1 needs torch==2.0",
            ["torch==40.0", "ext==1"],
            ["torch 40.0 -> 2.0"],
            id="named-by-a-partner",
        ),
        pytest.param(
            IN_STEP,
            ["torch==2.0", "ext==40"],
            ["ext 40 -> 2", "torch 2.0 -> 40.0"],
            id="both-ways",
        ),
        pytest.param(
            MANY + "a 1 needs torch==2.0\nb 1 needs torch==50.0",
            ["torch==2.0", "a==1", "b==1"],
            ["b 1 -> None"],
            id="without-one",
        ),
        pytest.param(
            MANY + "a 1 needs torch==2.0 | b\nb 1 needs torch==50.0",
            ["torch==2.0", "a==1", "b==1"],
            [],
            id="nobody-can-do-without",
        ),
    ],
)
def test_far_releases_and_packages_to_leave_out(
    text: str, asked: list[str], expected: list[str]
) -> None:
    assert list(map(told, find(text, *asked))) == expected


def test_what_leaves_out_a_package_comes_last_and_says_so() -> None:
    change = Change(name="ext", before="1.0", after=None)
    assert step_text(change) == "without ext 1.0"
    assert step_text(replace(change, before=None)) == "without ext"


@quick
@given(indexes(), requests)
def test_what_is_offered_solves_on_any_index(text: str, asked: list[str]) -> None:
    """Alternatives solve by their own pins, relaxations by the releases that they name."""
    note(text)
    note(f"requests: {asked}")
    index = FakeIndex(text)
    request = make_request(*asked)
    judgement = judge(make_workspace(index), request)
    for alternative in judgement.alternatives:
        pins = [word for word in alternative.command.argv if "==" in word]
        assert solvable(pins, index.releases, ENVIRONMENT, Rulebook()), alternative.command
        named = {Requirement(pin).name for pin in pins}
        left_out = {change.name for change in alternative.changes if change.after is None}
        assert named | left_out == {Requirement(a).name for a in asked}
        assert alternative.changes
