"""What can be wrong with the bytes of a wheel: one type a kind of damage.

DamagedData
└── DamagedWheel             names the file and, where it is known, the member
    ├── DamagedZip           the archive's own structure contradicts itself
    │   ├── Overlap          two members claim the same bytes
    │   ├── LyingSize        a size that the bytes do not bear out
    │   ├── EndlessStream    a deflate stream that goes on past the member's declared size
    │   ├── ZipBomb          a member that would expand beyond what any real one does
    │   └── ChecksumMismatch the CRC-32 of a member that was read to its end is another
    ├── DamagedElf           headers or tables of an ELF file that cannot be
    └── DamagedFatbin        a fat binary that cannot be
"""

from __future__ import annotations

from resolver.errors import DamagedData


class DamagedWheel(DamagedData):
    """Bytes of a wheel that contradict themselves; ``member`` is the path inside the archive."""

    def __init__(self, message: str, *, member: str | None = None, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.member = member

    def __str__(self) -> str:
        return f"{self.member}: {self.message}" if self.member else self.message


class DamagedZip(DamagedWheel):
    """The structure of the ZIP archive contradicts itself, or uses what wheels do not use."""


class Overlap(DamagedZip):
    """Two members, or a member and the central directory, claim the same bytes."""


class LyingSize(DamagedZip):
    """A declared size that the bytes do not bear out: past the end, or a stream that is shorter."""


class EndlessStream(DamagedZip):
    """A deflate stream that goes on past the size its member declares."""


class ZipBomb(DamagedZip):
    """A member that would expand far beyond what real wheels hold."""


class ChecksumMismatch(DamagedZip):
    """A member was read to its end, and its CRC-32 is not the declared one."""


class DamagedElf(DamagedWheel):
    """Headers or tables of an ELF file that cannot be: outside the file, overlapping, cyclic."""


class DamagedFatbin(DamagedWheel):
    """A fat binary whose header and entries contradict each other."""


class TooLarge(DamagedWheel):
    """Tables of symbols beyond the bound that keeps memory finite; they need not be damaged.

    No extension of torch comes near it. tensorflow's libraries, with 100 MB of names, exceed it.
    """
