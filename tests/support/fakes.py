"""Values from terse text, and the ports of a solve in memory.

A release is a line: ``a 1.0 needs b>=2 | c; python_version<'3.12'``. Words between the version and
``needs`` say more of the file:

``cp312-cp312-linux_x86_64``  its tags, else ``py3-none-any``; ``sdist`` for a source distribution
``build:2``                   its build tag
``channel:pytorch``           its channel, else ``default``
``snapshot:2026-01-01``       the channel's listing is a record of that day
``local``                     the file lies in a directory
``py:>=3.9``                  Requires-Python on the index page, ``says-py:`` only in its metadata
``at:2026-01-01T00:00:00Z``   its upload time
``yanked``, ``nohash``        its marks
``extras:x,y``                the extras it provides
``url:none``                  its address is not known; else ``url:`` gives it
``hash:ab`` ``also:cd``       its sha256, repeated to full length, and another for its address
``empty``                     the wheel holds nothing
``damaged``, ``missing``      what reading its metadata comes to; ``silent``: no answer
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.tags import parse_tag
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from resolver.errors import DamagedData, NotFound, Unreachable
from resolver.model.artifact import Artifact, Listing, Metadata
from resolver.model.cuda import Arch, CudaVersion
from resolver.model.dependency import parse_dependencies
from resolver.model.host_need import HostNeed
from resolver.model.knowledge import Knowledge, KnownTuple, SkewGroup
from resolver.model.outcome import Check, Judgement, Outcome, Pair
from resolver.model.reason import Code, Grade, Reason, Severity
from resolver.model.stated import Stated
from resolver.model.target import Target
from resolver.solve.candidate import Bound
from resolver.solve.catalog import Catalog, CatalogBuilder
from resolver.solve.judge import judge
from resolver.solve.request import Request
from resolver.solve.strategy import resolve
from resolver.solve.workspace import Workspace
from tests.support.named import named


@dataclass(frozen=True, slots=True)
class Release:
    """One file with its metadata, as a line of text says."""

    artifact: Artifact
    metadata: Metadata
    snapshot_date: str | None = None
    fate: str = ""


def make_target(**changes: Any) -> Target:
    """A Blackwell server with Python 3.12; texts are read as the command line reads them."""
    values: dict[str, Any] = {"cuda": "13.0", "archs": "sm120", "python": "3.12.0", **changes}
    values["cuda"] = CudaVersion.parse(values["cuda"])
    values["archs"] = tuple(map(Arch.parse, filter(None, values["archs"].split(","))))
    for name in ("python", "driver"):
        if name in values:
            values[name] = Version(values[name])
    values.setdefault("glibc", (2, 35))
    return Target(**values)


def make_release(line: str) -> Release:
    """The file that a line describes."""
    head, _, needs = line.partition(" needs ")
    name, version, *words = head.split()
    marks = {word for word in words if ":" not in word}
    said: dict[str, str] = dict(word.split(":", 1) for word in words if ":" in word)
    sdist = "sdist" in marks
    tag = next((word for word in marks if word.count("-") == 2), "py3-none-any")
    build = said.get("build", "")
    escaped = name.replace("-", "_")
    filename = (
        f"{escaped}-{version}.tar.gz"
        if sdist
        else "-".join([escaped, version, *([build] if build else []), tag]) + ".whl"
    )
    channel = said.get("channel", "default")
    origin: Any = "snapshot" if "snapshot" in said else "directory" if "local" in marks else "index"
    url: str | None = said.get("url", f"https://files.test/{channel}/{filename}")
    digest = hashlib.sha256(f"{channel}/{filename}".encode()).hexdigest()
    if "hash" in said:
        digest = (said["hash"] * 64)[:64]
    artifact = Artifact(
        filename=filename,
        name=canonicalize_name(name),
        version=Version(version),
        kind="sdist" if sdist else "wheel",
        channel=channel,
        origin=origin,
        tags=frozenset() if sdist else parse_tag(tag),
        build=(int(build), "") if build else (),
        url=None if url == "none" or "local" in marks else url,
        path=f"/wheels/{filename}" if "local" in marks else None,
        sha256=None if "nohash" in marks else digest,
        size=1000,
        requires_python=said.get("py"),
        yanked="yanked" in marks,
        upload_time=datetime.fromisoformat(said["at"]) if "at" in said else None,
        alternates=((said["also"] * 64)[:64],) if "also" in said else (),
    )
    requires, broken = parse_dependencies(filter(None, map(str.strip, needs.split(" | "))))
    metadata = Metadata(
        name=artifact.name,
        version=artifact.version,
        requires=requires,
        broken=broken,
        requires_python=said.get("says-py", said.get("py")),
        extras=frozenset(map(canonicalize_name, filter(None, said.get("extras", "").split(",")))),
        source="METADATA of the wheel",
        placeholder="empty" in marks,
    )
    fate = next(iter(marks & {"damaged", "missing", "silent"}), "")
    return Release(artifact, metadata, said.get("snapshot"), fate)


def make_releases(text: str) -> list[Release]:
    """One release a line; blank lines and lines after ``#`` do not count."""
    lines = (line.strip() for line in text.splitlines())
    return [make_release(line) for line in lines if line and not line.startswith("#")]


