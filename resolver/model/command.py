"""Commands that are told to people, so that what they paste into a shell is what was meant."""

from __future__ import annotations

import re
import shlex

from resolver.dataclass import dataclass

# A word of a command as text: what is quoted is one word with what touches it.
WORD = re.compile(r"""(?:[^\s'"]|'[^']*'|"[^"]*")+""")


@dataclass(frozen=True, slots=True)
class Command:
    """The words of a command; as text it is quoted for a POSIX shell."""

    argv: tuple[str, ...]

    @classmethod
    def of(cls, *words: str) -> Command:
        """The command of these words, none of them quoted."""
        return cls(words)

    def __str__(self) -> str:
        return shlex.join(self.argv)


@dataclass(frozen=True, slots=True)
class Repeated:
    """The options of the user's command line that a command which is told must have too.

    ``options`` are the words of one each: ``("--wheelhouse", "my wheels")``. ``files`` are those
    that requirements were read from, as ``-r`` names them.
    """

    options: tuple[tuple[str, ...], ...] = ()
    files: tuple[str, ...] = ()

    @classmethod
    def of(cls, *options: str) -> Repeated:
        """Options as text, each one as a shell would split it: ``--python 3.12``."""
        return cls(tuple(tuple(shlex.split(option)) for option in options))

    def without(self, *names: str) -> Repeated:
        """The same without these options."""
        return Repeated(tuple(o for o in self.options if o[0] not in names), self.files)

    def only(self, *names: str) -> Repeated:
        """Of the options these alone."""
        return Repeated(tuple(o for o in self.options if o[0] in names), self.files)

    def having(self, *option: str) -> Repeated:
        """The same with this option, in place of the one of its name where there is one."""
        rest = self.without(option[0]).options
        place = next((i for i, o in enumerate(self.options) if o[0] == option[0]), len(rest))
        return Repeated((*rest[:place], option, *rest[place:]), self.files)

    @property
    def argv(self) -> tuple[str, ...]:
        """The options as words, one after the other; without the files."""
        return tuple(word for option in self.options for word in option)
