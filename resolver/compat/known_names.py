"""Names and versions that the database holds, read off its files without parsing them.

For completion in a shell, where whoever presses a key waits: some milliseconds. What the loader
makes of the files is the truth, and the tests compare.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

_NUMBERS = re.compile(r"\d+|[^\d.]+")
_GPU = re.compile(r'(?m)^names = \[\s*"([^"]+)"')
_ID = re.compile(r'(?m)^id = "([^"]+)"')
_MAKER = re.compile(r"^(nvidia|geforce|tesla) ")
_ARCH = re.compile(r'"(sm_\d+)[af]?"')
_CUDA = re.compile(r'(?m)^version = "([^"]+)"')


def database() -> Path | None:
    """The directory of the database: inside an installed package, or beside it in a checkout."""
    package = Path(__file__).resolve().parent.parent
    places = (package / "_knowledge", package.parent / "knowledge")
    return next((place for place in places if place.is_dir()), None)


def known_projects(roots: Sequence[Path]) -> list[str]:
    """Every project of which a file was recorded or read, sorted."""
    listed = {path.name.split(".")[1] for path in _files(roots, "snapshot", "*.jsonl")}
    read = {path.name.partition(".")[0] for path in _files(roots, "abi/wheels", "*.jsonl.xz")}
    return sorted(listed | read)


def known_versions(roots: Sequence[Path], project: str) -> list[str]:
    """The versions of a project that were recorded or read, or are in a set, newest first."""
    found: set[str] = set()
    for path in _files(roots, "snapshot", f"*.{project}.jsonl"):
        found.update(re.findall(r'"version":"([^"]+)"', _text(path)))
    in_set = re.compile(
        rf'"(?:project":"{re.escape(project)}",.*?"version|{re.escape(project)})":"(\d[^"]*)"'
    )
    for path in _files(roots, "sets", "*.jsonl"):
        found.update(in_set.findall(_text(path)))
    name = re.escape(project.replace("-", "_"))
    for path in _files(roots, "abi/wheels", f"{project}.jsonl.xz"):
        found.update(re.findall(rf'"filename":"{name}-([^-"]+)-', _unpacked(path)))
    if project == "torch":
        for path in _files(roots, "abi", "torch_builds.json"):
            found.update(re.findall(r'"version": "([^"]+)"', _text(path)))
    return sorted(found, key=_order, reverse=True)


def known_gpus(roots: Sequence[Path]) -> list[tuple[str, str]]:
    """Each GPU as a word for a shell, with its name: ``rtx-5090``, ``GeForce RTX 5090``."""
    names = [name for text in _texts(roots, "gpus.toml") for name in _GPU.findall(text)]
    return [(re.sub(r"[^a-z0-9]+", "-", _MAKER.sub("", name.lower())), name) for name in names]


def known_cuda(roots: Sequence[Path]) -> list[str]:
    """The CUDA releases, newest first."""
    found = {version for text in _texts(roots, "cuda.toml") for version in _CUDA.findall(text)}
    return sorted(found, key=_order, reverse=True)


def known_archs(roots: Sequence[Path]) -> list[str]:
    """The GPU architectures that a CUDA release makes code for, newest first."""
    found = {arch for text in _texts(roots, "cuda.toml") for arch in _ARCH.findall(text)}
    return [arch.replace("_", "") for arch in sorted(found, key=_order, reverse=True)]


def known_channels(roots: Sequence[Path]) -> list[str]:
    """The built-in channels."""
    return [name for text in _texts(roots, "channels.toml") for name in _ID.findall(text)]


def known_sets(roots: Sequence[Path]) -> list[str]:
    """The ids of the curated tuples, good and bad."""
    paths = _files(roots, "tuples", "*.toml")
    return sorted({found for path in paths for found in _ID.findall(_text(path))[:1]})


def known_measured(roots: Sequence[Path]) -> list[str]:
    """The ids of the generated sets."""
    paths = _files(roots, "sets", "*.jsonl")
    return sorted({each for path in paths for each in re.findall(r'"id":"([^"]+)"', _text(path))})


def _order(version: str) -> tuple[tuple[int, int, str], ...]:
    """Versions as people order them: numbers by size, words (rc, dev) before no word."""
    public, _, local = version.partition("+")
    parts = [
        (1, int(part), "") if part.isdecimal() else (2 if part == "post" else 0, 0, part)
        for part in _NUMBERS.findall(public)
    ]
    return (*parts, (1, 0, ""), (1, 0, local))


def _files(roots: Iterable[Path], directory: str, pattern: str) -> Iterator[Path]:
    for root in roots:
        yield from (root / directory).glob(pattern)


def _texts(roots: Iterable[Path], name: str) -> Iterator[str]:
    return (_text(root / name) for root in roots)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeError):
        return ""


def _unpacked(path: Path) -> str:
    import lzma

    try:
        return lzma.decompress(path.read_bytes(), memlimit=256 << 20).decode()
    except (OSError, UnicodeError, lzma.LZMAError):
        return ""
