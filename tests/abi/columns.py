"""A small symbol history, and wheels that need its symbols."""

from __future__ import annotations

from collections.abc import Mapping

from packaging.version import Version

from resolver.abi.elf import ElfFacts
from resolver.abi.history import BuildFile, History, TorchBuild, digest_of
from resolver.abi.wheel import Member, WheelFacts
from resolver.model.cuda import CudaVersion

CHECK_INT = "_ZN3c104cuda29c10_cuda_check_implementationEiPKcS2_ib"
CHECK_UNSIGNED = "_ZN3c104cuda29c10_cuda_check_implementationEiPKcS2_jb"
CLONE = "_ZNK2at6Tensor5cloneEv"
SYM_NE = "_ZNK3c106SymInt16sym_ne_slow_pathERKS0_"
DELETE = "aoti_torch_delete_tensor_object"

EXPORTS = {
    "2.6.0": {CLONE: "libtorch_cpu.so", CHECK_INT: "libc10_cuda.so"},
    "2.8.0": {CLONE: "libtorch_cpu.so", CHECK_INT: "libc10_cuda.so"},
    "2.9.0": {CLONE: "libtorch_cpu.so", CHECK_INT: "libc10_cuda.so", SYM_NE: "libc10.so"},
    "2.9.1": {CLONE: "libtorch_cpu.so", CHECK_INT: "libc10_cuda.so", SYM_NE: "libc10.so"},
    "2.10.0": {
        CLONE: "libtorch_cpu.so",
        CHECK_UNSIGNED: "libc10_cuda.so",
        SYM_NE: "libc10.so",
        DELETE: "libtorch_cpu.so",
    },
}
CUDA = {"2.6.0": "12.4", "2.8.0": "12.8", "2.9.0": "12.8", "2.9.1": "12.8", "2.10.0": "12.8"}


def column(
    version: str, exports: Mapping[str, str], *, machine: str = "x86_64", python: str = "cp312"
) -> tuple[TorchBuild, Mapping[str, str]]:
    filename = f"torch-{version}-{python}-{python}-manylinux_2_28_{machine}.whl"
    digest = digest_of([filename])
    build = TorchBuild(
        version=Version(version),
        machine=machine,
        cuda=CudaVersion.parse(CUDA[version]),
        cxx11_abi=version != "2.6.0",
        files=(BuildFile(filename=filename, sha256=digest, size=1),),
        symbols=len(exports),
        digest=digest_of(exports),
    )
    return build, exports


def small_history() -> History:
    return History.from_columns(column(version, names) for version, names in EXPORTS.items())


def wheel(
    members: Mapping[str, tuple[list[str], list[str]]],
    *,
    filename: str = "demo-1.0-cp312-cp312-manylinux_2_28_x86_64.whl",
) -> WheelFacts:
    """A wheel whose members need and define symbols: path to (undefined, defined)."""
    return WheelFacts(
        filename=filename,
        sha256="5" * 64,
        size=1000,
        bytes_read=10,
        depth="symbols",
        members=tuple(
            Member(
                path=path,
                crc32=number,
                size=100,
                facts=ElfFacts(
                    machine="x86_64",
                    needed=("libtorch.so",),
                    undefined=frozenset(undefined),
                    defined=frozenset(defined),
                    versions=(
                        ("libc.so.6", "GLIBC_2.2.5"),
                        ("libc.so.6", "GLIBC_2.17"),
                        ("libstdc++.so.6", "GLIBCXX_3.4.21"),
                        ("libstdc++.so.6", "CXXABI_1.3.9"),
                    ),
                ),
            )
            for number, (path, (undefined, defined)) in enumerate(sorted(members.items()))
        ),
    )
