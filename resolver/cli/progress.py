"""One line on a terminal that says what is being done, updated in place and gone at the end.

Plain escape codes: rich takes longer to import than many a command to run, and a bar of it longer
than what the line has to say.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import cycle
from threading import Event, Lock, Thread
from typing import IO, TYPE_CHECKING

from resolver.cli import console
from resolver.model.activity import Activity
from resolver.model.plural import counted

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from resolver.index.wheelhouse import Fate, Progress, Wanted

# Seconds until it is shown, where a network was asked and where not: what is over sooner needs no
# words.
SOON, LATE = 0.4, 1.0
_EVERY = 0.1
_SPINNER, _BAR = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "━╌"
_BAR_WIDTH = 20
# Columns of a terminal that does not say.
_WIDTH = 80
# Columns without which what is under way is not told.
_TAIL = 16


@contextmanager
def watched(activity: Activity) -> Iterator[None]:
    """Show ``activity`` as long as the block lasts, on a terminal that somebody looks at."""
    stream = sys.stderr
    if not _is_watched(stream):
        yield
        return
    line = Line(stream, activity, soon=SOON, late=LATE)
    line.start()
    try:
        with console.beside(line.lifted):
            yield
    finally:
        line.stop()


def _is_watched(stream: IO[str] | None) -> bool:
    """Whether a person looks at a stream, and its terminal can take a line back."""
    environ = os.environ
    return (
        stream is not None
        and not console.is_quiet()
        and stream.isatty()
        and environ.get("TERM", "") not in ("", "dumb", "unknown")
        and environ.get("CI", "").lower() in ("", "0", "false")
        and "0" not in (environ.get("TTY_COMPATIBLE"), environ.get("TTY_INTERACTIVE"))
    )


class Line:
    """The line; it is drawn from a thread of its own, so that it lives while the work blocks."""

    def __init__(self, stream: IO[str], activity: Activity, *, soon: float, late: float) -> None:
        self._stream = stream
        self._activity = activity
        self._soon, self._late = soon, late
        self._ended = Event()
        self._lock = Lock()
        self._is_drawn = False
        self._thread = Thread(target=self._run, name="progress", daemon=True)
        self._spinner, self._bar = _glyphs(stream)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def stop(self) -> None:
        """Take the line back, for good."""
        self._ended.set()
        self._thread.join()
        self._erase()

    @contextmanager
    def lifted(self) -> Iterator[None]:
        """Take the line back for as long as something else is printed."""
        with self._lock:
            self._erase()
            yield

    def _run(self) -> None:
        began = time.monotonic()
        speed = _Speed()
        wait = self._soon
        frames = cycle(self._spinner)
        while not self._ended.wait(wait):
            wait = _EVERY
            seconds = time.monotonic() - began
            if not self._activity.received and seconds < self._late:
                continue
            rate = speed.at(seconds, self._activity.have)
            said = line_text(self._activity, seconds, self._width() - 3, speed=rate, bar=self._bar)
            with self._lock:
                if not self._ended.is_set() and self._is_ours():
                    self._draw(f"{next(frames)} {said}")

    def _draw(self, text: str) -> None:
        with suppress(OSError, ValueError):  # a terminal that is gone is told nothing
            self._stream.write(f"\r{console.printable(text)}\x1b[K")
            self._stream.flush()
            self._is_drawn = True

    def _erase(self) -> None:
        if self._is_drawn:
            self._is_drawn = False
            with suppress(OSError, ValueError):
                self._stream.write("\r\x1b[K")
                self._stream.flush()

    def _width(self) -> int:
        try:
            return os.get_terminal_size(self._stream.fileno()).columns or _WIDTH
        except (OSError, ValueError):
            return _WIDTH

    def _is_ours(self) -> bool:
        """Whether the command is not in the background of its terminal: it writes on no prompt."""
        try:
            return os.tcgetpgrp(self._stream.fileno()) == os.getpgrp()
        except (OSError, ValueError):
            return True  # not the terminal that controls it


def line_text(
    activity: Activity, seconds: float, width: int, *, speed: float = 0, bar: str = "#-"
) -> str:
    """What there is to say, of which as much as ``width`` columns take.

    ``speed`` is that of files that arrive, in bytes a second. What comes first stays in its place.
    """
    if activity.total:
        return _fit(_arriving(activity, speed, bar), width)
    counts = [
        counted(activity.pages, "page") if activity.pages else "",
        f"{activity.metadata} metadata" if activity.metadata else "",
        counted(activity.wheels, "wheel") if activity.wheels else "",
        _size(activity.received) if activity.received else "",
    ]
    time_ = f"{int(seconds)} s"
    heads = [
        ", ".join(part for part in (activity.step, *kept, time_) if part)
        for kept in (counts, (counts[0], counts[-1]), counts[-1:], ())
    ]
    head = _fit(heads[:-1], width - _TAIL) or _fit([*heads, time_], width)
    tail = activity.oldest() or ("" if activity.step else _thinking(activity))
    room = width - len(head) - 2
    if len(tail) > room:
        tail = f"{tail[: room - 3]}..." if room >= _TAIL else ""
    return f"{head}  {tail}" if tail else head


def _fit(texts: Sequence[str], width: int) -> str:
    """The first that ``width`` columns take; nothing where none does."""
    return next((text for text in texts if len(text) <= width), "")


def _thinking(activity: Activity) -> str:
    """What is done where nothing is asked for or read."""
    if activity.known:
        return f"solving, {activity.decided} of {activity.known} decided"
    return "solving" if activity.pages else ""


def _arriving(activity: Activity, speed: float, bar: str) -> list[str]:
    """How files arrive, in full and shorter."""
    have, total = activity.have, activity.total
    text = f"{_size(have)} of {_size(total)}"
    if speed > 0:
        text += f", {_size(speed)}/s, {max(0, total - have) / speed:.0f} s left"
    done = min(_BAR_WIDTH, have * _BAR_WIDTH // total)
    drawn = bar[0] * done + bar[1] * (_BAR_WIDTH - done)
    return [f"{activity.step}  {drawn}  {text}", f"{activity.step}, {text}", text, activity.step]


def _size(count: float) -> str:
    """Bytes in three digits: ``34.2 MB``."""
    for unit in ("B", "kB", "MB"):
        if count < 999.5:
            return f"{count:.3g} {unit}" if count < 99.95 else f"{count:.0f} {unit}"
        count /= 1000
    return f"{count:.2f} GB"


class _Speed:
    """Bytes a second since the first ones came; what was there before took no time."""

    def __init__(self) -> None:
        self._began: tuple[float, int] | None = None

    def at(self, seconds: float, have: int) -> float:
        """The speed at a moment; 0 where it is too early to say."""
        if not have:
            return 0
        if self._began is None:
            self._began = (seconds, have)
        elapsed = seconds - self._began[0]
        return (have - self._began[1]) / elapsed if elapsed >= 1 else 0


def _glyphs(stream: IO[str]) -> tuple[str, str]:
    """The frames of the spinner, and what is full and empty of a bar, as a stream takes them."""
    try:
        (_SPINNER + _BAR).encode(getattr(stream, "encoding", None) or "utf-8")
    except (UnicodeError, LookupError):
        return "|/-\\", "#-"
    return _SPINNER, _BAR


# What of it knows files that arrive.


def shown(activity: Activity) -> Callable[[Sequence[Wanted]], AbstractContextManager[Progress]]:
    """What tells ``activity`` of the files of a download."""
    return partial(_shown, activity)


@contextmanager
def _shown(activity: Activity, files: Sequence[Wanted]) -> Iterator[Progress]:
    from resolver.index.wheelhouse import Progress

    class Counted(Progress):
        def __init__(self) -> None:
            self._have = dict.fromkeys((file.filename for file in files), 0)
            self._done = 0
            activity.total = sum(file.size or 0 for file in files)
            self._tell()

        def advanced(self, wanted: Wanted, have: int) -> None:
            self._have[wanted.filename] = have
            activity.have = sum(self._have.values())

        def finished(self, wanted: Wanted, fate: Fate) -> None:
            del fate
            self._done += 1
            self.advanced(wanted, wanted.size or self._have[wanted.filename])
            self._tell()

        def _tell(self) -> None:
            activity.step = f"{self._done} of {counted(len(self._have), 'file')}"

    yield Counted()
