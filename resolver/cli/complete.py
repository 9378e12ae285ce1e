"""``abilock __complete``: what a shell offers for the word at the cursor.

It runs at each press of a key, so it imports neither typer nor what reads the database: what
commands take is kept in the cache as a table, names and versions are read off the files
(``resolver.compat.known_names``).

A table names for each command (``knowledge list``; the empty name is ``abilock``) its commands and
options with their help, and what its options and arguments take: a kind, as ``_values`` knows them.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypedDict

from resolver import __version__
from resolver.compat import known_names as known

WORD = "__complete"
# Told to a shell: offer the names of files, or of directories.
FILES, DIRECTORIES = ":files", ":directories"
_PACKAGE = Path(__file__).resolve().parent.parent
_REQUIREMENT = re.compile(
    r"(?P<name>[A-Za-z0-9][\w.-]*)(?P<extra>\[[^\]]*\])?(?P<rest>.*)", re.DOTALL
)
_VERSION = re.compile(r"(?:.*[,=<>~!])?(?=[^,=<>~!]*$)", re.DOTALL)
_PYTHONS = ("3.14", "3.13", "3.12", "3.11", "3.10")


class Option(TypedDict):
    """An option: its help, and the kind of its value, None for a switch."""

    help: str
    kind: str | None


class Entry(TypedDict):
    """A command: of its arguments the last one may come again."""

    commands: dict[str, str]
    options: dict[str, Option]
    arguments: list[str]


Table = dict[str, Entry]


class Offer(NamedTuple):
    """One word that is offered, with what it is."""

    word: str
    help: str = ""


def main(arguments: Sequence[str]) -> None:
    """Print what is offered: for ``bash LINE WORD``, else for ``SHELL WORD...``."""
    shell, *words = arguments
    cut = 0
    if shell == "bash":
        line, current = words
        words = split(line)[1:]
        # Readline takes = and : for the beginning of a word, unless it is quoted.
        if current[:1] not in ("'", '"'):
            cut = max(words[-1].rfind(each) for each in "=:") + 1
    elif words and words[-1][:1] in ("'", '"'):
        words[-1] = words[-1][1:]  # a quote that is still open
    told = offers(words, table())
    rows = [f"{word[cut:]}\t{text}" if shell != "bash" else word[cut:] for word, text in told]
    sys.stdout.write("".join(f"{row}\n" for row in rows))
    sys.stdout.flush()


def split(line: str) -> list[str]:
    """The words of a line up to the cursor, without quotes; the last one is that at the cursor."""
    words, word, quote = [""], "", ""
    begun = False
    for char in line:
        if quote:
            if char == quote:
                quote = ""
            else:
                word += char
        elif char in "'\"":
            quote, begun = char, True
        elif char.isspace():
            if begun:
                words[-1] = word
                words.append("")
            word, begun = "", False
        else:
            word, begun = word + char.removeprefix("\\"), True
    words[-1] = word
    return words


def offers(words: Sequence[str], table: Table) -> list[Offer]:
    """What is offered for the last of ``words``, which are those after ``abilock``."""
    *before, current = words
    name, entry, arguments, taken = "", table[""], 0, None
    for word in before:
        if taken is not None:
            taken = None
        elif word.startswith("-") and word != "-":
            option = entry["options"].get(word)
            taken = option["kind"] if option is not None else None
        elif word in entry["commands"]:
            name = f"{name} {word}".strip()
            entry = table.get(name) or Entry(commands={}, options={}, arguments=[])
        else:
            arguments += 1
    if taken is not None:
        return _fitting(_values(taken, current), current)
    if current.startswith("--") and "=" in current:
        option_name, _, value = current.partition("=")
        option = entry["options"].get(option_name)
        if option is None or option["kind"] is None:
            return []
        offered = _fitting(_values(option["kind"], value), value)
        return [
            each if each.word.startswith(":") else Offer(f"{option_name}={each.word}", each.help)
            for each in offered
        ]
    if current.startswith("-"):
        found = [Offer(each, option["help"]) for each, option in entry["options"].items()]
        return _fitting(found, current)
    if entry["commands"]:
        if arguments:
            return []  # after a word that is no command
        return _fitting([Offer(each, text) for each, text in entry["commands"].items()], current)
    kinds = entry["arguments"]
    if not kinds:
        return []
    return _fitting(_values(kinds[min(arguments, len(kinds) - 1)], current), current)


def _fitting(found: Iterable[Offer], current: str) -> list[Offer]:
    """Those that begin with what was typed, in any case of letters, once each."""
    low = current.lower()
    return list(
        dict.fromkeys(
            each
            for each in found
            if each.word.lower().startswith(low) or each.word in (FILES, DIRECTORIES)
        )
    )


def _values(kind: str, current: str) -> Iterator[Offer]:
    """The words of a kind; several kinds are separated by ``+``."""
    for each in kind.split("+"):
        if each.startswith("one of "):
            yield from map(Offer, each.removeprefix("one of ").split(" "))
        elif each == "file":
            yield Offer(FILES)
        elif each == "directory":
            yield Offer(DIRECTORIES)
        elif each == "requirement":
            yield from _requirements(current)
        elif each == "project":
            yield from map(Offer, known.known_projects(roots()))
        elif each == "gpu":
            yield from (Offer(word, name) for word, name in known.known_gpus(roots()))
        elif each == "cuda":
            yield from map(Offer, known.known_cuda(roots()))
        elif each == "arch":
            head = current.rpartition(",")[0]
            begun = f"{head}," if head else ""
            yield from (Offer(f"{begun}{arch}") for arch in known.known_archs(roots()))
        elif each == "python":
            yield from map(Offer, _PYTHONS)
        elif each == "machine":
            yield from map(Offer, ("x86_64", "aarch64"))
        elif each == "channel":
            yield from map(Offer, ("default", *known.known_channels(roots())))
        elif each == "set":
            yield from map(Offer, known.known_sets(roots()))
        elif each == "fact":
            yield from map(Offer, (*known.known_sets(roots()), *known.known_cuda(roots())))
            yield from map(Offer, known.known_channels(roots()))
            yield from map(Offer, known.known_measured(roots()))


def _requirements(current: str) -> Iterator[Offer]:
    """Projects; once an operator follows, their versions."""
    match = _REQUIREMENT.fullmatch(current)
    rest = match["rest"].strip() if match is not None else ""
    if match is None or not rest:
        yield from map(Offer, known.known_projects(roots()))
        return
    if rest in ("=", "~", "!"):
        yield Offer(f"{current}=")
        return
    begun = _VERSION.match(current)
    project = re.sub(r"[-_.]+", "-", match["name"]).lower()
    for version in known.known_versions(roots(), project):
        yield Offer(f"{begun[0] if begun is not None else ''}{version}")


def roots() -> list[Path]:
    """The database, and the directories of facts that the user adds."""
    shipped = known.database()
    named = os.environ.get("ABILOCK_KNOWLEDGE")
    if named is None:
        home = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
        added = [Path(home, "abilock", "knowledge")]
    else:
        added = [Path(place) for place in named.split(os.pathsep) if place.strip()]
    return [*([shipped] if shipped is not None else ()), *filter(Path.is_dir, added)]


# the table of commands


def table() -> Table:
    """What every command takes; made once for this very code, then read from the cache."""
    place = _kept()
    if place is not None:
        try:
            found: Table = json.loads(place.read_bytes())
        except (OSError, ValueError):
            pass
        else:
            return found
    from resolver.cli.command_table import command_table

    made = command_table()
    if place is not None:
        from resolver.files import replace_file

        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            replace_file(place, json.dumps(made).encode(), mode=0o600, durable=False)
        except OSError:
            pass  # the next key waits again
    return made


def _kept() -> Path | None:
    """Where the table of this very code lies; None where nothing is to be kept."""
    if os.environ.get("ABILOCK_NO_CACHE", "") not in ("", "0", "false"):
        return None
    state = 0
    for directory in (_PACKAGE / "cli", _PACKAGE / "model"):
        with os.scandir(directory) as entries:
            state = max(state, *(each.stat().st_mtime_ns for each in entries))
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    cache = os.environ.get("ABILOCK_CACHE_DIR") or os.path.join(home, "abilock")
    return Path(cache, f"completion-{__version__}-{state:x}.json")
