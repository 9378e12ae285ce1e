"""``abilock why``: does a set work on a target, and if not, what forbids it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from resolver.cli import console
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
from resolver.errors import DiskFailure, UsageError
from resolver.host.interpreter import probe_host
from resolver.lockfile.requirements_txt import (
    Stated,
    distinct,
    load_requirements,
    parse_requirement,
)
from resolver.usecase import session as wiring

if TYPE_CHECKING:
    from resolver.diagnosis.error_report import Given
    from resolver.model.cuda import CudaVersion
    from resolver.model.knowledge import Knowledge
    from resolver.model.outcome import Judgement
    from resolver.model.target import Target
    from resolver.solve.workspace import Workspace

    JudgeSet = Callable[[Target, tuple[Stated, ...], tuple[str, ...]], Judgement]

ErrorOption = Annotated[
    str | None,
    typer.Option(
        "--error",
        metavar="FILE|-",
        help="Explain a pasted traceback or loader message; -r names what pip freeze printed.",
    ),
]


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
    error: ErrorOption = None,
    index: IndexOption = None,
    channel: ChannelOption = None,
    pre: PreOption = False,
    no_tuples: NoTuplesOption = False,
    offline: OfflineOption = False,
    wheelhouse: WheelhouseOption = None,
    no_cache: NoCacheOption = False,
    cache_dir: CacheDirOption = None,
    verbose: Annotated[
        bool, typer.Option("-v", "--verbose", help="Tell the whole proof and all evidence.")
    ] = False,
    format: FormatOption = Format.TEXT,
) -> None:
    """Say whether a set works on this GPU, by what evidence, and what works instead."""
    from resolver.render.render_json import dump, why_model
    from resolver.render.render_text import judgement_text

    options = wiring.IndexOptions(
        index=tuple(index or ()),
        channels=tuple(channel or ()),
        wheelhouse=wheelhouse,
        offline=offline,
        no_cache=no_cache,
        cache_dir=cache_dir,
    )
    known = wiring.knowledge()
    if no_tuples:
        known = known.measured()
    judge_set = _judge_with(known, options, use_tuples=not no_tuples, pre=pre)
    stated = [parse_requirement(text, "requested") for text in requirement or ()]
    if error is not None:
        if error == "-" and sys.stdin is None:
            raise DiskFailure(
                "cannot read stdin: it is closed", hint="name a file with --error FILE"
            )
        from resolver.diagnosis.error_report import Given

        given = Given(cuda=cuda, arch=arch, gpu=gpu, python=python, machine=machine, driver=driver)
        files = tuple(requirement_file or ())
        _explain_error(known, error, stated, files, given, glibc, toolkit, judge_set, format)
        return
    notes = list[str]()
    for path in requirement_file or ():
        stated += load_requirements(path, notes)
    stated = list(distinct(stated))
    if not stated:
        raise UsageError(
            "nothing to judge",
            hint="name a set: abilock why torch==2.10.0 sgl-kernel --cuda 13.0 --arch sm120",
        )
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
    repeated = repeated_options(
        python=python, machine=machine, glibc=glibc, driver=driver, toolkit=toolkit, pre=pre
    )
    judgement = judge_set(target, tuple(stated), repeated)
    judgement = replace(judgement, notes=(*judgement.notes, *notes))
    if format is Format.JSON:
        console.data(dump(why_model(judgement)))
    else:
        console.words(judgement_text(judgement, verbose=verbose), error=False)
    if judgement.verdict == "rejected":
        raise typer.Exit(1)
    if judgement.verdict == "unknown":
        raise typer.Exit(3)


def _judge_with(
    known: Knowledge, options: wiring.IndexOptions, *, use_tuples: bool, pre: bool
) -> JudgeSet:
    """What judges a set on a target, over the user's indexes."""
    from resolver.solve.judge import judge
    from resolver.solve.request import Request

    def judge_set(
        target: Target, stated: tuple[Stated, ...], repeated: tuple[str, ...]
    ) -> Judgement:
        request = Request(requirements=stated, use_tuples=use_tuples, pre=pre, options=repeated)
        with console.reading() as on_read:

            def elsewhere(other: Target) -> AbstractContextManager[Workspace]:
                tags = named_tags(stated)
                return wiring.open_workspace(
                    known, other, options, named_tags=tags, on_read=on_read
                )

            with elsewhere(target) as workspace:
                return judge(workspace, known, request, elsewhere)

    return judge_set


def repeated_options(
    *,
    python: str | None,
    machine: str | None,
    glibc: str | None,
    driver: str | None,
    toolkit: str | None,
    pre: bool,
) -> tuple[str, ...]:
    """The options of a command line that a command told to the user must have too."""
    given = {
        "--python": python,
        "--machine": machine,
        "--glibc": glibc,
        "--driver": driver,
        "--toolkit": toolkit,
    }
    words = [f"{name} {value}" for name, value in given.items() if value is not None]
    return (*words, "--pre") if pre else tuple(words)


def _explain_error(
    known: Knowledge,
    source: str,
    stated: list[Stated],
    files: tuple[Path, ...],
    given: Given,
    glibc: str | None,
    toolkit: str | None,
    judge_set: JudgeSet,
    format: Format,
) -> None:
    """Explain a pasted error; exit 1 where what is installed is rejected."""
    from resolver.diagnosis import error_report as pasted
    from resolver.render.render_error import error_text
    from resolver.render.render_json import dump, error_model

    host = probe_host()
    text = pasted.read_text(source)
    freezes = [(path, pasted.read_text(str(path))) for path in files]
    setting = pasted.find_setting(known, text, given, stated, freezes)
    given = setting.given
    repeated = repeated_options(
        python=given.python,
        machine=given.machine,
        glibc=glibc,
        driver=given.driver,
        toolkit=toolkit,
        pre=False,
    )
    target, judge_here = None, None
    if given.cuda is not None and (given.arch is not None or given.gpu is not None):
        target = make_target(
            known,
            host,
            cuda=given.cuda,
            arch=given.arch,
            gpu=given.gpu,
            python=given.python,
            machine=given.machine,
            glibc=glibc,
            driver=given.driver,
            toolkit=toolkit,
        )

        machine_target = target

        def judge_here(wanted: tuple[Stated, ...], cuda: CudaVersion | None) -> Judgement:
            there = machine_target if cuda is None else replace(machine_target, cuda=cuda)
            return judge_set(there, wanted, repeated)

    report, judgement = pasted.explain(known, setting, host, judge_here, repeated)
    if format is Format.JSON:
        console.data(dump(error_model(report, judgement, target)))
    else:
        console.words(error_text(report, judgement), error=False)
    if judgement is not None and judgement.verdict == "rejected":
        raise typer.Exit(1)
