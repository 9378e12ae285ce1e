"""What the shipped snapshots answer without any network and with an empty cache."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from resolver.lockfile.pylock import load_lock, locked_versions
from resolver.render.render_json import load_schema
from tests.cli.conftest import Result

Run = Callable[..., Result]
BLACKWELL = ("--cuda", "13.0", "--arch", "sm120", "--offline")
X86 = ("--machine", "x86_64", "--glibc", "2.35")
STACK = {"torch": "2.9.1+cu130", "sgl-kernel": "0.3.21+cu130", "flashinfer-python": "0.6.4"}
FAILED = ("torch==2.10.0+cu130", "sgl-kernel==0.3.21+cu130")


@pytest.fixture(autouse=True)
def _no_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a socket was opened offline")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def pins() -> dict[str, str]:
    versions = locked_versions(load_lock(Path("pylock.toml")))
    return {name: str(version) for name, version in versions.items()}


@pytest.mark.parametrize("python", ["3.10", "3.11", "3.12", "3.13"])
def test_the_default_stack(run: Run, python: str) -> None:
    result = run("resolve", *BLACKWELL, *X86, "--python", python)
    assert result.code == 0, result.err
    found = pins()
    assert STACK.items() <= found.items()
    assert len(found) > 40
    assert "Known-good set: blackwell-sm120-cu130-2026-02, reported 2026-02-28" in result.err
    days = r"2026-\d\d-\d\d( to 2026-\d\d-\d\d)?"
    said = rf"From snapshots of {days}, not seen on their channel in this run: "
    assert re.search(said, result.err)
    rows = [(package.tool or {})["abilock"] for package in load_lock(Path("pylock.toml")).packages]
    assert {row["from"] for row in rows} == {"snapshot"}
    assert all(re.fullmatch(r"2026-\d\d-\d\d", row["recorded"]) for row in rows)


@pytest.mark.parametrize("python", ["3.10", "3.12"])
def test_the_default_stack_on_aarch64(run: Run, python: str) -> None:
    arguments = ("--machine", "aarch64", "--glibc", "2.35", "--python", python)
    result = run("resolve", *BLACKWELL, *arguments)
    assert result.code == 0, result.err
    assert STACK.items() <= pins().items()


def test_every_file_is_hashed_and_placed(run: Run) -> None:
    run("resolve", *BLACKWELL, *X86, "--python", "3.12")
    for package in load_lock(Path("pylock.toml")).packages:
        assert package.wheels is not None
        (wheel,) = package.wheels
        assert len(wheel.hashes["sha256"]) == 64
        assert wheel.url or (wheel.path or "").startswith("wheelhouse/")


def test_twice_the_same_bytes(run: Run) -> None:
    first = run("resolve", *BLACKWELL, *X86, "--python", "3.12", "-o", "-").out
    assert first
    assert run("resolve", *BLACKWELL, *X86, "--python", "3.12", "-o", "-").out == first


def test_sglang_takes_what_it_pins(run: Run) -> None:
    asked = ("sglang==0.5.9", *BLACKWELL, *X86, "--python", "3.12")
    result = run("resolve", *asked, "--prefer", "known-good")
    assert result.code == 0, result.err
    found = pins()
    assert len(found) > 150
    assert (found["torch"], found["flashinfer-python"]) == ("2.9.1+cu130", "0.6.3")
    stack = ("torch", "sgl-kernel", "flashinfer-python", "torchao", "sglang", "triton")
    assert "Known-good set: sglang-0.5.9-cu130, declared 2026-02-28" in result.err
    # Its torchao skips its extension: by itself abilock does not call that known good.
    result = run("resolve", *asked, "--upgrade")
    assert result.code == 0, result.err
    again = pins()
    assert again.keys() >= found.keys()
    assert {n: v for n, v in again.items() if n in stack} == {n: found[n] for n in stack}
    assert "known-good set sglang-0.5.9-cu130 was passed over: it is degraded" in result.err


@pytest.mark.parametrize(
    ("target", "torch"),
    [
        # NCCL's kernels for expert parallelism, which come with it, have no code for a T4.
        (("--cuda", "13.0", "--gpu", "T4", *X86, "--python", "3.13"), "2.14.0"),
        (
            ("--cuda", "13.0", "--arch", "sm121", "--machine", "aarch64", "--python", "3.14"),
            "2.14.0",
        ),
    ],
)
def test_vllm_and_its_closure(run: Run, target: tuple[str, ...], torch: str) -> None:
    result = run("resolve", "vllm", *target, "--offline")
    assert result.code == 0, result.err
    found = pins()
    assert len(found) > 150
    assert found["torch"] == torch


def test_a_build_whose_closure_does_not_ship_is_unknown(run: Run) -> None:
    # One record of vLLM 0.23.0+cu129 had two requirements, and was locked without a torch.
    asked = ("vllm", "--cuda", "12.8", "--gpu", "H100", *X86, "--python", "3.12", "--offline")
    result = run("resolve", *asked)
    assert (result.code, Path("pylock.toml").exists()) == (3, False)


def test_no_index_is_said_to_have_been_read(run: Run) -> None:
    asked = ("why", "torch==2.9.1+cu130", "sgl-kernel==0.3.21+cu130", *BLACKWELL, *X86)
    told = run(*asked, "--python", "3.12")
    assert told.code == 0
    assert re.search(r"by snapshots of 2026-[-\d]+( to [-\d]+)? and metadata\n", told.out)
    assert "index page" not in told.out


def test_why_the_pair_of_the_report_fails(run: Run) -> None:
    result = run("why", *FAILED, *BLACKWELL, *X86, "--python", "3.12")
    assert result.code == 1
    lines = [line.strip() for line in result.out.splitlines()]
    signature = "c10::cuda::c10_cuda_check_implementation(int, char const*, char const*, {}, bool)"
    assert lines[0].startswith(f"Rejected: {' with '.join(FAILED)} on CUDA 13.0, sm_120")
    assert "missing-symbol: sgl-kernel 0.3.21+cu130 with torch 2.10.0+cu130" in lines
    assert f"needs       {signature.format('int')}" in lines
    assert f"found       {signature.format('unsigned int')}" in lines
    assert "works with  torch >=2.9,<2.10" in lines
    assert "in          sgl_kernel/sm100/common_ops.abi3.so" in lines
    symbols = next(line for line in lines if line.startswith("symbol "))
    assert "_ZN3c104cuda29c10_cuda_check_implementationEiPKcS2_ib" in symbols.split()


def test_why_as_json(run: Run) -> None:
    result = run("why", *FAILED, *BLACKWELL, *X86, "--python", "3.12", "--format", "json")
    document = json.loads(result.out)
    jsonschema.validate(document, load_schema("why"))
    assert (result.code, document["verdict"]) == (1, "rejected")
    reason = next(r for r in document["reasons"] if r["code"] == "missing-symbol")
    assert reason["works_with"] == "torch >=2.9,<2.10"
    commands = [alternative["command"] for alternative in document["alternatives"]]
    assert len(commands) == len(set(commands))
    assert commands[0] == (
        "abilock resolve sgl-kernel==0.3.21+cu130 torch==2.9.1+cu130 --cuda 13.0 --arch sm120 "
        "--python 3.12 --machine x86_64 --glibc 2.35 --offline"
    )


def test_why_the_working_pair_is_accepted(run: Run) -> None:
    pair = ("torch==2.9.1+cu130", "sgl-kernel==0.3.21+cu130")
    result = run("why", *pair, *BLACKWELL, *X86, "--python", "3.12")
    assert result.code == 0
    assert result.out.startswith(f"Accepted: {' with '.join(pair)} on CUDA 13.0")


def test_a_release_outside_the_snapshot_is_unknown(run: Run) -> None:
    result = run("why", "torch==2.99.0", *BLACKWELL, *X86, "--python", "3.12")
    assert result.code == 3
    assert result.out.startswith("Unknown: torch==2.99.0 on ")
    assert "\nnot-in-snapshot: torch==2.99.0\n" in result.out


def test_a_project_outside_all_snapshots_is_unknown(run: Run) -> None:
    result = run("why", "some-project", *BLACKWELL, *X86, "--python", "3.12")
    assert result.code == 3
