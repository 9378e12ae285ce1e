"""The wheelhouse by itself: what the command line does not reach."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from resolver.errors import AbilockError, DamagedData, DiskFailure, NotFound, Unreachable
from resolver.index.http import HttpClient
from resolver.index.wheelhouse import Progress, Wanted, Wheelhouse
from tests.support.server import Reply, Request, Server, ranged

DATA = bytes(range(256)) * 100


def wanted(server: Server | None, **values: object) -> Wanted:
    fields: dict[str, object] = {
        "filename": "x-1-py3-none-any.whl",
        "sha256": hashlib.sha256(DATA).hexdigest(),
        "size": len(DATA),
        "url": None if server is None else f"{server.url}/x",
        **values,
    }
    return Wanted(**fields)  # type: ignore[arg-type]


def fill(house: Wheelhouse, item: Wanted) -> str | AbilockError:
    return house.fill([item])[item.filename]


def test_a_copy_of_what_lies_here(client: HttpClient, tmp_path: Path) -> None:
    source = tmp_path / "source.whl"
    source.write_bytes(DATA)
    house = Wheelhouse(tmp_path / "house", client)
    assert fill(house, wanted(None, source=source)) == "copied"
    assert (tmp_path / "house" / "x-1-py3-none-any.whl").read_bytes() == DATA
    assert fill(house, wanted(None, source=source)) == "kept"


def test_neither_here_nor_anywhere(client: HttpClient, tmp_path: Path) -> None:
    wrong = tmp_path / "source.whl"
    wrong.write_bytes(DATA[1:])
    error = fill(Wheelhouse(tmp_path / "house", client), wanted(None, source=wrong))
    assert isinstance(error, NotFound)
    assert str(error) == "x-1-py3-none-any.whl: no file with the sha256 of the lock, and no address"
    assert list((tmp_path / "house").iterdir()) == []


def test_a_file_that_cannot_be_read(client: HttpClient, tmp_path: Path) -> None:
    place = tmp_path / "x-1-py3-none-any.whl"
    place.mkdir()
    error = fill(Wheelhouse(tmp_path, client), wanted(None, size=None))
    assert isinstance(error, DamagedData)
    assert str(error) == f"{place} cannot be read: Is a directory"


def test_a_file_in_the_place_of_the_directory(client: HttpClient, tmp_path: Path) -> None:
    place = tmp_path / "house"
    place.write_bytes(b"")
    with pytest.raises(DiskFailure, match=f"{place} cannot be written: file exists"):
        Wheelhouse(place, client).fill([wanted(None)])


def test_breaks_have_an_end(
    server: Server, client: HttpClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("resolver.index.wheelhouse._ROUNDS", 2)

    def a_little(request: Request) -> Reply:
        reply = ranged(DATA)(request)
        return Reply(status=reply.status, body=reply.body, headers=reply.headers, cut=100)

    server.routes["/x"] = a_little
    error = fill(Wheelhouse(tmp_path, client), wanted(server))
    assert isinstance(error, Unreachable)
    assert str(error) == f"cannot read {server.url}/x: it broke off 2 times"
    (part,) = tmp_path.iterdir()
    # Two rounds of three attempts each.
    assert part.read_bytes() == DATA[:600]


def test_a_part_of_another_file_is_begun_anew(
    server: Server, client: HttpClient, tmp_path: Path
) -> None:
    server.routes["/x"] = ranged(DATA)
    item = wanted(server)
    for left in (b"another", DATA + b"longer"):
        (tmp_path / f".{item.filename}.{item.sha256[:12]}.part").write_bytes(left)
        (tmp_path / item.filename).unlink(missing_ok=True)
        assert fill(Wheelhouse(tmp_path, client), item) == "fetched"
        assert [path.read_bytes() for path in tmp_path.iterdir()] == [DATA]


def test_parts_of_a_server_that_lies_are_tried_twice(
    server: Server, client: HttpClient, tmp_path: Path
) -> None:
    """Each answer says that it is a part, the first one too: once it went on for ever."""
    asked = []

    def one_byte(request: Request) -> Reply:
        asked.append(request)
        return Reply(status=206, body=b"x", headers={"Content-Range": "bytes 0-9/10"})

    server.routes["/x"] = one_byte
    error = fill(Wheelhouse(tmp_path, client), wanted(server))
    assert isinstance(error, DamagedData)
    assert (len(asked), list(tmp_path.iterdir())) == (2, [])


def test_one_failure_on_the_disk_stops_the_others(
    server: Server, client: HttpClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.routes["/x"] = ranged(DATA)
    house = Wheelhouse(tmp_path, client, threads=1)
    monkeypatch.setattr("os.fsync", refuse)
    with pytest.raises(DiskFailure, match="input/output error"):
        house.fill([wanted(server), wanted(server, filename="y-1-py3-none-any.whl")])
    assert [path for path in tmp_path.iterdir() if path.suffix == ".whl"] == []


def refuse(_: int) -> None:
    raise OSError(5, "Input/output error")


def test_what_is_told(server: Server, client: HttpClient, tmp_path: Path) -> None:
    told: list[object] = []

    class Told(Progress):
        def advanced(self, wanted: Wanted, have: int) -> None:  # noqa: ARG002
            told.append(have)

        def finished(self, wanted: Wanted, fate: str) -> None:  # noqa: ARG002
            told.append(fate)

    server.routes["/x"] = ranged(DATA)
    Wheelhouse(tmp_path, client, progress=Told()).fill([wanted(server)])
    assert (told[0], told[-2:]) == (0, [len(DATA), "fetched"])
