from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from packaging.version import Version

from resolver.abi.link import WheelLink, link_wheel
from resolver.abi.load_rules import find_load
from resolver.abi.verdict import check_torch, link_evidence, torch_text, works_with
from resolver.abi.wheel_symbols import symbols_of
from resolver.errors import KnowledgeError
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.model.cuda import Arch
from resolver.model.load_knowledge import LoadRule
from resolver.model.reason import Code, Grade, Reason, Severity
from resolver.model.release import release_of
from tests.abi.columns import (
    CHECK_INT,
    CHECK_UNSIGNED,
    CLONE,
    DELETE,
    SYM_NE,
    small_history,
    wheel,
)
from tests.support.named import named

HISTORY = small_history()
RULES = KnowledgeBase().load_rules
SGL = "sgl_kernel-0.3.21-cp310-abi3-manylinux2014_x86_64.whl"


Members = dict[str, tuple[list[str], list[str]]]


def _rules_file(place: Path) -> Path:
    (place / "abi").mkdir()
    return place / "abi" / "load_rules.toml"


def link(
    members: Members,
    filename: str = "demo-1.0-cp312-cp312-manylinux_2_28_x86_64.whl",
    rules: tuple[LoadRule, ...] = RULES,
    archs: tuple[Arch, ...] = (),
) -> WheelLink:
    facts = wheel(members, filename=filename)
    return link_wheel(facts, HISTORY, rules, machine="x86_64", archs=archs)


def releases(found: WheelLink, mask: int | None = None) -> list[str]:
    return [str(v) for v in found.releases(found.mask if mask is None else mask)]


def check(found: WheelLink, version: str) -> tuple[Reason, ...]:
    return check_torch(found, Version(version), machine="x86_64")


def test_every_required_member_must_link() -> None:
    found = link({"demo/a.so": ([CHECK_INT, "puts"], []), "demo/b.so": ([SYM_NE], [])})
    assert releases(found) == ["2.9.0", "2.9.1"]
    assert found.symbols == (CHECK_INT, SYM_NE)
    assert found.missing(0) == (SYM_NE,)
    assert found.missing(4) == (CHECK_INT,)
    assert [str(m.load) for m in found.members] == ["required", "required"]
    assert not any(m.load.curated for m in found.members)


def test_needs_are_worked_out_once_for_the_same_facts_and_no_others() -> None:
    few = replace(wheel({"demo/a.so": ([CLONE], [])}), sha256="0" * 64)
    more = replace(wheel({"demo/a.so": ([CLONE, SYM_NE], [])}), sha256="0" * 64)
    first = symbols_of(few, HISTORY)
    assert symbols_of(replace(few, bytes_read=1), HISTORY) is first
    assert symbols_of(more, HISTORY).members[0].symbols == (CLONE, SYM_NE)  # read deeper
    assert symbols_of(few, small_history()) is not first  # by other torch builds


def test_what_a_sibling_defines_is_no_need() -> None:
    own = "_ZN2at6Tensor7privateEv"
    found = link({"demo/a.so": ([own, CLONE], []), "demo/b.so": ([], [own])})
    assert found.symbols == (CLONE,)


def test_a_wheel_without_torch_symbols_links_with_all() -> None:
    found = link({"demo/a.so": (["puts"], [])})
    assert releases(found) == ["2.6.0", "2.8.0", "2.9.0", "2.9.1", "2.10.0"]
    assert check(found, "1.0.dev1") == ()
    assert works_with(found) is None


def test_a_name_that_no_torch_exports_is_somebody_s() -> None:
    quant = "_ZN7QUTLASS18matmul_mxf8_bf16_tERKN2at6TensorES3_"
    found = link({"demo/a.so": ([quant, CLONE, "_ZNSs2atEm"], [])})
    assert (found.symbols, found.unowned) == ((CLONE,), (quant,))
    assert works_with(found) == "torch >=2.6 (or older)"
    # One of torch's own namespaces is torch's: such a torch was not read.
    future = link({"demo/a.so": (["_ZN2at6native6futureERKNS_6TensorE"], [])})
    assert (future.unowned, releases(future)) == ((), [])


