"""What a requirement takes and what it brings: extras, markers, pre-releases, locals, overrides."""

from __future__ import annotations

import pytest

from resolver.model.reason import Code, Severity
from resolver.model.target import Target
from tests.support.fakes import FakeIndex, answer, make_target, pins, reasons

EXTRAS = """
a 1.0 extras:fast,slow needs b | c; extra == 'fast' | d>=2; extra == 'slow' | e; extra == 'gone'
b 1.0
c 1.0
d 1.0
d 2.0
e 1.0
f 1.0 needs a[slow]>=1
"""


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        pytest.param(["a"], {"a": "1.0", "b": "1.0"}, id="none"),
        pytest.param(["a[fast]"], {"a": "1.0", "b": "1.0", "c": "1.0"}, id="one"),
        pytest.param(["a[fast,slow]"], {"a": "1.0", "b": "1.0", "c": "1.0", "d": "2.0"}, id="two"),
        pytest.param(["a[Fast]"], {"a": "1.0", "b": "1.0", "c": "1.0"}, id="name-normalized"),
        pytest.param(["a[nothing]"], {"a": "1.0", "b": "1.0"}, id="no-such-extra-adds-nothing"),
        pytest.param(["a[gone]"], {"a": "1.0", "b": "1.0"}, id="extra-that-is-not-provided"),
        pytest.param(
            ["f"], {"a": "1.0", "b": "1.0", "d": "2.0", "f": "1.0"}, id="asked-by-a-dependency"
        ),
    ],
)
def test_extras(asked: list[str], expected: dict[str, str]) -> None:
    assert pins(answer(EXTRAS, *asked)) == expected


@pytest.mark.parametrize(
    ("asked", "needs", "found"),
    [
        pytest.param("a[nothing]", "the extra nothing (requested)", "the extras fast, slow"),
        pytest.param("a[gone]", "the extra gone (requested)", "the extras fast, slow"),
        pytest.param("b[x]", "the extra x (requested)", "no extras"),
        pytest.param("g", "the extra turbo (g 1.0)", "the extras fast, slow"),
        pytest.param("h[all]", "the extra turbo (h 1.0[all])", "the extras fast, slow"),
    ],
)
def test_an_extra_that_is_not_there_is_a_warning(asked: str, needs: str, found: str) -> None:
    text = f"{EXTRAS}\ng 1.0 needs a[turbo]\nh 1.0 extras:all needs a[slow,turbo]; extra == 'all'"
    outcome = answer(text, asked)
    assert outcome.verdict == "solved"
    (reason,) = outcome.reasons
    assert (reason.code, reason.severity) == (Code.NOT_FOUND, Severity.WARNING)
    assert (reason.needs, reason.found) == (needs, found)


@pytest.mark.parametrize("asked", ["a[fast,slow]", "f"])
def test_extras_that_are_there_need_no_word(asked: str) -> None:
    assert answer(EXTRAS, asked).reasons == ()


def test_an_extra_and_its_project_are_one_file() -> None:
    text = "a 2.0 extras:x needs b; extra == 'x'\na 1.0 extras:x\nb 1.0\nc 1.0 needs a<2"
    assert pins(answer(text, "a[x]", "c")) == {"a": "1.0", "c": "1.0"}


def test_an_extra_may_ask_for_another_extra_of_its_own_project() -> None:
    text = "a 1.0 extras:all,x needs a[x]; extra == 'all' | b; extra == 'x'\nb 1.0"
    assert pins(answer(text, "a[all]")) == {"a": "1.0", "b": "1.0"}


def test_edges_fold_extras_into_their_project() -> None:
    package = answer(EXTRAS, "f").package("a")
    assert package is not None
    assert package.dependencies == ("b", "d")


@pytest.mark.parametrize(
    ("marker", "target", "holds"),
    [
        pytest.param("python_version < '3.12'", make_target(), False, id="python-of-the-target"),
        pytest.param(
            "python_version < '3.12'", make_target(python="3.10.0"), True, id="older-python"
        ),
        pytest.param(
            "platform_machine == 'aarch64'", make_target(machine="aarch64"), True, id="machine"
        ),
        pytest.param("platform_machine == 'aarch64'", make_target(), False, id="other-machine"),
        pytest.param("sys_platform == 'linux'", make_target(), True, id="always-linux"),
        pytest.param("sys_platform == 'win32'", make_target(), False, id="never-windows"),
        pytest.param(
            "implementation_name == 'pypy'", make_target(), False, id="never-another-interpreter"
        ),
        pytest.param(
            "python_full_version >= '3.12.4'", make_target(python="3.12.5"), True, id="patch-level"
        ),
        pytest.param("extra == ''", make_target(), True, id="no-extra"),
    ],
)
def test_markers_are_the_target_s(marker: str, target: Target, holds: bool) -> None:
    text = f"a 1.0 needs b; {marker}\nb 1.0"
    assert ("b" in pins(answer(text, "a", target=target))) is holds
    assert ("b" in pins(answer("a 1.0\nb 1.0", "a", f"b; {marker}", target=target))) is holds


