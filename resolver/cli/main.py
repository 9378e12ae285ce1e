"""The console script: light, so that Ctrl-C ends quietly while the parts are still imported.

``--version`` is answered before any of them is.
"""

from __future__ import annotations

import gc
import os
import sys

from resolver import __version__

TYPE_CHECKING = False  # typing takes longer to import than --version to answer
if TYPE_CHECKING:
    from typing import NoReturn

TRACEBACK = "ABILOCK_TRACEBACK"
_ALLOCATIONS = 200_000
# Of an exception's own words.
_LONGEST = 300


def main() -> NoReturn:
    """Run ``abilock`` as the program that the process is: it ends here.

    Taking down what was made takes a fifth of the time of most answers, and the system does it at
    once. Everything was written then, and who wants to know of the end was told.
    """
    try:
        answer()
    except SystemExit as done:
        if done.code is None or isinstance(done.code, int):
            _leave(done.code or 0)
        raise
    _leave(0)
    sys.exit(0)


def _leave(code: int) -> None:
    """End the process; not where a thread is waited for, or a stream does not take the rest."""
    import atexit

    threading = sys.modules.get("threading")  # who started a thread has imported it
    if threading is not None:
        running = set(threading.enumerate()) - {threading.main_thread()}
        if not all(thread.daemon for thread in running):
            return
    try:
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        return
    os._exit(code & 0xFF)


def answer() -> None:
    """What ``main`` does, in a process that goes on; exit 130 where it is interrupted at any time.

    An exception that nobody expected is one line and exit code 3.
    """
    try:
        if _told_version():
            return
        if sys.argv[1:2] == ["__complete"]:
            from resolver.cli import complete

            complete.main(sys.argv[2:])
            return
        # Of what a short command makes little is garbage: looking for it took 8 % of its time.
        gc.set_threshold(_ALLOCATIONS, 10, 10)
        from resolver.cli import app

        app.main()
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:  # noqa: BLE001 - the last resort: there is nobody above
        try:
            sys.stderr.write(_told(error))
            sys.stderr.flush()
        except (OSError, ValueError, AttributeError):
            pass  # stderr is closed, or takes no more
        sys.exit(3)


def _told_version() -> bool:
    """Whether the version was all that was asked for, and is told."""
    if sys.argv[1:] not in (["--version"], ["-V"]):
        return False
    try:
        sys.stdout.write(f"abilock {__version__}\n")
        sys.stdout.flush()
    except (OSError, ValueError, AttributeError):
        return False  # the command says what is wrong with stdout
    return True


def _told(error: Exception) -> str:
    """What happened and where, and how to report it."""
    import traceback

    if os.environ.get(TRACEBACK, "") not in ("", "0"):
        return "".join(traceback.format_exception(error))
    detail = " ".join(str(error).split())
    detail = detail if len(detail) <= _LONGEST else f"{detail[:_LONGEST]} ..."
    what = type(error).__name__ + (f": {detail}" if detail else "")
    if isinstance(error, MemoryError):
        return (
            f"error: out of memory{_place(error)}\n"
            f"hint: free some; {TRACEBACK}=1 in the environment shows the whole trace\n"
        )
    return (
        f"error: unexpected {what}{_place(error)}\n"
        "hint: this is a bug in abilock: report it to its maintainers with the trace that the same "
        f"command shows after export {TRACEBACK}=1\n"
    )


def _place(error: Exception) -> str:
    """The last line of ours that was run, without the directory that abilock lies in."""
    import traceback
    from pathlib import Path

    package = Path(__file__).parent.parent
    place = ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(package):
            place = f" in {path.relative_to(package.parent)}, line {line}"
    return place
