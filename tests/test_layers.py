"""Who may touch the machine: read from the source. Who may import whom: see pyproject.toml."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import resolver

ROOT = Path(resolver.__file__).parent
MODULES = sorted(path.relative_to(ROOT) for path in ROOT.rglob("*.py"))

# Calls that read clock, environment or host, print, or end the program.
HOST = {
    "datetime.now",
    "datetime.utcnow",
    "date.today",
    "time.time",
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
}


def part_of(module: Path) -> str:
    return module.parts[0].removesuffix(".py")


def host_uses(module: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse((ROOT / module).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            name = f"{node.value.id}.{node.attr}"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            name = node.func.id
        else:
            continue
        if name in HOST:
            yield name


# The command line, the probes, and the session that hands their findings on.
TOUCHES = ("cli", "host", "usecase")
OUTSIDE = [module for module in MODULES if part_of(module) not in TOUCHES]


@pytest.mark.parametrize("module", OUTSIDE, ids=str)
def test_only_probes_and_session_touch_the_machine(module: Path) -> None:
    excused = {name for path, name in EXCEPTIONS if path == str(module)}
    assert set(host_uses(module)) - excused == set()


def test_every_exception_is_still_one() -> None:
    used = {(str(module), name) for module in OUTSIDE for name in host_uses(module)}
    assert EXCEPTIONS.keys() <= used


def test_the_model_needs_nothing_but_packaging() -> None:
    allowed = {"packaging", "resolver"}
    for module in MODULES:
        if part_of(module) not in ("model", "errors"):
            continue
        for node in ast.walk(ast.parse((ROOT / module).read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            third = {
                name.split(".")[0] for name in names if name.split(".")[0] not in STDLIB | allowed
            }
            assert third == set(), module


STDLIB = {
    "__future__",
    "collections",
    "dataclasses",
    "datetime",
    "enum",
    "functools",
    "pathlib",
    "re",
    "shlex",
    "typing",
}


def test_no_module_swallows_every_error() -> None:
    for module in MODULES:
        for node in ast.walk(ast.parse((ROOT / module).read_text(encoding="utf-8"))):
            if isinstance(node, ast.ExceptHandler):
                assert node.type is not None, f"{module}, line {node.lineno}: bare except"
