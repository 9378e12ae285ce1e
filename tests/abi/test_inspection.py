from __future__ import annotations

import json

import pytest
from packaging.version import Version

from resolver.abi.diff import diff_torch
from resolver.abi.inspection import (
    compare_members,
    inspect_facts,
    machine_of,
    read_evidence,
)
from resolver.abi.link import link_wheel
from resolver.abi.wheel import Member
from resolver.errors import UsageError
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.render.inspection import render_comparison, render_diff, render_inspection
from resolver.render.inspection_json import comparison_to_json, diff_to_json, inspection_to_json
from resolver.wheelfile.byte_source import BytesSource
from tests.abi.columns import CHECK_INT, CHECK_UNSIGNED, CLONE, DELETE, SYM_NE, small_history, wheel
from tests.abi.elf_builder import Elf
from tests.abi.wheels import make_wheel

HISTORY = small_history()
RULES = KnowledgeBase().load_rules
SGL = "sgl_kernel-0.3.21-cp310-abi3-manylinux2014_x86_64.whl"
FACTS = wheel(
    {
        "sgl_kernel/sm100/common_ops.abi3.so": ([CHECK_INT, SYM_NE, CLONE], []),
        "sgl_kernel/flash_ops.abi3.so": ([CHECK_INT], []),
        "sgl_kernel/other.abi3.so": ([], []),
    },
    filename=SGL,
)


def test_inspect_as_json() -> None:
    document = inspection_to_json(inspect_facts(FACTS, history=HISTORY, rules=RULES))
    json.dumps(document)
    assert document["members"][2] == {
        "path": "sgl_kernel/sm100/common_ops.abi3.so",
        "crc32": "00000002",
        "size": 100,
        "machine": "x86_64",
        "soname": None,
        "needed": ["libtorch.so"],
        "runpath": [],
        "dynamic": "read",
        "torch_symbols": 3,
        "glibc": "2.17",
        "glibcxx": "3.4.21",
        "cxxabi": "1.3.9",
        "device_code": None,
        "load": "selected-by:gpu",
        "curated": True,
        "links_with": {"torch": ["2.9.0", "2.9.1"]},
    }
    del document["members"]
    assert document == {
        "version": 1,
        "wheel": SGL,
        "sha256": "5" * 64,
        "size": 1000,
        "bytes_read": 10,
        "depth": "symbols",
        "machine": "x86_64",
        "torch_symbols": 3,
        "unowned_symbols": [],
        "links_with": {"torch": ["2.9.0", "2.9.1"]},
        "missing": {"torch": {"2.6.0": [SYM_NE], "2.8.0": [SYM_NE], "2.10.0": [CHECK_INT]}},
        "works_with": "torch >=2.9,<2.10",
    }


# Wider than our lines: joined from its columns.
TABLE = "\n".join(
    "  ".join(cells)
    for cells in (
        (
            "  member                             ",
            "size",
            "torch symbols",
            "glibc",
            "device code",
            "load           ",
            "links with",
        ),
        (
            "  sgl_kernel/flash_ops.abi3.so       ",
            "0 kB",
            "1            ",
            "2.17 ",
            "not read   ",
            "optional       ",
            "torch >=2.6 (or older),<2.10",
        ),
        (
            "  sgl_kernel/other.abi3.so           ",
            "0 kB",
            "-            ",
            "2.17 ",
            "not read   ",
            "required?      ",
            "-",
        ),
        (
            "  sgl_kernel/sm100/common_ops.abi3.so",
            "0 kB",
            "3            ",
            "2.17 ",
            "not read   ",
            "selected-by:gpu",
            "torch >=2.9,<2.10",
        ),
    )
)


def test_inspect_for_people() -> None:
    text = render_inspection(inspect_facts(FACTS, history=HISTORY, rules=RULES))
    assert (
        text
        == f"""\
{SGL}
  read 0 kB of 1 kB (1.00 %)

{TABLE}

  ? nobody has read how the package loads this member; it counts as required
  links with torch >=2.9,<2.10 (3 symbols)
  torch 2.6.0 to 2.8.0 lack 1:
      c10::SymInt::sym_ne_slow_path(c10::SymInt const&) const
  torch 2.10.0 lacks 1:
      c10::cuda::c10_cuda_check_implementation(int, char const*, char const*, int, bool)
"""
    )


