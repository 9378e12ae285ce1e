"""A lock as a Dockerfile that installs exactly its files, by uv, and imports torch at the end.

Sources: the Dockerfile reference; hadolint's rules; uv's documentation of Docker; NVIDIA's
container-images/cuda, whose images put the toolkit's libraries before those of the wheels, set
NVIDIA_REQUIRE_CUDA and need no driver to build; the documentation of the NVIDIA container toolkit.
Triton compiles its launcher with a C compiler (triton-lang/triton python/triton/runtime/build.py).
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from packaging.pylock import Package, Pylock
from packaging.utils import canonicalize_name
from packaging.version import Version

from resolver.dataclass import dataclass
from resolver.errors import DamagedData, UsageError
from resolver.lockfile.export_requirements import (
    head,
    only_file,
    requirement_line,
    stated_platform,
)
from resolver.lockfile.pylock import lock_target
from resolver.model.cuda import CudaVersion
from resolver.model.image import Distro, Images, Variant
from resolver.model.load_knowledge import SystemLibrary
from resolver.model.reason import Code
from resolver.model.stack import TORCH

# What compiles with nvcc when it runs, and what spares it that: DeepGEMM's README, DG_JIT_USE_NVRTC
# being 0; vllm-project/vllm#49497 of FlashInfer.
_COMPILES: Mapping[str, str | None] = {
    "flashinfer-python": "flashinfer-jit-cache",
    "deep-gemm": None,
    "sgl-deep-gemm": None,
}
_TRITON = "triton"
_HOME = "/opt/abilock"
# A shell takes 128 KiB as one argument: what RUN gives it is one.
_LINES = 200
_OURS = "/usr/local/nvidia/lib64"


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """What is known of containers: images, packages of the system, the driver of a CUDA release."""

    images: Images
    system: Sequence[SystemLibrary]
    driver_of: Mapping[CudaVersion, Version]


@dataclass(frozen=True, slots=True)
class _Base:
    """The image to begin from; ``note`` says why it is not one of NVIDIA's."""

    image: str
    of_nvidia: bool
    why: str


def render_dockerfile(lock: Pylock, *, source: str, digest: str, known: Container) -> str:
    """The text; ``digest`` is the sha256 of the lock's text.

    Raises DamagedData for what is not a file with a sha256, and UsageError for a lock that no known
    image fits: what it needs is named.
    """
    stated = stated_platform(lock)
    cuda = _cuda(lock)
    base = _base(lock, cuda, known)
    packages = sorted(lock.packages, key=lambda package: package.name)
    system = dict(_system(lock, known.system))
    if any(package.name == _TRITON for package in packages):
        system["triton compiles with a C compiler when it runs"] = ("gcc", "libc6-dev")
    target = lock_target(lock)
    lines = [
        *head(lock, f"--to dockerfile, from {source}"),
        "# build: docker build -t gpu-stack -f THIS-FILE .",
        "# run:   docker run --rm -it --gpus all gpu-stack",
        "# try:   abilock export --to smoke writes a script that tries it on the GPUs",
        *_driver(cuda, target, known),
        f"# {base.why}",
        f"FROM {base.image}",
        "",
        'SHELL ["/bin/bash", "-o", "pipefail", "-c"]',
        "",
        f'LABEL abilock.lock="sha256:{digest}" \\',
        f'      abilock.cuda="{cuda}" \\',
        f'      abilock.arch="{_arch(target)}"',
        "",
        *_environment(cuda, base),
        "",
        *_apt(system),
        "",
        *([f"RUN echo {_TOOLKIT} > {_CONF} && ldconfig", ""] if _asks_toolkit(lock) else ()),
        f"COPY --from={known.images.tool('uv')} /uv /usr/local/bin/uv",
        "",
        "ENV UV_LINK_MODE=copy \\",
        "    UV_NO_CACHE=1 \\",
        "    UV_PYTHON_INSTALL_DIR=/opt/python \\",
        "    VIRTUAL_ENV=/opt/venv \\",
        '    PATH="/opt/venv/bin:$PATH"',
        "# A mirror of the default index: docker build --build-arg UV_DEFAULT_INDEX=ADDRESS",
        "ARG UV_DEFAULT_INDEX",
        "",
        f"WORKDIR {_HOME}",
        *_copied(packages),
        f"RUN uv venv --managed-python --python {stated.python} /opt/venv",
        *_requirements(packages),
        "RUN uv pip sync --require-hashes requirements.txt",
        *_smoke(packages),
        "",
        "RUN useradd --no-log-init --create-home --uid 10001 app",
        "USER app",
        "WORKDIR /home/app",
        'CMD ["python"]',
    ]
    return "\n".join(lines) + "\n"


