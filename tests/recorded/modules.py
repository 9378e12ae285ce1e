"""Whose a module is: what the wheels and sources of the default index say, as ``modules.toml``.

python -m tests.recorded.modules > knowledge/modules.toml

Of each project the newest wheel for this machine counts, of which only the directory is read (some
100 kB), else the newest source archive, of which ``setup.py`` is. Rows that no file of the index
holds are written by hand at the end of this module, with their sources. Needs the network.
"""

from __future__ import annotations

import io
import re
import sys
import tarfile
from collections import Counter
from collections.abc import Iterable
from datetime import date
from pathlib import Path

from packaging.utils import NormalizedName, canonicalize_name

from resolver.errors import AbilockError
from resolver.model.artifact import Artifact
from resolver.model.channel import DEFAULT_CHANNEL
from resolver.usecase.session import Connection, Session
from resolver.wheelfile.zip_directory import read_directory

PROJECTS = """
sgl-kernel sglang-kernel vllm flash-attn causal-conv1d mamba-ssm autoawq-kernels auto-gptq exllamav2
xformers torchao torchvision torchaudio torchcodec transformer-engine-torch transformer-engine-cu12
transformer-engine-cu13 nixl-cu12 nixl-cu13 bitsandbytes natten torch-scatter torch-sparse
torch-cluster torch-spline-conv pyg-lib mmcv deepspeed fbgemm-gpu torch-tensorrt
tensorrt-cu12-bindings tensorrt-cu13-bindings onnxruntime-gpu onnxruntime ctranslate2 faiss-gpu-cu12
cupy-cuda12x cupy-cuda13x jaxlib jax-cuda12-plugin jax-cuda13-plugin spconv-cu120 cumm-cu120
sageattention lmdeploy tensorrt-llm flashinfer-python flashinfer-cubin flash-attn-4
mooncake-transfer-engine lmcache llama-cpp-python decord opencv-python opencv-python-headless
gptqmodel flash-linear-attention grouped-gemm kaolin nvidia-dali-cuda120 numba triton dgl
xgrammar nvidia-cutlass-dsl quack-kernels tilelang torchdata torchtext warp-lang cuda-bindings
cuda-python nvidia-nvshmem-cu12 nvshmem4py-cu12 deep-gemm
"""

# Names that say nothing of whose they are.
_GENERIC = """
_C _C_cuda _ext _cuda _core _version core cuda cpp kernels kernel _kernels ops _ops utils lib bin
test tests examples csrc src include share docs benchmarks build setup tools scripts python
list_versions
transformer_engine_jax cuda_ops nvidia kp b12x third_party _cpp _capi _lib backend backends data
"""
_EXTENSION = re.compile(
    r"(?:CUDAExtension|CppExtension|Extension)\(\s*(?:name\s*=\s*)?f?[\"']([\w.]+)"
)
# What extensions that are imported by themselves are called, deep inside a package.
_TELLING = re.compile(r".{3,}(?:_C|_C_\w+|_ext|_ops|_cuda|_cuda_\w+|_cpp|_cpp_\w+)|common_ops")
_NATIVE = re.compile(r"([A-Za-z_]\w+)(?:\.abi3|\.cpython-[\w-]+)?\.so$")
_MAX_SOURCE = 40_000_000


def main() -> None:
    """Print the file."""
    found = {}
    with Session() as session, session.connect() as connection:
        for text in PROJECTS.split():
            project = canonicalize_name(text)
            try:
                row = _read(session, connection, project)
            except AbilockError as error:
                print(f"{project}: {error}", file=sys.stderr)
                continue
            if row is None:
                print(f"{project}: no file", file=sys.stderr)
                continue
            found[project] = row
            print(f"{project}: {' '.join(sorted(row[0]))}", file=sys.stderr)
    _print(found)


