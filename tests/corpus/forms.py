"""Facts of real locks as files in the forms of their tools: what ``locks.json`` holds of each.

Names, versions, sha256 and markers are those of the lock; addresses are made up.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
Entry = Mapping[str, Any]
_PYTORCH = "https://download.pytorch.org/whl/"
_INDEX = "https://index.example/simple"


@dataclass(frozen=True, slots=True)
class Case:
    """One lock on one target: the verdict by hand, and why."""

    entry: Entry
    judged: Mapping[str, Any]

    @property
    def name(self) -> str:
        return " ".join(
            [
                f"{self.entry['repository']}/{self.entry['file']}",
                f"{self.judged['cuda']} {self.judged['arch']}",
                *self.judged.get("options", ()),
            ]
        )

    def arguments(self) -> list[str]:
        """What to ask, but for the file."""
        options = ["--cuda", self.judged["cuda"], "--arch", self.judged["arch"]]
        options += ["--python", self.entry["python"], "--machine", "x86_64", "--glibc", "2.35"]
        return [*options, *self.judged.get("options", ()), "--format", "json"]

    def told(self, document: Mapping[str, Any], severity: str) -> list[str]:
        """Whose findings of a gravity a document has, each once."""
        rows = document["findings"]
        return sorted({row["subject"] for row in rows if row["severity"] == severity})


def load_cases() -> list[Case]:
    entries = json.loads((HERE / "locks.json").read_text(encoding="utf-8"))
    return [Case(entry, judged) for entry in entries for judged in entry["judged"]]


def write_lock(entry: Entry) -> str:
    return _FORMS[entry["form"]](entry)


def _rows(entry: Entry) -> list[Entry]:
    """The packages of the first fork: forms but uv's are written without forks."""
    first = entry.get("forks", [""])[0]
    return [row for row in entry["packages"] if first in row.get("forks", [first])]


def _wheel(row: Entry) -> str:
    made_up = f"{row['name'].replace('-', '_')}-{row['version']}-py3-none-any.whl"
    return str(row.get("url", f"https://files.example/{made_up}"))


def _index(row: Entry) -> str:
    """The index that a row names: one of PyTorch's by its CUDA, another by a made-up address."""
    if "index" not in row:
        return _INDEX
    known = re.fullmatch(r"cu\d+|cpu", row["index"])
    return f"{_PYTORCH}{row['index']}" if known else f"https://{row['index']}.example/simple"


def _uv(entry: Entry) -> str:
    forks = [fork for fork in entry.get("forks", ()) if not fork.startswith("none of ")]
    named = dict(fork.split(" ", 1)[::-1] for fork in forks)  # its kind, by name
    text = f'version = 1\nrequires-python = "=={entry["python"]}.*"\n'
    if named:
        items = (f'{{ package = "app", {kind} = "{name}" }}' for name, kind in named.items())
        text += f"conflicts = [[{', '.join(items)}]]\n"
    without = " and ".join(f"extra != '{kind}-3-app-{name}'" for name, kind in named.items())
    tables: dict[str, list[str]] = {"": [], **{fork: [] for fork in forks}, "unnamed": []}
    for row in entry["packages"]:
        edge = f'name = "{row["name"]}", version = "{row["version"]}", source = {_source(row)}'
        if row.get("by_extra"):
            tables["unnamed"] += _edges(edge, row.get("forks", [""]), named, without)
        elif "forks" not in row:
            tables[""].append(f"{{ {edge} }}")
        for fork in () if row.get("by_extra") else row.get("forks", ()):
            if fork in tables:
                tables[fork].append(f"{{ {edge} }}")
            else:
                tables[""].append(f'{{ {edge}, marker = "{without}" }}')
    text += '[[package]]\nname = "app"\nversion = "0"\nsource = { virtual = "." }\n'
    text += f"dependencies = [{', '.join(tables[''])}]\n"
    for table, kind in (("optional-dependencies", "extra"), ("dev-dependencies", "group")):
        text += f"[package.{table}]\n"
        text += "".join(
            f"{name} = [{', '.join(tables[f'{kind} {name}'])}]\n"
            for name, of in named.items()
            if of == kind
        )
        if kind == "extra" and tables["unnamed"]:
            text += f"unnamed = [{', '.join(tables['unnamed'])}]\n"
    for row in entry["packages"]:
        files = ", ".join(
            f'{{ url = "{_wheel(row)}", hash = "sha256:{digest}" }}' for digest in row["sha256"]
        )
        text += f'[[package]]\nname = "{row["name"]}"\nversion = "{row["version"]}"\n'
        text += f"source = {_source(row)}\nwheels = [{files}]\n"
    return text


