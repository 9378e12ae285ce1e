"""What this machine is, and the target that it makes with what a user says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from resolver.dataclass import dataclass
from resolver.errors import UsageError
from resolver.host.gpu import Accelerator
from resolver.host.interpreter import Host
from resolver.host.toolkit import probe_libstdcxx
from resolver.model.knowledge import Knowledge
from resolver.model.options import TargetOptions
from resolver.model.target import Target
from resolver.usecase.answer import Answer
from resolver.usecase.session import Session
from resolver.usecase.target_options import make_target, with_project


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class MachineResult(Answer):
    """The answer to ``target``. ``target`` is None where CUDA or GPU are not known: ``problem``.

    ``sources`` says of each value of the target where it comes from; ``libstdcxx`` is the newest
    GLIBCXX version of the system's C++ library.
    """

    target: Target | None
    problem: UsageError | None
    sources: Mapping[str, str]
    host: Host
    accelerator: Accelerator
    libstdcxx: str | None

    def text(self) -> str:
        """The answer for people, as the command prints it."""
        from resolver.render.render_machine import machine_text

        lines = machine_text(self.target, self.sources, self.host, self.accelerator, self.libstdcxx)
        if self.problem is not None:
            lines += ["", str(self.problem), f"hint: {self.problem.hint}"]
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """The document of ``target --format json`` (docs/json.md)."""
        from resolver.render.render_json import document
        from resolver.render.render_machine import machine_model

        return document(
            machine_model(self.target, self.sources, self.host, self.accelerator, self.libstdcxx)
        )


def describe_machine(session: Session, options: TargetOptions) -> MachineResult:
    """Probe the machine. Raises UsageError for an option that cannot be used."""
    known, world, project = session.knowledge, session.world, session.project
    host, found = world.probe_host(), world.probe_accelerator(known)
    whole = with_project(options, project)
    said = dict.fromkeys(_said(whole), str(project.path))
    said |= dict.fromkeys(_said(options), "option")
    target: Target | None = None
    problem: UsageError | None = None
    try:
        target = make_target(known, whole, world, accelerator=found, tell=session.tell)
    except UsageError as error:
        complete = whole.arch or whole.gpu or found.archs
        if complete and (whole.cuda or found.cuda(known)):
            raise
        problem = error
    return MachineResult(
        target=target,
        problem=problem,
        sources=said | {k: v for k, v in _sources(known, host, found).items() if k not in said},
        host=host,
        accelerator=found,
        libstdcxx=probe_libstdcxx(),
    )


def _said(options: TargetOptions) -> list[str]:
    """The values of a target that options say."""
    given = {
        "cuda": options.cuda,
        "arch": options.arch or options.gpu,
        "python": options.python,
        "machine": options.machine,
        "glibc": options.glibc,
        "driver": options.driver,
        "toolkit": options.toolkit,
    }
    return [name for name, value in given.items() if value is not None]


def _sources(known: Knowledge, host: Host, found: Accelerator) -> dict[str, str]:
    """Where the values come from that nobody says."""
    sources = {}
    if (guess := found.cuda(known)) is not None:
        sources["cuda"] = guess[1]
    if found.archs:
        sources["arch"] = found.source
    if found.driver is not None:
        sources["driver"] = found.source
    sources |= {"python": "the Python that runs abilock", "machine": "this machine"}
    if host.glibc is not None:
        sources["glibc"] = "this machine"
    return sources
