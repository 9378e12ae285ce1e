"""The pins of a Dockerfile, where they are plain: ``pip install`` and ``uv pip install`` lines.

Variables count as for the commands: those of ``ENV`` and ``ARG``, and what a command sets itself.

Sources: the Dockerfile reference; pip's "Configuration"; uv's "Environment variables" and "Using uv
with PyTorch". Nothing is run, and no base image is looked into.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping

from resolver.dataclass import dataclass, field

_CONTINUED = re.compile(r"\\[ \t]*\n")
_COMMENT = re.compile(r"(?m)^[ \t]*#.*\n?")
_FROM = re.compile(r"(?i)(?:--\S+\s+)*(?P<image>\S+)(?:\s+AS\s+(?P<name>\S+))?")
_VARIABLE = re.compile(r"\$(?:\{(?P<braced>\w+)(?::?-(?P<default>[^}]*))?\}|(?P<bare>\w+))")
_INSTALLS = re.compile(r"(?:^|\s|/)(?:pip3?(?:\.\d+)?|python[\d.]*\s+-m\s+pip)\s+install\s")
_SPLIT = re.compile(r"\s*(?:&&|\|\||;(?=\s)|\||\n)\s*")
_FLAGS = re.compile(r"\A(?:--(?:mount|network|security)=\S+\s+)+")
_SETS = re.compile(r"\s*(?:export\s+)?(?P<name>[A-Za-z_]\w*)=(?P<value>\"[^\"]*\"|'[^']*'|\S*)")
_CONFIGURES = re.compile(
    r"(?:^|\s|/)pip3?\s+config(?:\s+--\w+)*\s+set\s+(?:\w+)\.(?P<key>(?:extra-)?index-url)\s+(?P<url>.+)"
)
_PYTHON = re.compile(r"(?:.*/)?python:(3\.\d+(?:\.\d+)?)")
# Options of pip and uv that take a value, and those that name an index.
_INDEXES = ("-i", "--index-url", "--extra-index-url", "--default-index", "--index")
_BACKEND = "--torch-backend"
# Which variables name the indexes of a command, and the address of PyTorch's for a backend of uv.
_PIP = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL")
_UV = ("UV_INDEX", "UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL")
_PYTORCH = "https://download.pytorch.org/whl/{backend}"
_FIXED = re.compile(r"cu\d+|cpu")
_FILES = ("-r", "--requirement", "--requirements")
_VALUED = frozenset(
    (*_INDEXES, *_FILES, "-c", "--constraint", "-f", "--find-links", "-t", "--target", "--prefix")
) | {"--python", "-p", "--root", "--cache-dir", "--timeout", "--retries", "--proxy", "-e"}
_VALUED |= {"--platform", "--python-version", "--only-binary", "--no-binary", "--override"}
_VALUED |= {"--index-strategy", "--torch-backend", "--trusted-host", "--editable", "--no-deps-for"}
_VALUED |= {
    "--progress-bar",
    "--src",
    "--upgrade-strategy",
    "--config-settings",
    "-C",
    "--link-mode",
}


@dataclass(slots=True)
class Install:
    """One command: the requirements that it names, its indexes, the files that it reads.

    ``open`` says what decides which builds of PyTorch's it takes, where that is not known here.
    """

    line: int
    requirements: list[str] = field(default_factory=list)
    indexes: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    open: str = ""


@dataclass(slots=True)
class _Stage:
    image: str
    name: str
    base: _Stage | None
    variables: dict[str, str]
    installs: list[Install] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Image:
    """What the last stage of a Dockerfile installs, and the image that it starts from."""

    base: str
    installs: tuple[Install, ...]

    @property
    def python(self) -> str | None:
        """The Python of an image ``python:3.12``; None for any other image."""
        match = _PYTHON.match(self.base)
        return None if match is None else match[1]


def parse_dockerfile(text: str) -> Image | None:
    """The last stage with those it builds on; None where there is no stage."""
    arguments: dict[str, str] = {}
    stages: list[_Stage] = []
    for number, word, rest in _instructions(text):
        stage = stages[-1] if stages else None
        variables = arguments if stage is None else stage.variables
        if word == "FROM" and (match := _FROM.match(rest)):
            image = _filled(match["image"], arguments)
            base = next((s for s in reversed(stages) if s.name == image.lower()), None)
            inherited = dict(base.variables) if base is not None else {}
            stages.append(_Stage(image, (match["name"] or "").lower(), base, inherited))
        elif word in ("ARG", "ENV"):
            for name, value in _assignments(rest):
                if value is not None:
                    variables[name] = _filled(value, variables)
                elif name in arguments:
                    variables[name] = arguments[name]
        elif word == "RUN" and stage is not None:
            stage.installs += _installs(number, _filled(rest, variables), variables)
    if not stages:
        return None
    chain = [stages[-1]]
    while (base := chain[-1].base) is not None:
        chain.append(base)
    installs = [install for stage in reversed(chain) for install in stage.installs]
    return Image(chain[-1].image, tuple(installs))


def _instructions(text: str) -> Iterator[tuple[int, str, str]]:
    """Each instruction with its first line; comments between continued lines fall away."""
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        start, parts = at, list[str]()
        while at < len(lines):
            line = lines[at]
            at += 1
            if line.lstrip().startswith("#") or (parts and not line.strip()):
                continue
            ends = not line.rstrip().endswith("\\")
            parts.append(line.rstrip().removesuffix("\\") if not ends else line)
            if ends:
                break
        whole = " ".join(parts).strip()
        word, _, rest = whole.partition(" ")
        if not rest:
            continue
        if marker := re.search(r"<<-?['\"]?(\w+)['\"]?", rest) if word.upper() == "RUN" else None:
            body = []
            while at < len(lines) and lines[at].strip() != marker[1]:
                body.append(lines[at])
                at += 1
            at += 1
            rest = "\n".join([rest.replace(marker[0], ""), *body])
            rest = _CONTINUED.sub(" ", _COMMENT.sub("", rest + "\n"))
        yield start + 1, word.upper(), rest.strip()


def _filled(text: str, variables: Mapping[str, str]) -> str:
    """With the variables that have a value; others stay, and what holds them is no plain pin."""

    def value(match: re.Match[str]) -> str:
        name = match["braced"] or match["bare"]
        return variables.get(name) or match["default"] or match[0]

    return _VARIABLE.sub(value, text)


def _assignments(text: str) -> Iterator[tuple[str, str | None]]:
    try:
        words = shlex.split(text)
    except ValueError:
        return
    if len(words) > 1 and "=" not in words[0]:  # ENV NAME VALUE
        yield words[0], " ".join(words[1:])
        return
    for word in words:
        name, equals, value = word.partition("=")
        yield name, value if equals else None


def _installs(number: int, command: str, variables: dict[str, str]) -> Iterator[Install]:
    """The installs of one RUN. What ``pip config set`` writes stays in ``variables``."""
    if command.startswith("["):
        try:
            command = shlex.join(map(str, json.loads(command)))
        except ValueError:
            return
    shell = dict(variables)
    for part in _SPLIT.split(_FLAGS.sub("", command)):
        told = dict(shell)
        while (match := _SETS.match(part)) is not None:
            told[match["name"]] = _filled(match["value"].strip("\"'"), told)
            part = part[match.end() :]
        if not part.strip():
            shell = told  # variables of the shell, for all that follows
            continue
        if (match := _CONFIGURES.search(part)) is not None:
            name = f"PIP_{match['key'].replace('-', '_').upper()}"
            variables[name] = shell[name] = match["url"].strip().strip("\"'")
            continue
        match = _INSTALLS.search(part)
        if match is None:
            continue
        try:
            words = shlex.split(part[match.end() :], comments=True)
        except ValueError:
            continue
        by_uv = re.search(r"(?:^|\s|/)uv\s", part[: match.end()]) is not None
        yield _install(number, words, told, by_uv=by_uv)


def _install(
    number: int, words: list[str], variables: Mapping[str, str], *, by_uv: bool
) -> Install:
    found = Install(number)
    backend = variables.get("UV_TORCH_BACKEND", "") if by_uv else ""
    replaced = False
    rest = iter(words)
    for word in rest:
        if word.startswith((">", "<", "2>", "&>")):
            break  # where its output goes
        name, equals, value = word.partition("=")
        if not word.startswith("-"):
            found.requirements.append(word)
            continue
        if name not in _VALUED:
            continue
        value = value if equals else next(rest, "")
        if name in _INDEXES:
            found.indexes.append(_address(value))
            replaced |= name in ("-i", "--index-url", "--default-index")
        elif name in _FILES:
            found.files.append(value)
        elif name == _BACKEND:
            backend = value
    for name in _UV if by_uv else _PIP:
        if not (replaced and name in ("PIP_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL")):
            found.indexes += map(_address, variables.get(name, "").split())
    unknown = [index for index in found.indexes if "$" in index]
    if _FIXED.fullmatch(backend):
        found.indexes.insert(0, _PYTORCH.format(backend=backend))
    elif backend:
        found.open = f"--torch-backend {backend}"
    elif unknown:
        found.open = f"the index {unknown[0]}"
    found.indexes = [index for index in found.indexes if index not in unknown]
    return found


def _address(value: str) -> str:
    """The address of an index, which uv may name: ``NAME=URL``."""
    name, equals, address = value.partition("=")
    return address if equals and "://" not in name and "://" in address else value
