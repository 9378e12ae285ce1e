"""Real environments: wheels swapped in and out of one environment a torch, imported and checked.

``python -m tests.load.pairs DIRECTORY`` prints the table of ``docs/check.md``. It needs 12 GB below
DIRECTORY, the public index, gcc, and no GPU.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from resolver.abi.shared_object import read_shared_object
from resolver.abi.symbol import is_torch_symbol
from tests.load.stub import build_stub

UV = Path(sys.executable).with_name("uv")
TORCHES = ("2.9.1", "2.11.0")
# What the packages import beside torch; none of it has to do with CUDA.
COMPANIONS = ("numpy", "pillow", "packaging", "setuptools", "einops")
IMPORTS = {
    "sgl-kernel": "sgl_kernel",
    "sglang-kernel": "sgl_kernel",
    "xformers": "xformers.ops",  # what the package is used for; xformers itself loads nothing
}
WHEELS = (
    "torchvision==0.24.1",
    "torchvision==0.25.0",
    "torchvision==0.26.0",
    "torchaudio==2.9.1",
    "torchaudio==2.11.0",
    "torchaudio==2.11.1",
    "torchcodec==0.9.1",
    "torchcodec==0.11.1",
    "torchcodec==0.17.0",
    "torchao==0.9.0",
    "torchao==0.14.1",
    "torchao==0.18.0",
    "xformers==0.0.33.post2",
    "xformers==0.0.35",
    "sgl-kernel==0.3.17",
    "sgl-kernel==0.3.21",
    "sglang-kernel==0.4.1.post1",
    "sglang-kernel==0.4.4",
    "sglang-kernel==0.4.6.post1",
)


@dataclass(kw_only=True)
class Pair:
    """One wheel beside one torch: what happened, and what the check said."""

    torch: str
    wheel: str
    imports: bool
    error: str
    verdict: str
    findings: list[dict[str, Any]] = field(default_factory=list)
    symbols: dict[str, tuple[set[str], set[str]]] = field(default_factory=dict)

    @property
    def same_symbols(self) -> bool:
        """Whether check and ``ldd -r`` miss the same symbols, member by member."""
        return all(ours == theirs for ours, theirs in self.symbols.values())

    @property
    def agrees(self) -> bool:
        """Whether the verdict is what happened, and the symbols are the same.

        A package whose Python asks torch's Python for a name that is not there loads, and fails all
        the same: no library has to do with it.
        """
        loads = self.imports or "cannot import name" in self.error
        return (self.verdict != "broken") == loads and self.same_symbols


def run(*command: object, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*map(str, command)], capture_output=True, text=True, **options)


class RealEnvironment:
    """A virtual environment with one torch and its companions."""

    def __init__(self, directory: Path, torch: str) -> None:
        self.torch = torch
        self.prefix = directory / f"torch-{torch}"
        self.stub = directory / f"stub-{torch}"
        self._options = {
            "env": {**os.environ, "UV_CACHE_DIR": str(directory / "cache")},
            "check": True,
        }
        if not (self.prefix / "bin" / "python").exists():
            run(UV, "venv", "-q", "-p", sys.executable, self.prefix, **self._options)
        self.install(f"torch=={torch}", *COMPANIONS, deps=True)
        self.stub.mkdir(exist_ok=True)

    def install(self, *names: str, deps: bool = False) -> None:
        flags = () if deps else ("--no-deps",)
        run(UV, "pip", "install", "-q", "-p", self.prefix, *flags, *names, **self._options)

    def remove(self, *names: str) -> None:
        bare = [name.partition("==")[0] for name in names]
        run(UV, "pip", "uninstall", "-q", "-p", self.prefix, *bare, **self._options)

    @property
    def site(self) -> Path:
        return next(self.prefix.glob("lib/python3.*/site-packages"))

    def natives(self, wheel: str) -> list[Path]:
        """The shared objects of an installed wheel."""
        stem = wheel.partition("==")[0].replace("-", "_")
        record = next(self.site.glob(f"{stem}-*.dist-info/RECORD")).read_text()
        names = [line.split(",")[0] for line in record.splitlines()]
        return [self.site / name for name in names if name.endswith(".so")]

    def try_import(self, module: str) -> tuple[bool, str]:
        """Import under a stub of the driver that has what is installed now."""
        objects = [path for path in self.site.rglob("*.so*") if path.is_file()]
        build_stub(self.stub, objects)
        done = run(
            self.prefix / "bin" / "python",
            "-W",
            "ignore",
            "-c",
            f"import torch; import {module}",
            env={"LD_LIBRARY_PATH": str(self.stub), "PATH": os.environ["PATH"]},
            cwd="/",
        )
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        return done.returncode == 0, lines[-1] if lines else ""

    def check(self) -> dict[str, Any]:
        """What abilock says, with the stub on the path as in the import."""
        done = run(
            Path(sys.executable).with_name("abilock"),
            "check",
            self.prefix,
            "--format",
            "json",
            env={**os.environ, "LD_LIBRARY_PATH": str(self.stub)},
        )
        document: dict[str, Any] = json.loads(done.stdout)
        return document

    def ldd(self, path: Path) -> set[str]:
        """The undefined symbols of torch that ``ldd -r`` prints."""
        places = [self.stub, self.site / "torch/lib", *sorted(self.site.glob("nvidia/*/lib"))]
        done = run("ldd", "-r", path, env={"LD_LIBRARY_PATH": ":".join(map(str, places))})
        found = set()
        for line in (done.stdout + done.stderr).splitlines():
            if line.startswith("undefined symbol: "):
                name = line.split()[2].rstrip(",")
                if is_torch_symbol(name):
                    found.add(name)
        return found


def defined(path: Path) -> frozenset[str]:
    """What a shared object defines."""
    facts = read_shared_object(path)
    return facts.plain if facts is not None else frozenset()


def pair(environment: RealEnvironment, wheel: str) -> Pair:
    """Install one wheel, try it, check it, remove it."""
    project = wheel.partition("==")[0]
    environment.install(wheel)
    try:
        imports, error = environment.try_import(IMPORTS.get(project, project))
        document = environment.check()
        about = [f for f in document["findings"] if f["subject"].startswith(f"{project} ")]
        # What a library of the wheel itself defines that did not load: no symbol of torch.
        natives = environment.natives(wheel)
        own = {name for path in natives for name in defined(path)}
        symbols: dict[str, tuple[set[str], set[str]]] = {}
        if document["verdict"] == "ok":
            symbols |= {path.name: (set(), environment.ldd(path) - own) for path in natives}
        for finding in about:
            if finding["code"] == "missing-symbol" and finding["member"]:
                member = environment.site / finding["member"]
                if not member.exists():  # a finding about torch itself
                    continue
                theirs = environment.ldd(member) - own
                ours = {name for name in finding["symbols"] if is_torch_symbol(name)}
                symbols[finding["member"]] = (ours, theirs)
        return Pair(
            torch=environment.torch,
            wheel=wheel,
            imports=imports,
            error=error,
            verdict=document["verdict"],
            findings=about,
            symbols=symbols,
        )
    finally:
        environment.remove(wheel)


def pairs(environment: RealEnvironment, wheels: Sequence[str] = WHEELS) -> Iterator[Pair]:
    for wheel in wheels:
        yield pair(environment, wheel)


def main() -> None:
    directory = Path(sys.argv[1])
    for torch in TORCHES:
        environment = RealEnvironment(directory, torch)
        for row in pairs(environment):
            codes = ", ".join(dict.fromkeys(f["code"] for f in row.findings)) or "-"
            happened = "imports" if row.imports else row.error[:100]
            counts = ", ".join(f"{len(a)}/{len(b)}" for a, b in row.symbols.values()) or "-"
            mark = "yes" if row.agrees else "NO"
            cells = (row.torch, row.wheel, happened, row.verdict, codes, counts, mark)
            sys.stdout.write("| " + " | ".join(cells) + " |\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
