"""What goes to people: stderr for words, stdout for data; colour where it is wanted.

Colours honour NO_COLOR, FORCE_COLOR and non-terminals through ``rich``.
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import IO, TYPE_CHECKING

from resolver.dataclass import dataclass
from resolver.errors import AbilockError, DiskFailure

if TYPE_CHECKING:
    from rich.console import Console

# So many -q leave stdout empty too.
_SILENT = 2

# What makes rich take a stream for a terminal that is none, or know one by itself.
_FORCING = ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE")

_STYLES = (
    (re.compile(r"^(Solved|Accepted):"), "bold green"),
    (re.compile(r"^(Rejected:|No solution)"), "bold red"),
    (re.compile(r"^Unknown:"), "bold yellow"),
    (re.compile(r"^(Warnings|Degraded|Checked|Cure|Notes|Also|Use instead|Beside .*):$"), "bold"),
    (re.compile(r"^error(?=:)"), "bold red"),
    (re.compile(r"^hint(?=:)"), "bold cyan"),
    (re.compile(r"^\s*(fix|works with)(?=  )"), "green"),
    (re.compile(r"^\s*(needs|found|in|symbol|known by)(?=  )"), "cyan"),
    (re.compile(r"^\s*(\d+  )?(asked|because|and|suppose|therefore)(?=  )"), "cyan"),
)


@dataclass(slots=True)
class _Manner:
    """How words are printed: with ``quiet`` 1 errors and data alone, with 2 no data either.

    ``aside`` takes a line that is updated in place back for as long as something is printed.
    """

    quiet: int = 0
    aside: Callable[[], AbstractContextManager[None]] = nullcontext


_manner = _Manner()


def be_quiet(times: int) -> None:
    """Print less: what ``-q`` asks for, once or more."""
    _manner.quiet += times


def is_quiet() -> bool:
    """Whether errors and data alone are printed."""
    return _manner.quiet > 0


@contextmanager
def beside(aside: Callable[[], AbstractContextManager[None]]) -> Iterator[None]:
    """Print beside a line that is updated in place, which ``aside`` takes back meanwhile."""
    _manner.aside = aside
    try:
        yield
    finally:
        _manner.aside = nullcontext


def prepare() -> None:
    """Make the streams take every text, and keep files from taking a closed stream's number."""
    _manner.quiet = 0
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


@contextmanager
def answering() -> Iterator[None]:
    """Around what writes to stdout. Raises DiskFailure.

    When its reader is gone, the rest is lost: the exit code is that of the answer all the same.
    """
    if sys.stdout is None:
        raise DiskFailure("cannot write to stdout: it is closed")
    try:
        yield
    except BrokenPipeError:
        _silence(sys.stdout)
    except OSError as error:
        _silence(sys.stdout)
        cause = (error.strerror or str(error)).lower()
        raise DiskFailure(f"cannot write to stdout: {cause}") from error


def _silence(stream: IO[str]) -> None:
    """Keep the interpreter from flushing what is left, at its end, into what takes no more."""
    with suppress(OSError):  # a stream without a descriptor
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def words(text: str, *, error: bool = True, urgent: bool = False) -> None:
    """Print lines for people, to stderr unless ``error`` is False. Raises DiskFailure.

    What stderr does not take is lost: the answer and its exit code stand. Those that are not
    ``urgent`` are not printed where the user wants it quiet.
    """
    if not error:
        with answering():
            if _manner.quiet < _SILENT:
                _print(text, error=False)
    elif sys.stderr is not None and (urgent or not _manner.quiet):
        try:
            _print(text, error=True)
        except OSError:
            _silence(sys.stderr)


def _print(text: str, *, error: bool) -> None:
    stream = sys.stderr if error else sys.stdout
    with _manner.aside():
        if _may_be_terminal(stream):
            _print_styled(text, error=error)
        else:
            # As rich prints where it sees no terminal; to import it takes longer than many a
            # command.
            lines = (f"{printable(line).expandtabs()}\n" for line in text.splitlines())
            stream.write("".join(lines))
            stream.flush()


def _may_be_terminal(stream: IO[str]) -> bool:
    return stream.isatty() or any(name in os.environ for name in _FORCING)


def _print_styled(text: str, *, error: bool) -> None:
    from rich.text import Text

    console = _console(error=error, soft_wrap=True)
    for line in map(printable, text.splitlines()):
        styled = Text(line)
        for pattern, style in _STYLES:
            if match := pattern.match(line):
                styled.stylize(style, *match.span())
        console.print(styled)


def painted(lines: Iterable[Sequence[tuple[str, str]]]) -> None:
    """Print words with their styles to stdout; no styles where it is no terminal that wants them.

    Raises DiskFailure.
    """
    with answering():
        if _manner.quiet >= _SILENT:
            return
        if not _may_be_terminal(sys.stdout):
            rows = ("".join(word for word, _ in line).rstrip() for line in lines)
            sys.stdout.write("".join(f"{printable(row)}\n" for row in rows))
            sys.stdout.flush()
            return
        from rich.text import Text

        console = _console(error=False, soft_wrap=True)
        for line in lines:
            console.print(Text.assemble(*((printable(word), style) for word, style in line)))


def _console(*, error: bool, soft_wrap: bool = False) -> Console:
    """A console that leaves a broken pipe to whoever writes."""
    from rich.console import Console

    class Passing(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return Passing(stderr=error, soft_wrap=soft_wrap, highlight=False)


def printable(line: str) -> str:
    """``line`` without what a terminal would obey; whatever a server said may be in it."""
    if line.isprintable():
        return line
    return "".join(
        char if char.isprintable() or char == "\t" else "\N{REPLACEMENT CHARACTER}" for char in line
    )


def data(text: str) -> None:
    """Print data to stdout, as it is. Raises DiskFailure."""
    with answering(), _manner.aside():
        if _manner.quiet < _SILENT:
            sys.stdout.write(text)
            sys.stdout.flush()


def failure(error: AbilockError) -> None:
    """Print an error in the house form: what, then the next step."""
    lines = [f"error: {error}"]
    if error.hint:
        lines.append(f"hint: {error.hint}")
    words("\n".join(lines), urgent=True)
