"""``abilock knowledge learn ENV|LOCK|RECORD`` and ``forget``: known-good sets of one's own.

A set is one file of ``tuples/``, in a directory that adds to what ships: this machine uses it from
then on, and it is what one proposes for everybody.
"""

from __future__ import annotations

import datetime
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import tomli_w
from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from resolver.compat.load_facts import PINS_SUFFIX, knowledge_path
from resolver.compat.snapshot_record import render_pins
from resolver.dataclass import dataclass
from resolver.errors import DiskFailure, KnowledgeError, UsageError
from resolver.files import read_text, replace_file
from resolver.load.distribution import Distribution
from resolver.model.options import EACH_FORK, LockOptions, TargetOptions
from resolver.model.reason import Grade
from resolver.model.stack import TORCH
from resolver.usecase.observed_set import ObservedSet, RefusedSet, observe_set
from resolver.usecase.open_knowledge import own_directories, own_directory
from resolver.usecase.session import Session
from resolver.usecase.validate_knowledge import validate_knowledge

# Of several packages that somebody may have asked for, the one that a set is for.
_ANCHORS = tuple(
    map(canonicalize_name, ("sglang", "vllm", "sglang-kernel", "sgl-kernel", "flashinfer-python"))
)
_SLUG = re.compile(r"[a-z0-9][a-z0-9._+-]*")
_NAMES = "abilock knowledge list tuple names them all"


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedSet:
    """A set that is recorded in ``file``; ``state`` says whether it was before."""

    id: str
    file: Path
    grade: Grade
    packages: tuple[str, ...]
    target: str
    state: Literal["recorded", "kept"]


def learn_set(
    session: Session,
    place: Path,
    options: TargetOptions,
    *,
    choice: LockOptions = EACH_FORK,
    anchor: str | None = None,
    id_: str | None = None,
    replace: bool = False,
    directory: Path | None = None,
    on_package: Callable[[Distribution], None] = lambda _: None,
) -> LearnedSet | RefusedSet:
    """Record what is at ``place`` as a known-good set, if it is one.

    It is written into ``directory``, else the user's own. Raises as ``observe_set`` does,
    UsageError for a set of that id that is another unless ``replace`` is said, KnowledgeError for
    one that does not validate, and DiskFailure. Nothing is written then.
    """
    if id_ is not None and not _SLUG.fullmatch(id_):
        raise UsageError(f"--id {id_!r} is none", hint="use small letters, digits, and . _ + -")
    found = observe_set(session, place, options, choice, on_package)
    if isinstance(found, RefusedSet):
        return found
    chosen = _anchor(found, anchor)
    packages = {**found.packages, chosen: found.packages.get(chosen, found.pins[chosen])}
    name = id_ or _id(found, chosen)
    file = (directory or _own(session)) / "tuples" / f"{name}.toml"
    contents = {
        file: _render(found, chosen, packages, name),
        file.with_name(f"{name}{PINS_SUFFIX}"): render_pins(
            name,
            [Requirement(f"{n}=={v}") for n, v in sorted({**found.pins, **packages}.items())],
            origin="what was installed or locked, as it was found; no index was asked",
        ),
    }
    state: Literal["recorded", "kept"] = "recorded"
    if file.exists() and _holds(contents):
        state = "kept"
    elif file.exists() and not replace:
        raise UsageError(
            f"{file} is there, and says something else",
            hint="give another --id, or --replace to write it anew",
        )
    else:
        _validate(session, contents)
        _write(contents)
    archs = ", ".join(map(str, found.archs)) or "any GPU"
    return LearnedSet(
        id=name,
        file=file,
        grade=found.grade,
        packages=tuple(f"{n}=={v}" for n, v in sorted(packages.items())),
        target=f"CUDA {found.cuda}, {archs}, Python {found.python}, {found.machine}",
        state=state,
    )


def forget_set(session: Session, id_: str, directory: Path | None = None) -> tuple[Path, ...]:
    """Remove a set from ``directory``, else from the user's own; gives the files that are gone.

    Raises UsageError where there is none of that id, and DiskFailure.
    """
    if not _SLUG.fullmatch(id_):
        raise UsageError(f"no set has the id {id_!r}", hint=_NAMES)
    world = session.world
    places = [directory] if directory else own_directories(world.environ, world.data_dir)
    files = [
        file
        for place in places
        for file in (place / "tuples" / f"{id_}.toml", place / "tuples" / f"{id_}{PINS_SUFFIX}")
        if file.exists()
    ]
    if not files and (knowledge_path() / "tuples" / f"{id_}.toml").exists():
        raise UsageError(
            f"{id_} ships with abilock, and cannot be forgotten",
            hint="--prefer newest and --no-tuples pass over sets, and a set of your own with this "
            "id replaces it",
        )
    if not files:
        raise UsageError(f"no set of your own has the id {id_!r}", hint=_NAMES)
    for file in files:
        try:
            file.unlink()
        except OSError as error:
            raise DiskFailure(f"{file} cannot be removed: {error.strerror or error}") from error
    return tuple(files)


