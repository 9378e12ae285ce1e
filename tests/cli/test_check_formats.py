"""``check`` of locks that other tools write: what the index of a pin and Python decide."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.usecase.named_builds import channel_of
from tests.cli.test_channels import Run

PLATFORM = ("--machine", "x86_64", "--glibc", "2.35", "--offline", "--format", "json")
CUDA = ("--cuda", "12.8", "--arch", "sm90")


@pytest.mark.parametrize(
    ("text", "torch"),
    [
        ("torch==2.9.1\n", "torch 2.9.1 for CUDA 12.8 (default)"),
        (
            "--extra-index-url https://download.pytorch.org/whl/cu130\ntorch==2.9.1\n",
            "torch 2.9.1+cu130 for CUDA 13.0 (pytorch)",
        ),
        (
            "FROM x\nRUN pip install torch==2.9.1 -i https://download.pytorch.org/whl/cu130/\n",
            "torch 2.9.1+cu130 for CUDA 13.0 (pytorch)",
        ),
    ],
)
def test_the_index_of_a_pin_names_the_build(run: Run, place: Path, text: str, torch: str) -> None:
    (place / "lock").write_text(text, encoding="utf-8")
    document = json.loads(run("check", "lock", *CUDA, "--python", "3.12", *PLATFORM).out)
    assert document["torch"] == torch
    assert not [note for note in document["notes"] if "was not asked" in note]


def test_a_cpu_build_by_its_index_is_broken(run: Run, place: Path) -> None:
    text = "--index-url https://download.pytorch.org/whl/cpu\ntorch==2.9.1\n"
    (place / "lock").write_text(text, encoding="utf-8")
    done = run("check", "lock", *CUDA, "--python", "3.12", *PLATFORM)
    fatal = [f for f in json.loads(done.out)["findings"] if f["severity"] == "fatal"]
    assert (done.code, [(f["code"], f["subject"]) for f in fatal]) == (
        1,
        [("cuda-mismatch", "torch 2.9.1+cpu")],
    )


def test_the_python_is_that_of_the_lock(run: Run, place: Path) -> None:
    lock = 'version = 1\nrequires-python = "==3.10.*"\n[[package]]\nname = "torch"\n'
    lock += 'version = "2.9.1"\nsource = { registry = "https://index.test/simple" }\n'
    (place / "uv.lock").write_text(lock, encoding="utf-8")
    done = run("check", "uv.lock", *CUDA, *PLATFORM)
    assert json.loads(done.out)["target"]["python"] == "3.10"
    assert "Python 3.10.0: uv.lock is for Python ==3.10.*.\n" in done.err
    done = run("check", "uv.lock", *CUDA, "--python", "3.12", *PLATFORM)
    document = json.loads(done.out)
    assert (done.code, document["verdict"]) == (1, "broken")
    [finding] = document["findings"]
    assert (finding["code"], finding["subject"], finding["needs"], finding["found"]) == (
        "python-unsupported",
        "uv.lock",
        "Python ==3.10.*, as the lock says",
        "Python 3.12.0",
    )


@pytest.mark.parametrize(
    ("address", "found"),
    [
        ("https://download.pytorch.org/whl/cu128", ("pytorch", "cu128")),
        ("https://download.pytorch.org/whl/cu128/", ("pytorch", "cu128")),
        ("https://download.pytorch.org/whl/cpu", ("pytorch", "cpu")),
        ("https://download.pytorch.org/whl/nightly/cu130", ("pytorch-nightly", "cu130")),
        ("https://download.pytorch.org/whl", None),
        ("https://download.pytorch.org/whl/rocm6.3", None),
        ("https://flashinfer.ai/whl", ("flashinfer", "")),
        ("https://corp.test/simple", None),
    ],
)
def test_channels_by_address(address: str, found: tuple[str, str] | None) -> None:
    channel = channel_of(KnowledgeBase().facts.channels, address)
    assert (None if channel is None else (channel[0].name, channel[1])) == found
