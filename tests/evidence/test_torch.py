"""What a file's symbols say of torch: bound, pair, refusal, and what metadata says beside."""

from __future__ import annotations

import pytest

from resolver.model.artifact import Artifact
from resolver.model.outcome import Pair
from resolver.model.reason import Code, Grade, Reason, Severity
from resolver.solve.candidate import Bound
from tests.abi.columns import CHECK_INT, CLONE, DELETE, SYM_NE
from tests.evidence.world import World, facts, file, member, metadata, torch
from tests.support.fakes import make_target
from tests.support.named import named

KERNEL = file("kernel")
NAME = "kernel-1.0-cp312-cp312-manylinux_2_28_x86_64.whl"
READ = f"{NAME} (sha256 5478f5713ebc)"
TORCH_291 = "torch-2.9.1-cp312-cp312-manylinux_2_28_x86_64.whl (sha256 c4273a211f38)"
TORCH_2100 = "torch-2.10.0-cp312-cp312-manylinux_2_28_x86_64.whl (sha256 69fa9e7a82a0)"


def world(*symbols: str) -> World:
    symbols = symbols or (CLONE, CHECK_INT, SYM_NE)
    return World().tell(facts(KERNEL, member("kernel/core.so", *symbols)))


def bound(of: World, artifact: Artifact = KERNEL, *requires: str) -> Bound:
    (need,) = of.evidence().needs(artifact, metadata(artifact, *requires))
    assert isinstance(need, Bound)
    return need


def test_symbols_become_a_bound_on_torch() -> None:
    need = bound(world())
    assert (need.project, need.origin, need.text) == ("torch", "kernel 1.0", "torch >=2.9,<2.10")
    assert need.by == "its bytes"
    accepted = {v: need.accepts(torch(v)) for v in ("2.6.0", "2.8.0", "2.9.0", "2.9.1", "2.10.0")}
    assert accepted == {
        "2.6.0": False,
        "2.8.0": False,
        "2.9.0": True,
        "2.9.1": True,
        "2.10.0": False,
    }


def test_a_torch_that_nobody_read_is_judged_by_its_sibling_or_accepted() -> None:
    need = bound(world())
    assert not need.accepts(torch("2.10.0", read=False))
    assert need.accepts(torch("2.15.0", read=False))
    assert need.accepts(torch("2.10.0.dev20260101", read=False))


def test_a_bound_explains_what_it_refuses() -> None:
    missing, mismatch = bound(world(), KERNEL, "torch>=2.8").explain(torch("2.10.0"))
    assert missing == Reason(
        code=Code.MISSING_SYMBOL,
        subject=named("kernel 1.0"),
        object=named("torch 2.10.0"),
        member="kernel/core.so",
        needs="c10::cuda::c10_cuda_check_implementation(int, char const*, char const*, int, bool)",
        found="c10::cuda::c10_cuda_check_implementation(int, char const*, char const*, "
        "unsigned int, bool)",
        symbols=(CHECK_INT,),
        works_with="torch >=2.9,<2.10",
        evidence=f"the undefined symbols of kernel/core.so in {READ}, compared with what "
        f"{TORCH_2100} exports; other releases have them in libc10_cuda.so",
        remedy="Use torch >=2.9,<2.10, or a release of kernel that was built for torch 2.10.0.",
    )
    assert mismatch == Reason(
        code=Code.METADATA_MISMATCH,
        severity=Severity.WARNING,
        subject=named("kernel 1.0"),
        object=named("torch 2.10.0"),
        needs="torch >=2.9,<2.10",
        found="metadata that accepts torch>=2.8",
        evidence=f"Requires-Dist and undefined symbols of {NAME}",
        remedy="do not rely on pip or uv here: they see the metadata alone",
    )


def test_a_bound_explains_itself_where_no_torch_is_named() -> None:
    (reason,) = bound(world()).explain(None)
    assert reason == Reason(
        code=Code.MISSING_SYMBOL,
        subject=named("kernel 1.0"),
        object=named("torch"),
        needs="a torch that exports its 3 symbols",
        found="none among the candidates",
        works_with="torch >=2.9,<2.10",
        evidence=f"the undefined symbols of {NAME}, compared with every torch in the symbol "
        "history",
        remedy="allow torch >=2.9,<2.10",
    )


