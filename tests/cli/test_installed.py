"""``torch==2.9.1`` of what is installed is the default index's file, not any build of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import TARGET
from tests.cli.test_channels import Publish, Run, html_index, torch
from tests.support.server import Server
from tests.support.wheels import build_wheel

ASKED = (*TARGET, "--glibc", "2.35")
NOTE = (
    "torch==2.9.1 is the default index's file, as an installer writes it; other builds of the "
    "release: 2.9.1+cu130 (pytorch)"
)


@pytest.fixture(autouse=True)
def _builds(publish: Publish, place: Path, server: Server) -> None:
    """2.9.1 of the default index, which is for CUDA 12.8, and a build of the channel for 13.0."""
    publish(torch("2.9.1", requires=()))
    html_index(server, "/whl/cu130", "torch", [("", torch("2.9.1+cu130", requires=()))])
    place.joinpath("pyproject.toml").write_text(
        f'[[tool.abilock.index]]\nname = "pytorch"\nurl = "{server.url}/whl/{{cuda}}"\n'
    )
    (place / "r.txt").write_text("torch==2.9.1\n", encoding="utf-8")


def test_a_freeze_means_its_very_file(run: Run) -> None:
    result = run("why", "-r", "r.txt", *ASKED, "--format", "json")
    found = json.loads(result.out)
    assert (result.code, found["verdict"]) == (1, "rejected")
    assert [(r["code"], r["subject"]) for r in found["reasons"]] == [
        ("cuda-mismatch", "torch 2.9.1")
    ]
    assert NOTE in found["notes"]
    commands = [each["command"] for each in found["alternatives"]]
    assert any(command.startswith("abilock resolve torch==2.9.1+cu130 ") for command in commands)


def test_a_request_means_any_build(run: Run) -> None:
    result = run("why", "torch==2.9.1", *ASKED, "--format", "json")
    assert (result.code, json.loads(result.out)["verdict"]) == (0, "accepted")


def test_a_build_that_is_named_is_meant(run: Run, place: Path) -> None:
    (place / "r.txt").write_text("torch==2.9.1+cu130\n", encoding="utf-8")
    assert run("why", "-r", "r.txt", *ASKED).code == 0


def test_a_release_that_the_default_index_lacks_is_any_build(
    run: Run, place: Path, server: Server
) -> None:
    html_index(server, "/whl/cu130", "torch", [("", torch("2.9.0+cu130", requires=()))])
    (place / "r.txt").write_text("torch==2.9.0\n", encoding="utf-8")
    assert run("why", "-r", "r.txt", *ASKED).code == 0


@pytest.mark.parametrize(
    ("pin", "cuda", "code", "told"),
    [
        pytest.param("torch==2.9.1", "13.0", 1, "cuda-mismatch", id="the-default-index-s"),
        pytest.param("torch==2.9.1", "12.8", 0, None, id="which-fits-its-own-cuda"),
        pytest.param("torch==2.9.1+cu130", "13.0", 0, None, id="the-channel-s"),
        pytest.param("torch==2.9.77+cu128", "13.0", 1, "cuda-mismatch", id="by-its-name-alone"),
        pytest.param("torch==2.9.77+cpu", "13.0", 1, "cuda-mismatch", id="of-no-cuda-by-its-name"),
        pytest.param("torch==2.9.77+cu130", "13.0", 0, None, id="which-fits-by-its-name"),
        pytest.param(
            "flash-attn==2.9+cu12torch2.9", "13.0", 1, "cuda-mismatch", id="a-major-alone"
        ),
        pytest.param(
            "torch==2.9.1+cu130\nflash-attn==2.9+cu13torch2.8",
            "13.0",
            1,
            "missing-symbol",
            id="another-torch-by-its-name",
        ),
        pytest.param(
            "torch==2.9.1+cu130\nflash-attn==2.9+cu13torch2.9", "13.0", 0, None, id="its-own-torch"
        ),
        pytest.param("torch==2.9.1", "12.6", 1, "no-device-code", id="the-wish-cannot-hold"),
    ],
)
def test_pins_of_a_file(
    run: Run, place: Path, pin: str, cuda: str, code: int, told: str | None
) -> None:
    (place / "r.txt").write_text(f"{pin}\n", encoding="utf-8")
    asked = [cuda if word == "13.0" else word for word in ASKED]
    result = run("check", "r.txt", *asked, "--format", "json")
    found = json.loads(result.out)
    fatal = [each["code"] for each in found["findings"] if each["severity"] == "fatal"]
    assert (result.code, fatal) == (code, [] if told is None else [told]), result.out
    assert (NOTE in found["notes"]) is (pin == "torch==2.9.1" and told == "cuda-mismatch")


def test_a_release_is_the_default_index_s_file_and_else_another(
    run: Run, place: Path, publish: Publish, server: Server
) -> None:
    publish(build_wheel("flashinfer-cubin", "0.6.4"))
    html_index(
        server, "/fi", "flashinfer-cubin", [("", build_wheel("flashinfer-cubin", "0.6.4+x"))]
    )
    place.joinpath("pyproject.toml").write_text(
        f'[[tool.abilock.index]]\nname = "flashinfer"\nurl = "{server.url}/fi"\n'
    )
    asked = ("inspect", "flashinfer-cubin==0.6.4", "--python", "3.12", "--no-cache")
    first, other = (f"flashinfer_cubin-0.6.4{x}-py3-none-any.whl" for x in ("", "+x"))
    assert run(*asked).out.startswith(f"{first}\n")
    del server.routes[f"/files/{first}"]
    result = run(*asked)
    assert result.out.startswith(f"{other}\n")
    assert f"{first}: not found; {other} of channel flashinfer was read" in result.err


def test_evidence_that_ships_is_read_offline(run: Run) -> None:
    name = "sgl-kernel==0.3.20"
    result = run("inspect", name, "--python", "3.12", "--machine", "x86_64", "--offline")
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("sgl_kernel-0.3.20-cp310-abi3-manylinux2014_x86_64.whl\n")
