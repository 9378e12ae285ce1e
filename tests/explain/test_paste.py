"""What is read from texts as people paste them."""

from __future__ import annotations

import pytest
from packaging.utils import canonicalize_name

from resolver.diagnosis.file_owner import owners_of, owners_of_module
from resolver.diagnosis.paste_parser import parse_paste
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.model.pasted_error import (
    CompatLibrary,
    Fault,
    KnownMessage,
    MissingLibrary,
    MissingModule,
    MissingVersion,
    NoCommonOps,
    NoKernelImage,
    OldDriver,
    UndefinedSymbol,
    UnsupportedGpu,
    UnsupportedToolchain,
)

SITE = "/opt/venv/lib/python3.12/site-packages"
CHECK = "_ZN3c104cuda29c10_cuda_check_implementationEiPKcS2_ib"


@pytest.mark.parametrize("unit", ["z", "[", "a.", "/a", "lib", " \n"])
def test_a_line_of_any_length_is_read_once(unit: str) -> None:
    """Each letter of it was a beginning: minutes for what a core file or minified code holds."""
    text = f"{unit * (30_000 // len(unit))} undefined symbol: {CHECK}"
    (fault,) = parse_paste(text).faults
    assert isinstance(fault, UndefinedSymbol)
    assert fault.symbol == CHECK


def told(fault: Fault) -> str:
    """A fault in a word or two."""
    match fault:
        case UndefinedSymbol():
            return f"{fault.symbol} in {fault.file} of {fault.library}"
        case MissingLibrary():
            return fault.soname
        case MissingModule():
            return fault.module
        case MissingVersion():
            return f"{fault.version} of {fault.library} for {fault.file}"
        case UnsupportedGpu():
            return f"{fault.gpu} {fault.arch} {'..' if fault.is_range else ''}{fault.supported}"
        case OldDriver():
            return f"driver of {fault.serves}"
        case CompatLibrary():
            return str(fault.number)
        case KnownMessage():
            return fault.message.id
        case NoKernelImage() | UnsupportedToolchain() | NoCommonOps():
            return type(fault).__name__


