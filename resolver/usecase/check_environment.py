"""``abilock check ENV``: the parts of the check meet here."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Literal

from packaging.version import Version

from resolver.abi.load_rules import by_torch, find_load, unserved
from resolver.abi.shared_object import read_shared_object
from resolver.abi.verdict import unserved_reason
from resolver.dataclass import replace
from resolver.evidence.driver_need import DriverNeeds, check_driver
from resolver.evidence.installed_device_code import DeviceCheck
from resolver.evidence.installed_symbols import InstalledSymbols
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.evidence.load_role import role_of
from resolver.files import read_start
from resolver.host.dynamic_loader import probe_loader
from resolver.host.image import Image, find_compiler
from resolver.host.interpreter import DEFAULT_GLIBC, Host
from resolver.host.toolkit import find_nvcc
from resolver.load.distribution import Distribution
from resolver.load.environment import Environment
from resolver.load.finding import check_loads
from resolver.load.finding_context import Surroundings
from resolver.load.installed_records import check_known_bad, check_records, check_toolkit
from resolver.load.integrity import check_integrity, find_damage, spare_told
from resolver.load.member_role import MemberRole
from resolver.load.merge_findings import join_reported, order_findings
from resolver.load.object_cache import DiskFiles, ObjectStore
from resolver.load.process_finding import check_process
from resolver.load.simulation import Examination, examine
from resolver.load.tree import Tree
from resolver.load.verify import verify as verify_files
from resolver.model.check_report import Report
from resolver.model.cuda import Arch, CudaVersion
from resolver.model.knowledge import CudaGuard, Knowledge, KnownTuple
from resolver.model.load_knowledge import LoadRule, find_rule
from resolver.model.reason import Code, Reason
from resolver.model.stack import TORCH
from resolver.model.target import Target
from resolver.model.version import parse_version
from resolver.solve.import_guard import guard_reason
from resolver.usecase.check_image import check_cache
from resolver.usecase.installed_build import built_for, check_build


def simulate(
    base: KnowledgeBase,
    environment: Environment,
    host: Host,
    *,
    cuda: CudaVersion | None,
    archs: tuple[Arch, ...],
    driver: Version | None,
    toolkit: CudaVersion | None,
    gpu: str | None,
    cache: Path | None,
    environ: Mapping[str, str],
    full: bool = False,
    verify: bool = False,
    on_package: Callable[[Distribution], None] = lambda _: None,
    notes: tuple[str, ...] = (),
    image: Image | None = None,
) -> Report:
    """Load an environment in simulation, and say everything that is wrong with it.

    ``image`` is the root it lies in, where that is not this machine's; ``host`` is its own then.
    """
    known = base.facts
    torch = environment.find(TORCH)
    torch_version = None if torch is None else parse_version(torch.version)
    torch_cuda = None if torch is None else built_for(torch, TORCH, environment.tree)
    target = _target(environment, host, cuda or torch_cuda, archs, driver, toolkit, gpu)
    major = torch_cuda.major if torch_cuda else None
    with closing(ObjectStore(cache)) as store:
        files = DiskFiles(read_shared_object, store, host.machine, environment.tree)
        symbols = InstalledSymbols(base, files, host.machine)
        around = Surroundings.of(
            environment,
            libraries=known.libraries,
            system=base.system_libraries,
            symbols=symbols,
            cuda_major=major,
        )
        examination = examine(
            environment,
            files,
            probe_loader() if image is None else image.loader,
            roles=_roles(
                base.load_rules,
                archs,
                torch_version,
                torch_cuda,
                None
                if environment.python_short is None
                else environment.python_short.replace(".", ""),
            ),
            preload=None
            if torch is None or torch_version is None
            else find_rule(base.preloads, torch_version, torch.build),
            cuda_major=major,
            on_package=on_package,
            mounted=image is not None,
        )
        symbols.torch = examination.torch_process
        files.forget()
        damage = find_damage(environment)
        loads = check_loads(examination, around)
        findings: list[Reason] = [
            *spare_told(loads, damage),
            *check_process(examination, around, files.foreign),
            *check_integrity(damage, around, loads),
            *check_records(
                environment,
                around,
                skews=known.skews,
                marker=_stand_in(environment, host).environment,
            ),
            *check_toolkit(
                environment,
                around,
                lambda: (
                    find_nvcc(environment.prefix, environment.path, environ)
                    if image is None
                    else find_compiler(environment.tree, environment.prefix, environment.path)
                ),
            ),
        ]
        findings += _guarded(environment, known.guards, torch, torch_cuda)
        findings += _unserved(environment, base.load_rules, torch, torch_cuda)
        bad = _bad_here(known, target, _stand_in(environment, host, archs))
        findings = join_reported(findings, check_known_bad(environment, bad, host.machine))
        device = DeviceCheck(files, store, archs, driver, full=full)
        by_bytes = [*device.check(examination)]
        findings += by_bytes
        if driver is not None:
            drivers = DriverNeeds(base.driver_functions, known, driver=driver, cuda=cuda)
            findings += check_driver(examination, files, around, drivers)
        findings += check_build(
            known,
            target,
            torch,
            environment.tree,
            archs=archs,
            wished=cuda is not None,
            by_bytes=by_bytes,
        )
        if image is not None:
            findings += check_cache(image)
        if verify:
            findings += verify_files(environment, around, on_package)
    return Report(
        prefix=environment.prefix,
        root=environment.tree.root,
        kind="environment",
        target=target,
        findings=_ordered(findings),
        members_checked=len(examination.attempts)
        + (len(examination.torch.loads) if examination.torch else 0),
        packages=len(environment.distributions),
        notes=(
            *notes,
            *environment.notes,
            *_notes(examination, target, cuda, torch_cuda, image),
            *_unread(device),
        ),
    )


def _unread(device: DeviceCheck) -> tuple[str, ...]:
    if not device.unread:
        return ()
    return (f"device code of {device.unread} libraries was not read: --full reads it, once",)


def _ordered(findings: Sequence[Reason]) -> tuple[Reason, ...]:
    """The findings in order, without a leftover beside torch where what fails by it is told."""
    shadows = [r for r in findings if r.code is Code.SHADOWED_LIBRARY]
    told = {reason.object for reason in shadows if reason.subject.name != TORCH}
    return order_findings(
        reason
        for reason in findings
        if reason not in shadows or reason.subject.name != TORCH or reason.object not in told
    )


def _guarded(
    environment: Environment,
    guards: Iterable[CudaGuard],
    torch: Distribution | None,
    torch_cuda: CudaVersion | None,
) -> Iterator[Reason]:
    """The packages that raise at import beside the installed torch, by the CUDA of both."""
    if torch is None or torch_cuda is None:
        return
    for guard in guards:
        found = environment.find(guard.project)
        version = None if found is None else parse_version(found.version)
        if found is None or version is None:
            continue
        cuda = (
            built_for(found, guard.project, environment.tree) if guard.speaks_for(version) else None
        )
        if cuda is not None and guard.refuses(cuda, torch_cuda):
            yield guard_reason(guard, found.release, cuda, torch.release, torch_cuda)


def _target(
    environment: Environment,
    host: Host,
    cuda: CudaVersion | None,
    archs: tuple[Arch, ...],
    driver: Version | None,
    toolkit: CudaVersion | None,
    gpu: str | None,
) -> Target | None:
    if cuda is None:
        return None
    return replace(
        _stand_in(environment, host, archs), cuda=cuda, driver=driver, toolkit=toolkit, gpu=gpu
    )


def _stand_in(environment: Environment, host: Host, archs: tuple[Arch, ...] = ()) -> Target:
    """The machine with some CUDA release, for what does not ask which."""
    python = environment.version
    return Target(
        cuda=CudaVersion(13, 0),
        archs=archs,
        python=Version(f"{python[0]}.{python[1]}.0") if python else Version(host.python),
        free_threaded=environment.free_threaded if python else host.free_threaded,
        machine=host.machine,
        glibc=host.glibc or DEFAULT_GLIBC,
    )


def _bad_here(known: Knowledge, target: Target | None, stand_in: Target) -> list[KnownTuple]:
    """The known-bad tuples of this machine; where its CUDA release is not known, those of any."""
    if target is not None:
        return list(known.bad_for(target))
    return [each for each in known.bad_for(stand_in) if not each.cuda]


def _notes(
    examination: Examination,
    target: Target | None,
    cuda: CudaVersion | None,
    torch_cuda: CudaVersion | None,
    image: Image | None,
) -> list[str]:
    notes = []
    if examination.unjudged:
        names = ", ".join(map(str, examination.unjudged))
        notes.append(f"not judged, since torch itself does not load: {names}")
    if examination.no_driver and examination.environment.find(TORCH) is not None:
        notes.append(
            "this machine has no NVIDIA driver: libcuda.so.1 is taken as there and complete"
            if image is None
            else "libcuda.so.1 is taken as there and complete: the container runtime mounts the "
            "machine's; --driver judges that one"
        )
    if cuda is None and torch_cuda is not None:
        notes.append(f"CUDA {torch_cuda} is the one that the installed torch was built for")
    torch = examination.environment.find(TORCH)
    if torch is not None and (whose := vendor_of(torch, examination.environment.tree)):
        notes.append(
            f"{torch} is {whose}: what it exports is read in its files; releases of torch that "
            "findings name are those of the public index"
        )
    if target is not None and not target.archs:
        notes.append("no GPU is known: add --arch to have device code judged")
    return notes


def vendor_of(found: Distribution, tree: Tree) -> str | None:
    """Whose build of their own a package is, by its local version and by what installed it."""
    local = found.version.partition("+")[2]
    if re.search(r"(?:^|\.)nv\d", local):
        return f"NVIDIA's own build (+{local})"
    path = f"{found.site}/{found.info}/INSTALLER"
    try:
        installer = read_start(tree.place(path), 64).strip()
    except OSError:
        return None
    return "conda's own build" if installer == "conda" else None


def _roles(
    rules: Sequence[LoadRule],
    archs: tuple[Arch, ...],
    torch: Version | None,
    built_for: CudaVersion | None,
    python: str | None,
) -> Callable[[Distribution, str], MemberRole | Literal["skipped"] | None]:
    """The load rules, decided for these GPUs and this torch."""

    def role(distribution: Distribution, member: str) -> MemberRole | Literal["skipped"] | None:
        load = find_load(rules, distribution.release, member, python)
        return role_of(load, archs, torch, built_for)

    return role


def _unserved(
    environment: Environment,
    rules: Sequence[LoadRule],
    torch: Distribution | None,
    built_for: CudaVersion | None,
) -> Iterator[Reason]:
    """Packages that choose a library by torch or by its CUDA, and have none for this one."""
    version = None if torch is None else parse_version(torch.version)
    if torch is None or version is None:
        return
    projects = {name for rule in rules if by_torch(rule) for name in rule.projects}
    for found in environment.distributions:
        if found.name not in projects:
            continue
        loads = [(path, find_load(rules, found.release, path)) for path in found.native]
        for group in unserved(loads, version, built_for):
            yield unserved_reason(group, found.release, torch.release, "the files installed")
