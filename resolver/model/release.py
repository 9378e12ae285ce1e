"""What reasons speak of: releases, and what is none, as a CUDA release or a library of the system.

Each is a value whose ``str`` is what people and JSON see; nothing takes that text apart again.
"""

from __future__ import annotations

from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.dataclass import dataclass
from resolver.model.filename import parse_wheel_name
from resolver.model.version import parse_version


@dataclass(frozen=True, slots=True)
class Release:
    """A project at one version, its local part included: ``torch 2.9.1+cu130``.

    ``version`` is a text where what is installed spells it in a way of its own.
    """

    name: NormalizedName
    version: Version | str

    def __str__(self) -> str:
        return f"{self.name} {self.version}"

    @classmethod
    def of(cls, name: NormalizedName, text: str) -> Release:
        """The release of a version that is given as a text."""
        version = parse_version(text)
        return cls(name, text if version is None or str(version) != text else version)

    @property
    def names(self) -> tuple[str, ...]:
        """The project."""
        return (self.name,)

    @property
    def public(self) -> str:
        """The same without the build: ``torch 2.9.1``."""
        return str(self).partition("+")[0]


@dataclass(frozen=True, slots=True)
class Named:
    """What is no release: ``Named("CUDA", "12.6")``, ``Named("libc.so.6")``, a project alone."""

    name: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.name} {self.detail}" if self.detail else self.name

    @property
    def names(self) -> tuple[str, ...]:
        """Its name."""
        return (self.name,)

    @property
    def public(self) -> str:
        """Its text."""
        return str(self)


@dataclass(frozen=True, slots=True)
class Several:
    """Some releases at once: ``a 1.0, b 2.0``."""

    members: tuple[Release, ...]

    def __str__(self) -> str:
        return ", ".join(map(str, self.members))

    @property
    def names(self) -> tuple[str, ...]:
        """The projects."""
        return tuple(member.name for member in self.members)

    @property
    def public(self) -> str:
        """The same without the builds."""
        return ", ".join(member.public for member in self.members)


Subject = Release | Named
Object = Release | Named | Several


def release_of(filename: str) -> Subject:
    """What a wheel's file name says that it is; the file where that is no name of a wheel."""
    try:
        name, version, _build, _tags = parse_wheel_name(filename)
    except ValueError:  # InvalidWheelFilename, or a number that is too long
        return Named(filename)
    return Release(name, version)
