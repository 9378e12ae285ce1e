"""Files, read without waiting for ever, and replaced as a whole.

A path is whatever somebody put there: a pipe that nobody writes to, a device without an end, a file
of a terabyte. What is read here is a regular file within a bound, or an OSError that says why not.
A reader of a file that is replaced finds the old content or the new, never a part.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from io import BufferedReader
from pathlib import Path

# Of a file that people or tools write by hand: a lock, a table, a page, a list of requirements.
MOST = 64 << 20
_OPEN_PIPES = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")


class NotRegularError(OSError):
    """What was to be read is a directory, a pipe, a device or a socket."""


def open_descriptor(path: str | Path) -> int:
    """A descriptor of a regular file to read, which the caller closes. Raises OSError at once where
    it is a pipe, a device or a socket.

    What a shell hands over by name (``<(...)``, ``/dev/stdin``) is a pipe that somebody writes to,
    and is taken; so is the null device, by which settings say "no file".
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except ValueError as error:  # a NUL in it, or what the file system's encoding lacks
        raise OSError(errno.EINVAL, "not a file name", str(path)) from error
    try:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise NotRegularError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(status.st_mode) and not _is_handed(str(path), status):
            raise NotRegularError(errno.EINVAL, "not a regular file", str(path))
        os.set_blocking(descriptor, True)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def open_regular(path: str | Path) -> BufferedReader:
    """Open a regular file to read. Raises OSError as ``open_descriptor`` does."""
    return os.fdopen(open_descriptor(path), "rb")


def read_regular(path: str | Path, *, most: int = MOST) -> bytes:
    """The bytes of a regular file. Raises OSError, also where it holds more than ``most`` bytes."""
    with open_regular(path) as stream:
        # Room for what is there: room for the most that may be costs more than most files.
        size = min(os.fstat(stream.fileno()).st_size, most)
        data = stream.read(size + 1)
        if len(data) > size:  # a pipe, or a file that grew
            data += stream.read(most + 1 - len(data))
    if len(data) > most:
        raise OSError(errno.EFBIG, f"larger than {most >> 20} MiB", str(path))
    return data


def read_text(path: str | Path, *, most: int = MOST, encoding: str = "utf-8") -> str:
    """The text of a regular file, its lines ended by newlines. Raises OSError, UnicodeError."""
    text = read_regular(path, most=most).decode(encoding)
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def read_start(path: str | Path, length: int) -> str:
    """At most ``length`` bytes of a regular file as text, whatever they are. Raises OSError."""
    with open_regular(path) as stream:
        return stream.read(length).decode("utf-8", "replace")


def _is_handed(path: str, status: os.stat_result) -> bool:
    if stat.S_ISFIFO(status.st_mode):
        return path.startswith(_OPEN_PIPES)
    return stat.S_ISCHR(status.st_mode) and (
        status.st_rdev == os.stat(os.devnull).st_rdev or path == "/dev/stdin"
    )


def replace_file(
    path: Path, data: bytes, *, mode: int = 0o666, keep: int | None = None, durable: bool = True
) -> None:
    """Put ``data`` in place of ``path``. Raises OSError, and leaves what was there as it was.

    ``mode`` is that of a new file, less the process's umask; ``keep`` counts as it is. A durable
    file is on disk when this returns, and a crash at any moment leaves the old one or the new: its
    bytes are synced before they get the name, and the directory after it. Without that a crash of
    the machine may leave an empty file: that is for caches, whose entries carry checksums. Cost of
    durability: two syncs, some ms each.
    """
    descriptor, temporary = _create_beside(path, mode)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            if keep is not None:
                os.fchmod(stream.fileno(), keep)
            if durable:
                stream.flush()
                os.fsync(stream.fileno())
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    if durable:
        _sync_directory(path.parent)


def _create_beside(path: Path, mode: int) -> tuple[int, Path]:
    while True:
        temporary = path.parent / f".new-{secrets.token_hex(8)}"
        with contextlib.suppress(FileExistsError):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            return os.open(temporary, flags, mode), temporary


def _sync_directory(directory: Path) -> None:
    """Have the new name on disk too; file systems that cannot sync a directory go without."""
    with contextlib.suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
