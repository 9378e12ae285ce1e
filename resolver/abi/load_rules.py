"""How a package loads its native members: curated, since the bytes do not say it.

Without a rule a member's name may tell: an extension module of another Python and a library that
was grafted into ``NAME.libs`` are never loaded by themselves, and a torch release in the name of a
member selects it. Else it counts as required; and it says that nobody curated it.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import NamedTuple

from packaging.utils import parse_wheel_filename
from packaging.version import Version

from resolver.dataclass import dataclass, replace
from resolver.model.cuda import Arch, CudaVersion
from resolver.model.load_knowledge import LoadKind, LoadRule
from resolver.model.pattern import Pattern, later
from resolver.model.release import Release, Subject

_ABI = later(r"cp(\d+t?)")
# PEP 3149, and the forms that setuptools and nanobind write.
_TAGGED = later(r"\.(?:cpython-|cp)(\d+t?)(?:-[^.]*)?\.so$")
# auditwheel and delocate put there what other members need.
_GRAFTED = later(r"(?:^|/)[^/]+\.libs(?:/|$)")
# _C_torch212.so, libfoo-torch2.9.so, ops_pt210.so; ep_2_11_0.cpython-312-x86_64-linux-gnu.so.
_OF_TORCH = later(
    r"(?:torch[._-]?|(?<=[._-])pt|^(?!lib).*_(?=2_\d+_\d))(?P<major>2)[._]?(?P<minor>\d{1,2})"
    r"(?:[._]\d)?(?=[._-])"
)
_READ = date(2026, 11, 30)
_NEVER = LoadRule(
    id="",
    projects=(),
    pattern=Pattern(""),
    load="never",
    source="the member's name",
    date=_READ,
)
_OPENED = LoadRule(
    id="",
    projects=(),
    pattern=Pattern(""),
    load="optional",
    source="no module, and it registers no operator; nobody has read when the package opens it",
    date=_READ,
)
_BY_TORCH = LoadRule(
    id="",
    projects=(),
    pattern=Pattern(""),
    load="selected-by",
    by="torch",
    optional=True,
    source="the members' names; nobody has read how the package loads them",
    date=_READ,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberLoad:
    """How one member is loaded: the rule that says it, and the alternative it belongs to.

    ``guessed`` says that nobody read it: the member's name does.
    """

    rule: LoadRule | None = None
    choice: str = ""
    guessed: bool = False

    @property
    def curated(self) -> bool:
        """Whether somebody read how the package loads this member."""
        return self.rule is not None and not self.guessed

    @property
    def kind(self) -> LoadKind:
        """How it is loaded; required where nobody looked."""
        return self.rule.load if self.rule else "required"

    @property
    def optional(self) -> bool:
        """Whether the package imports without it."""
        return self.rule is not None and (self.rule.load == "optional" or self.rule.optional)

    def __str__(self) -> str:
        """``required``, ``optional``, ``never``, ``one-of:ffmpeg``, ``selected-by:gpu``."""
        if self.rule is None or self.rule.load in ("required", "optional", "never"):
            return self.kind
        suffix = self.rule.group if self.rule.load == "one-of" else self.rule.by
        return f"{self.rule.load}:{suffix}"


class Unserved(NamedTuple):
    """A group none of whose members is the one that torch chooses.

    ``choice`` is what that member would be named, ``members`` are the paths and choices that are
    there.
    """

    rule: LoadRule
    choice: str
    members: tuple[tuple[str, str], ...]


# Of a member that Python opens by its name, when and if it does.
OPENED = MemberLoad(rule=_OPENED, guessed=True)


def choice_for_gpu(rule: LoadRule, arch: Arch) -> str:
    """Which alternative of a group selected by GPU is loaded on ``arch``."""
    return rule.gpu.get(arch.capability, rule.otherwise)


def choice_for_torch(version: Version) -> str:
    """How a member selected by torch names a release: ``211`` for 2.11.0."""
    return f"{version.major}{version.minor}"


def choices_for_torch(version: Version) -> tuple[str, ...]:
    """How members selected by torch may name a release: ``2_12_1`` in full, or ``212``."""
    return (f"{version.major}_{version.minor}_{version.micro}", choice_for_torch(version))


def choices_of(rule: LoadRule, torch: Version, cuda: CudaVersion | None) -> tuple[str, ...]:
    """The names of the alternative of a group that is loaded beside a torch built with ``cuda``.

    ``212`` for torch 2.12; ``128`` for CUDA 12.8, or ``12`` by its major; ``cpu`` for none.
    """
    if rule.by == "torch":
        return choices_for_torch(torch)
    if cuda is None:
        return ("cpu",)
    return (f"{cuda.major}" if rule.by == "cuda-major" else f"{cuda.major}{cuda.minor}",)


def find_load(
    rules: Iterable[LoadRule], release: Subject, path: str, python: str | None = None
) -> MemberLoad:
    """The load rule of one member of a release; the first that matches counts.

    ``python`` is the interpreter that is meant, such as ``312``; None where any may be.
    """
    version = release.version if isinstance(release, Release) else None
    if not isinstance(version, Version):
        return MemberLoad()
    for rule in rules:
        if release.name not in rule.projects:
            continue
        if rule.versions is not None and not rule.versions.contains(version, prereleases=True):
            continue
        if match := rule.pattern.fullmatch(path):
            return MemberLoad(rule=rule, choice=match.groupdict().get("choice") or "")
    return _guess(path, python)


def by_torch(rule: LoadRule) -> bool:
    """Whether torch chooses: by its release, or by the CUDA it was built with."""
    return rule.by is not None and rule.by != "gpu"


def unserved(
    loads: Iterable[tuple[str, MemberLoad]], torch: Version, cuda: CudaVersion | None
) -> tuple[Unserved, ...]:
    """Groups none of whose members is for a torch release, or for the CUDA it was built with.

    ``cuda`` is None where it is not known.
    """
    groups: dict[tuple[str, str], list[tuple[str, MemberLoad]]] = {}
    for path, load in loads:
        if load.rule is not None and by_torch(load.rule):
            groups.setdefault((str(load.rule.by), load.rule.group), []).append((path, load))
    found = []
    for key in sorted(groups):
        members = groups[key]
        rule = members[0][1].rule
        if rule is None or (rule.by != "torch" and cuda is None):
            continue
        if rule.torch is not None and not rule.torch.contains(torch, prereleases=True):
            continue
        choices = choices_of(rule, torch, cuda)
        if all(load.choice not in choices for _path, load in members):
            in_full = len(choices) > 1 and any("_" in load.choice for _path, load in members)
            choice = choices[0] if in_full else choices[-1]
            found.append(
                Unserved(rule, choice, tuple((path, load.choice) for path, load in members))
            )
    return tuple(found)


def _guess(path: str, python: str | None) -> MemberLoad:
    """What a member's path says of how it is loaded."""
    directory, _, name = path.rpartition("/")
    if _GRAFTED.search(directory):
        return MemberLoad(rule=_NEVER, guessed=True)
    if python is not None and (tag := _TAGGED.search(name)) and tag[1] != python:
        return MemberLoad(rule=_NEVER, guessed=True)
    if match := _OF_TORCH.search(name):
        choice = f"{match['major']}{match['minor']}"
        stem = path[: len(path) - len(name) + match.start("major")].removesuffix("torch")
        return MemberLoad(
            rule=replace(_BY_TORCH, group=stem.strip("._-")), choice=choice, guessed=True
        )
    return MemberLoad()


def python_of(filename: str) -> str | None:
    """The only interpreter whose ABI a wheel is for: ``312``, ``313t``; None for the stable ABI."""
    try:
        tags = parse_wheel_filename(filename)[3]
    except ValueError:  # InvalidWheelFilename, or a number that is too long
        return None
    abis = {tag.abi for tag in tags}
    match = _ABI.fullmatch(abis.pop()) if len(abis) == 1 else None
    return None if match is None else match[1]
