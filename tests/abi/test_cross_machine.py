"""The columns of another machine: which symbols they may speak of."""

from __future__ import annotations

from packaging.version import Version

from resolver.abi.cross_machine import counterpart_link, find_counterpart
from resolver.abi.history import History
from resolver.abi.link import link_wheel
from tests.abi.columns import CHECK_INT, CLONE, EXPORTS, SYM_NE, column, wheel


def history() -> History:
    """x86_64 for every release, aarch64 for 2.9.1 alone, where it lacks a name."""
    here = {name: home for name, home in EXPORTS["2.9.1"].items() if name != SYM_NE}
    columns = [column(version, names) for version, names in EXPORTS.items()]
    return History.from_columns([*columns, column("2.9.1", here, machine="aarch64")])


def accepted(*symbols: str) -> list[str]:
    found = wheel({"demo/core.so": (list(symbols), [])})
    link = link_wheel(found, history(), (), machine="aarch64")
    other = counterpart_link(link, machine="aarch64")
    return [str(version) for version in other.releases(other.mask)]


def test_only_a_release_without_a_column_of_its_own_has_a_counterpart() -> None:
    read = history()
    assert find_counterpart(read, Version("2.9.1"), machine="aarch64") is None
    match = find_counterpart(read, Version("2.10.0"), machine="aarch64")
    assert match is not None
    assert (match.build.id, match.grade) == ("2.10.0+cu128 x86_64", "inferred")


def test_what_builds_of_one_release_export_on_one_machine_alone_does_not_count() -> None:
    assert accepted(CLONE, CHECK_INT) == ["2.6.0", "2.8.0", "2.9.0", "2.9.1"]
    # It is missing from 2.8.0, but it depends on the machine.
    assert accepted(CLONE, SYM_NE) == list(EXPORTS)
