"""Answers as the documents of ``contract``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import resources
from typing import Any

from pydantic import BaseModel

from resolver.model.outcome import Change, Judgement, Outcome, Pair
from resolver.model.pasted_error import ErrorReport
from resolver.model.proof import Proof
from resolver.model.reason import Grade, Reason
from resolver.model.target import Target
from resolver.render import contract, contract_part
from resolver.render.render_text import conflict_text


def document(model: BaseModel) -> dict[str, Any]:
    """The document as JSON values, keys in the contract's order."""
    values: dict[str, Any] = model.model_dump(mode="json", by_alias=True)
    return values


def dump(model: BaseModel | dict[str, Any]) -> str:
    """One JSON document, indented, keys in the contract's order, ending in a newline."""
    values = model if isinstance(model, dict) else document(model)
    return json.dumps(values, indent=2, ensure_ascii=False) + "\n"


def load_schema(name: str) -> dict[str, Any]:
    """The JSON Schema shipped for one command; KeyError for an unknown name."""
    if name not in contract.MODELS:
        raise KeyError(name)
    text = resources.files("resolver").joinpath(f"schemas/{name}.schema.json").read_text("utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def build_schema(name: str) -> str:
    """The JSON Schema of one command's document, as the package ships it."""
    schema = contract.MODELS[name].model_json_schema(by_alias=True, mode="serialization")
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["$id"] = f"urn:abilock:{name}:{schema['properties']['version']['const']}"
    schema["required"] = ["version", *schema.get("required", ())]
    schema["title"] = f"abilock {name.replace('-', ' ')}"
    return json.dumps(schema, indent=2, sort_keys=True) + "\n"


def target_model(target: Target) -> contract.TargetModel:
    """The target."""
    return contract.TargetModel.model_validate(target.to_json())


def reason_model(reason: Reason) -> contract_part.ReasonModel:
    """One reason."""
    return contract_part.ReasonModel(
        code=reason.code,
        severity=reason.severity,
        subject=str(reason.subject),
        object=None if reason.object is None else str(reason.object),
        member=reason.member,
        needs=reason.needs,
        found=reason.found,
        symbols=list(reason.symbols),
        works_with=reason.works_with,
        grade=reason.grade,
        evidence=reason.evidence,
        remedy=reason.remedy,
    )


def _steps(proof: Proof | None) -> list[contract_part.StepModel]:
    return [
        contract_part.StepModel(
            number=step.number,
            kind=step.kind,
            text=step.text,
            because=list(step.because),
            reason=None if step.reason is None else reason_model(step.reason),
        )
        for step in (proof.steps if proof is not None else ())
    ]


def _pair(pair: Pair) -> contract.PairModel:
    return contract.PairModel(
        extension=str(pair.extension),
        torch=str(pair.torch),
        grade=pair.grade,
        symbols=pair.symbols,
        evidence=pair.evidence,
    )


def resolve_model(
    outcome: Outcome, changes: Sequence[Change] | None = None
) -> contract.ResolveModel:
    """The document of ``resolve``."""
    conflict = None
    if outcome.conflict is not None:
        conflict = contract.ConflictModel(
            tree=contract.ConflictTree(
                requests=list(outcome.conflict.requests),
                trail=list(outcome.conflict.trail),
                reasons=[reason_model(reason) for reason in outcome.conflict.reasons],
                steps=_steps(outcome.conflict.proof),
                leaves=list(outcome.conflict.proof.leaves) if outcome.conflict.proof else [],
            ),
            text=conflict_text(outcome.conflict),
        )
    return contract.ResolveModel(
        target=target_model(outcome.target),
        requests=list(outcome.requests),
        verdict=outcome.verdict,
        packages=[
            contract.PackageModel(
                name=package.artifact.name,
                version=str(package.artifact.version),
                filename=package.artifact.filename,
                channel=package.artifact.channel,
                origin=package.artifact.origin,
                sha256=package.artifact.sha256 or "",
                url=package.artifact.url,
                size=package.artifact.size,
                dependencies=list(package.dependencies),
            )
            for package in outcome.packages
        ],
        pairs=[_pair(pair) for pair in outcome.pairs],
        tuple=None if outcome.tuple_ is None else outcome.tuple_.id,
        reasons=[reason_model(reason) for reason in outcome.reasons],
        notes=list(outcome.notes),
        conflict=conflict,
        relaxations=list(map(str, outcome.relaxations)),
        relaxation_commands=[
            None if relaxation.command is None else str(relaxation.command)
            for relaxation in outcome.relaxations
        ],
        passed_over=[
            contract.PassedOverModel(release=str(each.release), why=each.why)
            for each in outcome.passed_over
        ],
        changes=None if changes is None else [_change_model(change) for change in changes],
    )


def _change_model(step: Change) -> contract.ChangeModel:
    after = None if step.after is None else str(step.after)
    return contract.ChangeModel.model_validate(
        {"name": step.name, "from": step.before, "to": after}
    )


def why_model(judgement: Judgement) -> contract.WhyModel:
    """The document of ``why``."""
    return contract.WhyModel(
        target=target_model(judgement.target),
        requests=list(judgement.requests),
        verdict=judgement.verdict,
        grade=judgement.grade,
        reasons=[reason_model(reason) for reason in judgement.reasons],
        alternatives=[
            contract.AlternativeModel(
                change=[_change_model(step) for step in alternative.changes],
                verdict=alternative.verdict,
                grade=alternative.grade,
                command=str(alternative.command),
            )
            for alternative in judgement.alternatives
        ],
        pairs=[_pair(pair) for pair in judgement.pairs],
        remedies=list(judgement.remedies),
        notes=list(judgement.notes),
        checks=[
            contract.CheckedModel(
                subject=str(check.subject),
                what=check.what,
                finding=check.finding,
                grade=check.grade,
                evidence=check.evidence,
            )
            for check in judgement.checks
        ],
        proof=None
        if judgement.proof is None
        else contract_part.ProofModel(
            steps=_steps(judgement.proof), leaves=list(judgement.proof.leaves)
        ),
    )


def error_model(
    report: ErrorReport, judgement: Judgement | None, target: Target | None
) -> contract.WhyModel:
    """The document of ``why --error``; without a judgement its verdict is ``unknown``."""
    error = contract_part.ErrorModel(
        faults=[
            contract_part.FaultModel(
                kind=fault.kind,
                line=fault.line,
                meaning=fault.meaning,
                grade=fault.grade,
                subject=fault.subject,
                symbol=fault.symbol,
                declaration=fault.declaration,
                library=fault.library,
                exported_by=fault.exported_by,
                facts=[contract_part.FaultFactModel(label=a, text=b) for a, b in fault.facts],
                remedy=fault.remedy,
                code=fault.code,
                place=fault.place,
                ask=fault.ask,
                run=fault.run,
                harmless=fault.harmless,
            )
            for fault in report.faults
        ],
        installed={name: str(version) for name, version in report.installed.items()},
        sources=list(report.sources),
        asks=list(report.asks),
        commands=list(report.commands),
        left_out=list(report.left_out),
    )
    if judgement is not None:
        return why_model(judgement).model_copy(update={"error": error})
    return contract.WhyModel(
        target=None if target is None else target_model(target),
        requests=[f"{name}=={version}" for name, version in report.installed.items()],
        verdict="unknown",
        grade=Grade.ASSUMED,
        reasons=[],
        alternatives=[],
        pairs=[],
        remedies=[],
        notes=[],
        error=error,
    )
