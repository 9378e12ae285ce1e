from __future__ import annotations

from pathlib import Path

import pytest
from packaging.version import Version

from resolver.errors import DamagedData, UsageError
from resolver.lockfile.pin import LockFile
from resolver.model.cuda import Arch, CudaVersion
from resolver.model.target import Target
from tests.support.locks import load_lock_file

TARGET = Target(cuda=CudaVersion(13, 0), archs=(Arch(12, 0),), python=Version("3.12.0"))

UV = """
version = 1
requires-python = ">=3.10"

[[package]]
name = "app"
version = "0.1"
source = { virtual = "." }
dependencies = [
    { name = "torch", version = "2.9.1", marker = "sys_platform == 'darwin'" },
    { name = "torch", version = "2.9.1+cu130", marker = "sys_platform == 'linux'" },
    { name = "mine" },
]
[package.optional-dependencies]
fast = [{ name = "fastlib", marker = "python_version < '3.11'" }]
[package.dev-dependencies]
dev = [{ name = "pytest" }]

[[package]]
name = "mine"
version = "1.0"
source = { git = "https://example.org/mine?rev=1" }
dependencies = [{ name = "numpy" }]

[[package]]
name = "numpy"
version = "2.4.0"
source = { registry = "https://index.example/simple" }
wheels = [{ url = "https://f.example/numpy.whl", hash = "sha256:aa", size = 1 }]

[[package]]
name = "fastlib"
version = "3.0"
source = { registry = "https://index.example/simple" }

[[package]]
name = "pytest"
version = "9.0"
source = { registry = "https://index.example/simple" }

[[package]]
name = "torch"
version = "2.9.1"
source = { registry = "https://index.example/simple" }

[[package]]
name = "torch"
version = "2.9.1+cu130"
source = { registry = "https://cu.example" }
wheels = [{ url = "https://cu.example/torch.whl", hash = "sha256:bb" }]
""".replace("sha256:aa", "sha256:" + "aa" * 32).replace("sha256:bb", "sha256:" + "bb" * 32)

POETRY = """
[[package]]
name = "torch"
version = "2.11.0"
optional = false
files = [{ file = "torch.whl", hash = "sha256:cc" }]

[[package]]
name = "colorama"
version = "0.4"
optional = false
markers = "sys_platform == 'win32'"
files = []

[[package]]
name = "extra"
version = "1.0"
optional = true
files = []

[[package]]
name = "grouped"
version = "1.0"
optional = false
markers = {main = "python_version >= '3.12'", dev = "python_version >= '3.13'"}
files = []
""".replace("sha256:cc", "sha256:" + "cc" * 32)

PYLOCK = """
lock-version = "1.0"
created-by = "someone"

[[packages]]
name = "torch"
version = "2.11.0"
[[packages.wheels]]
url = "https://files.example/torch-2.11.0-cp312-cp312-linux_x86_64.whl"
hashes = { sha256 = "dd" }

[[packages]]
name = "win"
version = "1.0"
marker = "sys_platform == 'win32'"

[[packages]]
name = "source"
directory = { path = "." }
""".replace("dd", "dd" * 32)


def pins(lock: LockFile) -> list[tuple[str, str, list[str], bool]]:
    return [(p.name, str(p.version), sorted(p.digests), p.local) for p in lock.pins]


def load(tmp_path: Path, name: str, text: str) -> LockFile:
    path = tmp_path / name
    path.write_text(text)
    (lock,) = load_lock_file(path, TARGET.environment)
    return lock


def test_uv(tmp_path: Path) -> None:
    assert pins(load(tmp_path, "uv.lock", UV)) == [
        ("mine", "1.0", [], True),
        ("numpy", "2.4.0", ["aa" * 32], False),
        ("torch", "2.9.1+cu130", ["bb" * 32], False),
    ]


def test_poetry(tmp_path: Path) -> None:
    assert pins(load(tmp_path, "poetry.lock", POETRY)) == [
        ("grouped", "1.0", [], False),
        ("torch", "2.11.0", ["cc" * 32], False),
    ]


def test_pylock(tmp_path: Path) -> None:
    lock = load(tmp_path, "pylock.toml", PYLOCK)
    assert pins(lock) == [("torch", "2.11.0", ["dd" * 32], False)]
    assert lock.notes == ("source was left out: the lock gives no version",)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("uv.lock", "not toml", "is not valid TOML"),
        ("uv.lock", "[[package]]\nversion = 1", "is not a valid uv.lock: KeyError 'name'"),
        ("pylock.toml", "packages = 3", "is not a valid pylock.toml"),
        ("poetry.lock", "[[package]]\nname = 'a'", "KeyError 'version'"),
        ("uv.lock", "", "uv.lock is empty"),
        ("poetry.lock", "# words alone\n", "poetry.lock is empty"),
        ("pylock.toml", "", "pylock.toml is empty"),
        ("uv.lock", "[other]", "is not a valid uv.lock: KeyError 'package'"),
        ("poetry.lock", "[other]", "is not a valid poetry.lock: KeyError 'package'"),
        (
            "poetry.lock",
            POETRY.replace("cc" * 32, "zz"),
            "poetry.lock: 'sha256:zz' is not a sha256",
        ),
        ("uv.lock", UV.replace("bb" * 32, "b"), "'sha256:b' is not a sha256"),
        ("pylock.toml", PYLOCK.replace("dd" * 32, "zz"), "'sha256:zz' is not a sha256"),
    ],
)
def test_no_locks(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(DamagedData, match=message):
        load(tmp_path, name, text)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        load_lock_file(tmp_path / "uv.lock", {})


def test_what_is_no_version_and_no_marker(tmp_path: Path) -> None:
    text = "[[package]]\nname = 'a'\nversion = 'one'\n[[package]]\nname = 'b'\nversion = '1'\n"
    lock = load(tmp_path, "poetry.lock", text + "markers = 'nonsense'\n")
    assert [p.name for p in lock.pins] == ["b"]
    assert "'nonsense' is not a marker and was taken as true" in lock.notes[0]
    assert lock.notes[1] == "a one was left out: not a version"
