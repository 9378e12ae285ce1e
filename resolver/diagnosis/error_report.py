"""``abilock why --error``: a pasted text, the set it came from, its judgement and the cure."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from resolver.compat.gpu_name import find_gpu, gpus_in
from resolver.dataclass import dataclass, replace
from resolver.diagnosis.fault_explainer import FaultExplainer
from resolver.diagnosis.machine_error import local_cuda
from resolver.diagnosis.paste_parser import parse_paste
from resolver.errors import DamagedData, IndexFailure, UsageError
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.host.interpreter import Host
from resolver.lockfile.requirement_lines import find_left_out
from resolver.model.command import Command, Repeated
from resolver.model.cuda import CudaVersion
from resolver.model.knowledge import Knowledge
from resolver.model.options import TargetOptions
from resolver.model.outcome import Alternative, Change, Judgement
from resolver.model.pasted_error import ErrorReport, Explained, OldDriver, Paste, UnsupportedGpu
from resolver.model.plural import counted
from resolver.model.reason import Reason, rank_of
from resolver.model.stack import COMPILERS, TORCH
from resolver.model.stated import Stated
from resolver.model.target import Target
from resolver.model.version import pinned
from resolver.solve.command_line import resolve_command

_NOTHING = Repeated()
# Where the requirements of a set were stated that an error comes from.
INSTALLED = "installed"
# Of what was not judged, by name.
_NAMED_OUT = 4
_NO_MESSAGE = "the text holds no message that abilock knows"

# Judges a set on the machine of the error, or for another CUDA release there.
JudgeHere = Callable[[tuple[Stated, ...], CudaVersion | None], Judgement]


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The machine and the packages of an error, from options, the files and the text.

    ``listed`` says that a file lists what is installed: what it does not name is not there.
    """

    paste: Paste
    given: TargetOptions
    installed: Mapping[NormalizedName, Version]
    sources: tuple[str, ...]
    asks: tuple[str, ...]
    notes: tuple[str, ...] = ()
    listed: bool = False


def find_setting(
    base: KnowledgeBase,
    text: str,
    given: TargetOptions,
    stated: Iterable[Stated],
    freezes: Iterable[tuple[Path, str]],
) -> Setting:
    """Put together what is known of the machine.

    Raises UsageError where no fault is found, and no set and machine that could be judged instead.
    """
    known = base.facts
    paste = parse_paste(text, base.messages)
    installed = dict(paste.installed)
    sources = [f"versions in the text: {_list(installed)}"] if installed else []
    notes = list[str]()
    listed = False
    for path, content in freezes:
        found = parse_paste(content).installed
        listed = listed or bool(found)
        installed |= found
        sources.append(f"{counted(len(found), 'version')} in {path}")
        notes += find_left_out(str(path), content)
    for requirement, _ in stated:
        version = pinned(requirement.specifier)
        if version is not None:
            installed[canonicalize_name(requirement.name)] = version
    given, told = _fill(known, given, paste, installed, text)
    is_known = given.cuda is not None and (given.arch is not None or given.gpu is not None)
    # Without a message the set may tell what is wrong, where there is one to judge.
    if not paste.faults and not (is_known and TORCH in installed):
        raise UsageError(
            _NO_MESSAGE,
            hint="paste the whole traceback, with the line that says undefined symbol, cannot open "
            "shared object file, or no kernel image",
        )
    asks = []
    if given.cuda is None:
        asks.append("--cuda VERSION: the CUDA release of the machine")
    if given.arch is None and given.gpu is None:
        asks.append("--arch SM or --gpu NAME: the GPU")
    if TORCH not in installed and not listed:
        asks.append("-r freeze.txt (pip freeze > freeze.txt): what is installed")
    return Setting(
        paste=paste,
        given=given,
        installed=installed,
        sources=(*sources, *told),
        asks=tuple(asks),
        notes=tuple(notes),
        listed=listed,
    )


def _fill(
    known: Knowledge,
    given: TargetOptions,
    paste: Paste,
    installed: Mapping[NormalizedName, Version],
    text: str,
) -> tuple[TargetOptions, list[str]]:
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
        elif len(archs := tuple({gpu.arch for gpu in gpus_in(known.gpus, text)})) == 1:
            given = replace(given, arch=str(archs[0]))
            told.append(f"{archs[0]}, of the GPU that the text names")
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


# the answer


