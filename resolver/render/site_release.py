"""Pages of releases: what their files need, and what binds them to torch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from resolver.model.plural import counted
from resolver.model.site import (
    Lacking,
    Reading,
    ReleasePage,
    Site,
    TorchColumn,
    TorchPage,
    WheelFile,
)
from resolver.render.markup import Child, Markup, join, tag
from resolver.render.site_layout import (
    badge,
    code,
    facts,
    mark,
    matrix_path,
    page,
    release_path,
    size_text,
    table,
)

_MOST_RELEASES = 24


def release_files(site: Site) -> Iterator[tuple[str, bytes]]:
    """The list of releases, and a page for each."""
    yield page(site, "releases.html", "Releases", _index(site))
    known = {torch.version for torch in site.torches}
    for release in site.releases:
        title = f"{release.project} {release.version}"
        path = release_path(release.project, release.version)
        yield page(site, path, title, _release(site, release, known))
    for torch in site.torches:
        path = release_path("torch", torch.version)
        yield page(site, path, f"torch {torch.version}", _torch(torch))


def _index(site: Site) -> Markup:
    groups: list[tuple[str, list[str]]] = [("torch", [torch.version for torch in site.torches])]
    for project, pages in groupby(site.releases, key=lambda one: one.project):
        groups.append((project, [one.version for one in pages]))
    return join(
        tag("h1", "Releases that were read"),
        tag(
            "p",
            "What the bytes of their wheels need: libraries, symbols of torch, device code. ",
            f"{counted(sum(len(v) for _, v in groups), 'release')} of "
            f"{counted(len(groups), 'project')}.",
            class_="lead",
        ),
        [
            tag(
                "section",
                tag("h2", project, id=f"of-{project}"),
                tag("p", tag("a", f"{project} beside torch", href=matrix_path(project)))
                if project != "torch"
                else None,
                tag(
                    "ul",
                    [
                        tag("li", tag("a", version, href=release_path(project, version)))
                        for version in versions
                    ],
                    class_="tiles",
                ),
                aria_labelledby=f"of-{project}",
            )
            for project, versions in groups
        ],
    )


def _release(site: Site, release: ReleasePage, known: set[str]) -> Markup:
    many = len(release.readings) > 1
    return join(
        tag("p", tag("a", "Releases", href=f"../releases.html#of-{release.project}"), class_="up"),
        tag("h1", f"{release.project} {release.version}"),
        tag(
            "p",
            badge("measured"),
            f" Read from {counted(sum(len(r.files) for r in release.readings), 'wheel')}. ",
            tag("a", f"{release.project} beside torch", href=f"../{matrix_path(release.project)}"),
            class_="lead",
        ),
        [
            _reading(site, reading, known, number if many else 0)
            for number, reading in enumerate(release.readings, start=1)
        ],
    )


def _reading(site: Site, reading: Reading, known: set[str], number: int) -> Markup:
    id_ = f"reading-{number}"
    head = f"On {reading.machine}" + (f": reading {number}" if number else "")
    return tag(
        "section",
        tag("h2", head, id=id_),
        facts(
            [
                ("Links with", _links(reading)),
                ("Symbols of torch", str(reading.symbols) if reading.symbols else "none"),
                ("Needs glibc", reading.glibc or "no version of it"),
                ("GPUs it has code for", _codes(reading.codes)),
                ("Libraries it needs", _sonames(site, reading.sonames)),
            ]
        ),
        _why(reading, known),
        tag(
            "details",
            tag("summary", counted(len(reading.members), "native member")),
            _members(reading, head),
        ),
        _files(reading.files),
        aria_labelledby=id_,
        class_="card",
    )


def _links(reading: Reading) -> Child:
    if not reading.symbols:
        return "needs no symbol of torch"
    if reading.links is None:
        return mark("no", "\N{MULTIPLICATION X}", "no torch that was read")
    words = reading.links if reading.binding else f"{reading.links}, for its optional members"
    return mark("measured", "\N{CHECK MARK}", words)


def _codes(codes: Sequence[str] | None) -> Child:
    if codes is None:
        return "not read"
    if not codes:
        return "none: it holds no device code"
    return tag("ul", [tag("li", code(one)) for one in codes], class_="chips")


def _sonames(site: Site, names: Sequence[str]) -> Child:
    if not names:
        return "none"
    return tag("ul", [tag("li", _soname(site, name)) for name in names], class_="chips")


def _soname(site: Site, name: str) -> Child:
    by = site.libraries.get(name)
    return join(code(name), f" by {', '.join(by)}" if by else None)


def _why(reading: Reading, known: set[str]) -> Markup | None:
    if not reading.lacking:
        return None
    what = "Why not with another torch"
    return join(tag("h3", what), [_lacking(row, known) for row in reading.lacking])


def _lacking(row: Lacking, known: set[str]) -> Markup:
    torch: Child = f"torch {row.torch}"
    if row.torch in known:
        torch = tag("a", torch, href=f"../{release_path('torch', row.torch)}")
    rest = row.count - len(row.symbols)
    return join(
        tag("p", torch, f" does not export {counted(row.count, 'symbol')} of it:"),
        tag(
            "ul",
            [
                tag("li", code(one.name), tag("br"), tag("small", one.mangled))
                if one.name != one.mangled
                else tag("li", code(one.name))
                for one in row.symbols
            ],
            tag("li", f"and {rest} more") if rest else None,
            class_="symbols",
        ),
    )


def _members(reading: Reading, head: str) -> Markup:
    return table(
        f"Native members. {head}",
        ("Member", "Symbols of torch", "glibc", "Device code", "Loads"),
        [
            (
                code(row.path),
                str(row.symbols),
                row.glibc or "none",
                "not read" if row.codes is None else " ".join(row.codes) or "none",
                row.load,
            )
            for row in reading.members
        ],
    )


def _files(files: Iterable[WheelFile]) -> Markup:
    files = tuple(files)
    rows = _rows(files)
    if len(files) == 1:
        return rows
    return tag("details", tag("summary", f"{counted(len(files), 'file')} with this reading"), rows)


def _rows(files: Iterable[WheelFile]) -> Markup:
    return join(
        tag(
            "ul",
            [
                tag(
                    "li",
                    code(file.filename),
                    tag("br"),
                    f"{size_text(file.size)}, sha256 ",
                    code(file.sha256 or "not known"),
                    tag("br"),
                    _origin(file),
                )
                for file in files
            ],
            class_="files",
        ),
    )


def _origin(file: WheelFile) -> str:
    words = [f"read {'whole' if file.depth == 'full' else f'for its {file.depth}'}"]
    if file.read_on:
        words[0] += f" on {file.read_on}"
    if file.channel:
        where = "the default index" if file.channel == "default" else f"channel {file.channel}"
        words.append(f"recorded {file.recorded} from {where}")
    if file.uploaded:
        words.append(f"uploaded {file.uploaded}")
    if file.source:
        words.append(f"source: {file.source}")
    return "; ".join(words)


def _torch(torch: TorchPage) -> Markup:
    return join(
        tag("p", tag("a", "Releases", href="../releases.html#of-torch"), class_="up"),
        tag("h1", f"torch {torch.version}"),
        tag(
            "p",
            badge("measured"),
            " What its libraries export, read from its wheels.",
            class_="lead",
        ),
        [_column(column) for column in torch.columns],
        _builds(torch),
        _extensions(torch),
    )


def _column(column: TorchColumn) -> Markup:
    id_ = f"on-{column.machine}-{column.digest[:8]}"
    rows: list[tuple[str, Child]] = [
        ("CUDA", column.cuda or "none: a CPU build"),
        ("C++11 ABI", "new" if column.cxx11_abi else "old"),
        ("Symbols of torch", f"{column.symbols:,}"),
    ]
    if column.before is not None:
        before = tag(
            "a", f"torch {column.before}", href=f"../{release_path('torch', column.before)}"
        )
        rows.append(("Since ", join(before, f": {column.added:,} came, {column.removed:,} went")))
    return tag(
        "section",
        tag("h2", f"On {column.machine}", id=id_),
        facts(rows),
        _files(column.files),
        aria_labelledby=id_,
        class_="card",
    )


def _builds(torch: TorchPage) -> Markup | None:
    if not torch.codes:
        return None
    return join(
        tag("h2", "Builds and their device code"),
        table(
            f"Builds of torch {torch.version}",
            ("Build", "Machine", "CUDA", "Device code", "Known", "Source"),
            [
                (
                    row.build,
                    row.machine,
                    row.cuda or "none",
                    "not known" if row.codes is None else " ".join(row.codes) or "none",
                    badge(row.grade),
                    row.source,
                )
                for row in torch.codes
            ],
        ),
    )


def _extensions(torch: TorchPage) -> Markup:
    if not torch.extensions:
        return join(
            tag("h2", "Extensions that link with it"),
            tag("p", "None of the releases that were read."),
        )
    return join(
        tag("h2", "Extensions that link with it"),
        [
            tag(
                "section",
                tag("h3", project),
                tag(
                    "ul",
                    [
                        tag("li", tag("a", one, href=f"../{release_path(project, one)}"))
                        for one in versions[:_MOST_RELEASES]
                    ],
                    tag("li", f"and {len(versions) - _MOST_RELEASES} older")
                    if len(versions) > _MOST_RELEASES
                    else None,
                    class_="tiles",
                ),
            )
            for project, versions in sorted(torch.extensions.items())
        ],
    )
