"""Small environments on disk: dist-info by hand, shared objects byte by byte."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from resolver.abi.shared_object import read_shared_object
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.host.interpreter import Host
from resolver.load.environment import load_environment
from resolver.model.check_report import Report
from resolver.usecase.check_environment import simulate
from tests.abi.elf_builder import Elf

HOST = Host(python="3.12.1", free_threaded=False, machine="x86_64", glibc=(2, 36))


class World:
    """A virtual environment for Python 3.12 without an interpreter."""

    def __init__(self, prefix: Path, site: str = "lib/python3.12/site-packages") -> None:
        self.prefix = prefix
        self.site = prefix / site
        self.site.mkdir(parents=True)
        (prefix / "pyvenv.cfg").write_text("home = /nowhere\n")

    def install(
        self,
        name: str,
        version: str,
        files: Mapping[str, bytes] | None = None,
        *,
        requires: Iterable[str] = (),
    ) -> Path:
        """Write a package's files and records; the directory of its records."""
        rows = []
        for path, data in (files or {}).items():
            target = self.site / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
            rows.append(f"{path},sha256={digest},{len(data)}")
        info = self.site / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
        lines += [f"Requires-Dist: {line}" for line in requires]
        (info / "METADATA").write_text("\n".join(lines) + "\n\nText.\nName: not-a-field\n")
        (info / "RECORD").write_text("\n".join([*rows, f"{info.name}/RECORD,,"]) + "\n")
        return info

    def torch(self, version: str = "2.11.0", cuda: str = "13.0") -> None:
        """A torch of four libraries, with the CUDA libraries that it preloads first."""
        major = cuda.partition(".")[0]
        libraries = {
            "torch/lib/libtorch_global_deps.so": Elf(
                soname="libtorch_global_deps.so",
                needed=(f"libcudart.so.{major}",),
                runpath=f"$ORIGIN/../../nvidia/cu{major}/lib",
                versions=(),
            ),
            "torch/lib/libc10.so": elf("libc10.so", defined=("_ZN3c104workEv", "_ZN3c104restEj")),
            "torch/lib/libtorch.so": elf("libtorch.so", needed=("libc10.so",), runpath="$ORIGIN"),
            "torch/_C.cpython-312-x86_64-linux-gnu.so": elf(
                None, defined=("PyInit__C",), needed=("libtorch.so",), runpath="$ORIGIN/lib"
            ),
        }
        files = {path: each.build() for path, each in libraries.items()}
        files["torch/version.py"] = f"cuda: Optional[str] = '{cuda}'\n".encode()
        self.install("torch", version, files)
        preloaded = ("cublasLt", "cublas", "cudnn", "nvrtc", "nvrtc-builtins", "cudart")
        self.install(
            f"nvidia-cuda-cu{major}",
            cuda,
            {
                f"nvidia/cu{major}/lib/lib{name}.so.{major}": elf(f"lib{name}.so.{major}").build()
                for name in preloaded
            },
        )

    def check(self, **options: object) -> Report:
        """What the check says, without a cache."""
        values: dict[str, object] = {
            "cuda": None,
            "archs": (),
            "driver": None,
            "toolkit": None,
            "gpu": None,
            "cache": None,
            "environ": os.environ,
        }
        values |= options
        return simulate(
            KnowledgeBase(facts=values.pop("known", None)),  # type: ignore[arg-type]
            load_environment(self.prefix),
            values.pop("host", HOST),  # type: ignore[arg-type]
            **values,  # type: ignore[arg-type]
        )


def elf(
    soname: str | None,
    *,
    needed: Iterable[str] = (),
    defined: Iterable[str] = ("here",),
    undefined: Iterable[str] = (),
    runpath: str | None = None,
    versions: Iterable[tuple[str, str]] = (),
) -> Elf:
    """A library that needs nothing of the host unless said."""
    return Elf(
        soname=soname,
        needed=tuple(needed),
        defined=tuple(defined),
        undefined=tuple(undefined),
        runpath=runpath,
        versions=tuple(versions),
    )


def is_readable(path: Path) -> bool:
    """Whether the reader takes what the builder wrote."""
    return read_shared_object(path) is not None