_TOOLKIT = "/usr/local/cuda/lib64"
_CONF = "/etc/ld.so.conf.d/abilock.conf"


def _cuda(lock: Pylock) -> CudaVersion:
    """The release whose image counts: that of the toolkit, where it is another."""
    target = lock_target(lock)
    stated = target.get("toolkit") or target.get("cuda")
    try:
        return CudaVersion.parse(str(stated))
    except ValueError as error:
        raise DamagedData(
            "the lock does not say which CUDA it is for",
            hint="export from a lock that abilock resolve wrote",
        ) from error


def _base(lock: Pylock, cuda: CudaVersion, known: Container) -> _Base:
    compiler = _compiler(lock.packages)
    glibc = Version(str(lock_target(lock).get("glibc") or "2.17"))
    fitting = [distro for distro in known.images.distros if distro.glibc >= glibc]
    if not fitting:
        newest = max(known.images.distros, key=lambda distro: distro.glibc)
        raise UsageError(
            f"the lock is for glibc {glibc} or newer, and no image that is known has it",
            hint=f"lock for that of {newest.image}: abilock resolve ... --glibc {newest.glibc}",
        )
    image = known.images.of_cuda(cuda)
    mine: list[Distro] = [] if image is None else [d for d in fitting if d.id in image.distros]
    if image is not None and mine:
        variant: Variant = "devel" if compiler else "runtime"
        why = f"{compiler} compiles with nvcc when it runs." if compiler else _RUNTIME
        return _Base(image.name(variant, mine[0]), True, why)
    nobody = f"No image of nvidia/cuda is known for CUDA {cuda} and glibc {glibc}"
    if compiler:
        with_images = [i.cuda for i in known.images.cuda if i.cuda.major == cuda.major]
        newest_cuda = max(with_images, default=None)
        raise UsageError(
            f"{nobody[0].lower()}{nobody[1:]}, and {compiler} compiles with nvcc when it runs",
            hint=f"say which toolkit it is: abilock resolve ... --toolkit {newest_cuda}"
            if newest_cuda is not None
            else "begin from an image with that toolkit, and install the export --to uv there",
        )
    why = f"{nobody}: the wheels bring its libraries."
    return _Base(fitting[0].image, False, why)


_RUNTIME = "Nothing of the lock compiles with nvcc when it runs."


def _compiler(packages: Iterable[Package]) -> str | None:
    """A package that needs nvcc when it runs; None where none does."""
    versions = {package.name: package.version for package in packages}
    for name, spares in _COMPILES.items():
        mine = versions.get(canonicalize_name(name))
        if mine is None:
            continue
        cache = versions.get(canonicalize_name(spares)) if spares else None
        if cache is None or cache.public != mine.public:
            return f"{name} {mine}"
    return None


def _driver(cuda: CudaVersion, target: Mapping[str, Any], known: Container) -> Iterator[str]:
    floor = known.driver_of.get(cuda)
    if floor is not None:
        parts = (f"{part:02d}" if at else str(part) for at, part in enumerate(floor.release))
        yield f"# driver: {'.'.join(parts)} or newer on the host (CUDA {cuda.major})"
    if (stated := target.get("driver")) is not None:
        yield f"# driver of the lock: {stated}"


