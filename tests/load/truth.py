"""What importing really comes to: one fresh environment a case, recorded as facts.

``imports.txt`` names the cases, ``imports.json`` says what happened; ``ask.py`` builds what is not
there yet and holds abilock to it. A case needs the public index, gcc, up to 20 GB and no GPU.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from packaging.utils import canonicalize_name

from resolver.abi.shared_object import read_shared_object
from tests.load.stub import is_driver_name, write_stub

HERE = Path(__file__).parent
CASES = HERE / "imports.txt"
FACTS = HERE / "imports.json"
UV = Path(sys.executable).with_name("uv")
PYTHON = "3.12"  # uv finds it on PATH
# What torch asks for at run time and some packages ask for without saying so.
COMPANIONS = ("numpy", "packaging", "setuptools<82")

Chosen = Literal["resolver", "override", "no-deps"]
Kind = Literal["ok", "load", "system", "guard", "crash", "python"]

# How the dynamic linker puts it, also where Python wraps it in words of its own.
_LOADER = re.compile(
    r"\S+: cannot open shared object file.*|.*undefined symbol: \S+|.*version `\S+' not found.*"
    r"|operator \S+ does not exist|Could not load .*library.*"
)
_OPENED = re.compile(r"(lib[\w.+-]+\.so[\w.]*): cannot open shared object file")
_GUARD = re.compile(
    r"(?i)(cuda|torch|pytorch).*(version|compiled|built).*(mismatch|with|match)"
    r"|version .*does not match"
)
# Of the machine and of no wheel.
SYSTEM = re.compile(r"lib(ibverbs|numa|rdmacm|mlx5|efa|mpi|av\w+|sw\w+|cufile|nl|z|GL|EGL|X).*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Wheels beside a torch, and the Python that tells whether they work.

    ``feature``: the package imports without, and the code asks for more than the import.
    """

    torch: str
    wheels: tuple[str, ...]
    code: str
    feature: bool = False

    def __str__(self) -> str:
        return f"torch=={self.torch} {' '.join(self.wheels)}: {self.code}"

    @property
    def key(self) -> tuple[str, tuple[str, ...], str]:
        return self.torch, self.wheels, self.code


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """What happened. ``error`` is the last line that Python printed, ``detail`` the loader's own.

    ``chosen`` says who put the set together: uv as it would for a user, uv told to override what
    contradicts the case, or nobody. ``pins`` is everything that was installed.
    """

    torch: str
    wheels: tuple[str, ...]
    code: str
    feature: bool
    python: str
    chosen: Chosen
    kind: Kind
    error: str
    detail: str
    date: str
    pins: Mapping[str, str]

    @property
    def key(self) -> tuple[str, tuple[str, ...], str]:
        return self.torch, self.wheels, self.code

    @property
    def works(self) -> bool:
        return self.kind == "ok"


def parse_cases(text: str) -> list[Case]:
    """Lines ``TORCH NAME==VERSION... : CODE``; a bare name is imported, ``?`` marks a feature."""
    cases = []
    for line in text.splitlines():
        line = line.partition("#")[0].strip()
        if not line:
            continue
        left, _, code = line.partition(" : ")
        torch, *wheels = left.split()
        feature, code = code.startswith("?"), code.lstrip("? ")
        if re.fullmatch(r"[\w.]+", code):
            code = f"import {code}"
        cases.append(Case(torch=torch, wheels=tuple(wheels), code=code, feature=feature))
    return cases


def load_facts(path: Path = FACTS) -> list[Fact]:
    """The recorded facts: ``pins`` are those of torch's own closure and what differs."""
    if not path.exists():
        return []
    document = json.loads(path.read_text("utf-8"))
    facts = []
    for row in document["facts"]:
        pins = dict(document["closures"][row["torch"]])
        for name, version in row.pop("beside").items():
            if version is None:
                del pins[name]
            else:
                pins[name] = version
        row["wheels"] = tuple(row["wheels"])
        facts.append(Fact(pins=dict(sorted(pins.items())), **row))
    return facts


