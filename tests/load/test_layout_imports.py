"""Layouts of environments beside the interpreter that runs in them: check says what it shows."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.load.environment import load_environment
from resolver.model.check_report import Report
from resolver.model.reason import Severity
from resolver.usecase.check_environment import simulate
from tests.load.world import HOST, World

HEADERS = sysconfig.get_path("include")
pytestmark = pytest.mark.skipif(
    shutil.which("gcc") is None or not Path(HEADERS, "Python.h").exists(),
    reason="needs gcc and Python.h",
)
PYTHON = f"python{sys.version_info[0]}.{sys.version_info[1]}"
SITE = f"lib/{PYTHON}/site-packages"
KNOWN = KnowledgeBase(facts=None)
SOURCE = """
#include <Python.h>
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, .m_name = "ext"};
PyObject *PyInit_ext(void) { return PyModule_Create(&module); }
"""


@dataclass(frozen=True)
class Place:
    """Where a layout is built, with a module that decides and one that must not."""

    directory: Path
    module: bytes
    other: bytes
    own: Callable[[], Path]


# The interpreter, what is added to its environment, and the environment that is checked.
Built = tuple[Path, dict[str, str], Path]


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> dict[bool, bytes]:
    """An extension module that loads, and one that needs a library which is gone."""
    place = tmp_path_factory.mktemp("modules")
    (place / "ext.c").write_text(SOURCE)
    (place / "gone.c").write_text("int gone(void) { return 1; }\n")
    gone = ["-Wl,-soname,libgone.so.1", "-o", "libgone.so", "gone.c"]
    good = [f"-I{HEADERS}", "-o", "good.so", "ext.c"]
    bad = [f"-I{HEADERS}", "-Wl,--no-as-needed", "-o", "bad.so", "ext.c", "libgone.so"]
    for command in (gone, good, bad):
        subprocess.run(["gcc", "-shared", "-fPIC", *command], cwd=place, check=True)
    return {True: (place / "good.so").read_bytes(), False: (place / "bad.so").read_bytes()}


@pytest.fixture(scope="module")
def own_prefix(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    """Makes prefixes of a Python of their own: a copy of its program, links to its library."""
    library = Path(sysconfig.get_path("stdlib"))
    program = tmp_path_factory.mktemp("program") / PYTHON
    shutil.copy(os.path.realpath(sys.executable), program)

    def make() -> Path:
        prefix = tmp_path_factory.mktemp("prefix") / "own"
        (prefix / "bin").mkdir(parents=True)
        os.link(program, prefix / "bin" / PYTHON)
        (prefix / "bin/python").symlink_to(PYTHON)
        (prefix / SITE).mkdir(parents=True)
        for each in library.iterdir():
            if each.name != "site-packages":
                (prefix / "lib" / PYTHON / each.name).symlink_to(each)
        return prefix

    return make


def world(prefix: Path, module: bytes | None, site: str = SITE, version: str = "1.0") -> World:
    made = World.__new__(World)
    made.prefix, made.site = prefix, prefix / site
    made.site.mkdir(parents=True, exist_ok=True)
    if module is not None:
        made.install("ext", version, {"ext.abi3.so": module})
    return made


def venv(prefix: Path, *lines: str, home: Path | None = None) -> Path:
    """A virtual environment as ``venv`` makes it."""
    home = home or Path(sys.base_prefix, "bin")
    (prefix / "bin").mkdir(parents=True)
    (prefix / "bin/python").symlink_to(home / PYTHON)
    stated = [f"home = {home}", f"version = {sys.version_info[0]}.{sys.version_info[1]}.0", *lines]
    (prefix / "pyvenv.cfg").write_text("\n".join(stated) + "\n")
    return prefix


def conda(at: Place) -> Built:
    prefix = at.own()
    (prefix / "conda-meta").mkdir()
    (prefix / "lib/python3.1").symlink_to(PYTHON)
    world(prefix, at.module)
    return prefix / "bin/python", {}, prefix


def two_pythons(at: Place) -> Built:
    prefix = at.own()
    world(prefix, at.module)
    for name in ("python3.9", "python3.99"):
        world(prefix, at.other, f"lib/{name}/site-packages")
    return prefix / "bin/python", {}, prefix


def above(at: Place) -> Built:
    prefix = venv(at.directory / "python3.9 tools/lib/python3.8/it's an env")
    world(prefix, at.module)
    return prefix / "bin/python", {}, prefix


def below(at: Place) -> Built:
    base = at.own()
    world(base, at.module)
    prefix = venv(at.directory / "env", "include-system-site-packages = true", home=base / "bin")
    world(prefix, None)
    return prefix / "bin/python", {}, prefix


def shadowed(at: Place) -> Built:
    base = at.own()
    world(base, at.other)
    prefix = venv(at.directory / "env", "include-system-site-packages = true", home=base / "bin")
    world(prefix, at.module, version="2.0")
    return prefix / "bin/python", {}, prefix


def isolated(at: Place) -> Built:
    base = at.own()
    world(base, at.other)
    prefix = venv(at.directory / "env", "include-system-site-packages = false", home=base / "bin")
    world(prefix, at.module)
    return prefix / "bin/python", {}, prefix


def python_path(at: Place) -> Built:
    prefix = venv(at.directory / "env")
    world(prefix, at.other)
    named = world(at.directory / "named", at.module, "")
    return prefix / "bin/python", {"PYTHONPATH": str(named.site)}, prefix


def user_site(at: Place) -> Built:
    prefix = at.own()
    world(prefix, at.other)
    world(at.directory / "base", at.module)
    return prefix / "bin/python", {"PYTHONUSERBASE": str(at.directory / "base")}, prefix


def no_user_site(at: Place) -> Built:
    """A virtual environment that is isolated does not see the user's packages."""
    prefix = venv(at.directory / "env")
    world(prefix, at.module)
    world(at.directory / "base", at.other)
    return prefix / "bin/python", {"PYTHONUSERBASE": str(at.directory / "base")}, prefix


