"""The smoke script: written from a lock, run by itself over packages that do everything wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema
import pytest
from packaging.pylock import Package, PackageWheel, Pylock
from packaging.utils import canonicalize_name
from packaging.version import Version

from resolver.lockfile.lock import export
from resolver.lockfile.smoke_script import modules_of
from resolver.model.reason import Grade
from resolver.render.render_json import load_schema
from resolver.usecase.observed_set import ObservedSet
from resolver.usecase.smoke_record import observe_record

# A torch that says yes to everything, on two GPUs of which the second runs no nms.
TORCH = """
import os
class Any:
    def __getattr__(self, name): return self
    def __call__(self, *args, **kwargs): return self
    def chunk(self, *args, **kwargs): return self, self
    def __matmul__(self, other): return self
    __mul__ = __matmul__
anything = Any()
float16 = "half"
testing = nn = ops = anything
def manual_seed(seed): pass
def randn(*shape): return anything
tensor = empty = empty_like = randn_like = lambda *args, **kwargs: anything
class version: cuda = "13.0"
class cuda:
    is_available = staticmethod(lambda: "GPUS" in os.environ)
    device_count = staticmethod(lambda: 2)
    get_device_capability = staticmethod(lambda index: (12, index))
    get_device_name = staticmethod(lambda index: f"RTX {index}")
    synchronize = staticmethod(lambda: None)
    current = 0
    @classmethod
    def set_device(cls, index): cls.current = index
"""
NMS = """
import torch
def nms(*args):
    if torch.cuda.current == 1:
        raise RuntimeError("no kernel image is available\\nfor execution on the device")
    return torch.anything
