"""The site as files: pages, the data that they load, and what is the same on every site."""

from __future__ import annotations

import json
from collections.abc import Iterator

from resolver.model.site import Site
from resolver.render.site_layout import asset
from resolver.render.site_lists import list_files
from resolver.render.site_matrix import matrix_files
from resolver.render.site_picker import picker_files
from resolver.render.site_reason import reason_files
from resolver.render.site_release import release_files
from resolver.render.site_search import search_files
from resolver.render.site_sets import sets_files

MARKER = "abilock-site.json"
ASSETS = ("site.css", "theme.js", "site.js", "picker.js", "search.js")


def site_files(site: Site) -> Iterator[tuple[str, bytes]]:
    """Every file by its path. The same site gives the same bytes, in the same order.

    The last one says that this is a site, of which database, and names all files.
    """
    names = [MARKER]
    for name, data in _files(site):
        names.append(name)
        yield name, data
    marker = {"abilock": site.version, "database": site.digest, "day": site.day}
    text = json.dumps({**marker, "files": sorted(names)}, indent=1)
    yield MARKER, f"{text}\n".encode()


def _files(site: Site) -> Iterator[tuple[str, bytes]]:
    for name in ASSETS:
        yield name, asset(name)
    yield from picker_files(site)
    yield from matrix_files(site)
    yield from release_files(site)
    yield from reason_files(site)
    yield from sets_files(site)
    yield from list_files(site)
    yield from search_files(site)
