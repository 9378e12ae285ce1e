"""A lock as a Dockerfile: its text, its form by another parser, hadolint's rules, and its run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from packaging.pylock import Pylock

from resolver.compat.load_facts import load_knowledge
from resolver.errors import DamagedData, UsageError
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.lockfile.export_dockerfile import Container, render_dockerfile
from resolver.lockfile.pylock import build_lock, load_lock
from resolver.model.target import Target
from tests.export.conftest import Served
from tests.support.fakes import answer, make_target

X = "cp312-cp312-linux_x86_64"
TEXT = f"""
torch 2.9.1+cu130 {X} channel:pytorch url:https://x.test/torch-2.9.1%2Bcu130.whl hash:ab needs dep
dep 1.0 hash:cd
triton 3.5.1 {X} hash:ef
flashinfer-python 0.6.4 hash:12
flashinfer-jit-cache 0.6.4+cu130 hash:34
"""
BASE = KnowledgeBase()
KNOWN = Container(
    images=BASE.images,
    system=BASE.system_libraries,
    driver_of={cuda: r.driver_family for cuda, r in load_knowledge().cuda.items()},
)
NUMA = {
    "code": "missing-system-library",
    "severity": "warning",
    "subject": "kernel 1",
    "needs": "libnuma.so.1, or that of another release",
}


def lock_of(*requests: str, target: Target | None = None, findings: Any = ()) -> Pylock:
    outcome = answer(TEXT, *requests, target=target or make_target())
    lock = build_lock(outcome, wheelhouse="wheelhouse", lock_dir=Path("/project"))
    tool = dict(lock.tool or {})
    tool["abilock"] = {**tool["abilock"], "findings": list(findings)}
    return replace(lock, tool=tool)


def text_of(lock: Pylock) -> str:
    return render_dockerfile(lock, source="pylock.toml", digest="ab" * 32, known=KNOWN)


def test_the_whole_text() -> None:
    assert (
        text_of(lock_of("torch", "triton", findings=[NUMA]))
        == f"""\
# abilock export --to dockerfile, from pylock.toml
# CUDA 13.0, sm_120, Python 3.12, Linux x86_64, glibc 2.35 or newer
# build: docker build -t gpu-stack -f THIS-FILE .
# run:   docker run --rm -it --gpus all gpu-stack
# try:   abilock export --to smoke writes a script that tries it on the GPUs
# driver: 580 or newer on the host (CUDA 13)
# Nothing of the lock compiles with nvcc when it runs.
FROM nvidia/cuda:13.0.2-runtime-ubuntu22.04

SHELL ["/bin/bash", "-o", "pipefail", "-c"]

LABEL abilock.lock="sha256:{"ab" * 32}" \\
      abilock.cuda="13.0" \\
      abilock.arch="sm_120"

# The image refuses older drivers by its NVIDIA_REQUIRE_CUDA. Its LD_LIBRARY_PATH
# would put the toolkit's libraries before those of the wheels.
ENV LD_LIBRARY_PATH="/usr/local/nvidia/lib64"

