"""Snapshot records and pins: written the same way every time, and read back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from resolver.compat.snapshot import DirectorySnapshot
from resolver.compat.snapshot_record import (
    Record,
    artifact_of,
    make_record,
    metadata_of,
    parse_record,
    render_pins,
    render_record,
    render_snapshot,
    write_pins,
    write_snapshot,
)
from resolver.errors import KnowledgeError
from resolver.model.artifact import Artifact, Metadata
from tests.support.database import torch_record

TORCH = canonicalize_name("torch")

_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
_sha256 = st.text("0123456789abcdef", min_size=64, max_size=64)
_versions = st.builds(
    lambda release, local: Version(".".join(map(str, release)) + (f"+{local}" if local else "")),
    st.lists(st.integers(0, 99), min_size=1, max_size=3),
    st.sampled_from(["", "cu130", "cu128torch2.9"]),
)
_names = st.from_regex(r"[a-z][a-z0-9]{0,8}(-[a-z0-9]{1,4})?", fullmatch=True).map(
    canonicalize_name
)
records = st.builds(
    Record,
    channel=st.sampled_from(["default", "pytorch", "sgl-project"]),
    filename=_text,
    project=_names,
    version=_versions,
    source=_text,
    date=st.dates().map(str),
    directories=st.lists(st.sampled_from(["cu128", "cu130"]), unique=True).map(tuple),
    url=st.none() | _text,
    sha256=st.none() | _sha256,
    alternates=st.lists(_sha256, max_size=2).map(tuple),
    size=st.none() | st.integers(1, 10**12),
    requires_python=st.none() | _text.filter(bool),
    requires_dist=st.none() | st.lists(_text, max_size=3).map(tuple),
    provides_extra=st.lists(_names, max_size=2).map(tuple),
    upload_time=st.none() | st.datetimes(min_value=datetime(2000, 1, 1), timezones=st.just(UTC)),
    yanked=st.booleans(),
    yanked_reason=st.none() | _text.filter(bool),
    note=st.none() | _text.filter(bool),
)


@given(records)
def test_a_record_survives_its_line(record: Record) -> None:
    line = render_record(record)
    assert "\n" not in line
    assert parse_record(line) == record
    assert render_record(parse_record(line)) == line


@given(st.lists(records, max_size=6), st.randoms())
def test_the_order_of_records_is_theirs(items: list[Record], random: object) -> None:
    shuffled = list(items)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert render_snapshot(sorted(shuffled, key=render_record)) == render_snapshot(
        sorted(items, key=render_record)
    )


def test_a_line_is_compact_json_without_what_is_unknown() -> None:
    record = torch_record(requires_dist=None, requires_python=None)
    assert render_record(record) == (
        '{"channel":"pytorch","date":"2026-02-01","directories":["cu130"],'
        '"filename":"torch-2.9.1+cu130-cp312-cp312-manylinux_2_28_x86_64.whl",'
        f'"project":"torch","sha256":"{"e7" * 32}",'
        '"source":"uv.lock of someone/something",'
        '"url":"https://download.pytorch.org/whl/cu130/torch-2.9.1%2Bcu130-cp312.whl",'
        '"version":"2.9.1+cu130"}'
    )


def test_no_requirement_is_another_thing_than_unknown_metadata() -> None:
    known = metadata_of(torch_record(requires_dist=()))
    assert known is not None
    assert known.requires == ()
    assert metadata_of(torch_record(requires_dist=None)) is None


def test_metadata_says_where_it_was_read() -> None:
    metadata = metadata_of(torch_record(requires_dist=("filelock", "not = one")))
    assert metadata is not None
    assert metadata.source == "snapshot 2026-02-01"
    assert metadata.requires == (Requirement("filelock"),)
    assert metadata.broken == ("not = one",)


def test_times_are_written_in_utc() -> None:
    noon = datetime(2026, 2, 1, 12, tzinfo=timezone(timedelta(hours=2)))
    assert '"upload_time":"2026-02-01T10:00:00Z"' in render_record(torch_record(upload_time=noon))


def test_an_artifact_becomes_a_record_and_comes_back() -> None:
    artifact = artifact_of(torch_record())
    metadata = Metadata(
        name=TORCH,
        version=Version("2.9.1+cu130"),
        requires=(Requirement("filelock"),),
        requires_python=">=3.10",
        extras=frozenset(),
        source="METADATA of the wheel",
    )
    record = make_record(
        artifact, metadata, source="the channel", date="2026-02-01", directories=["cu130"]
    )
    assert artifact_of(record) == artifact
    assert record.requires_dist == ("filelock",)


def test_the_address_of_the_default_index_is_not_recorded() -> None:
    artifact = Artifact(
        filename="numpy-2.2.6-cp312-cp312-manylinux_2_28_x86_64.whl",
        name=canonicalize_name("numpy"),
        version=Version("2.2.6"),
        kind="wheel",
        channel="default",
        origin="index",
        url="https://index.example/numpy.whl",
        sha256="ab" * 32,
    )
    record = make_record(artifact, None, source="the index", date="2026-02-01")
    assert record.url is None
    assert record.requires_dist is None


def test_a_source_distribution_is_recorded_too() -> None:
    record = torch_record(filename="torch-2.9.1.tar.gz", version=Version("2.9.1"))
    assert artifact_of(record).kind == "sdist"


def test_writing_merges_and_changes_no_byte_twice(tmp_path: Path) -> None:
    first = torch_record()
    other = torch_record(
        filename="torch-2.10.0+cu130-cp312-cp312-manylinux_2_28_x86_64.whl",
        version=Version("2.10.0+cu130"),
        url="https://download.pytorch.org/whl/cu130/torch-2.10.0.whl",
    )
    (file,) = write_snapshot(tmp_path, [other])
    write_snapshot(tmp_path, [first])
    assert file.name == "pytorch.torch.jsonl"
    text = file.read_text(encoding="utf-8")
    assert text == render_snapshot([first, other])
    assert text.index("2.9.1") < text.index("2.10.0")
    write_snapshot(tmp_path, [other, first])
    assert file.read_text(encoding="utf-8") == text


def test_a_record_with_the_same_key_is_replaced(tmp_path: Path) -> None:
    write_snapshot(tmp_path, [torch_record()])
    (file,) = write_snapshot(tmp_path, [torch_record(sha256="0" * 64)])
    assert [r.sha256 for r in map(parse_record, file.read_text().splitlines())] == ["0" * 64]


def test_the_snapshot_answers_by_channel_project_and_tag(tmp_path: Path) -> None:
    write_snapshot(
        tmp_path,
        [
            torch_record(),
            torch_record(
                filename="torch-2.9.1+cu129-cp312-cp312-manylinux_2_28_x86_64.whl",
                version=Version("2.9.1+cu129"),
                url="https://download.pytorch.org/whl/cu129/torch.whl",
                sha256="9" * 64,
                directories=("cu129",),
                date="2026-03-01",
            ),
        ],
    )
    snapshot = DirectorySnapshot(tmp_path)
    everything = snapshot.listing("pytorch", TORCH)
    assert everything is not None
    assert everything.snapshot_date == "2026-03-01"
    assert len(everything.artifacts) == 2
    only = snapshot.listing("pytorch", TORCH, {"cu130"})
    assert only is not None
    assert [a.version for a in only.artifacts] == [Version("2.9.1+cu130")]
    assert only.snapshot_date == "2026-02-01"
    assert snapshot.listing("pytorch", TORCH, {"cu118"}) is None
    assert snapshot.listing("default", TORCH) is None
    assert snapshot.projects() == (("pytorch", TORCH),)


def test_metadata_is_found_by_hash_on_any_channel(tmp_path: Path) -> None:
    write_snapshot(tmp_path, [torch_record()])
    snapshot = DirectorySnapshot(tmp_path)
    artifact = artifact_of(torch_record(channel="mirror"))
    found = snapshot.metadata(artifact)
    assert found is not None
    assert found.requires == (Requirement("filelock"),)
    assert snapshot.metadata(artifact_of(torch_record(sha256="1" * 64))) is None
    assert snapshot.metadata(artifact_of(torch_record(sha256=None))) is None


def test_a_line_that_is_no_record_is_named(tmp_path: Path) -> None:
    (tmp_path / "pytorch.torch.jsonl").write_text("{}\n", encoding="utf-8")
    with pytest.raises(KnowledgeError) as caught:
        DirectorySnapshot(tmp_path).listing("pytorch", TORCH)
    assert str(caught.value) == ("snapshot/pytorch.torch.jsonl, line 1: not a record: 'channel'")


def test_pins_are_sorted_and_each_once(tmp_path: Path) -> None:
    pins = [
        Requirement("torch==2.9.1+cu130"),
        Requirement("numpy==2.2.6 ; python_version < '3.11'"),
        Requirement("torch==2.9.1+cu130"),
    ]
    assert render_pins("good", pins) == (
        "# Generated: the closure of the tuple, solved on the index of its exclude-newer day.\n"
        'tuple = "good"\n'
        "pins = [\n"
        '    "numpy==2.2.6; python_version < \\"3.11\\"",\n'
        '    "torch==2.9.1+cu130",\n'
        "]\n"
    )
    (tmp_path / "tuples").mkdir()
    file = write_pins(tmp_path, "good", pins)
    assert file == tmp_path / "tuples" / "good.pins.toml"
    assert file.read_text(encoding="utf-8") == render_pins("good", pins)