def test_the_other_string_is_named_as_that() -> None:
    old = "_ZN3c106detail14torchCheckFailEPKcS2_jRKSs"
    found = link({"demo/a.so": ([old, CHECK_INT], [])})
    (reason,) = check(found, "2.9.1")
    assert (reason.code, reason.severity) == (Code.CXX11_ABI, Severity.FATAL)
    assert reason.needs == (
        "a torch with the old C++11 ABI of std::string: c10::detail::torchCheckFail(char const*, "
        "char const*, unsigned int, std::string const&)"
    )
    assert reason.found == "torch 2.9.1 with the new one"
    assert reason.symbols == (old,)
    assert reason.remedy == "Take a build of demo for the new one (cxx11abiTRUE)."
    # To a torch with the old one it is a symbol like any other.
    (reason,) = check(found, "2.6.0")
    assert reason.code is Code.MISSING_SYMBOL


def test_optional_members_degrade() -> None:
    found = link(
        {"torchao/_C.abi3.so": ([CHECK_INT], [])}, "torchao-0.9.0-cp39-abi3-linux_x86_64.whl"
    )
    assert releases(found) == ["2.6.0", "2.8.0", "2.9.0", "2.9.1", "2.10.0"]
    assert releases(found, found.every_mask) == ["2.6.0", "2.8.0", "2.9.0", "2.9.1"]
    assert (found.missing(4), found.missing(4, every=True)) == ((), (CHECK_INT,))
    assert works_with(found) is None
    (reason,) = check(found, "2.10.0")
    assert (reason.code, reason.severity) == (Code.MISSING_SYMBOL, Severity.DEGRADED)
    assert reason.remedy == (
        "The package imports without it; for this feature use torch >=2.6 (or older),<2.10."
    )


def test_one_of_needs_one() -> None:
    name = "torchcodec-0.9.1-cp312-cp312-linux_x86_64.whl"
    found = link(
        {
            "torchcodec/libtorchcodec_core6.so": ([CHECK_INT], []),
            "torchcodec/libtorchcodec_core7.so": ([CHECK_UNSIGNED], []),
            "torchcodec/libtorchcodec_custom_ops7.so": ([SYM_NE, DELETE, "_ZN2at1xEv"], []),
        },
        name,
    )
    assert releases(found) == ["2.6.0", "2.8.0", "2.9.0", "2.9.1"]
    assert [str(m.load) for m in found.members] == ["one-of:ffmpeg"] * 3
    # Of the alternatives that do not link, the nearest one is reported.
    assert found.missing(4) == (CHECK_INT,)
    (reason,) = check(found, "2.10.0")
    assert (reason.severity, reason.member) == (
        Severity.FATAL,
        "torchcodec/libtorchcodec_core6.so",
    )


def test_selected_by_gpu() -> None:
    members: Members = {
        "sgl_kernel/sm90/common_ops.abi3.so": ([CHECK_INT], []),
        "sgl_kernel/sm100/common_ops.abi3.so": ([CHECK_UNSIGNED], []),
    }
    assert releases(link(members, SGL)) == []
    hopper = link(members, SGL, archs=(Arch.parse("sm90"),))
    assert releases(hopper) == ["2.6.0", "2.8.0", "2.9.0", "2.9.1"]
    blackwell = link(members, SGL, archs=(Arch.parse("sm120"), Arch.parse("sm_80")))
    assert releases(blackwell) == ["2.10.0"]
    assert [m.member.path for m in hopper.deciding(0)] == ["sgl_kernel/sm90/common_ops.abi3.so"]
    assert str(hopper.members[0].load) == "selected-by:gpu"


def test_selected_by_torch() -> None:
    name = "nixl_cu12-1.5.1-cp312-cp312-linux_x86_64.whl"
    members: Members = {
        "nixl_ep_cu12/nixl_ep_cpp_torch29.cpython-312-x86_64-linux-gnu.so": ([CHECK_INT], []),
        "nixl_ep_cu12/nixl_ep_cpp_torch210.cpython-312-x86_64-linux-gnu.so": ([CHECK_INT], []),
    }
    found = link(members, name)
    # The extension is a feature of its own: nothing keeps the package from loading.
    assert releases(found) == ["2.6.0", "2.8.0", "2.9.0", "2.9.1", "2.10.0"]
    assert check(found, "2.9.1") == ()
    (reason,) = check(found, "2.10.0")
    assert (reason.code, reason.severity) == (Code.MISSING_SYMBOL, Severity.DEGRADED)
    assert reason.member == "nixl_ep_cu12/nixl_ep_cpp_torch210.cpython-312-x86_64-linux-gnu.so"
    (reason,) = check(found, "2.8.0")
    assert (reason.code, reason.severity) == (Code.MISSING_LIBRARY, Severity.DEGRADED)
    assert reason.needs == "a nixl_ep member for torch 2.8, named 28"
    assert reason.found == "members named 210, 29"