# libnuma.so.1 for kernel 1.
# triton compiles with a C compiler when it runs.
# hadolint ignore=DL3008
RUN apt-get update \\
    && apt-get install --no-install-recommends -y ca-certificates gcc libc6-dev libnuma1 \\
    && rm -rf /var/lib/apt/lists/*

COPY --from=ghcr.io/astral-sh/uv:0.13.0 /uv /usr/local/bin/uv

ENV UV_LINK_MODE=copy \\
    UV_NO_CACHE=1 \\
    UV_PYTHON_INSTALL_DIR=/opt/python \\
    VIRTUAL_ENV=/opt/venv \\
    PATH="/opt/venv/bin:$PATH"
# A mirror of the default index: docker build --build-arg UV_DEFAULT_INDEX=ADDRESS
ARG UV_DEFAULT_INDEX

WORKDIR /opt/abilock
RUN uv venv --managed-python --python 3.12 /opt/venv
RUN printf '%s\\n' \\
    'dep==1.0 --hash=sha256:{"cd" * 32}' \\
    'torch @ https://x.test/torch-2.9.1%2Bcu130.whl --hash=sha256:{"ab" * 32}' \\
    'triton==3.5.1 --hash=sha256:{"ef" * 32}' \\
    > requirements.txt
RUN uv pip sync --require-hashes requirements.txt
# Extensions want a driver: they are tried where there is one.
RUN python -c "import torch; print(torch.__version__, torch.version.cuda)"

RUN useradd --no-log-init --create-home --uid 10001 app
USER app
WORKDIR /home/app
CMD ["python"]
"""
    )


@pytest.mark.parametrize(
    ("requests", "changes", "image"),
    [
        (["dep"], {}, "nvidia/cuda:13.0.2-runtime-ubuntu22.04"),
        (["flashinfer-python"], {}, "nvidia/cuda:13.0.2-devel-ubuntu22.04"),
        (
            ["flashinfer-python", "flashinfer-jit-cache"],
            {},
            "nvidia/cuda:13.0.2-runtime-ubuntu22.04",
        ),
        (["dep"], {"glibc": (2, 36)}, "nvidia/cuda:13.0.2-runtime-ubuntu24.04"),
        (["dep"], {"cuda": "12.8"}, "nvidia/cuda:12.8.1-runtime-ubuntu22.04"),
        (["dep"], {"cuda": "13.4"}, "ubuntu:22.04"),
        (["dep"], {"cuda": "12.1", "glibc": (2, 39)}, "ubuntu:24.04"),
        (
            ["flashinfer-python"],
            {"cuda": "13.4", "toolkit": "13.2"},
            "nvidia/cuda:13.2.1-devel-ubuntu22.04",
        ),
    ],
)
def test_the_image_to_begin_from(requests: list[str], changes: dict[str, Any], image: str) -> None:
    lock = lock_of(*requests)
    target = (lock.tool or {})["abilock"]["target"]
    glibc = changes.pop("glibc", None)
    target |= changes | ({"glibc": "{}.{}".format(*glibc)} if glibc else {})
    text = text_of(lock)
    assert f"\nFROM {image}\n" in text
    assert ("NVIDIA_REQUIRE_CUDA=" in text) == image.startswith("ubuntu")


@pytest.mark.parametrize(
    ("changes", "error", "hint"),
    [
        (
            {"cuda": "13.4"},
            "no image of nvidia/cuda is known for CUDA 13.4 and glibc 2.35, and flashinfer-python "
            "0.6.4 compiles with nvcc when it runs",
            "say which toolkit it is: abilock resolve ... --toolkit 13.3",
        ),
        (
            {"glibc": "2.40"},
            "the lock is for glibc 2.40 or newer, and no image that is known has it",
            "lock for that of ubuntu:24.04: abilock resolve ... --glibc 2.39",
        ),
    ],
)
def test_what_no_image_fits(changes: dict[str, str], error: str, hint: str) -> None:
    lock = lock_of("flashinfer-python")
    (lock.tool or {})["abilock"]["target"] |= changes
    with pytest.raises(UsageError) as raised:
        text_of(lock)
    assert (str(raised.value), raised.value.hint) == (error, hint)


def test_a_lock_of_another_tool_is_refused() -> None:
    with pytest.raises(DamagedData, match="does not say which Python and machine"):
        text_of(replace(lock_of("dep"), tool=None))


def lint(text: str) -> list[str]:
    """hadolint's main rules, by the instructions that another parser reads."""
    parse = pytest.importorskip("dockerfile_parse", reason="needs dockerfile-parse")
    rows = parse.DockerfileParser(fileobj=BytesIO(text.encode())).structure
    rows = [(row["instruction"], row["value"]) for row in rows]
    runs = [value for word, value in rows if word == "RUN"]
    words = [word for word, _ in rows]
    wrong = []
    for word, value in rows:
        image = value.split()[0].removeprefix("--from=") if word in ("FROM", "COPY") else ""
        if image and (word == "FROM" or "--from=" in value):
            _, _, tag = image.rpartition(":")
            if not re.fullmatch(r"\d[\w.-]*", tag):
                wrong.append(f"DL3006 DL3007: {image}")
        if word == "WORKDIR" and not value.startswith("/"):
            wrong.append(f"DL3000: {value}")
        if word in ("ADD", "MAINTAINER"):
            wrong.append(f"DL3020 DL4000: {word}")
        if word in ("CMD", "ENTRYPOINT") and not value.startswith("["):
            wrong.append(f"DL3025: {value}")
    for run in runs:
        if "apt-get install" in run:
            wrong += [
                f"DL3015 DL3014 DL3009: {needed}"
                for needed in ("--no-install-recommends", " -y ", "rm -rf /var/lib/apt/lists/*")
                if needed not in run
            ]
        if re.search(r"\b(sudo|apt) |(?<!&)\bcd /", run):
            wrong.append(f"DL3004 DL3027 DL3003: {run}")
        if "|" in run and "pipefail" not in dict(rows).get("SHELL", ""):
            wrong.append(f"DL4006: {run}")
        if "useradd" in run and "--no-log-init" not in run:
            wrong.append(f"DL3046: {run}")
    if [v for w, v in rows if w == "USER"][-1:] in ([], ["root"]):
        wrong.append("DL3002: root")
    if words.count("CMD") != 1:
        wrong.append("DL4003: CMD")
    return wrong


@pytest.mark.parametrize(
    "requests", [["dep"], ["torch", "triton"], ["flashinfer-python", "torch"]], ids=" ".join
)
def test_hadolint_would_find_nothing(requests: list[str]) -> None:
    assert lint(text_of(lock_of(*requests, findings=[NUMA]))) == []


def test_the_linter_finds_faults() -> None:
    text = "FROM ubuntu:latest\nRUN apt-get install x\nRUN a | b\nWORKDIR x\nADD a b\nCMD python\n"
    assert [line.split(":")[0].split()[0] for line in lint(text)] == [
        "DL3006",
        "DL3000",
        "DL3020",
        "DL3025",
        "DL3015",
        "DL3015",
        "DL3015",
        "DL4006",
        "DL3002",
    ]


def test_files_outside_of_the_context_are_refused(tmp_path: Path) -> None:
    lock = build_lock(
        answer("gone 1.0 url:none hash:12 snapshot:2026-01-01", "gone"),
        wheelhouse="../wheels",
        lock_dir=tmp_path,
    )
    with pytest.raises(UsageError, match="outside of its directory"):
        text_of(lock)


def test_files_by_path_are_copied(tmp_path: Path) -> None:
    lock = build_lock(
        answer("gone 1.0 url:none hash:12 snapshot:2026-01-01", "gone"),
        wheelhouse="wheelhouse",
        lock_dir=tmp_path,
    )
    assert "\nCOPY wheelhouse/ ./wheelhouse/\n" in text_of(lock)


def test_its_commands_install_exactly_these_files(served: Served, tmp_path: Path) -> None:
    """What RUN gives the shell is run here, but for the commands of the system."""
    text = text_of(load_lock(served.lock))
    script = re.sub(r"\\\n", " ", text)
    runs = [line.removeprefix("RUN ") for line in script.splitlines() if line.startswith("RUN ")]
    mine = [run for run in runs if run.startswith(("printf", "uv pip"))]
    assert len(mine) == 2
    venv = tmp_path / "venv"
    tools = Path(sys.executable).parent
    env = {
        "PATH": f"{tools}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "UV_NO_CONFIG": "1",
        "UV_NO_CACHE": "1",
        "VIRTUAL_ENV": str(venv),
        "UV_DEFAULT_INDEX": f"{served.index.url}/simple",
    }
    for command in (f"uv venv -q --python {sys.executable} {venv}", *mine):
        bash = ["/bin/bash", "-o", "pipefail", "-c", command]
        subprocess.run(bash, check=True, cwd=tmp_path, env=env, capture_output=True)
    found = {path.name for path in venv.glob("lib/*/site-packages/*.dist-info")}
    assert found == {"app-1.dist-info", "kernel-1+cu130.dist-info", "lib-1.dist-info"}
