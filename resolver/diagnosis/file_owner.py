"""Whose a file or a module is: by the names that projects are known to bring."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterator, Mapping

from packaging.utils import NormalizedName, canonicalize_name

from resolver.model.stack import TORCH

Modules = Mapping[str, tuple[NormalizedName, ...]]

_TORCH = re.compile(r"lib(torch|c10)(_(cpu|cuda|python|global_deps)\w*)?")
_COMPANION = re.compile(r"lib(torch(?:vision|audio|codec|text))")
# What a library carries for a CUDA release, a torch or a release of its own.
_SUFFIX = re.compile(r"(-[0-9a-f]{8}|(_?(cuda|core|torch|pybind_ops))?_?\d{1,3})$")


def stem_of(file: str) -> str:
    """The name of a file as people say it: ``awq_ext`` of ``/x/awq_ext.cpython-312.so``."""
    return file.replace("\\", "/").rsplit("/", 1)[-1].split(".")[0]


def owners_of(
    file: str, modules: Modules, known: Collection[NormalizedName]
) -> tuple[NormalizedName, ...]:
    """The projects that a file may belong to, by its path; empty where nobody knows.

    A name that is in no table counts where it is one of ``known``: the project may be anything.
    """
    return tuple(dict.fromkeys(_owners(file.replace("\\", "/"), modules, known)))


def _owners(
    file: str, modules: Modules, known: Collection[NormalizedName]
) -> Iterator[NormalizedName]:
    file = posixpath.normpath(file)
    _, site, inside = file.rpartition("-packages/")
    top = inside.split("/")[0].split(".")[0] if site else ""
    if top == "nvidia":
        return
    stem = stem_of(file)
    for name in (stem, _SUFFIX.sub("", stem)):
        yield from modules.get(name, ())
    if _TORCH.fullmatch(stem):
        yield TORCH
    elif companion := _COMPANION.match(stem):
        yield canonicalize_name(companion[1])
    above = file.split("/")[-2:-1] if not site and "/" in file else []
    for name in (top, stem, *above):
        if re.fullmatch(r"[A-Za-z]\w*", name):
            yield from modules.get(name, ())
            if (project := canonicalize_name(name)) in known:
                yield project


def owners_of_module(
    module: str, modules: Modules, known: Collection[NormalizedName]
) -> tuple[NormalizedName, ...]:
    """The projects that bring a module, by its dotted name; empty where nobody knows."""
    parts = module.split(".")
    found = [*modules.get(parts[-1], ()), *modules.get(parts[0], ())]
    if (project := canonicalize_name(parts[0])) in known:
        found.append(project)
    return tuple(dict.fromkeys(found))
