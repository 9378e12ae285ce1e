"""Commands as people paste them, and the options that they repeat."""

from __future__ import annotations

import shlex
import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from resolver.model.command import Command, Repeated

words = st.lists(st.text(st.characters(exclude_characters="\0", codec="utf-8")), max_size=5)


@given(words)
def test_a_shell_splits_it_into_the_same_words(argv: list[str]) -> None:
    assert shlex.split(str(Command(tuple(argv)))) == argv


def test_a_real_shell_does() -> None:
    argv = ("it's", "a b", "$HOME", "torch>=2,<3", "x[y]", "*", "", "#", "~", "!", "a\nb")
    show = "import sys; print(sys.argv[1:])"
    line = str(Command.of(sys.executable, "-c", show, *argv))
    ended = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=True)
    assert ended.stdout == f"{list(argv)}\n"


def test_plain_words_stay_as_they_are() -> None:
    assert (
        str(Command.of("pip", "install", "torch==2.9.1+cu130")) == "pip install torch==2.9.1+cu130"
    )


def test_options_that_are_repeated() -> None:
    said = Repeated.of("--python 3.12", "--index 'a=b c'", "--index d=e", "--pre")
    assert said.argv == ("--python", "3.12", "--index", "a=b c", "--index", "d=e", "--pre")
    assert said.without("--index", "--pre").argv == ("--python", "3.12")
    assert said.only("--pre").argv == ("--pre",)
    assert said.having("--python", "3.11").argv[:3] == ("--python", "3.11", "--index")
    assert said.having("--strict").argv == (*said.argv, "--strict")
    assert said.having("--pre").argv == said.argv
