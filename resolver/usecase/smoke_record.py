"""What a smoke record (``docs/smoke.md``) says of a set: which packages ran, on which GPUs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from resolver.documents import parse_json
from resolver.errors import DamagedData, UsageError
from resolver.files import read_regular
from resolver.model.channel import DEFAULT_CHANNEL
from resolver.model.cuda import Arch, CudaVersion
from resolver.model.reason import Grade
from resolver.model.stack import TORCH
from resolver.model.version import parse_version
from resolver.usecase.observed_set import ObservedSet, RefusedSet

if TYPE_CHECKING:
    from resolver.render.contract_smoke import SmokeModel, SmokePackageModel

_KIND = "abilock-smoke"
_MOST = 64 << 20


def observe_record(path: Path) -> ObservedSet | RefusedSet | None:
    """The set of a smoke record; None of another file. Raises DamagedData, UsageError, OSError."""
    try:
        data = read_regular(path, most=_MOST)
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read: {error.strerror or error}",
            hint="name an environment, a lock or a smoke record",
        ) from error
    if not data.lstrip().startswith(b"{") or _KIND.encode() not in data:
        return None
    from pydantic import ValidationError

    from resolver.render.contract_smoke import SmokeModel

    try:
        document = parse_json(data)
        if not isinstance(document, dict) or document.get("kind") != _KIND:
            return None
        record = SmokeModel.model_validate(document)
        return _observed(record)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise DamagedData(
            f"{path} is no smoke record: {where}: {first['msg']}", hint=_AGAIN
        ) from error
    except ValueError as error:
        raise DamagedData(f"{path} is no smoke record: {error}", hint=_AGAIN) from error


_AGAIN = "run the script that abilock export --to smoke writes once more"


def _observed(record: SmokeModel) -> ObservedSet | RefusedSet:
    """Raises ValueError for values that cannot be."""
    date.fromisoformat(record.date)
    for each in record.packages:
        canonicalize_name(each.name, validate=True)
    lines = list(_failures(record))
    if record.verdict == "no-gpu" and not lines:
        lines = ["no GPU was there: that imports work is no more than measured says"]
    packages: dict[NormalizedName, Version] = {}
    channels: dict[NormalizedName, str] = {}
    notes = []
    for each in record.packages:
        if each.result != "ran":
            continue
        name = canonicalize_name(each.name)
        if not _is_proven(each):
            notes.append(
                f"{each.name} {each.version} ran, and {each.installed} is what its metadata says: "
                "whose file it is is not known, so it is left out"
            )
            continue
        packages[name] = Version(each.version)
        if each.channel != DEFAULT_CHANNEL:
            channels[name] = each.channel
    cuda = record.target.cuda or record.host.torch_cuda
    if not lines and (TORCH not in packages or cuda is None or not record.gpus):
        lines = ["torch ran on no GPU, or is another build than the lock names"]
    if lines or cuda is None:
        text = "\n".join(f"  {line}" for line in lines)
        return RefusedSet(text=f"Not recorded: the record does not say that the set ran.\n{text}")
    archs = tuple(sorted({Arch.parse(gpu.arch) for gpu in record.gpus}))
    calls = sorted({kernel.call for kernel in record.kernels if kernel.result == "ran"})
    gpus = ", ".join(dict.fromkeys(gpu.name for gpu in record.gpus))
    python = Version(record.host.python)
    asked = [canonicalize_name(text) for text in map(_name, record.lock.requests) if text]
    return ObservedSet(
        grade=Grade.RAN,
        source=f"a smoke record of a lock (sha256 {record.lock.sha256[:12]}) on {gpus}, driver "
        f"{record.host.driver or 'unknown'}: {', '.join(calls)}",
        date=record.date,
        cuda=CudaVersion.parse(cuda),
        archs=archs,
        machine=record.host.machine,
        python=f"{python.major}.{python.minor}",
        packages=packages,
        pins={canonicalize_name(each.name): Version(each.version) for each in record.packages},
        asked=(*(n for n in asked if n in packages), *(n for n in packages if n != TORCH)),
        channels=channels,
        digests={
            canonicalize_name(each.name): each.sha256
            for each in record.packages
            if canonicalize_name(each.name) in packages
        },
        notes=tuple(notes),
    )


def _name(requirement: str) -> str:
    """The name of ``torch==2.9.1``; empty where it is none."""
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        return Requirement(requirement).name
    except InvalidRequirement:
        return ""


def _is_proven(each: SmokePackageModel) -> bool:
    """Whether the file that ran is the lock's: by its version, else by the installer's word."""
    installed = parse_version(each.installed or "")
    return installed == Version(each.version) or each.archive_sha256 == each.sha256


def _failures(record: SmokeModel) -> Iterator[str]:
    for each in record.packages:
        if each.result in ("failed", "absent"):
            errors = [f"import {m.name}: {m.error}" for m in each.modules if m.error]
            if each.result == "absent":
                errors = [f"{each.installed or 'nothing'} is installed"]
            what = "; ".join(errors) or "a kernel of it failed"
            yield f"{each.name} {each.version} {each.result}: {what}"
    for kernel in record.kernels:
        if kernel.result not in ("ran", "skipped"):
            yield f"{kernel.call} on GPU {kernel.gpu} {kernel.result}: {kernel.error or 'no word'}"
