"""Everything abilock raises.

An exception means that the work could not be done: wrong input, an index that does not answer,
damaged data. A combination of packages that cannot work is a result, never an exception.

    AbilockError
    ├── UsageError               what the user wrote cannot be used (exit code 2)
    ├── IndexFailure             an index or a file host did not do its part (exit code 3)
    │   ├── Unreachable          no answer within the time bound, or a server error
    │   ├── NotFound             the server says that there is no such page or file
    │   ├── NotAnIndexPage       an answer that is not a Simple API page
    │   └── RangesIgnored        a file host that sends whole files only
    ├── Undecided                what could not be looked at decides (3)
    ├── InstallFailed            uv or pip did not come to its end (3)
    ├── DiskFailure              a file that cannot be written: full, read-only, no permission (3)
    ├── DamagedData              bytes that contradict themselves: wheel, ELF, cache, lock (3)
    └── KnowledgeError           the compatibility database does not validate (3)

This module imports nothing of ours.
"""

from __future__ import annotations


class AbilockError(Exception):
    """Base of all errors: what happened, and the next step if one is known.

    ``message`` names the thing and the place; ``hint`` is one sentence that says what to do.
    """

    exit_code = 3

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message


class UsageError(AbilockError):
    """What the user wrote cannot be used."""

    exit_code = 2


class IndexFailure(AbilockError):
    """An index or a file host did not do its part; ``url`` is shown without credentials."""

    def __init__(self, message: str, *, url: str, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.url = url


class Unreachable(IndexFailure):
    """No answer within the time bound, a refused connection, or a server error."""


class NotFound(IndexFailure):
    """The server answered that there is no such page or file."""


class NotAnIndexPage(IndexFailure):
    """The answer is not a Simple API page, in HTML or JSON."""


class RangesIgnored(IndexFailure):
    """The file host ignores range requests: the file can only be read whole."""


class Undecided(AbilockError):
    """Whether there is an answer hangs on something that could not be looked at."""


class InstallFailed(AbilockError):
    """What installs did not come to its end."""


class DiskFailure(AbilockError):
    """A file or a directory cannot be written."""


class DamagedData(AbilockError):
    """Bytes that contradict themselves or their checksum."""


class KnowledgeError(AbilockError):
    """The compatibility database does not validate."""
