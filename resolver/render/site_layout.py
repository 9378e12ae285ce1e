"""The frame of every page of the site, and the small pieces that pages share."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from importlib import resources

from packaging.utils import NormalizedName

from resolver.model.reason import Grade
from resolver.model.site import Site
from resolver.render.markup import Child, Markup, tag

# Nothing is loaded but the site's own files; from a file: address "self" is no address.
_POLICY = (
    "default-src 'none'; script-src 'self' file:; style-src 'self' file:; img-src data:; "
    "base-uri 'none'; form-action 'self' file:"
)
_ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E"
    "%3Crect width='16' height='16' rx='4' fill='%230b6a75'/%3E"
    "%3Cpath d='M4 8.5l2.7 2.7L12 5.5' stroke='%23fff' stroke-width='2' fill='none'/%3E%3C/svg%3E"
)
_NAVIGATION = (
    ("index.html", "Get a set"),
    ("matrices.html", "Matrices"),
    ("releases.html", "Releases"),
    ("sets.html", "Known sets"),
    ("gpus.html", "GPUs"),
    ("reasons.html", "Reasons"),
    ("about.html", "About"),
)
_PARENTS = {
    "release": "releases.html",
    "matrix": "matrices.html",
    "sets": "sets.html",
    "reason": "reasons.html",
}
SIGNS = {
    Grade.RAN: "\N{BLACK STAR}",
    Grade.MEASURED: "\N{BLACK CIRCLE}",
    Grade.REPORTED: "\N{BLACK DIAMOND}",
    Grade.DECLARED: "\N{BLACK UP-POINTING TRIANGLE}",
    Grade.INFERRED: "\N{CIRCLE WITH LEFT HALF BLACK}",
    Grade.ASSUMED: "\N{WHITE CIRCLE}",
}
_DIGEST = 12


def asset(name: str) -> bytes:
    """A file of the site that is the same on every site."""
    return resources.files("resolver.render").joinpath(f"site_assets/{name}").read_bytes()


def page(
    site: Site,
    path: str,
    title: str,
    *body: Child,
    scripts: Sequence[str] = (),
    wide: bool = False,
) -> tuple[str, bytes]:
    """A whole page at ``path``; ``scripts`` are files of the site, loaded after the page."""
    root = "../" * path.count("/")
    here = _PARENTS.get(path.partition("/")[0], path)
    links = [
        tag(
            "li",
            tag("a", name, href=root + file, aria_current="page" if file == here else None),
        )
        for file, name in _NAVIGATION
    ]
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", title if title == "abilock" else f"{title} \N{MIDDLE DOT} abilock"),
        tag("link", rel="icon", href=_ICON),
        tag("link", rel="stylesheet", href=f"{root}site.css"),
        tag("script", src=f"{root}theme.js"),
        [tag("script", src=root + script, defer=True) for script in ("site.js", *scripts)],
    )
    header = tag(
        "header",
        tag("a", "abilock", href=f"{root}index.html", class_="brand"),
        tag("nav", tag("ul", links), aria_label="Site"),
        tag(
            "form",
            tag("label", "Search", for_="find", class_="hidden"),
            tag(
                "input",
                id="find",
                name="q",
                type="search",
                placeholder="Search",
                autocomplete="off",
            ),
            action=f"{root}search.html",
            role="search",
            aria_label="Site",
        ),
        tag("button", "Theme", type="button", id="theme", class_="quiet", hidden=True),
        class_="bar",
    )
    footer = tag(
        "footer",
        tag(
            "p",
            f"abilock {site.version}, database of {site.day or 'no day'}, sha256 ",
            tag("code", site.digest[:_DIGEST]),
            ". This page loads nothing from elsewhere.",
        ),
    )
    text = tag(
        "html",
        head,
        tag(
            "body",
            tag("a", "Skip to content", href="#main", class_="skip"),
            header,
            tag("main", *body, id="main", tabindex="-1", class_="wide" if wide else None),
            footer,
            data_root=root,
        ),
        lang="en",
    )
    return path, f"<!doctype html>\n{text}\n".encode()


def badge(grade: Grade | str) -> Markup:
    """How something is known: a sign, a colour and the word."""
    known = Grade(grade)
    sign = tag("span", SIGNS[known], aria_hidden="true")
    return tag("span", sign, f" {known}", class_=f"badge {known}")


def mark(kind: str, sign: str, words: str) -> Markup:
    """A verdict: a sign, a colour and words."""
    return tag("span", tag("span", sign, aria_hidden="true"), f" {words}", class_=f"badge {kind}")


def code(text: str) -> Markup:
    """Code in running text; long names may break."""
    return tag("code", text)


def scroll(label: str, *children: Child) -> Markup:
    """What may be wider than the screen: it scrolls by itself, by keyboard too."""
    return tag("div", *children, class_="scroll", role="region", aria_label=label, tabindex="0")


def table(
    caption: str,
    heads: Sequence[Child],
    rows: Sequence[Sequence[Child]],
    ids: Sequence[str] = (),
) -> Markup:
    """A table whose first column heads its rows; ``ids`` are those of the rows."""
    return scroll(
        caption,
        tag(
            "table",
            tag("caption", caption),
            tag("thead", tag("tr", [tag("th", head, scope="col") for head in heads])),
            tag(
                "tbody",
                [
                    tag(
                        "tr",
                        tag("th", row[0], scope="row"),
                        [tag("td", cell) for cell in row[1:]],
                        id=ids[number] if ids else None,
                    )
                    for number, row in enumerate(rows)
                ],
            ),
        ),
    )


def facts(rows: Sequence[tuple[str, Child]]) -> Markup:
    """Names with what they are."""
    return tag("dl", [(tag("dt", name), tag("dd", value)) for name, value in rows], class_="facts")


def slug(text: str) -> str:
    """A file name for a text: the same text has the same, another text another."""
    if re.fullmatch(r"[a-z0-9][a-z0-9.+-]{0,79}", text):
        return text.replace("+", "_")
    name = re.sub(r"[^A-Za-z0-9.-]+", "-", text)[:60].strip(".-")
    return f"{name}_-{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


def release_path(project: NormalizedName | str, version: str) -> str:
    """The page of a release, from the root."""
    return f"release/{slug(f'{project}-{version}')}.html"


def matrix_path(project: str) -> str:
    """The page of a project's matrices, from the root."""
    return f"matrix/{slug(project)}.html"


def sets_path(root: str) -> str:
    """The page of a root's generated sets, from the root of the site."""
    return f"sets/{slug(root)}.html"


def set_anchor(id_: str) -> str:
    """The identifier of a set on its page."""
    return f"set-{id_ if re.fullmatch(r'[a-z0-9._-]+', id_) else slug(id_)}"


def known_releases(site: Site) -> frozenset[tuple[str, str]]:
    """The releases that have a page, by project and version."""
    return frozenset(
        (
            *(("torch", torch.version) for torch in site.torches),
            *((release.project, release.version) for release in site.releases),
        )
    )


def reason_path(code: str) -> str:
    """The page of a reason, from the root."""
    return f"reason/{slug(code)}.html"


def size_text(count: int) -> str:
    """A size for people."""
    return f"{count / 1000:.0f} kB" if count < 1_000_000 else f"{count / 1_000_000:.1f} MB"