def test_inspect_reads_a_wheel() -> None:
    elf = Elf(undefined=[CHECK_INT], filler=bytes(3000)).build()
    source = BytesSource(make_wheel({"demo/_C.so": elf}))
    name = "demo-1.0-cp312-cp312-linux_x86_64.whl"
    found = inspect_facts(
        read_evidence(source, filename=name, sha256=None, full=True), history=HISTORY, rules=()
    )
    document = inspection_to_json(found)
    assert document["links_with"] == {"torch": ["2.6.0", "2.8.0", "2.9.0", "2.9.1"]}
    assert document["members"][0]["device_code"] == []
    assert "none" in render_inspection(found)


def test_a_wheel_without_native_members() -> None:
    found = inspect_facts(wheel({}), history=HISTORY, rules=RULES)
    document = inspection_to_json(found)
    assert (document["links_with"], document["works_with"]) == ({"torch": None}, None)
    assert render_inspection(found).endswith("  no native members\n")


def test_a_wheel_that_needs_nothing_of_torch() -> None:
    found = inspect_facts(wheel({"a.so": (["puts"], [])}), history=HISTORY, rules=RULES)
    assert render_inspection(found).endswith("  needs no symbol of torch\n")


def test_long_lists_are_cut() -> None:
    names = [f"_ZN2at{len(str(n)) + 1}f{n}Ev" for n in range(9)]
    found = inspect_facts(wheel({"a.so": (names, [])}), history=HISTORY, rules=())
    text = render_inspection(found)
    assert "  links with no torch that was read (9 symbols)" in text
    assert "      and 5 more" in text


@pytest.mark.parametrize(
    ("filename", "machine"),
    [
        ("a-1-cp312-cp312-manylinux_2_28_aarch64.whl", "aarch64"),
        ("a-1-cp312-cp312-linux_x86_64.whl", "x86_64"),
        ("a-1-py3-none-any.whl", "x86_64"),
        ("odd.whl", "x86_64"),
    ],
)
def test_the_machine_of_a_wheel(filename: str, machine: str) -> None:
    assert machine_of(wheel({"a.so": ([], [])}, filename=filename)) == machine


def member(path: str, crc32: int, size: int = 9) -> Member:
    return Member(path=path, crc32=crc32, size=size)


def test_wheels_that_hold_the_same_binaries() -> None:
    one = [member("a.so", 1), member("b.so", 2), member("c.so", 2)]
    found = compare_members("one.whl", one, "two.whl", list(reversed(one)))
    assert found.identical
    assert [(twin.left, twin.right) for twin in found.same] == [
        ("a.so", "a.so"),
        ("b.so", "b.so"),
        ("c.so", "c.so"),
    ]
    assert render_comparison(found) == (
        "one.whl\ntwo.whl\n  hold the same 3 native members (CRC-32 and size)\n"
    )
    assert comparison_to_json(found)["same"][0] == {
        "left": "a.so",
        "right": "a.so",
        "crc32": "00000001",
        "size": 9,
    }


def test_wheels_that_share_some() -> None:
    left = [member("a.so", 1), member("b.so", 2)]
    right = [member("a.so", 3), member("x.so", 2), member("b.so", 2, 10)]
    found = compare_members("one.whl", left, "two.whl", right)
    assert not found.identical
    assert (found.only_left, found.only_right) == (("a.so",), ("a.so", "b.so"))
    assert (
        render_comparison(found)
        == """\
one.whl
two.whl
  share 1 native members (CRC-32 and size):
      b.so
  only in one.whl:
      a.so
  only in two.whl:
      a.so
      b.so
"""
    )


def test_wheels_that_share_nothing() -> None:
    found = compare_members("one.whl", [member("a.so", 1)], "two.whl", [])
    assert not found.identical
    assert render_comparison(found) == "one.whl\ntwo.whl\n  share no native member\n"
    assert not compare_members("one.whl", [], "two.whl", []).identical


