"""An environment inside an image's unpacked root: which one, on which machine, and its loader."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from resolver.errors import Undecided, UsageError
from resolver.host.image import Image, probe_image
from resolver.load.distribution import Distribution
from resolver.load.environment import Environment, load_environment
from resolver.load.image_layout import choose, inside
from resolver.load.tree import Tree
from resolver.model.check_report import Report
from resolver.model.reason import Code, Reason, Severity
from resolver.model.release import Named

_NAMED = 3
_ENV = (
    "paths and commands are the image's; its ENV (LD_LIBRARY_PATH, PYTHONPATH) is not in its files "
    "and was taken as empty"
)


def open_image(
    root: Path, place: Path | None, directory: Path, machine: str
) -> tuple[Environment, Image, tuple[str, ...]]:
    """The environment at ``place`` of a root, the image it is in, and notes.

    ``place`` is as inside, None to look for it; ``directory`` is where relative paths of this
    machine begin. Raises UsageError where there is none, or not plainly one.
    """
    if not os.path.isdir(root):
        raise UsageError(
            f"--root {root} is no directory",
            hint="unpack the image first: docker export CONTAINER | tar -x -C DIR",
        )
    tree = Tree(root)
    told: tuple[str, ...] = ()
    if place is None:
        prefix, told = choose(tree, str(root))
    else:
        prefix = inside(tree, place, directory)
    environment = load_environment(prefix, tree=tree)
    python = "{}.{}.0".format(*(environment.version or (3, 12)))
    image = probe_image(tree, environment.python, python, machine)
    return environment, image, (*told, _ENV)


def check_cache(image: Image) -> Iterator[Reason]:
    """What is found only where ldconfig ran again, as NVIDIA's container runtime has it run."""
    added = image.cache.added
    if not added:
        return
    names = sorted(added)
    more = f" and {len(names) - _NAMED} more" if names[_NAMED:] else ""
    places = sorted({os.path.dirname(path) for path in added.values()})
    yield Reason(
        code=Code.MISSING_LIBRARY,
        severity=Severity.DEGRADED,
        subject=Named("/etc/ld.so.cache"),
        needs=", ".join(names[:_NAMED]) + more,
        found=f"{', '.join(places)}, of ld.so.conf, which was read before they were there",
        evidence="/etc/ld.so.cache and the files of /etc/ld.so.conf: NVIDIA's container runtime "
        "runs ldconfig when it starts a container, others do not",
        remedy="RUN ldconfig, at the end of the image",
    )


def on_musl(environment: Environment, image: Image, notes: tuple[str, ...]) -> Report:
    """What can be said where musl is the C library: wheels for glibc do not load there.

    Raises Undecided where others with shared objects are: musl's loader is not simulated.
    """
    native = [each for each in environment.distributions if each.native]
    findings = tuple(_for_glibc(each, image) for each in native if "manylinux" in (each.tag or ""))
    if native and not findings:
        raise Undecided(
            f"{environment.prefix} runs on musl ({image.musl}), whose loader is not simulated: "
            f"{len(native)} of its packages have shared objects",
            hint="torch and NVIDIA's libraries are built for glibc alone: use an image with glibc",
        )
    return Report(
        prefix=environment.prefix,
        root=environment.tree.root,
        kind="environment",
        target=None,
        findings=findings,
        members_checked=0,
        packages=len(environment.distributions),
        notes=(*notes, *environment.notes),
        unjudged=len(native) - len(findings),
    )


def _for_glibc(distribution: Distribution, image: Image) -> Reason:
    return Reason(
        code=Code.PLATFORM_UNSUPPORTED,
        subject=distribution.release,
        object=Named("musl"),
        needs=f"glibc: it is a wheel for {(distribution.tag or '').rpartition('-')[2]}",
        found=f"musl ({image.musl}) and no glibc",
        evidence=f"WHEEL of {distribution}; the root's /lib",
        remedy="Use an image with glibc.",
    )
