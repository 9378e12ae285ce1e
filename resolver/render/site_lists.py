"""Pages that are lists: GPUs, and what the site is made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from resolver.model.knowledge import CudaRelease, Gpu
from resolver.model.reason import Grade
from resolver.model.site import Site
from resolver.model.target import driver_text
from resolver.render.markup import Child, Markup, join, tag
from resolver.render.site_layout import badge, code, facts, mark, page, table

_MEANING = {
    Grade.RAN: "a machine with that GPU imported it and ran a kernel",
    Grade.MEASURED: "read from these very bytes",
    Grade.REPORTED: "a public report says that it works or fails",
    Grade.DECLARED: "upstream says so: metadata, a build script, a support matrix",
    Grade.INFERRED: "concluded from a sibling: the same release, machine and C++ ABI",
    Grade.ASSUMED: "nobody said so",
}


def list_files(site: Site) -> Iterator[tuple[str, bytes]]:
    """The two pages."""
    yield page(site, "gpus.html", "GPUs", _gpus(site))
    yield page(site, "about.html", "About", _about(site))


def _gpus(site: Site) -> Markup:
    return join(
        tag("h1", "GPUs"),
        tag(
            "p",
            "By the names that people use, with the CUDA releases whose compiler knows them.",
            class_="lead",
        ),
        table(
            "GPUs and their compute capability",
            ("GPU", "Capability", "CUDA", "Other names"),
            [
                (
                    tag("a", gpu.names[0], href=f"index.html#gpu={gpu.id}"),
                    tag("span", f"{gpu.arch.capability} ", code(str(gpu.arch)), class_="nowrap"),
                    tag("span", _cuda_of(gpu, site.cudas), class_="nowrap"),
                    tag("span", ", ".join(gpu.names[1:]), class_="names"),
                )
                for gpu in newest_first(site.gpus)
            ],
        ),
        tag("h2", "CUDA releases"),
        table(
            "CUDA releases and the drivers they need",
            ("CUDA", "Driver of the family", "Driver it came with", "Architectures"),
            [
                (
                    str(release.version),
                    f">={driver_text(release.driver_family)}",
                    driver_text(release.driver_packaged)
                    if release.driver_packaged is not None
                    else "not known",
                    " ".join(map(str, release.archs)),
                )
                for release in site.cudas
            ],
        ),
    )


def newest_first(gpus: Iterable[Gpu]) -> list[Gpu]:
    """GPUs as people look for them: the newest architecture first, each in the database's order."""
    return sorted(gpus, key=lambda gpu: gpu.arch, reverse=True)


def _cuda_of(gpu: Gpu, releases: tuple[CudaRelease, ...]) -> str:
    known = [str(release.version) for release in releases if gpu.arch in release.archs]
    if not known:
        return "none of the database"
    return known[0] if len(known) == 1 else f"{known[0]} to {known[-1]}"


def _about(site: Site) -> Markup:
    picker = site.picker
    picks = sum(map(len, picker.cells.values()))
    rows: list[tuple[str, Child]] = [
        ("Picks", f"{picks:,}, with {len(picker.answers):,} different answers"),
        *(
            (
                f"GPUs on {machine}",
                ", ".join(str(place.arch) for place in picker.places if place.machine == machine),
            )
            for machine in dict.fromkeys(place.machine for place in picker.places)
        ),
        ("CUDA", ", ".join(map(str, picker.cudas))),
        ("Python", ", ".join(picker.pythons)),
        ("glibc", f"{picker.glibc}, that of Ubuntu 22.04"),
        ("Driver", "not said, so that none is too old"),
        ("Releases read", f"{len(site.releases):,} of extensions, {len(site.torches)} of torch"),
        ("Newest fact", site.day or "none"),
        ("Database", code(site.digest)),
    ]
    return join(
        tag("h1", "About this site"),
        tag(
            "p",
            "abilock resolves GPU Python environments that really load, and says why others "
            "cannot. This site shows what its database answers; it was written by ",
            code("abilock knowledge site"),
            ".",
            class_="lead",
        ),
        tag("h2", "What the picker covers"),
        tag(
            "p",
            "Each answer is that of ",
            code("abilock resolve ... --offline"),
            " with an empty cache, computed when the site was written. What was not computed says "
            "so and gives the command; nothing here is a guess. With a network the command also "
            "knows what was published since.",
        ),
        facts(rows),
        tag("h2", "How something is known"),
        tag("p", "Best first. A set is known as its weakest pair is."),
        tag(
            "dl",
            [(tag("dt", badge(grade)), tag("dd", words)) for grade, words in _MEANING.items()],
            class_="facts",
        ),
        tag("h2", "Verdicts"),
        tag(
            "ul",
            tag(
                "li",
                mark("measured", "\N{CHECK MARK}", "loads"),
                " nothing known speaks against it",
            ),
            tag("li", mark("no", "\N{MULTIPLICATION X}", "fails"), " with the reason"),
            tag("li", mark("unknown", "?", "unknown"), " what decides could not be read"),
            class_="key",
        ),
        tag(
            "p",
            "Linking is necessary and not sufficient: a measured pair was compared symbol by "
            "symbol, and was not run.",
        ),
    )
