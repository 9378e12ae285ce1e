"""What the members of a wheel need of NVIDIA's driver: the functions that they call by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from packaging.version import Version

from resolver.abi.driver import DriverFunctions, is_driver_symbol
from resolver.abi.link import WheelLink
from resolver.abi.verdict import file_text
from resolver.compat.cuda_rules import packaged_floor
from resolver.model.cuda import CudaVersion
from resolver.model.knowledge import Knowledge
from resolver.model.reason import Code, Grade, Reason, Severity
from resolver.model.release import Named, Release
from resolver.model.target import driver_text

if TYPE_CHECKING:  # sqlite3 is not for those who only resolve
    from resolver.load.finding_context import Surroundings
    from resolver.load.object_cache import DiskFiles
    from resolver.load.simulation import Examination

_MAX_NAMED = 2


class Lacking(NamedTuple):
    """Functions that came with one CUDA release."""

    cuda: CudaVersion
    names: tuple[str, ...]


class DriverNeeds:
    """Judges linked wheels by the driver of one target.

    A function that the driver does not have keeps a member from loading. Where no driver was named,
    the one that came with the target's CUDA is taken, and what is newer than that is a warning.
    """

    def __init__(
        self,
        functions: DriverFunctions,
        known: Knowledge,
        *,
        driver: Version | None,
        cuda: CudaVersion | None,
    ) -> None:
        self._functions = functions
        self._known = known
        self._driver = driver
        self._cuda = cuda

    def reasons(
        self, link: WheelLink, subject: Release, deciding: Iterable[str]
    ) -> tuple[Reason, ...]:
        """At most one: fatal where a member that decides does not load with the driver."""
        decides = frozenset(deciding)
        found = [
            (row.member.path not in decides, lacking, row.member.path)
            for row in link.members
            if row.member.facts is not None
            and (lacking := self.lacking(row.member.facts.undefined)) is not None
        ]
        if not found:
            return ()
        spared = min(found)[0]
        _, lacking, path = max(row for row in found if row[0] is spared)
        where = f"{path} in {file_text(link.wheel.filename, link.wheel.sha256)}"
        return (self.reason(subject, path, where, lacking, decided=not spared),)

    def lacking(self, symbols: Iterable[str]) -> Lacking | None:
        """The newest functions among a member's symbols, where the driver does not have them."""
        since = {
            name: cuda
            for name in symbols
            if is_driver_symbol(name) and (cuda := self._functions.since(name)) is not None
        }
        newest = max(since.values(), default=None)
        if newest is None or not self._lacks(newest):
            return None
        return Lacking(newest, tuple(sorted(name for name in since if since[name] == newest)))

    def _lacks(self, cuda: CudaVersion) -> bool:
        driver = self._driver
        if driver is None:
            return self._cuda is not None and cuda > self._cuda
        floor = packaged_floor(self._known.cuda, cuda)
        # Every driver of a branch has the functions of the branch's CUDA.
        return floor is not None and driver.major < floor.major

    def reason(
        self, subject: Release, member: str, where: str, lacking: Lacking, *, decided: bool
    ) -> Reason:
        """That a member calls what the driver does not have; ``where`` says what was read."""
        cuda, names = lacking
        floor = packaged_floor(self._known.cuda, cuda)
        driver = self._driver
        more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
        branch = "" if floor is None else f", driver R{floor.major}"
        if driver is None:
            severity = Severity.WARNING
            found = f"CUDA {self._cuda}, whose own driver does not have it"
        else:
            severity = Severity.FATAL if decided else Severity.DEGRADED
            found = f"driver {driver_text(driver)}"
        return Reason(
            code=Code.DRIVER_TOO_OLD,
            severity=severity,
            subject=subject,
            object=None if driver is None else Named("driver", driver_text(driver)),
            member=member,
            needs=f"{', '.join(names[:_MAX_NAMED])}{more} of the driver: CUDA {cuda}{branch}",
            found=found,
            symbols=names,
            grade=Grade.MEASURED,
            evidence=f"undefined symbols of {where}; cudaTypedefs.h of NVIDIA's runtime wheels",
            remedy=(
                f"Install driver {driver_text(floor)} or newer"
                if floor is not None
                else f"Install the driver of CUDA {cuda} or newer"
            )
            + (", or name the driver that is there with --driver." if driver is None else "."),
        )


def check_driver(
    examination: Examination, files: DiskFiles, around: Surroundings, drivers: DriverNeeds
) -> Iterator[Reason]:
    """Installed members that the named driver does not serve, where this machine has none to ask.

    One word for each package.
    """
    if not examination.no_driver:
        return
    told: set[str] = set()
    for attempt in examination.attempts:
        facts = files.read(attempt.path)
        if facts is None or attempt.distribution.info in told:
            continue
        lacking = drivers.lacking(facts.undefined)
        if lacking is not None:
            told.add(attempt.distribution.info)
            shown = around.shown(attempt.path)
            decided = attempt.role.kind == "required"
            subject = attempt.distribution.release
            yield drivers.reason(subject, shown, shown, lacking, decided=decided)
