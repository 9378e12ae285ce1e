"""Which file of each version a target takes, and why not the others."""

from __future__ import annotations

import pytest

from resolver.model.reason import Code
from tests.support.fakes import make_catalog, make_target

TAG = "manylinux_2_28_x86_64"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a 1.0\na 2.0\na 1.5", ["2.0", "1.5", "1.0"], id="newest-first"),
        pytest.param("a 1.0a1\na 1.0", ["1.0", "1.0a1"], id="pre-release-before-final"),
        pytest.param("a 1.0+cu130\na 1.0", ["1.0+cu130", "1.0"], id="local-versions-together"),
        pytest.param("a 1.0 yanked\na 0.9", ["1.0", "0.9"], id="yanked-is-the-provider's"),
        pytest.param("a 1.0 sdist\na 0.9", ["0.9"], id="sdist-only-version-left-out"),
        pytest.param("a 1.0 sdist\na 1.0", ["1.0"], id="wheel-beside-sdist"),
        pytest.param("a 1.0 nohash\na 0.9", ["0.9"], id="no-hash"),
        pytest.param("a 1.0 py:>=3.13\na 0.9 py:>=3.9", ["0.9"], id="requires-python"),
        pytest.param("a 1.0 py:banana\na 0.9", ["0.9"], id="unreadable-requires-python"),
    ],
)
def test_versions_in_order(text: str, expected: list[str]) -> None:
    catalog = make_catalog(text)
    assert [str(artifact.version) for artifact in catalog.usable] == expected


@pytest.mark.parametrize(
    ("words", "best"),
    [
        pytest.param(
            [f"cp312-cp312-{TAG}", "py3-none-any"], f"cp312-cp312-{TAG}", id="own-abi-first"
        ),
        pytest.param([f"cp310-abi3-{TAG}", "py3-none-any"], f"cp310-abi3-{TAG}", id="abi3"),
        pytest.param(
            [f"cp310-abi3-{TAG}", f"cp312-abi3-{TAG}"], f"cp312-abi3-{TAG}", id="newer-abi3-floor"
        ),
        pytest.param(
            ["cp312-cp312-manylinux_2_34_x86_64", f"cp312-cp312-{TAG}"],
            "cp312-cp312-manylinux_2_34_x86_64",
            id="newer-glibc-that-fits",
        ),
        pytest.param(
            ["cp312-cp312-manylinux_2_39_x86_64", f"cp312-cp312-{TAG}"],
            f"cp312-cp312-{TAG}",
            id="too-new-glibc-passed-over",
        ),
        pytest.param(
            ["cp312-cp312-linux_x86_64", "cp312-cp312-manylinux2014_x86_64"],
            "cp312-cp312-manylinux2014_x86_64",
            id="plain-linux-last",
        ),
        pytest.param(
            ["cp312-cp312-linux_aarch64", "py3-none-any"], "py3-none-any", id="other-machine"
        ),
        pytest.param(
            ["cp312-cp312t-linux_x86_64", "py3-none-any"], "py3-none-any", id="free-threaded-abi"
        ),
    ],
)
def test_one_file_of_a_version_by_tags(words: list[str], best: str) -> None:
    catalog = make_catalog("\n".join(f"a 1.0 {word}" for word in words))
    assert [artifact.filename for artifact in catalog.usable] == [f"a-1.0-{best}.whl"]


@pytest.mark.parametrize(
    ("builds", "best"),
    [
        pytest.param(["build:1", "build:2"], "a-1.0-2-py3-none-any.whl", id="higher-wins"),
        pytest.param(["", "build:1"], "a-1.0-1-py3-none-any.whl", id="any-beats-none"),
        pytest.param(["build:9", "build:10"], "a-1.0-10-py3-none-any.whl", id="by-number"),
    ],
)
def test_build_tags_decide_between_equal_tags(builds: list[str], best: str) -> None:
    catalog = make_catalog("\n".join(f"a 1.0 {build}" for build in builds))
    assert [artifact.filename for artifact in catalog.usable] == [best]


def test_files_on_two_channels_both_stay_and_the_default_index_goes_first() -> None:
    catalog = make_catalog("a 1.0 channel:pytorch\na 1.0\na 1.0 channel:other")
    assert [artifact.channel for artifact in catalog.usable] == ["default", "pytorch", "other"]
    assert catalog.channels == ("pytorch", "default", "other")


def test_a_file_seen_on_its_index_goes_before_a_record_of_a_snapshot() -> None:
    catalog = make_catalog("a 1.0 snapshot:2026-01-01\na 1.0 channel:mirror")
    assert [artifact.channel for artifact in catalog.usable] == ["mirror", "default"]
    assert catalog.snapshots == ("2026-01-01",)


