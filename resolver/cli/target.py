"""``abilock target``: what this machine is, as the other commands see it."""

from __future__ import annotations

import os
from pathlib import Path

from resolver.cli import console
from resolver.cli.flatten import flattened
from resolver.cli.opened import opened
from resolver.cli.resolve import Format, FormatOption
from resolver.errors import AbilockError, UsageError
from resolver.host.dynamic_loader import probe_loader
from resolver.host.gpu import Accelerator
from resolver.model.options import TargetOptions
from resolver.model.target import Target, driver_text
from resolver.render.contract import GpuModel, TargetDocument, ToolkitModel
from resolver.usecase.target_options import make_target, with_project


@flattened
def target(
    target: TargetOptions = TargetOptions(),
    format: FormatOption = Format.TEXT,
) -> None:
    """Show this machine: GPUs, driver, CUDA toolkits, glibc, Python, and the target they make."""
    from resolver.render.render_json import dump, target_model

    with opened() as session:
        known, world, project = session.knowledge, session.world, session.project
    host, found = world.probe_host(), world.probe_accelerator(known)
    options, target = target, with_project(target, project)
    made: Target | None
    problem: UsageError | None = None
    try:
        made = make_target(known, target, world, accelerator=found)
    except UsageError as error:
        if (target.cuda or found.cuda(known)) and (target.arch or target.gpu or found.archs):
            raise  # an option that cannot be used
        made, problem = None, error
    given = {
        "cuda": target.cuda,
        "arch": target.arch or target.gpu,
        "python": target.python,
        "machine": target.machine,
        "glibc": target.glibc,
        "driver": target.driver,
        "toolkit": target.toolkit,
    }
    sources = {
        name: "option" if _says(options, name) else f"{project.path}"
        for name, value in given.items()
        if value is not None
    }
    if (guess := found.cuda(known)) is not None:
        sources.setdefault("cuda", guess[1])
    if found.archs:
        sources.setdefault("arch", found.source)
    if found.driver is not None:
        sources.setdefault("driver", found.source)
    sources.setdefault("python", "the Python that runs abilock")
    sources.setdefault("machine", "this machine")
    if host.glibc is not None:
        sources.setdefault("glibc", "this machine")
    document = TargetDocument(
        target=None if made is None else target_model(made),
        tags=[] if made is None else [str(tag) for tag in made.tag_rank],
        sources=sources,
        gpus=[
            GpuModel(name=device.name, arch=None if device.arch is None else str(device.arch))
            for device in found.devices
        ],
        driver=None if found.driver is None else driver_text(found.driver),
        driver_cuda=None if found.supported is None else str(found.supported),
        toolkits=[
            ToolkitModel(version=str(each.version), path=each.path) for each in found.toolkits
        ],
        glibc=None if host.glibc is None else f"{host.glibc[0]}.{host.glibc[1]}",
        libstdcxx=_libstdcxx(),
        python=host.python,
    )
    if format is Format.JSON:
        console.data(dump(document))
    else:
        console.words(_text(document, found, problem), error=False)


def _says(options: TargetOptions, name: str) -> bool:
    return getattr(options, name) is not None or (name == "arch" and options.gpu is not None)


def _libstdcxx() -> str | None:
    """The newest GLIBCXX version of the system's C++ library: ``3.4.30``."""
    from resolver.abi.shared_object import read_shared_object

    host = probe_loader()
    places = [f"{each}/libstdc++.so.6" for each in (*host.library_path, *host.default)]
    if (cached := host.cache.get("libstdc++.so.6")) is not None:
        places.insert(len(host.library_path), cached)
    for place in filter(os.path.exists, places):
        try:
            facts = read_shared_object(Path(place))
        except (OSError, AbilockError):
            continue
        if facts is not None:
            names = [v.removeprefix("GLIBCXX_") for v in facts.offers if v.startswith("GLIBCXX_3")]
            return max(names, key=lambda v: tuple(map(int, v.split("."))), default=None)
    return None


def _text(document: TargetDocument, found: Accelerator, problem: UsageError | None) -> str:
    sources = document.sources
    rows: list[tuple[str, str, str]] = []
    made = document.target
    rows.append(("CUDA", made.cuda if made else "unknown", sources.get("cuda", "")))
    archs = ", ".join(made.arch) if made else ", ".join(map(str, found.archs))
    rows.append(("GPU code", archs or "unknown", sources.get("arch", "")))
    rows += [("GPU", gpu.name, gpu.arch or "capability unknown") for gpu in document.gpus]
    rows.append(("driver", document.driver or "none", sources.get("driver", "")))
    rows += [("toolkit", each.version, each.path) for each in document.toolkits]
    if not document.toolkits:
        rows.append(("toolkit", "none", ""))
    rows.append(("Python", made.python if made else document.python, sources["python"]))
    rows.append(("glibc", made.glibc if made else document.glibc or "none", ""))
    rows.append(
        ("libstdc++", f"GLIBCXX_{document.libstdcxx}" if document.libstdcxx else "none", "")
    )
    if document.tags:
        rows.append(("best tag", document.tags[0], f"{len(document.tags)} tags"))
    lines = [f"{name:<10}  {value}{f'  ({note})' if note else ''}" for name, value, note in rows]
    if problem is not None:
        lines += ["", f"{problem}", f"hint: {problem.hint}"]
    return "\n".join(lines)
