"""Which packages have a binary side to agree on with torch, and how that is known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from resolver.model.channel import Channel
from resolver.model.knowledge import DeclaredPair
from resolver.model.outcome import Pair
from resolver.model.reason import Grade
from tests.support.fakes import FakeEvidence, answer, make_knowledge, make_tuple

X = "cp312-cp312-linux_x86_64"
CHANNELS = (Channel(name="c", title="", url="", projects=frozenset({canonicalize_name("kernel")})),)


def measured(**changes: Any) -> FakeEvidence:
    values: dict[str, Any] = {
        "extension": "ext 1.0",
        "torch": "torch 2.9.1",
        "grade": Grade.MEASURED,
        "evidence": "12 symbols",
        "symbols": 12,
        **changes,
    }
    return FakeEvidence(pairs={("ext 1.0", "torch 2.9.1"): Pair(**values)})


@pytest.mark.parametrize(
    ("lines", "asked", "extensions"),
    [
        pytest.param([f"ext 1.0 {X} needs torch"], ["ext"], ["ext 1.0"], id="depends-on-torch"),
        pytest.param(["ext 1.0 needs torch"], ["ext"], [], id="pure"),
        pytest.param([f"ext 1.0 {X}"], ["ext", "torch"], [], id="does-not-depend"),
        pytest.param(
            [f"kernel 1.0 {X}"], ["kernel", "torch"], ["kernel 1.0"], id="project-of-a-channel"
        ),
        pytest.param([f"kernel 1.0 {X}"], ["kernel"], [], id="no-torch-at-all"),
        pytest.param([f"triton 1.0 {X} needs torch"], ["triton"], [], id="triton-is-none"),
    ],
)
def test_which_packages_are_extensions(
    lines: list[str], asked: list[str], extensions: list[str]
) -> None:
    text = "\n".join([f"torch 2.9.1 {X}", *lines])
    outcome = answer(text, *asked, knowledge=make_knowledge(channels=CHANNELS))
    assert [str(pair.extension) for pair in outcome.pairs] == extensions


TUPLE = make_tuple("torch 2.9.1, ext 1.0")
PAIR = DeclaredPair(
    id="ext-1.0",
    project=canonicalize_name("ext"),
    versions=SpecifierSet("==1.0"),
    torch=SpecifierSet("==2.9.1"),
    source="Requires-Dist of app 3",
)
DECLARED = "Requires-Dist of app 3: ext==1.0 with torch==2.9.1"
INFERRED = "; 12 symbols (inferred)"


@pytest.mark.parametrize(
    ("needs", "options", "expected"),
    [
        pytest.param(
            "torch",
            {},
            ("assumed", "nothing states which torch this file was built with", None),
            id="assumed",
        ),
        pytest.param(
            "torch==2.9.1",
            {},
            ("declared", "its metadata requires torch==2.9.1", None),
            id="declared",
        ),
        pytest.param(
            "torch",
            {"knowledge": make_knowledge(pairs=(PAIR,))},
            ("declared", DECLARED, None),
            id="declared-by-a-third",
        ),
        pytest.param(
            "torch",
            {"knowledge": make_knowledge(pairs=(replace(PAIR, torch=SpecifierSet("==2.9.0")),))},
            ("assumed", "nothing states which torch this file was built with", None),
            id="declared-for-another-torch",
        ),
        pytest.param(
            "torch",
            {
                "knowledge": make_knowledge(pairs=(PAIR,)),
                "evidence": measured(grade=Grade.INFERRED),
            },
            ("declared", DECLARED + INFERRED, 12),
            id="declared-by-a-third-and-a-sibling-read",
        ),
        pytest.param(
            "torch==2.9.1",
            {"evidence": measured(grade=Grade.INFERRED)},
            ("declared", "its metadata requires torch==2.9.1" + INFERRED, 12),
            id="declared-and-a-sibling-read",
        ),
        pytest.param(
            "torch>=2.9",
            {"evidence": measured(grade=Grade.INFERRED)},
            ("inferred", "12 symbols", 12),
            id="a-range-declares-less-than-a-sibling-shows",
        ),
        pytest.param(
            "torch==2.9.1",
            {"knowledge": make_knowledge(TUPLE)},
            ("reported", "torch-2.9.1-ext-1.0: a report", None),
            id="a-set-before-metadata",
        ),
        pytest.param(
            "torch==2.9.1",
            {"knowledge": make_knowledge(TUPLE), "evidence": measured()},
            ("measured", "12 symbols", 12),
            id="bytes-before-a-set",
        ),
        pytest.param(
            "torch",
            {"knowledge": make_knowledge(replace(TUPLE, grade=Grade.RAN)), "evidence": measured()},
            ("ran", "torch-2.9.1-ext-1.0: a report; 12 symbols (measured)", 12),
            id="a-set-that-ran-before-bytes",
        ),
        pytest.param(
            "torch",
            {
                "knowledge": make_knowledge(TUPLE),
                "evidence": measured(grade=Grade.INFERRED, evidence="a sibling"),
            },
            (
                "reported",
                "torch-2.9.1-ext-1.0: a report; a sibling (inferred)",
                12,
            ),
            id="a-set-before-a-sibling-s-bytes",
        ),
    ],
)
def test_how_a_pair_is_known(
    needs: str, options: dict[str, Any], expected: tuple[str, str, int | None]
) -> None:
    text = f"torch 2.9.1 {X}\next 1.0 {X} needs {needs}"
    (pair,) = answer(text, "ext", **options).pairs
    assert (str(pair.extension), str(pair.torch)) == ("ext 1.0", "torch 2.9.1")
    assert (str(pair.grade), pair.evidence, pair.symbols) == expected


def test_a_file_without_symbols_of_torch_is_no_pair() -> None:
    text = f"torch 2.9.1 {X}\next 1.0 {X} needs torch"
    assert answer(text, "ext", evidence=measured(symbols=0)).pairs == ()


@pytest.mark.parametrize("name", ["ext", "torch"])
@pytest.mark.parametrize("same", [True, False])
def test_a_set_of_one_file_says_nothing_of_another(name: str, same: bool) -> None:
    text = f"torch 2.9.1 {X}\next 1.0 {X} needs torch"
    digest = next(
        package.artifact.sha256 or ""
        for package in answer(text, "ext").packages
        if package.artifact.name == name
    )
    known = make_tuple(
        "torch 2.9.1, ext 1.0",
        grade="measured",
        digests={canonicalize_name(name): digest if same else "0" * 64},
    )
    (pair,) = answer(text, "ext", knowledge=make_knowledge(known)).pairs
    assert pair.grade is (Grade.MEASURED if same else Grade.ASSUMED)
