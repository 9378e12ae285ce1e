"""``abilock why --error``: a pasted text, the set it came from, its judgement and the cure."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from resolver.cli.fault import TORCH, FaultExplainer
from resolver.cli.fault_host import local_cuda
from resolver.cli.host import Host
from resolver.cli.requirement import Stated
from resolver.compat.gpu import find_gpu
from resolver.compat.load import knowledge_path
from resolver.errors import DamagedData, IndexFailure, UsageError
from resolver.explain.paste import parse_paste
from resolver.model.cuda import CudaVersion
from resolver.model.fault import ErrorReport, Explained, OldDriver, Paste, UnsupportedGpu
from resolver.model.knowledge import Knowledge
from resolver.model.outcome import Judgement
from resolver.model.target import Target

_NEVER = frozenset(map(canonicalize_name, ("triton", "pytorch-triton")))
# Much more than any log with a traceback; a core file is no text.
_MAX_TEXT = 16 << 20


# Judges a set on the machine of the error, or for another CUDA release there.
JudgeHere = Callable[[tuple[Stated, ...], CudaVersion | None], Judgement]


@dataclass(frozen=True, kw_only=True)
class Given:
    """What the command line says of the machine, None where it says nothing."""

    cuda: str | None
    arch: str | None
    gpu: str | None
    python: str | None
    machine: str | None
    driver: str | None


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The machine and the packages of an error, from options, the files and the text."""

    paste: Paste
    given: Given
    installed: Mapping[NormalizedName, Version]
    sources: tuple[str, ...]
    asks: tuple[str, ...]


def read_text(name: str) -> str:
    """The text of a file, or of stdin for ``-``. Raises UsageError."""
    try:
        data = sys.stdin.buffer.read(_MAX_TEXT) if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise UsageError(
            f"cannot read {name}: {(error.strerror or str(error)).lower()}",
            hint="name a file that holds the error, or - to paste it",
        ) from error
    return data[:_MAX_TEXT].decode("utf-8", errors="replace")


def find_setting(
    known: Knowledge,
    text: str,
    given: Given,
    stated: Iterable[Stated],
    freezes: Iterable[tuple[Path, str]],
) -> Setting:
    """Put together what is known of the machine. Raises UsageError where no fault is found."""
    paste = parse_paste(text)
    if not paste.faults:
        raise UsageError(
            "the text holds no message that abilock knows",
            hint="paste the whole traceback, with the line that says undefined symbol, cannot open "
            "shared object file, or no kernel image",
        )
    installed = dict(paste.installed)
    sources = [f"versions in the text: {_list(installed)}"] if installed else []
    for path, content in freezes:
        found = parse_paste(content).installed
        installed |= found
        sources.append(f"{len(found)} versions in {path}")
    for requirement, _ in stated:
        version = _exact(requirement)
        if version is not None:
            installed[canonicalize_name(requirement.name)] = version
    given, told = _fill(known, given, paste, installed)
    asks = []
    if given.cuda is None:
        asks.append("--cuda VERSION: the CUDA release of the machine")
    if given.arch is None and given.gpu is None:
        asks.append("--arch SM or --gpu NAME: the GPU")
    if TORCH not in installed:
        asks.append("-r freeze.txt (pip freeze > freeze.txt): what is installed")
    return Setting(
        paste=paste,
        given=given,
        installed=installed,
        sources=(*sources, *told),
        asks=tuple(asks),
    )


def _fill(
    known: Knowledge, given: Given, paste: Paste, installed: Mapping[NormalizedName, Version]
) -> tuple[Given, list[str]]:
    """Options that the text answers, with the words for where."""
    told = []
    if given.cuda is None:
        local = local_cuda(installed)
        if local is not None:
            given, word = replace(given, cuda=str(local[0])), local[1]
            told.append(f"CUDA {local[0]}, by {word}")
        elif paste.cuda is not None:
            given = replace(given, cuda=str(paste.cuda))
            told.append(f"CUDA {paste.cuda}, in the text")
    if given.arch is None and given.gpu is None:
        named = next((f.gpu for f in paste.faults if isinstance(f, UnsupportedGpu)), None)
        gpu = find_gpu(known.gpus, named) if named else None
        archs = paste.archs or ((gpu.arch,) if gpu else ())
        if archs:
            given = replace(given, arch=",".join(map(str, archs)))
            told.append(f"{', '.join(map(str, archs))}, in the text")
    if given.python is None and paste.python is not None:
        given = replace(given, python=paste.python)
        told.append(f"Python {paste.python}, in the text")
    if given.machine is None and paste.machine is not None:
        given = replace(given, machine=paste.machine)
    if given.driver is None and paste.driver is not None:
        given = replace(given, driver=str(paste.driver))
    return given, told


def _list(installed: Mapping[NormalizedName, Version]) -> str:
    shown = [f"{name} {version}" for name, version in sorted(installed.items())]
    return ", ".join(shown[:4]) + (f" and {len(shown) - 4} more" if shown[4:] else "")


