"""How members load: by a rule that somebody read, else by what their names tell."""

from __future__ import annotations

from dataclasses import replace

import pytest
from packaging.version import Version

from resolver.abi.link import WheelLink, link_wheel
from resolver.abi.load_rules import MemberLoad, find_load, python_of, unserved
from resolver.abi.verdict import check_torch
from resolver.abi.wheel import WheelFacts
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.evidence.load_role import role_of
from resolver.evidence.member_needs import MemberNeeds
from resolver.model.cuda import CudaVersion
from resolver.model.reason import Code, Reason, Severity
from resolver.model.release import Release, release_of
from resolver.model.target import Target
from tests.abi.columns import CHECK_INT, CLONE, small_history, wheel

HISTORY = small_history()
RULES = KnowledgeBase().load_rules
CP312 = "demo-1.0-cp312-cp312-manylinux_2_28_x86_64.whl"
ABI3 = "demo-1.0-cp310-abi3-manylinux_2_28_x86_64.whl"


@pytest.mark.parametrize(
    ("filename", "path", "python", "load", "choice"),
    [
        # An extension module of another Python than the wheel's, or the one that is meant.
        (CP312, "demo/_a.cpython-310-x86_64-linux-gnu.so", None, "never", ""),
        (CP312, "demo/_a.cpython-312-x86_64-linux-gnu.so", None, "required", ""),
        (CP312, "demo/_a.cp311.so", None, "never", ""),
        (CP312, "demo/_a.abi3.so", None, "required", ""),
        (ABI3, "demo/_a.cpython-310-x86_64-linux-gnu.so", None, "required", ""),
        (ABI3, "demo/_a.cpython-310-x86_64-linux-gnu.so", "312", "never", ""),
        (ABI3, "demo/_a.cpython-313t-x86_64-linux-gnu.so", "313", "never", ""),
        # What auditwheel and meson put there is what others need.
        (CP312, "demo.libs/libssl-d08c9e24.so.3", None, "never", ""),
        (CP312, ".demo.mesonpy.libs/plugins/libplugin_GDS.so", None, "never", ""),
        (CP312, "demo/libs/libssl.so", None, "required", ""),
        # A release of torch in the name.
        (CP312, "demo/_C_torch212.abi3.so", None, "selected-by", "212"),
        (CP312, "demo/libops-torch2.9.so", None, "selected-by", "29"),
        (CP312, "demo/ops_pt210.so", None, "selected-by", "210"),
        (CP312, "demo/ep_2_11_0.cpython-312-x86_64-linux-gnu.so", None, "selected-by", "211"),
        (CP312, "demo/libnccl_2_27_3.so", None, "required", ""),
        (CP312, "demo/flash_attn_2_cuda.so", None, "required", ""),
        (CP312, "demo/libtorch_ext.so", None, "required", ""),
        ("no wheel", "demo/a.so", None, "required", ""),
    ],
)
def test_a_name_tells(filename: str, path: str, python: str | None, load: str, choice: str) -> None:
    found = find_load((), release_of(filename), path, python or python_of(filename))
    assert (found.kind, found.choice, found.curated) == (load, choice, False)


def test_members_for_each_torch_are_one_group() -> None:
    loads = [
        find_load((), release_of(CP312), f"demo/ep_2_{minor}_0.cpython-312-x86_64-linux-gnu.so")
        for minor in (9, 10)
    ]
    assert [load.rule and load.rule.group for load in loads] == ["demo/ep", "demo/ep"]


def bitsandbytes(version: str, *choices: str) -> WheelLink:
    facts = wheel(
        {f"bitsandbytes/libbitsandbytes_{choice}.so": ([], []) for choice in choices},
        filename=f"bitsandbytes-{version}-py3-none-manylinux_2_24_x86_64.whl",
    )
    return link_wheel(facts, HISTORY, RULES, machine="x86_64")


def check(link: WheelLink, torch: str) -> tuple[Reason, ...]:
    return check_torch(link, Version(torch), machine="x86_64")


def test_bitsandbytes_opens_the_library_for_the_cuda_of_torch() -> None:
    link = bitsandbytes("0.48.1", "cpu", "cuda128", "cuda130", "xpu", "rocm72")
    loads = [str(row.load) for row in link.members]
    assert loads == ["selected-by:cuda"] * 3 + ["never"] * 2
    assert check(link, "2.9.1") == ()  # built for CUDA 12.8, says its column
    assert check(link, "2.9.1+cu130") == ()
    assert check(link, "2.9.1+cpu") == ()
    (reason,) = check(link, "2.15.0+cu132")
    assert (reason.code, reason.severity) == (Code.MISSING_LIBRARY, Severity.DEGRADED)
    assert reason.needs == "a libbitsandbytes member for CUDA 13.2, named 132"
    assert reason.found == "members named 128, 130, cpu"
    assert reason.remedy == (
        "Use a torch that bitsandbytes 0.48.1 brings a member for, or a release of bitsandbytes "
        "that has one for CUDA 13.2."
    )


def test_an_earlier_bitsandbytes_has_none_for_this_cuda() -> None:
    link = bitsandbytes("0.45.2", "cpu", "cuda125", "cuda126")
    assert check(link, "2.7.0") == ()  # built for CUDA 12.6
    (reason,) = check(link, "2.7.0+cu128")
    assert (reason.code, reason.severity) == (Code.MISSING_LIBRARY, Severity.DEGRADED)
    assert reason.evidence.endswith("opens libbitsandbytes_cpu: no GPU quantization")


def test_a_later_bitsandbytes_takes_the_nearest_of_the_major() -> None:
    link = bitsandbytes("0.50.2", "cpu", "cuda128", "cuda130")
    assert check(link, "2.15.0+cu132") == ()
    (reason,) = check(bitsandbytes("0.50.2", "cpu", "cuda128"), "2.15.0+cu132")
    assert reason.needs == "a libbitsandbytes member for CUDA 13, named 13"


