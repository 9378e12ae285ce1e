"""The picker: its page, and the answers as scripts, which a page from a file can load."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from resolver.compat.gpu_name import normalize_gpu_name
from resolver.model.site import Choice, Picker, Site
from resolver.render.markup import Child, Markup, join, plain, tag
from resolver.render.site_layout import known_releases, page, release_path, set_anchor, sets_path
from resolver.render.site_lists import newest_first

# GPUs that are one click away; the others are typed.
_COMMON = ("rtx-4090", "rtx-5090", "a100", "l40s", "h100", "b200", "gb10")
# What is picked at first, as far as it can be.
_FIRST = {"gpu": "h100", "cuda": "13.0", "python": "3.12", "machine": "x86_64"}


def picker_files(site: Site) -> Iterator[tuple[str, bytes]]:
    """The first page, what it picks from, and a script of answers for each choice."""
    picker = site.picker
    yield page(site, "index.html", "Get a set that loads", _body(site), scripts=("picker.js",))
    yield "data/axes.js", script("axes", _axes(site))
    known = known_releases(site)
    places = _set_places(site)

    def page_of(name: str, version: str) -> str | None:
        for one in (version, version.partition("+")[0]) if name == "torch" else (version,):
            if (name, one) in known:
                return release_path(name, one)
        return None

    for choice in picker.choices:
        data = _Packed(picker, choice, page_of, places).data()
        yield f"data/{choice.id}.js", script(choice.id, data)


def script(name: str, value: object) -> bytes:
    """A script that hands a value to the site's own, which asked for it by name."""
    text = json.dumps(_clean(value), ensure_ascii=True, separators=(",", ":"))
    return f"abilock.take({json.dumps(name)},{text});\n".encode()