PRE = """
a 1.0
a 2.0rc1
only 1.0a1
only 1.0a2
x 1.0 needs a>=2.0a1
y 1.0 needs a>=1.0
built 1.0.dev3
built 2.0 sdist
old 1.0a1
old 0.9 sdist py:<3.9
"""


@pytest.mark.parametrize(
    ("asked", "pre", "expected"),
    [
        pytest.param(["a"], False, {"a": "1.0"}, id="not-by-itself"),
        pytest.param(["a>=1"], False, {"a": "1.0"}, id="not-by-a-plain-bound"),
        pytest.param(["a"], True, {"a": "2.0rc1"}, id="with-pre"),
        pytest.param(["a==2.0rc1"], False, {"a": "2.0rc1"}, id="pinned"),
        pytest.param(["a>=2.0a1"], False, {"a": "2.0rc1"}, id="bound-that-names-one"),
        pytest.param(["a!=3.0a1"], False, {"a": "1.0"}, id="exclusion-names-none"),
        pytest.param(["only"], False, {"only": "1.0a2"}, id="nothing-else-there"),
        pytest.param(["built"], False, {}, id="final-releases-as-source"),
        pytest.param(["built"], True, {"built": "1.0.dev3"}, id="final-releases-as-source-and-pre"),
        pytest.param(["old"], False, {"old": "1.0a1"}, id="source-for-another-python"),
        pytest.param(["x"], False, {"a": "2.0rc1", "x": "1.0"}, id="named-by-a-dependency"),
        pytest.param(
            ["y", "x"], False, {"a": "2.0rc1", "x": "1.0", "y": "1.0"}, id="one-of-two-names-it"
        ),
        pytest.param(
            ["x", "y"], False, {"a": "2.0rc1", "x": "1.0", "y": "1.0"}, id="and-in-other-order"
        ),
    ],
)
def test_pre_releases(asked: list[str], pre: bool, expected: dict[str, str]) -> None:
    assert pins(answer(PRE, *asked, pre=pre)) == expected


def test_final_releases_without_a_wheel_are_what_is_told() -> None:
    text = "a 1.0.dev3\na 2.0 sdist\na 3.0 sdist"
    (reason,) = reasons(answer(text, "a"))
    assert (reason.code, str(reason.subject)) == (Code.SDIST_ONLY, "a 3.0")
    assert reason.found == "a source distribution, a-3.0.tar.gz; and 1 older release alike"


YANKED = "a 1.0\na 2.0 yanked\nx 1.0 needs a==2.0\ny 1.0 needs a>=1.0"


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        pytest.param(["a"], {"a": "1.0"}, id="passed-over"),
        pytest.param(["a>=2"], {}, id="not-for-a-bound"),
        pytest.param(["a==2.*"], {}, id="not-for-a-prefix"),
        pytest.param(["a==2.0"], {"a": "2.0"}, id="pinned"),
        pytest.param(["a===2.0"], {"a": "2.0"}, id="pinned-verbatim"),
        pytest.param(["x"], {}, id="not-for-a-dependency-s-pin"),
        pytest.param(["x", "a==2.0"], {"a": "2.0", "x": "1.0"}, id="pinned-by-both"),
        pytest.param(["y", "a==2.0"], {"a": "2.0", "y": "1.0"}, id="one-of-two-pins-it"),
        pytest.param(["y", "x"], {}, id="two-dependencies"),
    ],
)
def test_yanked_files_count_only_when_the_user_pins_them(
    asked: list[str], expected: dict[str, str]
) -> None:
    assert pins(answer(YANKED, *asked)) == expected


@pytest.mark.parametrize("option", ["constraints", "overrides"])
def test_a_pin_beside_the_request_takes_a_yanked_file(option: str) -> None:
    assert pins(answer(YANKED, "x", **{option: ["a==2.0"]})) == {"a": "2.0", "x": "1.0"}


