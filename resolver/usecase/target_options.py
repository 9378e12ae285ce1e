"""What a user says of a machine, and this machine for the rest, as a ``Target``."""

from __future__ import annotations

import re
from collections.abc import Callable

from packaging.version import Version

from resolver.compat.cuda_rules import nearest_cuda
from resolver.compat.driver_branch import cuda_of_driver
from resolver.compat.gpu_name import find_gpu, nearest_gpu
from resolver.dataclass import dataclass, replace
from resolver.errors import UsageError
from resolver.host.gpu import Accelerator
from resolver.host.interpreter import DEFAULT_GLIBC, Host
from resolver.index.pyproject import TARGET_KEYS, Project
from resolver.model.cuda import Arch, CudaVersion
from resolver.model.knowledge import Knowledge, ReportedCuda
from resolver.model.options import PlatformOptions, TargetOptions
from resolver.model.stack import MACHINES, PYTHONS
from resolver.model.target import Target, driver_text
from resolver.model.version import parse_version, public_of
from resolver.usecase.world import World

# Wheels are looked at whatever glibc they want; PEP 600 tags end where glibc does.
_NEWEST_GLIBC = (2, 60)


def make_target(
    knowledge: Knowledge,
    options: TargetOptions,
    world: World,
    *,
    accelerator: Accelerator | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Target:
    """The target that options and machine describe. Raises UsageError, naming the option.

    Without a CUDA release the one counts that the driver of a described machine runs. Without that
    or without a GPU, those of this machine count: ``accelerator``, which is asked for, and ``tell``
    told, where it is not given.
    """
    options = _with_cuda(knowledge, options, tell)
    if options.cuda is None or (options.arch is None and options.gpu is None):
        found = accelerator or world.probe_accelerator(knowledge)
        options, said = _from_machine(knowledge, found, options)
        if said and accelerator is None:
            tell(f"This machine: {'; '.join(said)}.")
    if options.cuda is None:
        raise UsageError(
            "no CUDA version given", hint="add --cuda VERSION, for example --cuda 13.0"
        )
    host = world.probe_host()
    version, free_threaded = _python(options.python, host)
    return Target(
        cuda=_cuda(knowledge, options.cuda, tell),
        archs=_archs(knowledge, options.arch, options.gpu),
        python=version,
        free_threaded=free_threaded,
        machine=_machine(options.machine, host),
        glibc=_glibc(options.glibc, host),
        driver=_driver(options.driver),
        toolkit=_toolkit(knowledge, options),
        gpu=options.gpu,
    )


def _with_cuda(
    knowledge: Knowledge, options: TargetOptions, tell: Callable[[str], None]
) -> TargetOptions:
    """With the CUDA that a driver runs, where a GPU is described too: that is no word of this
    machine's.
    """
    described = options.driver is not None and (options.arch or options.gpu)
    driver = _driver(options.driver) if options.cuda is None and described else None
    if driver is None:
        return options
    archs = _archs(knowledge, options.arch, options.gpu)
    cuda = cuda_of_driver(knowledge.cuda, driver, archs)
    if cuda is None:
        return options
    said = f"CUDA {cuda}: the newest that driver {driver_text(driver)} runs"
    if cuda != cuda_of_driver(knowledge.cuda, driver):
        said += f" and that serves {', '.join(map(str, archs))}"
    tell(f"{said}.")
    return replace(options, cuda=str(cuda))


def make_project_target(
    knowledge: Knowledge,
    options: TargetOptions,
    project: Project,
    world: World,
    tell: Callable[[str], None] = lambda _: None,
) -> Target:
    """The target of the options, of ``[tool.abilock]`` for the rest, and then of this machine.

    Raises UsageError, naming the option or the key.
    """
    whole = with_project(options, project)
    taken = {key: getattr(whole, key) for key in TARGET_KEYS}
    taken = {k: value for k, value in taken.items() if value != getattr(options, k)}
    if taken:
        tell(f"From {project.path}: {', '.join(f'{k} {value}' for k, value in taken.items())}.")
    try:
        return make_target(knowledge, whole, world, tell=tell)
    except UsageError as error:
        option, _, what = str(error).partition(" ")
        if option.removeprefix("--") in taken:
            raise UsageError(
                f"{project.origin}: {option.removeprefix('--')} {what}", hint=error.hint
            ) from error
        raise


def with_project(options: TargetOptions, project: Project) -> TargetOptions:
    """The options, and for what they leave out those of ``[tool.abilock]``.

    ``arch`` and ``gpu`` say the same thing: either one leaves out both.
    """
    said = {key: project.text(key) for key in TARGET_KEYS}
    if options.arch is not None or options.gpu is not None:
        said |= {"arch": None, "gpu": None}
    missing = {
        key: value
        for key, value in said.items()
        if value is not None and getattr(options, key) is None
    }
    return replace(options, **missing)


def _from_machine(
    knowledge: Knowledge, found: Accelerator, options: TargetOptions
) -> tuple[TargetOptions, list[str]]:
    """CUDA, GPUs and driver, what is not given being this machine's; and the words for it."""
    said = []
    if options.cuda is None and (guess := found.cuda(knowledge)) is not None:
        options = replace(options, cuda=str(guess[0]))
        said.append(f"CUDA {guess[0]}, {guess[1]}")
    if options.arch is None and options.gpu is None and found.archs:
        arch = ",".join(map(str, found.archs))
        options = replace(options, arch=arch)
        said.append(f"{found.devices[0].name}, {arch} ({found.source})")
    if options.driver is None and found.driver is not None and said:
        driver = driver_text(found.driver)
        options = replace(options, driver=driver)
        said.append(f"driver {driver}")
    return options, said


def make_platform(knowledge: Knowledge, options: PlatformOptions, world: World) -> Target:
    """A target of which only Python and machine count: for looking at wheels, not at a GPU."""
    host = world.probe_host()
    version, free_threaded = _python(options.python, host)
    return Target(
        cuda=max(knowledge.cuda),
        archs=(),
        python=version,
        free_threaded=free_threaded,
        machine=_machine(options.machine, host),
        glibc=_NEWEST_GLIBC,
    )


def _cuda(knowledge: Knowledge, text: str, tell: Callable[[str], None]) -> CudaVersion:
    """``--cuda``: a release; the newest of a major; or what a driver reports that is no release."""
    if (major := _major(text)) is not None:
        newest = max((v for v in knowledge.cuda if v.major == major), default=None)
        if newest is not None:
            tell(f"--cuda {text.strip()}: CUDA {newest}, the newest {major}.x that is known.")
            return newest
    reported = _reported(knowledge, text)
    if reported is not None:
        version = reported.version
        before = [v for v in knowledge.cuda if v.major == version.major and v < version]
        if before:
            tell(
                f"--cuda {version}: driver {reported.driver} reports it, and there is no such "
                f"toolkit; CUDA {max(before)}, the newest before it, is taken."
            )
            return max(before)
    return _release(knowledge, text, "--cuda")


def _major(text: str) -> int | None:
    match = re.fullmatch(r"(?:cuda[-_ ]?|cu)?(\d\d)", text.strip(), re.IGNORECASE)
    return int(match[1]) if match else None


def _reported(knowledge: Knowledge, text: str) -> ReportedCuda | None:
    try:
        version = CudaVersion.parse(text)
    except ValueError:
        return None
    return next((each for each in knowledge.reported if each.version == version), None)


def _release(knowledge: Knowledge, text: str, option: str) -> CudaVersion:
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
        reported = _reported(knowledge, text)
        what = "is not a known CUDA release"
        if reported is not None:
            what = f"is what driver {reported.driver} reports: there is no such toolkit"
        raise UsageError(f"{option} {version} {what}", hint=f"nearest known: {near}; all: {names}")
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
        return public_of(Version(host.python)), host.free_threaded
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
        version = parse_version(text.strip())
        if version is not None:
            return version
    raise UsageError(f"--driver {text!r} is not a driver version", hint="write it as 580.65.06")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """The options of a target as far as they are given."""

    cuda: CudaVersion | None
    archs: tuple[Arch, ...]
    driver: Version | None
    toolkit: CudaVersion | None


def make_wish(
    knowledge: Knowledge, options: TargetOptions, tell: Callable[[str], None] = lambda _: None
) -> Wish:
    """What the options say, for commands that can do without. Raises UsageError as make_target."""
    known = options.arch is not None or options.gpu is not None
    return Wish(
        cuda=None if options.cuda is None else _cuda(knowledge, options.cuda, tell),
        archs=_archs(knowledge, options.arch, options.gpu) if known else (),
        driver=_driver(options.driver),
        toolkit=_toolkit(knowledge, options),
    )


def _toolkit(knowledge: Knowledge, options: TargetOptions) -> CudaVersion | None:
    return None if options.toolkit is None else _release(knowledge, options.toolkit, "--toolkit")


def with_machine(wish: Wish, found: Accelerator) -> Wish:
    """The wish with this machine's GPUs and driver where none were given."""
    return Wish(
        cuda=wish.cuda,
        archs=wish.archs or found.archs,
        driver=wish.driver or found.driver,
        toolkit=wish.toolkit,
    )
