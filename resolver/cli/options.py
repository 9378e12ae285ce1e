"""Target options, shared by the commands, and how they become a ``Target``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated

import typer
from packaging.version import InvalidVersion, Version

from resolver.cli import console
from resolver.compat.gpu import find_gpu, nearest_gpu
from resolver.compat.rules import nearest_cuda
from resolver.errors import UsageError
from resolver.host.gpu import Accelerator, probe_accelerator
from resolver.host.interpreter import DEFAULT_GLIBC, Host
from resolver.model.cuda import Arch, CudaVersion
from resolver.model.knowledge import Knowledge
from resolver.model.target import Target, driver_text

MACHINES = ("x86_64", "aarch64")
# Wheels are looked at whatever glibc they want; PEP 600 tags end where glibc does.
_NEWEST_GLIBC = (2, 60)
PYTHONS = tuple(f"3.{minor}" for minor in range(8, 16))

CudaOption = Annotated[
    str | None,
    typer.Option("--cuda", metavar="VERSION", help="CUDA release the machine is set up for: 13.0."),
]
ArchOption = Annotated[
    str | None,
    typer.Option(
        "--arch", metavar="SM", help="GPU architectures, comma-separated: sm120, sm_90, 12.0."
    ),
]
GpuOption = Annotated[
    str | None,
    typer.Option("--gpu", metavar="NAME", help="GPU by name, in place of --arch: 'RTX PRO 6000'."),
]
PythonOption = Annotated[
    str | None,
    typer.Option("--python", metavar="VERSION", help="Python version [default: the running one]."),
]
MachineOption = Annotated[
    str | None,
    typer.Option("--machine", metavar="NAME", help="x86_64 or aarch64 [default: this one]."),
]
GlibcOption = Annotated[
    str | None,
    typer.Option("--glibc", metavar="VERSION", help="glibc of the machine [default: this one's]."),
]
DriverOption = Annotated[
    str | None, typer.Option("--driver", metavar="VERSION", help="NVIDIA driver: 580.65.06.")
]
ToolkitOption = Annotated[
    str | None,
    typer.Option(
        "--toolkit", metavar="VERSION", help="CUDA toolkit, where it differs from --cuda."
    ),
]


def make_target(
    knowledge: Knowledge,
    host: Host,
    *,
    cuda: str | None,
    arch: str | None,
    gpu: str | None = None,
    python: str | None = None,
    machine: str | None = None,
    glibc: str | None = None,
    driver: str | None = None,
    toolkit: str | None = None,
    accelerator: Accelerator | None = None,
) -> Target:
    """The target that options and machine describe. Raises UsageError, naming the option.

    Without a CUDA release or without a GPU, those of this machine count: ``accelerator``, which is
    asked for where it is not given.
    """
    if cuda is None or (arch is None and gpu is None):
        cuda, arch, driver = _from_machine(knowledge, accelerator, cuda, arch, gpu, driver)
    if cuda is None:
        raise UsageError(
            "no CUDA version given", hint="add --cuda VERSION, for example --cuda 13.0"
        )
    version, free_threaded = _python(python, host)
    return Target(
        cuda=_cuda(knowledge, cuda, "--cuda"),
        archs=_archs(knowledge, arch, gpu),
        python=version,
        free_threaded=free_threaded,
        machine=_machine(machine, host),
        glibc=_glibc(glibc, host),
        driver=_driver(driver),
        toolkit=None if toolkit is None else _cuda(knowledge, toolkit, "--toolkit"),
        gpu=gpu,
    )


def _from_machine(
    knowledge: Knowledge,
    accelerator: Accelerator | None,
    cuda: str | None,
    arch: str | None,
    gpu: str | None,
    driver: str | None,
) -> tuple[str | None, str | None, str | None]:
    """CUDA, GPUs and driver, what is not given being this machine's; and says so."""
    found = accelerator or probe_accelerator(knowledge)
    said = []
    if cuda is None and (guess := found.cuda(knowledge)) is not None:
        cuda = str(guess[0])
        said.append(f"CUDA {cuda}, {guess[1]}")
    if arch is None and gpu is None and found.archs:
        arch = ",".join(map(str, found.archs))
        said.append(f"{found.devices[0].name}, {arch} ({found.source})")
    if driver is None and found.driver is not None and said:
        driver = driver_text(found.driver)
        said.append(f"driver {driver}")
    if said and accelerator is None:
        console.words(f"This machine: {'; '.join(said)}.")
    return cuda, arch, driver


def make_platform(
    knowledge: Knowledge, host: Host, *, python: str | None, machine: str | None
) -> Target:
    """A target of which only Python and machine count: for looking at wheels, not at a GPU."""
    version, free_threaded = _python(python, host)
    return Target(
        cuda=max(knowledge.cuda),
        archs=(),
        python=version,
        free_threaded=free_threaded,
        machine=_machine(machine, host),
        glibc=_NEWEST_GLIBC,
    )


def _cuda(knowledge: Knowledge, text: str, option: str) -> CudaVersion:
    known = sorted(knowledge.cuda)
    names = ", ".join(map(str, known))
    try:
        version = CudaVersion.parse(text)
    except ValueError as error:
        near = nearest_cuda(knowledge.cuda, text) or nearest_cuda(knowledge.cuda, f"{text}.0")
        nearest = f"nearest known: {near}; all: " if near else "known releases: "
        raise UsageError(
            f"{option} {text!r} is not a CUDA version", hint=f"{nearest}{names}"
        ) from error
    if version not in knowledge.cuda:
        near = nearest_cuda(knowledge.cuda, str(version))
        raise UsageError(
            f"{option} {version} is not a known CUDA release",
            hint=f"nearest known: {near}; all: {names}",
        )
    return version


