"""Which releases of torch something links with, from the releases that were read."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from packaging.version import Version

from resolver.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """Releases in a row: from ``low`` on, up to ``stop``, which is none of them; None is open.

    ``first`` says that ``low`` is the oldest release that was read: older ones may do too.
    """

    low: Version
    stop: Version | None = None
    first: bool = False

    @property
    def specifier(self) -> str:
        """The releases of which something is known, as a requirement has them."""
        return f">={self.low}" + self._end

    @property
    def _end(self) -> str:
        return "" if self.stop is None else f",<{self.stop}"

    def __str__(self) -> str:
        return f">={self.low}{' (or older)' if self.first else ''}{self._end}"


@dataclass(frozen=True, slots=True)
class TorchRange:
    """Releases of torch, the oldest first; there is at least one span.

    As text it is for people, who read ``torch >=2.4,<2.6 or >=2.8``; a command takes
    ``requirement``, since a specifier knows no "or". ``>=2.1 (or older)`` begins with the oldest
    release that was read.
    """

    spans: tuple[Span, ...]

    @classmethod
    def of(cls, good: Collection[Version], read: Sequence[Version]) -> TorchRange | None:
        """The range of ``good`` among all that were read, in order; None where there is none.

        A span ends at the first release that is not good, and is open where the newest one is.
        """
        spans: list[Span] = []
        index = 0
        while index < len(read):
            if read[index] not in good:
                index += 1
                continue
            start = index
            while index < len(read) and read[index] in good:
                index += 1
            low = _short(read[start], read[start - 1] if start else None)
            stop = _short(read[index], read[index - 1]) if index < len(read) else None
            spans.append(Span(low, stop, first=start == 0))
        return cls(tuple(spans)) if spans else None

    def requirement(self, near: Version | None = None) -> str:
        """What an installer takes: of several spans the first above ``near``, else the newest."""
        above = (s for s in self.spans if near is not None and s.low > near)
        return f"torch{next(above, self.spans[-1]).specifier}"

    def __str__(self) -> str:
        return f"torch {' or '.join(map(str, self.spans))}"


def _short(version: Version, before: Version | None) -> Version:
    """``2.9`` for the first release of its minor, else in full."""
    if before is None or before.release[:2] != version.release[:2]:
        return Version(f"{version.major}.{version.minor}")
    return version
