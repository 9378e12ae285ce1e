"""``abilock knowledge measure``: releases into measured sets, for each machine and Python.

What was measured is written after every few releases, so that a run that ends early loses little,
and the next one goes on where it ended.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.compat.set_file import Row, SetFiles, write_rows
from resolver.dataclass import dataclass, field, replace
from resolver.errors import DamagedData, IndexFailure, UsageError
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.files import replace_file
from resolver.lockfile.requirements_txt import parse_requirement
from resolver.model.activity import Activity
from resolver.model.artifact import Artifact, Metadata
from resolver.model.channel import DEFAULT_CHANNEL
from resolver.model.cuda import CudaVersion
from resolver.model.measured_set import MeasuredSet, NoSet, RootId, SetRoot
from resolver.model.options import IndexOptions
from resolver.model.plural import counted
from resolver.model.release import Release
from resolver.model.stack import CURRENT_PYTHONS, MACHINES, TORCH
from resolver.model.target import Target
from resolver.render.render_sets import sets_report
from resolver.solve.pinned_stack import StackNames, exact_pins
from resolver.solve.workspace import Workspace
from resolver.usecase.measure_set import Absent, SetMeter, Solved
from resolver.usecase.session import Connection, Session
from resolver.usecase.torch_builds import TorchBuilds, torch_builds

# So many releases share the indexes that are opened for a target, and are written together.
_TOGETHER = 8
# A glibc newer than every wheel's baseline: a set is not refused for the machine that is imagined.
_GLIBC = (2, 39)
Tell = Callable[[str], None]


@dataclass(slots=True)
class MeasuredSets:
    """What a run came to: releases measured, sets written, releases that could not be read."""

    releases: int = 0
    sets: int = 0
    failed: list[str] = field(default_factory=list)


def measure_sets(
    root: Path | None,
    wanted: Sequence[str] = (),
    *,
    again: bool = False,
    tell: Tell = lambda _: None,
    activity: Activity | None = None,
) -> MeasuredSets:
    """Measure releases of the roots in ``sets.toml`` into the database ``root``.

    Without ``wanted``, every release that is not written down yet; requirements (``sglang>=0.5``)
    or ids of roots choose some, and ``again`` measures anew what is. A release whose metadata do
    not come is left out, told, and measured by the next run. ``activity`` counts what is done by
    a session that is opened here. Raises UsageError for what names no root, IndexFailure where the
    listing of a root does not come, and OSError.
    """
    base = KnowledgeBase.to_edit(root)
    chosen = _chosen(base.set_roots, wanted)
    channels = (DEFAULT_CHANNEL, *(c.name for c in base.facts.channels if not c.opt_in))
    options = IndexOptions(channels=channels, knowledge=base.top)
    built = MeasuredSets()
    with Session(options=options, activity=activity or Activity()) as session:
        if session.offline:
            # That a release has no wheel, or pins what nobody has, an index of today alone says.
            raise UsageError("measuring releases needs their indexes", hint="allow the network")
        run = _Run(base, session, again, tell, built)
        for set_root, versions in chosen:
            run.measure(set_root, versions)
    return built


def report_sets(root: Path | None, file: Path) -> None:
    """Write the generated sets of a database as a page. Raises KnowledgeError, OSError."""
    base = KnowledgeBase.to_edit(root)
    replace_file(file, sets_report(base.set_roots, base.sets).encode())


def _chosen(roots: Sequence[SetRoot], wanted: Sequence[str]) -> list[tuple[SetRoot, SpecifierSet]]:
    if not wanted:
        return [(root, SpecifierSet()) for root in roots]
    found: list[tuple[SetRoot, SpecifierSet]] = []
    for text in wanted:
        requirement, _ = parse_requirement(text, "measure")
        fitting = [root for root in roots if root.id == requirement.name.lower()]
        if not fitting:
            raise UsageError(
                f"no root of sets.toml is called {requirement.name!r}",
                hint=f"its roots are {', '.join(root.id for root in roots)}",
            )
        found += [(root, requirement.specifier) for root in fitting]
    return found


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A release that is to be measured, with the CUDA builds that there are of its torch."""

    version: Version
    pins: dict[str, set[Version]]
    cudas: dict[str, frozenset[CudaVersion]]


Cells = dict[tuple[Version | None, str], list[MeasuredSet | Absent]]