REJECTED = [
    pytest.param(
        "a 1.0 sdist",
        (
            Code.SDIST_ONLY,
            "a wheel",
            "a source distribution, a-1.0.tar.gz",
            "files listed by channel default",
            "build a wheel of a 1.0 and put it into a directory given with --wheelhouse, or "
            "lock the source with --allow-sdist",
        ),
        id="sdist-only",
    ),
    pytest.param(
        "a 1.0 nohash",
        (
            Code.HASH_MISSING,
            "a sha256 to lock the file by",
            "a-1.0-py3-none-any.whl without a hash",
            "files listed by channel default",
            "let abilock download it and compute the hash: --fetch-hashes",
        ),
        id="hash-missing",
    ),
    pytest.param(
        "a 1.0 py:>=3.13",
        (
            Code.PYTHON_UNSUPPORTED,
            "Python >=3.13",
            "Python 3.12.0",
            "Requires-Python of a-1.0-py3-none-any.whl",
            "choose another --python",
        ),
        id="requires-python",
    ),
    pytest.param(
        "a 1.0 cp39-cp39-linux_x86_64",
        (
            Code.PYTHON_UNSUPPORTED,
            "Python 3.9",
            "Python 3.12",
            "tags of a-1.0-cp39-cp39-linux_x86_64.whl",
            "choose another --python",
        ),
        id="one-python-tag",
    ),
    pytest.param(
        "a 1.0 cp39-cp39-linux_x86_64\na 1.0 cp310-cp310-linux_x86_64\n"
        "a 1.0 cp313-abi3-linux_x86_64\na 1.0 cp313-cp313t-linux_x86_64",
        (
            Code.PYTHON_UNSUPPORTED,
            "Python 3.9, 3.10, 3.13 or newer, 3.13t",
            "Python 3.12",
            "tags of a-1.0-cp310-cp310-linux_x86_64.whl, and those of 3 more files",
            "choose another --python",
        ),
        id="python-needs-of-all-files-merged",
    ),
    pytest.param(
        "a 1.0 cp312-cp312-manylinux_2_39_x86_64\na 1.0 sdist",
        (
            Code.GLIBC_TOO_OLD,
            "glibc 2.39",
            "glibc 2.35",
            "tags of a-1.0-cp312-cp312-manylinux_2_39_x86_64.whl",
            "use a system with glibc 2.39 or newer, or an older release",
        ),
        id="glibc-says-more-than-sdist",
    ),
    pytest.param(
        "a 1.0 cp312-cp312-win_amd64\na 1.0 cp312-cp312-macosx_11_0_arm64",
        (
            Code.PLATFORM_UNSUPPORTED,
            "macosx_11_0_arm64",
            "Linux x86_64",
            "tags of a-1.0-cp312-cp312-macosx_11_0_arm64.whl",
            "choose a release with a wheel for this platform",
        ),
        id="other-platforms",
    ),
]


@pytest.mark.parametrize(("text", "expected"), REJECTED)
def test_a_version_without_a_usable_file_has_a_reason(text: str, expected: tuple[str, ...]) -> None:
    catalog = make_catalog(text)
    assert list(catalog.usable) == []
    (rejection,) = catalog.rejected
    reason = rejection.reason
    assert str(rejection.version) == "1.0"
    assert str(reason.subject) == "a 1.0"
    found = (reason.code, reason.needs, reason.found, reason.evidence, reason.remedy)
    assert found == expected


def test_a_version_with_a_usable_file_is_not_among_the_rejected() -> None:
    catalog = make_catalog("a 1.0 sdist\na 1.0\na 0.9 sdist")
    assert [str(rejection.version) for rejection in catalog.rejected] == ["0.9"]


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        pytest.param("a 1.0 at:2026-01-01T00:00:00+00:00", True, id="before"),
        pytest.param("a 1.0 at:2026-01-02T00:00:00+00:00", False, id="at-the-moment-itself"),
        pytest.param("a 1.0 at:2026-01-03T00:00:00+00:00", False, id="after"),
        pytest.param("a 1.0", False, id="undated-on-the-default-index"),
        pytest.param("a 1.0 snapshot:2026-01-01", True, id="undated-record-of-a-snapshot"),
        pytest.param("a 1.0 channel:pytorch", True, id="undated-on-a-built-in-channel"),
        pytest.param("a 1.0 local", True, id="undated-in-a-directory"),
    ],
)
def test_exclude_newer(line: str, kept: bool) -> None:
    catalog = make_catalog(line, exclude_newer="2026-01-02T00:00:00+00:00")
    assert bool(list(catalog.usable)) is kept


@pytest.mark.parametrize(
    ("line", "found"),
    [
        pytest.param(
            "a 1.0 at:2026-01-03T00:00:00+00:00",
            "a-1.0-py3-none-any.whl, uploaded 2026-01-03",
            id="dated",
        ),
        pytest.param("a 1.0", "a-1.0-py3-none-any.whl, uploaded at no known time", id="undated"),
    ],
)
def test_the_reason_of_exclude_newer_says_the_day(line: str, found: str) -> None:
    catalog = make_catalog(line, exclude_newer="2026-01-02T00:00:00+00:00")
    (rejection,) = catalog.rejected
    assert rejection.reason.code is Code.UPLOADED_LATER
    assert rejection.reason.needs == "an upload before 2026-01-02T00:00:00+00:00"
    assert rejection.reason.found == found
    assert rejection.reason.remedy == "move --exclude-newer forward"


def test_the_free_threaded_target_takes_its_own_abi() -> None:
    text = "a 1.0 cp313-cp313-linux_x86_64\na 1.0 cp313-cp313t-linux_x86_64"
    catalog = make_catalog(text, target=make_target(python="3.13.0", free_threaded=True))
    names = [artifact.filename for artifact in catalog.usable]
    assert names == ["a-1.0-cp313-cp313t-linux_x86_64.whl"]


def test_an_unknown_project_has_an_empty_catalog() -> None:
    catalog = make_catalog("", project="nothing")
    assert (list(catalog.usable), catalog.rejected, catalog.channels) == ([], (), ())