def egg(at: Place) -> Built:
    prefix = venv(at.directory / "env")
    made = world(prefix, at.module)
    info = made.site / "ext-1.0.dist-info"
    (info / "METADATA").rename(info / "PKG-INFO")
    (info / "RECORD").unlink()
    (info / "installed-files.txt").write_text("../ext.abi3.so\n")
    info.rename(made.site / "ext-1.0-py3.11.egg-info")
    return prefix / "bin/python", {}, prefix


def stale(at: Place) -> Built:
    prefix = venv(at.directory / "env")
    made = world(prefix, at.other, version="2.0")
    made.install("ext", "1.0", {"ext.abi3.so": at.module})
    return prefix / "bin/python", {}, prefix


def by_path_file(at: Place) -> Built:
    prefix = venv(at.directory / "env")
    named = world(at.directory / "named", at.module, "")
    (world(prefix, None).site / "named.pth").write_text(f"{named.site}\n")
    return prefix / "bin/python", {}, prefix


def linked(at: Place) -> Built:
    prefix = venv(at.directory / "env")
    world(prefix, at.module)
    (at.directory / "link").symlink_to(prefix)
    return at.directory / "link/bin/python", {}, at.directory / "link"


LAYOUTS = (
    *(conda, two_pythons, above, below, shadowed, isolated, python_path, user_site, no_user_site),
    *(egg, stale, by_path_file, linked),
)


def check(prefix: Path, variables: dict[str, str]) -> Report:
    """What the command says; that it reads these variables is tested beside it."""
    named = variables.get("PYTHONPATH", "").split()
    environment = load_environment(
        prefix,
        python_path=[Path(each) for each in named],
        user_base=Path(variables["PYTHONUSERBASE"]),
    )
    nothing: dict[str, Any] = dict.fromkeys(("cuda", "driver", "toolkit", "gpu", "cache"))
    return simulate(KNOWN, environment, HOST, archs=(), environ={}, **nothing)


@pytest.mark.parametrize("loads", [True, False], ids=["loads", "fails"])
@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: str(layout.__name__))
def test_it_says_what_the_import_shows(
    tmp_path: Path,
    modules: dict[bool, bytes],
    own_prefix: Callable[[], Path],
    layout: Callable[[Place], Built],
    loads: bool,
) -> None:
    place = Place(tmp_path, modules[loads], modules[not loads], own_prefix)
    python, variables, prefix = layout(place)
    variables = {"PYTHONUSERBASE": str(tmp_path / "nobody"), **variables}
    done = subprocess.run(
        [python, "-c", "import ext"], env=variables, capture_output=True, text=True, check=False
    )
    assert (done.returncode == 0) is loads, done.stderr
    fatal = [r for r in check(prefix, variables).findings if r.severity is Severity.FATAL]
    assert [reason.needs for reason in fatal] == ([] if loads else ["libgone.so.1"])


def test_an_interpreter_that_is_gone(tmp_path: Path, modules: dict[bool, bytes]) -> None:
    prefix = venv(tmp_path / "env", home=tmp_path / "gone/bin")
    world(prefix, modules[True])
    with pytest.raises(FileNotFoundError):
        subprocess.run([prefix / "bin/python", "-c", "import ext"], check=False)
    assert check(prefix, {"PYTHONUSERBASE": "/nobody"}).verdict == "broken"


@pytest.mark.skipif(not Path("/usr/lib/python3/dist-packages").is_dir(), reason="needs Debian's")
def test_the_directories_of_debians_python() -> None:
    code = "import os, sys; print(*(p for p in sys.path if 'packages' in p and os.path.isdir(p)))"
    env = {"PYTHONNOUSERSITE": "1"}
    done = subprocess.run(["/usr/bin/python3", "-c", code], env=env, capture_output=True, text=True)
    assert list(load_environment(Path("/usr")).path) == done.stdout.split()
