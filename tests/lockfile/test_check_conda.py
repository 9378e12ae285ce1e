"""``check`` of locks beside conda, and of indexes that are not asked."""

from __future__ import annotations

from typing import Any

from resolver.model.reason import Code, Reason, Severity
from resolver.model.release import Named
from resolver.usecase.check_lock import _beside_conda
from tests.load.test_check_lock import check, findings
from tests.load.test_command import run

__all__ = ["check", "run"]


def test_an_index_of_ones_own_is_told(check: Any) -> None:
    done = check("r.txt", "--extra-index-url https://me:secret@corp.test/simple\nbeta==2.0\n")
    assert done.code == 0
    assert done.json("check")["notes"] == [
        "r.txt, line 1: --extra-index-url https://****@corp.test/simple was not asked: where it "
        "counts, give it with --index NAME=URL"
    ]


def test_packages_of_conda_are_told(check: Any) -> None:
    text = """version: 1
package:
- {name: python, version: 3.12.9, manager: conda, platform: linux-64}
- {name: pytorch, version: 2.5.1, manager: conda, platform: linux-64}
- {name: zlib, version: 1.3.1, manager: conda, platform: linux-64}
- {name: beta, version: '2.0', manager: pip, platform: linux-64}
"""
    done = check("conda-lock.yml", text)
    assert (done.code, findings(done)) == (0, [])
    assert done.json("check")["notes"] == [
        "3 packages of conda were not judged, among them python 3.12.9, pytorch 2.5.1"
    ]


def test_a_library_that_conda_may_bring_is_a_warning() -> None:
    reason = Reason(
        code=Code.MISSING_LIBRARY,
        subject=Named("a"),
        needs="libx.so.1",
        found="nothing",
        evidence="e",
    )
    assert _beside_conda(reason).severity is Severity.WARNING
    assert _beside_conda(reason).found == "nothing; packages of conda may bring it"
