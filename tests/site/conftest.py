"""A site of a small database, written once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name
from packaging.version import Version

from resolver.abi.bundled_evidence import EvidencePack
from resolver.abi.history_file import dump_history
from resolver.compat.snapshot_record import write_snapshot
from resolver.dataclass import dataclass, replace
from resolver.model.options import IndexOptions
from resolver.model.site import Site
from resolver.render.site import site_files
from resolver.usecase.session import Session
from resolver.usecase.site import build_site
from resolver.usecase.site_folder import write_folder
from tests.abi.columns import CHECK_INT, CLONE, SYM_NE, small_history, wheel
from tests.support.database import GPUS, altered, torch_record, write_database
from tests.support.still import still_world

SET = {
    "project": "sglang", "version": "0.5.0", "id": "sglang-0.5.0-cu130-x86_64",
    "cuda": "13.0", "machine": "x86_64", "python": ["3.10", "3.11", "3.12"],
    "verdict": "good", "grade": "measured", "date": "2026-03-01",
    "packages": {"sglang": "0.5.0", "torch": "2.9.1+cu130", "xformers": "1.0"},
    "channels": {"torch": "pytorch"}, "pairs": {"measured": ["xformers"]},
    "bound": ["sm_90"], "unread": ["xformers"],
}  # fmt: skip
NONE = {
    "project": "sglang", "version": "0.4.0", "date": "2026-03-01", "machine": "aarch64",
    "skipped": "no build of its torch for aarch64",
}  # fmt: skip
BAD = {
    "project": "sglang", "version": "0.6.0", "id": "sglang-0.6.0-cu130-x86_64",
    "cuda": "13.0", "machine": "x86_64", "python": ["3.12"],
    "verdict": "bad", "grade": "measured", "date": "2026-03-02",
    "packages": {"sglang": "0.6.0", "torch": "2.10.0", "xformers": "1.0"},
    "pairs": {"measured": ["xformers"]}, "archs": ["sm_90"],
    "findings": [
        {"code": "missing-symbol", "severity": "fatal", "subject": "xformers 1.0",
         "needs": "f(int)", "found": "f(long)"},
    ],
}  # fmt: skip
DEMO = "xformers-1.0-cp312-cp312-manylinux_2_28_x86_64.whl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A site, where it lies, and the database that it is of."""

    site: Site
    place: Path
    database: Path

    def read(self, name: str) -> str:
        return (self.place / name).read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """torch 2.9.1+cu130 for Python 3.12 on x86_64, all it needs, and an extension that was read."""
    place = tmp_path_factory.mktemp("database")
    write_database(place)
    spark = altered(GPUS, id="gb10", names=["NVIDIA GB10", "GB10"], arch="12.1")
    (place / "gpus.toml").write_text(GPUS + spark, encoding="utf-8")
    dump_history(small_history(), place / "abi")
    needs: dict[str, tuple[list[str], list[str]]] = {
        "xformers/_C.so": ([CLONE, CHECK_INT, SYM_NE], []),
        "xformers/_plain.so": ([CLONE], []),
    }
    facts = wheel(needs, filename=DEMO)
    older = wheel({"xformers/_C.so": ([CHECK_INT], [])}, filename=DEMO.replace("cp312", "cp310"))
    older = replace(older, sha256="6" * 64)  # of the same release, with needs of its own
    pack = EvidencePack(place / "abi")
    pack.write(canonicalize_name("xformers"), [facts, older], day="2026-02-03")
    (place / "sets").mkdir()
    lines = (json.dumps(row) for row in (SET, NONE, BAD))
    (place / "sets/sglang.jsonl").write_text("".join(f"{line}\n" for line in lines))
    default = {"channel": "default", "directories": (), "url": None, "source": "an index"}
    lock = torch_record(
        project="filelock", filename="filelock-3.20-py3-none-any.whl", version=Version("3.20"),
        sha256="f1" * 32, requires_dist=(), **default,
    )  # fmt: skip
    read = torch_record(
        project="xformers", filename=DEMO, version=Version("1.0"),
        sha256="5" * 64, requires_dist=("torch",), **default,
    )  # fmt: skip
    pinned = torch_record(
        project="sglang", filename="sglang-0.5.0-py3-none-any.whl", version=Version("0.5.0"),
        sha256="7" * 64, requires_dist=("torch==2.9.1", "not-recorded==1"), **default,
    )  # fmt: skip
    write_snapshot(place / "snapshot", [torch_record(), lock, read, pinned])
    return place


def session_over(database: Path) -> Session:
    return Session(options=IndexOptions(knowledge=database), world=still_world())


@pytest.fixture(scope="session")
def written(database: Path, tmp_path_factory: pytest.TempPathFactory) -> Written:
    place = tmp_path_factory.mktemp("written") / "site"
    site = build_site(session_over(database))
    write_folder(place, site_files(site))
    return Written(site=site, place=place, database=database)


class Reader(HTMLParser):
    """What a page holds: its elements, its text, the identifiers and addresses in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def values(self, attribute: str) -> Iterator[str]:
        """Every value of an attribute."""
        for _, attributes in self.elements:
            if (value := attributes.get(attribute)) is not None:
                yield value

    def of(self, name: str) -> list[dict[str, str | None]]:
        """The attributes of every element of a name."""
        return [attributes for tag, attributes in self.elements if tag == name]
