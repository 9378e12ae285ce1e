"""Evidence from the bytes of wheels, as the solve asks for it.

A file that may link with torch is probed once: its undefined symbols become a bound on torch, the
CUDA libraries that it needs and the device code that it holds become needs of the host. A file that
cannot be read here inherits its symbols, as inferred, from a file of the same release and machine.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Protocol

from packaging.utils import canonicalize_name

from resolver.abi.history import History
from resolver.abi.history_file import load_history
from resolver.abi.inspect import read_evidence
from resolver.abi.link import MemberLink, WheelLink, link_wheel
from resolver.abi.pack import EvidencePack
from resolver.abi.rules import LoadRule, load_rules
from resolver.abi.source import ByteSource, FileSource
from resolver.abi.store import EvidenceStore
from resolver.abi.verdict import check_torch, link_evidence, torch_range
from resolver.abi.wheel import WheelFacts
from resolver.compat.rules import covers
from resolver.errors import AbilockError
from resolver.model.artifact import Artifact, Metadata
from resolver.model.cuda import DeviceCode
from resolver.model.host import CUDA, GPU, HostNeed
from resolver.model.knowledge import Knowledge
from resolver.model.outcome import Pair
from resolver.model.reason import Code, Grade, Reason, Severity
from resolver.model.target import Target
from resolver.solve.candidate import Bound

TORCH = canonicalize_name("torch")
# They are called by torch and link with nothing of it.
_NEVER = frozenset(map(canonicalize_name, ("torch", "triton", "pytorch-triton")))
_RUNTIME = re.compile(r"libcudart\.so\.(\d+)")
_READERS = 4


class Opener(Protocol):
    """Gives access to the bytes of a file; None where it has no address."""

    def __call__(self, artifact: Artifact) -> ByteSource | None:
        """Open one file. Raises IndexFailure."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """The facts of a file, or of a sibling that stands in for it, and whose they are."""

    link: WheelLink
    grade: Grade
    sibling: Artifact | None = None


class WheelEvidence:
    """The Evidence of ``resolver.solve.ports`` over real files.

    ``siblings`` lists the files of an artifact's release that can be read instead of it.
    ``pack`` came with abilock; ``store`` keeps what is read.
    """

    def __init__(
        self,
        known: Knowledge,
        target: Target,
        directory: Path,
        *,
        opener: Opener,
        siblings: Callable[[Artifact], Sequence[Artifact]],
        store: EvidenceStore | None = None,
        pack: EvidencePack | None = None,
        on_read: Callable[[Artifact], None] = lambda _: None,
    ) -> None:
        self._known = known
        self._target = target
        self._directory = directory
        self._opener = opener
        self._siblings = siblings
        self._store = store
        self._pack = pack
        self._on_read = on_read
        self._workers = ThreadPoolExecutor(_READERS, thread_name_prefix="evidence")
        self._lock = Lock()
        self._futures: dict[str, Future[WheelFacts | None]] = {}
        self._links: dict[str, Read | None] = {}
        self._failures: dict[str, str] = {}
        self._history: History | None = None
        self._rules: tuple[LoadRule, ...] = load_rules(directory)
        names = {name for channel in known.channels for name in channel.projects}
        names |= {name for rule in self._rules for name in rule.projects}
        self._named = frozenset(names) - _NEVER

    def close(self) -> None:
        """Let the readers go."""
        self._workers.shutdown(wait=False, cancel_futures=True)

    def notices(self) -> tuple[str, ...]:
        """Files that could not be read, sorted; those that a sibling stands in for are not told."""
        return tuple(sorted(self._failures.values()))

    # the port

    def prefetch(self, artifacts: Iterable[Artifact]) -> None:
        """Start reading the files whose projects are known to link with torch."""
        for artifact in artifacts:
            if artifact.name in self._named and _is_native(artifact):
                self._start(artifact)

    def needs(self, artifact: Artifact, metadata: Metadata) -> tuple[HostNeed | Bound, ...]:
        """What the bytes need of CUDA, of the GPUs and of torch; empty where they are not read."""
        if not self._may_link(artifact, metadata):
            return ()
        read = self._read(artifact)
        if read is None:
            return ()
        needs: list[HostNeed | Bound] = []
        if read.sibling is None:
            origin = f"{artifact.name} {artifact.version}"
            needs += [
                HostNeed(fact, reason.needs, origin, reason)
                for fact, reasons in (
                    (CUDA, self._cuda_reasons(read.link, origin, fatal=True)),
                    (GPU, self._gpu_reasons(read.link, origin, fatal=True)),
                )
                for reason in reasons
                if reason.severity is Severity.FATAL
            ]
        if read.link.symbols and not _alternatives_unread(read.link):
            needs.append(self._torch_bound(artifact, metadata, read))
        return tuple(needs)

    def pair(self, extension: Artifact, torch: Artifact) -> Pair | None:
        """The pair as its bytes have it, None where the bytes of one of them are not known."""
        read = self._links.get(_key(extension))
        if read is None:
            return None
        names = (f"{extension.name} {extension.version}", f"{torch.name} {torch.version}")
        if not read.link.symbols:
            return Pair(
                extension=names[0],
                torch=names[1],
                grade=read.grade,
                symbols=0,
                evidence=f"no member of {read.link.wheel.filename} needs a symbol of torch",
            )
        match = self.history.match(torch.version, machine=self._target.machine, sha256=torch.sha256)
        if match is None or not read.link.mask >> match.index & 1:
            return None  # also where nobody knows which of its members count
        text = link_evidence(read.link, match)
        if read.sibling is not None:
            text += f"; {extension.filename} itself was not read"
        return Pair(
            extension=names[0],
            torch=names[1],
            grade=max(read.grade, match.grade, key=lambda grade: grade.rank),
            symbols=len(read.link.symbols),
            evidence=text,
            summary=_summary(read, match.index),
        )

    def refusals(
        self, extension: Artifact, metadata: Metadata, torch: Artifact
    ) -> tuple[Reason, ...]:
        """Why two files do not load together, by their bytes alone; empty where they do."""
        if not self._may_link(extension, metadata):
            return ()
        read = self._read(extension)
        if read is None or not read.link.symbols:
            return ()
        return self._refusals(f"{extension.name} {extension.version}", metadata, torch, read)

    def remarks(self, extension: Artifact, torch: Artifact) -> tuple[Reason, ...]:
        """Features that are missing beside this torch, on these GPUs, with this CUDA."""
        read = self._links.get(_key(extension))
        if read is None:
            return ()
        subject = f"{extension.name} {extension.version}"
        found = self._graded(
            read,
            check_torch(
                read.link,
                torch.version,
                machine=self._target.machine,
                sha256=torch.sha256,
                subject=subject,
            ),
        )
        if read.sibling is None:
            found += self._cuda_reasons(read.link, subject, fatal=False)
            for fatal in (True, False):
                found += self._gpu_reasons(read.link, subject, fatal=fatal)
        return tuple(reason for reason in found if reason.severity is not Severity.FATAL)

    # torch

    @property
    def history(self) -> History:
        """The symbol history; read when first needed."""
        with self._lock:
            if self._history is None:
                self._history = load_history(self._directory)
            return self._history

    def links(self, extension: Artifact, torch: Artifact) -> bool | None:
        """Whether two files link; None where the bytes of one are not known."""
        read = self._links.get(_key(extension))
        if read is None:
            return None
        match = self.history.match(torch.version, machine=self._target.machine, sha256=torch.sha256)
        return None if match is None else bool(read.link.mask >> match.index & 1)

    def _torch_bound(self, artifact: Artifact, metadata: Metadata, read: Read) -> Bound:
        subject = f"{artifact.name} {artifact.version}"

        def accepts(torch: Artifact) -> bool:
            match = self.history.match(
                torch.version, machine=self._target.machine, sha256=torch.sha256
            )
            return match is None or bool(read.link.mask >> match.index & 1)

        def explain(torch: Artifact | None) -> tuple[Reason, ...]:
            if torch is None:
                return (self._no_torch(subject, read),)
            return self._refusals(subject, metadata, torch, read)

        text = torch_range(read.link, read.link.mask) or "a torch that exports its symbols"
        return Bound(TORCH, accepts, explain, subject, text)

    def _refusals(
        self, subject: str, metadata: Metadata, torch: Artifact, read: Read
    ) -> tuple[Reason, ...]:
        reasons = self._graded(
            read,
            check_torch(
                read.link,
                torch.version,
                machine=self._target.machine,
                sha256=torch.sha256,
                subject=subject,
            ),
        )
        fatal = [reason for reason in reasons if reason.severity is Severity.FATAL]
        return (*fatal, *_refuted(subject, metadata, torch, read)) if fatal else ()

    def _no_torch(self, subject: str, read: Read) -> Reason:
        works = torch_range(read.link, read.link.mask)
        return Reason(
            code=Code.MISSING_SYMBOL,
            subject=subject,
            object="torch",
            needs=f"a torch that exports its {len(read.link.symbols)} symbols",
            found="none among the candidates",
            works_with=works,
            grade=read.grade,
            evidence=f"the undefined symbols of {read.link.wheel.filename}, compared with every "
            "torch in the symbol history",
            remedy=f"allow {works}" if works else "build it from source against your torch",
        )

    def _graded(self, read: Read, reasons: Iterable[Reason]) -> list[Reason]:
        if read.sibling is None:
            return list(reasons)
        note = f"{read.sibling.filename} stands in for a file that was not read; "
        return [
            replace(
                reason,
                grade=max(reason.grade, read.grade, key=lambda grade: grade.rank),
                evidence=note + reason.evidence,
            )
            for reason in reasons
        ]

    # CUDA libraries and device code, member by member

    def _deciding(self, link: WheelLink) -> tuple[MemberLink, ...]:
        columns = [i for i in range(len(link.history.builds)) if link.builds >> i & 1]
        return link.deciding(columns[-1]) if columns else link.members

    def _cuda_reasons(self, link: WheelLink, subject: str, *, fatal: bool) -> list[Reason]:
        """Members that need libraries of another CUDA major.

        Where a wheel nobody curated brings members for several majors, they are alternatives.
        """
        wanted = self._target.cuda.major
        foreign = {
            row.member.path: (row, soname, major)
            for row in link.members
            for soname, major in self._majors(row, link)
            if major != wanted
        }
        served = any(
            major == wanted for row in link.members for _, major in self._majors(row, link)
        )
        deciding = {row.member.path for row in self._deciding(link)}
        reasons = []
        for path, (row, soname, major) in sorted(foreign.items()):
            is_fatal = path in deciding and not (served and not row.load.curated)
            if is_fatal is not fatal:
                continue
            reasons.append(
                Reason(
                    code=Code.CUDA_MISMATCH,
                    severity=Severity.FATAL if fatal else Severity.DEGRADED,
                    subject=subject,
                    object=f"CUDA {self._target.cuda}",
                    member=path,
                    needs=f"{soname}, of CUDA {major}",
                    found=f"CUDA {wanted} and its libraries",
                    evidence=f"DT_NEEDED of {path} in {_file(link)}",
                    remedy=f"use a build of {subject.split(' ')[0]} for CUDA {wanted}",
                )
            )
            if fatal:
                break  # one member that cannot load is enough
        return reasons

    def _majors(self, row: MemberLink, link: WheelLink) -> Iterator[tuple[str, int]]:
        """The CUDA libraries a member needs that belong to one major alone, with that major."""
        if row.member.facts is None:
            return
        own = {other.member.path.rsplit("/", 1)[-1] for other in link.members}
        for soname in row.member.facts.needed:
            if soname in own:
                continue
            majors = self._sonames.get(soname)
            if majors is None and (match := _RUNTIME.match(soname)):
                majors = frozenset({int(match[1])})
            if majors is not None and len(majors) == 1:
                yield soname, next(iter(majors))

    @cached_property
    def _sonames(self) -> dict[str, frozenset[int]]:
        found: dict[str, set[int]] = {}
        anywhere = {lib.soname for lib in self._known.libraries if lib.cuda is None}
        for library in self._known.libraries:
            if library.cuda is not None and library.soname not in anywhere:
                found.setdefault(library.soname, set()).add(library.cuda)
        return {soname: frozenset(majors) for soname, majors in found.items()}

    def _gpu_reasons(self, link: WheelLink, subject: str, *, fatal: bool) -> list[Reason]:
        """Members with device code that does not serve a GPU of the target."""
        deciding = {row.member.path for row in self._deciding(link)}
        alike: dict[tuple[DeviceCode, ...], list[MemberLink]] = {}
        for row in link.members:
            codes = row.member.device_code
            other_gpu = row.load.kind == "selected-by" and not fatal
            if codes and (row.member.path in deciding) is fatal and not other_gpu:
                alike.setdefault(codes, []).append(row)
        reasons = []
        for codes, rows in alike.items():
            path = rows[0].member.path
            more = f" and {len(rows) - 1} more members" if len(rows) > 1 else ""
            for arch in self._target.archs:
                reason = covers(
                    codes,
                    arch,
                    subject=subject,
                    member=path,
                    evidence=f".nv_fatbin of {path}{more} in {_file(link)}",
                    driver=self._target.driver,
                )
                if reason is None or (reason.severity is not Severity.FATAL and not fatal):
                    continue  # what only a feature leaves to the driver's compiler is no news
                if not fatal:
                    lost = f"the package imports without it; its features are missing on {arch}"
                    reason = replace(reason, severity=Severity.DEGRADED, remedy=lost)
                reasons.append(reason)
        return reasons

    # reading

    def _may_link(self, artifact: Artifact, metadata: Metadata) -> bool:
        if artifact.name in _NEVER or not _is_native(artifact):
            return False
        return artifact.name in self._named or any(
            canonicalize_name(requirement.name) == TORCH
            and (
                requirement.marker is None
                or requirement.marker.evaluate({**self._target.environment, "extra": ""})
            )
            for requirement in metadata.requires
        )

    def _read(self, artifact: Artifact) -> Read | None:
        key = _key(artifact)
        if key not in self._links:
            self._links[key] = self._find(artifact)
        return self._links[key]

    def _find(self, artifact: Artifact) -> Read | None:
        facts = self._start(artifact).result()
        if facts is not None:
            return Read(link=self._link(facts), grade=Grade.MEASURED)
        if artifact.version.is_prerelease:
            return None  # a nightly inherits from nothing
        for sibling in self._siblings(artifact):
            facts = self._start(sibling).result()
            if facts is not None:
                self._failures.pop(_key(artifact), None)
                return Read(link=self._link(facts), grade=Grade.INFERRED, sibling=sibling)
        return None

    def _link(self, facts: WheelFacts) -> WheelLink:
        return link_wheel(
            facts,
            self.history,
            self._rules,
            machine=self._target.machine,
            archs=self._target.archs,
        )

    def _start(self, artifact: Artifact) -> Future[WheelFacts | None]:
        key = _key(artifact)
        with self._lock:
            future = self._futures.get(key)
            if future is None:
                future = self._futures[key] = self._workers.submit(self._load, artifact)
            return future

    def _known_facts(self, sha256: str, artifact: Artifact) -> WheelFacts | None:
        """What was read before, the deepest first: by this machine, or by who made the pack."""
        kept = self._store.get(sha256) if self._store is not None else None
        if kept is not None and kept.depth == "full":
            return kept
        packed = self._pack.get(artifact.name, sha256) if self._pack is not None else None
        return packed if packed is not None and packed.depth == "full" else kept or packed

    def _load(self, artifact: Artifact) -> WheelFacts | None:
        if artifact.sha256 is not None and (facts := self._known_facts(artifact.sha256, artifact)):
            return facts
        try:
            source = self._opener(artifact)
            if source is None:
                return None
            self._on_read(artifact)
            facts = read_evidence(
                source,
                filename=artifact.filename,
                sha256=artifact.sha256,
                store=self._store,
            )
        except AbilockError as error:
            self._failures[_key(artifact)] = f"{artifact.filename} could not be read: {error}"
            return None
        if isinstance(source, FileSource):
            with closing(source):
                pass
        return facts


def _key(artifact: Artifact) -> str:
    """What identifies the bytes of a file: its hash, else its place."""
    return artifact.sha256 or artifact.url or artifact.path or artifact.filename


def _is_native(artifact: Artifact) -> bool:
    return artifact.kind == "wheel" and any(tag.platform != "any" for tag in artifact.tags)


def _summary(read: Read, column: int) -> str:
    count = len(read.link.symbols)
    lost = len(read.link.missing(column, every=True))
    which = f"{count - lost} of {count}" if lost else f"all {count}"
    stand_in = "" if read.sibling is None else f", read from {read.sibling.filename}"
    return f"{which} torch symbols are exported; links, not run{stand_in}"


def _alternatives_unread(link: WheelLink) -> bool:
    """Whether no torch links with all members of a wheel that nobody curated.

    Such members must be alternatives, whatever chooses between them: nobody ships a wheel that
    loads nowhere.
    """
    return not link.mask and not any(row.load.curated for row in link.members)


def _file(link: WheelLink) -> str:
    digest = link.wheel.sha256
    return link.wheel.filename + (f" (sha256 {digest[:12]})" if digest else "")


def _refuted(subject: str, metadata: Metadata, torch: Artifact, read: Read) -> tuple[Reason, ...]:
    """Where the metadata accepts a torch that the bytes refuse, that is worth saying."""
    for requirement in metadata.requires:
        if canonicalize_name(requirement.name) != TORCH:
            continue
        if requirement.specifier.contains(torch.version, prereleases=True):
            declared = f"torch{requirement.specifier}" if requirement.specifier else "any torch"
            return (
                Reason(
                    code=Code.METADATA_MISMATCH,
                    severity=Severity.WARNING,
                    subject=subject,
                    object=f"torch {torch.version}",
                    needs=torch_range(read.link, read.link.mask) or "another torch",
                    found=f"metadata that accepts {declared}",
                    grade=read.grade,
                    evidence=f"Requires-Dist and undefined symbols of {read.link.wheel.filename}",
                    remedy="do not rely on pip or uv here: they see the metadata alone",
                ),
            )
    return ()