def test_the_pin_of_a_dependency_on_a_yanked_file_says_how_to_take_it() -> None:
    (reason,) = reasons(answer(YANKED, "x"))
    assert (reason.code, str(reason.subject)) == (Code.YANKED, "a 2.0")
    assert reason.remedy == "pin a==2.0 to take it all the same"


LOCAL = "a 2.9.1+cu130\na 2.9.1\na 2.9.1+cu128\na 2.9.0"


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        pytest.param("a==2.9.1+cu128", "2.9.1+cu128", id="named"),
        pytest.param("a==2.9.0", "2.9.0", id="none-there"),
        pytest.param("a<2.9.1", "2.9.0", id="below-excludes-all-builds"),
    ],
)
def test_local_versions(asked: str, expected: str) -> None:
    assert pins(answer(LOCAL, asked)) == {"a": expected}


def test_a_public_pin_takes_the_local_build() -> None:
    assert pins(answer("a 2.9.1+cu130\na 2.9.0", "a==2.9.1")) == {"a": "2.9.1+cu130"}


@pytest.mark.parametrize(
    ("locked", "expected"),
    [
        pytest.param({}, "3.0", id="newest-without"),
        pytest.param({"a": "2.0"}, "2.0", id="kept"),
        pytest.param({"a": "9.0"}, "3.0", id="gone-from-the-index"),
    ],
)
def test_preferences_are_tried_first(locked: dict[str, str], expected: str) -> None:
    assert pins(answer("a 1.0\na 2.0\na 3.0", "a", locked=locked)) == {"a": expected}


def test_a_preference_yields_to_a_requirement() -> None:
    text = "a 1.0\na 2.0\nb 1.0 needs a>=2"
    assert pins(answer(text, "a", "b", locked={"a": "1.0"})) == {"a": "2.0", "b": "1.0"}


@pytest.mark.parametrize(
    ("constraint", "expected"),
    [
        pytest.param("b<2", {"a": "1.0", "b": "1.0"}, id="narrows"),
        pytest.param("c==1.0", {"a": "1.0", "b": "2.0"}, id="asks-for-nothing"),
        pytest.param("b==3.0a1", {"a": "1.0", "b": "3.0a1"}, id="may-name-a-pre-release"),
        pytest.param("b<2; sys_platform == 'win32'", {"a": "1.0", "b": "2.0"}, id="marker"),
    ],
)
def test_constraints(constraint: str, expected: dict[str, str]) -> None:
    text = "a 1.0 needs b\nb 1.0\nb 2.0\nb 3.0a1\nc 1.0"
    assert pins(answer(text, "a", constraints=[constraint])) == expected


OVERRIDDEN = """
a 1.0 needs b==1.0 | c
b 1.0
b 2.0 extras:x needs d; extra == 'x'
c 1.0 needs b[x]<2
d 1.0
"""


@pytest.mark.parametrize(
    ("overrides", "asked", "expected"),
    [
        pytest.param([], ["a"], {"a": "1.0", "b": "1.0", "c": "1.0"}, id="none"),
        pytest.param(
            ["b==2.0"],
            ["a"],
            {"a": "1.0", "b": "2.0", "c": "1.0", "d": "1.0"},
            id="replaces-and-keeps-the-extra",
        ),
        pytest.param(
            ["c; sys_platform == 'win32'"],
            ["a"],
            {"a": "1.0", "b": "1.0"},
            id="a-marker-that-never-holds-removes",
        ),
        pytest.param(["b==2.0"], ["b==1.0"], {"b": "2.0"}, id="of-the-request-itself"),
        pytest.param(["d"], ["c"], {"b": "1.0", "c": "1.0"}, id="asks-for-nothing"),
    ],
)
def test_overrides(overrides: list[str], asked: list[str], expected: dict[str, str]) -> None:
    assert pins(answer(OVERRIDDEN, *asked, overrides=overrides)) == expected


def test_metadata_that_says_another_python_than_the_page_rejects_the_file() -> None:
    text = "a 2.0 says-py:>=3.13\na 1.0 says-py:>=3.9"
    assert pins(answer(text, "a")) == {"a": "1.0"}


