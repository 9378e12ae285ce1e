"""``why --error``: pasted errors explained with nothing but what is shipped."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from resolver.render.render_json import load_schema
from tests.cli.conftest import Result

Run = Callable[..., Result]
SITE = "/opt/venv/lib/python3.12/site-packages"
CHECK = "_ZN3c104cuda29c10_cuda_check_implementationEiPKcS2_ib"
# As sgl_kernel/load_utils.py raises it.
RAW = f"""Traceback (most recent call last):
  File "{SITE}/sgl_kernel/__init__.py", line 5, in <module>
    common_ops = _load_architecture_specific_ops()
ImportError:
[sgl_kernel] CRITICAL: Could not load any common_ops library!

GPU Info:
- Compute capability: 120
- Expected variant: SM120 (precise math for compatibility)

Error details from previous import attempts:
- ImportError: {SITE}/sgl_kernel/sm100/common_ops.abi3.so: undefined symbol: {CHECK}
- ModuleNotFoundError: No module named 'common_ops'
"""
FREEZE = "numpy==2.0.0\nsgl-kernel==0.3.21+cu130\ntorch==2.10.0+cu130\n-e git+ssh://x/y#egg=z\n"
OPTIONS = ("--offline", "--machine", "x86_64", "--glibc", "2.35")


def flat(text: str) -> str:
    """A text without its line breaks, and commands without theirs."""
    return " ".join(text.replace("\\\n", " ").split())


@pytest.fixture
def why(run: Run, place: Path) -> Run:
    def ask(text: str, *options: str) -> Result:
        (place / "error.txt").write_text(text, encoding="utf-8")
        return run("why", "--error", "error.txt", *OPTIONS, *options)

    return ask


SEED = """undefined-symbol: sgl-kernel was compiled against another torch than the one
that is installed
  fix         Use torch >=2.9,<2.10 with sgl-kernel 0.3.21, or a release of the
              package that was built for the torch you have.
  next        pip freeze > freeze.txt; abilock why --error FILE -r freeze.txt \\
                --cuda VERSION
  message     ImportError: .../sgl_kernel/sm100/common_ops.abi3.so: undefined
              symbol: _ZN3c104cuda29c10_cuda_check_implementationEiPKcS2_ib
  needs       c10::cuda::c10_cuda_check_implementation(int, char const*, char
              const*, int, bool)
  exported    by libc10_cuda.so of torch >=2.1 (or older),<2.10
  later       torch 2.10.0 has c10::cuda::c10_cuda_check_implementation(int,
              char const*, char const*, unsigned int, bool)
  wheels      sgl-kernel 0.3.18.post1 to 0.3.21 need it: link with torch
              >=2.9,<2.10
  wheels      sgl-kernel 0.3.0 to 0.3.18 need it: link with torch >=2.8,<2.9
  wheels      sgl-kernel 0.1.7 to 0.2.9 need it: link with torch >=2.7,<2.8
  known by    the exported symbols of every torch release from 2.1 on

Taken from what was given: sm_120, in the text; Python 3.12, in the text.
To have the whole set judged and a cure solved, add:
  --cuda VERSION: the CUDA release of the machine
  -r freeze.txt (pip freeze > freeze.txt): what is installed