class _Run:
    """One run over the roots."""

    def __init__(
        self, base: KnowledgeBase, session: Session, again: bool, tell: Tell, built: MeasuredSets
    ) -> None:
        self._base = base
        self._session = session
        self._again = again
        self._tell = tell
        self._built = built
        self._stack = StackNames.of(base.facts, base.natives)
        self._archs = tuple(sorted({gpu.arch for gpu in base.facts.gpus}))
        self._today = session.world.now().date().isoformat()
        self._torches: TorchBuilds | None = None
        self._solved: dict[Solved, tuple[Mapping[NormalizedName, Version], list[Requirement]]] = {}

    def measure(self, root: SetRoot, versions: SpecifierSet) -> None:
        """Measure the releases of one root that are to be, and write them."""
        rows: dict[Version, list[Row]] = defaultdict(list)
        for row in SetFiles(self._base.top).rows(root.id):
            rows[Version(str(row.release.version))].append(row)
        held = {str(row.release.version) for row in self._base.sets.rows(root.id)}
        if root.kind == "newest":
            self._newest(root, rows)
            return
        releases = [
            version
            for version, files in self._releases(root, versions)
            if self._again or str(version) not in held
            if self._is_usable(root, version, files, rows)
        ]
        for start in range(0, len(releases), _TOGETHER):
            part = releases[start : start + _TOGETHER]
            self._tell(
                f"{root.id}: {part[0]} to {part[-1]} "
                f"({start + len(part)} of {counted(len(releases), 'release')})"
            )
            self._measure(root, part, rows)
            self._write(root.id, rows)
        if not releases:
            self._tell(f"{root.id}: nothing to measure")
            self._write(root.id, rows)

    def _write(self, root: RootId, rows: dict[Version, list[Row]]) -> None:
        if any(rows.values()):
            write_rows(self._base.top, root, [row for held in rows.values() for row in held])

    # which releases

    def _releases(
        self, root: SetRoot, versions: SpecifierSet
    ) -> Iterator[tuple[Version, list[Artifact]]]:
        """The final releases of the default index with their wheels, the oldest first."""
        with self._session.connect() as connection:
            listing = next(
                (
                    each
                    for each in connection.index.listings(root.project)
                    if each.channel == DEFAULT_CHANNEL
                ),
                None,
            )
        for version in sorted(listing.versions if listing is not None else ()):
            if version.is_prerelease or version.local is not None:
                continue
            if root.versions.contains(version) and versions.contains(version):
                assert listing is not None
                yield version, [file for file in listing.files(version) if file.kind == "wheel"]

    def _is_usable(
        self,
        root: SetRoot,
        version: Version,
        files: list[Artifact],
        rows: dict[Version, list[Row]],
    ) -> bool:
        """Whether a release may be a set; else a row says why not."""
        why = None
        if not files:
            why = "it has no wheel"
        elif all(file.yanked for file in files):
            why = f"it was yanked: {files[0].yanked_reason or 'no reason given'}"
        if why is not None:
            rows[version] = [self._none(root, version, why)]
        return why is None

    def _none(self, root: SetRoot, version: Version, why: str, machine: str | None = None) -> NoSet:
        release = Release(root.project, version)
        return NoSet(root=root.id, release=release, why=why, date=self._today, machine=machine)

    # measuring

    def _measure(
        self, root: SetRoot, part: Sequence[Version], rows: dict[Version, list[Row]]
    ) -> None:
        wanted: list[_Wanted] = []
        for version in part:
            try:
                found = self._wanted(root, version)
            except (IndexFailure, DamagedData) as error:
                self._fail(root, version, error)
                continue
            if isinstance(found, str):
                rows[version] = [self._none(root, version, found)]
                self._tell(f"{root.project} {version}: no set: {found}")
            else:
                wanted.append(found)
        cells: Cells = defaultdict(list)
        failed: set[Version] = set()
        for target in self._targets(wanted):
            mine = [each for each in wanted if target.cuda in each.cudas[target.machine]]
            with self._session.open_workspace(target) as workspace:
                meter = self._meter(workspace)
                for each in mine:
                    version = each.version
                    if version in failed:
                        continue
                    default = any(
                        self._builds().is_default(target.machine, pin, target.cuda)
                        for pin in each.pins[target.machine]
                    )
                    try:
                        measured = meter.measure(root, version, default=default)
                        cells[version, target.machine].append(measured)
                    except (IndexFailure, DamagedData) as error:
                        failed.add(version)
                        self._fail(root, version, error)
        for each in wanted:
            if each.version not in failed:
                rows[each.version] = self._rows(root, each, cells)

    def _meter(self, workspace: Workspace) -> SetMeter:
        return SetMeter(
            workspace, self._base, self._stack, self._archs, self._today, solved=self._solved
        )

    def _fail(self, root: SetRoot, version: Version, error: Exception) -> None:
        text = f"{root.project} {version}: {error}"
        self._built.failed.append(text)
        self._tell(f"not measured: {text}")

    def _targets(self, wanted: Sequence[_Wanted]) -> Iterator[Target]:
        for machine in MACHINES:
            for cuda in sorted({cuda for each in wanted for cuda in each.cudas[machine]}):
                yield from self._pythons(machine, cuda)

    def _pythons(self, machine: str, cuda: CudaVersion) -> Iterator[Target]:
        for python in CURRENT_PYTHONS:
            yield Target(
                cuda=cuda,
                archs=(),
                python=Version(f"{python}.0"),
                machine=machine,
                glibc=_GLIBC,
            )

    def _wanted(self, root: SetRoot, version: Version) -> _Wanted | str:
        """A release with the CUDA builds of the torch that it pins; or why it pins none."""
        builds = self._builds()
        pins: dict[str, set[Version]] = {machine: set() for machine in MACHINES}
        if root.kind == "beside":
            pins = {machine: {version} for machine in MACHINES}
        else:
            with self._session.connect() as connection:
                metadata = self._metadata(connection, root, version)
            for machine in MACHINES:
                for target in self._pythons(machine, max(self._base.facts.cuda)):
                    pin = exact_pins(metadata, target, root.extras).get(TORCH)
                    if pin is not None:
                        pins[machine].add(pin)
            if not any(pins.values()):
                asked = sorted(
                    {str(r) for r in metadata.requires if r.name == TORCH and r.specifier}
                )
                return f"its metadata pin no torch exactly: {', '.join(asked) or 'none is named'}"
        cudas = {
            machine: frozenset[CudaVersion]().union(
                *(builds.of(machine, pin) for pin in pins[machine])
            )
            for machine in MACHINES
        }
        return _Wanted(version, pins, cudas)

    def _metadata(self, connection: Connection, root: SetRoot, version: Version) -> Metadata:
        """Those of one wheel of a release. Raises as reading them does."""
        listings = connection.index.listings(root.project)
        files = [
            file
            for listing in listings
            if listing.channel == DEFAULT_CHANNEL
            for file in listing.files(version)
            if file.kind == "wheel"
        ]
        return connection.index.metadata(min(files, key=lambda file: file.filename))

    def _builds(self) -> TorchBuilds:
        if self._torches is None:
            self._torches = torch_builds(self._session, self._base.facts)
        return self._torches

    # rows

    def _rows(self, root: SetRoot, wanted: _Wanted, cells: Cells) -> list[Row]:
        rows: list[Row] = []
        for machine in MACHINES:
            found = cells[wanted.version, machine]
            sets = merged(each for each in found if isinstance(each, MeasuredSet))
            whys = [each.why for each in found if isinstance(each, Absent)]
            if not sets:
                why = max(whys, key=whys.count) if whys else f"no build of its torch for {machine}"
                rows.append(self._none(root, wanted.version, why, machine))
            rows += sets
        self._count(root, str(wanted.version), rows)
        return rows

    def _count(self, root: SetRoot, version: str, rows: Sequence[Row]) -> None:
        sets = [row for row in rows if isinstance(row, MeasuredSet)]
        self._built.releases += 1
        self._built.sets += len(sets)
        other = sum(each.verdict != "good" for each in sets)
        more = f", {other} of them not good" if other else ""
        self._tell(f"{root.id} {version}: {counted(len(sets), 'set')}{more}")

    def _newest(self, root: SetRoot, rows: dict[Version, list[Row]]) -> None:
        if not self._again and any(
            row.date == self._today for held in rows.values() for row in held
        ):
            self._tell(f"{root.id}: measured today")
            return
        found: list[MeasuredSet | Absent] = []
        for machine in MACHINES:
            for cuda in sorted(self._builds().newest(machine)):
                self._tell(f"{root.id}: CUDA {cuda} on {machine}")
                for target in self._pythons(machine, cuda):
                    with self._session.open_workspace(target) as workspace:
                        meter = self._meter(workspace)
                        try:
                            found.append(meter.measure(root, None))
                        except (IndexFailure, DamagedData) as error:
                            text = f"{root.id} on {machine}, Python {target.python_short}: {error}"
                            self._built.failed.append(text)
                            self._tell(f"not measured: {text}")
        sets = [each for each in found if isinstance(each, MeasuredSet)]
        whys = [each.why for each in found if isinstance(each, Absent)]
        if not sets and whys:
            releases = list(self._releases(root, SpecifierSet()))
            newest = releases[-1][0] if releases else Version("0")
            rows[newest] = [self._none(root, newest, max(whys, key=whys.count))]
            self._tell(f"{root.id} {newest}: no set: {max(whys, key=whys.count)}")
        by_version: dict[Version, list[Row]] = defaultdict(list)
        for each in merged(each for each in sets):
            by_version[Version(str(each.release.version))].append(each)
        for version, held in sorted(by_version.items()):
            rows[version] = held
            self._count(root, str(version), held)
        self._write(root.id, rows)


def merged(sets: Iterator[MeasuredSet]) -> list[MeasuredSet]:
    """One set for all Pythons of which the same was found; those of one id are told apart."""
    alike: dict[str, list[MeasuredSet]] = defaultdict(list)
    for each in sets:
        for number, other in enumerate(alike[each.id]):
            if replace(each, pythons=other.pythons) == other:
                alike[each.id][number] = replace(
                    other, pythons=tuple(dict.fromkeys((*other.pythons, *each.pythons)))
                )
                break
        else:
            alike[each.id].append(each)
    return [
        each if len(held) == 1 else replace(each, id=f"{each.id}-py{each.pythons[0]}")
        for held in alike.values()
        for each in held
    ]