class FakeIndex:
    """An index in memory; channels come in the order in which the text names them.

    ``unreachable`` projects raise; ``asked`` keeps what was read, in order.
    """

    def __init__(
        self, text: str = "", *, unreachable: Collection[str] = (), notices: Iterable[str] = ()
    ) -> None:
        self.releases = make_releases(text)
        self.unreachable = frozenset(unreachable)
        self.asked: list[str] = []
        self._notices = tuple(notices)
        self._pages: dict[str, dict[str, list[Release]]] = defaultdict(lambda: defaultdict(list))
        self._by_file: dict[tuple[str, str], Release] = {}
        for release in self.releases:
            artifact = release.artifact
            self._pages[artifact.name][artifact.channel].append(release)
            self._by_file[artifact.filename, artifact.channel] = release

    offline = False

    def is_partial(self, project: NormalizedName) -> bool:
        pages = self._pages.get(project, {}).values()
        return self.offline or any(r.snapshot_date for page in pages for r in page)

    def listings(self, project: NormalizedName) -> tuple[Listing, ...]:
        self.asked.append(project)
        if project in self.unreachable:
            raise Unreachable(f"no answer for {project}", url="https://files.test/")
        return tuple(
            Listing(
                project=project,
                channel=channel,
                artifacts=tuple(release.artifact for release in releases),
                snapshot_date=next((r.snapshot_date for r in releases if r.snapshot_date), None),
            )
            for channel, releases in self._pages.get(project, {}).items()
        )

    def metadata(self, artifact: Artifact) -> Metadata:
        self.asked.append(artifact.filename)
        if artifact.name in self.unreachable:
            raise Unreachable(f"no answer for {artifact.filename}", url="https://files.test/")
        release = self._by_file[artifact.filename, artifact.channel]
        if release.fate == "damaged":
            raise DamagedData(f"{artifact.filename} is not a zip file")
        if release.fate == "missing":
            raise NotFound(f"no metadata of {artifact.filename}", url="https://files.test/")
        if release.fate == "silent":
            url = artifact.url or ""
            raise Unreachable(f"cannot read {url}: the server answered 503", url=url)
        return release.metadata

    def prefetch_listings(self, projects: Iterable[NormalizedName]) -> None:
        del projects

    def prefetch_metadata(
        self,
        artifacts: Iterable[Artifact],
        leads_to: Callable[[Metadata], Iterable[NormalizedName]] | None = None,
    ) -> None:
        del artifacts, leads_to

    def asides(self) -> tuple[str, ...]:
        return ()

    def notices(self) -> tuple[str, ...]:
        return self._notices


@dataclass(frozen=True, kw_only=True)
class FakeRules:
    """Facts as they are given: needs and remarks by ``name version``; builds by local version."""

    wish: tuple[HostNeed, ...] = ()
    needs: Mapping[str, tuple[HostNeed, ...]] = field(default_factory=dict)
    said: Mapping[str, tuple[Reason, ...]] = field(default_factory=dict)
    about_wish: tuple[Reason, ...] = ()
    grades: Mapping[str, Grade] = field(default_factory=dict)
    higher: Collection[str] = ()
    ranks: Mapping[str, int] = field(default_factory=dict)
    absences: Mapping[tuple[str, str, str], Reason] = field(default_factory=dict)
    whole: Collection[tuple[str, str, str]] = ()

    def target_needs(self) -> tuple[HostNeed, ...]:
        return self.wish

    def target_remarks(self) -> tuple[Reason, ...]:
        return self.about_wish

    def cuda_of(self, artifact: Artifact, metadata: Metadata | None = None) -> str | None:  # noqa: ARG002
        cuda = CudaVersion.from_local(artifact.version.local)
        return None if cuda is None else str(cuda)

    def cuda_rank(self, artifact: Artifact) -> int:
        return self.ranks.get(_text(artifact), 0)

    def absent(self, project: NormalizedName, version: Version, channel: str) -> Reason | None:
        return self.absences.get((project, str(version), channel))

    def is_whole(self, project: NormalizedName, version: Version, channel: str) -> bool:
        return (project, str(version), channel) in self.whole

    def may_be_elsewhere(self, project: NormalizedName, version: Version) -> bool:
        return self.absent(project, version, "any") is None

    def is_for_higher_minor(self, artifact: Artifact) -> bool:
        return _text(artifact) in self.higher

    def grade_of(self, artifact: Artifact) -> Grade | None:
        return self.grades.get(_text(artifact))

    def candidate_needs(
        self, artifact: Artifact, metadata: Metadata | None
    ) -> tuple[HostNeed, ...]:
        return self.needs.get(_text(artifact), ()) if metadata is None else ()

    def remarks(self, artifact: Artifact, metadata: Metadata) -> tuple[Reason, ...]:  # noqa: ARG002
        return self.said.get(_text(artifact), ())


