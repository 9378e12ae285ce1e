from __future__ import annotations

import pytest
from packaging.version import Version

from resolver.abi.link import WheelLink, link_wheel
from resolver.abi.torch_core import CoreExports, check_core, read_core
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.model.cuda import Arch
from resolver.model.reason import Code, Grade, Severity
from resolver.wheelfile.byte_source import BytesSource
from resolver.wheelfile.wheel_errors import DamagedWheel
from tests.abi.columns import CHECK_INT, CHECK_UNSIGNED, CLONE, SYM_NE, small_history, wheel
from tests.abi.elf_builder import Elf
from tests.abi.wheels import make_wheel

RULES = KnowledgeBase().load_rules
NIGHTLY = "torch-2.12.0.dev20260226+cu130-cp312-cp312-manylinux_2_28_x86_64.whl"
VERSION = Version("2.12.0.dev20260226+cu130")


def core(names: list[str]) -> CoreExports:
    data = make_wheel(
        {
            "torch/lib/libc10.so": Elf(defined=[SYM_NE]).build(),
            "torch/lib/libc10_cuda.so": Elf(defined=[*names, "_ZN3foo3barEv"]).build(),
            "torch/lib/libtorch_cpu.so": b"never read",
        }
    )
    return read_core(BytesSource(data), filename=NIGHTLY, sha256="c" * 64)


def link(symbols: list[str], archs: tuple[Arch, ...] = ()) -> WheelLink:
    facts = wheel(
        {
            "sgl_kernel/sm90/common_ops.abi3.so": (["puts"], []),
            "sgl_kernel/sm100/common_ops.abi3.so": (symbols, []),
            "sgl_kernel/flash_ops.abi3.so": (symbols, []),
        },
        filename="sgl_kernel-0.3.21-cp310-abi3-manylinux2014_x86_64.whl",
    )
    return link_wheel(facts, small_history(), RULES, machine="x86_64", archs=archs)


def test_a_nightly_is_refused_by_its_small_libraries() -> None:
    (reason,) = check_core(link([CHECK_INT, SYM_NE, CLONE]), core([CHECK_UNSIGNED]), VERSION)
    assert (reason.code, reason.severity, reason.grade) == (
        Code.MISSING_SYMBOL,
        Severity.FATAL,
        Grade.MEASURED,
    )
    assert str(reason.object) == "torch 2.12.0.dev20260226+cu130"
    assert reason.member == "sgl_kernel/sm100/common_ops.abi3.so"
    assert reason.symbols == (CHECK_INT,)
    assert reason.needs.endswith("(int, char const*, char const*, int, bool)")
    assert reason.found.endswith("(int, char const*, char const*, unsigned int, bool)")
    assert reason.works_with == "torch >=2.9,<2.10"
    assert "export it from libc10_cuda.so" in reason.evidence


def test_what_the_small_libraries_do_not_export_alone_says_nothing() -> None:
    assert check_core(link([CLONE]), core([]), VERSION) == ()
    assert check_core(link(["_ZN3c107unknownEv"]), core([]), VERSION) == ()
    assert check_core(link([CHECK_INT]), core([CHECK_INT]), VERSION) == ()


def test_only_the_member_for_these_gpus_counts() -> None:
    hopper = link([CHECK_INT], archs=(Arch.parse("sm90"),))
    assert check_core(hopper, core([]), VERSION) == ()
    blackwell = link([CHECK_INT], archs=(Arch.parse("sm120"),))
    (reason,) = check_core(blackwell, core([]), VERSION)
    assert reason.found == "no symbol of that name"


def test_a_library_that_the_wheel_lacks_is_not_judged() -> None:
    data = make_wheel({"torch/lib/libc10.so": Elf(defined=[SYM_NE]).build()})
    found = read_core(BytesSource(data), filename=NIGHTLY, sha256=None)
    assert found.libraries == {"libc10.so"}
    assert check_core(link([CHECK_INT]), found, VERSION) == ()


def test_a_wheel_that_is_not_torch_s() -> None:
    with pytest.raises(DamagedWheel, match=r"has none of libc10.so, libc10_cuda.so"):
        read_core(BytesSource(make_wheel({"a.so": b""})), filename="a.whl", sha256=None)
