"""What this machine is, for people and as the document of ``target``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from resolver.host.gpu import Accelerator
from resolver.host.interpreter import Host
from resolver.model.target import Target, driver_text

if TYPE_CHECKING:
    from resolver.render.contract import TargetDocument


def machine_model(
    target: Target | None,
    sources: Mapping[str, str],
    host: Host,
    found: Accelerator,
    libstdcxx: str | None,
) -> TargetDocument:
    """The document of ``target``."""
    from resolver.render.contract import GpuModel, TargetDocument, ToolkitModel
    from resolver.render.render_json import target_model

    return TargetDocument(
        target=None if target is None else target_model(target),
        tags=[] if target is None else [str(tag) for tag in target.tag_rank],
        sources=dict(sources),
        gpus=[
            GpuModel(name=device.name, arch=None if device.arch is None else str(device.arch))
            for device in found.devices
        ],
        driver=None if found.driver is None else driver_text(found.driver),
        driver_cuda=None if found.supported is None else str(found.supported),
        toolkits=[
            ToolkitModel(version=str(each.version), path=each.path) for each in found.toolkits
        ],
        glibc=_glibc(host),
        libstdcxx=libstdcxx,
        python=host.python,
    )


def machine_text(
    target: Target | None,
    sources: Mapping[str, str],
    host: Host,
    found: Accelerator,
    libstdcxx: str | None,
) -> list[str]:
    """A line for each part of the machine, and where it is known from."""
    archs = target.archs if target else found.archs
    driver = None if found.driver is None else driver_text(found.driver)
    rows: list[tuple[str, str, str]] = [
        ("CUDA", str(target.cuda) if target else "unknown", sources.get("cuda", "")),
        ("GPU code", ", ".join(map(str, archs)) or "unknown", sources.get("arch", "")),
    ]
    for device in found.devices:
        code = "capability unknown" if device.arch is None else str(device.arch)
        rows.append(("GPU", device.name, code))
    rows.append(("driver", driver or "none", sources.get("driver", "")))
    rows += [("toolkit", str(each.version), each.path) for each in found.toolkits]
    if not found.toolkits:
        rows.append(("toolkit", "none", ""))
    rows += [
        ("Python", target.python_short if target else host.python, sources["python"]),
        ("glibc", target.glibc_text if target else _glibc(host) or "none", ""),
        ("libstdc++", f"GLIBCXX_{libstdcxx}" if libstdcxx else "none", ""),
    ]
    if target is not None:
        tags = target.tag_rank
        rows.append(("best tag", str(next(iter(tags))), f"{len(tags)} tags"))
    return [f"{name:<10}  {value}{f'  ({note})' if note else ''}" for name, value, note in rows]


def _glibc(host: Host) -> str | None:
    return None if host.glibc is None else f"{host.glibc[0]}.{host.glibc[1]}"
