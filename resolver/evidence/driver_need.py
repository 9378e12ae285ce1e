"""What the members of a wheel need of NVIDIA's driver: the functions that they call by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from resolver.abi.driver import DriverFunctions, is_driver_symbol
from resolver.abi.link import MemberLink, WheelLink
from resolver.abi.verdict import file_text
from resolver.compat.cuda_rules import packaged_floor
from resolver.model.cuda import CudaVersion
from resolver.model.knowledge import Knowledge
from resolver.model.reason import Code, Grade, Reason, Severity
from resolver.model.release import Named, Release
from resolver.model.target import Target, driver_text

_MAX_NAMED = 2


class DriverNeeds:
    """Judges linked wheels by the driver of one target.

    A function that the driver does not have keeps a member from loading. Where no driver was named,
    the one that came with the target's CUDA is taken, and what is newer than that is a warning.
    """

    def __init__(self, functions: DriverFunctions, known: Knowledge, target: Target) -> None:
        self._functions = functions
        self._known = known
        self._target = target

    def reasons(
        self, link: WheelLink, subject: Release, deciding: Iterable[str]
    ) -> tuple[Reason, ...]:
        """At most one: fatal where a member that decides does not load with the driver."""
        decides = frozenset(deciding)
        rows = sorted(self._rows(link), key=lambda row: (row[0], row[1].member.path), reverse=True)
        for decided in (True, False):
            for cuda, row, names in rows:
                if (row.member.path in decides) is decided and self._lacks(cuda):
                    return (self._reason(link, row, names, cuda, subject, decided=decided),)
        return ()

    def _rows(self, link: WheelLink) -> Iterator[tuple[CudaVersion, MemberLink, tuple[str, ...]]]:
        """Members with the newest CUDA release that one of their functions came with, and these."""
        for row in link.members:
            facts = row.member.facts
            if facts is None:
                continue
            since = {
                name: cuda
                for name in facts.undefined
                if is_driver_symbol(name) and (cuda := self._functions.since(name)) is not None
            }
            if since:
                newest = max(since.values())
                named = tuple(sorted(name for name, cuda in since.items() if cuda == newest))
                yield newest, row, named

    def _lacks(self, cuda: CudaVersion) -> bool:
        driver = self._target.driver
        if driver is None:
            return cuda > self._target.cuda
        floor = packaged_floor(self._known.cuda, cuda)
        # Every driver of a branch has the functions of the branch's CUDA.
        return floor is not None and driver.major < floor.major

    def _reason(
        self,
        link: WheelLink,
        row: MemberLink,
        names: tuple[str, ...],
        cuda: CudaVersion,
        subject: Release,
        *,
        decided: bool,
    ) -> Reason:
        floor = packaged_floor(self._known.cuda, cuda)
        driver = self._target.driver
        more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
        branch = "" if floor is None else f", driver R{floor.major}"
        if driver is None:
            severity = Severity.WARNING
            found = f"CUDA {self._target.cuda}, whose own driver does not have it"
        else:
            severity = Severity.FATAL if decided else Severity.DEGRADED
            found = f"driver {driver_text(driver)}"
        return Reason(
            code=Code.DRIVER_TOO_OLD,
            severity=severity,
            subject=subject,
            object=None if driver is None else Named("driver", driver_text(driver)),
            member=row.member.path,
            needs=f"{', '.join(names[:_MAX_NAMED])}{more} of the driver: CUDA {cuda}{branch}",
            found=found,
            symbols=names,
            grade=Grade.MEASURED,
            evidence=f"undefined symbols of {row.member.path} in "
            f"{file_text(link.wheel.filename, link.wheel.sha256)}; cudaTypedefs.h of NVIDIA's "
            "runtime wheels",
            remedy=(
                f"Install driver {driver_text(floor)} or newer"
                if floor is not None
                else f"Install the driver of CUDA {cuda} or newer"
            )
            + (", or name the driver that is there with --driver." if driver is None else "."),
        )
