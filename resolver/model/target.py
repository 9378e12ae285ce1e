"""The machine a lock is made for, and what follows from it: tags and markers.

Sources: PEP 425 and PEP 600 (wheel tags), PEP 508 (markers), through ``packaging``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from types import MappingProxyType

from packaging.markers import Marker
from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.version import Version

from resolver.dataclass import dataclass, field
from resolver.model.cuda import Arch, CudaVersion

# PEP 600: the legacy names of three glibc baselines.
_LEGACY_MANYLINUX = {17: "manylinux2014", 12: "manylinux2010", 5: "manylinux1"}
# The oldest glibc minor a tag exists for, by machine: auditwheel's policies.
_OLDEST_GLIBC_MINOR = {"x86_64": 5, "aarch64": 17}


def driver_text(driver: Version) -> str:
    """A driver as NVIDIA writes it, ``580.65.06``, where PEP 440 drops the zero."""
    first, *rest = driver.release
    return ".".join((str(first), *(f"{part:02d}" for part in rest)))


@dataclass(frozen=True, kw_only=True)
class Target:
    """A machine and the wish for it.

    ``python`` is a full version (``3.12.0`` where only ``3.12`` was said); ``glibc`` is
    ``(major, minor)``; ``driver`` and ``toolkit`` are None where unknown.
    """

    cuda: CudaVersion
    archs: tuple[Arch, ...]
    python: Version
    machine: str = "x86_64"
    glibc: tuple[int, int] = (2, 28)
    driver: Version | None = None
    toolkit: CudaVersion | None = None
    gpu: str | None = None
    free_threaded: bool = field(default=False)

    @property
    def python_minor(self) -> tuple[int, int]:
        """``(3, 12)``."""
        return (self.python.major, self.python.minor)

    @property
    def python_short(self) -> str:
        """``3.12``, or ``3.13t`` for a free-threaded build."""
        return f"{self.python.major}.{self.python.minor}" + ("t" if self.free_threaded else "")

    @property
    def python_tag(self) -> str:
        """``312`` or ``313t``, as the names of extension modules have it."""
        return self.python_short.replace(".", "")

    @property
    def platform_options(self) -> str:
        """``--python 3.12 --machine x86_64``: what makes another command take the same wheel."""
        return f"--python {self.python_short} --machine {self.machine}"

    @property
    def glibc_text(self) -> str:
        """``2.35``."""
        return f"{self.glibc[0]}.{self.glibc[1]}"

    @property
    def archs_text(self) -> str:
        """``sm_100, sm_120``."""
        return ", ".join(map(str, self.archs))

    def to_json(self) -> dict[str, str | list[str] | None]:
        """The target of the JSON documents."""
        return {
            "cuda": str(self.cuda),
            "arch": [str(arch) for arch in self.archs],
            "python": self.python_short,
            "machine": self.machine,
            "glibc": self.glibc_text,
            "driver": None if self.driver is None else driver_text(self.driver),
            "toolkit": None if self.toolkit is None else str(self.toolkit),
            "gpu": self.gpu,
        }

    def platforms(self) -> Iterator[str]:
        """Platform tags of this machine, the most specific first."""
        oldest = _OLDEST_GLIBC_MINOR.get(self.machine, 17)
        for minor in range(self.glibc[1], oldest - 1, -1):
            yield f"manylinux_{self.glibc[0]}_{minor}_{self.machine}"
            if minor in _LEGACY_MANYLINUX and (minor == 17 or self.machine == "x86_64"):
                yield f"{_LEGACY_MANYLINUX[minor]}_{self.machine}"
        yield f"linux_{self.machine}"

    @property
    def tag_rank(self) -> Mapping[Tag, int]:
        """Every wheel tag this machine takes, with its rank: 0 is the best."""
        return self._tags[0]

    @property
    def tags(self) -> frozenset[Tag]:
        """The same tags without their order: two sets are compared by the smaller one."""
        return self._tags[1]

    @property
    def tag_texts(self) -> frozenset[str]:
        """The same tags as a wheel's name writes them."""
        return self._tags[2]

    @cached_property
    def _tags(self) -> tuple[Mapping[Tag, int], frozenset[Tag], frozenset[str]]:
        return _tags_of(self.python_minor, self.free_threaded, tuple(self.platforms()))

    def holds(self, marker: Marker | None, extra: str = "") -> bool:
        """Whether a marker holds here; no marker always does."""
        if marker is None:
            return True
        known = self._held.get((marker, extra))
        if known is None:
            known = marker.evaluate({**self.environment, "extra": extra})
            self._held[marker, extra] = known
        return known

    @cached_property
    def _held(self) -> dict[tuple[Marker, str], bool]:
        """Markers that were evaluated: packages repeat each other's."""
        return {}

    @cached_property
    def environment(self) -> dict[str, str]:
        """The marker environment of the target; nothing of the host enters it."""
        return {
            "implementation_name": "cpython",
            "implementation_version": str(self.python),
            "os_name": "posix",
            "platform_machine": self.machine,
            "platform_python_implementation": "CPython",
            "platform_release": "",
            "platform_system": "Linux",
            "platform_version": "",
            "python_full_version": str(self.python),
            "python_version": f"{self.python.major}.{self.python.minor}",
            "sys_platform": "linux",
        }


@lru_cache(maxsize=16)
def _tags_of(
    python: tuple[int, int], free_threaded: bool, platforms: tuple[str, ...]
) -> tuple[Mapping[Tag, int], frozenset[Tag], frozenset[str]]:
    """The tags of one machine by rank, and as sets. Cost: 3 ms, once in a process."""
    interpreter = f"cp{python[0]}{python[1]}"
    abi = interpreter + ("t" if free_threaded else "")
    ranks: dict[Tag, int] = {}
    for tags in (
        cpython_tags(python, [abi], platforms),
        compatible_tags(python, interpreter, platforms),
    ):
        for tag in tags:
            ranks.setdefault(tag, len(ranks))
    return MappingProxyType(ranks), frozenset(ranks), frozenset(map(str, ranks))