def usage_diff(before: str = "2.9.1", after: str = "2.10.0", extra: tuple[str, ...] = ()):  # type: ignore[no-untyped-def]
    facts = wheel({"demo/a.so": ([CHECK_INT, CLONE, *extra], []), "demo/b.so": ([CHECK_INT], [])})
    link = link_wheel(facts, HISTORY, (), machine="x86_64")
    return diff_torch(HISTORY, Version(before), Version(after), machine="x86_64", used_by=link)


def test_diff_as_json() -> None:
    document = diff_to_json(usage_diff(extra=(DELETE, "_ZN2at4goneEv")))
    json.dumps(document)
    old = "c10::cuda::c10_cuda_check_implementation(int, char const*, char const*, int, bool)"
    new = old.replace(", int, bool", ", unsigned int, bool")
    assert document == {
        "version": 1,
        "from": "2.9.1",
        "to": "2.10.0",
        "machine": "x86_64",
        "grade": "measured",
        "removed": 1,
        "added": 2,
        "changed": [{"name": old.partition("(")[0], "from": old, "to": new}],
        "used_by": {
            "wheel": "demo-1.0-cp312-cp312-manylinux_2_28_x86_64.whl",
            "symbols": 4,
            "breaks": [
                {
                    "symbol": CHECK_INT,
                    "from": old,
                    "to": [new],
                    "library": "libc10_cuda.so",
                    "members": ["demo/a.so", "demo/b.so"],
                }
            ],
            "gained": [DELETE],
            "absent": ["_ZN2at4goneEv"],
        },
    }


def test_diff_for_people() -> None:
    assert (
        render_diff(usage_diff(extra=(DELETE, "_ZN2at4goneEv")))
        == f"""\
torch 2.9.1 to torch 2.10.0 (x86_64, measured)
  1 symbols removed, 2 added, 1 functions with another signature

  demo-1.0-cp312-cp312-manylinux_2_28_x86_64.whl: 1 of the 4 symbols it needs go

  {CHECK_INT}
    - c10::cuda::c10_cuda_check_implementation(int, char const*, char const*, int, bool)
    + c10::cuda::c10_cuda_check_implementation(int, char const*, char const*, unsigned int, bool)
    in libc10_cuda.so
    needed by demo/a.so
    needed by demo/b.so

  1 more are in neither build

  1 others are in torch 2.10.0 only
"""
    )
    assert "none of them is one of the 2 symbols it needs" in render_diff(
        usage_diff("2.9.0", "2.9.1")
    )
    assert "    + no symbol of that name\n" in render_diff(
        usage_diff("2.9.1", "2.8.0", extra=(SYM_NE,))
    )


def test_diff_without_a_wheel() -> None:
    diff = diff_torch(HISTORY, Version("2.9.1+cu130"), Version("2.10.0"), machine="x86_64")
    assert diff_to_json(diff)["used_by"] is None
    assert (diff.removed, diff.added) == ((CHECK_INT,), (CHECK_UNSIGNED, DELETE))
    assert (
        render_diff(diff)
        == """\
torch 2.9.1+cu130 to torch 2.10.0 (x86_64, inferred)
  1 symbols removed, 2 added, 1 functions with another signature

  c10::cuda::c10_cuda_check_implementation
    - c10::cuda::c10_cuda_check_implementation(int, char const*, char const*, int, bool)
    + c10::cuda::c10_cuda_check_implementation(int, char const*, char const*, unsigned int, bool)
"""
    )


def test_diff_of_what_is_not_known() -> None:
    with pytest.raises(UsageError, match=r"torch 3\.0 on x86_64 is not in") as caught:
        diff_torch(HISTORY, Version("3.0"), Version("2.9.1"), machine="x86_64")
    assert caught.value.hint == "It holds 2.6.0, 2.8.0, 2.9.0, 2.9.1, 2.10.0."
    with pytest.raises(UsageError) as other:
        diff_torch(HISTORY, Version("2.9.1"), Version("2.9.1"), machine="aarch64")
    assert other.value.hint == "It holds no build for aarch64."
