"""Answers as scripts read them: each validates against the schema that the package ships."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from importlib import resources
from typing import Any

import jsonschema
import pytest

from resolver.model.outcome import Change
from resolver.model.reason import Code, Grade, Severity
from resolver.model.release import Release
from resolver.render.contract import MODELS
from resolver.render.render_json import (
    build_schema,
    dump,
    load_schema,
    reason_model,
    resolve_model,
    why_model,
)
from tests.support.fakes import (
    FakeIndex,
    FakeRules,
    answer,
    make_knowledge,
    make_reason,
    make_target,
    make_tuple,
    verdict,
)
from tests.support.named import named

X = "cp312-cp312-linux_x86_64"
TEXT = f"""
torch 2.9.1 {X} channel:pytorch
torch 2.10.0 {X}
ext 1.0 {X} needs torch | dep
dep 1.0 url:none snapshot:2026-01-01
near 1.0 local
"""
KNOWN = make_knowledge(
    make_tuple("torch 2.9.1, ext 1.0"), make_tuple("torch 2.10.0, ext 1.0", "bad")
)


@cache
def validator(name: str) -> jsonschema.Draft202012Validator:
    schema = load_schema(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def check(name: str, text: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(text)
    validator(name).validate(document)
    assert document["version"] == 1
    return document


@pytest.mark.parametrize("name", sorted(MODELS))
def test_shipped_schemas_are_those_of_the_models(name: str) -> None:
    path = resources.files("resolver").joinpath(f"schemas/{name}.schema.json")
    assert path.read_text(encoding="utf-8") == build_schema(name)


@pytest.mark.parametrize("name", sorted(MODELS))
def test_a_schema_says_which_version_it_is_of(name: str) -> None:
    schema = load_schema(name)
    assert schema["$id"] == f"urn:abilock:{name}:1"
    assert "version" in schema["required"]


def test_no_schema_is_shipped_without_a_model() -> None:
    shipped = {path.name for path in resources.files("resolver").joinpath("schemas").iterdir()}
    assert shipped == {f"{name}.schema.json" for name in MODELS}


def test_an_unknown_schema() -> None:
    with pytest.raises(KeyError):
        load_schema("../pyproject")


@pytest.mark.parametrize(
    ("asked", "options"),
    [
        pytest.param(["ext", "near"], {"knowledge": KNOWN}, id="solved"),
        pytest.param(["ext"], {"target": make_target(driver="580.65.06", gpu="x")}, id="driver"),
        pytest.param(["ext==9"], {}, id="conflict"),
        pytest.param(["torch==2.10.0", "ext"], {"knowledge": KNOWN}, id="known-bad"),
        pytest.param(["ext"], {"strict": True}, id="strict"),
        pytest.param([], {}, id="nothing-asked"),
    ],
)
def test_resolve(asked: list[str], options: dict[str, Any]) -> None:
    outcome = answer(FakeIndex(TEXT, notices=("ümlaut",)), *asked, **options)
    document = check("resolve", dump(resolve_model(outcome)))
    assert document["verdict"] == outcome.verdict
    assert document["notes"] == ["ümlaut"]
    assert (document["conflict"] is None) is (outcome.verdict == "solved")
    assert [p["name"] for p in document["packages"]] == [p.artifact.name for p in outcome.packages]


def test_a_package_and_a_pair() -> None:
    document = check("resolve", dump(resolve_model(answer(TEXT, "ext", knowledge=KNOWN))))
    assert document["tuple"] == "torch-2.9.1-ext-1.0"
    assert document["requests"] == ["ext"]
    dep, ext, torch = document["packages"]
    assert (dep["url"], dep["origin"]) == (None, "snapshot")
    assert ext["dependencies"] == ["dep", "torch"]
    assert torch == {
        "name": "torch",
        "version": "2.9.1",
        "filename": f"torch-2.9.1-{X}.whl",
        "channel": "pytorch",
        "origin": "index",
        "sha256": torch["sha256"],
        "url": f"https://files.test/pytorch/torch-2.9.1-{X}.whl",
        "size": 1000,
        "dependencies": [],
    }
    (pair,) = document["pairs"]
    assert (pair["extension"], pair["torch"], pair["grade"]) == (
        "ext 1.0",
        "torch 2.9.1",
        "reported",
    )


def test_a_conflict_as_tree_and_text() -> None:
    outcome = answer("a 1 needs b", "a")
    conflict = check("resolve", dump(resolve_model(outcome)))["conflict"]
    assert conflict["tree"]["requests"] == ["a"]
    assert conflict["tree"]["trail"] == ["a 1 requires b"]
    assert [reason["code"] for reason in conflict["tree"]["reasons"]] == ["not-found"]
    assert [step["kind"] for step in conflict["tree"]["steps"]] == [
        "request",
        "requirement",
        "none-left",
    ]
    assert conflict["tree"]["steps"][1]["because"] == [1]
    assert conflict["tree"]["leaves"] == ["request a", "a: Wanted b"]
    assert conflict["text"].startswith("  asked      a\n  because    a 1 requires b\n")


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        pytest.param(["torch==2.9.1", "ext==1.0"], "accepted", id="accepted"),
        pytest.param(["torch==2.10.0", "ext==1.0"], "rejected", id="rejected"),
        pytest.param(["dep==2"], "unknown", id="unknown"),
    ],
)
def test_why(asked: list[str], expected: str) -> None:
    document = check("why", dump(why_model(verdict(TEXT, *asked, knowledge=KNOWN))))
    assert document["verdict"] == expected


def test_an_alternative() -> None:
    judgement = verdict(TEXT, "torch==2.10.0", "ext==1.0", knowledge=KNOWN)
    (alternative,) = check("why", dump(why_model(judgement)))["alternatives"]
    assert alternative == {
        "change": [{"name": "torch", "from": "2.10.0", "to": "2.9.1"}],
        "verdict": "accepted",
        "grade": "reported",
        "command": "abilock resolve ext==1.0 torch==2.9.1 --cuda 13.0 --arch sm120",
    }


@pytest.mark.parametrize(
    ("after", "to"), [("2.9.1", "2.9.1"), (named("new 2.9.1"), "new 2.9.1"), (None, None)]
)
def test_what_a_change_goes_to(after: str | Release | None, to: str | None) -> None:
    judgement = verdict(TEXT, "torch==2.10.0", "ext==1.0", knowledge=KNOWN)
    change = Change(name="torch", before="2.10.0", after=after)
    (alternative,) = judgement.alternatives
    judgement = replace(judgement, alternatives=(replace(alternative, changes=(change,)),))
    (written,) = check("why", dump(why_model(judgement)))["alternatives"]
    assert written["change"] == [{"name": "torch", "from": "2.10.0", "to": to}]


@pytest.mark.parametrize("code", list(Code))
def test_every_kind_of_reason_has_its_place_in_the_schema(code: Code) -> None:
    rules = FakeRules(
        said={
            "a 1": tuple(
                make_reason(code, "a 1", severity=severity, grade=grade)
                for severity in Severity
                for grade in Grade
            )
        }
    )
    document = check("resolve", dump(resolve_model(answer("a 1", "a", rules=rules))))
    assert {reason["code"] for reason in document["reasons"]} == {str(code)}


def test_a_reason_keeps_the_keys_of_the_contract() -> None:
    assert list(reason_model(make_reason()).model_dump()) == [
        "code",
        "severity",
        "subject",
        "object",
        "member",
        "needs",
        "found",
        "symbols",
        "works_with",
        "grade",
        "evidence",
        "remedy",
    ]
