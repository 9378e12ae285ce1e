"""GPUs by the names people use."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from resolver.model.knowledge import Gpu
from resolver.model.pattern import later

_MAKERS = ("nvidia", "geforce", "tesla")


# Where people leave a space out: rtx5090, gtx1080ti, 4080super.
_GLUED = later(r"(?<=rtx|gtx|pro)(?=\d)|(?<=\d)(?=ti\b|super\b)")


def normalize_gpu_name(name: str) -> str:
    """A name without case, maker and punctuation: ``NVIDIA GeForce RTX-5090`` is ``rtx 5090``."""
    text = _GLUED.sub(" ", re.sub(r"[^a-z0-9]+", " ", name.lower()))
    return " ".join(word for word in text.split() if word not in _MAKERS)


def find_gpu(gpus: Iterable[Gpu], name: str) -> Gpu | None:
    """The GPU of this name.

    A driver's longer name counts when it begins with a known one and only says more (``NVIDIA
    H100 80GB HBM3``); the longest known name decides.
    """
    wanted = normalize_gpu_name(name)
    best: tuple[int, Gpu] | None = None
    for gpu in gpus:
        for known in map(normalize_gpu_name, gpu.names):
            if wanted == known or wanted.replace(" ", "") == known.replace(" ", ""):
                return gpu
            longer = wanted.startswith(f"{known} ") and not _is_other_model(wanted, known)
            if longer and (best is None or len(known) > best[0]):
                best = (len(known), gpu)
    return best[1] if best else None


# GPUs in running text: with the maker or the series before the number.
_MENTION = later(
    r"(?i)\b(?:RTX|GTX)[ -]?(?:PRO[ -]?|A)?\d{3,4}(?:[ -]?(?:Ti|Super|Ada|D))*\b"
    r"|\b(?:NVIDIA|Tesla)[ -][A-Z]{1,2}\d{1,3}\b"
)


def gpus_in(gpus: Iterable[Gpu], text: str) -> tuple[Gpu, ...]:
    """The known GPUs that a text names, each once. Cost: linear in the text."""
    names = dict.fromkeys(match[0] for match in _MENTION.finditer(text))
    known = tuple(gpus)
    found = (find_gpu(known, name) for name in names)
    return tuple({gpu.id: gpu for gpu in found if gpu is not None}.values())


def _is_other_model(wanted: str, known: str) -> bool:
    # "rtx 5070 super" is no "rtx 5070", while "h100 pcie" is an "h100".
    return wanted[len(known) :].split()[0] in {"ti", "super", "d", "ada"}


def nearest_gpu(gpus: Iterable[Gpu], name: str) -> tuple[Gpu, ...]:
    """Up to three GPUs whose names look like ``name``, the most alike first, for a hint.

    A name with another number or another word is another GPU, however alike it looks: it is not
    offered.
    """
    by_name: dict[str, Gpu] = {}
    numbers = _numbers(name)
    for gpu in gpus:
        for known in gpu.names:
            if _numbers(known) == numbers if numbers else _has_words(known, name):
                by_name.setdefault(normalize_gpu_name(known), gpu)
    close = difflib.get_close_matches(normalize_gpu_name(name), sorted(by_name), n=6, cutoff=0.6)
    return tuple(dict.fromkeys(by_name[match] for match in close))[:3]


def _has_words(known: str, name: str) -> bool:
    """Whether each word of ``name`` is in ``known``, but for a slip: no ``x`` is an ``xp``."""
    words = normalize_gpu_name(known).split()
    return all(
        difflib.get_close_matches(word, words, n=1, cutoff=0.75)
        for word in normalize_gpu_name(name).split()
    )


def _numbers(name: str) -> list[str]:
    return [word for word in normalize_gpu_name(name).split() if re.search(r"\d", word)]