def test_the_reason_for_a_missing_symbol() -> None:
    found = link(
        {
            "sgl_kernel/sm90/common_ops.abi3.so": ([CHECK_INT, SYM_NE], []),
            "sgl_kernel/sm100/common_ops.abi3.so": ([CHECK_INT, SYM_NE], []),
        },
        SGL,
    )
    (reason,) = check(found, "2.10.0+cu130")
    assert reason == Reason(
        code=Code.MISSING_SYMBOL,
        severity=Severity.FATAL,
        subject=named("sgl-kernel 0.3.21"),
        object=named("torch 2.10.0+cu130"),
        member="sgl_kernel/sm100/common_ops.abi3.so",
        needs="c10::cuda::c10_cuda_check_implementation(int, char const*, char const*, int, bool)",
        found="c10::cuda::c10_cuda_check_implementation"
        "(int, char const*, char const*, unsigned int, bool)",
        symbols=(CHECK_INT,),
        works_with="torch >=2.9,<2.10",
        grade=Grade.INFERRED,
        evidence="the undefined symbols of sgl_kernel/sm100/common_ops.abi3.so and 1 more member "
        f"in {SGL} (sha256 555555555555), compared with what "
        "torch-2.10.0-cp312-cp312-manylinux_2_28_x86_64.whl "
        f"(sha256 {HISTORY.builds[4].files[0].sha256[:12]}) exports, "
        "a sibling build of torch 2.10.0+cu130 with the same C++ ABI; "
        "other releases have them in libc10_cuda.so",
        remedy="Use torch >=2.9,<2.10, or a release of sgl-kernel that was built for "
        "torch 2.10.0+cu130.",
    )
    (reason,) = check(found, "2.8.0")
    assert (reason.needs, reason.found, reason.grade) == (
        "c10::SymInt::sym_ne_slow_path(c10::SymInt const&) const",
        "no symbol of that name",
        Grade.MEASURED,
    )
    assert check(found, "2.9.0") == ()
    match = HISTORY.match(Version("2.9.1"), machine="x86_64")
    assert match is not None
    assert link_evidence(found, match) == (
        f"all 2 symbols of {SGL} (sha256 555555555555) are exported by "
        f"torch-2.9.1-cp312-cp312-manylinux_2_28_x86_64.whl "
        f"(sha256 {match.build.files[0].sha256[:12]}); links, not run"
    )


def test_no_torch_will_do() -> None:
    names = [CHECK_INT, CHECK_UNSIGNED, "_ZN2at4goneEv", "_ZN2at5gone2Ev"]
    (reason,) = check(link({"demo/a.so": (names, [])}), "2.9.1")
    assert reason.works_with is None
    assert reason.remedy == (
        "No torch that was read exports what it needs: build demo against torch 2.9.1."
    )
    assert reason.needs.endswith("; and 1 more")
    assert len(reason.symbols) == 3


def test_a_torch_that_nothing_is_known_of() -> None:
    (reason,) = check(link({"demo/a.so": ([CHECK_INT], [])}), "2.12.0.dev20260226+cu130")
    assert (reason.code, reason.severity, reason.grade) == (
        Code.UNVERIFIED,
        Severity.WARNING,
        Grade.ASSUMED,
    )
    assert reason.works_with == "torch >=2.6 (or older),<2.10"


@pytest.mark.parametrize(
    ("version", "whose"),
    [("2.9.0+nv24.8", "NVIDIA's"), ("2.9.0+ffbkernel", "a vendor's"), ("2.9.0+rocm6.4", None)],
)
def test_a_build_of_a_vendor_is_unknown(version: str, whose: str | None) -> None:
    (reason,) = check(link({"demo/a.so": ([CHECK_INT], [])}), version)
    assert reason.code is Code.UNVERIFIED
    end = "" if whose is None else f": +{version[6:]} is {whose} build, from a source of its own"
    assert reason.evidence.endswith(f"no sibling in it that it could inherit from{end}")


@pytest.mark.parametrize(
    ("good", "text"),
    [
        (["2.9.0", "2.9.1"], "torch >=2.9,<2.10"),
        (["2.9.1", "2.10.0"], "torch >=2.9.1"),
        (["2.9.0"], "torch >=2.9,<2.9.1"),
        (["2.6.0", "2.9.0", "2.9.1", "2.10.0"], "torch >=2.6 (or older),<2.8 or >=2.9"),
        (["2.6.0", "2.8.0", "2.9.0", "2.9.1", "2.10.0"], "torch >=2.6 (or older)"),
        ([], None),
    ],
)
def test_ranges(good: list[str], text: str | None) -> None:
    found = link({"demo/a.so": ([CLONE], [])})
    mask = sum(1 << i for i, b in enumerate(HISTORY.builds) if str(b.version) in good)
    assert torch_text(found, mask) == text


