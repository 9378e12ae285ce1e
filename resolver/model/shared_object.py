"""A shared object as the dynamic loader sees it: what it needs, what it offers, where it looks."""

from __future__ import annotations

from collections.abc import Mapping

from resolver.dataclass import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedObject:
    """The dynamic section of one object, with its symbols and their versions.

    ``rpath`` and ``runpath`` are the directories as written, ``$ORIGIN`` included; an empty one is
    the working directory. ``undefined`` maps a strong reference to the version it asks for, ``""``
    for none. ``plain`` are definitions without a version; ``versioned`` maps the others to their
    versions, a default version with ``@`` before it (``@GLIBC_2.17``), as ``nm`` writes it.
    ``needs`` are the required versions: library, version, and whether the loader only warns.
    ``offers`` are the versions it defines: empty where it has none, and then any reference fits.
    ``no_default`` says that the loader's cache and default directories are not searched for it.
    """

    machine: str
    soname: str | None = None
    needed: tuple[str, ...] = ()
    rpath: tuple[str, ...] = ()
    runpath: tuple[str, ...] = ()
    undefined: Mapping[str, str] = field(default_factory=dict)
    plain: frozenset[str] = frozenset()
    versioned: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    needs: tuple[tuple[str, str, bool], ...] = ()
    offers: frozenset[str] = frozenset()
    no_default: bool = False

    def defines(self, name: str, version: str = "") -> bool:
        """Whether this object answers a reference, by the rule of glibc's ``check_match``.

        A versioned reference takes its version or an unversioned definition; one without a version
        takes an unversioned definition or the only default version.
        """
        if name in self.plain:
            return True
        found = self.versioned.get(name)
        if found is None:
            return False
        if version:
            return version in found or f"@{version}" in found
        return sum(each.startswith("@") for each in found) == 1
