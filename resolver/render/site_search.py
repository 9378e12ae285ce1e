"""The search: a page, and an index that a script reads; no server is asked."""

from __future__ import annotations

from collections.abc import Iterator

from resolver.model.site import Site
from resolver.render.markup import Markup, join, tag
from resolver.render.site_layout import page, reason_path, release_path, set_anchor, sets_path
from resolver.render.site_picker import script

# Releases that one symbol or library is told of.
_MOST = 40


def search_files(site: Site) -> Iterator[tuple[str, bytes]]:
    """The page and the index."""
    yield page(site, "search.html", "Search", _body(), scripts=("search.js",))
    yield "data/search.js", script("search", _index(site))


def _body() -> Markup:
    return join(
        tag("h1", "Search"),
        tag(
            "form",
            tag("label", "Releases, reasons, GPUs, libraries and symbols", for_="query"),
            tag(
                "input", id="query", name="q", type="search", autocomplete="off", spellcheck="false"
            ),
            action="search.html",
            role="search",
            aria_label="Search this site",
        ),
        tag("p", id="count", role="status", aria_live="polite", class_="soft"),
        tag("ul", id="results", class_="list"),
        tag("noscript", tag("p", "The search needs JavaScript; the lists above do not.")),
    )


def _index(site: Site) -> dict[str, object]:
    """Pages as ``[kind, words, address]``; symbols and libraries with the numbers of releases."""
    pages: list[list[str]] = []
    numbers: dict[tuple[str, str], int] = {}
    for torch in site.torches:
        numbers["torch", torch.version] = len(pages)
        pages.append(["release", f"torch {torch.version}", release_path("torch", torch.version)])
    for release in site.releases:
        numbers[release.project, release.version] = len(pages)
        words = f"{release.project} {release.version}"
        pages.append(["release", words, release_path(release.project, release.version)])
    pages += [["reason", f"{r.code} ({r.group})", reason_path(r.code)] for r in site.reasons]
    for gpu in site.gpus:
        words = f"{', '.join(gpu.names)} ({gpu.arch}, {gpu.arch.capability})"
        pages.append(["gpu", words, f"index.html#gpu={gpu.id}"])
    pages += [
        ["set", f"{known.title} ({known.id})", f"sets.html#{set_anchor(known.id)}"]
        for known in site.tuples
    ]
    pages += [
        ["set", f"{known.release} ({known.id})", f"{sets_path(one.root)}#{set_anchor(known.id)}"]
        for one in site.sets
        for known in reversed(one.sets)
    ]
    symbols: dict[tuple[str, str], set[int]] = {}
    libraries: dict[str, set[int]] = {}
    for release in site.releases:
        number = numbers[release.project, release.version]
        for reading in release.readings:
            for soname in reading.sonames:
                libraries.setdefault(soname, set()).add(number)
            for lacking in reading.lacking:
                for symbol in lacking.symbols:
                    symbols.setdefault((symbol.name, symbol.mangled), set()).add(number)
    return {
        "pages": pages,
        "libraries": [
            [name, ", ".join(site.libraries.get(name, ())), sorted(found)[:_MOST], len(found)]
            for name, found in sorted(libraries.items())
        ],
        "symbols": [
            [name, mangled, sorted(found)[:_MOST], len(found)]
            for (name, mangled), found in sorted(symbols.items())
        ],
    }
