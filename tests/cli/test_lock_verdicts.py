"""``check LOCKFILE`` with the shipped knowledge: what ``why`` rejects, it rejects, and why."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_channels import Run

PLATFORM = ("--python", "3.12", "--machine", "x86_64", "--glibc", "2.35", "--offline")


@pytest.mark.parametrize(
    ("pin", "options", "found", "torch"),
    [
        (
            "torch==2.9.1+cu128",
            ("--cuda", "13.0", "--arch", "sm90"),
            {("cuda-mismatch", "torch 2.9.1+cu128")},
            "torch 2.9.1+cu128 for CUDA 12.8 (pytorch)",
        ),
        (
            "torch==2.7.0",
            ("--cuda", "12.6", "--arch", "sm120"),
            {("no-device-code", "CUDA 12.6"), ("no-device-code", "torch 2.7.0")},
            "torch 2.7.0 for CUDA 12.6 (default)",
        ),
        (
            "torch==2.10.0",
            ("--cuda", "13.0", "--arch", "sm100", "--driver", "525.60.13"),
            {("driver-too-old", "CUDA 13.0"), ("cuda-mismatch", "torch 2.10.0")},
            "torch 2.10.0 for CUDA 12.8 (default)",
        ),
    ],
)
def test_what_cannot_run_there_is_broken(
    run: Run,
    place: Path,
    pin: str,
    options: tuple[str, ...],
    found: set[tuple[str, str]],
    torch: str,
) -> None:
    (place / "r.txt").write_text(f"{pin}\n", encoding="utf-8")
    result = run("check", "r.txt", *options, *PLATFORM, "--format", "json")
    document = json.loads(result.out)
    assert (result.code, document["verdict"], document["torch"]) == (1, "broken", torch)
    fatal = {(f["code"], f["subject"]) for f in document["findings"] if f["severity"] == "fatal"}
    assert fatal == found
    assert run("why", "-r", "r.txt", *options, *PLATFORM).code == 1


def test_the_headline_names_the_build_of_torch(run: Run, place: Path) -> None:
    (place / "r.txt").write_text("torch==2.9.1\n", encoding="utf-8")
    result = run("check", "r.txt", "--cuda", "12.8", "--arch", "sm90", *PLATFORM)
    assert result.code == 0
    assert result.out.splitlines()[1:4] == [
        "  1 package, 0 wheels checked",
        "  for CUDA 12.8, sm_90, Python 3.12, Linux x86_64 with glibc 2.35",
        "  judged with torch 2.9.1 for CUDA 12.8 (default)",
    ]