def _read(
    session: Session, connection: Connection, project: NormalizedName
) -> tuple[set[str], str] | None:
    artifacts = [a for listing in connection.index.listings(project) for a in listing.artifacts]
    final = [
        a
        for a in artifacts
        if a.channel == DEFAULT_CHANNEL and not a.version.is_prerelease and not a.yanked
    ]
    wheels = [a for a in final if a.kind == "wheel" and _is_here(a.filename)]
    for artifact in sorted(wheels, key=lambda a: (a.version, a.filename), reverse=True)[:1]:
        source = session.open_wheel(artifact)
        if source is not None:
            paths = [entry.path for entry in read_directory(source)]
            return _names(paths), f"members of {artifact.filename}"
    sources = [a for a in final if a.kind == "sdist" and a.url and (a.size or 0) < _MAX_SOURCE]
    for artifact in sorted(sources, key=lambda a: a.version, reverse=True)[:1]:
        return _of_source(session, artifact), f"setup.py of {artifact.filename}"
    return None


def _is_here(filename: str) -> bool:
    return ("x86_64" in filename and "win" not in filename) or filename.endswith("-any.whl")


def _names(paths: Iterable[str]) -> set[str]:
    names = set[str]()
    for path in paths:
        parts = path.split("/")
        if parts[0].endswith((".dist-info", ".data", ".libs")):
            continue
        match = _NATIVE.search(parts[-1])
        at_root = len(parts) == 1 and len(match[1]) > 3 if match else False
        if match and not match[1].startswith("lib") and (at_root or _TELLING.fullmatch(match[1])):
            names.add(match[1])
        if len(parts) > 1 and parts[-1].endswith((".py", ".so")):
            names.add(parts[0])
    return names - set(_GENERIC.split())


def _of_source(session: Session, artifact: Artifact) -> set[str]:
    assert artifact.url is not None
    sink = io.BytesIO()
    session.http.download(artifact.url, sink, limit=_MAX_SOURCE)
    sink.seek(0)
    names = set[str]()
    with tarfile.open(fileobj=sink) as archive:
        for member in archive:
            if Path(member.name).name == "setup.py" or "/build_tools/" in member.name:
                stream = archive.extractfile(member)
                text = stream.read().decode("utf-8", "replace") if stream else ""
                names |= {name.split(".")[-1] for name in _EXTENSION.findall(text)}
    return names - set(_GENERIC.split())


def _print(found: dict[NormalizedName, tuple[set[str], str]]) -> None:
    print(_HEAD)
    for name, modules, owners, source in FIRST:
        _row(name, modules.split(), [canonicalize_name(p) for p in owners.split()], source)
    held = Counter(name for names, _ in found.values() for name in names)
    told = set[NormalizedName]()
    for project, (names, source) in found.items():
        own = sorted(n for n in names if held[n] == 1 and canonicalize_name(n) != project)
        if own:
            _row(str(project), own, [project], source)
            told.add(project)
    shared: dict[tuple[NormalizedName, ...], list[str]] = {}
    for name in sorted(n for n, count in held.items() if 1 < count <= 3):
        projects = tuple(p for p, (names, _) in found.items() if name in names)
        shared.setdefault(projects, []).append(name)
    for projects, both in shared.items():
        sources = "; ".join(found[project][1] for project in projects)
        _row("-or-".join(projects), both, list(projects), sources)
    for name, modules, owners, source in BY_HAND:
        _row(name, modules.split(), [canonicalize_name(p) for p in owners.split()], source)


def _row(name: str, names: list[str], projects: list[NormalizedName], source: str) -> None:
    quoted = ", ".join(f'"{each}"' for each in names)
    print(f'\n[[module]]\nid = "{name}"\nnames = [{quoted}]')
    print("projects = [" + ", ".join(f'"{each}"' for each in projects) + "]")
    print(f'source = "{source}"\ndate = {date.today().isoformat()}')


_HEAD = """\
# Names that packages import under, or that their files begin with, where that is not the project's
# own name. Of several projects the first that is installed counts, else the first. Made by
# python -m tests.recorded.modules."""