def save_facts(facts: Iterable[Fact], closures: Mapping[str, Mapping[str, str]]) -> None:
    """Write them compactly: one line a fact, the closure of each torch once."""
    rows = []
    for fact in sorted(facts, key=lambda each: each.key):
        row: dict[str, Any] = asdict(fact)
        pins, base = row.pop("pins"), closures[fact.torch]
        beside = {name: version for name, version in pins.items() if base.get(name) != version}
        row["beside"] = beside | dict.fromkeys(sorted(base.keys() - pins.keys()))
        rows.append(json.dumps(row))
    heads = [f"{json.dumps(torch)}: {json.dumps(pins)}" for torch, pins in sorted(closures.items())]
    text = '{"closures": {\n' + ",\n".join(heads) + '},\n"facts": [\n' + ",\n".join(rows) + "\n]}\n"
    FACTS.write_text(text, "utf-8")


def load_closures() -> dict[str, dict[str, str]]:
    if not FACTS.exists():
        return {}
    closures: dict[str, dict[str, str]] = json.loads(FACTS.read_text("utf-8"))["closures"]
    return closures


class Bench:
    """A directory with uv's cache, one environment at a time, and the stub of the driver."""

    def __init__(self, directory: Path, name: str = "env") -> None:
        self.directory = directory.resolve()
        self.prefix = self.directory / name
        self.stub = self.directory / f"{name}-stub"
        self.stub.mkdir(parents=True, exist_ok=True)
        (self.directory / "home").mkdir(exist_ok=True)
        self._names: dict[tuple[int, int], frozenset[str]] = {}
        self._stubbed: set[str] | None = None
        self._built: dict[str, str] = {}
        ours = ("UV_", "PIP_", "ABILOCK_")
        self.clean = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
        cache = str(self.directory / "cache")
        self._environ = {**self.clean, "UV_CACHE_DIR": cache, "UV_NO_CONFIG": "1"}

    def uv(self, *arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
        command = [str(UV), *map(str, arguments)]
        environ = self._environ
        return subprocess.run(command, env=environ, capture_output=True, text=True, **options)

    def compile(
        self, requirements: Sequence[str], overrides: Sequence[str] = (), *flags: str
    ) -> str | None:
        """The pins that uv chooses as requirements, None where it finds none."""
        source, other = self.stub / "in.txt", self.stub / "overrides.txt"
        source.write_text("".join(f"{each}\n" for each in requirements))
        other.write_text("".join(f"{each}\n" for each in overrides))
        done = self.uv(
            *("pip", "compile", "-q", "--no-header", "--no-annotate", "--no-build"),
            *("--python-version", PYTHON, "--python-platform", "x86_64-manylinux_2_36"),
            *flags,
            *(("--override", other) if overrides else ()),
            source,
        )
        return done.stdout if done.returncode == 0 else None

    def closure(self, case: Case) -> tuple[Chosen, dict[str, str]]:
        """What belongs beside the wheels of a case, and how far it is what uv would choose."""
        torch = f"torch=={case.torch}"
        wanted = [torch, *case.wheels]
        if (text := self.compile([*wanted, *COMPANIONS])) is not None:
            return "resolver", read_pins(text)
        if (text := self.compile([*wanted, *COMPANIONS], wanted)) is not None:
            return "override", read_pins(text)
        pins = read_pins(self.compile([torch, *COMPANIONS]) or "")
        return "no-deps", pins | read_pins("\n".join(case.wheels))

    def build(self, pins: Mapping[str, str]) -> None:
        """The environment of some pins: files are hard links into the cache, so it is quick.

        It is changed and not made anew where no two packages may have written one file: NVIDIA's
        wheels of two majors do.
        """
        changed = {name for name, _ in self._built.items() ^ pins.items()}
        if not self._built or any(name.startswith("nvidia-") for name in changed):
            shutil.rmtree(self.prefix, ignore_errors=True)
            self.uv("venv", "-q", "-p", PYTHON, self.prefix, check=True)
        self._built = {}
        wanted = self.stub / "pins.txt"
        wanted.write_text("".join(f"{name}=={version}\n" for name, version in pins.items()))
        done = self.uv("pip", "sync", "-q", "-p", self.prefix, "--no-build", wanted)
        if done.returncode:
            raise RuntimeError(done.stderr)
        self._built = dict(pins)

    @property
    def site(self) -> Path:
        return next(self.prefix.glob("lib/python3.*/site-packages"))

    def make_stub(self) -> None:
        """A driver that has every function which anything installed asks for."""
        names: set[str] = set()
        for path in self.site.rglob("*.so*"):
            if not path.is_file():
                continue
            stat = path.stat()
            key = (stat.st_ino, stat.st_size)
            if key not in self._names:
                facts = read_shared_object(path)
                undefined = facts.undefined if facts is not None else ()
                self._names[key] = frozenset(filter(is_driver_name, undefined))
            names |= self._names[key]
        if names != self._stubbed:
            write_stub(self.stub, names)
        self._stubbed = names

    def run(self, code: str) -> tuple[bool, str]:
        """Run Python in the environment as a user would: whether it worked, and what it printed."""
        environ = {
            "LD_LIBRARY_PATH": str(self.stub),
            "PATH": f"{self.prefix / 'bin'}:{os.environ['PATH']}",
            "HOME": str(self.directory / "home"),
            "PYTHONPYCACHEPREFIX": str(self.directory / "pyc"),
            "OMP_NUM_THREADS": "1",
        }
        command = [str(self.prefix / "bin/python"), "-W", "ignore", "-c", code]
        try:
            done = subprocess.run(
                command, env=environ, cwd="/", capture_output=True, text=True, timeout=600
            )
        except subprocess.TimeoutExpired:
            return False, "took more than ten minutes"
        text = done.stderr if done.returncode > 0 else f"killed by signal {-done.returncode}"
        return done.returncode == 0, text

    def outcome(self, case: Case) -> tuple[Kind, str, str]:
        """Run the code of a case in what is built."""
        works, text = self.run(case.code)
        return ("ok", "", "") if works else classify(text, self.prefix)

    def try_case(self, case: Case) -> Fact:
        chosen, pins = self.closure(case)
        try:
            self.build(pins)
        except RuntimeError:
            if chosen == "resolver":
                raise
            base = read_pins(self.compile([f"torch=={case.torch}", *COMPANIONS]) or "")
            chosen, pins = "no-deps", base | read_pins("\n".join(case.wheels))
            self.build(pins)
        self.make_stub()
        kind, error, detail = self.outcome(case)
        return Fact(
            torch=case.torch,
            wheels=case.wheels,
            code=case.code,
            feature=case.feature,
            python=PYTHON,
            chosen=chosen,
            kind=kind,
            error=error,
            detail=detail,
            date=datetime.now(UTC).date().isoformat(),
            pins=dict(sorted(pins.items())),
        )


def read_pins(text: str) -> dict[str, str]:
    """The pins of requirements as uv writes them."""
    pins: dict[str, str] = {}
    for line in text.splitlines():
        name, equals, rest = line.partition("==")
        if equals and not line.startswith((" ", "#")):
            pins[canonicalize_name(name.partition("[")[0])] = rest.split()[0]
    return pins


def classify(text: str, prefix: Path) -> tuple[Kind, str, str]:
    """What kind of failure Python printed, its last line, and the loader's message in it."""
    lines = [line.strip().replace(f"{prefix}/", "") for line in text.splitlines() if line.strip()]
    error = lines[-1] if lines else ""
    told = [match[0] for line in lines if (match := _LOADER.search(line))]
    opened = [match[1] for line in told if (match := _OPENED.search(line))]
    kind: Kind = "crash" if error.startswith("killed by signal") else "python"
    if told:
        kind = "system" if opened and all(map(SYSTEM.fullmatch, opened)) else "load"
    elif _GUARD.search(error):
        kind = "guard"
    rest = [line for line in told if line != error]
    rest.sort(key=lambda line: "ould not load" in line)  # words that Python put around the message
    return kind, error[:300], (rest or [""])[0][:300]
