"""What ``--cuda`` means: torch of four releases, on two channels, for five CUDA releases.

The facts are the shipped ones; the files are those that the channels list.
"""

from __future__ import annotations

import pytest
from packaging.utils import canonicalize_name

from resolver.compat.load_facts import load_knowledge
from resolver.compat.target_rules import TargetRules
from resolver.model.reason import Code, Severity
from resolver.model.target import Target
from tests.support.fakes import answer, make_target, make_workspace, pins, reasons

TAG = "cp312-cp312-manylinux_2_28_x86_64"
# Index tags of the PyTorch channel that list a release.
DIRECTORIES = {
    "2.7.1": ("cu126", "cu128"),
    "2.9.1": ("cu126", "cu128", "cu129", "cu130"),
    "2.11.0": ("cu126", "cu128", "cu129", "cu130"),
    "2.15.0": ("cu126", "cu130", "cu132"),
}
TARGETS = ("12.6", "12.8", "12.9", "13.0", "13.2")
REJECTED = None


def public(version: str) -> str:
    return f"torch {version} {TAG}"


def pytorch(version: str) -> str:
    return "\n".join(
        f"torch {version}+{tag} {TAG} channel:pytorch url:https://x.test/whl/{tag}/torch.whl"
        for tag in DIRECTORIES[version]
    )


def rules(target: Target) -> TargetRules:
    return TargetRules(load_knowledge(), target)


# By release: what is chosen for each of TARGETS; an exclamation mark says that it warns.
PUBLIC = {
    "2.7.1": ("2.7.1", "2.7.1", "2.7.1", REJECTED, REJECTED),  # a CUDA 12.6 build
    "2.9.1": ("2.9.1!", "2.9.1", "2.9.1", REJECTED, REJECTED),  # 12.8
    "2.11.0": (REJECTED, REJECTED, REJECTED, "2.11.0", "2.11.0"),  # 13.0
    "2.15.0": (REJECTED, REJECTED, REJECTED, "2.15.0!", "2.15.0"),  # 13.2
}
PYTORCH = {
    "2.7.1": ("2.7.1+cu126", "2.7.1+cu128", "2.7.1+cu128", REJECTED, REJECTED),
    "2.9.1": ("2.9.1+cu126", "2.9.1+cu128", "2.9.1+cu129", "2.9.1+cu130", "2.9.1+cu130"),
    "2.11.0": ("2.11.0+cu126", "2.11.0+cu128", "2.11.0+cu129", "2.11.0+cu130", "2.11.0+cu130"),
    "2.15.0": ("2.15.0+cu126", "2.15.0+cu126", "2.15.0+cu126", "2.15.0+cu130", "2.15.0+cu132"),
}
CELLS = [
    pytest.param(lines(version), cuda, chosen, id=f"{channel}-torch-{version}-cuda-{cuda}")
    for channel, lines, table in (("default", public, PUBLIC), ("pytorch", pytorch, PYTORCH))
    for version, row in table.items()
    for cuda, chosen in zip(TARGETS, row, strict=True)
]


@pytest.mark.parametrize(("text", "cuda", "chosen"), CELLS)
def test_which_build_is_chosen(text: str, cuda: str, chosen: str | None) -> None:
    target = make_target(cuda=cuda, archs="sm90")
    outcome = answer(text, "torch", target=target, rules=rules(target))
    if chosen is REJECTED:
        assert outcome.verdict == "conflict"
        assert {reason.code for reason in reasons(outcome)} == {Code.CUDA_MISMATCH}
        return
    assert pins(outcome) == {"torch": chosen.removesuffix("!")}
    warned = [r for r in outcome.reasons if r.code is Code.CUDA_MISMATCH]
    assert bool(warned) is chosen.endswith("!")
    assert all(reason.severity is Severity.WARNING for reason in warned)


