"""The picks of the site: what people install, on which machines, and what ``resolve`` says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Any

from packaging.utils import NormalizedName, canonicalize_name

from resolver.dataclass import dataclass
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.lockfile.requirements_txt import state
from resolver.model.cuda import Arch, CudaVersion
from resolver.model.knowledge import Knowledge
from resolver.model.options import TargetOptions
from resolver.model.reason import weakest
from resolver.model.site import Choice, Picker, Place
from resolver.model.stack import CURRENT_PYTHONS
from resolver.model.target import Target
from resolver.solve.request import Request
from resolver.usecase import resolve as usecase
from resolver.usecase.repeated import repeat
from resolver.usecase.session import Session
from resolver.usecase.target_options import make_target

# That of Ubuntu 22.04: what a machine has at least which runs these GPUs today.
GLIBC = "2.35"

_CHOICES = (
    ("torch",),
    ("torch", "torchvision", "torchaudio"),
    ("torch", "sgl-kernel", "flashinfer-python"),
    ("sglang",),
    ("vllm",),
    ("flashinfer-python",),
    ("flash-attn",),
    ("xformers",),
    ("torchao",),
    ("torchcodec",),
    ("bitsandbytes",),
)
# GPUs of today, and the machines that have them; all of Tegra's, and GB10, are Arm.
_PLACES = (
    *(("x86_64", number) for number in (75, 80, 86, 89, 90, 100, 120)),
    *(("aarch64", number) for number in (90, 121)),
)
_ARM_ONLY = frozenset({72, 87, 110, 121})
_ARM_TOO = frozenset({90, 100, 103})
_CUDAS = ("12.8", "13.0", "13.2")
# With "full": the oldest release that a torch of today is built for, and all after it.
_OLDEST = CudaVersion(12, 4)
# Of sets that are named where none was found.
_MOST_SETS = 3
# Of the reasons against a set; the command tells all.
_MOST_REASONS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Axes:
    """What is picked from. Every combination is one solve."""

    choices: tuple[Choice, ...]
    places: tuple[Place, ...]
    cudas: tuple[CudaVersion, ...]
    pythons: tuple[str, ...] = CURRENT_PYTHONS

    @property
    def rows(self) -> tuple[tuple[Place, CudaVersion, str], ...]:
        """Every machine that can be picked."""
        return tuple(product(self.places, self.cudas, self.pythons))

    def __len__(self) -> int:
        return len(self.choices) * len(self.rows)


def axes_of(known: Knowledge, *, full: bool = False) -> Axes:
    """The picks that a database can answer; ``full`` takes every GPU and CUDA release of it."""
    supplied = known.snapshot
    named = {canonicalize_name(n) for c in _CHOICES for n in c}
    channels = ("default", *(c.name for c in known.channels))
    held = {n for n in named if any(supplied.listing(c, n) is not None for c in channels)}
    choices = tuple(
        Choice(id="-".join(names), requirements=names)
        for names in _CHOICES
        if held.issuperset(map(canonicalize_name, names))
    )
    archs = {gpu.arch for gpu in known.gpus}
    cudas = sorted(known.cuda)
    if full:
        places = {
            Place(machine=machine, arch=arch)
            for arch in archs
            for machine in ("x86_64", "aarch64")
            if _may_be(machine, arch)
        }
        cudas = [cuda for cuda in cudas if cuda >= _OLDEST]
    else:
        places = {Place(machine=m, arch=a) for m, n in _PLACES for a in archs if a.number == n}
        cudas = [cuda for cuda in cudas if str(cuda) in _CUDAS]
    return Axes(
        choices=choices,
        places=tuple(sorted(places, key=lambda p: (p.machine != "x86_64", p.arch))),
        cudas=tuple(cudas),
    )


def _may_be(machine: str, arch: Arch) -> bool:
    if machine == "x86_64":
        return arch.number not in _ARM_ONLY
    return arch.number in _ARM_ONLY | _ARM_TOO


def answer_pick(
    session: Session, choice: Choice, place: Place, cuda: CudaVersion, python: str
) -> dict[str, Any]:
    """What ``resolve`` says of one pick, as ``part_of`` has it. Cost: some 0.1 s.

    Where that is no set, ``sets`` names generated ones for the machine, the newest first.
    """
    options = TargetOptions(
        cuda=str(cuda),
        arch=f"sm{place.arch.number}",
        python=python,
        machine=place.machine,
        glibc=GLIBC,
    )
    asked = state(choice.requirements)
    target = make_target(session.knowledge, options, session.world)
    answer = usecase.resolve(
        session,
        usecase.ResolveRequest(
            target=target,
            wish=Request(requirements=asked.stated, options=repeat(options, session.options)),
        ),
    )
    sets = [] if answer.solved else list(_sets_for(session.base, choice, target))[:_MOST_SETS]
    return {**part_of(answer), "sets": sets}


def _sets_for(base: KnowledgeBase, choice: Choice, target: Target) -> Iterator[list[str]]:
    """Sets of what is asked for that are good and serve a target: id, title and grade."""
    projects = set(projects_of(choice))
    for root in base.set_roots:
        if root.project in projects:
            for known in reversed(base.sets.of(root.id)):
                if known.verdict == "good" and known.serves(target):
                    yield [known.id, f"{known.release} with CUDA {known.cuda}", str(known.grade)]


def part_of(answer: usecase.ResolveResult) -> dict[str, Any]:
    """What the site shows of the document of ``resolve``: no target, no addresses, no hashes.

    ``grade`` is the weakest of the set's pairs, None where it has none.
    """
    document = answer.to_json()
    conflict = document["conflict"]
    reasons = [] if conflict is None else conflict["tree"]["reasons"]
    return {
        "verdict": document["verdict"],
        "grade": str(weakest(pair.grade for pair in answer.pairs)) if answer.pairs else None,
        "packages": [
            [package["name"], package["version"], package["channel"], package["origin"]]
            for package in document["packages"]
        ],
        "pairs": [
            {**row, "summary": pair.summary}
            for row, pair in zip(document["pairs"], answer.pairs, strict=True)
        ],
        "tuple": document["tuple"],
        "reasons": document["reasons"],
        "notes": list(dict.fromkeys(document["notes"])),
        "requests": [] if conflict is None else conflict["tree"]["requests"],
        "against": reasons[:_MOST_REASONS],
        "more": max(0, len(reasons) - _MOST_REASONS),
        "relaxations": [
            [text, command and command.replace(" --offline", "")]
            for text, command in zip(
                document["relaxations"], document["relaxation_commands"], strict=True
            )
        ],
        "newer": [[each["release"], each["why"]] for each in document["passed_over"]],
    }


def cell_of(place: Place, cuda: CudaVersion, python: str) -> str:
    """The key of a machine among the cells: ``x86_64 sm_90 13.0 3.12``."""
    return f"{place.machine} {place.arch} {cuda} {python}"


def gather(axes: Axes, answers: Iterable[tuple[str, str, Mapping[str, Any]]]) -> Picker:
    """The picker of the answers of all picks: a choice's id, the cell, and what is said of it."""
    from json import dumps

    number: dict[str, int] = {}
    kept: list[Mapping[str, Any]] = []
    cells: dict[str, dict[str, int]] = {choice.id: {} for choice in axes.choices}
    for choice, cell, answer in answers:
        text = dumps(answer, sort_keys=True)
        if text not in number:
            number[text] = len(kept)
            kept.append(answer)
        cells[choice][cell] = number[text]
    return Picker(
        choices=axes.choices,
        places=axes.places,
        cudas=axes.cudas,
        pythons=axes.pythons,
        glibc=GLIBC,
        answers=tuple(kept),
        cells=cells,
    )


def projects_of(choice: Choice) -> tuple[NormalizedName, ...]:
    """The projects that are asked for."""
    return tuple(canonicalize_name(name) for name in choice.requirements)
