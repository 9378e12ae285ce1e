"""What reasons speak of: a value, and the text that people see of it."""

from __future__ import annotations

import pytest
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.model.reason import Code, Reason
from resolver.model.release import Named, Object, Release, Several, Subject, release_of

TORCH = Release(NormalizedName("torch"), Version("2.9.1+cu130"))
EXT = Release(NormalizedName("ext"), Version("1.0"))


@pytest.mark.parametrize(
    ("subject", "text", "names", "public"),
    [
        (TORCH, "torch 2.9.1+cu130", ("torch",), "torch 2.9.1"),
        (Named("CUDA", "12.6"), "CUDA 12.6", ("CUDA",), "CUDA 12.6"),
        (Named("libc.so.6"), "libc.so.6", ("libc.so.6",), "libc.so.6"),
        (Several((EXT, TORCH)), "ext 1.0, torch 2.9.1+cu130", ("ext", "torch"), None),
    ],
)
def test_the_text_the_names_and_the_public_part(
    subject: Object, text: str, names: tuple[str, ...], public: str | None
) -> None:
    assert (str(subject), subject.names) == (text, names)
    assert subject.public == (public or "ext 1.0, torch 2.9.1")


@pytest.mark.parametrize(
    ("filename", "subject"),
    [
        (
            "sgl_kernel-0.3.21+cu130-cp310-abi3-linux_x86_64.whl",
            Release(NormalizedName("sgl-kernel"), Version("0.3.21+cu130")),
        ),
        ("odd.whl", Named("odd.whl")),
    ],
)
def test_what_a_file_name_says(filename: str, subject: Subject) -> None:
    assert release_of(filename) == subject


@pytest.mark.parametrize("text", ["1.0", "1.0-1", "v2", "none at all"])
def test_an_installed_version_is_told_as_it_is_written(text: str) -> None:
    release = Release.of(NormalizedName("ext"), text)
    assert str(release) == f"ext {text}"
    assert isinstance(release.version, Version) is (text == "1.0")


def test_a_reason_names_all_that_it_speaks_of() -> None:
    reason = Reason(
        code=Code.VERSION_SKEW,
        subject=TORCH,
        object=Several((EXT,)),
        needs="",
        found="",
        evidence="",
    )
    assert reason.names == {"torch", "ext"}