def _own(session: Session) -> Path:
    """The directory of one's own that counts most; it need not be there yet."""
    world = session.world
    found = own_directories(world.environ, world.data_dir)
    return found[-1] if found else own_directory(world.data_dir)


def _anchor(found: ObservedSet, said: str | None) -> NormalizedName:
    """The package that who wants the set asks for. Raises UsageError."""
    if said is not None:
        name = canonicalize_name(said)
        if name not in found.pins:
            raise UsageError(
                f"--anchor {said!r} is not in the set",
                hint=f"name one of {', '.join(sorted(found.packages))}",
            )
        return name
    others = [name for name in dict.fromkeys(found.asked) if name in found.pins and name != TORCH]
    known = [name for name in _ANCHORS if name in others]
    if len(others) > 1 and not known:
        raise UsageError(
            f"it is not known what the set is for: {', '.join(others)}",
            hint="say --anchor NAME: who asks for that package gets the set",
        )
    return next(iter([*known, *others]), TORCH)


def _id(found: ObservedSet, anchor: NormalizedName) -> str:
    archs = (str(arch).replace("_", "") for arch in found.archs)
    python = f"py{found.python.replace('.', '')}"
    parts = [anchor, found.pins[anchor].public, found.cuda.tag, *archs, python, found.machine]
    return f"own-{'-'.join(parts)}".lower().replace("!", "_")


def _render(
    found: ObservedSet,
    anchor: NormalizedName,
    packages: Mapping[NormalizedName, Version],
    id_: str,
) -> str:
    day = datetime.date.fromisoformat(found.date)
    torch = packages.get(TORCH)
    beside = "" if anchor == TORCH or torch is None else f" with torch {torch}"
    on = f" on {', '.join(map(str, found.archs))}" if found.archs else ""
    document: dict[str, Any] = {
        "id": id_,
        "title": f"{anchor} {packages[anchor]}{beside}, CUDA {found.cuda}{on}",
        "verdict": "good",
        "grade": found.grade.value,
        "source": found.source,
        "date": day,
        "anchor": anchor,
        "exclude-newer": day,
        "cuda": [str(found.cuda)],
        "archs": list(map(str, found.archs)),
        "machines": [found.machine],
        "python": f"=={found.python}.*",
        "notes": list(found.notes),
        "packages": {name: str(version) for name, version in sorted(packages.items())},
        "channels": {
            name: channel for name, channel in sorted(found.channels.items()) if name in packages
        },
        "sha256": {
            name: digest for name, digest in sorted(found.digests.items()) if name in packages
        },
    }
    return tomli_w.dumps({key: value for key, value in document.items() if value not in ([], {})})


def _validate(session: Session, contents: Mapping[Path, str]) -> None:
    """Raises KnowledgeError where a set of these files would be none."""
    with tempfile.TemporaryDirectory(prefix="abilock-") as place:
        tuples = Path(place) / "tuples"
        tuples.mkdir()
        for path, text in contents.items():
            (tuples / path.name).write_text(text, encoding="utf-8")
        problems = validate_knowledge(Path(place), session.base.root)
    if problems:
        raise KnowledgeError(
            f"the set would not be valid: {problems[0].what}", hint=problems[0].remedy
        )


def _holds(contents: Mapping[Path, str]) -> bool:
    """Whether the files say the same already, but for the day."""
    try:
        return all(_undated(read_text(path)) == _undated(text) for path, text in contents.items())
    except (OSError, ValueError):
        return False


def _undated(text: str) -> Sequence[str]:
    return [line for line in text.splitlines() if not line.startswith(("date =", "exclude-newer"))]


def _write(contents: Mapping[Path, str]) -> None:
    """Put each file in its place as a whole, the set before its pins. Raises DiskFailure."""
    for path, text in contents.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, text.encode())
        except OSError as error:
            raise DiskFailure(
                f"{path} cannot be written: {(error.strerror or str(error)).lower()}",
                hint="name another directory with --knowledge",
            ) from error
