from __future__ import annotations

import pytest

from resolver.model.cuda import Arch, CudaVersion, DeviceCode


@pytest.mark.parametrize(
    ("text", "expected", "tag"),
    [
        pytest.param("13.0", "13.0", "cu130", id="plain"),
        pytest.param("13.0.2", "13.0", "cu130", id="patch-level"),
        pytest.param("cuda-12.8", "12.8", "cu128", id="directory-name"),
        pytest.param("CUDA 12.8", "12.8", "cu128", id="words"),
        pytest.param("cu129", "12.9", "cu129", id="index-tag"),
        pytest.param(" 12.6 ", "12.6", "cu126", id="blanks"),
    ],
)
def test_cuda_versions(text: str, expected: str, tag: str) -> None:
    version = CudaVersion.parse(text)
    assert (str(version), version.tag) == (expected, tag)


@pytest.mark.parametrize("text", ["", "13", "cu13", "cu1300", "13.x", "thirteen", "-1.0", "130"])
def test_what_is_no_cuda_version(text: str) -> None:
    with pytest.raises(ValueError, match=r"^not a CUDA version: "):
        CudaVersion.parse(text)


@pytest.mark.parametrize(
    ("local", "expected"),
    [
        pytest.param("cu130", "13.0", id="index-tag"),
        pytest.param("cu128torch2.10", "12.8", id="with-torch"),
        pytest.param("cu12torch2.5cxx11abitrue", None, id="major-alone"),
        pytest.param("cpu", None, id="cpu"),
        pytest.param("cu1301", None, id="four-digits"),
        pytest.param(None, None, id="none"),
    ],
)
def test_cuda_of_a_local_version(local: str | None, expected: str | None) -> None:
    found = CudaVersion.from_local(local)
    assert (None if found is None else str(found)) == expected


@pytest.mark.parametrize(
    ("text", "expected", "capability"),
    [
        pytest.param("sm120", "sm_120", "12.0", id="sm120"),
        pytest.param("sm_120", "sm_120", "12.0", id="sm_120"),
        pytest.param("SM_90A", "sm_90a", "9.0", id="upper-case"),
        pytest.param("12.0", "sm_120", "12.0", id="capability"),
        pytest.param("120", "sm_120", "12.0", id="number"),
        pytest.param("compute_100f", "sm_100f", "10.0", id="compute"),
        pytest.param("8.6", "sm_86", "8.6", id="old"),
    ],
)
def test_architectures(text: str, expected: str, capability: str) -> None:
    arch = Arch.parse(text)
    assert (str(arch), arch.capability) == (expected, capability)


@pytest.mark.parametrize("text", ["", "sm", "blackwell", "sm_1", "12.34", "sm_1200", "sm_120x"])
def test_what_is_no_architecture(text: str) -> None:
    with pytest.raises(ValueError, match=r"^not a GPU architecture: "):
        Arch.parse(text)


def test_architectures_sort_by_number() -> None:
    archs = [Arch.parse(text) for text in ("sm_120a", "sm_90", "sm_120", "sm_100")]
    assert [str(arch) for arch in sorted(archs)] == ["sm_90", "sm_100", "sm_120", "sm_120a"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [pytest.param("sm_90a", "cubin", id="cubin"), pytest.param("compute_90", "ptx", id="ptx")],
)
def test_device_code(text: str, kind: str) -> None:
    code = DeviceCode.parse(text)
    assert (code.kind, str(code)) == (kind, text)
