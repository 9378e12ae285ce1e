"""What the members of a wheel need of CUDA and of the GPUs, by their bytes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import cached_property

from resolver.abi.inspection import may_hold_code
from resolver.abi.link import MemberLink, WheelLink
from resolver.abi.verdict import file_text
from resolver.abi.wheel import WheelFacts
from resolver.compat.cuda_rules import covers, named_by, runs_on
from resolver.dataclass import replace
from resolver.model.cuda import Arch, DeviceCode
from resolver.model.knowledge import Knowledge
from resolver.model.outcome import Check
from resolver.model.reason import Code, Grade, Reason, Severity
from resolver.model.release import Named, Release
from resolver.model.target import Target

_RUNTIME = re.compile(r"libcudart\.so\.(\d+)")


_TORCH = re.compile(r"lib(torch|c10)(_\w+)?\.so")
# An extension module of CPython says so in its name.
_TAGGED = re.compile(r"\.(?:cpython-\d+t?|abi3)(?:-[^.]*)?\.so$")


class MemberNeeds:
    """Judges the members of linked wheels for one target."""

    def __init__(self, known: Knowledge, target: Target) -> None:
        self._known = known
        self._target = target

    def cuda_reasons(self, link: WheelLink, subject: Release, *, fatal: bool) -> list[Reason]:
        """Members that need libraries of another CUDA major.

        With ``fatal`` one that keeps the package from loading, else those that it loads without.
        Where a wheel nobody curated brings members for several majors, they are alternatives.
        """
        wanted = self._target.cuda.major
        needed = [
            (row, soname, major)
            for row in link.members
            if not _is_of_another(row)
            for soname, major in self._majors(row, link)
        ]
        foreign = {
            row.member.path: (row, soname, major)
            for row, soname, major in needed
            if major != wanted
        }
        served = any(major == wanted for _, _, major in needed)
        deciding = _deciding(link) | _purpose(link)
        alike: dict[int, list[tuple[str, str]]] = {}
        for path, (row, soname, major) in sorted(foreign.items()):
            if served and not row.load.curated:
                continue  # an alternative for another CUDA major
            if (path in deciding) is fatal:
                alike.setdefault(major, []).append((path, soname))
        reasons = []
        for major, found in alike.items():
            path, soname = found[0]
            sonames = {soname for _, soname in found}
            # One member that cannot load is enough; of features all are counted.
            more = "" if fatal else _more(len(found) - 1, "member")
            others = f" and {len(sonames) - 1} more" if not fatal and len(sonames) > 1 else ""
            reasons.append(
                Reason(
                    code=Code.CUDA_MISMATCH,
                    severity=Severity.FATAL if fatal else Severity.DEGRADED,
                    subject=subject,
                    object=Named("CUDA", str(self._target.cuda)),
                    member=path,
                    needs=f"{soname}{others}, of CUDA {major}",
                    found=f"CUDA {wanted} and its libraries",
                    evidence=f"DT_NEEDED of {path}{more} in {_file(link)}",
                    remedy=f"use {self._known.project_for(subject.name, wanted)}",
                )
            )
        return reasons[:1] if fatal else reasons

    def loaded(self, link: WheelLink) -> frozenset[str]:
        """The members that decide and that the import is known to load.

        Of a wheel that nobody curated: extension modules, and what links with torch. Its plain
        libraries are opened by name, when and if something needs them.
        """
        deciding = _deciding(link)
        return frozenset(
            row.member.path
            for row in link.members
            if row.member.path in deciding and (row.load.curated or _is_module(row))
        )

    @property
    def archs(self) -> tuple[Arch, ...]:
        """The GPUs of the target, as its CUDA release numbers them."""
        target = self._target
        return tuple(named_by(self._known.cuda, target.cuda, arch) for arch in target.archs)

    def majors(self, link: WheelLink) -> frozenset[int]:
        """The CUDA majors whose libraries some member needs."""
        return frozenset(major for row in link.members for _, major in self._majors(row, link))

    def gpu_reasons(
        self,
        link: WheelLink,
        subject: Release,
        *,
        fatal: bool,
        archs: Collection[Arch] | None = None,
    ) -> list[Reason]:
        """Members with device code that does not serve a GPU of the target, or one of ``archs``.

        With ``fatal`` of the members that must load: among them warnings of code that only PTX
        serves. Without, of the others.
        """
        deciding = _working(link)
        alike: dict[tuple[DeviceCode, ...], list[MemberLink]] = {}
        for row in link.members:
            codes = row.member.device_code
            other_gpu = row.load.kind in ("selected-by", "never") and not fatal
            if codes and (row.member.path in deciding) is fatal and not other_gpu:
                alike.setdefault(codes, []).append(row)
        reasons = []
        for codes, rows in alike.items():
            path = rows[0].member.path
            more = _more(len(rows) - 1, "member")
            for arch in self.archs if archs is None else sorted(archs):
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

    def has_unread_code(self, link: WheelLink) -> bool:
        """Whether a member that must load may hold device code that nobody read."""
        deciding = _working(link)
        return any(
            row.member.device_code is None
            and row.member.path in deciding
            and may_hold_code(row.member)
            for row in link.members
        )

    def code_check(
        self, wheel: WheelFacts, subject: Release, link: WheelLink | None
    ) -> Check | None:
        """The device code of a file, all members together; None where one was not read.

        With ``link`` of the members that must load on the target's GPUs, where there are some.
        """
        deciding = None if link is None else _working(link) or None
        members = [
            member
            for member in wheel.members
            if member.facts is not None and (deciding is None or member.path in deciding)
        ]
        if not members or any(member.device_code is None for member in members):
            return None
        codes = sorted({code for member in members for code in member.device_code or ()})
        elsewhere = any(member.device_code for member in wheel.members)
        return Check(
            subject=subject,
            what="device code",
            finding=self._code_text(codes, elsewhere=elsewhere),
            grade=Grade.MEASURED,
            evidence=f".nv_fatbin of {_count(len(members), 'member')} of "
            + file_text(wheel.filename, wheel.sha256),
        )

    def _code_text(self, codes: list[DeviceCode], *, elsewhere: bool) -> str:
        if not codes:
            return f"none in {'the members that must load' if elsewhere else 'its members'}"
        held = ", ".join(map(str, codes))
        lacking = [
            str(arch) for arch in self.archs if not any(runs_on(code, arch) for code in codes)
        ]
        if lacking:
            return f"{held}: nothing for {', '.join(lacking)}"
        return f"{held}: serves {self._target.archs_text}"

    def _majors(self, row: MemberLink, link: WheelLink) -> Iterator[tuple[str, int]]:
        """The CUDA libraries a member needs that tell its major, with that major.

        Those of one major alone, and those of several of which the target's is none.
        """
        if row.member.facts is None:
            return
        own = {other.member.path.rsplit("/", 1)[-1] for other in link.members}
        for soname in row.member.facts.needed:
            if soname in own:
                continue
            majors = self._sonames.get(soname)
            if majors is None and (match := _RUNTIME.match(soname)):
                majors = frozenset({int(match[1])})
            if majors and (len(majors) == 1 or self._target.cuda.major not in majors):
                yield soname, max(majors)

    @cached_property
    def _sonames(self) -> dict[str, frozenset[int]]:
        found: dict[str, set[int]] = {}
        anywhere = {lib.soname for lib in self._known.libraries if lib.cuda is None}
        for library in self._known.libraries:
            if library.cuda is not None and library.soname not in anywhere:
                found.setdefault(library.soname, set()).add(library.cuda)
        return {soname: frozenset(majors) for soname, majors in found.items()}


def _is_module(row: MemberLink) -> bool:
    name = row.member.path.rsplit("/", 1)[-1]
    needed = () if row.member.facts is None else row.member.facts.needed
    return (
        not name.startswith("lib")
        or _TAGGED.search(name) is not None
        or any(map(_TORCH.fullmatch, needed))
    )


def _is_of_another(row: MemberLink) -> bool:
    """Whether a member is never loaded by itself, or only beside a torch of its own CUDA."""
    rule = row.load.rule
    return rule is not None and (rule.load == "never" or rule.by in ("cuda", "cuda-major"))


def _deciding(link: WheelLink) -> frozenset[str]:
    """The members that must load beside the newest torch of the machine; all where none is."""
    columns = [i for i in range(len(link.history.builds)) if link.builds >> i & 1]
    rows = link.deciding(columns[-1]) if columns else link.members
    return frozenset(row.member.path for row in rows)


def _purpose(link: WheelLink) -> frozenset[str]:
    """The members that a wheel is for, though its package imports without them."""
    rows = (row for row in link.members if row.load.rule is not None and row.load.rule.purpose)
    return frozenset(row.member.path for row in rows)


def _working(link: WheelLink) -> frozenset[str]:
    """Those of them whose kernels the package works with, and not a feature of it alone."""
    features = {row.member.path for row in link.members if row.load.rule and row.load.rule.feature}
    return _deciding(link) - features


def _more(number: int, noun: str) -> str:
    return f" and {_count(number, f'more {noun}')}" if number > 0 else ""


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _file(link: WheelLink) -> str:
    return file_text(link.wheel.filename, link.wheel.sha256)
