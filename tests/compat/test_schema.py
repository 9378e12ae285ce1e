"""What a person may write in ``knowledge/``, and what is said of anything else."""

from __future__ import annotations

from pathlib import Path

import pytest

from resolver.compat import schema, schema_tuple, schema_wheels
from resolver.compat.load_facts import Problem, read_file
from tests.support.database import (
    BAD,
    BUILDS,
    CHANNELS,
    CUDA,
    GOOD,
    GPUS,
    GUARDS,
    LIBRARIES,
    PAIRS,
    SKEWS,
    SUCCESSORS,
    WHEELS,
)

FORMS: dict[str, tuple[str, type[schema.Model]]] = {
    "channels.toml": (CHANNELS, schema.ChannelsFile),
    "cuda.toml": (CUDA, schema.CudaFile),
    "gpus.toml": (GPUS, schema.GpusFile),
    "builds.toml": (BUILDS, schema.BuildsFile),
    "skews.toml": (SKEWS, schema.SkewsFile),
    "guards.toml": (GUARDS, schema.GuardsFile),
    "wheels.toml": (WHEELS, schema_wheels.WheelsFile),
    "pairs.toml": (PAIRS, schema.PairsFile),
    "successors.toml": (SUCCESSORS, schema.SuccessorsFile),
    "libraries.toml": (LIBRARIES, schema.LibrariesFile),
    "good.toml": (GOOD, schema_tuple.TupleFact),
    "bad.toml": (BAD, schema_tuple.TupleFact),
}

CODES = (
    "'missing-symbol', 'missing-library', 'missing-system-library', 'no-device-code', "
    "'cuda-mismatch'"
)


def problems(path: Path, name: str, text: str, model: type[schema.Model]) -> list[Problem]:
    (path / name).write_text(text, encoding="utf-8")
    loaded = read_file(path, name, model)
    return list(loaded) if isinstance(loaded, tuple) else []


@pytest.mark.parametrize("name", FORMS)
def test_the_small_database_has_the_form(tmp_path: Path, name: str) -> None:
    assert problems(tmp_path, name, *FORMS[name]) == []


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("cuda.toml", '"13.0"', '"thirteen"', "version: not a CUDA version: 'thirteen'"),
        (
            "cuda.toml",
            'archs = ["sm_90", "sm_120"]',
            'archs = ["sm_90", "sm_x"]',
            "archs[1]: not a GPU architecture: 'sm_x'",
        ),
        (
            "cuda.toml",
            'archs = ["sm_90", "sm_120"]',
            "archs = []",
            "archs: must not be empty",
        ),
        ("cuda.toml", '"580"', '"newest"', "driver-family: not a version: 'newest'"),
        ("cuda.toml", '"580"', "580", "driver-family: must be a text that is not empty, not 580"),
        ("gpus.toml", '"list"', '" "', "source: must be a text that is not empty, not ' '"),
        ("gpus.toml", "names", "name", "names: the key is missing"),
        (
            "gpus.toml",
            "2026-01-01",
            '"2026-13-01"',
            "date: Input should be a valid date or datetime, "
            "month value is outside expected range of 1-12",
        ),
        (
            "channels.toml",
            '["torch"]',
            '["Torch_Audio"]',
            "projects[0]: not a normalized project name: 'Torch_Audio', write 'torch-audio'",
        ),
        (
            "channels.toml",
            "/{cuda}",
            "",
            "cuda-tags must be given where url has {cuda}, and nowhere else",
        ),
        (
            "channels.toml",
            "https://",
            "http://",
            "url must start with https://, not 'http://download.pytorch.org/whl/{cuda}'",
        ),
        (
            "builds.toml",
            '">=2.9,<2.10"',
            '"2.9"',
            "versions: not a version specifier: '2.9'",
        ),
        (
            "builds.toml",
            '"measured"',
            '"hearsay"',
            "grade: Input should be 'ran', 'measured', 'reported', 'declared', 'inferred' or "
            "'assumed'",
        ),
        ("builds.toml", '"sm_90"', '"sm90x"', "codes[0]: not a GPU architecture: 'sm90x'"),
        ("builds.toml", '"x86_64"', '"amd64"', "machine: Input should be 'x86_64' or 'aarch64'"),
        ("skews.toml", '["one", "two"]', '["one"]', "projects: must name two or more projects"),
        (
            "libraries.toml",
            "libcudart.so.13",
            "cudart",
            r"soname: String should match pattern '^lib.+\.so(\.\d+)*$'",
        ),
        ("good.toml", '"2.9.1+cu130"', '"two"', "packages.torch: not a version: 'two'"),
        (
            "good.toml",
            "exclude-newer = 2026-01-02",
            "",
            "a good tuple has exclude-newer, the day its pins are solved on",
        ),
        (
            "good.toml",
            'anchor = "torch"',
            "",
            "a good tuple has an anchor, the package a request must name; a bad one has none",
        ),
        (
            "good.toml",
            'anchor = "torch"',
            'anchor = "triton"',
            "the anchor triton is not among the packages",
        ),
        (
            "good.toml",
            '[channels]\ntorch = "pytorch"',
            '[channels]\ntriton = "pytorch"',
            "channels names triton, which is not among the packages",
        ),
        (
            "bad.toml",
            'verdict = "bad"',
            'verdict = "good"',
            "a bad tuple has a [reason], a good one has none",
        ),
        ("bad.toml", 'evidence = "report"\n', "", "reason.evidence: the key is missing"),
    ],
)
def test_a_wrong_value_is_named_with_its_fact(
    tmp_path: Path, name: str, old: str, new: str, message: str
) -> None:
    text, model = FORMS[name]
    head, found, tail = text.rpartition(old)
    assert found
    found_problems = problems(tmp_path, name, f"{head}{new}{tail}", model)
    assert message in [problem.what for problem in found_problems]
    assert all(problem.id and problem.remedy for problem in found_problems)