"""


def test_the_raw_import_error(why: Run) -> None:
    result = why(RAW)
    assert result.out == SEED
    assert (result.code, result.err) == (0, "")


def test_with_the_cuda_release_the_cure_is_solved(why: Run) -> None:
    result = why(RAW, "--cuda", "13.0")
    assert (
        "Cure, solved for this machine: abilock resolve torch sgl-kernel --cuda 13.0 --arch sm120 "
        "--python 3.12 --machine x86_64 --glibc 2.35 --offline "
        "locks sgl-kernel 0.3.21+cu130 with torch 2.9.1+cu130 (reported) "
    ) in flat(result.out)
    assert result.code == 0


def test_with_a_freeze_all_that_is_missing_is_computed(why: Run, place: Path) -> None:
    (place / "freeze.txt").write_text(FREEZE, encoding="utf-8")
    result = why(RAW, "-r", "freeze.txt")
    assert result.code == 1
    assert len(result.out.splitlines()) <= 40
    assert result.out.startswith(
        "missing-symbol: sgl-kernel 0.3.21+cu130 with torch 2.10.0+cu130\n"
    )
    assert "As installed, torch==2.10.0+cu130 with sgl-kernel==0.3.21+cu130 cannot work" in (
        result.out
    )
    assert "_ZN3c1013MessageLoggerC1EPKcii" in result.out  # the second one, which no message names
    assert (
        "Cure, solved for this machine: torch 2.9.1+cu130 (not 2.10.0+cu130) (reported) "
        "abilock resolve sgl-kernel==0.3.21+cu130 torch==2.9.1+cu130 --cuda 13.0"
    ) in flat(result.out)


def test_a_server_that_pins_torch_is_kept_and_a_symbol_is_told_once(why: Run, place: Path) -> None:
    freeze = "sglang==0.5.9\nsgl-kernel==0.3.21\ntorch==2.10.0\n"
    (place / "freeze.txt").write_text(freeze, encoding="utf-8")
    result = why(RAW, "-r", "freeze.txt", "--cuda", "13.0", "--python", "3.12")
    assert (
        "abilock resolve sgl-kernel==0.3.21+cu130 sglang==0.5.9 torch==2.9.1+cu130 --cuda 13.0"
    ) in flat(result.out)
    assert result.out.count("  symbol  ") == 1


FLASH = (
    f"ImportError: {SITE}/flash_attn_2_cuda.cpython-312-x86_64-linux-gnu.so: undefined symbol: "
    "_ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE\n"
)


@pytest.mark.parametrize(
    ("set_", "fix"),
    [
        pytest.param(
            "torch==2.6.0\nflash-attn==2.7.4.post1+cu12torch2.6cxx11abiTRUE",
            "Use the other build of the same release: "
            "flash-attn==2.7.4.post1+cu12torch2.6cxx11abifalse.",
            id="listed",
        ),
        pytest.param(
            "torch==2.4.0\nflash-attn==2.7.4.post1+cu12torch2.4cxx11abiTRUE",
            "Use the cxx11abiFALSE build of the same release, flash-attn 2.7.4.post1, where its "
            "project publishes one for this torch.",
            id="not-listed",
        ),
        pytest.param(
            "torch==2.8.0\nflash-attn==2.8.3+cu12torch2.7cxx11abiTRUE",
            "Use torch >=2.7,<2.8, or a release of the package",
            id="torch-has-that-abi",
        ),
        pytest.param(
            "torch==2.6.0\nflash-attn==2.7.4.post1+cu12torch2.4cxx11abiTRUE",
            "Install a release of the package that was built for the torch you have.",
            id="for-another-torch",
        ),
    ],
)
def test_an_abi_fault_asks_for_the_other_build(why: Run, set_: str, fix: str) -> None:
    result = why(FLASH + set_)
    assert f" fix {fix}" in flat(result.out)
    assert "abilock resolve" not in result.out


@pytest.mark.parametrize(
    ("text", "fix", "wheels"),
    [
        pytest.param(
            f"torch 2.8.0\n{SITE}/foo_C.so: undefined symbol: "
            "_ZNK3c106SymInt22maybe_as_int_slow_pathEv",
            "Use torch >=2.9, or a release",
            0,
            id="nobody-known-needs-it",
        ),
        pytest.param(
            "torch 2.8.0\nundefined symbol: _ZNK3c106SymInt22maybe_as_int_slow_pathEv",
            "Use torch >=2.9, or a release",
            3,
            id="unrelated-wheels-do-not-widen-it",
        ),
        pytest.param(
            f"torch==2.10.0\nsgl-kernel==0.3.17\nundefined symbol: {CHECK}",
            "Use torch >=2.8,<2.9 with sgl-kernel 0.3.17, or a release",
            3,
            id="what-is-installed-narrows-it",
        ),
    ],
)
def test_the_torch_that_is_advised(why: Run, text: str, fix: str, wheels: int) -> None:
    result = why(text)
    assert f" fix {fix}" in flat(result.out)
    assert result.out.count("\n  wheels  ") == wheels


def test_a_gpu_that_was_named_is_not_asked_for(why: Run) -> None:
    result = why("no kernel image is available for execution on the device", "--arch", "sm61")
    assert "holds no device code that runs on sm61" in flat(result.out)
    assert "Say which GPU it is" not in result.out


def test_without_a_known_message_the_set_is_judged(why: Run, place: Path) -> None:
    (place / "freeze.txt").write_text(FREEZE, encoding="utf-8")
    machine = ("--cuda", "13.0", "--arch", "sm120", "--python", "3.12")
    result = why("ValueError: x", "-r", "freeze.txt", *machine)
    assert result.code == 1
    assert "As installed, torch==2.10.0+cu130 with sgl-kernel==0.3.21+cu130" in result.out
    assert (
        "Note: freeze.txt, line 4: z is left out, its address names no release. "
        "Note: the text holds no message that abilock knows: the set alone was judged."
    ) in flat(result.out)
    assert why("ValueError: x", "-r", "freeze.txt", *machine[2:]).code == 1


def test_without_an_error_a_freeze_is_read_alike(run: Run, place: Path) -> None:
    wheel = "sgl_kernel-0.3.21%2Bcu130-cp310-abi3-manylinux2014_x86_64.whl"
    freeze = f"torch==2.10.0+cu130\nsgl-kernel @ file:///tmp/{wheel}\n-e /src/z\nb @ file:///b\n"
    (place / "freeze.txt").write_text(freeze, encoding="utf-8")
    machine = ("--cuda", "13.0", "--arch", "sm120", "--python", "3.12")
    result = run("why", "-r", "freeze.txt", *OPTIONS, *machine)
    assert result.code == 1
    assert "torch==2.10.0+cu130 with sgl-kernel==0.3.21+cu130 on CUDA 13.0" in result.out
    assert "freeze.txt, line 3: an editable install is left out" in result.out
    assert "freeze.txt, line 4: b is left out, its address names no release" in result.out
    locked = run("resolve", "-r", "freeze.txt", *OPTIONS, *machine)
    assert locked.code == 1
    assert "freeze.txt, line 4: b is left out, its address names no release" in locked.err


def test_from_stdin(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(RAW.encode())))
    assert run("why", "--error", "-", *OPTIONS).out == SEED


@pytest.mark.parametrize("more", [(), ("-r", "freeze.txt"), ("--cuda", "13.0")])
def test_as_json(why: Run, place: Path, more: tuple[str, ...]) -> None:
    (place / "freeze.txt").write_text(FREEZE, encoding="utf-8")
    document = json.loads(why(RAW, *more, "--format", "json").out)
    jsonschema.validate(document, load_schema("why"))
    (fault,) = document["error"]["faults"]
    assert (fault["kind"], fault["symbol"], fault["library"]) == (
        "undefined-symbol",
        CHECK,
        "libc10_cuda.so",
    )
    assert fault["exported_by"] == "torch >=2.1 (or older),<2.10"
    assert document["verdict"] == ("rejected" if "-r" in more else "unknown")
    assert (document["target"] is None) is not bool(more)


EXPLAINED = [
    pytest.param(
        "torch==2.9.1+cu130\nsgl-kernel==0.3.17\nsgl_kernel: libnvrtc.so.12: cannot open shared "
        "object file: No such file or directory",
        ["2.9.1+cu130 is a build for CUDA 13.0", "would only uncover the next error"],
        id="library-of-another-major",
    ),
    pytest.param(
        "libnvrtc.so.13: cannot open shared object file\ntorch==2.9.1+cu130\n"
        "nvidia-cuda-nvrtc-cu12==12.8.93\nnvidia-cuda-nvrtc==13.0.88",
        ["leftover of another CUDA major: nvidia-cuda-nvrtc-cu12", "uv pip sync"],
        id="nvrtc-and-a-leftover",
    ),
    pytest.param(
        "libcuda.so.1: cannot open shared object file", ["no driver is installed"], id="no-driver"
    ),
    pytest.param(
        "libnuma.so.1: cannot open shared object file",
        ["libnuma.so.1, of libnuma", "sudo apt-get install libnuma1"],
        id="library-of-the-system",
    ),
    pytest.param(
        "nvidia-nccl-cu12==2.29.3\nnvidia-nccl-cu13==2.29.7\ntorch==2.12.0+cu130\n"
        "libtorch_cuda.so: undefined symbol: ncclCommResume",
        [
            "nvidia-nccl-cu12 and nvidia-nccl-cu13 write the same file",
            "Uninstall nvidia-nccl-cu12, then reinstall nvidia-nccl-cu13",
        ],
        id="collision",
    ),
    pytest.param(
        "libcusparse.so.12: undefined symbol: __nvJitLinkComplete_12_4, version libnvJitLink.so.12",
        ["libcusparse and libnvJitLink.so.12 are of different releases", "LD_LIBRARY_PATH"],
        id="shadowed",
    ),
    pytest.param(
        "/lib/libc.so.6: version `GLIBC_2.32' not found (required by "
        f"{SITE}/flash_attn_2_cuda.cpython-312.so)",
        [
            "flash-attn was built on a newer system: this one's glibc has no GLIBC_2.32",
            "Use a wheel for a glibc older than 2.32, at most this machine's (abilock resolve "
            "--glibc VERSION finds one), an image with glibc 2.32 or newer, or build flash-attn on "
            "this machine.",
        ],
        id="glibc",
    ),
    pytest.param(
        "version `CXXABI_1.3.15' not found", ["libstdc++ has no CXXABI_1.3.15"], id="cxxabi"
    ),
    pytest.param(
        "NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the current "
        "PyTorch installation. The current PyTorch install supports CUDA capabilities sm_80 sm_90.",
        ["holds no device code for NVIDIA GeForce RTX 5090 (sm_120)", "builds torch"],
        id="gpu-without-code",
    ),
    pytest.param(
        "Found GPU0 NVIDIA GB10 which is of cuda capability 12.1. Minimum and Maximum cuda "
        "capability supported by this version of PyTorch is (8.0) - (12.0)",
        ["a warning without effect: sm_120 code runs on NVIDIA GB10 (sm_121)"],
        id="gpu-served-by-a-lower-minor",
    ),
    pytest.param(
        "no kernel image is available for execution on the device",
        ["neither a cubin for it nor PTX", "--arch or --gpu"],
        id="no-kernel",
    ),
    pytest.param(
        "The NVIDIA driver on your system is too old (found version 12080)\ntorch==2.11.0+cu130",
        ["serves CUDA 12.8 at most", "driver 580 or newer", "--cuda 12.8"],
        id="old-driver",
    ),
    pytest.param(
        "PTX was compiled with an unsupported toolchain\ntorch==2.9.0+cu129",
        ["driver 575.51.03 or newer for PTX of CUDA 12.9"],
        id="toolchain",
    ),
    pytest.param("Error 803", ["the driver is too new for it, not too old"], id="803"),
    pytest.param("Error 804: x", ["on data-center GPUs only"], id="804"),
    pytest.param(
        "Could not load any common_ops library",
        ["the text does not hold the loader's own message", "Paste the whole error"],
        id="common-ops-alone",
    ),
    pytest.param(
        "undefined symbol: _ZN3c105ErrorC2ENS_14SourceLocationESs",
        ["old std::string (cxx11abiFALSE)", "of torch >=2.1 (or older),<2.7"],
        id="cxx11-abi",
    ),
    pytest.param(
        "libfoo.so: undefined symbol: foo_bar", ["neither torch's nor one of NVIDIA's"], id="other"
    ),
]


@pytest.mark.parametrize(("text", "expected"), EXPLAINED)
def test_what_an_error_means(why: Run, text: str, expected: list[str]) -> None:
    result = why(text)
    assert [words for words in expected if words not in flat(result.out)] == []
    assert result.err == ""


def test_a_text_without_a_known_error(why: Run) -> None:
    result = why("ValueError: x")
    assert result.code == 2
    assert result.err.startswith("error: the text holds no message that abilock knows\nhint: ")


def test_a_file_that_is_not_there(run: Run) -> None:
    result = run("why", "--error", "nowhere.txt")
    assert (result.code, result.err) == (
        2,
        "error: cannot read nowhere.txt: no such file or directory\n"
        "hint: name a file that holds the error, or - to paste it\n",
    )


def test_the_pair_of_the_report_is_answered_in_one_screen(run: Run) -> None:
    pair = ("torch==2.10.0+cu130", "sgl-kernel==0.3.21+cu130")
    result = run("why", *pair, *OPTIONS, "--cuda", "13.0", "--arch", "sm120", "--python", "3.12")
    assert result.code == 1
    assert len(result.out.splitlines()) <= 40
    signature = (
        "c10::cuda::c10_cuda_check_implementation(int, char const*, char const*, {}int, bool)"
    )
    for words in (
        f"needs       {signature.format('')}",
        f"found       {signature.format('unsigned ')}",
        "works with  torch >=2.9,<2.10",
        "abilock resolve sgl-kernel==0.3.21+cu130 torch==2.9.1+cu130 --cuda 13.0 --arch sm120",
    ):
        assert words in result.out
    assert "asked  " not in result.out  # nothing of what a snapshot lacks
