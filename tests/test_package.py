"""The built wheel, with the source out of reach."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from resolver.render.contract import MODELS
from resolver.render.site import ASSETS

ROOT = Path(__file__).resolve().parent.parent
BUILD_BACKEND = importlib.util.find_spec("hatchling") is not None
# Where the build backend is not installed, a build fetches it.
needs_build = pytest.mark.skipif(False, reason="") if BUILD_BACKEND else pytest.mark.live


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(out)]
    isolation = ["--no-build-isolation"] if BUILD_BACKEND else []
    done = subprocess.run([*command, *isolation, str(ROOT)], capture_output=True, text=True)
    if done.returncode != 0 and not BUILD_BACKEND:
        pytest.skip(f"the build backend cannot be fetched: {done.stderr.strip()[-200:]}")
    assert done.returncode == 0, done.stderr
    (built,) = out.glob("abilock-*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory that holds the wheel's files and nothing else."""
    place = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(place)
    return place


def run(installed: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command of the installed files; an editable install's finder is left out."""
    code = (
        "import sys; sys.meta_path = [f for f in sys.meta_path if 'editable' not in repr(f)]; "
        f"sys.path = [{str(installed)!r}] + [p for p in sys.path if p != {str(ROOT)!r}]; "
        "import resolver; "
        f"assert resolver.__file__.startswith({str(installed)!r}), resolver.__file__; "
        "from resolver.cli.app import main; main()"
    )
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        cwd=installed,
        env={**os.environ, "HOME": str(installed), "PIP_CONFIG_FILE": os.devnull},
        check=False,
    )


@needs_build
def test_the_shipped_knowledge_is_valid(installed: Path) -> None:
    done = run(installed, "knowledge", "validate")
    assert (done.returncode, done.stdout, done.stderr) == (0, "The knowledge is valid.\n", "")
    done = run(installed, "knowledge", "verify")
    assert (done.returncode, done.stdout.splitlines()[2:]) == (0, ["files    as installed"])


@needs_build
def test_the_installed_command_solves_offline(installed: Path) -> None:
    target = ("--cuda", "13.0", "--arch", "sm120", "--python", "3.12", "--machine", "x86_64")
    done = run(
        installed, "resolve", *target, "--glibc", "2.35", "--offline", "--no-cache", "-o", "-"
    )
    assert done.returncode == 0, done.stderr
    names = {package["name"] for package in tomllib.loads(done.stdout)["packages"]}
    assert {"torch", "sgl-kernel", "flashinfer-python"} <= names


@needs_build
def test_everything_is_shipped_inside_the_package(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {f"resolver/schemas/{name}.schema.json" for name in MODELS} <= names
    knowledge = ROOT / "knowledge"
    expected = {
        f"resolver/_knowledge/{path.relative_to(knowledge)}"
        for path in knowledge.rglob("*")
        if path.is_file() and not path.name.startswith(".")
    }
    assert expected <= names
    assets = {f"resolver/render/site_assets/{name}" for name in ASSETS}
    assert {"resolver/_docs/reasons.md", *assets} <= names
    top = {name.split("/")[0] for name in names}
    assert {name for name in top if not name.endswith(".dist-info")} == {"abilock", "resolver"}


def test_the_build_puts_knowledge_inside_the_package() -> None:
    document = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = document["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["force-include"] == {
        "knowledge": "resolver/_knowledge",
        "docs/reasons.md": "resolver/_docs/reasons.md",
    }
    assert wheel["packages"] == ["resolver", "abilock"]
    assert document["project"]["scripts"] == {"abilock": "resolver.cli.main:main"}
