"""Pins of a closure solved for several machines, as requirements with the fewest markers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from packaging.requirements import Requirement
from packaging.utils import NormalizedName
from packaging.version import Version

Cell = tuple[str, str]  # Python (3.12) and machine (x86_64)


def merge_pins(
    closures: Mapping[Cell, Mapping[NormalizedName, Version]],
) -> tuple[Requirement, ...]:
    """One requirement for each version that the closures hold of a project, sorted.

    A version that holds wherever its project occurs has no marker, since a pin asks for nothing.
    """
    found: dict[NormalizedName, dict[Version, set[Cell]]] = defaultdict(lambda: defaultdict(set))
    for cell, closure in closures.items():
        for name, version in closure.items():
            found[name][version].add(cell)
    pins = []
    for name in sorted(found):
        versions = found[name]
        cells = {cell for held in versions.values() for cell in held}
        for version in sorted(versions):
            marker = "" if len(versions) == 1 else _marker(versions[version], cells)
            pins.append(Requirement(f"{name}=={version}" + (f" ; {marker}" if marker else "")))
    return tuple(pins)


def _marker(held: set[Cell], cells: set[Cell]) -> str:
    machines = sorted({machine for _, machine in held})
    parts = []
    by_python: dict[frozenset[str], list[str]] = defaultdict(list)
    for machine in machines:
        pythons = frozenset(python for python, m in held if m == machine)
        by_python[pythons].append(machine)
    for pythons, of in sorted(by_python.items(), key=lambda item: item[1]):
        everywhere = {python for python, machine in cells if machine in of}
        texts = []
        if pythons != everywhere:
            texts.append(_pythons(pythons, everywhere))
        if set(of) != {machine for _, machine in cells}:
            texts.append(_any(f'platform_machine == "{machine}"' for machine in of))
        parts.append(" and ".join(texts))
    return " or ".join(f"({part})" for part in parts) if len(parts) > 1 else parts[0]


def _pythons(held: frozenset[str], cells: set[str]) -> str:
    ordered = sorted(cells, key=Version)
    chosen = [python in held for python in ordered]
    count = chosen.count(True)
    if all(chosen[:count]):
        return f'python_version < "{ordered[count]}"'
    if all(chosen[-count:]):
        return f'python_version >= "{ordered[-count]}"'
    return _any(f'python_version == "{python}"' for python in ordered if python in held)


def _any(texts: Iterable[str]) -> str:
    listed = list(texts)
    return listed[0] if len(listed) == 1 else "(" + " or ".join(listed) + ")"