FAULTS = [
    pytest.param(
        f"ImportError: {SITE}/sgl_kernel/common_ops.abi3.so: undefined symbol: {CHECK}",
        [f"{CHECK} in {SITE}/sgl_kernel/common_ops.abi3.so of None"],
        id="undefined-symbol",
    ),
    pytest.param(
        f"ImportError: undefined symbol: {CHECK}", [f"{CHECK} in None of None"], id="without-a-file"
    ),
    pytest.param(
        f"OSError: {SITE}/nvidia/cusparse/lib/libcusparse.so.12: undefined symbol: "
        "__nvJitLinkComplete_12_4, version libnvJitLink.so.12",
        [
            f"__nvJitLinkComplete_12_4 in {SITE}/nvidia/cusparse/lib/libcusparse.so.12 "
            "of libnvJitLink.so.12"
        ],
        id="of-a-versioned-library",
    ),
    pytest.param(
        "tomotwin/libcublas.so.11: symbol cublasLtHSHMatmulAlgoInit, version libcublasLt.so.11 not "
        "defined in file libcublasLt.so.11 with link time reference",
        ["cublasLtHSHMatmulAlgoInit in tomotwin/libcublas.so.11 of libcublasLt.so.11"],
        id="link-time",
    ),
    pytest.param(
        "python: relocation error: /usr/local/cuda-11.1/lib64/libcublas.so: symbol runGemmShortApi "
        "version libcublasLt.so.11 not defined in file libcublasLt.so.11 with link time reference",
        ["runGemmShortApi in /usr/local/cuda-11.1/lib64/libcublas.so of libcublasLt.so.11"],
        id="relocation",
    ),
    pytest.param("No module named 'flash_attn_2_cuda'", ["flash_attn_2_cuda"], id="module"),
    pytest.param("[Bug]: libcudart.so.12 not found", ["libcudart.so.12"], id="library-in-a-title"),
    pytest.param(
        "sgutils(undefined symbol _ZN3c104cuda9SetDeviceEi)",
        ["_ZN3c104cuda9SetDeviceEi in None of None"],
        id="title-without-a-colon",
    ),
    pytest.param("flash_attn_2 undefined symbol error", [], id="no-symbol-in-the-title"),
    pytest.param(
        "ImportError: dlopen(_torchaudio.so, 0x0002): symbol not found in flat namespace "
        "'_torch_library_impl'",
        ["torch_library_impl in None of None"],
        id="macos",
    ),
    pytest.param(
        "- ImportError: libnvrtc.so.13: cannot open shared object file: No such file or directory",
        ["libnvrtc.so.13"],
        id="library",
    ),
    pytest.param(
        "/lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.32' not found (required by "
        f"{SITE}/flash_attn_2_cuda.cpython-312-x86_64-linux-gnu.so)",
        [
            "GLIBC_2.32 of /lib/x86_64-linux-gnu/libc.so.6 for "
            f"{SITE}/flash_attn_2_cuda.cpython-312-x86_64-linux-gnu.so"
        ],
        id="glibc",
    ),
    pytest.param(
        "version \u2018CXXABI_1.3.15\u2019 not found",
        ["CXXABI_1.3.15 of None for None"],
        id="cxxabi",
    ),
    pytest.param(
        "RuntimeError: CUDA error: no kernel image is available for execution on the device",
        ["NoKernelImage"],
        id="no-kernel",
    ),
    pytest.param(
        "UserWarning: \nNVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with "
        "the current PyTorch installation.\nThe current PyTorch install supports CUDA capabilities "
        "sm_50 sm_60\nsm_90.\n",
        ["NVIDIA GeForce RTX 5090 sm_120 ('sm_50', 'sm_60', 'sm_90')"],
        id="not-compatible",
    ),
    pytest.param(
        "Found GPU0 NVIDIA GB10 which is of cuda capability 12.1.\nMinimum and Maximum cuda "
        "capability supported by this version of PyTorch is\n(8.0) - (12.0)",
        ["NVIDIA GB10 sm_121 ..('sm_80', 'sm_120')"],
        id="beyond-a-range",
    ),
    pytest.param(
        "RuntimeError: The NVIDIA driver on your system is too old (found version 12080).",
        ["driver of 12.8"],
        id="driver",
    ),
    pytest.param(
        "CUDA driver version is insufficient for CUDA runtime version",
        ["driver of None"],
        id="driver-without-a-version",
    ),
    pytest.param(
        "CUDA error: the provided PTX was compiled with an unsupported toolchain.",
        ["UnsupportedToolchain"],
        id="toolchain",
    ),
    pytest.param(
        "Error 803: system has unsupported display driver / cuda driver combination",
        ["803"],
        id="803",
    ),
    pytest.param(
        "forward compatibility was attempted on non supported HW", ["804"], id="804-by-words"
    ),
    pytest.param(
        "[sgl_kernel] CRITICAL: Could not load any common_ops library!",
        ["NoCommonOps"],
        id="common-ops",
    ),
    pytest.param(
        f"(EngineCore_0 pid=12) \x1b[31mundefined symbol: {CHECK}\x1b[0m\n"
        f"(EngineCore_0 pid=12) undefined symbol: {CHECK}\n",
        [f"{CHECK} in None of None"],
        id="coloured-and-repeated",
    ),
    pytest.param("ValueError: no attribute 'undefined'", [], id="something-else"),
]


@pytest.mark.parametrize(("text", "expected"), FAULTS)
def test_faults(text: str, expected: list[str]) -> None:
    assert [told(fault) for fault in parse_paste(text).faults] == expected