@dataclass(frozen=True, kw_only=True)
class FakeEvidence:
    """What bytes say: pairs and remarks by the two ``name version``, needs by the extension's."""

    pairs: Mapping[tuple[str, str], Pair] = field(default_factory=dict)
    bounds: Mapping[str, tuple[HostNeed | Bound, ...]] = field(default_factory=dict)
    said: Mapping[tuple[str, str], tuple[Reason, ...]] = field(default_factory=dict)
    refused: Mapping[tuple[str, str], tuple[Reason, ...]] = field(default_factory=dict)
    pinned_too_far: Mapping[tuple[str, str], tuple[Reason, ...]] = field(default_factory=dict)
    told: tuple[str, ...] = ()
    codes: Mapping[str, Check] = field(default_factory=dict)
    siblings: Mapping[str, Artifact] = field(default_factory=dict)

    def prefetch(self, artifacts: Iterable[Artifact]) -> None:
        del artifacts

    def needs(self, artifact: Artifact, metadata: Metadata) -> tuple[HostNeed | Bound, ...]:  # noqa: ARG002
        return self.bounds.get(_text(artifact), ())

    def sibling_needs(self, artifact: Artifact) -> tuple[HostNeed | Bound, ...]:
        return tuple(n for n in self.bounds.get(_text(artifact), ()) if isinstance(n, Bound))

    def stand_in(self, artifact: Artifact) -> Artifact | None:
        return self.siblings.get(_text(artifact))

    def pair(self, extension: Artifact, torch: Artifact) -> Pair | None:
        return self.pairs.get((_text(extension), _text(torch)))

    def refusals(
        self,
        extension: Artifact,
        metadata: Metadata,  # noqa: ARG002
        torch: Artifact,
    ) -> tuple[Reason, ...]:
        return self.refused.get((_text(extension), _text(torch)), ())

    def overdeclared(
        self,
        extension: Artifact,
        metadata: Metadata,  # noqa: ARG002
        torch: Artifact,
    ) -> tuple[Reason, ...]:
        return self.pinned_too_far.get((_text(extension), _text(torch)), ())

    def remarks(self, extension: Artifact, torch: Artifact) -> tuple[Reason, ...]:
        return self.said.get((_text(extension), _text(torch)), ())

    def device_code(self, artifact: Artifact) -> Check | None:
        return self.codes.get(_text(artifact))

    def notices(self) -> tuple[str, ...]:
        return self.told


class NoSnapshot:
    """A snapshot that holds nothing."""

    def listing(
        self,
        channel: str,  # noqa: ARG002
        project: NormalizedName,  # noqa: ARG002
        tags: Collection[str] | None = None,  # noqa: ARG002
        beside: Collection[Listing] = (),  # noqa: ARG002
    ) -> Listing | None:
        return None

    def metadata(self, artifact: Artifact) -> Metadata | None:  # noqa: ARG002
        return None


def make_reason(code: str = "known-bad", subject: str = "a 1.0", **changes: Any) -> Reason:
    """A reason with something in every field that must have something."""
    values: dict[str, Any] = {"needs": "peace", "found": "war", "evidence": "a report", **changes}
    for name, kind in (("severity", Severity), ("grade", Grade)):
        if name in values:
            values[name] = kind(values[name])
    if isinstance(values.get("object"), str):
        values["object"] = named(values["object"])
    return Reason(code=Code(code), subject=named(subject), **values)


