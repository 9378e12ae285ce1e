"""Which build of a package is installed, and what the machine has to say to it.

A lock says the build by a file's name and hash; here ``version.py`` says it, whatever it was
installed from. The judgement is the one of ``why`` and of locks: ``TargetRules``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path

from packaging.version import Version

from resolver.compat.target_rules import TargetRules
from resolver.dataclass import replace
from resolver.files import read_start
from resolver.load.distribution import Distribution
from resolver.load.tree import HERE, Tree
from resolver.model.artifact import Artifact
from resolver.model.channel import DEFAULT_CHANNEL
from resolver.model.cuda import CUDA_TAG, Arch, CudaVersion
from resolver.model.knowledge import Knowledge
from resolver.model.reason import Code, Grade, Reason, Severity
from resolver.model.release import Named
from resolver.model.stack import TORCH
from resolver.model.target import Target
from resolver.model.version import parse_version
from resolver.solve.judge import superseded

_CUDA = re.compile(r"(?m)^cuda\s*(?::[^=]*)?=\s*['\"]([\d.]+)['\"]")
# ``__version__ = '2.11.0+cu130'``, as torchaudio and torchvision write it.
_LOCAL = re.compile(rf"(?m)^__version__\s*=\s*['\"][^'\"+]*\+({CUDA_TAG})['\"]")
# ``cuda: Optional[str] = None``: a build for the CPU, ROCm or XPU, where no line says which.
_NONE = re.compile(r"(?m)^cuda\s*(?::[^=]*)?=\s*None\b")
_OTHER = re.compile(r"(?m)^(?:hip|xpu|rocm)\s*(?::[^=]*)?=\s*['\"]")
_CPU = "cpu"


def built_for(distribution: Distribution, package: str, tree: Tree = HERE) -> CudaVersion | None:
    """The CUDA release that a package was built for, by its ``version.py``; None for the CPU."""
    text = _version_py(distribution, package, tree)
    match = _CUDA.search(text) or _LOCAL.search(text)
    try:
        if match:
            return CudaVersion.parse(match[1])
    except ValueError:
        pass
    version = parse_version(distribution.version)
    return None if version is None else CudaVersion.from_local(version.local)


def is_cpu_build(torch: Distribution, tree: Tree = HERE) -> bool:
    """Whether the installed torch was built for no accelerator at all."""
    version = parse_version(torch.version)
    if version is not None and version.local is not None:
        return version.local == _CPU
    text = _version_py(torch, TORCH, tree)
    return bool(_NONE.search(text)) and not _OTHER.search(text)


def check_build(
    known: Knowledge,
    target: Target | None,
    torch: Distribution | None,
    tree: Tree,
    *,
    archs: Collection[Arch],
    wished: bool,
    by_bytes: Collection[Reason],
) -> Iterator[Reason]:
    """What ``why`` would say of the machine, and of the installed torch there.

    ``wished`` says that a CUDA release was asked for. ``by_bytes`` is what the device code of the
    libraries says, better than what is known of a build.
    """
    cpu = torch is not None and is_cpu_build(torch, tree)
    if target is not None:
        rules = TargetRules(known, target)
        needs = [] if cpu and not wished else [*rules.target_needs()]
        if (
            torch is not None
            and (wished or not cpu)
            and (file := _as_file(rules, torch, tree, cpu))
        ):
            needs += rules.candidate_needs(file, None)
        for need in needs:
            if need.reason is not None and not superseded(need.reason, by_bytes):
                yield need.reason
    if torch is not None and cpu and archs and not wished:
        yield _leaves_idle(torch, archs)


def _as_file(rules: TargetRules, torch: Distribution, tree: Tree, cpu: bool) -> Artifact | None:
    """The installed torch as the file it was: of a build that nobody curated its CUDA alone."""
    version = parse_version(torch.version)
    cuda = built_for(torch, TORCH, tree)
    if version is None or (cuda is None and not cpu):
        return None
    said = str(cuda) if cuda else _CPU
    file = Artifact(
        filename=f"{torch.name}=={torch.version}",
        name=torch.name,
        version=version,
        kind="wheel",
        channel=DEFAULT_CHANNEL if version.local is None else "pytorch",
        origin="directory",
    )
    if rules.cuda_of(file) == said:
        return file
    local = cuda.tag if cuda else _CPU
    return replace(file, version=Version(f"{version.public}+{local}"), channel="")


def _leaves_idle(torch: Distribution, archs: Collection[Arch]) -> Reason:
    gpus = ", ".join(map(str, sorted(archs)))
    return Reason(
        code=Code.CUDA_MISMATCH,
        severity=Severity.DEGRADED,
        subject=torch.release,
        object=Named("GPU", gpus),
        needs="a build for CUDA",
        found="no CUDA at all: a CPU build",
        grade=Grade.MEASURED,
        evidence="torch/version.py",
        remedy="install a build of torch for CUDA; with this one the GPU is not used",
    )


def _version_py(distribution: Distribution, package: str, tree: Tree) -> str:
    try:
        place = tree.place(Path(distribution.site, package, "version.py"))
        return read_start(place, 1 << 16)
    except OSError:
        return ""