@pytest.mark.parametrize(
    ("cuda", "order"),
    [
        pytest.param("12.6", ["cu126", "cu128", "cu129", "cu130"], id="12.6"),
        pytest.param("12.8", ["cu128", "cu126", "cu129", "cu130"], id="12.8"),
        pytest.param("12.9", ["cu129", "cu128", "cu126", "cu130"], id="12.9"),
        pytest.param("13.0", ["cu130", "cu129", "cu128", "cu126"], id="13.0"),
    ],
)
def test_exactly_this_then_lower_then_higher_then_another_major(
    cuda: str, order: list[str]
) -> None:
    target = make_target(cuda=cuda, archs="sm90")
    workspace = make_workspace(pytorch("2.9.1"), target=target, rules=rules(target))
    usable = workspace.catalog(canonicalize_name("torch")).usable
    assert [artifact.version.local for artifact in usable] == order


@pytest.mark.parametrize(
    ("cuda", "driver", "chosen"),
    [
        pytest.param("12.6", None, "2.9.1+cu126", id="a-higher-minor-is-not-served-in-full"),
        pytest.param("12.6", "580.65.06", "2.9.1", id="by-this-driver-it-is"),
        pytest.param("12.8", None, "2.9.1", id="exactly-this"),
        pytest.param("12.9", None, "2.9.1", id="a-lower-minor"),
        pytest.param("13.0", None, "2.9.1+cu130", id="another-major"),
    ],
)
def test_what_was_read_goes_first_where_it_is_served_in_full(
    cuda: str, driver: str | None, chosen: str
) -> None:
    target = make_target(cuda=cuda, archs="sm90", **({"driver": driver} if driver else {}))
    text = f"{public('2.9.1')}\n{pytorch('2.9.1')}"
    assert pins(answer(text, "torch", target=target, rules=rules(target))) == {"torch": chosen}


@pytest.mark.parametrize(
    ("text", "cuda", "warning", "remedy"),
    [
        pytest.param(
            public("2.9.1"),
            "12.6",
            "a build for CUDA 12.8: its kernels run, PTX cannot be compiled",
            "install driver 570.26 or newer, and say so with --driver",
            id="12.8-on-12.6",
        ),
        pytest.param(
            public("2.15.0"),
            "13.0",
            "a build for CUDA 13.2: its kernels run, PTX cannot be compiled",
            "install driver 595.45.04 or newer, and say so with --driver",
            id="13.2-on-13.0",
        ),
        pytest.param(
            f"torch 2.9.1+cu128 {TAG}",
            "12.6",
            "a build for CUDA 12.8: its kernels run, PTX cannot be compiled",
            "install driver 570.26 or newer, and say so with --driver",
            id="only-a-higher-build-there",
        ),
    ],
)
def test_the_warning_of_a_higher_minor(text: str, cuda: str, warning: str, remedy: str) -> None:
    target = make_target(cuda=cuda, archs="sm90")
    outcome = answer(text, "torch", target=target, rules=rules(target))
    (reason,) = outcome.reasons
    assert str(reason.object) == f"CUDA {cuda}"
    assert reason.needs == f"CUDA {cuda} or a lower minor to be served in full"
    assert reason.found == warning
    assert reason.remedy == remedy


@pytest.mark.parametrize(
    ("text", "cuda", "driver", "warns"),
    [
        pytest.param(public("2.9.1"), "12.6", "570.26", False, id="just-new-enough"),
        pytest.param(public("2.9.1"), "12.6", "580.65.06", False, id="newer-major"),
        pytest.param(public("2.9.1"), "12.6", "560.35.03", True, id="too-old-for-12.8"),
        pytest.param(public("2.15.0"), "13.0", "595.45.04", False, id="13.2"),
        pytest.param(public("2.15.0"), "13.0", "580.65.06", True, id="13.0-driver-for-13.2"),
    ],
)
def test_a_driver_that_supports_the_higher_minor_silences_it(
    text: str, cuda: str, driver: str, warns: bool
) -> None:
    target = make_target(cuda=cuda, archs="sm90", driver=driver)
    outcome = answer(text, "torch", target=target, rules=rules(target))
    codes = [reason.code for reason in outcome.reasons]
    assert (Code.CUDA_MISMATCH in codes) is warns