def make_tuple(packages: str, verdict: str = "good", **changes: Any) -> KnownTuple:
    """A known tuple of ``torch 2.9.1, ext 1.0``; its id is the same text with dashes.

    The anchor of a good one is the second package, or the only one.
    """
    members = {
        canonicalize_name(name): Version(version)
        for name, version in (part.split() for part in packages.split(","))
    }
    values: dict[str, Any] = {
        "id": packages.replace(", ", "-").replace(" ", "-"),
        "title": packages,
        "grade": "reported",
        "date": "2026-01-01",
        "source": "a report",
        **changes,
    }
    values["grade"] = Grade(values["grade"])
    values["cuda"] = tuple(map(CudaVersion.parse, values.get("cuda", ())))
    values["archs"] = tuple(map(Arch.parse, values.get("archs", ())))
    values["pins"] = tuple(map(Requirement, values.get("pins", ())))
    if isinstance(values.get("python"), str):
        values["python"] = SpecifierSet(values["python"])
    if verdict == "good":
        values.setdefault("anchor", list(members)[:2][-1])
    if verdict == "bad":
        subject, _, rest = packages.partition(", ")
        values.setdefault("reason", make_reason(subject=subject, object=rest or None))
    return KnownTuple(verdict=verdict, packages=members, **values)  # type: ignore[arg-type]


def make_skew(*projects: str) -> SkewGroup:
    """Projects that must share a version."""
    return SkewGroup(
        id="-".join(projects),
        projects=tuple(map(canonicalize_name, projects)),
        source="a check at import",
        remedy="Install them in one version.",
    )


def make_knowledge(*tuples: KnownTuple, **changes: Any) -> Knowledge:
    """Knowledge of these tuples alone."""
    return Knowledge(tuples=tuples, snapshot=NoSnapshot(), **changes)


def make_workspace(index: FakeIndex | str, **options: Any) -> Workspace:
    """A workspace over an index; ``overrides`` are texts, ``exclude_newer`` an ISO time."""
    target = options.get("target") or make_target()
    rules = options.get("rules") or FakeRules()
    limit = options.get("exclude_newer")
    overrides: dict[NormalizedName, list[Requirement]] = defaultdict(list)
    for text in options.get("overrides", ()):
        requirement = Requirement(text)
        overrides[canonicalize_name(requirement.name)].append(requirement)
    return Workspace(
        index=FakeIndex(index) if isinstance(index, str) else index,
        rules=rules,
        evidence=options.get("evidence") or FakeEvidence(),
        target=target,
        knowledge=options.get("knowledge") or make_knowledge(),
        builder=CatalogBuilder(
            target=target,
            rules=rules,
            exclude_newer=None if limit is None else datetime.fromisoformat(limit),
        ),
        overrides={name: tuple(found) for name, found in overrides.items()},
        together=options.get("together") or (lambda _: ()),
        generated=options.get("generated") or (lambda _: ()),
    )


def make_request(*requirements: str, **options: Any) -> Request:
    """A request; ``constraints`` are texts, ``locked`` maps names to versions."""
    values = dict(options)
    values["constraints"] = tuple(
        Stated(Requirement(text), "constraints.txt, line 1")
        for text in options.get("constraints", ())
    )
    values["locked"] = {
        canonicalize_name(name): Version(version)
        for name, version in options.get("locked", {}).items()
    }
    return Request(
        requirements=tuple(Stated(Requirement(text), "requested") for text in requirements),
        **values,
    )


_WORKSPACE = (
    "target",
    "rules",
    "evidence",
    "knowledge",
    "exclude_newer",
    "overrides",
    "together",
    "generated",
)


def answer(index: FakeIndex | str, *requirements: str, **options: Any) -> Outcome:
    """What ``resolve`` answers; options are those of the workspace, the request, and knowledge."""
    return resolve(*_parts(index, requirements, options))


def verdict(index: FakeIndex | str, *requirements: str, **options: Any) -> Judgement:
    """What ``why`` answers; the same options."""
    return judge(*_parts(index, requirements, options))


def _parts(index: FakeIndex | str, requirements: tuple[str, ...], options: dict[str, Any]) -> Any:
    rest = dict(options)
    workspace = make_workspace(index, **{key: rest.pop(key) for key in _WORKSPACE if key in rest})
    return workspace, make_request(*requirements, **rest)


def make_catalog(text: str, project: str = "a", **options: Any) -> Catalog:
    """The catalog of one project."""
    return make_workspace(text, **options).catalog(canonicalize_name(project))


def pins(outcome: Outcome) -> dict[str, str]:
    """Versions by name; empty on a conflict."""
    return {p.artifact.name: str(p.artifact.version) for p in outcome.packages}


def reasons(outcome: Outcome) -> list[Reason]:
    """The reasons of a conflict."""
    return [] if outcome.conflict is None else list(outcome.conflict.reasons)


def _text(artifact: Artifact) -> str:
    return f"{artifact.name} {artifact.version}"