"""
INSTALLED: dict[str, dict[str, str]] = {
    "torch 2.9.1+cu130": {"torch/__init__.py": TORCH, "torchgen/__init__.py": ""},
    "sgl-kernel 0.3.21": {
        "sgl_kernel/__init__.py": "",
        "deep_gemm/__init__.py": "raise AssertionError('Hopper alone')",
    },
    "torchvision 0.24.1": {"torchvision/__init__.py": "", "torchvision/ops.py": NMS},
    "good 1.0": {"good.py": "print('noise')", "tests/__init__.py": "raise SystemExit(3)"},
    "bad 1.0": {"bad/__init__.py": "import missing_thing"},
    "crash 1.0": {
        "crash.py": "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
        "crash_too.py": "",
    },
    "leaves 1.0": {"leaves.py": "raise SystemExit('go away')"},
    "nvidia-libs 1.0": {"nvidia/libs/lib/liblibs.so.13": "not a library"},
    "space-dsl 1.0": {"space_dsl/parts/other/__init__.py": "raise ImportError('by a path file')"},
    "other 2.0": {"other.py": ""},
}


def locked(name: str, version: str, channel: str = "default") -> Package:
    wheel = PackageWheel(
        name=f"{name.replace('-', '_')}-{version}-py3-none-any.whl",
        path="x.whl",
        hashes={"sha256": "ab" * 32},
    )
    return Package(
        name=canonicalize_name(name),
        version=Version(version),
        wheels=[wheel],
        tool={"abilock": {"channel": channel}},
    )


def lock_of(*packages: Package, python: str | None = None) -> Pylock:
    here = "{}.{}".format(*sys.version_info[:2])
    target = {"cuda": "13.0", "arch": ["sm_120"], "python": python or here, "machine": "x86_64"}
    pair = {"extension": "sgl-kernel 0.3.21+cu130", "torch": "torch 2.9.1+cu130"}
    return Pylock(
        lock_version=Version("1.0"),
        created_by="abilock",
        packages=list(packages),
        tool={
            "abilock": {
                "requests": ["a"],
                "target": target,
                "pairs": [pair | {"grade": "reported"}],
            }
        },
    )


def install(directory: Path) -> None:
    for release, files in INSTALLED.items():
        name, version = release.split()
        info = f"{name.replace('-', '_')}-{version}.dist-info"
        rows = {
            **files,
            f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
            f"{info}/INSTALLER": "uv",
        }
        for path, text in rows.items():
            (directory / path).parent.mkdir(parents=True, exist_ok=True)
            (directory / path).write_text(text, encoding="utf-8")
        record = "".join(f"{path},sha256=abc,1\n" for path in rows)
        (directory / info / "RECORD").write_text(f"{record}{info}/RECORD,,\n", encoding="utf-8")


class Run(NamedTuple):
    code: int
    out: str
    record: dict[str, Any]


def run(directory: Path, lock: Pylock, *arguments: str, gpus: bool = False) -> Run:
    script = directory / "smoke.py"
    script.write_text(export(lock, "smoke", source="pylock.toml"), encoding="utf-8")
    where = {"PYTHONPATH": str(directory / "site")} | ({"GPUS": "1"} if gpus else {})
    command = [sys.executable, "-S", str(script), "-o", str(directory / "smoke.json"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=where, check=False)
    path = directory / "smoke.json"
    record = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if record:
        jsonschema.Draft202012Validator(load_schema("smoke")).validate(record)
    return Run(done.returncode, done.stdout + done.stderr, record)


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Run:
    directory = tmp_path_factory.mktemp("smoke")
    install(directory / "site")
    lock = lock_of(
        locked("torch", "2.9.1+cu130", "pytorch"),
        locked("sgl-kernel", "0.3.21+cu130", "sgl-project"),
        *(locked(*release.split()) for release in list(INSTALLED)[2:-1]),
        locked("other", "1.0"),
        locked("gone", "1.0"),
    )
    return run(directory, lock, gpus=True)


def test_all_that_fails_is_told_at_once(everything: Run) -> None:
    assert everything.code == 1
    assert everything.out == (
        "pylock.toml: CUDA 13.0, sm_120\n"
        "  imports  4 of 11 packages, 2 bring no module\n"
        "  GPU 0    RTX 0, sm_120\n"
        "  GPU 1    RTX 1, sm_121, which the lock is not for\n"
        "  kernels  5 of 6 ran\n"
        "failed: bad 1.0\n"
        "  import bad: ModuleNotFoundError: No module named 'missing_thing'\n"
        "failed: crash 1.0\n"
        "  import crash: killed by SIGSEGV\n"
        "absent: gone 1.0: not installed\n"
        "failed: leaves 1.0\n"
        "  import leaves: SystemExit: go away\n"
        "absent: other 1.0: 2.0 is there\n"
        "beside: sgl-kernel 0.3.21+cu130\n"
        "  import deep_gemm: AssertionError: Hopper alone\n"
        "beside: space-dsl 1.0\n"
        "  import space_dsl.parts.other: ImportError: by a path file\n"
        "failed: torchvision 0.24.1\n"
        "  torchvision.ops.nms on GPU 1: RuntimeError: no kernel image is available\n"
        "verdict: failed\n"
        f"Wrote {everything.out.rpartition('Wrote ')[2]}"
    )


def test_the_record(everything: Run) -> None:
    record = everything.record
    assert record["verdict"] == "failed"
    assert {row["name"]: row["result"] for row in record["packages"]} == {
        "bad": "failed",
        "crash": "failed",
        "gone": "absent",
        "good": "imported",
        "leaves": "failed",
        "nvidia-libs": "unknown",
        "other": "absent",
        "sgl-kernel": "ran",
        "space-dsl": "unknown",
        "torch": "ran",
        "torchvision": "failed",
    }
    crash = next(row for row in record["packages"] if row["name"] == "crash")
    assert [(m["name"], m["result"]) for m in crash["modules"]] == [
        ("crash", "crashed"),
        ("crash_too", "imported"),
    ]
    assert record["pairs"] == [
        {
            "extension": "sgl-kernel 0.3.21+cu130",
            "torch": "torch 2.9.1+cu130",
            "grade": "reported",
            "result": "ran",
        }
    ]
    assert record["host"]["torch_cuda"] == "13.0"
    assert [gpu["arch"] for gpu in record["gpus"]] == ["sm_120", "sm_121"]
    assert record["kernels"][0]["call"] == "torch.ops.sgl_kernel.silu_and_mul"


def test_a_set_that_ran_is_learned_as_such(tmp_path: Path) -> None:
    install(tmp_path / "site")
    lock = lock_of(
        locked("torch", "2.9.1+cu130"), locked("sgl-kernel", "0.3.21"), locked("good", "1.0")
    )
    code, out, record = run(tmp_path, lock, gpus=True)
    assert (code, record["verdict"]) == (0, "ran"), out
    learned = observe_record(tmp_path / "smoke.json")
    assert isinstance(learned, ObservedSet)
    assert learned.grade is Grade.RAN
    assert {str(name): str(v) for name, v in learned.packages.items()} == {
        "torch": "2.9.1+cu130",
        "sgl-kernel": "0.3.21",
    }
    assert list(map(str, learned.archs)) == ["sm_120", "sm_121"]


def test_without_a_gpu_it_says_so(tmp_path: Path) -> None:
    install(tmp_path / "site")
    lock = lock_of(locked("torch", "2.9.1+cu130"), locked("good", "1.0"))
    code, out, record = run(tmp_path, lock)
    assert (code, record["verdict"], record["kernels"]) == (4, "no-gpu", [])
    assert "  imports  2 of 2 packages\n  no GPU: imports only\n" in out


def test_another_python_is_refused(tmp_path: Path) -> None:
    code, out, record = run(tmp_path, lock_of(locked("good", "1.0"), python="3.9"))
    assert (code, record) == (2, {})
    assert "the lock is for 3.9: run it with that one" in out


@pytest.mark.parametrize(
    ("files", "names"),
    [
        (["yaml/__init__.py", "yaml/loader.py", "_yaml/__init__.py"], ["yaml", "_yaml"]),
        (["google/protobuf/__init__.py", "google/_upb/_message.abi3.so"], ["google.protobuf"]),
        (["nvidia/__init__.py", "nvidia/cublas/__init__.py"], ["nvidia"]),
        (["six.py", "six-1.dist-info/x.py", "../../../bin/tool.py"], ["six"]),
        (
            ["flash_attn/__init__.py", "flash_attn_2_cuda.abi3.so"],
            ["flash_attn", "flash_attn_2_cuda"],
        ),
        (["lib.cpython-399-x86_64-linux-gnu.so", "tests/__init__.py", "no-name.py"], []),
    ],
)
def test_modules_of_files(files: list[str], names: list[str]) -> None:
    assert [row["name"] for row in modules_of(files)] == names
