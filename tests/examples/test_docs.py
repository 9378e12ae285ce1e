"""The documents against the code: what is there is documented, what is documented is there."""

from __future__ import annotations

import ast
import json
import re
import shlex
import subprocess
from collections.abc import Iterable, Iterator
from enum import Enum
from pathlib import Path

import jsonschema
import pytest

from resolver.cli.command_table import command_table
from resolver.model.reason import Code, Grade
from resolver.render import contract
from resolver.render.render_json import load_schema
from tests.examples.conftest import ROOT
from tests.support.commands import commands

CLI = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
REASONS = (ROOT / "docs" / "reasons.md").read_text(encoding="utf-8")
JSON = (ROOT / "docs" / "json.md").read_text(encoding="utf-8")
DOCUMENTS = sorted(
    path.relative_to(ROOT)
    for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md"))
)
# Options of uv and pip that the text speaks of.
FOREIGN = {"--require-hashes"}

# Options of all commands.
EVERYWHERE = {"--help", "-h", "--quiet", "-q"}


COMMANDS = dict(commands())


def anchor(heading: str) -> str:
    """A heading's anchor on GitHub."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def sections(text: str) -> dict[str, str]:
    """The text below each second-level heading, by anchor."""
    parts = re.split(r"(?m)^## (.+)$", text)
    return {anchor(head): body for head, body in zip(parts[1::2], parts[2::2], strict=True)}


def options(text: str) -> set[str]:
    return set(re.findall(r"`[^`\n]*?(?<![\w-])(--?[a-z][a-z0-9-]*)(?=[ `,=])", text)) | set(
        re.findall(r"(?<![\w-])(--[a-z][a-z0-9-]+)", " ".join(re.findall(r"`([^`\n]+)`", text)))
    )


def documented(command: str) -> set[str]:
    """The options that a command's section names, with those of the sections it links to."""
    return options(with_linked(sections(CLI), command))


def with_linked(parts: dict[str, str], command: str) -> str:
    own = parts[anchor(command)]
    linked = [parts[name] for name in re.findall(r"\]\(#([a-z-]+)\)", own) if name in parts]
    return "\n".join([own, *linked])


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_option_is_documented(command: str) -> None:
    names = {
        name
        for parameter in COMMANDS[command].params
        if parameter.param_type_name == "option"
        for name in parameter.opts
    } - EVERYWHERE
    assert names <= documented(command)


def test_what_every_command_takes_is_documented_once() -> None:
    assert options(CLI.partition("\n## ")[0]) >= EVERYWHERE


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_option_has_help(command: str) -> None:
    without = [p.name for p in COMMANDS[command].params if not getattr(p, "help", None)]
    assert COMMANDS[command].help
    assert without in ([], ["help"])


def test_every_choice_and_default_is_documented() -> None:
    parts, missing = sections(CLI), []
    for name, entry in command_table().items():
        if not entry["commands"]:
            text = with_linked(parts, f"abilock {name}")
            told = set(" ".join(re.findall(r"`([^`\n]+)`", text)).split())
            kinds = [option["kind"] for option in entry["options"].values()]
            for kind in (*kinds, *entry["arguments"]):
                if kind is not None and kind.startswith("one of "):
                    words = kind.removeprefix("one of ").split()
                    missing += [(name, each) for each in words if each not in told]
    for name, command in COMMANDS.items():
        text = with_linked(parts, name)
        missing += [
            (name, f"{parameter.name}={parameter.default}")
            for parameter in command.params
            if isinstance(parameter.default, int | str | Path | Enum)
            and not isinstance(parameter.default, bool)
            and parameter.name != "quiet"
            and str(parameter.default) not in text
        ]
    assert missing == []


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_has_an_example_that_it_takes(command: str) -> None:
    epilog = COMMANDS[command].epilog or ""
    assert epilog.startswith(f"\b\nExample: {command}"), "give its Part an example"
    line = epilog.partition("Example: ")[2].partition(" >")[0]
    assert len(f"  Example: {line}") <= 80
    words = shlex.split(line)[len(command.split()) :]
    assert COMMANDS[command].make_context(command, words).args == []


def test_every_documented_option_exists() -> None:
    known = {name for c in COMMANDS.values() for p in c.params for name in p.opts}
    known |= {"--help", "-h", "--version", "-V", "-qq"}
    assert options(CLI) - known - FOREIGN == set()