def _archs(knowledge: Knowledge, text: str | None, gpu: str | None) -> tuple[Arch, ...]:
    if text is None:
        if gpu is None:
            raise UsageError(
                "no GPU architecture given",
                hint="add --arch SM, for example --arch sm120, or --gpu 'RTX PRO 6000'",
            )
        return (_arch_of_gpu(knowledge, gpu),)
    known = {
        Arch(arch.major, arch.minor)
        for release in knowledge.cuda.values()
        for arch in release.archs
    } | {gpu_.arch for gpu_ in knowledge.gpus}
    archs = set()
    for part in filter(None, (part.strip() for part in text.split(","))):
        try:
            arch = Arch.parse(part)
        except ValueError as error:
            guess = _gpu_hint(knowledge, part)
            raise UsageError(
                f"--arch {part!r} is not a GPU architecture",
                hint=guess or "write it as sm120, sm_120 or 12.0",
            ) from error
        bare = Arch(arch.major, arch.minor)  # a GPU is 12.0; a and f are targets of its code
        if bare not in known:
            digits = str(bare.number)
            begun = [a for a in known if str(a.number).startswith(digits)]
            near = sorted(known, key=lambda a: (abs(a.number - bare.number), a.number))[:3]
            near = sorted(begun)[:3] or near
            raise UsageError(
                f"--arch {part!r}: there is no {bare}",
                hint=f"nearest known: {', '.join(str(a) for a in sorted(near))}",
            )
        archs.add(bare)
    if not archs:
        raise UsageError("--arch names no architecture", hint="write it as sm120, sm_120 or 12.0")
    return tuple(sorted(archs))


def _arch_of_gpu(knowledge: Knowledge, name: str) -> Arch:
    gpu = find_gpu(knowledge.gpus, name)
    if gpu is None:
        hint = _gpu_hint(knowledge, name) or "abilock knowledge list gpu names them all"
        raise UsageError(f"--gpu {name!r} is not a known GPU", hint=f"{hint}; or give --arch")
    return gpu.arch


def _gpu_hint(knowledge: Knowledge, text: str) -> str | None:
    near = nearest_gpu(knowledge.gpus, text)
    if not near:
        return None
    return "nearest known GPUs: " + ", ".join(f"{gpu.names[0]} ({gpu.arch})" for gpu in near)


def _python(text: str | None, host: Host) -> tuple[Version, bool]:
    if text is None:
        return Version(host.python).__replace__(local=None), host.free_threaded
    match = re.fullmatch(r"(3\.\d{1,2})(\.\d+)?(t?)", text.strip())
    if match is None:
        raise UsageError(
            f"--python {text!r} is not a Python version", hint="write it as 3.12, 3.12.4 or 3.13t"
        )
    if match[1] not in PYTHONS:
        raise UsageError(
            f"--python {text!r} is not a known Python", hint=f"known: {PYTHONS[0]} to {PYTHONS[-1]}"
        )
    return Version(match[1] + (match[2] or ".0")), bool(match[3])


def _machine(text: str | None, host: Host) -> str:
    name = {"amd64": "x86_64", "arm64": "aarch64"}.get((text or "").lower(), text) or host.machine
    if name not in MACHINES:
        what = f"--machine {text!r}" if text else f"this machine, {name},"
        raise UsageError(
            f"{what} is not one that CUDA wheels are built for",
            hint="use --machine x86_64 or --machine aarch64",
        )
    return name


def _glibc(text: str | None, host: Host) -> tuple[int, int]:
    if text is None:
        return host.glibc or DEFAULT_GLIBC
    match = re.fullmatch(r"(2)\.(\d{1,2})", text.strip())
    if match is None:
        raise UsageError(f"--glibc {text!r} is not a glibc version", hint="write it as 2.35")
    return (int(match[1]), int(match[2]))


def _driver(text: str | None) -> Version | None:
    if text is None:
        return None
    if re.fullmatch(r"\d{3}(\.\d+){0,2}", text.strip()):
        try:
            return Version(text.strip())
        except InvalidVersion:
            pass
    raise UsageError(f"--driver {text!r} is not a driver version", hint="write it as 580.65.06")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """The options of a target as far as they are given."""

    cuda: CudaVersion | None
    archs: tuple[Arch, ...]
    driver: Version | None
    toolkit: CudaVersion | None


def make_wish(
    knowledge: Knowledge,
    *,
    cuda: str | None,
    arch: str | None,
    gpu: str | None,
    driver: str | None,
    toolkit: str | None,
) -> Wish:
    """What the options say, for commands that can do without. Raises UsageError as make_target."""
    return Wish(
        cuda=None if cuda is None else _cuda(knowledge, cuda, "--cuda"),
        archs=() if arch is None and gpu is None else _archs(knowledge, arch, gpu),
        driver=_driver(driver),
        toolkit=None if toolkit is None else _cuda(knowledge, toolkit, "--toolkit"),
    )


def with_machine(wish: Wish, found: Accelerator) -> Wish:
    """The wish with this machine's GPUs and driver where none were given."""
    return Wish(
        cuda=wish.cuda,
        archs=wish.archs or found.archs,
        driver=wish.driver or found.driver,
        toolkit=wish.toolkit,
    )
