"""Builds the symbol history from torch's wheels.

torch's libraries went through patchelf, which moved their string tables to the end: each is read
once as a whole, and nothing but the exported names in torch's namespaces is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor

from packaging.utils import parse_wheel_filename

from resolver.abi.history import BuildFile, History, TorchBuild, digest_of
from resolver.abi.symbol import may_be_torchs
from resolver.abi.wheel import native_entries, probe_member
from resolver.dataclass import replace
from resolver.model.cuda import CudaVersion
from resolver.wheelfile.byte_source import ByteSource
from resolver.wheelfile.member_stream import read_member
from resolver.wheelfile.wheel_errors import DamagedWheel
from resolver.wheelfile.zip_directory import read_directory

_LIBRARIES = "torch/lib/"
_VERSION_FILE = "torch/version.py"
# The Python that has a wheel of every release since 2.2.
_REFERENCE = "-cp312-cp312-"
_CHECK_FAIL = "_ZN3c106detail14torchCheckFail"
_CUDA = re.compile(r"^cuda(?:\s*:[^=]*)?\s*=\s*['\"]([\d.]+)['\"]", re.MULTILINE)


def read_torch_wheel(
    source: ByteSource, *, filename: str, sha256: str, workers: int = 4
) -> tuple[TorchBuild, dict[str, str]]:
    """The column of one torch wheel, and the names it exports, each with its library.

    Cost: reads ``torch/lib`` whole, some 500 to 900 MB, and writes its largest library to a
    temporary file. Raises DamagedWheel, and what the source raises.
    """
    entries = [entry for entry in native_entries(source) if entry.path.startswith(_LIBRARIES)]
    if not entries:
        raise DamagedWheel(f"{filename}: has no libraries in {_LIBRARIES}")
    with ThreadPoolExecutor(workers) as pool:
        members = list(pool.map(lambda entry: probe_member(source, entry, full=False), entries))
    # Where two libraries export one name, the first by name is recorded.
    exports = {
        name: member.path.removeprefix(_LIBRARIES)
        for member in sorted(members, key=lambda member: member.path, reverse=True)
        if member.facts is not None
        for name in member.facts.defined
        if may_be_torchs(name)
    }
    _name, version, _build, tags = parse_wheel_filename(filename)
    machine = next(iter(tags)).platform.rsplit("linux", 1)[-1].split("_", 1)[-1]
    machine = "aarch64" if machine.endswith("aarch64") else "x86_64"
    build = TorchBuild(
        version=version,
        machine=machine,
        cuda=_read_cuda(source),
        cxx11_abi=has_cxx11_abi(exports),
        files=(BuildFile(filename=filename, sha256=sha256, size=source.size),),
        symbols=len(exports),
        digest=digest_of(exports),
    )
    return build, exports


def has_cxx11_abi(names: Iterable[str]) -> bool:
    """Whether torch was built with the new ``std::string``.

    Some symbols carry it in every build. The function behind TORCH_CHECK tells: it takes a string
    by reference, ``RKSs`` in a build with the old one.
    """
    return any(name.startswith(_CHECK_FAIL) and "__cxx11" in name for name in names)


def extend_history(
    history: History | None, columns: Iterable[tuple[TorchBuild, Mapping[str, str]]]
) -> History:
    """Add columns; the others stay as they are.

    A wheel that exports what the known column of its release and machine exports becomes another
    file of that column. One that exports something else (wheels for other Pythons differ by a
    handful of names in libtorch_python, up to 2.7) is left out, and inherits as inferred; but the
    wheel for CPython 3.12 always decides. The order of adding makes no difference to the columns.
    """
    known: dict[tuple[str, str], tuple[TorchBuild, Mapping[str, str]]] = {}
    if history is not None:
        for index, build in enumerate(history.builds):
            known[_key(build)] = (build, history.exports(index))
    for build, exports in columns:
        key = _key(build)
        if key not in known:
            known[key] = (build, exports)
            continue
        other, names = known[key]
        if other.digest == build.digest:
            files = tuple(sorted({*other.files, *build.files}))
            known[key] = (replace(other, files=files), names)
        elif _is_reference(build) and not _is_reference(other):
            known[key] = (build, exports)
    return History.from_columns(known.values())


def _key(build: TorchBuild) -> tuple[str, str]:
    return (str(build.version), build.machine)


def _is_reference(build: TorchBuild) -> bool:
    return any(_REFERENCE in file.filename for file in build.files)


def _read_cuda(source: ByteSource) -> CudaVersion | None:
    for entry in read_directory(source):
        if entry.path == _VERSION_FILE:
            text = read_member(source, entry, limit=1 << 20).decode("utf-8", "replace")
            match = _CUDA.search(text)
            return CudaVersion.parse(match[1]) if match else None
    return None