@pytest.mark.parametrize(
    ("line", "cuda", "found"),
    [
        pytest.param(
            f"torch 2.11.0 {TAG}", "12.8", "a build for CUDA 13.0", id="public-build-of-13"
        ),
        pytest.param(f"torch 2.7.1 {TAG}", "13.0", "a build for CUDA 12.6", id="of-12"),
        pytest.param(f"torch 2.9.1+cu130 {TAG}", "12.9", "a build for CUDA 13.0", id="by-local"),
        pytest.param(
            f"torch 2.9.1+cpu {TAG}", "13.0", "no CUDA at all: a CPU build", id="cpu-build"
        ),
        pytest.param(
            f"torch 2.99.0 {TAG}", "13.0", "no CUDA at all: a CPU build", id="pins-no-cuda-wheel"
        ),
        pytest.param(
            f"torch 2.99.0 {TAG} needs nvidia-cuda-runtime-cu12==12.8.90",
            "13.0",
            "a build for CUDA 12.8",
            id="pins-a-cuda-12-wheel",
        ),
    ],
)
def test_what_is_rejected_says_what_it_is(line: str, cuda: str, found: str) -> None:
    target = make_target(cuda=cuda, archs="sm90")
    text = f"{line}\nnvidia-cuda-runtime-cu12 12.8.90"
    outcome = answer(text, "torch", target=target, rules=rules(target))
    (reason,) = reasons(outcome)
    assert reason.code is Code.CUDA_MISMATCH
    assert str(reason.object) == f"CUDA {cuda}"
    assert reason.needs == f"a build for CUDA {cuda.split('.')[0]}"
    assert reason.found == found


def test_a_companion_that_needs_no_cuda_is_taken_and_told() -> None:
    # allenai/open-instruct#1342: torchaudio 2.9.0 for aarch64 is a CPU build, and imports.
    target = make_target(cuda="13.0", archs="sm121", machine="aarch64")
    tag = "cp312-cp312-manylinux_2_28_aarch64"
    text = f"""
        torch 2.9.0+cu130 {tag}
        torchaudio 2.9.0 {tag} needs torch==2.9.0
    """
    outcome = answer(text, "torch", "torchaudio", target=target, rules=rules(target))
    assert pins(outcome) == {"torch": "2.9.0+cu130", "torchaudio": "2.9.0"}
    told = [r for r in outcome.reasons if str(r.subject) == "torchaudio 2.9.0"]
    assert [(r.code, r.severity) for r in told] == [(Code.CUDA_MISMATCH, Severity.DEGRADED)]
    assert told[0].found == "no CUDA at all: a CPU build, which imports beside a CUDA torch"
    outcome = answer(text, "torchaudio", target=target, rules=rules(target))
    assert pins(outcome) == {"torch": "2.9.0+cu130", "torchaudio": "2.9.0"}


@pytest.mark.parametrize(
    ("local", "severity"), [("cpu", Severity.DEGRADED), ("rocm6.4", Severity.FATAL)]
)
def test_torchaudio_for_the_cpu_imports_beside_a_torch_for_cuda(
    local: str, severity: Severity
) -> None:
    target = make_target(cuda="12.8", archs="sm90")
    text = f"{public('2.9.1')}\ntorchaudio 2.9.1+{local} {TAG}"
    outcome = answer(text, "torch", "torchaudio", target=target, rules=rules(target))
    found = reasons(outcome) if severity is Severity.FATAL else outcome.reasons
    told = [reason for reason in found if reason.code is Code.CUDA_MISMATCH]
    assert [(str(r.subject), r.severity) for r in told] == [(f"torchaudio 2.9.1+{local}", severity)]


def test_an_older_release_with_a_fitting_build_is_taken() -> None:
    target = make_target(cuda="12.8", archs="sm90")
    text = "\n".join([public("2.15.0"), public("2.11.0"), public("2.9.1")])
    assert pins(answer(text, "torch", target=target, rules=rules(target))) == {"torch": "2.9.1"}


def test_device_code_decides_too() -> None:
    # torch 2.7.1 of the default index was built without code for Blackwell.
    target = make_target(cuda="12.8", archs="sm120")
    text = f"{public('2.7.1')}\n{pytorch('2.7.1')}"
    assert pins(answer(text, "torch", target=target, rules=rules(target))) == {
        "torch": "2.7.1+cu128"
    }
    alone = answer(public("2.7.1"), "torch", target=target, rules=rules(target))
    (reason,) = reasons(alone)
    assert reason.code is Code.NO_DEVICE_CODE
    assert reason.needs == "device code for sm_120 (compute capability 12.0)"