def test_a_problem_reads_as_file_fact_and_key(tmp_path: Path) -> None:
    text = CUDA.replace('"sm_70"', '"sm_7x"')
    (problem,) = problems(tmp_path, "cuda.toml", text, schema.CudaFile)
    assert str(problem) == "cuda.toml, cuda-12.9: archs[0]: not a GPU architecture: 'sm_7x'"
    assert problem.remedy == "Correct the value; docs/knowledge.md describes the keys."


def test_a_key_that_is_not_listed_is_an_error(tmp_path: Path) -> None:
    (problem,) = problems(tmp_path, "gpus.toml", f"{GPUS}watts = 700\n", schema.GpusFile)
    assert str(problem) == "gpus.toml, h100: watts: no such key"
    assert problem.remedy == "Remove 'watts' or correct its name."


def test_a_reason_is_one_of_the_closed_set(tmp_path: Path) -> None:
    text = BAD.replace('"missing-symbol"', '"broken"')
    (problem,) = problems(tmp_path, "bad.toml", text, schema_tuple.TupleFact)
    assert problem.what.startswith(f"reason.code: Input should be {CODES}")


def test_a_set_that_ran_says_on_what(tmp_path: Path) -> None:
    text = GOOD.replace('"reported"', '"ran"')
    assert problems(tmp_path, "good.toml", text, schema_tuple.TupleFact) == []
    text = text.replace('archs = ["sm_120"]\n', "")
    (problem,) = problems(tmp_path, "good.toml", text, schema_tuple.TupleFact)
    assert problem.what == "a set that ran names cuda, archs and machines: those it ran on"


def test_text_that_is_no_toml(tmp_path: Path) -> None:
    (problem,) = problems(tmp_path, "gpus.toml", "[[gpu]\n", schema.GpusFile)
    assert str(problem) == (
        "gpus.toml: not TOML: Expected ']]' at the end of an array declaration "
        "(at line 1, column 6)"
    )


def test_a_pin_is_a_requirement(tmp_path: Path) -> None:
    text = 'tuple = "good"\npins = ["torch=2"]\n'
    (problem,) = problems(tmp_path, "good.pins.toml", text, schema_tuple.PinsFile)
    assert problem.what == "pins[0]: not a requirement: 'torch=2'"
