"""``abilock why``: does a set work on a target, and if not, what forbids it."""

from __future__ import annotations

import typer

from resolver.cli import console, wiring
from resolver.cli.host import probe_host
from resolver.cli.options import (
    ArchOption,
    CudaOption,
    DriverOption,
    GlibcOption,
    GpuOption,
    MachineOption,
    PythonOption,
    ToolkitOption,
    make_target,
)
from resolver.cli.requirement import load_requirements, parse_requirement
from resolver.cli.resolve import (
    CacheDirOption,
    ChannelOption,
    FileOption,
    Format,
    FormatOption,
    IndexOption,
    NoCacheOption,
    NoTuplesOption,
    OfflineOption,
    PreOption,
    RequirementArgument,
    WheelhouseOption,
    named_tags,
)
from resolver.errors import UsageError


def why(
    requirement: RequirementArgument = None,
    cuda: CudaOption = None,
    arch: ArchOption = None,
    gpu: GpuOption = None,
    python: PythonOption = None,
    machine: MachineOption = None,
    glibc: GlibcOption = None,
    driver: DriverOption = None,
    toolkit: ToolkitOption = None,
    requirement_file: FileOption = None,
    index: IndexOption = None,
    channel: ChannelOption = None,
    pre: PreOption = False,
    no_tuples: NoTuplesOption = False,
    offline: OfflineOption = False,
    wheelhouse: WheelhouseOption = None,
    no_cache: NoCacheOption = False,
    cache_dir: CacheDirOption = None,
    format: FormatOption = Format.TEXT,
) -> None:
    """Say whether a set works on this GPU, by what evidence, and what works instead."""
    from resolver.explain.render_json import dump, why_model
    from resolver.explain.render_text import judgement_text
    from resolver.solve.judge import judge
    from resolver.solve.strategy import Request

    stated = [parse_requirement(text, "requested") for text in requirement or ()]
    for path in requirement_file or ():
        stated += load_requirements(path)
    if not stated:
        raise UsageError(
            "nothing to judge",
            hint="name a set: abilock why torch==2.10.0 sgl-kernel --cuda 13.0 --arch sm120",
        )
    known = wiring.knowledge()
    if no_tuples:
        known = known.measured()
    target = make_target(
        known,
        probe_host(),
        cuda=cuda,
        arch=arch,
        gpu=gpu,
        python=python,
        machine=machine,
        glibc=glibc,
        driver=driver,
        toolkit=toolkit,
    )
    options = wiring.IndexOptions(
        index=tuple(index or ()),
        channels=tuple(channel or ()),
        wheelhouse=wheelhouse,
        offline=offline,
        no_cache=no_cache,
        cache_dir=cache_dir,
    )
    request = Request(requirements=tuple(stated), use_tuples=not no_tuples, pre=pre)
    with (
        console.reading() as on_read,
        wiring.open_workspace(
            known, target, options, named_tags=named_tags(stated), on_read=on_read
        ) as workspace,
    ):
        judgement = judge(workspace, known, request)
    if format is Format.JSON:
        console.data(dump(why_model(judgement)))
    else:
        console.words(judgement_text(judgement), error=False)
    if judgement.verdict == "rejected":
        raise typer.Exit(1)
    if judgement.verdict == "unknown":
        raise typer.Exit(3)
