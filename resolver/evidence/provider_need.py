"""What members need of NVIDIA's libraries by name, and which releases of their wheels have it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.abi.provider import ProviderHistory, ProviderWheel, version_name
from resolver.abi.symbol import is_library_symbol
from resolver.abi.wheel import Member
from resolver.dataclass import dataclass
from resolver.model.artifact import Artifact
from resolver.model.knowledge import Knowledge
from resolver.model.reason import Code, Grade, Reason
from resolver.model.release import Named, Release
from resolver.model.target import Target
from resolver.solve.candidate import Bound

_MAX_NAMED = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Want:
    """What one member needs of one library: names, and versions as ``@VERSION``."""

    member: str
    soname: str
    names: frozenset[str]


class ProviderNeeds:
    """Judges what members need of NVIDIA's libraries by the history of these, for one target."""

    def __init__(
        self, history: Callable[[], ProviderHistory], known: Knowledge, target: Target
    ) -> None:
        self._history = history
        self._judged: dict[
            tuple[NormalizedName, frozenset[tuple[str, frozenset[str]]]],
            Mapping[Version, bool | None],
        ] = {}
        self._target = target
        self._projects: Mapping[str, frozenset[NormalizedName]] = _projects(
            known, target.cuda.major
        )

    def wants(self, members: Iterable[Member], deciding: Collection[str]) -> tuple[Want, ...]:
        """What the members that decide need of each library that some release of it has.

        What no release of a library ever exported has an owner that is not known here.
        """
        members = tuple(members)
        own = {name for m in members if m.facts is not None for name in m.facts.defined}
        found = []
        for member in members:
            facts = member.facts
            if facts is None or member.path not in deciding:
                continue
            left = {n for n in facts.undefined if n not in own and is_library_symbol(n)}
            for soname in facts.needed:
                if soname not in self._projects:
                    continue
                history = self._history()
                mine = history.exported(soname, left)
                left -= mine
                versions = [version_name(v) for library, v in facts.versions if library == soname]
                mine |= history.exported(soname, versions)
                if mine:
                    want = Want(member=member.path, soname=soname, names=mine)
                    found.append(want)
        return tuple(found)

    def bounds(
        self, wants: Iterable[Want], origin: Release, evidence: str, grade: Grade
    ) -> Iterator[Bound]:
        """The projects of which not every release will do, each as a requirement."""
        for project, mine in sorted(self._by_project(wants).items()):
            judged = self._judge(project, mine)
            if False in judged.values():
                yield self._bound(project, tuple(mine), judged, origin, evidence, grade)

    def _judge(
        self, project: NormalizedName, wants: Sequence[Want]
    ) -> Mapping[Version, bool | None]:
        """Which releases of a project have it all: once for the same names of a library."""
        key = (project, frozenset((want.soname, want.names) for want in wants))
        judged = self._judged.get(key)
        if judged is None:
            judged = self._judged[key] = {
                version: self._serves(project, version, wants)
                for version in self._versions(project)
            }
        return judged

    def refusals(
        self,
        wants: Iterable[Want],
        origin: Release,
        evidence: str,
        grade: Grade,
        files: Mapping[NormalizedName, Artifact],
    ) -> tuple[Reason, ...]:
        """Why libraries of a set will not do: the files that lack something of it."""
        reasons: list[Reason] = []
        for project, mine in sorted(self._by_project(wants).items()):
            there = files.get(project)
            if there is not None and self._told(there, mine) is not True:
                for bound in self.bounds(mine, origin, evidence, grade):
                    if bound.project == project and not bound.accepts(there):
                        reasons += bound.explain(there)
        return tuple(reasons)

    def _by_project(self, wants: Iterable[Want]) -> dict[NormalizedName, list[Want]]:
        found: dict[NormalizedName, list[Want]] = {}
        for want in wants:
            for project in self._projects[want.soname]:
                found.setdefault(project, []).append(want)
        return found

    def _told(self, artifact: Artifact, wants: Iterable[Want]) -> bool | None:
        """Whether a file has all of it, by its own wheel or another of its release."""
        wants = tuple(wants)
        wheel = self._history().of_sha256(artifact.sha256)
        if wheel is not None and (told := self._wheel_serves(wheel, wants)) is not None:
            return told
        return self._serves(artifact.name, artifact.version, wants)

    def _bound(
        self,
        project: NormalizedName,
        wants: tuple[Want, ...],
        judged: Mapping[Version, bool | None],
        origin: Release,
        evidence: str,
        grade: Grade,
    ) -> Bound:
        works = range_text(project, judged)

        def accepts(artifact: Artifact) -> bool:
            return self._accepts(artifact, wants, judged)

        def explain(artifact: Artifact | None) -> tuple[Reason, ...]:
            version = None if artifact is None else artifact.version
            lacking = [(w, self._lacking(project, version, w)) for w in wants]
            want, names = max(lacking, key=lambda row: len(row[1]))
            names = names or want.names
            shown = [name.removeprefix("@") for name in sorted(names)]
            more = f"; and {len(shown) - _MAX_NAMED} more" if len(shown) > _MAX_NAMED else ""
            return (
                Reason(
                    code=Code.MISSING_SYMBOL,
                    subject=origin,
                    object=Named(project) if artifact is None else artifact.release,
                    member=want.member,
                    needs=f"{'; '.join(shown[:_MAX_NAMED])}{more} of {want.soname}",
                    found="no symbol of that name" if artifact is not None else "no such release",
                    symbols=tuple(shown),
                    works_with=works,
                    grade=grade,
                    evidence=f"{evidence}; what the wheels of {project} export",
                    remedy=f"Use {works}: where a package pins another release, put that line into "
                    "a file for --override."
                    if works
                    else f"Use another release of {origin.name}.",
                ),
            )

        return Bound(
            project,
            accepts,
            explain,
            str(origin),
            works or "a release with its symbols",
            by="its bytes",
        )

    def _accepts(
        self, artifact: Artifact, wants: tuple[Want, ...], judged: Mapping[Version, bool | None]
    ) -> bool:
        if (told := self._told(artifact, wants)) is not None:
            return told
        # A library of one major only gains names: what lies between is not known, and may do.
        older = [v for v in judged if v <= artifact.version and judged[v] is not None]
        newer = [v for v in judged if v >= artifact.version and judged[v] is not None]
        if older and judged[max(older)]:
            return True
        return not newer or bool(judged[min(newer)])

    def _versions(self, project: NormalizedName) -> tuple[Version, ...]:
        wheels = self._history().of_project(project)
        return tuple(sorted({wheel.version for wheel in wheels}))

    def _serves(
        self, project: NormalizedName, version: Version, wants: Iterable[Want]
    ) -> bool | None:
        """Whether a release has all of it; by another machine's wheel where its own was not read.

        None where neither was.
        """
        wants = tuple(wants)
        wheels = [w for w in self._history().of_project(project) if w.version == version]
        wheels.sort(key=lambda wheel: wheel.machine != self._target.machine)
        told = [self._wheel_serves(wheel, wants) for wheel in wheels]
        return next((each for each in told if each is not None), None)

    def _wheel_serves(self, wheel: ProviderWheel, wants: Iterable[Want]) -> bool | None:
        known = True
        for want in wants:
            lacking = self._wheel_lacks(wheel, want)
            if lacking:
                return False
            known = known and lacking is not None
        return True if known else None

    def _wheel_lacks(self, wheel: ProviderWheel, want: Want) -> frozenset[str] | None:
        """What one wheel lacks of it; None where its library was not read."""
        mine = [library for library in wheel.libraries if library.soname == want.soname]
        if not mine:
            return want.names
        place = self._history().places.get(want.soname, {}).get(wheel.file.sha256)
        if place is None:
            return None
        bit = 1 << place
        history = self._history()
        return frozenset(n for n in want.names if not history.mask(want.soname, n) & bit)

    def _lacking(
        self, project: NormalizedName, version: Version | None, want: Want
    ) -> frozenset[str]:
        for wheel in self._history().of_project(project):
            if version in (None, wheel.version) and (names := self._wheel_lacks(wheel, want)):
                return names
        return frozenset()


def range_text(project: str, judged: Mapping[Version, bool | None]) -> str | None:
    """``nvidia-cublas >=13.2.0.9``: the releases that will do; None where none does."""
    versions = sorted(judged)
    good = [version for version in versions if judged[version]]
    if not good:
        return None
    first, last = good[0], good[-1]
    after = [version for version in versions if version > last and judged[version] is False]
    text = "" if first == versions[0] else f">={first}"
    if after:
        text += f"{',' if text else ''}<{after[0]}"
    return f"{project} {text}".rstrip()


def _projects(known: Knowledge, major: int) -> Mapping[str, frozenset[NormalizedName]]:
    """The projects that bring each library of one CUDA major."""
    found: dict[str, set[NormalizedName]] = {}
    for library in known.libraries:
        if library.cuda == major and library.project.startswith("nvidia-"):
            found.setdefault(library.soname, set()).add(library.project)
    return {soname: frozenset(projects) for soname, projects in found.items()}
