"""A small database that is sound; tests break one thing of it, or add its facts to another's."""

from __future__ import annotations

import json
import re
from pathlib import Path

from packaging.version import Version

from resolver.compat.load_facts import knowledge_path
from resolver.compat.snapshot_record import Record, write_snapshot

CHANNELS = """
[[channel]]
id = "pytorch"
title = "PyTorch stable"
url = "https://download.pytorch.org/whl/{cuda}"
projects = ["torch"]
cuda-tags = ["cu129", "cu130"]
source = "somewhere"
date = 2026-01-01
"""

CUDA = """
[[release]]
id = "cuda-12.9"
version = "12.9"
archs = ["sm_70", "sm_90", "sm_120"]
archs-source = "ptxas"
driver-family = "525.60.13"
driver-packaged = "575.51.03"
driver-source = "guide"
date = 2026-01-01

[[release]]
id = "cuda-13.0"
version = "13.0"
archs = ["sm_90", "sm_120"]
archs-source = "ptxas"
driver-family = "580"
driver-packaged = "580.65.06"
driver-source = "guide"
date = 2026-01-01
"""

GPUS = """
[[gpu]]
id = "h100"
names = ["NVIDIA H100", "H100"]
arch = "9.0"
source = "list"
date = 2026-01-01
"""

BUILDS = """
[[build]]
id = "torch-public"
project = "torch"
versions = ">=2.9,<2.10"
machine = "x86_64"
cuda = "12.9"
codes = ["sm_90", "compute_90"]
cxx11-abi = true
grade = "measured"
source = "wheel"
date = 2026-01-01
"""

SKEWS = """
[[skew]]
id = "pair"
projects = ["one", "two"]
source = "code"
remedy = "Install one and two in one version."
date = 2026-01-01
"""

GUARDS = """
[[guard]]
id = "one-cuda"
project = "one"
versions = "<2"
same = "minor"
source = "code"
date = 2026-01-01
"""

WHEELS = """
[[wheels]]
id = "one-1"
project = "one"
versions = "<2"
python = ">=3.9,<3.14"
source = "matrix"
date = 2026-01-01
"""

PAIRS = """
[[pair]]
id = "one-1"
project = "one"
versions = "==1.0"
torch = "==2.9.1"
source = "Requires-Dist of three 3.0"
date = 2026-01-01
"""

SUCCESSORS = """
[[successor]]
id = "two"
project = "one"
successor = "two"
since = "2.0"
source = "the project's page"
date = 2026-01-01
"""

LIBRARIES = """
[[library]]
id = "cudart-cu13"
soname = "libcudart.so.13"
cuda = 13
project = "nvidia-cuda-runtime"
directory = "nvidia/cu13/lib"
source = "wheel"
date = 2026-01-01
"""

GOOD = """
id = "good"
title = "torch 2.9.1 on CUDA 13.0"
verdict = "good"
grade = "reported"
source = "report"
date = 2026-01-01
anchor = "torch"
exclude-newer = 2026-01-02
cuda = ["13.0"]
archs = ["sm_120"]
machines = ["x86_64"]
python = ">=3.12,<3.13"

[packages]
torch = "2.9.1+cu130"

[channels]
torch = "pytorch"
"""

BAD = """
id = "bad"
title = "torch with an extension"
verdict = "bad"
grade = "reported"
source = "report"
date = 2026-01-01

[packages]
torch = "2.10.0"
extension = "1.0"

[reason]
code = "missing-symbol"
grade = "reported"
subject = "extension 1.0"
object = "torch 2.10.0"
needs = "f(int)"
found = "f(unsigned int)"
symbols = ["_Z1fi"]
works-with = "torch >=2.9,<2.10"
evidence = "report"
remedy = "Use torch 2.9.1."
"""

RULES = """
[[rule]]
id = "kernel"
projects = ["kernel"]
pattern = "kernel/.*"
load = "required"
source = "code"
date = 2026-01-01
"""

PRELOADS = """
[[preload]]
id = "torch-2.9"
versions = ">=2.9"
directories = ["nvidia/{folder}/lib"]
mapped = ""
always = []
fallback = ["cublas:libcublas", "nvtx:libnvToolsExt?"]
lazy = []
source = "code"
date = 2026-01-01
"""

SYSTEM = """
[[system]]
id = "numa"
pattern = "libnuma.*"
title = "NUMA"
apt = "libnuma1"
dnf = "numactl-libs"
note = ""
source = "package"
date = 2026-01-01
"""

