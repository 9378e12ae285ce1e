"""``why`` and ``check LOCKFILE`` held to what real imports came to, without a network.

``imports.json`` says what happened in a real interpreter, ``imports.tar.xz`` what an index and the
bytes of the wheels say; ``ask.py`` and ``keep.py`` make them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from resolver.model.options import IndexOptions
from resolver.usecase.session import Session
from resolver.usecase.world import World
from tests.load.ask import QUESTIONS, Answer, Asker, agreement
from tests.load.keep import unpack
from tests.load.truth import CASES, Case, Fact, Kind, classify, load_facts, parse_cases

FACTS = load_facts()
ENGINE = "transformer-engine-cu13==2.13.0 transformer-engine==2.13.0"


@pytest.fixture(scope="module")
def asker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asker]:
    place: Path = tmp_path_factory.mktemp("imports")
    overlay = place / "overlay"
    unpack(overlay)
    world = replace(
        World.of_process(),
        environ={"ABILOCK_KNOWLEDGE": str(overlay), "PIP_CONFIG_FILE": "/dev/null"},
        cwd=place,
        home=place,
        cache_dir=place / "cache",
        data_dir=place / "data",
    )
    options = IndexOptions(channels=("default",), offline=True)
    with Session(options=options, world=world) as session:
        yield Asker(session, place)


# Where it says something else on purpose, or does not know yet: docs/imports.md tells each.
OPEN = {
    ("2.11.0", f"{ENGINE} nvidia-cublas==13.3.0.5", "why"): "torch pins the cuBLAS that lacks it",
    ("2.14.1", "faiss-gpu-cu12==1.14.1.post1", "why lock"): "a build for CUDA 12, as it says",
}


# ``why`` judges as ``check LOCKFILE`` does and looks for what works besides: of each so many one is
# asked in every run, and all of them with ``-m real``.
_EVERY = 4


def cases() -> Iterator[Any]:
    for number, fact in enumerate(FACTS):
        for question in QUESTIONS[:2]:
            why = next(
                (
                    text
                    for (torch, wheels, questions), text in OPEN.items()
                    if torch == fact.torch and wheels == " ".join(fact.wheels)
                    if question in questions.split()
                ),
                None,
            )
            marks = [pytest.mark.xfail(reason=why, strict=True)] if why else []
            if question == "why" and number % _EVERY and why is None:
                marks.append(pytest.mark.real)
            name = f"{question}-{fact.torch}-{'-'.join(fact.wheels)}"
            yield pytest.param(fact, question, marks=marks, id=name)


@pytest.mark.parametrize(("fact", "question"), list(cases()))
def test_it_says_what_the_import_showed(asker: Asker, fact: Fact, question: str) -> None:
    answer = asker.ask(fact, question)
    assert agreement(fact, question, answer) != "disagrees", answer


def test_every_fact_is_of_a_case() -> None:
    known = {case.key for case in parse_cases(CASES.read_text("utf-8"))}
    assert {fact.key for fact in FACTS} <= known


@pytest.mark.parametrize(
    ("text", "kind", "error", "detail"),
    [
        (
            "Traceback\nImportError: libcudart.so.12: cannot open shared object file: gone\n",
            "load",
            "ImportError: libcudart.so.12: cannot open shared object file: gone",
            "libcudart.so.12: cannot open shared object file: gone",
        ),
        (
            "OSError: /e/a.so: undefined symbol: f\nOSError: Could not load this library: /e/a.so",
            "load",
            "OSError: Could not load this library: a.so",
            "OSError: a.so: undefined symbol: f",
        ),
        (
            "ImportError: libibverbs.so.1: cannot open shared object file: gone",
            "system",
            "ImportError: libibverbs.so.1: cannot open shared object file: gone",
            "libibverbs.so.1: cannot open shared object file: gone",
        ),
        (
            "RuntimeError: PyTorch and TorchAudio were compiled with different CUDA versions.",
            "guard",
            "RuntimeError: PyTorch and TorchAudio were compiled with different CUDA versions.",
            "",
        ),
        (
            "ImportError: cannot import name 'x'",
            "python",
            "ImportError: cannot import name 'x'",
            "",
        ),
    ],
)
def test_a_failure_is_of_a_kind(text: str, kind: str, error: str, detail: str) -> None:
    assert classify(text, Path("/e")) == (kind, error, detail)


def test_a_case_is_a_line() -> None:
    text = "# no\n\n2.9.1 a==1 b==2 : a.b  # yes\n2.9.1 c==1 : ? import c; c.d\n"
    assert parse_cases(text) == [
        Case(torch="2.9.1", wheels=("a==1", "b==2"), code="import a.b"),
        Case(torch="2.9.1", wheels=("c==1",), code="import c; c.d", feature=True),
    ]


def fact_of(kind: Kind, *, feature: bool = False) -> Fact:
    return Fact(
        torch="2.9.1",
        wheels=("a==1",),
        code="import a",
        feature=feature,
        python="3.12",
        chosen="resolver",
        kind=kind,
        error="",
        detail="",
        date="2026-11-30",
        pins={},
    )


def said(verdict: str, *reasons: tuple[str, str]) -> Answer:
    return Answer(verdict=verdict, reasons=tuple((a, b, "a 1", "", "") for a, b in reasons))


@pytest.mark.parametrize(
    ("kind", "feature", "question", "answer", "how"),
    [
        ("ok", False, "why", said("accepted"), "agrees"),
        ("ok", False, "why", said("rejected", ("missing-symbol", "fatal")), "disagrees"),
        ("ok", False, "why", said("rejected", ("version-conflict", "fatal")), "declared"),
        ("ok", False, "env", said("broken", ("version-conflict", "fatal")), "disagrees"),
        ("load", False, "lock", said("broken", ("missing-library", "fatal")), "agrees"),
        ("load", False, "lock", said("ok"), "disagrees"),
        ("load", False, "lock", said("ok", ("unverified", "warning")), "unknown"),
        ("load", False, "env", said("degraded", ("missing-library", "degraded")), "disagrees"),
        ("load", True, "env", said("degraded", ("missing-library", "degraded")), "agrees"),
        ("system", False, "why", said("accepted", ("missing-system-library", "warning")), "agrees"),
        ("system", False, "env", said("ok", ("missing-system-library", "warning")), "disagrees"),
        ("python", False, "env", said("ok"), "outside"),
        ("ok", False, "why", said("error", ("error", "fatal")), "disagrees"),
    ],
)
def test_agreement(kind: Kind, feature: bool, question: str, answer: Answer, how: str) -> None:
    assert agreement(fact_of(kind, feature=feature), question, answer) == how