def test_faults_come_in_the_order_of_the_text() -> None:
    text = f"no kernel image is available for execution on the device\nundefined symbol: {CHECK}"
    assert [type(fault) for fault in parse_paste(text).faults] == [NoKernelImage, UndefinedSymbol]
    assert parse_paste(text).faults[1].line == f"undefined symbol: {CHECK}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "torch==2.10.0+cu130\nsgl-kernel==0.3.21",
            "sgl-kernel 0.3.21, torch 2.10.0+cu130",
            id="freeze",
        ),
        pytest.param(
            "[pip3] torch==2.10.0\n[pip3] triton==3.6.0",
            "torch 2.10.0, triton 3.6.0",
            id="collect-env",
        ),
        pytest.param(
            "PyTorch version: 2.9.1+cu130\nIs debug build: False",
            "torch 2.9.1+cu130",
            id="collect-env-head",
        ),
        pytest.param(
            "PyTorch: 2.9.1+cu128\nsgl_kernel: 0.3.16.post4\nsglang: 0.5.5",
            "sgl-kernel 0.3.16.post4, sglang 0.5.5, torch 2.9.1+cu128",
            id="check-env",
        ),
        pytest.param(
            "torch              2.8.0\nflash_attn         2.8.3",
            "flash-attn 2.8.3, torch 2.8.0",
            id="pip-list",
        ),
        pytest.param(
            "Using vllm-0.17.0-cp38-abi3-manylinux_2_31_x86_64.whl", "vllm 0.17.0", id="wheel"
        ),
        pytest.param(
            f"{SITE}/torchaudio-2.11.1.dist-info/METADATA", "torchaudio 2.11.1", id="dist-info"
        ),
        pytest.param("I am on torch 2.10.0+cu130 now", "torch 2.10.0+cu130", id="in-a-sentence"),
        pytest.param("see torch or vllm, 3 of them", "", id="none"),
    ],
)
def test_versions(text: str, expected: str) -> None:
    found = parse_paste(text).installed
    assert ", ".join(f"{name} {version}" for name, version in found.items()) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(SITE, ("3.12", None, None, None, ()), id="python-by-a-path"),
        pytest.param("Python version: 3.11.9 (main)", ("3.11", None, None, None, ()), id="python"),
        pytest.param("lib/x86_64-linux-gnu/", (None, "x86_64", None, None, ()), id="machine"),
        pytest.param("CUDA used to build PyTorch: 13.0", (None, None, "13.0", None, ()), id="cuda"),
        pytest.param(
            "| Driver Version: 580.65.06 |", (None, None, None, "580.65.6", ()), id="driver"
        ),
        pytest.param("- Compute capability: 120", (None, None, None, None, ("sm_120",)), id="gpu"),
    ],
)
def test_machine(text: str, expected: tuple[object, ...]) -> None:
    paste = parse_paste(text)
    cuda, driver = paste.cuda and str(paste.cuda), paste.driver and str(paste.driver)
    found = (paste.python, paste.machine, cuda, driver, tuple(map(str, paste.archs)))
    assert found == expected


BASE = KnowledgeBase()
KNOWN = frozenset(map(canonicalize_name, ("vllm", "torchaudio", "foo-bar")))


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        (f"{SITE}/sgl_kernel/sm100/common_ops.abi3.so", "sgl-kernel sglang-kernel"),
        (f"{SITE}/vllm/_C.abi3.so", "vllm"),
        (f"{SITE}/vllm/vllm_flash_attn/_vllm_fa2_C.abi3.so", "vllm"),
        (f"{SITE}/foo_bar/_C.so", "foo-bar"),
        (f"{SITE}/nobody/_C.so", ""),
        (f"{SITE}/torch/lib/libtorch_cuda.so", "torch"),
        ("libtorch_cuda.so", "torch"),
        ("libtorchaudio.so", "torchaudio"),
        ("libtorchtrt.so", "torch-tensorrt"),
        ("libonnxruntime_providers_cuda.so", "onnxruntime-gpu"),
        ("libbitsandbytes_cuda126.so", "bitsandbytes"),
        ("libctranslate2-bc15bf3f.so.4.5.0", "ctranslate2"),
        ("/root/flash_attn_2_cuda.cpython-312-x86_64-linux-gnu.so", "flash-attn"),
        ("C:\\venv\\Lib\\site-packages\\flash_attn_2_cuda.cp312-win_amd64.pyd", "flash-attn"),
        ("/x/selective_scan_cuda.cpython-310-x86_64-linux-gnu.so", "mamba-ssm"),
        ("/x/awq_ext.cpython-310-x86_64-linux-gnu.so", "autoawq-kernels"),
        ("/x/causal_conv1d_cuda.so", "causal-conv1d"),
        ("/x/exllama_kernels.so", "auto-gptq"),
        ("/x/exllamav2_ext.so", "exllamav2"),
        ("/x/deep_ep_cpp.so", "deep-ep"),
        ("/x/nixl_ep_cpp_torch211.so", "nixl-cu12 nixl-cu13"),
        ("/x/amp_C.so", "apex"),
        ("/x/sgutilslib.cpython-38-x86_64-linux-gnu.so", ""),
        (f"{SITE}/nvidia/cusparse/lib/libcusparse.so.12", ""),
    ],
)
def test_whose_file_it_is(file: str, expected: str) -> None:
    assert " ".join(owners_of(file, BASE.modules, KNOWN)) == expected


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        ("flash_attn_2_cuda", "flash-attn"),
        ("vllm._C", "vllm"),
        ("transformer_engine_torch", "transformer-engine-torch"),
        ("flash_attn_3", "flash-attn-3"),
        ("cv2", "opencv-python opencv-python-headless"),
        ("nobody.knows", ""),
    ],
)
def test_whose_module_it_is(module: str, expected: str) -> None:
    known = KNOWN | {canonicalize_name("transformer-engine-torch")}
    assert " ".join(owners_of_module(module, BASE.modules, known)) == expected