def _exact(requirement: Requirement) -> Version | None:
    for clause in requirement.specifier:
        if clause.operator == "==" and not clause.version.endswith(".*"):
            return Version(clause.version)
    return None


# the answer


def explain(
    known: Knowledge,
    setting: Setting,
    host: Host,
    judge_set: JudgeHere | None,
    repeated: tuple[str, ...] = (),
) -> tuple[ErrorReport, Judgement | None]:
    """Explain the faults, and judge the set where the machine is known.

    ``repeated`` are the options of the machine that commands have too.
    """
    explainer = FaultExplainer(
        known,
        knowledge_path() / "abi",
        machine=setting.given.machine or host.machine,
        installed=setting.installed,
    )
    faults = explainer.explain(setting.paste)
    wanted = _wanted(known, setting, faults)
    judgement: Judgement | None = None
    commands: tuple[str, ...] = ()
    locks: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    if judge_set is not None and wanted:
        try:
            judgement = judge_set(wanted, None)
            older = _served(known, setting, judgement)
            if older is not None:
                # Nothing but the driver speaks against it: what it does serve is the cure.
                judgement = judge_set(free := _unpinned(wanted), older)
                wanted = free
        except (IndexFailure, DamagedData) as error:
            notes = (f"the set was not judged: {error}",)
    if judgement is not None:
        commands = tuple(alternative.command for alternative in judgement.alternatives[:1])
        if not all(requirement.specifier for requirement, _ in wanted):
            # Not what is installed was judged, but what could be: that is the cure's.
            if judgement.verdict == "accepted":
                commands = (_command(wanted, judgement.target, repeated),)
                locks = tuple(f"{p.extension} with {p.torch} ({p.grade})" for p in judgement.pairs)
            judgement = None
    if not commands and (cure := _open_command(faults, wanted, setting, repeated)):
        commands = (cure,)
    return (
        ErrorReport(
            faults=faults,
            installed={
                name: version
                for name, version in sorted(setting.installed.items())
                if name in {canonicalize_name(r.name) for r, _ in wanted}
            },
            sources=setting.sources,
            asks=setting.asks,
            commands=commands,
            locks=locks,
            notes=notes,
        ),
        judgement,
    )


def _wanted(known: Knowledge, setting: Setting, faults: Iterable[Explained]) -> tuple[Stated, ...]:
    """What is judged: torch, what failed, and all installed packages that live beside torch."""
    native = {name for channel in known.channels for name in channel.projects} - _NEVER
    installed = setting.installed
    subjects = dict.fromkeys(fault.subject for fault in faults if fault.subject is not None)
    names = [TORCH, *(name for name in subjects if name != TORCH)]
    names += sorted(name for name in installed if name in native and name not in names)
    if names == [TORCH] and TORCH not in installed:
        return ()
    return tuple(
        (
            Requirement(f"{name}=={installed[name]}" if name in installed else name),
            "installed" if name in installed else "the text",
        )
        for name in names
    )


def _served(known: Knowledge, setting: Setting, judgement: Judgement) -> CudaVersion | None:
    """The CUDA release that the driver serves, where the set fits and the driver alone does not."""
    served = next((f.serves for f in setting.paste.faults if isinstance(f, OldDriver)), None)
    if judgement.verdict != "accepted" or served is None or served not in known.cuda:
        return None
    return served if served != judgement.target.cuda else None


def _unpinned(wanted: tuple[Stated, ...]) -> tuple[Stated, ...]:
    return tuple((Requirement(requirement.name), origin) for requirement, origin in wanted)


def _command(wanted: Iterable[Stated], target: Target, repeated: tuple[str, ...]) -> str:
    arch = ",".join(str(a).replace("_", "") for a in target.archs)
    quoted = " ".join(_quoted(str(requirement)) for requirement, _ in wanted)
    return " ".join(
        ["abilock resolve", quoted, f"--cuda {target.cuda}", f"--arch {arch}", *repeated]
    )


def _quoted(text: str) -> str:
    return text if text.replace("-", "").replace("_", "").isalnum() else f"'{text}'"


def _open_command(
    faults: Iterable[Explained],
    wanted: tuple[Stated, ...],
    setting: Setting,
    repeated: tuple[str, ...],
) -> str | None:
    """The command that cures, with blanks for what is not known of the machine."""
    symbol = next((f for f in faults if f.exported_by and f.subject != TORCH), None)
    if symbol is None or symbol.subject is None:
        return None
    pins = [str(r) for r, _ in wanted if canonicalize_name(r.name) == symbol.subject]
    works = [text.partition("link with ")[2] for label, text in symbol.facts if label == "wheels"]
    span = works[0] if works else symbol.exported_by or ""
    torch = "torch" if " or " in span else span.replace("torch ", "torch")
    given = setting.given
    arch = (given.arch or "SM").replace("_", "")
    where = [f"--cuda {given.cuda or 'VERSION'}", f"--arch {arch}", *repeated]
    return " ".join(["abilock resolve", *map(_quoted, [torch, *pins]), *where])
