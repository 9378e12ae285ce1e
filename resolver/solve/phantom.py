"""Files that may exist: those that a partial snapshot or a silent channel does not show.

A phantom has a name and a version, and nothing is known against it but what these say. A search
with phantoms tells whether a conflict is proven, or only not refuted by what could be looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.dataclass import replace
from resolver.model.artifact import Artifact
from resolver.model.reason import Code, Grade, Reason
from resolver.model.release import Named
from resolver.model.version import is_exact, version_of
from resolver.solve.catalog import Catalog
from resolver.solve.workspace import Workspace

_CHANNEL = "unknown"


def find_phantoms(
    workspace: Workspace, project: NormalizedName, wanted: Sequence[SpecifierSet]
) -> Iterator[Artifact]:
    """The files that may exist of a project of which only a part was shown, by ``wanted``.

    Of a version that is shown there are others where none of its files fits; of the versions that
    are not shown, the one that a requirement names, where none that is shown will do.
    """
    if not workspace.index.is_partial(project):
        return
    catalog = workspace.catalog(project)
    known = workspace.phantoms.setdefault(project, {})
    if not known:
        for rejection in catalog.rejected:
            if rejection.reason.code is Code.NOT_IN_SNAPSHOT:
                found = _phantom(workspace, project, rejection.version, rejection.reason)
                known[rejection.version] = found
    for version in _named(workspace, catalog, wanted):
        if version not in known and _all(wanted, version):
            if not workspace.rules.may_be_elsewhere(project, version):
                continue
            reason = not_shown(workspace, catalog, _stated(wanted, version))
            known[version] = _phantom(workspace, project, version, reason)
    for version in sorted(known, reverse=True):
        if _all(wanted, version):
            yield known[version]


def _stated(wanted: Sequence[SpecifierSet], version: Version) -> SpecifierSet:
    """What a phantom stands for, as it was asked for: a version, or whatever a range takes."""
    clauses = [clause for specifier in wanted for clause in specifier]
    exact = {version_of(clause) for clause in clauses if is_exact(clause)}
    if any(found is not None and found.public == version.public for found in exact):
        return SpecifierSet(f"=={version}")
    return SpecifierSet(",".join(sorted(set(map(str, clauses)))))


def _all(wanted: Sequence[SpecifierSet], version: Version) -> bool:
    return all(specifier.contains(version, prereleases=True) for specifier in wanted)


def _phantom(
    workspace: Workspace, project: NormalizedName, version: Version, reason: Reason
) -> Artifact:
    artifact = Artifact(
        filename=f"{project.replace('-', '_')}-{version}",
        name=project,
        version=version,
        kind="wheel",
        channel=_CHANNEL,
        origin="snapshot",
        tags=frozenset(),
    )
    workspace.set_aside(artifact, reason)
    return artifact


def _named(
    workspace: Workspace, catalog: Catalog, wanted: Sequence[SpecifierSet]
) -> Iterator[Version]:
    """Versions that requirements name and nothing shows; a CUDA build of one that is shown.

    Builds by local version count where the project is known to have any.
    """
    shown = {version for public in catalog.publics for version in catalog.versions(public)}
    has_builds = any(version.local is not None for version in shown)
    clauses = [clause for specifier in wanted for clause in specifier]
    for clause in clauses:
        version = version_of(clause)
        if version is None or not is_exact(clause):
            continue
        if version.local is None and version in shown:
            if not has_builds:
                continue
            version = version.__replace__(local=workspace.target.cuda.tag)
        if version not in shown:
            yield version
    if any(_all(wanted, version) for version in shown):
        return
    if not clauses:
        yield Version("0")
    for clause in clauses:
        version = version_of(clause)
        if version is not None:
            yield version
            yield Version(f"{version.base_version}.1")  # later than its pre- and post-releases


def not_shown(workspace: Workspace, catalog: Catalog, specifier: SpecifierSet) -> Reason:
    """That what could be asked does not show a version: it may exist all the same."""
    offline = workspace.index.offline
    shown = sorted(version for public in catalog.publics for version in catalog.versions(public))
    channels = ", ".join(catalog.channels) or "none"
    reason = Reason(
        code=Code.NOT_IN_SNAPSHOT,
        subject=Named(f"{catalog.project}{specifier}"),
        needs=f"a file that satisfies {specifier}" if str(specifier) else "a file of any version",
        found=f"not among what was shown: {some_versions(shown)}",
        evidence=f"channels {channels}; not all that may supply it answered",
        grade=Grade.ASSUMED,
        remedy="run where its channels can be reached, or name a mirror with --index",
    )
    if catalog.snapshots:
        return replace(
            reason,
            found=f"a snapshot of {catalog.snapshots[-1]} that has {some_versions(shown)}",
            evidence=f"channels {channels}; a snapshot is partial, so the release may exist",
            remedy="run where the channel can be reached, or name a mirror with --index",
        )
    if offline and not shown:
        return replace(
            reason,
            needs="a record of it in the cache or in a snapshot",
            found="none",
            evidence="no index was asked (--offline)",
            remedy="run once without --offline, or give a directory of wheels with --wheelhouse",
        )
    return reason


def some_versions(versions: Sequence[Version]) -> str:
    """Versions in a few words."""
    if not versions:
        return "no version"
    if len(versions) <= 4:
        return ", ".join(map(str, versions))
    return f"{len(versions)} versions from {versions[0]} to {versions[-1]}"
