"""What findings refer to: the environment by file name, curated libraries, what symbols mean."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from typing import Protocol

from resolver.dataclass import dataclass, field
from resolver.load.distribution import Distribution
from resolver.load.environment import Environment
from resolver.load.simulation import Attempt
from resolver.model.command import Command
from resolver.model.knowledge import Library
from resolver.model.load_knowledge import SystemLibrary
from resolver.model.stack import TORCH
from resolver.model.torch_range import TorchRange


class Symbols(Protocol):
    """What is known of symbols beyond this environment."""

    def describe(self, symbol: str) -> str:
        """The declaration that a mangled name stands for."""
        ...

    def is_torch(self, symbol: str) -> bool:
        """Whether it belongs to torch's own namespaces."""
        ...

    def other_string(self, symbols: Sequence[str]) -> tuple[str, bool] | None:
        """The first that is of the other std::string than the installed torch's.

        With whether torch's is the new one; None where none is.
        """
        ...

    def instead(self, symbol: str) -> str:
        """Other signatures of that function that the installed torch exports; empty for none."""
        ...

    def works_with(self, attempt: Attempt) -> TorchRange | None:
        """The torch releases that this member links with: ``torch >=2.9,<2.10``."""
        ...


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What findings refer to. ``torch`` is the installed one, with the CUDA major it is for."""

    environment: Environment
    libraries: Sequence[Library]
    system: Sequence[SystemLibrary]
    symbols: Symbols
    torch: Distribution | None = None
    cuda_major: int | None = None
    places: dict[str, list[tuple[str, Distribution]]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        environment: Environment,
        *,
        libraries: Sequence[Library],
        system: Sequence[SystemLibrary],
        symbols: Symbols,
        cuda_major: int | None,
    ) -> Surroundings:
        """Index the native files of an environment by name."""
        places: dict[str, list[tuple[str, Distribution]]] = {}
        for distribution in environment.distributions:
            for member in distribution.native:
                path = posixpath.normpath(f"{distribution.site}/{member}")
                places.setdefault(posixpath.basename(path), []).append((path, distribution))
        return cls(
            environment=environment,
            libraries=libraries,
            system=system,
            symbols=symbols,
            torch=environment.find(TORCH),
            cuda_major=cuda_major,
            places=places,
        )

    def owner(self, path: str) -> Distribution | None:
        """Whose file this is."""
        path = posixpath.normpath(path)
        for place, distribution in self.places.get(posixpath.basename(path), ()):
            if place == path:
                return distribution
        return None

    def owners(self, path: str) -> list[Distribution]:
        """Every distribution that recorded this file."""
        path = posixpath.normpath(path)
        found = self.places.get(posixpath.basename(path), ())
        return [distribution for place, distribution in found if place == path]

    @property
    def is_image(self) -> bool:
        """Whether it lies in an image's root: no command is run there, lines of a recipe are."""
        return self.environment.tree.root is not None

    def exists(self, path: str) -> bool:
        """Whether the file is there."""
        return self.environment.tree.exists(path)

    def shown(self, path: str) -> str:
        """A path as people read it: below site-packages where it lies there."""
        path = posixpath.normpath(path)
        for site in self.environment.path:
            if path.startswith(f"{site}/"):
                return path[len(site) + 1 :]
        return path

    def command(self, verb: str, *names: str) -> str:
        """``uv pip install --python PREFIX NAME...``, quoted for a shell."""
        place = "--target" if self.environment.kind == "directory" else "--python"
        return str(Command.of("uv", "pip", *verb.split(), place, self.environment.prefix, *names))