def explain(
    base: KnowledgeBase,
    setting: Setting,
    host: Host,
    judge_set: JudgeHere | None,
    repeated: Repeated = _NOTHING,
) -> tuple[ErrorReport, Judgement | None]:
    """Explain the faults, and judge the set where the machine is known.

    ``repeated`` are the options of the user that commands have too.
    """
    known = base.facts
    explainer = FaultExplainer(
        base,
        machine=setting.given.machine or host.machine,
        installed=setting.installed,
        gpu=setting.given.arch or setting.given.gpu,
    )
    faults = explainer.explain(setting.paste)
    notes = setting.notes
    if not faults:
        notes = (*notes, f"{_NO_MESSAGE}: the set alone was judged")
    vendor = vendor_of(setting.installed.get(TORCH))
    if vendor is not None and judge_set is not None:
        # No index has it: what is told has to keep it.
        notes = (
            *notes,
            f"torch {setting.installed[TORCH]} is {vendor}, which no index holds: the set was not "
            "judged. Keep that torch: build what failed against it with --no-build-isolation "
            "--no-deps, or take the vendor's own build",
        )
        judge_set = None
    wanted = _wanted(base, setting, faults)
    judgement: Judgement | None = None
    commands: tuple[Command, ...] = ()
    locks: tuple[str, ...] = ()
    if judge_set is not None and wanted:
        narrow = _wanted(base, setting, faults, wide=False)
        for tried in dict.fromkeys((wanted, narrow)):
            try:
                found = judge_set(tried, None)
                if found.verdict == "rejected":
                    trials = _other_builds(tried, faults, explainer)
                    found = _with_cures(found, trials, judge_set, repeated)
            except (IndexFailure, DamagedData) as error:
                if judgement is None and tried == narrow:
                    notes = (*notes, f"the set was not judged: {error}")
                continue
            # What is wrong with the wide set alone is its own; the narrow one may have a cure.
            if judgement is None or judgement.verdict == "unknown" or found.verdict == "rejected":
                judgement, wanted = found, tried
            if judgement.verdict == "accepted" or _cures(judgement):
                break
        older = _served(known, setting, judgement) if judgement is not None else None
        if older is not None:
            # Nothing but the driver speaks against it: what it does serve is the cure.
            wanted = _unpinned(wanted)
            try:
                judgement = judge_set(wanted, older)
            except (IndexFailure, DamagedData) as error:
                judgement, notes = None, (*notes, f"the set was not judged: {error}")
    if judgement is not None:
        # What failed was wanted: a set without it is no cure.
        reasons = _once(judgement.reasons)
        judgement = replace(judgement, reasons=reasons, alternatives=_cures(judgement))
        commands = tuple(alternative.command for alternative in judgement.alternatives[:1])
        if not all(requirement.specifier for requirement, _ in wanted):
            # Not what is installed was judged, but what could be: that is the cure's.
            if judgement.verdict == "accepted":
                commands = (_command(wanted, judgement.target, repeated),)
                locks = tuple(f"{p.extension} with {p.torch} ({p.grade})" for p in judgement.pairs)
            judgement = None
    judged = {canonicalize_name(requirement.name) for requirement, _ in wanted}
    return (
        ErrorReport(
            faults=faults,
            installed={
                name: version
                for name, version in sorted(setting.installed.items())
                if name in judged
            },
            sources=setting.sources,
            asks=setting.asks,
            commands=tuple(map(str, commands)),
            locks=locks,
            left_out=_left_out(setting, judged) if judgement is not None else (),
            notes=notes,
        ),
        judgement,
    )


def _cures(judgement: Judgement) -> tuple[Alternative, ...]:
    """The sets near a rejected one that solve, and leave nothing out."""
    return tuple(found for found in judgement.alternatives if not found.drops)


_VENDOR = (
    (re.compile(r"nv[\d.]+|nv_"), "NVIDIA's build of a container"),
    (re.compile(r"(l4t|jetson|jp\d|tegra)"), "NVIDIA's build for Jetson"),
    (re.compile(r"rocm"), "a build for AMD GPUs"),
    (re.compile(r"(xpu|cxx11\.abi)"), "a build for Intel GPUs"),
    (re.compile(r"git[0-9a-f]{6,}"), "a build of your own"),
)


def vendor_of(torch: Version | None) -> str | None:
    """Whose build of torch it is that no index holds, by its local version; None for others."""
    local = (torch.local if torch is not None else None) or ""
    return next((whose for pattern, whose in _VENDOR if pattern.match(local)), None)


