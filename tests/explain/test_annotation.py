"""Findings as annotations of a workflow and as SARIF, escaped as their readers unescape them."""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from packaging.utils import canonicalize_name

from resolver.lockfile.locate import find_line
from resolver.lockfile.lock_document import Kind, load_document
from resolver.model.check_report import Report
from resolver.model.reason import Code, Grade, Reason, Severity
from resolver.model.release import Named, Release
from resolver.render.annotation import Located, github_text, sarif_document, summary_text
from resolver.render.render_check import check_text
from tests.support.fakes import make_target

HERE = Path(__file__).parent
ROOT = HERE.parent.parent


def make_release(text: str) -> Release:
    name, _, version = text.partition(" ")
    return Release.of(canonicalize_name(name), version)


def finding(name: str = "a 1.0", **changes: Any) -> Reason:
    fields: dict[str, Any] = {
        "code": Code.MISSING_LIBRARY,
        "subject": make_release(name),
        "needs": "libx.so.1",
        "found": "nothing",
        "evidence": "its bytes",
        "remedy": "uv pip install x",
    }
    return Reason(**{**fields, **changes})


def report(*findings: Reason, **changes: Any) -> Report:
    fields: dict[str, Any] = {
        "prefix": "locks/uv.lock",
        "kind": "lock",
        "target": make_target(),
        "findings": findings,
        "members_checked": 3,
        "packages": 7,
    }
    return Report(**{**fields, **changes})


def unescaped(text: str, also: str = "") -> str:
    """As the runner reads them: %25 last."""
    for char in f"{also}\n\r%":
        text = text.replace(f"%{ord(char):02X}", char)
    return text


COMMAND = re.compile(r"::(error|warning|notice) ([^:]*)::(.*)")


def parsed(line: str) -> tuple[str, dict[str, str], str]:
    match = COMMAND.fullmatch(line)
    assert match is not None, line
    pairs = (part.split("=", 1) for part in match[2].split(","))
    properties = {key: unescaped(value, ":,") for key, value in pairs}
    return match[1], properties, unescaped(match[3])


def test_a_command_for_each_finding() -> None:
    found = report(
        finding(),
        finding("b 2.0+cu130", severity=Severity.DEGRADED, object=make_release("torch 2.9.1")),
        finding("c 3.0", severity=Severity.WARNING, remedy=None),
        finding(subject=Named("CUDA", "13.0"), code=Code.DRIVER_TOO_OLD),
    )
    text = github_text([Located(found, "locks/uv.lock", {"a 1.0": 12, "torch 2.9.1": 30})])
    start, lib = "file=locks/uv.lock,title=", "needs libx.so.1; found nothing."
    assert text.splitlines() == [
        "Broken: locks/uv.lock does not load as a whole; 7 packages, 3 wheels checked",
        "  for CUDA 13.0, sm_120, Python 3.12, Linux x86_64 with glibc 2.35",
        f"::error {start}missing-library%3A a 1.0,line=12::a 1.0: {lib} Fix: uv pip install x",
        f"::warning {start}missing-library%3A b 2.0+cu130,line=30::b 2.0+cu130 with torch 2.9.1: "
        f"{lib} Fix: uv pip install x",
        f"::notice {start}missing-library%3A c 3.0::c 3.0: {lib}",
        f"::error {start}driver-too-old%3A CUDA 13.0::CUDA 13.0: {lib} Fix: uv pip install x",
    ]


def test_a_name_in_a_lock_is_no_command() -> None:
    found = report(forks=(report(fork="environment x\n::add-path::/evil"),))
    lines = github_text([Located(found, "pixi.lock", {})]).splitlines()
    assert not [line for line in lines if line.lstrip().startswith(("::", "##["))]


def test_an_environment_is_no_file() -> None:
    [*_, line] = github_text(
        [Located(report(finding(), kind="environment"), "/srv/env", {})]
    ).splitlines()
    assert line.startswith("::error title=missing-library%3A a 1.0::")


@given(st.text(), st.text(min_size=1))
def test_any_text_comes_back_from_a_command(text: str, place: str) -> None:
    reason = finding(needs=text, remedy=text)
    lines = github_text([Located(report(reason), place, {"a 1.0": 3})])
    # A runner reads lines by \n and \r alone.
    *_, line = re.split(r"[\r\n]", lines)
    level, properties, message = parsed(line)
    assert (level, properties["file"], properties["line"]) == ("error", place, "3")
    assert message == f"a 1.0: needs {text}; found nothing." + (f" Fix: {text}" if text else "")


