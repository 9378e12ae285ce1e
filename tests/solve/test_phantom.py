"""Versions that nobody has shown, where not all that could be asked did answer."""

from __future__ import annotations

import pytest

from resolver.model.host_need import CUDA, HostNeed
from resolver.model.reason import Code
from tests.support.fakes import FakeIndex, FakeRules, make_reason, verdict


@pytest.mark.parametrize("named", ["1.0b2", "1.0.post1", "1.0.dev3", "1!2.0rc1.post2", "1.0"])
@pytest.mark.parametrize("operator", ["==", ">=", "~=", ">"])
def test_a_version_of_any_form_may_be_named(operator: str, named: str) -> None:
    """mooncake-transfer-engine==0.3.13.post1 without a network was a traceback."""
    index = FakeIndex("a 1\nb 0.9 snapshot:2026-01-01")
    assert verdict(index, "a==1", f"b{operator}{named}").verdict == "unknown"


def test_a_range_is_told_as_it_was_asked_for() -> None:
    """torch 2.15.0 asks for triton~=3.9.0: "needs ==3.9.0.1", which nobody made, was told."""
    index = FakeIndex("a 1 needs b~=3.9.0\nb 3.8.0 snapshot:2026-01-01")
    (reason,) = verdict(index, "a==1").reasons
    assert (str(reason.subject), reason.needs) == ("b~=3.9.0", "a file that satisfies ~=3.9.0")


def test_a_build_is_judged_by_its_name_where_no_snapshot_holds_it() -> None:
    """torch==2.9.1+cpu was unknown for CUDA 13: a CPU build, whatever is in it."""
    reason = make_reason("cuda-mismatch", "a 1+cpu")
    rules = FakeRules(needs={"a 1+cpu": (HostNeed(CUDA, "cpu", "a 1+cpu", reason),)})
    index = FakeIndex("a 1 snapshot:2026-01-01")
    judged = verdict(index, "a==1+cpu", rules=rules)
    assert (judged.verdict, judged.reasons) == ("rejected", (reason,))
    assert verdict(index, "a==1+cu999", rules=rules).verdict == "unknown"


def test_what_a_whole_snapshot_lacks_is_not_said_to_exist_perhaps() -> None:
    """sgl-kernel==0.3.21+cu129 was refused since it "may exist": there is none."""
    rules = FakeRules(absences={("a", "1+cu129", "any"): make_reason()})
    judged = verdict(FakeIndex("a 1 snapshot:2026-01-01"), "a==1+cu129", rules=rules)
    assert judged.verdict == "rejected"
    assert [(r.code, r.found) for r in judged.reasons] == [(Code.VERSION_CONFLICT, "1")]