def variables(module: ast.Module) -> Iterator[str]:
    """The environment variables that a module reads: by name, by a constant, or one of a row."""
    rows: dict[str, list[str]] = {}
    for node in ast.walk(module):
        match node:
            case (
                ast.For(target=ast.Name(id=name), iter=ast.Tuple(elts=elements))
                | ast.comprehension(target=ast.Name(id=name), iter=ast.Tuple(elts=elements))
            ):
                rows.setdefault(name, []).extend(texts(elements))
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                rows.setdefault(name, []).extend(
                    texts(value.elts if isinstance(value, ast.Tuple) else [value])
                )
    for node in ast.walk(module):
        match node:
            case (
                ast.Call(func=ast.Attribute(value=where, attr="get"), args=[key, *_])
                | ast.Subscript(value=where, slice=key)
                | ast.Compare(left=key, ops=[ast.In()], comparators=[where])
            ) if ast.unparse(where).endswith("environ"):
                yield from texts([key])
                yield from rows.get(ast.unparse(key), ())


def texts(nodes: Iterable[ast.expr]) -> list[str]:
    return [
        node.value
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]


def test_every_variable_is_documented() -> None:
    modules = [p.read_text(encoding="utf-8") for p in sorted(ROOT.glob("resolver/**/*.py"))]
    read = {name for text in modules for name in variables(ast.parse(text)) if name.isupper()}
    read |= set(re.findall(r'"(ABILOCK_[A-Z_]+)"', "\n".join(modules)))
    assert {"CUDA_HOME", "TERM", "NO_PROXY", "UV_INDEX", "ABILOCK_TRACEBACK", "CI"} <= read
    assert read - set(re.findall(r"`(\w+)`", CLI)) == set()


def test_every_builtin_channel_is_documented() -> None:
    text = (ROOT / "knowledge" / "channels.toml").read_text(encoding="utf-8")
    names = set(re.findall(r'(?m)^id = "(.+)"', text))
    assert names <= set(re.findall(r"`([a-z-]+)`", sections(CLI)["channels"]))


def test_every_reason_is_documented_once() -> None:
    headings = re.findall(r"(?m)^### `(.+)`", REASONS)
    assert sorted(headings) == sorted(str(code) for code in Code)


@pytest.mark.parametrize("code", sorted(map(str, Code)))
def test_every_reason_has_an_example_and_a_remedy(code: str) -> None:
    body = REASONS.partition(f"### `{code}`")[2].partition("\n##")[0]
    assert "```" in body
    assert "**Do:**" in body


def test_every_grade_is_explained() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert {str(grade) for grade in Grade} <= set(re.findall(r"(?m)^\| `(\w+)` \|", text))


EXAMPLES = [
    pytest.param(name, body, id=f"{name}-{number}")
    for number, (name, body) in enumerate(re.findall(r"(?ms)^```json (\S+)\n(.+?)^```$", JSON))
]


@pytest.mark.parametrize(("name", "body"), EXAMPLES)
def test_json_examples_are_valid(name: str, body: str) -> None:
    jsonschema.Draft202012Validator(load_schema(name)).validate(json.loads(body))


def test_every_document_of_a_command_has_an_example() -> None:
    shown = {str(example.values[0]) for example in EXAMPLES}
    flags = {name.removeprefix("abilock ").replace(" ", "-") for name in COMMANDS}
    assert shown == flags & set(contract.MODELS)


@pytest.mark.parametrize("document", DOCUMENTS, ids=str)
def test_links_lead_somewhere(document: Path) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in link:
            continue
        file, _, fragment = link.partition("#")
        path = (ROOT / document).parent / file if file else ROOT / document
        assert path.exists(), f"{document}: {link}"
        if fragment:
            headings = re.findall(r"(?m)^#+ (.+)$", path.read_text(encoding="utf-8"))
            assert fragment in map(anchor, headings), f"{document}: {link}"


def test_no_address_of_a_package_registry_is_written() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    registries = [".".join(parts) for parts in (("pypi", "org"), ("pythonhosted", "org"))]
    registries += [".".join(parts) for parts in (("registry", "npmjs", "org"),)]
    found = [
        f"{name}: {address}"
        for name in filter(None, listed.stdout.split("\0"))
        if (path := ROOT / name).is_file()
        for address in registries
        if address.encode() in path.read_bytes()
    ]
    assert found == []
