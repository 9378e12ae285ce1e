"""Pages of sets: what is known to work or to fail, and what releases pin, measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.model.knowledge import KnownTuple
from resolver.model.measured_set import MeasuredSet
from resolver.model.plural import counted
from resolver.model.reason import Grade
from resolver.model.site import SetsPage, Site
from resolver.render.markup import Child, Markup, join, tag
from resolver.render.render_sets import archs_text, python_range
from resolver.render.site_layout import (
    badge,
    code,
    known_releases,
    mark,
    page,
    release_path,
    set_anchor,
    sets_path,
    table,
)


def sets_files(site: Site) -> Iterator[tuple[str, bytes]]:
    """The list of sets, and a page for each root of generated ones."""
    yield page(site, "sets.html", "Known sets", _index(site), wide=True)
    links = _Links(site)
    for one in site.sets:
        body = _root(one, links)
        yield page(site, sets_path(one.root), f"Sets of {one.root}", body, wide=True)


class _Links:
    """Packages of sets, as links where a release has a page."""

    def __init__(self, site: Site) -> None:
        self._known = known_releases(site)

    def chips(self, packages: Mapping[NormalizedName, Version]) -> Markup:
        """Every package as ``name==version``."""
        rows: list[Child] = []
        for name, version in sorted(packages.items()):
            words = code(f"{name}=={version}")
            public = str(version).partition("+")[0]
            for text in (str(version), *((public,) if name == "torch" else ())):
                if (name, text) in self._known:
                    words = tag("a", words, href=f"../{release_path(name, text)}")
                    break
            rows.append(tag("li", words))
        return tag("ul", rows, class_="chips")


def _index(site: Site) -> Markup:
    good = [known for known in site.tuples if known.verdict == "good"]
    bad = [known for known in site.tuples if known.verdict == "bad"]
    return join(
        tag("h1", "Known sets"),
        tag(
            "p",
            "Combinations that are known to work or to fail, each with its source. ",
            code("abilock knowledge show ID"),
            " prints one with its pins.",
            class_="lead",
        ),
        _generated(site.sets),
        tag("h2", f"Reported and declared: {len(good)}"),
        _tuples("Sets that work", good) if good else tag("p", "None."),
        tag("h2", f"Known to fail: {len(bad)}"),
        _tuples("Combinations that fail", bad) if bad else tag("p", "None."),
    )


def _generated(pages: tuple[SetsPage, ...]) -> Markup | None:
    if not pages:
        return None
    return join(
        tag("h2", "What releases pin, measured"),
        tag(
            "ul",
            [
                tag(
                    "li",
                    tag("a", f"Sets of {one.root}", href=sets_path(one.root)),
                    tag("small", _counts(one.sets)),
                )
                for one in pages
            ],
            class_="list",
        ),
    )


def _counts(sets: tuple[MeasuredSet, ...]) -> str:
    verdicts = Counter(one.verdict for one in sets)
    grades = Counter(one.grade for one in sets if one.verdict == "good")
    parts = [f"{grades[grade]} {grade}" for grade in Grade if grades[grade]]
    parts += [f"{verdicts[word]} {word}" for word in ("bad", "unknown") if verdicts[word]]
    return f"{counted(len(sets), 'set')}: {', '.join(parts) or 'none'}"


def _root(one: SetsPage, links: _Links) -> Markup:
    return join(
        tag("p", tag("a", "Known sets", href="../sets.html"), class_="up"),
        tag("h1", f"Sets of {one.root}"),
        tag(
            "p",
            "What each release pins exactly, measured as one set for a CUDA build, a machine and "
            "some Pythons. A set says what to try and vouches for nothing: what is solved is "
            "judged anew.",
            class_="lead",
        ),
        tag("p", f"{_counts(one.sets)}. Source: {one.source}.", class_="soft"),
        table(
            f"Generated sets of {one.root}",
            ("Release", "For", "Known", "GPUs", "Packages"),
            [
                (
                    join(str(known.release), tag("br"), tag("small", known.id)),
                    _where(known),
                    join(_verdict(known), tag("br"), tag("small", _beside(known))),
                    _gpus(known),
                    join(links.chips(known.packages), _findings(known)),
                )
                for known in reversed(one.sets)
            ],
            ids=[set_anchor(known.id) for known in reversed(one.sets)],
        ),
        _skipped(one),
    )


def _where(known: MeasuredSet) -> Markup:
    return join(
        f"CUDA {known.cuda}, {known.machine}",
        tag("br"),
        f"Python {python_range(known.pythons)}",
        tag("br"),
        tag("small", f"measured {known.date}"),
    )


def _verdict(known: MeasuredSet) -> Markup:
    if known.verdict == "good":
        return badge(known.grade)
    if known.verdict == "bad":
        return mark("no", "\N{MULTIPLICATION X}", "fails")
    return mark("unknown", "?", "unknown")


def _beside(known: MeasuredSet) -> str:
    grades = Counter(known.pairs.values())
    words = ", ".join(f"{grades[grade]} {grade}" for grade in Grade if grades[grade])
    unbuilt = f"; no wheel: {', '.join(known.sources)}" if known.sources else ""
    return f"beside torch: {words or 'none'}{unbuilt}"


def _gpus(known: MeasuredSet) -> Child:
    if known.archs is not None:
        return archs_text(known.archs)
    unread = f"not read: {', '.join(known.unread)}"
    return join(archs_text(known.bound), tag("br"), tag("small", f"as far as read; {unread}"))


def _findings(known: MeasuredSet) -> Markup | None:
    if not known.findings:
        return None
    return tag(
        "ul",
        [
            tag("li", tag("a", code(str(f.code)), href=f"../reason/{f.code}.html"), f" {f}")
            for f in known.findings
        ],
        class_="files",
    )


def _skipped(one: SetsPage) -> Markup | None:
    if not one.skipped:
        return None
    return tag(
        "details",
        tag("summary", f"{counted(len(one.skipped), 'release')} without a set"),
        tag(
            "ul",
            [
                tag("li", f"{row.release} on {row.machine or 'any machine'}: {row.why}")
                for row in one.skipped
            ],
        ),
    )


def _tuples(caption: str, sets: list[KnownTuple]) -> Markup:
    return table(
        caption,
        ("Set", "Packages", "For", "Known", "Date and source"),
        [
            (
                join(known.title, tag("br"), tag("small", known.id)),
                _chips(known),
                _bounds(known),
                badge(known.grade),
                join(known.date, tag("br"), tag("small", known.source)),
            )
            for known in sets
        ],
        ids=[set_anchor(known.id) for known in sets],
    )


def _chips(known: KnownTuple) -> Markup:
    return tag(
        "ul",
        [tag("li", code(f"{name}=={version}")) for name, version in known.packages.items()],
        class_="chips",
    )


def _bounds(known: KnownTuple) -> str:
    parts = (
        f"CUDA {', '.join(map(str, known.cuda))}" if known.cuda else None,
        ", ".join(map(str, known.archs)) or None,
        ", ".join(known.machines) or None,
        f"Python {_range(known)}" if known.python else None,
    )
    return "; ".join(part for part in parts if part) or "any machine"


def _range(known: KnownTuple) -> str:
    """The lower bound first."""
    return ",".join(sorted(map(str, known.python or ()), reverse=True))