def _arch(target: Mapping[str, Any]) -> str:
    archs = target.get("arch", ())
    return ",".join(map(str, archs)) if isinstance(archs, list | tuple) else str(archs)


def _environment(cuda: CudaVersion, base: _Base) -> Iterator[str]:
    if base.of_nvidia:
        yield "# The image refuses older drivers by its NVIDIA_REQUIRE_CUDA. Its LD_LIBRARY_PATH"
        yield "# would put the toolkit's libraries before those of the wheels."
        yield f'ENV LD_LIBRARY_PATH="{_OURS}"'
        return
    yield "# The driver comes with the NVIDIA container toolkit, which refuses older ones."
    yield f'ENV NVIDIA_REQUIRE_CUDA="cuda>={cuda}" \\'
    yield "    NVIDIA_VISIBLE_DEVICES=all \\"
    yield "    NVIDIA_DRIVER_CAPABILITIES=compute,utility"


def _findings(lock: Pylock) -> Iterator[Mapping[str, Any]]:
    tool = (lock.tool or {}).get("abilock", {})
    found = tool.get("findings", ()) if isinstance(tool, Mapping) else ()
    yield from (finding for finding in found if isinstance(finding, Mapping))


def _system(lock: Pylock, rows: Sequence[SystemLibrary]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Packages of the system that the findings of the lock ask for, by what asks."""
    for finding in _findings(lock):
        if finding.get("code") != Code.MISSING_SYSTEM_LIBRARY:
            continue
        soname = str(finding.get("needs", "")).partition(",")[0]
        row = next((row for row in rows if row.pattern.fullmatch(soname)), None)
        if row is not None and row.apt:
            yield f"{soname} for {finding.get('subject')}", tuple(row.apt.split())


def _asks_toolkit(lock: Pylock) -> bool:
    """Whether a library of the lock is looked for in ld.so.cache: no wheel brings it."""
    return any(finding.get("code") == Code.MISSING_LIBRARY for finding in _findings(lock))


def _apt(system: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    for why in system:
        # It is a comment to its end, whatever a lock holds there.
        yield "# " + "".join(c if c.isprintable() else "?" for c in f"{why}.")
    packages = sorted({"ca-certificates", *(name for names in system.values() for name in names)})
    yield "# hadolint ignore=DL3008"
    yield "RUN apt-get update \\"
    yield f"    && apt-get install --no-install-recommends -y {' '.join(packages)} \\"
    yield "    && rm -rf /var/lib/apt/lists/*"


def _copied(packages: Iterable[Package]) -> Iterator[str]:
    """The directories of files that the lock names by path, as the requirements name them."""
    places = set()
    for package in packages:
        path = only_file(package).path
        if path is None:
            continue
        place = PurePosixPath(path)
        if place.is_absolute() or ".." in place.parts:
            raise UsageError(
                f"the lock names {package.name} by the path {path}, outside of its directory",
                hint="put its files beside it: abilock download -o pylock.site.toml",
            )
        places.add(place.parent)
    for directory in sorted(places):
        yield f"COPY {_quoted(f'{directory}/')} {_quoted(f'./{directory}/')}"


def _quoted(path: str) -> str:
    return f'"{path}"' if " " in path else path


def _requirements(packages: Sequence[Package]) -> Iterator[str]:
    """The lines of a requirements file, written by the shell: every builder knows that."""
    rows = [" ".join(requirement_line(package)) for package in packages]
    for start in range(0, len(rows), _LINES):
        yield "RUN printf '%s\\n' \\"
        yield from (f"    {shlex.quote(row)} \\" for row in rows[start : start + _LINES])
        yield f"    {'>>' if start else '>'} requirements.txt"


def _smoke(packages: Iterable[Package]) -> Iterator[str]:
    if any(package.name == TORCH for package in packages):
        yield "# Extensions want a driver: they are tried where there is one."
        yield 'RUN python -c "import torch; print(torch.__version__, torch.version.cuda)"'
