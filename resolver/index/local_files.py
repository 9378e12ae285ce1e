"""Wheels on this machine: directories of files, and indexes under ``file:``."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from packaging.utils import NormalizedName

from resolver.dataclass import replace
from resolver.errors import NotAnIndexPage
from resolver.files import open_regular, read_regular
from resolver.index.simple_page import Link, listing_of_links, parse_page
from resolver.model.artifact import Artifact, Listing
from resolver.model.filename import parse_filename

_CHUNK = 1024 * 1024


class LocalFiles:
    """Reads directories once, and hashes only the files of the projects that are asked for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._names: dict[Path, dict[NormalizedName, tuple[str, ...]]] = {}
        self._hashes: dict[tuple[str, int, int], str] = {}

    def load_directory(
        self, directory: Path, project: NormalizedName, channel: str
    ) -> Listing | None:
        """The files of ``project`` that lie in ``directory``; None when there are none.

        Reads each of them for its sha256. Raises NotAnIndexPage when there is no such directory.
        """
        names = self._scan(directory).get(project, ())
        links = [
            Link(url=path.as_uri(), filename=name)
            for name in names
            if (path := directory.absolute() / name).is_file()
        ]
        return self._finished(listing_of_links(links, project=project, channel=channel))

    def load_index(self, root: Path, project: NormalizedName, channel: str) -> Listing | None:
        """The files of ``project`` on a Simple index below ``root``; None when it has no page."""
        for page in (root / project / "index.html", root / project / "index.json"):
            found = self._load_page(page, project, channel)
            if found is not None:
                return found
        if not root.is_dir():
            raise NotAnIndexPage(f"{root}: no such directory", url=str(root))
        return None

    def load_flat_page(self, page: Path, project: NormalizedName, channel: str) -> Listing | None:
        """The files of ``project`` among the links of one HTML file. Raises NotAnIndexPage."""
        found = self._load_page(page, project, channel)
        if found is None and not page.is_file():
            raise NotAnIndexPage(f"{page}: no such file", url=str(page))
        return found

    def _load_page(self, page: Path, project: NormalizedName, channel: str) -> Listing | None:
        try:
            body = read_regular(page)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise NotAnIndexPage(f"{page}: {error.strerror or error}", url=str(page)) from error
        kind = "application/json" if page.suffix == ".json" else "text/html"
        parsed = parse_page(
            body,
            content_type=kind,
            url=page.absolute().as_uri(),
            project=project,
            channel=channel,
        )
        return self._finished(parsed)

    def _finished(self, listing: Listing) -> Listing | None:
        """``listing`` with size and sha256 of files that are here; None when it holds nothing."""
        if not listing.artifacts:
            return None
        return replace(listing, artifacts=tuple(self._described(listing.artifacts)))

    def _described(self, artifacts: Iterable[Artifact]) -> Iterable[Artifact]:
        for artifact in artifacts:
            path = Path(artifact.path) if artifact.path is not None else None
            if path is None:
                yield artifact
                continue
            try:
                status = path.stat()
                digest = artifact.sha256 or self._hash(path, status.st_size, status.st_mtime_ns)
            except OSError:
                # A link to a file that is gone: the page lists it, nobody can use it.
                continue
            yield replace(artifact, sha256=digest, size=status.st_size)

    def _hash(self, path: Path, size: int, mtime: int) -> str:
        key = (str(path), size, mtime)
        if (known := self._hashes.get(key)) is None:
            known = self._hashes[key] = hash_file(path)
        return known

    def _scan(self, directory: Path) -> dict[NormalizedName, tuple[str, ...]]:
        with self._lock:
            if (known := self._names.get(directory)) is not None:
                return known
            try:
                names = sorted(entry.name for entry in directory.iterdir())
            except OSError as error:
                raise NotAnIndexPage(
                    f"{directory}: {error.strerror or error}",
                    url=str(directory),
                    hint="check the find-links setting or --wheelhouse",
                ) from error
            found: dict[NormalizedName, list[str]] = {}
            for name in names:
                if (parsed := parse_filename(name)) is not None:
                    found.setdefault(parsed.name, []).append(name)
            self._names[directory] = {name: tuple(files) for name, files in found.items()}
            return self._names[directory]


def hash_file(path: Path) -> str:
    """The sha256 of a file, in hexadecimal. Raises OSError."""
    with open_regular(path) as file:
        return hash_open(file)


def hash_open(file: BinaryIO) -> str:
    """The sha256 of an open file from its beginning, in hexadecimal. Raises OSError."""
    digest = hashlib.sha256()
    file.seek(0)
    while chunk := file.read(_CHUNK):
        digest.update(chunk)
    return digest.hexdigest()
