"""What goes to people: stderr for words, stdout for data; colour where it is wanted.

Colours honour NO_COLOR, FORCE_COLOR and non-terminals through ``rich``.
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Lock, Timer
from typing import IO, TYPE_CHECKING

from resolver.errors import AbilockError, DiskFailure

if TYPE_CHECKING:
    from rich.console import Console

    from resolver.model.artifact import Artifact

# What makes rich take a stream for a terminal that is none, or know one by itself.
_FORCING = ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE")

# What is over sooner needs no words.
_PATIENCE = 0.5

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


def prepare() -> None:
    """Make the streams take every text, and keep files from taking a closed stream's number."""
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


def words(text: str, *, error: bool = True) -> None:
    """Print lines for people, to stderr unless ``error`` is False. Raises DiskFailure.

    What stderr does not take is lost: the answer and its exit code stand.
    """
    if not error:
        with answering():
            _print(text, error=False)
    elif sys.stderr is not None:
        try:
            _print(text, error=True)
        except OSError:
            _silence(sys.stderr)


def _print(text: str, *, error: bool) -> None:
    stream = sys.stderr if error else sys.stdout
    if _may_be_terminal(stream):
        _print_styled(text, error=error)
    else:
        # As rich prints where it sees no terminal; importing it takes longer than many a command.
        lines = (f"{_printable(line).expandtabs()}\n" for line in text.splitlines())
        stream.write("".join(lines))
        stream.flush()


def _may_be_terminal(stream: IO[str]) -> bool:
    return stream.isatty() or any(name in os.environ for name in _FORCING)


def _print_styled(text: str, *, error: bool) -> None:
    from rich.text import Text

    console = _console(error=error, soft_wrap=True)
    for line in map(_printable, text.splitlines()):
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
        if not _may_be_terminal(sys.stdout):
            rows = ("".join(word for word, _ in line).rstrip() for line in lines)
            sys.stdout.write("".join(f"{_printable(row)}\n" for row in rows))
            sys.stdout.flush()
            return
        from rich.text import Text

        console = _console(error=False, soft_wrap=True)
        for line in lines:
            console.print(Text.assemble(*((_printable(word), style) for word, style in line)))


def terminal() -> Console | None:
    """Stderr, where it is a terminal."""
    if sys.stderr is None or not _may_be_terminal(sys.stderr):
        return None
    console = _console(error=True)
    return console if console.is_terminal else None


def _console(*, error: bool, soft_wrap: bool = False) -> Console:
    """A console that leaves a broken pipe to whoever writes."""
    from rich.console import Console

    class Passing(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return Passing(stderr=error, soft_wrap=soft_wrap, highlight=False)


def _printable(line: str) -> str:
    """``line`` without what a terminal would obey; whatever a server said may be in it."""
    if line.isprintable():
        return line
    return "".join(
        char if char.isprintable() or char == "\t" else "\N{REPLACEMENT CHARACTER}" for char in line
    )


@contextmanager
def reading(patience: float = _PATIENCE) -> Iterator[Callable[[Artifact], None]]:
    """A line on a terminal that says which wheel is being read, once that lasts; else nothing.

    Gives what has to be called with each wheel, from any thread. The line is gone afterwards.
    """
    console = terminal()
    if console is None:
        yield lambda _: None
        return
    from rich.status import Status
    from rich.text import Text

    status = Status("", console=console)
    timer = Timer(patience, status.start)
    timer.daemon = True
    lock = Lock()

    def on_read(artifact: Artifact) -> None:
        with lock:
            status.update(Text(f"reading {artifact.name} {artifact.version} ..."))
            if not timer.is_alive() and not timer.finished.is_set():
                timer.start()

    try:
        yield on_read
    finally:
        with lock:
            timer.cancel()
        if timer.ident is not None:
            timer.join()
        status.stop()


@contextmanager
def counting(what: str) -> Iterator[Callable[[int, int], None]]:
    """A line on a terminal that counts (``3 of 64 pairs judged``); nothing elsewhere."""
    console = terminal()
    if console is None:
        yield lambda _done, _all: None
        return
    from rich.status import Status

    with Status("", console=console) as status:
        yield lambda done, every: status.update(f"{done} of {every} {what}")


def data(text: str) -> None:
    """Print data to stdout, as it is. Raises DiskFailure."""
    with answering():
        sys.stdout.write(text)
        sys.stdout.flush()


def failure(error: AbilockError) -> None:
    """Print an error in the house form: what, then the next step."""
    lines = [f"error: {error}"]
    if error.hint:
        lines.append(f"hint: {error.hint}")
    words("\n".join(lines))
