"""Pages of reasons: what each code means, examples from this very site, and the cure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from typing import Any

from resolver.model.knowledge import KnownTuple
from resolver.model.site import Picker, ReasonPage, Site
from resolver.render.markup import Child, Markup, join, tag
from resolver.render.site_layout import badge, page, reason_path
from resolver.render.site_markdown import inline, markdown

_MOST_PICKS = 6
_MOST_REPORTS = 12


def reason_files(site: Site) -> Iterator[tuple[str, bytes]]:
    """The list of reasons, and a page for each code."""
    yield page(site, "reasons.html", "Reasons", _index(site))
    picks = _picks(site.picker)
    codes = {reason.code for reason in site.reasons}
    for reason in site.reasons:
        reports = [t for t in site.tuples if t.reason is not None and t.reason.code == reason.code]
        body = _reason(reason, reports, picks.get(reason.code, []), _links(codes, ""))
        yield page(site, reason_path(reason.code), reason.code, body)


def _links(codes: set[str], root: str) -> Callable[[str], str | None]:
    """Addresses of links in the documents: other reasons have pages here, the rest is words."""

    def link(address: str) -> str | None:
        code = address.partition("#")[2]
        return f"{root}{reason_path(code).rpartition('/')[2]}" if code in codes else None

    return link


def _index(site: Site) -> Markup:
    link = _links({reason.code for reason in site.reasons}, "reason/")
    return join(
        tag("h1", "Reasons"),
        tag(
            "p",
            "Every rejection and every warning is one of these. Codes are stable: scripts may "
            "rely on them.",
            class_="lead",
        ),
        [
            tag(
                "section",
                tag("h2", group),
                tag(
                    "ul",
                    [
                        tag(
                            "li",
                            tag("a", tag("code", reason.code), href=reason_path(reason.code)),
                            tag("small", inline(_first(reason.text), link)),
                        )
                        for reason in reasons
                    ],
                    class_="list",
                ),
            )
            for group, reasons in groupby(site.reasons, key=lambda reason: reason.group)
        ],
    )


def _first(text: str) -> str:
    """The first sentence."""
    words = " ".join(text.split("\n\n")[0].split())
    head, stop, _ = words.partition(". ")
    return head + stop.strip()


def _reason(
    reason: ReasonPage,
    reports: list[KnownTuple],
    picks: list[tuple[str, str, Mapping[str, Any]]],
    link: Callable[[str], str | None],
) -> Markup:
    return join(
        tag("p", tag("a", "Reasons", href="../reasons.html"), class_="up"),
        tag("h1", tag("code", reason.code)),
        tag("p", reason.group, class_="soft"),
        tag("p", "Reserved: this version gives none by itself.") if reason.reserved else None,
        tag("div", markdown(reason.text, link), class_="prose"),
        _here(picks),
        _reports(reports),
    )


def _here(picks: list[tuple[str, str, Mapping[str, Any]]]) -> Markup | None:
    if not picks:
        return None
    return join(
        tag("h2", "In this site's answers"),
        [
            tag(
                "article",
                tag("h3", tag("a", words, href=f"../index.html#{address}")),
                reason_block(one),
                class_="card",
            )
            for words, address, one in picks
        ],
    )


def _reports(reports: list[KnownTuple]) -> Markup | None:
    if not reports:
        return None
    rest = len(reports) - _MOST_REPORTS
    return join(
        tag("h2", "Known cases"),
        tag(
            "ul",
            [
                tag(
                    "li",
                    known.title,
                    " ",
                    badge(known.grade),
                    tag("small", f" {known.date}, {known.source}"),
                    _remedy(known),
                )
                for known in reports[:_MOST_REPORTS]
            ],
            tag("li", f"and {rest} more in the list of sets") if rest > 0 else None,
            class_="list",
        ),
    )


def _remedy(known: KnownTuple) -> Child:
    remedy = known.reason.remedy if known.reason is not None else None
    return tag("p", remedy) if remedy else None


def reason_block(one: Mapping[str, Any]) -> Markup:
    """A reason of a JSON document."""
    rows = [
        ("needs", one["needs"]),
        ("found", one["found"]),
        ("in", one["member"]),
        ("works with", one["works_with"]),
        ("known by", one["evidence"]),
        ("fix", one["remedy"]),
    ]
    head = one["subject"] + (f" with {one['object']}" if one["object"] else "")
    return join(
        tag("p", tag("strong", head), " ", badge(one["grade"])),
        tag(
            "dl",
            [(tag("dt", label), tag("dd", text)) for label, text in rows if text],
            class_="facts",
        ),
    )


def _picks(picker: Picker) -> dict[str, list[tuple[str, str, Mapping[str, Any]]]]:
    """By code some picks whose answer gives it: words, the address of the pick, the reason."""
    first: dict[tuple[str, str], tuple[str, str, Mapping[str, Any]]] = {}
    for choice in picker.choices:
        for cell, number in picker.cells[choice.id].items():
            answer = picker.answers[number]
            for one in (*answer["against"], *answer["reasons"]):
                key = (one["code"], one["subject"])
                if key not in first:
                    machine, arch, cuda, python = cell.split(" ")
                    words = f"{' '.join(choice.requirements)} on {arch}, CUDA {cuda}"
                    address = "&".join(
                        (
                            f"install={choice.id}",
                            f"gpu={arch}",
                            f"cuda={cuda}",
                            f"python={python}",
                            f"machine={machine}",
                        )
                    )
                    first[key] = (words, address, one)
    found: dict[str, list[tuple[str, str, Mapping[str, Any]]]] = {}
    for (code, _), example in sorted(first.items()):
        if len(row := found.setdefault(code, [])) < _MOST_PICKS:
            row.append(example)
    return found
