"""A lock is replaced as a whole, or stays as it was."""

from __future__ import annotations

import os
import random
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from resolver.lockfile.pylock import write_atomically

OLD = 'lock-version = "1.0"\n' + "old = 1\n" * 2000 + "end = true\n"
NEW = 'lock-version = "1.0"\n' + "new = 2\n" * 3000 + "end = true\n"
# For each path: a child that writes one and the other for ever, until it is killed.
WRITER = """
import os, sys
from pathlib import Path
from resolver.lockfile.pylock import write_atomically
old, new = (Path(name).read_text() for name in sys.argv[1:])
for line in sys.stdin:
    path = Path(line.rstrip())
    write_atomically(path, old)
    child = os.fork()
    if child == 0:
        while True:
            write_atomically(path, new)
            write_atomically(path, old)
    print(child, flush=True)
    print(os.WTERMSIG(os.waitpid(child, 0)[1]), flush=True)
"""


def test_killed_at_any_moment_the_lock_is_whole(tmp_path: Path) -> None:
    moments = random.Random(751)
    texts = {"old": OLD, "new": NEW}
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, *(str(tmp_path / name) for name in texts)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert writer.stdin is not None
    assert writer.stdout is not None
    seen = set()
    with writer, writer.stdin as paths, writer.stdout as answers:
        for number in range(50):
            path = tmp_path / str(number) / "pylock.toml"
            path.parent.mkdir()
            print(path, file=paths, flush=True)
            child = int(answers.readline())
            time.sleep(moments.uniform(0, 0.02))
            os.kill(child, signal.SIGKILL)
            assert int(answers.readline()) == signal.SIGKILL
            seen.add(path.read_text(encoding="utf-8"))
    assert seen == {OLD, NEW}


def test_nothing_is_left_beside_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "pylock.toml"
    write_atomically(path, OLD)
    write_atomically(path, NEW)
    assert [entry.name for entry in tmp_path.iterdir()] == ["pylock.toml"]
    assert path.read_text(encoding="utf-8") == NEW


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_a_write_that_fails_leaves_the_old_lock_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    path = tmp_path / "pylock.toml"
    write_atomically(path, OLD)

    def fail(descriptor: int) -> None:
        del descriptor
        raise error

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(error):
        write_atomically(path, NEW)
    assert [entry.name for entry in tmp_path.iterdir()] == ["pylock.toml"]
    assert path.read_text(encoding="utf-8") == OLD


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644])
def test_the_mode_of_the_old_file_is_kept(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "pylock.toml"
    path.write_text(OLD, encoding="utf-8")
    path.chmod(mode)
    write_atomically(path, NEW)
    assert path.stat().st_mode & 0o777 == mode


def test_a_new_file_honours_the_umask(tmp_path: Path) -> None:
    mask = os.umask(0o027)
    try:
        write_atomically(tmp_path / "pylock.toml", NEW)
    finally:
        os.umask(mask)
    assert (tmp_path / "pylock.toml").stat().st_mode & 0o777 == 0o640


def test_newlines_are_the_same_everywhere(tmp_path: Path) -> None:
    write_atomically(tmp_path / "pylock.toml", "a\nb\n")
    assert (tmp_path / "pylock.toml").read_bytes() == b"a\nb\n"


def test_a_link_stays_and_its_target_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    target, link = tmp_path / "shared" / "real.toml", tmp_path / "pylock.toml"
    target.write_text(OLD, encoding="utf-8")
    link.symlink_to(Path("shared", "real.toml"))
    write_atomically(link, NEW)
    assert link.readlink() == Path("shared", "real.toml")
    assert target.read_text(encoding="utf-8") == NEW
    assert [entry.name for entry in target.parent.iterdir()] == ["real.toml"]


def test_a_link_to_nothing_gets_its_target(tmp_path: Path) -> None:
    link = tmp_path / "pylock.toml"
    link.symlink_to("real.toml")
    write_atomically(link, NEW)
    assert link.is_symlink()
    assert (tmp_path / "real.toml").read_text(encoding="utf-8") == NEW


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pylock.toml"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_atomically(pipe, "new = 2\n")
        assert os.read(reader, 100) == b"new = 2\n"
    finally:
        os.close(reader)
    assert pipe.is_fifo()


def test_a_full_device_stays_a_device(tmp_path: Path) -> None:
    device = tmp_path / "full"
    try:
        os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 7))
    except PermissionError:
        pytest.skip("making device nodes is not permitted here")
    with pytest.raises(OSError, match="No space left on device"):
        write_atomically(device, NEW)
    assert device.is_char_device()