def test_symbols_that_no_torch_exports() -> None:
    need = bound(world(CHECK_INT, DELETE))
    assert need.text == "a torch that exports its symbols"
    (reason,) = need.explain(None)
    assert (reason.works_with, reason.remedy) == (None, "build it from source against your torch")


@pytest.mark.parametrize(
    ("requires", "found"),
    [
        pytest.param(["torch>=2.8"], "metadata that accepts torch>=2.8", id="a-floor"),
        pytest.param(["torch"], "metadata that accepts any torch", id="no-version"),
        pytest.param(
            ["torch>=2.8", "torch<3"], "metadata that accepts torch<3,>=2.8", id="two-lines"
        ),
        pytest.param([], None, id="nothing-declared"),
        pytest.param(["torch==2.9.1"], None, id="metadata-refuses-it-too"),
        pytest.param(["torch>=2.8", "torch<2.10"], None, id="one-line-refuses-it"),
        pytest.param(["torch; sys_platform == 'darwin'"], None, id="for-another-platform"),
        pytest.param(["torch; extra == 'all'"], None, id="of-an-extra"),
    ],
)
def test_metadata_refuted_by_bytes(requires: list[str], found: str | None) -> None:
    reasons = world().evidence().refusals(KERNEL, metadata(KERNEL, *requires), torch("2.10.0"))
    assert [r.found for r in reasons if r.code is Code.METADATA_MISMATCH] == [found] * bool(found)
    assert reasons[0].code is Code.MISSING_SYMBOL


@pytest.mark.parametrize(
    ("requires", "said"),
    [
        pytest.param(["torch==2.10.0"], "torch==2.10.0", id="a-pin"),
        pytest.param(["torch>=2.10", "torch<3"], "torch<3,>=2.10", id="a-range"),
        # vllm 0.16.0 has two pins.
        pytest.param(["torch==2.9.1", "torch==2.10.0"], "torch==2.10.0,==2.9.1", id="two-pins"),
    ],
)
def test_a_fix_is_possible_where_bytes_and_metadata_exclude_each_other(
    requires: list[str], said: str
) -> None:
    reasons = world().evidence().refusals(KERNEL, metadata(KERNEL, *requires), torch("2.10.0"))
    assert reasons[0].remedy == (
        f"No torch that was read suits both its bytes (torch >=2.9,<2.10) and its metadata ({said})"
        ": use another release of kernel, or build it from source."
    )


def test_what_links_is_not_refused() -> None:
    assert world().evidence().refusals(KERNEL, metadata(KERNEL), torch("2.9.1")) == ()


def test_a_refusal_by_a_sibling_of_torch_is_inferred() -> None:
    reasons = (
        world().evidence().refusals(KERNEL, metadata(KERNEL, "torch"), torch("2.10.0", read=False))
    )
    assert [reason.grade for reason in reasons] == [Grade.INFERRED, Grade.INFERRED]


def test_a_pin_beyond_what_the_bytes_need() -> None:
    (reason,) = (
        world().evidence().overdeclared(KERNEL, metadata(KERNEL, "torch==2.9.0"), torch("2.9.1"))
    )
    assert reason == Reason(
        code=Code.METADATA_MISMATCH,
        severity=Severity.WARNING,
        subject=named("kernel 1.0"),
        object=named("torch 2.9.1"),
        needs="torch==2.9.0, says its metadata",
        found="bytes that link with torch >=2.9,<2.10",
        works_with="torch >=2.9,<2.10",
        evidence=f"Requires-Dist of {NAME}; all 3 symbols of {READ} are exported by {TORCH_291}; "
        "links, not run",
        remedy="its authors pin what they test: lift the pin with --override only to try",
    )


@pytest.mark.parametrize(
    ("requires", "version"),
    [
        pytest.param("torch==2.9.0", "2.9.0", id="the-pin-holds"),
        pytest.param("torch==2.9.0", "2.10.0", id="the-bytes-refuse-it-too"),
        pytest.param("torch==2.9.0", "2.15.0", id="nothing-known-of-that-torch"),
        pytest.param("torch==2.9.0; sys_platform == 'darwin'", "2.9.1", id="another-platform"),
        pytest.param("numpy", "2.9.1", id="no-pin"),
    ],
)
def test_no_pin_goes_too_far(requires: str, version: str) -> None:
    said = metadata(KERNEL, requires)
    assert world().evidence().overdeclared(KERNEL, said, torch(version)) == ()


