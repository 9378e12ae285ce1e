"""Every command, and each file that it reads: where damage is put."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.cli.conftest import clean_environment
from tests.load.world import World
from tests.support.wheels import build_wheel

SECRET = "hunter2secret"
A = build_wheel("a", "1.0", requires=["b"])
B = build_wheel("b", "2.0")
NATIVE = build_wheel(
    "n", "1.0", tag="cp312-cp312-manylinux_2_28_x86_64", files={"n/_c.so": b"\x7fELF" + bytes(60)}
)
TARGET = ("--cuda", "13.0", "--arch", "sm120", "--python", "3.12", "--machine", "x86_64")
HERE = (*TARGET, "--glibc", "2.35")
LOCAL = (*HERE, "--offline", "--wheelhouse", "wheels")


@dataclass(frozen=True, slots=True)
class Ground:
    """A user's directory with wheels, a lock and an environment; ``environ`` is all that is set."""

    root: Path

    @property
    def project(self) -> Path:
        return self.root / "project"

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def environ(self) -> dict[str, str]:
        environ = clean_environment({"PATH": os.environ["PATH"]}, self.home)
        return environ | {"NO_COLOR": "1", "COLUMNS": "80"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A command and the file of its ground that is damaged; ``more`` is set in its environment."""

    name: str
    arguments: tuple[str, ...]
    damaged: str
    format: str
    more: Mapping[str, str] = field(default_factory=dict)
    index: bool = False

    @property
    def command(self) -> str:
        """What the user called: the column of the matrix."""
        return self.name.partition(":")[0]


def prepare(root: Path) -> Ground:
    """Lay out what the commands of all scenes read, whole."""
    ground = Ground(root)
    project, home = ground.project, ground.home
    for directory in (project / "wheels", home / "config/uv", home / "config/pip"):
        directory.mkdir(parents=True)
    for wheel in (A, B, NATIVE):
        (project / "wheels" / wheel.filename).write_bytes(wheel.data)
    texts = {
        "requirements.txt": "a\n",
        "constraints.txt": "a<2\n",
        "overrides.txt": "b==2.0\n",
        "error.txt": "ImportError: x.so: undefined symbol: _ZN3c104cuda4workEv\n",
        "pylock.toml": _pylock(),
        "uv.lock": _uv_lock(),
        "pyproject.toml": '[project]\nname = "p"\nversion = "1"\ndependencies = ["a"]\n',
    }
    for name, text in texts.items():
        (project / name).write_text(text, encoding="utf-8")
    (home / "config/uv/uv.toml").write_text('[[index]]\nname = "x"\nurl = "http://127.0.0.1:9/"\n')
    (home / "config/pip/pip.conf").write_text("[global]\ntimeout = 5\n")
    (home / ".netrc").write_text(f"machine 127.0.0.1 login me password {SECRET}\n")
    world = World(project / "env")
    world.torch()
    info = world.install("a", "1.0", {"a/__init__.py": b"", "a/_c.so": b"\x7fELF" + bytes(60)})
    (info / "WHEEL").write_text("Wheel-Version: 1.0\nTag: cp312-cp312-linux_x86_64\n")
    (info / "direct_url.json").write_text(json.dumps({"url": "file:///x", "archive_info": {}}))
    (info / "top_level.txt").write_text("a\n")
    (info / "INSTALLER").write_text("pip\n")
    (world.site / "x.pth").write_text("/nowhere\n")
    return ground


def _pylock() -> str:
    lines = ['lock-version = "1.0"', 'created-by = "abilock"', 'requires-python = "==3.12.*"']
    for wheel, name, version in ((A, "a", "1.0"), (B, "b", "2.0")):
        lines += [
            "[[packages]]",
            f'name = "{name}"',
            f'version = "{version}"',
            "[[packages.wheels]]",
            f'path = "wheels/{wheel.filename}"',
            f'hashes = {{sha256 = "{wheel.sha256}"}}',
        ]
    return "\n".join(lines) + "\n"


def _uv_lock() -> str:
    return (
        'version = 1\nrequires-python = ">=3.12"\n\n[[package]]\nname = "a"\nversion = "1.0"\n'
        'source = { registry = "http://127.0.0.1:9/simple" }\nwheels = [\n    { url = "http://'
        f'127.0.0.1:9/{A.filename}", hash = "sha256:{A.sha256}" }},\n]\n'
    )


_INFO = "env/lib/python3.12/site-packages/a-1.0.dist-info"
_SITE = "env/lib/python3.12/site-packages"


def _scene(
    name: str, form: str, damaged: str, *arguments: str, more: Mapping[str, str] | None = None
) -> Scene:
    return Scene(name=name, arguments=arguments, damaged=damaged, format=form, more=more or {})


SCENES = (
    _scene(
        "resolve: -r",
        "requirements",
        "requirements.txt",
        "resolve",
        *LOCAL,
        "-r",
        "requirements.txt",
    ),
    _scene(
        "resolve: -c",
        "requirements",
        "constraints.txt",
        "resolve",
        "a",
        *LOCAL,
        "-c",
        "constraints.txt",
    ),
    _scene(
        "resolve: --override",
        "requirements",
        "overrides.txt",
        "resolve",
        "a",
        *LOCAL,
        "--override",
        "overrides.txt",
    ),
    _scene("resolve: old lock", "toml", "pylock.toml", "resolve", "a", *LOCAL),
    _scene("resolve: pyproject", "toml", "pyproject.toml", "resolve", *LOCAL),
    _scene("resolve: wheel", "wheel", f"wheels/{B.filename}", "resolve", "a", *LOCAL),
    _scene("resolve: native", "wheel", f"wheels/{NATIVE.filename}", "resolve", "n", *LOCAL),
    _scene(
        "resolve: uv.toml",
        "toml",
        "../home/config/uv/uv.toml",
        "resolve",
        "a",
        *LOCAL,
        more={"UV_NO_CONFIG": ""},
    ),
    _scene(
        "resolve: pip.conf",
        "ini",
        "../home/config/pip/pip.conf",
        "resolve",
        "a",
        *LOCAL,
        more={"PIP_CONFIG_FILE": ""},
    ),
    _scene(
        "resolve: netrc",
        "netrc",
        "../home/.netrc",
        "resolve",
        "a",
        *HERE,
        "--index",
        "x=http://127.0.0.1:9/simple",
        "--channel",
        "x",
    ),
    _scene(
        "resolve: certificates",
        "pem",
        "cert.pem",
        "resolve",
        "a",
        *HERE,
        "--index",
        "x=https://127.0.0.1:9/simple",
        "--channel",
        "x",
        more={"SSL_CERT_FILE": "cert.pem"},
    ),
    _scene(
        "resolve: knowledge", "toml", "kb/cuda.toml", "resolve", "a", *LOCAL, "--knowledge", "kb"
    ),
    _scene("why: -r", "requirements", "requirements.txt", "why", *LOCAL, "-r", "requirements.txt"),
    _scene("why: wheel", "wheel", f"wheels/{B.filename}", "why", "a", *LOCAL),
    _scene("why: --error", "text", "error.txt", "why", "--error", "error.txt", *HERE, "--offline"),
    _scene("check lock: pylock", "toml", "pylock.toml", "check", "pylock.toml", *HERE, "--offline"),
    _scene("check lock: uv.lock", "toml", "uv.lock", "check", "uv.lock", *HERE, "--offline"),
    _scene(
        "check lock: requirements",
        "requirements",
        "requirements.txt",
        "check",
        "requirements.txt",
        *HERE,
        "--offline",
    ),
    _scene(
        "check lock: wheel",
        "wheel",
        f"wheels/{B.filename}",
        "check",
        "pylock.toml",
        *HERE,
        "--offline",
    ),
    _scene("check env: METADATA", "metadata", f"{_INFO}/METADATA", "check", "env"),
    _scene("check env: RECORD", "record", f"{_INFO}/RECORD", "check", "env"),
    _scene("check env: WHEEL", "metadata", f"{_INFO}/WHEEL", "check", "env"),
    _scene(
        "check env: direct_url",
        "json",
        f"{_INFO}/direct_url.json",
        "check",
        "env",
        "--freeze",
        "frozen.toml",
    ),
    _scene("check env: top_level", "text", f"{_INFO}/top_level.txt", "check", "env"),
    _scene("check env: .pth", "text", f"{_SITE}/x.pth", "check", "env"),
    _scene("check env: version.py", "python", f"{_SITE}/torch/version.py", "check", "env"),
    _scene("check env: pyvenv.cfg", "text", "env/pyvenv.cfg", "check", "env"),
    _scene("check env: library", "elf", f"{_SITE}/torch/lib/libc10.so", "check", "env"),
    _scene("check env: extension", "elf", f"{_SITE}/a/_c.so", "check", "env"),
    _scene(
        "freeze: METADATA",
        "metadata",
        f"{_INFO}/METADATA",
        "check",
        "env",
        "--freeze",
        "frozen.toml",
    ),
    _scene("freeze: output", "toml", "frozen.toml", "check", "env", "--freeze", "frozen.toml"),
    _scene(
        "export: lock",
        "toml",
        "pylock.toml",
        "export",
        "pylock.toml",
        "--to",
        "uv",
        "-o",
        "out.txt",
    ),
    _scene(
        "download: lock", "toml", "pylock.toml", "download", "pylock.toml", "--wheelhouse", "house"
    ),
    _scene(
        "download: wheel",
        "wheel",
        f"wheels/{B.filename}",
        "download",
        "pylock.toml",
        "--wheelhouse",
        "house",
    ),
    _scene(
        "inspect: wheel",
        "wheel",
        f"wheels/{NATIVE.filename}",
        "inspect",
        f"wheels/{NATIVE.filename}",
    ),
    _scene(
        "diff: wheel",
        "wheel",
        f"wheels/{NATIVE.filename}",
        "diff",
        "torch==2.9.1",
        "torch==2.10.0",
        "--used-by",
        f"wheels/{NATIVE.filename}",
    ),
    _scene(
        "knowledge: table", "toml", "kb/cuda.toml", "knowledge", "validate", "--knowledge", "kb"
    ),
    _scene(
        "target: knowledge", "toml", "kb/gpus.toml", "target", "--gpu", "B200", "--knowledge", "kb"
    ),
)


def damage(ground: Ground, scene: Scene, make: Callable[[Path, bytes, str], None]) -> None:
    """Put a fault in place of the file of a scene."""
    path = ground.project / scene.damaged
    path.parent.mkdir(parents=True, exist_ok=True)
    good = path.read_bytes() if path.exists() else b'x = "y"\n'
    path.unlink(missing_ok=True)
    make(path, good, scene.format)