MESSAGES = """
[[message]]
id = "nms"
patterns = ["operator torchvision::{op} does not exist"]
code = "version-conflict"
place = "set"
subject = "torchvision"
meaning = "{op} did not register"
fix = "Install both as one pair."
ask = "pip freeze"
examples = ["RuntimeError: operator torchvision::nms does not exist"]
source = "somewhere"
date = 2026-01-01
"""

MODULES = """
[[module]]
id = "flash-attn"
names = ["flash_attn_2_cuda"]
projects = ["flash-attn"]
source = "members of a wheel"
date = 2026-01-01
"""

SETS = """
[[root]]
id = "sglang"
project = "sglang"
kind = "pins"
source = "its metadata"
date = 2026-01-01
"""
NATIVES = """
[[native]]
id = "system"
projects = ["numpy"]
needs = "system"
source = "wheels"
date = 2026-01-01
"""

SONAMES = """
[[soname]]
id = "cuda-11"
pattern = "libcudart[.]so[.]11[.]0"
code = "cuda-mismatch"
place = "set"
title = "CUDA 11"
meaning = "it is a build for CUDA 11"
fix = "Use another release of {whom}."
source = "members of a wheel"
date = 2026-01-01
"""

RECIPES = """
[[recipe]]
id = "apex"
projects = ["apex"]
index = "another"
repository = "NVIDIA/apex"
build = "pip install --no-build-isolation ."
note = "Another project has the name."
source = "README"
date = 2026-01-01
"""

IMAGES = """
[[distro]]
id = "ubuntu24.04"
image = "ubuntu:24.04"
tag = "ubuntu24.04"
glibc = "2.39"
source = "its package libc6"
date = 2026-01-01

[[tool]]
id = "uv"
image = "ghcr.io/astral-sh/uv:0.13.0"
source = "its documentation"
date = 2026-01-01

[[image]]
id = "cuda-13.0"
cuda = "13.0"
tag = "13.0.2"
distros = ["ubuntu24.04"]
source = "dist/13.0.2"
date = 2026-01-01
"""


def unmeasured(root: Path) -> Path:
    """The shipped facts and load rules in ``root``, and nothing that was measured."""
    (root / "abi").mkdir(parents=True)
    for path in (*knowledge_path().glob("*.toml"), knowledge_path() / "abi/load_rules.toml"):
        (root / path.relative_to(knowledge_path())).symlink_to(path)
    return root


FILES = {
    "images.toml": IMAGES,
    "sonames.toml": SONAMES,
    "recipes.toml": RECIPES,
    "messages.toml": MESSAGES,
    "modules.toml": MODULES,
    "natives.toml": NATIVES,
    "sets.toml": SETS,
    "abi/load_rules.toml": RULES,
    "preloads.toml": PRELOADS,
    "system_libraries.toml": SYSTEM,
    "channels.toml": CHANNELS,
    "cuda.toml": CUDA,
    "gpus.toml": GPUS,
    "builds.toml": BUILDS,
    "skews.toml": SKEWS,
    "guards.toml": GUARDS,
    "wheels.toml": WHEELS,
    "pairs.toml": PAIRS,
    "successors.toml": SUCCESSORS,
    "libraries.toml": LIBRARIES,
    "tuples/good.toml": GOOD,
    "tuples/bad.toml": BAD,
}


def torch_record(**changes: object) -> Record:
    values: dict[str, object] = {
        "channel": "pytorch",
        "filename": "torch-2.9.1+cu130-cp312-cp312-manylinux_2_28_x86_64.whl",
        "project": "torch",
        "version": Version("2.9.1+cu130"),
        "source": "uv.lock of someone/something",
        "date": "2026-02-01",
        "directories": ("cu130",),
        "url": "https://download.pytorch.org/whl/cu130/torch-2.9.1%2Bcu130-cp312.whl",
        "sha256": "e7" * 32,
        "requires_python": ">=3.10",
        "requires_dist": ("filelock",),
    }
    return Record(**(values | changes))  # type: ignore[arg-type]


def write_database(place: Path) -> None:
    """Write the files of the small database."""
    (place / "tuples").mkdir(parents=True)
    (place / "abi").mkdir()
    for name, text in FILES.items():
        (place / name).write_text(text, encoding="utf-8")
    write_snapshot(place / "snapshot", [torch_record()])


def altered(text: str, **values: str | list[str]) -> str:
    """A fact of the small database with other values: ``altered(GPUS, id="mine")``."""
    for key, value in values.items():
        assert re.search(rf"(?m)^{key} = ", text), key
        text = re.sub(rf"(?m)^{key} = .*$", f"{key} = {json.dumps(value)}", text)
    return text
