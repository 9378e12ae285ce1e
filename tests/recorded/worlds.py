"""What the requests run in: small environments on disk, wheels in files, a server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.abi.elf_builder import Elf
from tests.support.server import Server, serve
from tests.support.wheels import BuiltWheel, build_wheel

_EXTENSION = "cp312-cp312-manylinux_2_17_x86_64"


def wheels() -> list[BuiltWheel]:
    """The projects of the server."""
    return [
        build_wheel("app", "1.0", requires=["lib>=1"]),
        build_wheel("app", "2.0", requires=["lib>=3", "gone"]),
        build_wheel("lib", "1.0"),
        build_wheel("lib", "2.0", requires=["side; python_version < '3.13'"]),
        build_wheel("lib", "3.0", requires_python=">=3.14"),
        build_wheel("side", "1.0"),
        build_wheel("pure", "1.0"),
        build_wheel(
            "ext", "1.0", tag=_EXTENSION, files={"ext/_C.cpython-312-x86_64-linux-gnu.so": _c()}
        ),
    ]


@contextmanager
def index(*, html: bool) -> Iterator[Server]:
    """The wheels on a server, with pages of one kind."""
    with serve() as server:
        by_name: dict[str, list[BuiltWheel]] = {}
        for wheel in wheels():
            by_name.setdefault(wheel.filename.split("-")[0], []).append(wheel)
        for name, files in by_name.items():
            server.project(name, files)
            if html:
                links = "".join(
                    f'<a href="../../files/{each.filename}#sha256={each.sha256}">{each.filename}'
                    "</a>\n"
                    for each in files
                )
                server.html(f"/simple/{name}/", f"<!DOCTYPE html><html><body>{links}")
        yield server


def build_environments(root: Path) -> None:
    """One directory for each of ``asked.ENVIRONMENTS``."""
    for name in ("sound", "broken", "leftover", "collision"):
        _torch(root / name)
    _prefix(root / "empty")
    extension = "ext/_C.cpython-312-x86_64-linux-gnu.so"
    _install(root / "sound", "ext", "1.0", {extension: _c(needed=("libc10.so",))})
    broken = {
        extension: _c(needed=("libc10.so", "libodd.so.9")),
        "ext/_D.abi3.so": _c(needed=("libc10.so",), undefined=("_ZN3c104missEv",)),
    }
    _install(root / "broken", "ext", "1.0", broken, requires=("absent>=1",))
    older = {"nvidia/cuda_nvrtc/lib/libnvrtc.so.12": _library("libnvrtc.so.12")}
    _install(root / "leftover", "nvidia-cuda-nvrtc-cu12", "12.8.93", older)
    _install(root / "leftover", "ext", "1.0", {extension: _c(needed=("libnvrtc.so.13",))})
    for number in "12", "13":
        nccl = {"nvidia/nccl/lib/libnccl.so.2": _library("libnccl.so.2", (f"nccl{number}",))}
        _install(root / "collision", f"nvidia-nccl-cu{number}", "2.29.3", nccl)


def _prefix(prefix: Path) -> Path:
    site = prefix / "lib/python3.12/site-packages"
    if not site.is_dir():
        site.mkdir(parents=True)
        (prefix / "pyvenv.cfg").write_text("home = /nowhere\n")
    return site


def _install(
    prefix: Path,
    name: str,
    version: str,
    files: Mapping[str, bytes],
    *,
    requires: Iterable[str] = (),
) -> None:
    site = _prefix(prefix)
    rows = []
    for path, data in files.items():
        place = site / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
        rows.append(f"{path},,{len(data)}")
    info = site / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    lines += [f"Requires-Dist: {line}" for line in requires]
    (info / "METADATA").write_text("\n".join(lines) + "\n\n")
    (info / "RECORD").write_text("\n".join([*rows, f"{info.name}/RECORD,,"]) + "\n")


def _torch(prefix: Path) -> None:
    files = {
        "torch/lib/libtorch_global_deps.so": Elf(
            soname="libtorch_global_deps.so",
            needed=("libcudart.so.13",),
            runpath="$ORIGIN/../../nvidia/cu13/lib",
            versions=(),
        ).build(),
        "torch/lib/libc10.so": _library("libc10.so", ("_ZN3c104workEv", "_ZN3c104restEj")),
        "torch/lib/libtorch.so": _library("libtorch.so", needed=("libc10.so",)),
        "torch/_C.cpython-312-x86_64-linux-gnu.so": Elf(
            defined=("PyInit__C",), needed=("libtorch.so",), runpath="$ORIGIN/lib", versions=()
        ).build(),
        "torch/version.py": b"cuda: Optional[str] = '13.0'\n",
    }
    _install(prefix, "torch", "2.11.0", files)
    preloaded = ("cublasLt", "cublas", "cudnn", "nvrtc", "nvrtc-builtins", "cudart")
    cuda = {f"nvidia/cu13/lib/lib{name}.so.13": _library(f"lib{name}.so.13") for name in preloaded}
    _install(prefix, "nvidia-cuda-cu13", "13.0", cuda)


def _library(soname: str, defined: Iterable[str] = ("here",), needed: Iterable[str] = ()) -> bytes:
    return Elf(
        soname=soname,
        defined=tuple(defined),
        needed=tuple(needed),
        runpath="$ORIGIN",
        versions=(),
    ).build()


def _c(needed: Iterable[str] = (), undefined: Iterable[str] = ()) -> bytes:
    return Elf(needed=tuple(needed), undefined=tuple(undefined), versions=()).build()
