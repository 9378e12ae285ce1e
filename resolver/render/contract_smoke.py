"""The record that a smoke script writes on a machine with GPUs (``docs/smoke.md``)."""

from __future__ import annotations

from typing import Literal

from resolver.render.contract_part import Part as _Model

Result = Literal["ran", "imported", "unknown", "failed", "absent"]


class SmokeLockModel(_Model):
    """The lock that the script was made from; ``sha256`` is that of its text."""

    name: str
    sha256: str
    requests: list[str]


class SmokeTargetModel(_Model):
    """The machine that the lock is for; null what the lock does not say."""

    cuda: str | None
    arch: list[str]
    python: str | None
    machine: str | None
    glibc: str | None


class SmokeHostModel(_Model):
    """The machine that the script ran on. ``driver_cuda`` is the newest CUDA of its driver.

    ``torch_cuda`` is what the installed torch was built for; null where that is not known.
    """

    python: str
    machine: str
    glibc: str | None
    driver: str | None
    driver_cuda: str | None
    torch_cuda: str | None


class SmokeGpuModel(_Model):
    """One GPU that torch sees."""

    index: int
    name: str
    arch: str


class SmokeModuleModel(_Model):
    """One import, in a process of its package's own. ``error`` is null where it came to its end."""

    name: str
    result: Literal["imported", "failed", "crashed", "timeout"]
    error: str | None


class SmokePackageModel(_Model):
    """One package of the lock, and what of it was found.

    ``installed`` is the version that is there, null where none is. ``record_sha256`` is that of the
    lines ``path,hash`` of its RECORD that a wheel brought, sorted; ``archive_sha256`` what the
    installer wrote down of the wheel itself. ``result`` is ``ran`` where a kernel of it ran on
    every GPU, ``unknown`` where it brings no module that could be imported.
    """

    name: str
    version: str
    filename: str
    channel: str
    sha256: str
    installed: str | None
    record_sha256: str | None
    archive_sha256: str | None
    result: Result
    modules: list[SmokeModuleModel]


class SmokeKernelModel(_Model):
    """One call on one GPU. ``skipped`` is a call that this release does not have."""

    package: str
    call: str
    gpu: int
    result: Literal["ran", "failed", "crashed", "timeout", "skipped"]
    error: str | None


class SmokePairModel(_Model):
    """An extension beside torch; ``grade`` is what the lock says of it."""

    extension: str
    torch: str
    grade: str | None
    result: Result


class SmokeModel(_Model):
    """What ``abilock export --to smoke`` writes on the GPU host, and ``knowledge learn`` takes.

    ``verdict`` is ``ran`` where everything imported and each known kernel ran on each GPU,
    ``no-gpu`` where everything imported and torch saw no GPU, else ``failed``. ``date`` is in UTC.
    """

    version: Literal[1] = 1
    kind: Literal["abilock-smoke"] = "abilock-smoke"
    verdict: Literal["ran", "no-gpu", "failed"]
    date: str
    lock: SmokeLockModel
    target: SmokeTargetModel
    host: SmokeHostModel
    gpus: list[SmokeGpuModel]
    packages: list[SmokePackageModel]
    kernels: list[SmokeKernelModel]
    pairs: list[SmokePairModel]