def _clean(value: Any) -> Any:
    """The same without what a page cannot hold."""
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, Mapping):
        return {_clean(key): _clean(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(one) for one in value]
    return value


def _axes(site: Site) -> dict[str, Any]:
    picker = site.picker
    return {
        "choices": [
            {"id": c.id, "asks": " ".join(c.requirements), "title": _title(c)}
            for c in picker.choices
        ],
        "places": [f"{place.machine} {place.arch}" for place in picker.places],
        "cudas": list(map(str, picker.cudas)),
        "pythons": list(picker.pythons),
        "glibc": picker.glibc,
        "first": _FIRST,
        "gpus": [
            {
                "id": gpu.id,
                "name": gpu.names[0],
                "arch": str(gpu.arch),
                "keys": list(dict.fromkeys(map(normalize_gpu_name, gpu.names))),
            }
            for gpu in site.gpus
        ],
    }


def _set_places(site: Site) -> dict[str, str]:
    """Where each set is told of."""
    found = {known.id: f"sets.html#{set_anchor(known.id)}" for known in site.tuples}
    for one in site.sets:
        path = sets_path(one.root)
        found |= {known.id: f"{path}#{set_anchor(known.id)}" for known in one.sets}
    return found


class _Packed:
    """The answers of one choice; what they have in common is held once."""

    def __init__(
        self,
        picker: Picker,
        choice: Choice,
        page_of: Callable[[str, str], str | None],
        set_places: Mapping[str, str],
    ) -> None:
        self._picker = picker
        self._cells = picker.cells[choice.id]
        self._page_of = page_of
        self._set_places = set_places
        self._tables: dict[str, dict[str, int]] = {}
        self._values: dict[str, list[Any]] = {
            "packages": [],
            "reasons": [],
            "pairs": [],
            "sets": [],
        }

    def data(self) -> dict[str, Any]:
        """What the script of the page reads."""
        numbers = sorted(set(self._cells.values()))
        place = {number: at for at, number in enumerate(numbers)}
        answers = [self._answer(self._picker.answers[number]) for number in numbers]
        return {
            "cells": {cell: place[number] for cell, number in self._cells.items()},
            "answers": answers,
            **self._values,
        }

    def _answer(self, answer: Mapping[str, Any]) -> dict[str, Any]:
        rows = [
            self._number("packages", [*package, self._page_of(package[0], package[1])])
            for package in answer["packages"]
        ]
        return {
            **answer,
            "set": self._set_places.get(answer["tuple"]),
            "sets": [[*row, self._set_places.get(row[0])] for row in answer["sets"]],
            "packages": self._number("sets", rows),
            "pairs": [self._number("pairs", one) for one in answer["pairs"]],
            "reasons": [self._number("reasons", one) for one in answer["reasons"]],
            "against": [self._number("reasons", one) for one in answer["against"]],
        }

    def _number(self, name: str, value: object) -> int:
        text = json.dumps(value, sort_keys=True)
        table = self._tables.setdefault(name, {})
        if text not in table:
            table[text] = len(table)
            self._values[name].append(value)
        return table[text]


def _title(choice: Choice) -> str:
    return " + ".join(choice.requirements)


def _body(site: Site) -> Markup:
    picker = site.picker
    machines = list(dict.fromkeys(place.machine for place in picker.places))
    return join(
        tag("h1", "Get a set that loads"),
        tag(
            "p",
            "Pick your GPU and what to install. The answer is what ",
            tag("code", "abilock resolve --offline"),
            " says: every version pinned, and how it is known that they load together.",
            class_="lead",
        ),
        tag(
            "noscript",
            tag(
                "p",
                "The picker needs JavaScript. Without it ask on the command line: ",
                tag("code", "abilock resolve torch sgl-kernel --cuda 13.0 --gpu H100"),
                class_="card",
            ),
        ),
        tag(
            "div",
            tag(
                "form",
                _gpu(site),
                _radios("Install", "install", [(c.id, _title(c)) for c in picker.choices], "cards"),
                _radios("CUDA", "cuda", [(str(c), str(c)) for c in picker.cudas]),
                _radios("Python", "python", [(p, p) for p in picker.pythons]),
                _radios("Machine", "machine", [(m, m) for m in machines]),
                id="pick",
                aria_label="What you have and what you want",
                hidden=True,
            ),
            tag(
                "section",
                tag("p", id="said", class_="hidden", role="status", aria_live="polite"),
                tag("div", id="answer"),
                aria_label="Answer",
                id="result",
                tabindex="-1",
                hidden=True,
            ),
            class_="picker",
        ),
        tag("button", type="button", id="jump", class_="jump", hidden=True),
    )


def _gpu(site: Site) -> Markup:
    names = {gpu.id: gpu.names for gpu in site.gpus}
    return tag(
        "fieldset",
        tag("legend", "GPU"),
        tag("label", "Name or architecture", for_="gpu"),
        tag(
            "input",
            id="gpu",
            name="gpu",
            list="gpus",
            autocomplete="off",
            spellcheck="false",
            placeholder="RTX 5090, H100, sm_90",
            aria_describedby="gpu-said",
        ),
        tag(
            "datalist",
            [tag("option", value=gpu.names[0]) for gpu in newest_first(site.gpus)],
            id="gpus",
        ),
        tag("p", id="gpu-said", class_="soft"),
        tag(
            "div",
            [
                tag("button", _short(names[id_]), type="button", class_="chip", data_gpu=id_)
                for id_ in _COMMON
                if id_ in names
            ],
            class_="chips",
            role="group",
            aria_label="Common GPUs",
        ),
    )


def _short(names: Sequence[str]) -> str:
    return min(names[:2], key=len)


def _radios(
    legend: str, name: str, values: Sequence[tuple[str, str]], kind: str = "segments"
) -> Markup:
    rows: list[Child] = [
        tag(
            "span",
            tag("input", type="radio", name=name, value=value, id=f"{name}-{value}"),
            tag("label", words, for_=f"{name}-{value}"),
        )
        for value, words in values
    ]
    return tag("fieldset", tag("legend", legend), tag("div", rows, class_=kind))