def _left_out(setting: Setting, judged: Collection[NormalizedName]) -> tuple[str, ...]:
    """What is installed and was not judged: some names, and how many more."""
    rest = [f"{name} {v}" for name, v in sorted(setting.installed.items()) if name not in judged]
    more = len(rest) - _NAMED_OUT
    return (
        *rest[:_NAMED_OUT],
        *([f"{more} more, which hold nothing for the GPU or are unknown"] if more > 0 else []),
    )


def _wanted(
    base: KnowledgeBase, setting: Setting, faults: Collection[Explained], *, wide: bool = True
) -> tuple[Stated, ...]:
    """What is judged: torch, what failed, and all installed packages that live beside torch.

    So do those that pin it, as the servers of known tuples: a cure has to keep them. ``wide``
    takes in whatever is known to bring native modules.
    """
    known = base.facts
    native = {name for channel in known.channels for name in channel.projects} - COMPILERS
    native |= {name for known_tuple in known.tuples for name in known_tuple.packages} - COMPILERS
    if wide:
        native |= {name for owners in base.modules.values() for name in owners} - COMPILERS
        native |= {name for group in known.skews for name in group.projects}
    installed = setting.installed
    # What is not installed is asked for only where a channel or the database has it.
    subjects = dict.fromkeys(
        fault.subject
        for fault in faults
        if fault.subject is not None
        and (fault.subject in installed or (fault.place == "set" and fault.subject in native))
    )
    foreign = {name for r in known.recipes if r.index == "another" for name in r.projects}
    names = [TORCH, *(name for name in subjects if name != TORCH and name not in foreign)]
    names += sorted(
        name for name in installed if name in native and name not in names and name not in foreign
    )
    if TORCH not in installed:
        if names == [TORCH]:
            return ()
        if setting.listed and not any(f.exported_by or f.subject == TORCH for f in faults):
            names.remove(TORCH)  # a set without it, as its list says
    return tuple(
        Stated(
            Requirement(f"{name}=={installed[name]}" if name in installed else name),
            INSTALLED if name in installed else "the text",
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
    return tuple(Stated(Requirement(requirement.name), origin) for requirement, origin in wanted)


def _command(wanted: Iterable[Stated], target: Target, repeated: Repeated) -> Command:
    return resolve_command((str(requirement) for requirement, _ in wanted), target, repeated)


def _with_cures(
    judgement: Judgement,
    trials: Iterable[tuple[tuple[Stated, ...], Change]],
    judge_set: JudgeHere,
    repeated: Repeated,
) -> Judgement:
    """The judgement with its alternatives by how well they are known, the best first.

    Those of ``trials`` that solve here are alternatives too.
    """
    found = list(judgement.alternatives)
    for changed, change in trials:
        try:
            other = judge_set(changed, None)
        except (IndexFailure, DamagedData):
            continue  # it may be right, and is not told as a cure
        if other.verdict == "accepted":
            command = _command(changed, other.target, repeated)
            found.insert(
                0,
                Alternative(
                    changes=(change,), verdict="accepted", grade=other.grade, command=command
                ),
            )
    unique = {alternative.command: alternative for alternative in found}
    best = sorted(unique.values(), key=rank_of)
    return replace(judgement, alternatives=tuple(best))


def _other_builds(
    wanted: tuple[Stated, ...], faults: Iterable[Explained], explainer: FaultExplainer
) -> Iterator[tuple[tuple[Stated, ...], Change]]:
    """The set with the other C++ ABI's build of what failed, for faults of that."""
    for fault in faults:
        for index, (requirement, origin) in enumerate(wanted):
            name, version = canonicalize_name(requirement.name), pinned(requirement.specifier)
            if fault.symbol is None or name != fault.subject or version is None:
                continue
            other = explainer.other_build(fault.symbol, name)
            if other is not None:
                pin = Requirement(f"{name}=={other}")
                changed = (*wanted[:index], Stated(pin, origin), *wanted[index + 1 :])
                yield changed, Change(name=name, before=str(version), after=str(other))


def _once(reasons: Iterable[Reason]) -> tuple[Reason, ...]:
    """The reasons, of builds of one release that lack the same symbols the best known."""
    best: dict[object, Reason] = {}
    for number, reason in enumerate(reasons):
        key: object = number
        if reason.symbols:
            bare = (reason.subject.public, reason.object and reason.object.public)
            key = (reason.code, reason.severity, *bare, frozenset(reason.symbols))
        best[key] = min(best.get(key, reason), reason, key=rank_of)
    return tuple(best.values())
