"""Builds the history of NVIDIA's libraries from their wheels."""

from __future__ import annotations

import re
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from posixpath import basename

from packaging.utils import parse_wheel_filename

from resolver.abi.history import BuildFile
from resolver.abi.provider import (
    Exports,
    ProviderHistory,
    ProviderLibrary,
    ProviderWheel,
    version_name,
)
from resolver.abi.wheel import Member, native_entries, probe_member
from resolver.wheelfile.byte_source import ByteSource

# What cuDNN opens itself, by name: nobody links with it, and it is most of the wheel.
_INTERNAL = re.compile(r"libcudnn_engines_.*|libnvrtc-builtins.*|.*\.alt\.so.*|lib.*_static.*")
_MACHINE = re.compile(r"_(x86_64|aarch64)$")


def read_provider_wheel(
    source: ByteSource, *, filename: str, sha256: str, most: int, workers: int = 4
) -> tuple[ProviderWheel, dict[str, frozenset[str]]]:
    """The column of one wheel, and what each of its libraries exports, by path.

    Cost: the leading bytes of each library; of those that patchelf rewrote all, up to ``most``
    compressed bytes a library. Raises DamagedWheel, and what the source raises.
    """
    entries = native_entries(source)
    if entries:
        with ThreadPoolExecutor(min(workers, len(entries))) as pool:
            members = list(
                pool.map(
                    lambda entry: probe_member(
                        source,
                        entry,
                        full=False,
                        most=0 if _INTERNAL.fullmatch(basename(entry.path)) else most,
                    ),
                    entries,
                )
            )
    else:
        members = []
    name, version, _build, tags = parse_wheel_filename(filename)
    platform = next(iter(tags)).platform
    machine = match[1] if (match := _MACHINE.search(platform)) else platform
    wheel = ProviderWheel(
        project=name,
        version=version,
        machine=machine,
        file=BuildFile(filename=filename, sha256=sha256, size=source.size),
        libraries=tuple(sorted(map(_library, members))),
    )
    exports = {member.path: _exports(member) for member in members if member.facts is not None}
    return wheel, exports


def _library(member: Member) -> ProviderLibrary:
    facts = member.facts
    if facts is None:
        return ProviderLibrary(path=member.path, soname=basename(member.path), is_read=False)
    return ProviderLibrary(
        path=member.path,
        soname=facts.soname or basename(member.path),
        needed=facts.needed,
        runpath=(*facts.rpath, *facts.runpath),
    )


def _exports(member: Member) -> frozenset[str]:
    if member.facts is None:
        return frozenset()
    names = frozenset(name for name in member.facts.defined if is_interface(name))
    return names | frozenset(map(version_name, member.facts.offers))


def is_interface(name: str) -> bool:
    """Whether somebody may link with a name: these libraries have C interfaces.

    C++ names that some leak (cuSPARSELt 0.7.1 exports 90,000) are nobody's to use.
    """
    return not name.startswith("_Z")


def extend_providers(
    history: ProviderHistory, columns: Iterable[tuple[ProviderWheel, Exports]]
) -> ProviderHistory:
    """Add columns; one of a file that is known replaces what was known of it."""
    known: dict[str, tuple[ProviderWheel, Exports]] = {
        wheel.file.sha256: (wheel, history.exports(wheel)) for wheel in history.wheels
    }
    known.update({wheel.file.sha256: (wheel, exports) for wheel, exports in columns})
    return ProviderHistory.from_columns(known.values())