# What no file of the default index holds: extensions that are built from a repository, and names
# that older releases had.
FIRST = [
    # sgl-kernel brings a copy: where neither is installed, the project itself is what is missing.
    (
        "deep-gemm",
        "deep_gemm deep_gemm_cpp",
        "deep-gemm sgl-kernel",
        "deepseek-ai/DeepGEMM setup.py; members of "
        "sgl_kernel-0.3.21-cp310-abi3-manylinux2014_x86_64.whl",
    ),
]
BY_HAND = [
    (
        "flash-attn-3",
        "flash_attn_3 flash_attn_3_cuda flash_attn_interface",
        "flash-attn-3",
        "Dao-AILab/flash-attention hopper/setup.py",
    ),
    ("flash-attn-1", "flash_attn_cuda", "flash-attn", "Dao-AILab/flash-attention v1.0.9 setup.py"),
    ("flash-attn-4", "flash_attn_4", "flash-attn-4", "Dao-AILab/flash-attention flash_attn/cute"),
    (
        "apex",
        "amp_C fused_layer_norm_cuda apex_C syncbn scaled_upper_triang_masked_softmax_cuda "
        "scaled_masked_softmax_cuda fused_weight_gradient_mlp_cuda distributed_adam_cuda",
        "apex",
        "NVIDIA/apex setup.py",
    ),
    ("exllamav2-ext", "exllamav2_ext", "exllamav2", "turboderp-org/exllamav2 setup.py"),
    ("exllamav3-ext", "exllamav3_ext", "exllamav3", "turboderp-org/exllamav3 setup.py"),
    ("deep-ep", "deep_ep deep_ep_cpp", "deep-ep", "deepseek-ai/DeepEP setup.py"),
    ("flash-mla", "flash_mla flash_mla_cuda", "flash-mla", "deepseek-ai/FlashMLA setup.py"),
    ("nvdiffrast", "nvdiffrast_plugin _nvdiffrast_c", "nvdiffrast", "NVlabs/nvdiffrast setup.py"),
    (
        "vllm-old",
        "_moe_C _punica_C _rocm_C vllm_flash_attn_c",
        "vllm",
        "members of vllm 0.5 to 0.19 wheels",
    ),
    (
        "sageattention",
        "_qattn_sm80 _qattn_sm89 _qattn_sm90 _fused",
        "sageattention",
        "thu-ml/SageAttention v2.2.0 setup.py",
    ),
    (
        "deepspeed-ops",
        "cpu_adam fused_adam async_io transformer_inference cpu_adagrad",
        "deepspeed",
        "deepspeedai/DeepSpeed op_builder",
    ),
    ("nixl", "nixl_ep_cpp nixl", "nixl-cu13 nixl-cu12", "members of nixl-cu13 1.3.0"),
    (
        "onnxruntime-libraries",
        "libonnxruntime_providers_cuda libonnxruntime_providers_tensorrt "
        "libonnxruntime_providers_shared onnxruntime_pybind11_state",
        "onnxruntime-gpu",
        "members of onnxruntime-gpu wheels",
    ),
    (
        "transformer-engine-library",
        "libtransformer_engine",
        "transformer-engine-cu13 transformer-engine-cu12 transformer-engine",
        "members of transformer-engine-cu12 and -cu13 wheels",
    ),
    (
        "torch-tensorrt-library",
        "libtorchtrt libtorchtrt_runtime libtorchtrt_plugins",
        "torch-tensorrt",
        "members of torch-tensorrt wheels; pytorch/TensorRT#3031",
    ),
    ("ctranslate2-library", "libctranslate2", "ctranslate2", "members of ctranslate2 wheels"),
    (
        "bitsandbytes-library",
        "libbitsandbytes libbitsandbytes_cpu",
        "bitsandbytes",
        "members of bitsandbytes 0.49 wheels",
    ),
    (
        "faiss",
        "faiss",
        "faiss-gpu-cu12 faiss-cpu faiss-gpu",
        "members of the wheels faiss-gpu-cu12 and faiss-cpu",
    ),
]


if __name__ == "__main__":
    main()