def test_what_needs_no_symbol_is_bound_to_no_torch() -> None:
    plain = World().tell(facts(KERNEL, member("kernel/core.so", "strlen")))
    evidence = plain.evidence()
    said = metadata(KERNEL, "torch==2.9.1")
    assert evidence.needs(KERNEL, said) == ()
    assert evidence.refusals(KERNEL, said, torch("2.10.0")) == ()
    assert evidence.overdeclared(KERNEL, said, torch("2.10.0")) == ()
    pair = evidence.pair(KERNEL, torch("2.10.0"))
    assert pair is not None
    assert (pair.symbols, pair.evidence) == (0, f"no member of {NAME} needs a symbol of torch")


def test_a_measured_pair() -> None:
    evidence = world().evidence()
    assert evidence.pair(KERNEL, torch("2.9.1")) is None  # nobody asked for the file's needs
    evidence.needs(KERNEL, metadata(KERNEL))
    assert evidence.pair(KERNEL, torch("2.9.1")) == Pair(
        extension=named("kernel 1.0"),
        torch=named("torch 2.9.1"),
        grade=Grade.MEASURED,
        symbols=3,
        evidence=f"all 3 symbols of {READ} are exported by {TORCH_291}; links, not run",
        summary="all 3 torch symbols are exported; links, not run",
    )
    assert evidence.pair(KERNEL, torch("2.10.0")) is None
    assert evidence.pair(KERNEL, torch("2.15.0")) is None


def test_a_pair_with_a_torch_that_nobody_read_is_inferred() -> None:
    evidence = world().evidence()
    evidence.needs(KERNEL, metadata(KERNEL))
    pair = evidence.pair(KERNEL, torch("2.9.1", read=False))
    assert pair is not None
    assert pair.grade is Grade.INFERRED


def test_a_nightly_torch_gives_no_pair_and_a_warning() -> None:
    evidence = world().evidence()
    evidence.needs(KERNEL, metadata(KERNEL))
    nightly = torch("2.10.0.dev20260101", read=False)
    assert evidence.pair(KERNEL, nightly) is None
    (remark,) = evidence.remarks(KERNEL, nightly)
    assert (remark.code, remark.severity) == (Code.UNVERIFIED, Severity.WARNING)
    assert remark.grade is Grade.ASSUMED
    assert remark.found == "nothing known of what torch 2.10.0.dev20260101 exports"


def test_an_optional_member_degrades() -> None:
    both = World().tell(
        facts(KERNEL, member("kernel/core.so", CLONE), member("kernel/extra.so", CLONE, CHECK_INT))
    )
    evidence = both.evidence()
    (need,) = evidence.needs(KERNEL, metadata(KERNEL))
    assert isinstance(need, Bound)
    assert need.accepts(torch("2.10.0"))
    pair = evidence.pair(KERNEL, torch("2.10.0"))
    assert pair is not None
    assert pair.summary == (
        "1 of 2 torch symbols are exported; 1 of 2 belong to optional members; links, not run"
    )
    assert pair.evidence == (
        f"1 of 2 symbols of {READ} are exported by {TORCH_2100}; 1 of 2 belong to optional "
        "members; links, not run"
    )
    (remark,) = evidence.remarks(KERNEL, torch("2.10.0"))
    assert (remark.code, remark.severity) == (Code.MISSING_SYMBOL, Severity.DEGRADED)
    assert remark.member == "kernel/extra.so"
    assert remark.remedy == (
        "The package imports without it; for this feature use torch >=2.6 (or older),<2.10."
    )
    assert evidence.remarks(KERNEL, torch("2.9.1")) == ()