def test_mooncake_names_the_release_in_full() -> None:
    names = [f"mooncake/pg_2_{m}.cpython-312-x86_64-linux-gnu.so" for m in ("12_0", "12_1")]
    filename = "mooncake_transfer_engine-0.3.13-cp312-cp312-manylinux_2_28_x86_64.whl"
    loads = [(name, find_load(RULES, release_of(filename), name)) for name in names]
    assert unserved(loads, Version("2.12.1"), None) == ()
    (lacking,) = unserved(loads, Version("2.12.2"), None)
    assert lacking.choice == "2_12_2"
    roles = [role_of(load, (), Version("2.12.1")) for _name, load in loads]
    assert roles[0] == "skipped"
    assert roles[1] not in (None, "skipped")


def role(load: MemberLoad, torch: str, cuda: str | None) -> object:
    return role_of(load, (), Version(torch), CudaVersion.parse(cuda) if cuda else None)


def test_the_role_of_what_cuda_selects() -> None:
    load = find_load(
        RULES,
        release_of("bitsandbytes-0.48.1-py3-none-any.whl"),
        "bitsandbytes/libbitsandbytes_cuda130.so",
    )
    assert role(load, "2.9.1", "12.8") == "skipped"
    chosen = role(load, "2.9.1", "13.0")
    assert getattr(chosen, "kind", None) == "optional"
    assert getattr(role(load, "2.9.1", None), "kind", None) == "one-of"


def test_what_is_never_loaded_decides_nothing() -> None:
    facts = wheel({"demo/a.so": ([CLONE], []), "demo.libs/libb.so": ([CHECK_INT], [])})
    link = link_wheel(facts, HISTORY, (), machine="x86_64")
    assert [row.member.path for row in link.deciding(4)] == ["demo/a.so"]
    assert (link.spared(4), check(link, "2.10.0")) == ((), ())


def test_a_library_for_another_cuda_is_no_mismatch() -> None:
    facts = wheel(
        {
            f"bitsandbytes/libbitsandbytes_{name}.so": ([], [])
            for name in ("cuda128", "cuda130", "xpu")
        },
        filename="bitsandbytes-0.48.1-py3-none-manylinux_2_24_x86_64.whl",
    )
    needs, subject, link = cuda_needs(facts, "libcudart.so.12")
    for fatal in (True, False):
        assert needs.cuda_reasons(link, subject, fatal=fatal) == []
    # Of members none of which decides, nothing was measured.
    assert needs.code_check(link.wheel, subject, link) is None


def cuda_needs(facts: WheelFacts, soname: str) -> tuple[MemberNeeds, Release, WheelLink]:
    """The needs beside CUDA 13 of a wheel each of whose members needs ``soname``."""
    needing = [
        replace(row, facts=replace(row.facts, needed=(soname,)))
        for row in facts.members
        if row.facts is not None
    ]
    link = link_wheel(replace(facts, members=tuple(needing)), HISTORY, RULES, machine="x86_64")
    target = Target(
        cuda=CudaVersion(13, 0),
        archs=(),
        python=Version("3.12.0"),
        machine="x86_64",
        glibc=(2, 35),
    )
    subject = release_of(facts.filename)
    assert isinstance(subject, Release)
    return MemberNeeds(KnowledgeBase().facts, target), subject, link


@pytest.mark.parametrize(
    ("version", "suffixes", "degraded"),
    [
        ("0.0.8", ("cpp",), ["cpp.abi3.so in"]),
        (
            "0.0.9",
            ("hook_mode_preload", "hook_mode_torch"),
            ["hook_mode_preload.abi3.so and 1 more member in"],
        ),
        ("0.0.9.post1", ("hook_mode_preload_cu12", "hook_mode_preload"), []),
        ("0.0.10", ("hook_mode_torch_cu12", "hook_mode_torch"), []),
    ],
)
def test_what_is_opened_at_first_use_refuses_no_package(
    version: str, suffixes: tuple[str, ...], degraded: list[str]
) -> None:
    # torch-memory-saver 0.0.9, which sglang 0.5.9 pins, imports beside CUDA 13.
    facts = wheel(
        {f"torch_memory_saver_{suffix}.abi3.so": ([], []) for suffix in suffixes},
        filename=f"torch_memory_saver-{version}-cp39-abi3-manylinux2014_x86_64.whl",
    )
    needs, subject, link = cuda_needs(facts, "libcudart.so.12")
    assert needs.cuda_reasons(link, subject, fatal=True) == []
    found = needs.cuda_reasons(link, subject, fatal=False)
    assert [(r.severity, r.evidence.rpartition(" in ")[0] + " in") for r in found] == [
        (Severity.DEGRADED, f"DT_NEEDED of torch_memory_saver_{members}") for members in degraded
    ]


@pytest.mark.parametrize("member", ["lib/_turbomind", "turbomind/_turbomind"])
def test_one_of_two_engines_refuses_no_package(member: str) -> None:
    # lmdeploy takes its PyTorch engine where the other, a build for CUDA 12, does not load.
    facts = wheel(
        {f"lmdeploy/{member}.cpython-312-x86_64-linux-gnu.so": ([], [])},
        filename="lmdeploy-0.18.0-cp312-cp312-manylinux_2_28_x86_64.whl",
    )
    needs, subject, link = cuda_needs(facts, "libcublasLt.so.12")
    assert needs.cuda_reasons(link, subject, fatal=True) == []
    (reason,) = needs.cuda_reasons(link, subject, fatal=False)
    assert (reason.severity, reason.code) == (Severity.DEGRADED, Code.CUDA_MISMATCH)