def _edges(
    edge: str, forks: Iterable[str], named: Mapping[str, str], without: str
) -> Iterable[str]:
    """What comes with an extra that is not named, in those forks in which it does."""
    for fork in forks:
        kind, _, name = fork.partition(" ")
        if not fork:
            yield f"{{ {edge} }}"
        elif named.get(name) == kind:
            yield f"{{ {edge}, marker = \"extra == '{kind}-3-app-{name}'\" }}"
        else:
            yield f'{{ {edge}, marker = "{without}" }}'


def _source(row: Entry) -> str:
    if row.get("local"):
        return '{ git = "https://git.example/mine" }'
    return f'{{ url = "{row["url"]}" }}' if "url" in row else f'{{ registry = "{_index(row)}" }}'


def _poetry(entry: Entry) -> str:
    text = "".join(
        f'[[package]]\nname = "{row["name"]}"\nversion = "{row["version"]}"\nfiles = ['
        + ", ".join(f'{{ file = "x.whl", hash = "sha256:{each}" }}' for each in row["sha256"])
        + "]\n"
        for row in _rows(entry)
    )
    return f'{text}[metadata]\nlock-version = "2.1"\npython-versions = ">=3.9"\n'


def _pdm(entry: Entry) -> str:
    head = '[metadata]\ngroups = ["default"]\nstrategy = []\nlock_version = "4.4"\n'
    return head + _poetry(entry).partition("[metadata]")[0].replace(
        "files = [", 'groups = ["default"]\nfiles = ['
    )


def _lines(rows: Iterable[Entry]) -> list[str]:
    return [
        (f"{row['name']} @ {row['url']}" if "url" in row else f"{row['name']}=={row['version']}")
        + "".join(f" --hash=sha256:{digest}" for digest in row["sha256"])
        for row in rows
        if not row.get("local")
    ]


def _indexes(rows: Iterable[Entry]) -> list[str]:
    return [*dict.fromkeys(f"--extra-index-url {_index(row)}" for row in rows if "index" in row)]


def _requirements(entry: Entry) -> str:
    rows = _rows(entry)
    return "\n".join([*_indexes(rows), *_lines(rows)]) + "\n"


def _dockerfile(entry: Entry) -> str:
    rows = _rows(entry)
    return f"FROM some:image\nRUN pip install {' '.join([*_lines(rows), *_indexes(rows)])}\n"


def _environment(entry: Entry) -> str:
    rows = _rows(entry)
    lines = [f"      - {line}" for line in [*_indexes(rows), *_lines(rows)]]
    return "\n".join(["dependencies:", f"  - python={entry['python']}", "  - pip:", *lines]) + "\n"


def _pixi(entry: Entry) -> str:
    text = "version: 6\nenvironments:\n  default:\n    packages:\n      linux-64:\n"
    for name in entry.get("conda", ()):
        text += f"      - conda: https://conda.example/linux-64/{name.replace(' ', '-')}-0.conda\n"
    rows = _rows(entry)
    text += "".join(f"      - pypi: {_wheel(row)}\n" for row in rows) + "packages:\n"
    for row in rows:
        text += f"- pypi: {_wheel(row)}\n  name: {row['name']}\n  version: {row['version']}\n"
        text += f"  sha256: {row['sha256'][0]}\n"
    return text


def _conda_lock(entry: Entry) -> str:
    text = "version: 1\npackage:\n"
    for name in entry.get("conda", ()):
        project, _, version = name.partition(" ")
        text += f"- {{name: {project}, version: '{version}', manager: conda, platform: linux-64}}\n"
    for row in _rows(entry):
        text += f"- {{name: {row['name']}, version: '{row['version']}', manager: pip, "
        text += f"platform: linux-64, hash: {{sha256: {row['sha256'][0]}}}}}\n"
    return text


_FORMS: Mapping[str, Callable[[Entry], str]] = {
    "uv.lock": _uv,
    "poetry.lock": _poetry,
    "pdm.lock": _pdm,
    "requirements": _requirements,
    "Dockerfile": _dockerfile,
    "environment.yml": _environment,
    "pixi.lock": _pixi,
    "conda-lock.yml": _conda_lock,
}