def validate_sarif(document: dict[str, Any]) -> None:
    schema = json.loads((HERE / "sarif-2.1.0-subset.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(document)


def test_sarif() -> None:
    found = report(finding(), finding("b 2.0", severity=Severity.WARNING, grade=Grade.ASSUMED))
    other = report(
        finding(code=Code.SDIST_ONLY, severity=Severity.DEGRADED),
        prefix="/x/env dir",
        kind="environment",
        notes=("a note",),
    )
    document = sarif_document(
        [Located(found, "locks/uv.lock", {"a 1.0": 12}), Located(other, "/x/env dir", {})], "1.2"
    )
    validate_sarif(document)
    [run] = document["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["missing-library", "sdist-only"]
    first, second, third = run["results"]
    assert (first["ruleId"], first["ruleIndex"], first["level"]) == ("missing-library", 0, "error")
    assert first["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "locks/uv.lock", "uriBaseId": "%SRCROOT%"},
                "region": {"startLine": 12},
            }
        }
    ]
    assert (second["level"], second["properties"]["grade"]) == ("note", "assumed")
    assert second["locations"][0]["physicalLocation"]["region"] == {"startLine": 1}
    assert third["level"] == "warning"
    assert third["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "/x/env%20dir"}
    }
    prints = [result["partialFingerprints"]["abilock/v1"] for result in run["results"]]
    assert len({*prints}) == 3
    assert [n["message"]["text"] for n in run["invocations"][0]["toolExecutionNotifications"]][
        -1
    ] == "a note"


def test_sarif_of_nothing_found() -> None:
    document = sarif_document([Located(report(), "uv.lock", {})], "1.2")
    validate_sarif(document)
    assert document["runs"][0]["results"] == []


def test_the_summary_of_a_job() -> None:
    text = summary_text([Located(report(finding(found="a|b\nc")), "uv.lock", {})])
    assert "### locks/uv.lock: broken\n" in text
    assert "| fatal | `missing-library` | a 1.0: a\\|b c |\n" in text


# lines of locks


@pytest.mark.parametrize(
    ("text", "version", "line"),
    [
        ('version = 1\n[[package]]\nname = "torch"\nversion = "2.9.1"\n', "2.9.1", 3),
        (
            'version = 1\n[[package]]\nname = "torch"\nversion = "2.9.1"\n\n[[package]]\n'
            'name = "torch"\nversion = "2.9.1+cu130"\n',
            "2.9.1+cu130",
            7,
        ),
        ("# torch\nsix==1\nTorch==2.9.1 \\\n  --hash=sha256:aa\n", "2.9.1", 3),
        ("FROM x\nRUN true\nRUN pip install 'torch[all]==2.9.1'\n", "2.9.1", 3),
        ('{"_meta": {},\n"default": {\n"torch": {"version": "==2.9.1"}}}', "2.9.1", 3),
        ("environments: {a: 1}\npackages:\n- pypi: x\n  name: torch\n", "2.9.1", 4),
        ("version: 1\npackage:\n- name: torch\n  version: 2.9.1\n", "2.9.1", 3),
        ("dependencies:\n- pip:\n  - torch==2.9.1\n", "2.9.1", 3),
        ("six==1\n", "2.9.1", None),
    ],
)
def test_the_line_of_a_package(tmp_path: Path, text: str, version: str, line: int | None) -> None:
    path = tmp_path / "lock"
    path.write_text(text)
    assert find_line(load_document(path))("torch", version) == line


# the text


def lines_of(found: Report, *, verbose: bool = False) -> list[str]:
    return check_text(found, verbose=verbose).splitlines()


def test_what_is_of_one_kind_is_one_block_in_80_columns() -> None:
    warnings = [
        finding(
            "torchcodec 0.7.0",
            code=Code.MISSING_SYSTEM_LIBRARY,
            severity=Severity.WARNING,
            needs=f"libav{name}.so.{number}",
            member=f"torchcodec/libtorchcodec_core{number}.so",
            found="looked for where the loader of this system looks, and in none of those places",
        )
        for number in (4, 5, 6)
        for name in ("codec", "device", "filter", "format", "util")
    ]
    lines = lines_of(report(*warnings))
    assert lines[3:] == [
        "Warnings:",
        "",
        "missing-system-library: torchcodec 0.7.0",
        "  needs       libavcodec.so.4, libavdevice.so.4, libavfilter.so.4,",
        "              libavformat.so.4, libavutil.so.4, libavcodec.so.5 and 9 more",
        "  found       looked for where the loader of this system looks, and in none of",
        "              those places",
        "  in          torchcodec/libtorchcodec_core4.so and 2 more",
        "  known by    its bytes (measured)",
        "  fix         uv pip install x",
    ]
    assert len(lines_of(report(*warnings), verbose=True)) > 15 * 6


def test_what_is_longer_than_a_line_stays_beside_its_label() -> None:
    wheel = f"{'a_long_name_' * 7}-1.0-py3-none-any.whl"
    found = finding("p 1.0", found=f"{wheel}, yanked", symbols=("_Za", "_Zb", "_Zc"))
    lines = lines_of(report(replace(found, remedy=f"take another build {'of it ' * 12}instead")))
    assert f"  found       {wheel}," in lines
    assert "  symbol      _Za and 2 more" in lines
    assert lines[-1].startswith("              ")


def test_many_findings_are_a_table_after_the_first() -> None:
    found = report(
        *(finding(f"p{n} 1.0") for n in range(9)),
        *(finding(f"w{n} 1.0", severity=Severity.WARNING) for n in range(40)),
    )
    lines = lines_of(found)
    assert max(map(len, lines)) <= 80
    assert lines.count("  needs       libx.so.1") == 4 + 1
    assert "and 5 more, which -v tells in full:" in lines
    assert "  missing-library  p4 1.0, p5 1.0, p6 1.0, p7 1.0, p8 1.0" in lines
    assert "and 39 more, which -v tells in full:" in lines
    assert lines[-1].endswith(" and 31 more")
    assert check_text(found, verbose=True).count("  needs       libx.so.1") == 49


def test_notes_on_settings_come_with_verbose() -> None:
    found = replace(report(), notes=("told",), asides=("of settings",))
    assert lines_of(found)[-2:] == ["Notes:", "  told"]
    assert lines_of(found, verbose=True)[-2:] == ["  told", "  of settings"]


# what ships beside it


def test_the_action_says_what_its_script_reads(tmp_path: Path) -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    *_, step = action["runs"]["steps"]
    assert action["runs"]["using"] == "composite"
    env = {key: value for key, value in step["env"].items() if key.startswith("INPUT_")}
    assert {key: f"${{{{ inputs.{key[6:].lower()} }}}}" for key in env} == env
    assert {key[6:].lower() for key in env} == set(action["inputs"])
    assert "${{" not in step["run"]  # inputs are variables, never part of the script
    tool = tmp_path / "abilock" / "bin" / "abilock"
    tool.parent.mkdir(parents=True)
    tool.write_text('#!/bin/sh\nprintf "%s\\n" "$*" >>"$CALLS"\nexit "$CODE"\n')
    tool.chmod(0o755)
    for code, calls in ((0, 2), (1, 2), (3, 1)):
        called, output = tmp_path / f"calls{code}", tmp_path / f"output{code}"
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", step["run"]],
            env={
                "PATH": os.environ["PATH"],
                "RUNNER_TEMP": str(tmp_path),
                "GITHUB_OUTPUT": str(output),
                "CALLS": str(called),
                "CODE": str(code),
                **dict.fromkeys(env, ""),
                "INPUT_LOCK": "a b/uv.lock\n\npylock.toml\n",
                "INPUT_CUDA": "13.0",
                "INPUT_ARGS": "--extra cu130",
                "INPUT_SARIF": str(tmp_path / "out.sarif"),
            },
            capture_output=True,
            text=True,
        )
        assert (done.returncode, output.read_text()) == (code, f"exit-code={code}\n"), done.stderr
        said = called.read_text().splitlines()
        options = "check --extra cu130 --cuda 13.0 --format"
        assert said[0] == f"{options} github -- a b/uv.lock pylock.toml"
        assert len(said) == calls


def test_the_hook_takes_the_locks_that_have_names() -> None:
    [hook] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert (hook["entry"], hook["language"]) == ("abilock check", "python")
    for kind in Kind:
        named = kind not in (Kind.CONDA, Kind.DOCKERFILE, Kind.REQUIREMENTS)
        assert (re.search(hook["files"], f"sub/{kind}") is not None) == named
    assert re.search(hook["files"], "pylock.gpu.toml")
    assert not re.search(hook["files"], "xuv.lock")