class TestRules:
    def test_the_shipped_ones(self) -> None:
        def load(filename: str, path: str) -> str:
            return str(find_load(RULES, release_of(filename), path))

        assert load(SGL, "sgl_kernel/flash_ops.abi3.so") == "optional"
        assert load(SGL, "sgl_kernel/sm100/common_ops.abi3.so") == "selected-by:gpu"
        assert load(SGL, "deep_gemm/deep_gemm_cpp.abi3.so") == "optional"
        assert load(SGL, "lib/mscclpp.so.0.6.0") == "optional"
        old = "sgl_kernel-0.1.9-cp39-abi3-manylinux2014_x86_64.whl"
        assert load(old, "sgl_kernel/common_ops.abi3.so") == "required"
        new = "sglang_kernel-0.4.10-cp310-abi3-manylinux2014_x86_64.whl"
        infllm = "sgl_kernel/infllm_ops.cpython-310-x86_64-linux-gnu.so"
        assert load(new, infllm) == "optional"
        codec = "torchcodec-0.17.0-cp312-cp312-linux_x86_64.whl"
        assert load(codec, "torchcodec/libtorchcodec_core8.so") == "one-of:ffmpeg"
        assert load(codec, "torchcodec/libtorchcodec_pybind_ops.so") == "required"
        assert load("xformers-0.0.33-cp39-abi3-linux_x86_64.whl", "xformers/_C.so") == "optional"
        vision = "torchvision-0.29.2-py3-none-linux_x86_64.whl"
        assert load(vision, "torchvision/image_stable.so") == "optional"
        assert load(vision, "torchvision/_C_stable.so") == "required"

    def test_versions_bound_a_rule(self) -> None:
        path = "vllm/_qutlass_C.abi3.so"
        old = find_load(RULES, release_of("vllm-0.10.1-cp38-abi3-linux_x86_64.whl"), path)
        new = find_load(RULES, release_of("vllm-0.33.0-cp38-abi3-linux_x86_64.whl"), path)
        assert (old.curated, new.curated) == (False, True)

    def test_odd_file_names_have_no_rule(self) -> None:
        assert not find_load(RULES, release_of("odd.whl"), "a.so").curated

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("rule = 3", "rule"),
            ("[[rule]]\nid = 'a'", "the key is missing"),
            ("x", "load_rules.toml"),
            ("[[rule]]\n{base}\nload = 'often'", "load"),
            ("[[rule]]\n{base}\nload = 'one-of'", "a group has a name"),
            ("[[rule]]\n{base}\nload = 'required'\nby = 'gpu'", "selected-by says by what"),
            ("[[rule]]\n{base}\nload = 'required'\nunknown = 1", "no such key"),
            ("[[rule]]\n{base}\nload = 'required'\nversions = 'new'", "versions"),
            ("[[rule]]\n{choice}\nload='selected-by'\ngroup='g'\nby='gpu'", "otherwise"),
            ("[[rule]]\n{base}\nload='required'\n[[rule]]\n{base}\nload='required'", "twice"),
        ],
    )
    def test_what_does_not_validate(self, tmp_path: Path, text: str, message: str) -> None:
        fields = 'id="a"\nprojects=["p"]\nsource="s"\ndate=2026-11-29\n'
        base = fields + 'pattern="a"'
        choice = fields + "pattern='(?P<choice>a)'"
        body = text.replace("{base}", base).replace("{choice}", choice)
        _rules_file(tmp_path).write_text(body)
        with pytest.raises(KnowledgeError, match=message):
            _ = KnowledgeBase(tmp_path).load_rules

    def test_absent(self, tmp_path: Path) -> None:
        with pytest.raises(KnowledgeError, match="there is no such file"):
            _ = KnowledgeBase(tmp_path).load_rules

    def test_a_bad_pattern(self, tmp_path: Path) -> None:
        _rules_file(tmp_path).write_text(
            '[[rule]]\nid="a"\nprojects=["p"]\npattern="("\nload="required"\nsource="s"\n'
            "date=2026-11-29\n"
        )
        with pytest.raises(KnowledgeError, match="pattern"):
            _ = KnowledgeBase(tmp_path).load_rules
