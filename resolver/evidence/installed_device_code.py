"""Device code of what is installed: read from every byte of a library, once.

Without ``--full`` large libraries count only where they were read before: 10 GB take a while.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from packaging.version import Version

from resolver.abi.fatbin import FatbinScanner
from resolver.abi.inspection import SMALL
from resolver.compat.cuda_rules import covers
from resolver.dataclass import replace
from resolver.errors import DamagedData
from resolver.files import open_descriptor
from resolver.load.object_cache import DiskFiles, ObjectStore
from resolver.load.simulation import Examination
from resolver.model.cuda import Arch, DeviceCode
from resolver.model.reason import Reason, Severity
from resolver.model.release import Release
from resolver.model.stack import TORCH

_PIECE = 4 << 20


def read_device_code(path: Path) -> tuple[DeviceCode, ...]:
    """Every target that a library has code for. Raises OSError, DamagedFatbin."""
    descriptor = open_descriptor(path)
    try:
        scanner = FatbinScanner(os.fstat(descriptor).st_size)
        while piece := os.read(descriptor, _PIECE):
            scanner.feed(piece)
        return scanner.finish()
    finally:
        os.close(descriptor)


class DeviceCheck:
    """Judges members; ``unread`` counts those whose device code is not known."""

    def __init__(
        self,
        files: DiskFiles,
        store: ObjectStore,
        archs: tuple[Arch, ...],
        driver: Version | None,
        *,
        full: bool,
    ) -> None:
        self._files = files
        self._store = store
        self._archs = archs
        self._driver = driver
        self._full = full
        self.unread = 0

    def check(self, examination: Examination) -> Iterator[Reason]:
        """Members that need torch and have code for none of the GPUs, and torch itself."""
        if not self._archs:
            return
        torch = examination.environment.find(TORCH)
        if torch is not None:
            for member in torch.native:
                if member.startswith("torch/lib/libtorch_cuda"):
                    path = f"{torch.site}/{member}"
                    beside = not member.endswith("/libtorch_cuda.so")  # loaded when first used
                    yield from self._judge(path, torch.release, member, optional=beside)
        for attempt in examination.attempts:
            if attempt.needs_torch and attempt.unreadable is None and not attempt.faults:
                yield from self._judge(
                    attempt.path,
                    attempt.distribution.release,
                    attempt.member,
                    optional=attempt.role.kind != "required" or attempt.role.feature,
                )

    def _judge(
        self, path: str, subject: Release, member: str, *, optional: bool
    ) -> Iterator[Reason]:
        codes = self._codes(path)
        if codes is None:
            self.unread += 1
            return
        if not codes:
            return
        for arch in self._archs:
            reason = covers(
                codes,
                arch,
                subject=subject,
                member=member,
                evidence=f".nv_fatbin of {member}",
                driver=self._driver,
            )
            if reason is None:
                continue
            if optional and reason.severity is Severity.FATAL:
                lost = f"the package imports without it; its features are missing on {arch}"
                reason = replace(reason, severity=Severity.DEGRADED, remedy=lost)
            yield reason

    def _codes(self, path: str) -> tuple[DeviceCode, ...] | None:
        key = self._files.key(path)
        if key is None:
            return None
        kept = self._store.get_codes(key)
        if kept is not None:
            return tuple(DeviceCode.parse(code) for code in kept)
        try:
            place = self._files.tree.place(path)
            if not self._full and os.stat(place).st_size > SMALL:
                return None
            codes = read_device_code(Path(place))
        except (OSError, DamagedData):
            return None
        self._store.put_codes(key, tuple(map(str, codes)))
        return codes
