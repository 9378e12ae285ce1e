"""Who may touch the machine: read from the source. Who may import whom: see pyproject.toml."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import resolver

ROOT = Path(resolver.__file__).parent
MODULES = sorted(path.relative_to(ROOT) for path in ROOT.rglob("*.py"))

# Calls that read clock, environment or host, print, or end the program.
HOST = {
    "datetime.now",
    "datetime.utcnow",
    "date.today",
    "time.time",
    "time.monotonic",
    "time.sleep",
    "os.umask",
    "os.environb",
    "os.environ",
    "os.getenv",
    "os.getcwd",
    "os.confstr",
    "os.uname",
    "Path.cwd",
    "Path.home",
    "platform.machine",
    "platform.python_version",
    "sys.exit",
    "sys.argv",
    "sys.stdout",
    "sys.stderr",
    "print",
    "input",
    "exit",
}
# Where else it is right, and why.
EXCEPTIONS = {
    ("index/cache.py", "time.time"): "the default of an argument; tests pass their own clock",
    ("index/http.py", "time.monotonic"): "as above: how long a request takes",
    ("index/http.py", "time.sleep"): "the pause before another attempt",
}


# What the model may use of the standard library: it neither reads nor runs anything.
PURE = {
    "__future__",
    "bisect",
    "collections",
    "contextlib",
    "dataclasses",
    "datetime",
    "enum",
    "functools",
    "itertools",
    "pathlib",
    "re",
    "shlex",
    "types",
    "typing",
}
# The command line, the probes, and the session that hands their findings on.
TOUCHES = ("cli", "host")
WORLD = Path("usecase/world.py")
# A program by itself, which is written out and runs elsewhere; nothing here calls it.
SCRIPT = Path("lockfile/smoke_script.py")


@cache
def trees() -> Mapping[Path, ast.Module]:
    """Every module, parsed once."""
    return {path: ast.parse((ROOT / path).read_text(encoding="utf-8")) for path in MODULES}


@cache
def nodes() -> Mapping[Path, list[ast.AST]]:
    """What the rules look at, of every module."""
    kinds = (ast.Import, ast.ImportFrom, ast.Attribute, ast.Call, ast.ExceptHandler)
    return {
        path: [node for node in ast.walk(tree) if isinstance(node, kinds)]
        for path, tree in trees().items()
    }


def part_of(module: Path) -> str:
    return module.parts[0].removesuffix(".py")


def host_uses(module: Path) -> Iterator[str]:
    for node in nodes()[module]:
        if isinstance(node, ast.ImportFrom):
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from (name for name in names if name in HOST)
            continue
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            name = f"{node.value.id}.{node.attr}"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            name = node.func.id
        else:
            continue
        if name in HOST:
            yield name


def imported(module: Path) -> Iterator[str]:
    """The packages that a module imports, by their first name."""
    for node in nodes()[module]:
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").split(".")[0]


def test_only_probes_and_session_touch_the_machine() -> None:
    used = {
        (str(module), name)
        for module in MODULES
        if part_of(module) not in TOUCHES and module not in (WORLD, SCRIPT)
        for name in host_uses(module)
    }
    assert used == EXCEPTIONS.keys()


def test_the_model_needs_nothing_but_packaging() -> None:
    foreign = {
        (str(module), name)
        for module in MODULES
        if part_of(module) in ("model", "errors")
        for name in imported(module)
        if name not in PURE | {"packaging", "resolver"}
    }
    assert foreign == set()


def test_no_module_swallows_every_error() -> None:
    bare = {
        (str(module), node.lineno)
        for module, found in nodes().items()
        for node in found
        if isinstance(node, ast.ExceptHandler) and node.type is None
    }
    assert bare == set()