@pytest.mark.parametrize("fate", ["damaged", "missing"])
def test_a_file_without_readable_metadata_is_passed_over(fate: str) -> None:
    assert pins(answer(f"a 2.0 {fate}\na 1.0", "a")) == {"a": "1.0"}


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("b>=1.*", id="no-such-specifier"),
        pytest.param("b>=1; os_name ~= 'posix'", id="comparison-of-no-versions"),
        pytest.param("b; 'x' == 'x'", id="no-variable"),
        pytest.param("b; dependency_groups == 'x'", id="variable-of-locks"),
        pytest.param("b; extra == 'never' and python_version ~= 'x'", id="of-an-extra"),
        pytest.param("b>=" + "9" * 5000, id="a-number-without-end"),
    ],
)
def test_a_file_with_a_dependency_that_cannot_be_read_is_passed_over(line: str) -> None:
    text = f"a 2.0 needs b | {line}\na 1.0\nb 1.0"
    assert pins(answer(text, "a")) == {"a": "1.0"}
    (reason,) = reasons(answer(text, "a==2.0"))
    assert (reason.code, str(reason.subject)) == (Code.METADATA_MISMATCH, "a 2.0")
    assert reason.found.startswith(f"Requires-Dist: {line[:60]}")
    assert len(reason.found) < 250


def test_a_dependency_by_address_needs_an_override() -> None:
    text = "a 2.0 needs b @ https://me:secret@files.test/b.whl\na 1.0\nb 1.0"
    assert pins(answer(text, "a")) == {"a": "1.0"}
    (reason,) = reasons(answer(text, "a==2.0"))
    assert (reason.code, str(reason.subject), str(reason.object)) == (Code.NOT_FOUND, "a 2.0", "b")
    assert "secret" not in str(reason)
    assert pins(answer(text, "a", overrides=["b==1.0"])) == {"a": "2.0", "b": "1.0"}


@pytest.mark.parametrize("where", ["py", "says-py"])
def test_a_file_with_a_python_that_cannot_be_read_is_passed_over(where: str) -> None:
    text = f"a 2.0 {where}:>=3.6.*\na 1.0"
    assert pins(answer(text, "a")) == {"a": "1.0"}
    (reason,) = reasons(answer(text, "a==2.0"))
    assert (reason.code, reason.found) == (Code.METADATA_MISMATCH, "Requires-Python: >=3.6.*")


@pytest.mark.parametrize("asked", ["a===nonsense", "a===1.0"])
def test_any_text_may_be_asked_for_verbatim(asked: str) -> None:
    (reason,) = reasons(answer("a 2.0", asked))
    assert (reason.code, str(reason.subject)) == (Code.VERSION_CONFLICT, asked)


EMPTY = "a 2.0 empty\na 1.0\nb 1.0 needs a>=2\nc 1.0 empty"


@pytest.mark.parametrize(
    ("asked", "expected", "told"),
    [
        pytest.param("a", {"a": "1.0"}, 0, id="an-older-one-that-holds-something"),
        pytest.param("a[x]", {"a": "1.0"}, 0, id="nor-for-an-extra"),
        pytest.param("a==2.0", {"a": "2.0"}, 1, id="pinned"),
        pytest.param("b", {"a": "2.0", "b": "1.0"}, 1, id="of-another-package"),
    ],
)
def test_a_placeholder_is_never_taken_silently(
    asked: str, expected: dict[str, str], told: int
) -> None:
    outcome = answer(EMPTY, asked)
    assert pins(outcome) == expected
    found = [reason for reason in outcome.reasons if reason.code is Code.PLACEHOLDER_PACKAGE]
    assert [reason.severity for reason in found] == [Severity.WARNING] * told


def test_a_project_of_placeholders_is_no_answer() -> None:
    (reason,) = reasons(answer(EMPTY, "c"))
    assert (reason.code, reason.severity) == (Code.PLACEHOLDER_PACKAGE, Severity.FATAL)
    assert reason.found == "c-1.0-py3-none-any.whl: no module but empty ones, 1000 bytes"


def test_the_same_question_gives_the_same_reads() -> None:
    first, second = FakeIndex(EXTRAS), FakeIndex(EXTRAS)
    assert answer(first, "f") == answer(second, "f")
    assert first.asked == second.asked


def test_what_nobody_needs_after_a_step_back_is_left_out() -> None:
    text = "a 1.0\na 2.0\na 3.0 needs b[x]\nb 1.0 extras:x needs a==1.0"
    # resolvelib still minds what it asked of others, and takes a 1.0.
    assert pins(answer(text, "a")) == {"a": "2.0"}
