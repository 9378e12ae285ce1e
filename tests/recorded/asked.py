"""The requests: every command, with good input and bad, over what is shipped and a small server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product

HERE = ("--machine", "x86_64", "--glibc", "2.35")
AARCH64 = ("--machine", "aarch64", "--glibc", "2.39")
SM120 = ("--cuda", "13.0", "--arch", "sm120", "--python", "3.12", *HERE)
SM90 = ("--cuda", "12.8", "--arch", "sm90", "--python", "3.12", *HERE)
GRACE = ("--cuda", "13.0", "--arch", "sm100", "--python", "3.12", *AARCH64)
TARGETS = {
    "sm120": SM120,
    "sm90": SM90,
    "grace": GRACE,
    "sm80": ("--cuda", "12.6", "--arch", "sm80,sm86", "--python", "3.11", *HERE),
    "sm121": ("--cuda", "13.0", "--arch", "sm121", "--python", "3.13", *HERE),
    "old-glibc": (*SM120, "--python", "3.10", "--glibc", "2.27"),
    "old-driver": (*SM120, "--driver", "550.54.15"),
}
CHECK = "_ZN3c104cuda29c10_cuda_check_implementationEiPKcS2_ib"
SITE = "/opt/venv/lib/python3.12/site-packages"

Words = dict[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Asked:
    """One command line; ``files`` lie in its directory, ``at`` says which world it runs in."""

    name: str
    words: tuple[str, ...]
    files: Mapping[str, str] = field(default_factory=dict)
    at: str = "offline"


def asked() -> Iterator[Asked]:
    """All of them, always in this order."""
    yield from _twice("resolve", RESOLVE, "--offline", "--no-cache", "-o", "pylock.toml")
    yield from _twice("why", WHY, "--offline", "--no-cache")
    yield from _errors()
    yield from _checked()
    yield from _twice("inspect", INSPECT, "--offline", "--no-cache")
    yield from _twice("diff", DIFF, "--offline", "--no-cache", "--python", "3.12", *HERE[:2])
    yield from _twice("target", TARGET)
    yield from _twice("knowledge", KNOWLEDGE)
    for fact in ("blackwell-sm120-cu130-2026-02", "13.0", "flashinfer", "moon"):
        yield Asked(f"knowledge show {fact}", ("knowledge", "show", fact))
    yield from _locks()
    yield from _served()


def _twice(
    command: str,
    requests: Words,
    *options: str,
    at: str = "offline",
    files: Mapping[str, str] | None = None,
) -> Iterator[Asked]:
    """Each as text and as JSON."""
    for (name, words), form in product(requests.items(), ("text", "json")):
        words = (command, *words, *options, "--format", form)
        yield Asked(f"{command} {name} {form}", words, files or {}, at)


RESOLVE: Words = {
    **{f"default {name}": target for name, target in TARGETS.items()},
    "default newest": (*SM120, "--prefer", "newest"),
    "default without tuples": (*SM120, "--no-tuples"),
    "default strict": (*SM120, "--strict"),
    "torch": ("torch", *SM120),
    "torch 2.10": ("torch==2.10.0", *SM90),
    "torch sgl-kernel before": ("torch", "sgl-kernel", *SM120, "--exclude-newer", "2025-12-01"),
    "conflict": ("torch==2.10.0", "sgl-kernel==0.3.21", *SM120),
    "sglang": ("sglang==0.5.9", *SM120),
    "nightly": ("torch", "--pre", *SM120),
    "nothing": ("no-such-project", *SM120),
    "no cuda": ("torch", *SM120[2:]),
    "bad requirement": ("torch==", *SM120),
    "unknown channel": ("torch", "--channel", "moon", *SM120),
    "extra": ("torch[opt-einsum]>=2.9", *SM120),
}
STACK = ("torch", "sgl-kernel", "flashinfer-python")
WHY: Words = {
    "pair of the report": ("torch==2.10.0+cu130", "sgl-kernel==0.3.21+cu130", *SM120),
    "pair that works": ("torch==2.9.1+cu130", "sgl-kernel==0.3.21+cu130", *SM120),
    "default": (*STACK, *SM120),
    "default sm90": (*STACK, *SM90),
    "default grace": (*STACK, *GRACE),
    "the mix": ("sglang==0.5.9", "flashinfer-python==0.6.4", *SM120),
    "vllm": ("vllm==0.15.0", "torch==2.9.1", *SM120),
    "torch alone": ("torch==2.9.1", *TARGETS["old-driver"]),
    "old torch": ("torch==2.6.0", *SM120),
    "ranges": ("torch>=2.10", "sgl-kernel<0.3.22", *SM120),
    "torchao": ("torch==2.9.1", "torchao==0.9.0", *SM120),
    "torchvision": ("torch==2.11.0", "torchvision==0.25.0", *SM120),
    "flash-attn": ("torch==2.8.0", "flash-attn==2.8.3", *SM90),
    "unknown": ("no-such-project==1", *SM120),
    "no tuples": ("torch==2.10.0", "sgl-kernel==0.3.21", "--no-tuples", *SM120),
    "verbose": ("torch==2.10.0", "sgl-kernel==0.3.21", "-v", *SM120),
    "two torches": ("torch==2.9.1", "torch==2.10.0", *SM120),
}
EXTENSION = "ext-1.0-cp312-cp312-manylinux_2_17_x86_64.whl"
INSPECT: Words = {
    "built": (EXTENSION,),
    "two": (EXTENSION, "pure-1.0-py3-none-any.whl"),
    "recorded": ("sgl-kernel==0.3.21", "--python", "3.12", "--machine", "x86_64"),
    "unknown": ("no-such-project==1",),
    "missing": ("missing-1.0-py3-none-any.whl",),
    "no wheel": ("words.txt",),
}
DIFF: Words = {
    "9 to 10": ("torch==2.9.1", "torch==2.10.0"),
    "8 to 9": ("torch==2.8.0", "torch==2.9.1"),
    "used by": ("torch==2.9.1", "torch==2.10.0", "--used-by", "sgl-kernel==0.3.21"),
    "used by a file": ("torch==2.9.1", "torch==2.10.0", "--used-by", EXTENSION),
    "no release": ("torch==9.9", "torch==2.10.0"),
    "other": ("numpy==1", "numpy==2"),
}
TARGET: Words = {
    "sm120": SM120,
    "grace": (*GRACE, "--toolkit", "12.8"),
    "gpu": ("--gpu", "RTX PRO 6000", "--cuda", "13.0", "--python", "3.12", *HERE),
    "wrong": ("--cuda", "13.7", "--arch", "sm120"),
}
KNOWLEDGE: Words = {
    "list": ("list",),
    **{f"list {kind}": ("list", kind) for kind in ("tuple", "cuda", "gpu", "channel", "skew")},
    "validate": ("validate",),
}

_COMMON_OPS = f"""Traceback (most recent call last):
  File "{SITE}/sgl_kernel/__init__.py", line 5, in <module>
    common_ops = _load_architecture_specific_ops()