def test_a_symbol_of_nobody_s_is_not_measured() -> None:
    quant = "_ZN7QUTLASS18matmul_mxf8_bf16_tERKN2at6TensorES3_"
    whose = World().tell(facts(KERNEL, member("kernel/core.so", CLONE, quant)))
    evidence = whose.evidence()
    (need,) = evidence.needs(KERNEL, metadata(KERNEL))
    assert isinstance(need, Bound)
    assert need.accepts(torch("2.9.1"))
    pair = evidence.pair(KERNEL, torch("2.9.1"))
    assert pair is not None
    assert pair.grade is Grade.ASSUMED
    (remark,) = evidence.remarks(KERNEL, torch("2.9.1"))
    assert (remark.code, remark.severity) == (Code.UNVERIFIED, Severity.WARNING)
    assert remark.needs == "QUTLASS::matmul_mxf8_bf16_t(at::Tensor const&, at::Tensor const&)"
    assert remark.found == (
        "nobody that was read exports it: neither a member of its own nor any torch"
    )
    assert remark.remedy == "Another package may bring it: try the import before you rely on it."


def test_a_group_selected_by_torch_serves_the_releases_it_is_for() -> None:
    bridged = World().tell(
        facts(KERNEL, member("kernel/core.so", CLONE), member("kernel/bridge29.so", SYM_NE))
    )
    evidence = bridged.evidence()
    evidence.needs(KERNEL, metadata(KERNEL))
    assert evidence.remarks(KERNEL, torch("2.9.1")) == ()
    assert evidence.remarks(KERNEL, torch("2.10.0")) == ()  # it brings the bridge itself
    (remark,) = evidence.remarks(KERNEL, torch("2.8.0"))
    assert (remark.code, remark.severity) == (Code.MISSING_LIBRARY, Severity.DEGRADED)
    assert remark.needs == "a bridge member for torch 2.8, named 28"
    assert remark.found == "members named 29"


def test_alternatives_that_nobody_curated_bind_nothing() -> None:
    other = file("other")
    either = World().tell(
        facts(other, member("other/a.so", CHECK_INT), member("other/b.so", DELETE))
    )
    evidence = either.evidence()
    said = metadata(other, "torch")
    assert evidence.needs(other, said) == ()
    assert evidence.pair(other, torch("2.9.1")) is None


@pytest.mark.parametrize(
    "artifact",
    [
        pytest.param(torch("2.9.1"), id="torch-itself"),
        pytest.param(file("triton"), id="triton"),
        pytest.param(file("kernel", tag="py3-none-any"), id="pure-python"),
        pytest.param(file("numbers"), id="needs-the-system-alone"),
    ],
)
def test_files_that_are_never_read(artifact: Artifact) -> None:
    nobody = World(target=make_target(cuda="12.8"))
    evidence = nobody.evidence()
    evidence.prefetch([artifact])
    assert evidence.needs(artifact, metadata(artifact, "numpy")) == ()
    assert evidence.refusals(artifact, metadata(artifact), torch("2.9.1")) == ()
    assert evidence.overdeclared(artifact, metadata(artifact), torch("2.9.1")) == ()
    assert evidence.remarks(artifact, torch("2.9.1")) == ()
    evidence.close()
    assert nobody.opened == []


@pytest.mark.parametrize(
    ("path", "defined", "registers", "opened"),
    [
        ("loose/hook_preload.abi3.so", ("malloc",), False, True),
        ("loose/libhook.so", (), False, True),
        ("loose/_C.abi3.so", ("PyInit__C",), False, False),
        ("loose/_C.abi3.so", (), False, False),  # of which the pack keeps no definition
        ("loose/libops.so", ("ops",), True, False),
    ],
)
def test_what_nobody_curated_and_python_opens_by_name(
    path: str, defined: tuple[str, ...], registers: bool, opened: bool
) -> None:
    """torch 2.10.0 lacks a function: whether that matters depends on when the package opens it."""
    loose = file("loose")
    library = ("_ZN5torch7LibraryC1ENS0_4KindE",) if registers else ()
    rows = [member(path, CHECK_INT, *library, defined=defined)]
    world = World().tell(facts(loose, *rows))
    evidence = world.evidence()
    evidence.needs(loose, metadata(loose, "torch"))
    refused = evidence.refusals(loose, metadata(loose, "torch"), torch("2.10.0"))
    remarks = evidence.remarks(loose, torch("2.10.0"))
    assert bool(refused) is not opened
    if opened:
        (remark,) = remarks
        assert (remark.severity, remark.grade) == (Severity.DEGRADED, Grade.ASSUMED)
        assert remark.remedy is not None
        assert remark.remedy.startswith("Nobody has read when loose opens it: it may not import.")