ImportError:
[sgl_kernel] CRITICAL: Could not load any common_ops library!

GPU Info:
- Compute capability: 120

- ImportError: {SITE}/sgl_kernel/sm100/common_ops.abi3.so: undefined symbol: {CHECK}
"""
_FLASH = (
    f"ImportError: {SITE}/flash_attn_2_cuda.cpython-312-x86_64-linux-gnu.so: undefined symbol: "
    "_ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE\n"
)
_FREEZE = "numpy==2.0.0\nsgl-kernel==0.3.21+cu130\ntorch==2.10.0+cu130\n-e git+ssh://x/y#egg=z\n"
_OPEN = ": cannot open shared object file: No such file or directory"
ERRORS = {
    "common ops": _COMMON_OPS,
    "flash-attn": f"{_FLASH}torch==2.6.0\nflash-attn==2.7.4.post1+cu12torch2.6cxx11abiTRUE\n",
    "libnvrtc": f"libnvrtc.so.13{_OPEN}\ntorch==2.9.1+cu130\nnvidia-cuda-nvrtc-cu12==12.8.93\n",
    "another major": f"torch==2.9.1+cu130\nsgl-kernel==0.3.17\nlibnvrtc.so.12{_OPEN}",
    "no driver": f"libcuda.so.1{_OPEN}",
    "system": f"libnuma.so.1{_OPEN}",
    "collision": "nvidia-nccl-cu12==2.29.3\nnvidia-nccl-cu13==2.29.7\ntorch==2.12.0+cu130\n"
    "libtorch_cuda.so: undefined symbol: ncclCommResume",
    "shadowed": "libcusparse.so.12: undefined symbol: __nvJitLinkComplete_12_4, version "
    "libnvJitLink.so.12",
    "glibc": "/lib/libc.so.6: version `GLIBC_2.32' not found (required by "
    f"{SITE}/flash_attn_2_cuda.cpython-312.so)",
    "gpu without code": "NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible "
    "with the current PyTorch installation. The current PyTorch install supports CUDA "
    "capabilities sm_80 sm_90.",
    "no kernel": "no kernel image is available for execution on the device",
    "old driver": "The NVIDIA driver on your system is too old (found version 12080)\n"
    "torch==2.11.0+cu130",
    "ptx": "PTX was compiled with an unsupported toolchain\ntorch==2.9.0+cu129",
    "old string": "undefined symbol: _ZN3c105ErrorC2ENS_14SourceLocationESs",
    "other": "libfoo.so: undefined symbol: foo_bar",
    "none": "ValueError: x",
    "common ops alone": "Could not load any common_ops library",
}


def _errors() -> Iterator[Asked]:
    start = ("--error", "error.txt", "--offline", "--no-cache", *HERE)
    for name, text in ERRORS.items():
        files = {"error.txt": text, "freeze.txt": _FREEZE}
        yield from _twice("why", {f"--error {name}": start}, files=files)
    files = {"error.txt": _COMMON_OPS, "freeze.txt": _FREEZE}
    more: Words = {
        "and a machine": (*start, *SM120[:6]),
        "and a freeze": (*start, "-r", "freeze.txt"),
        "and both": (*start, "-r", "freeze.txt", *SM120[:6]),
    }
    for name, words in more.items():
        yield from _twice("why", {f"--error common ops {name}": words}, files=files)


LOCKED = {
    "works.txt": "torch==2.9.1+cu130\nsgl-kernel==0.3.21+cu130\n",
    "fails.txt": "torch==2.10.0+cu130\nsgl-kernel==0.3.21+cu130\n",
    "free.txt": "torch>=2.9\n",
    "empty.txt": "",
    "uv.lock": 'version = 1\nrequires-python = ">=3.12"\n\n[[package]]\nname = "torch"\n'
    'version = "2.9.1"\nsource = { registry = "https://index.test/simple" }\n\n[[package]]\n'
    'name = "sgl-kernel"\nversion = "0.3.21"\n'
    'source = { registry = "https://index.test/simple" }\n',
    "poetry.lock": '[[package]]\nname = "torch"\nversion = "2.10.0"\noptional = false\n'
    'files = []\n\n[metadata]\nlock-version = "2.1"\n',
    "broken.lock/uv.lock": "nothing of the kind",
}
ENVIRONMENTS = ("sound", "broken", "leftover", "collision", "empty")


def _checked() -> Iterator[Asked]:
    offline = ("--offline", "--no-cache")
    files: Words = {f"lock {name}": (name, *offline, *SM120) for name in LOCKED}
    files["lock grace"] = ("works.txt", *offline, *GRACE)
    files["nothing"] = ("nowhere", *offline)
    yield from _twice("check", files, files=LOCKED)
    there = ("--offline", "--no-cache", "--cuda", "13.0", "--arch", "sm120")
    shapes: Words = {name: (f"../environments/{name}", *there) for name in ENVIRONMENTS}
    shapes["freeze"] = ("../environments/sound", *there, "--freeze", "pylock.frozen.toml")
    yield from _twice("check", shapes)


def _locks() -> Iterator[Asked]:
    """What is made of a lock that the first request wrote."""
    first = "../000/pylock.toml"
    for form in ("uv", "pip", "constraints"):
        yield Asked(f"export {form}", ("export", first, "--to", form))
    yield Asked("export nothing", ("export", "nowhere.toml"))
    words = ("download", "../000/pylock.toml", "--offline", "--no-cache")
    yield Asked("download offline", words)
    yield from _twice("check", {"lock made": (first, "--offline", "--no-cache", *SM120)})
    for name in ("--version", "--help"):
        yield Asked(name, (name,))
    for name in ("resolve", "why", "check", "inspect", "knowledge"):
        yield Asked(f"{name} --help", (name, "--help"))


def _served() -> Iterator[Asked]:
    """Over a server on this machine, which has small wheels."""
    only = ("--channel", "default", "--no-cache")
    for shape, at in (("json", "server"), ("html", "html")):
        requests: Words = {
            f"served {shape}": ("app", *only, *SM120, "-o", "pylock.toml"),
            f"served {shape} older": ("app", "lib<2", *only, *SM120, "-o", "pylock.toml"),
            f"served {shape} conflict": ("app>=2", "lib", *only, *SM120, "-o", "pylock.toml"),
            f"served {shape} absent": ("moon", *only, *SM120, "-o", "pylock.toml"),
        }
        yield from _twice("resolve", requests, at=at)
        yield from _twice("why", {f"served {shape}": ("app", "lib<2", *only, *SM120)}, at=at)
    yield from _twice("inspect", {"served": ("ext==1.0", *only, "--python", "3.12")}, at="server")
    locked = {"locked.txt": "app==1.0\nlib==2.0\n"}
    request: Words = {"served lock": ("locked.txt", *only, *SM120)}
    yield from _twice("check", request, at="server", files=locked)
