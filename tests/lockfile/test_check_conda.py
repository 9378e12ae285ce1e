"""``check`` of locks beside conda, and of indexes that are not asked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from packaging.utils import canonicalize_name
from packaging.version import Version

from resolver.lockfile.pin import LockFile, Pin
from resolver.model.check_report import Report
from resolver.model.reason import Code, Reason, Severity
from resolver.model.release import Release
from resolver.render.render_check import check_text
from resolver.usecase.lock_report import joined_report, softened
from tests.load.test_check_lock import check, findings
from tests.load.test_command import run
from tests.support.fakes import make_target

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


def test_what_a_lock_is_decides_how_grave_a_finding_is() -> None:
    a = canonicalize_name("a")
    pin = Pin(name=a, version=Version("1"), by_extra=True)
    reason = Reason(
        code=Code.MISSING_LIBRARY,
        subject=Release(a, Version("1")),
        needs="libx.so.1",
        found="nothing",
        evidence="e",
    )
    unsupported = replace(reason, code=Code.PLATFORM_UNSUPPORTED)
    damaged = replace(reason, code=Code.METADATA_MISMATCH)
    plain = LockFile(kind="uv.lock", pins=(replace(pin, by_extra=False),))
    assert softened([reason, unsupported], plain, ()) == [reason, unsupported]
    [beside] = softened([reason], replace(plain, conda=("zlib 1",)), ())
    assert (beside.severity, beside.found) == (
        Severity.WARNING,
        "nothing; packages of conda may bring it",
    )
    [library, extra, read] = softened(
        [reason, unsupported, damaged], LockFile(kind="uv.lock", pins=(pin,)), ()
    )
    assert (library, extra.severity, read.severity) == (reason, Severity.WARNING, Severity.WARNING)
    assert extra.found == "nothing; it comes with an extra that was not named"


@pytest.mark.parametrize(
    ("origin", "digests", "gravity"),
    [
        ("r.txt, line 1: --extra-index-url", frozenset(), Severity.WARNING),
        ("Dockerfile", frozenset(), Severity.WARNING),
        ("r.txt, line 1: --index-url", frozenset(), Severity.FATAL),  # taken for a mirror
        ("r.txt, line 1: --extra-index-url", frozenset({"ab" * 32}), Severity.FATAL),
    ],
)
def test_a_further_index_may_have_the_build_for_this_cuda(
    origin: str, digests: frozenset[str], gravity: Severity
) -> None:
    name = canonicalize_name("onnxruntime-gpu")
    pin = Pin(name=name, version=Version("1.18.0"), digests=digests)
    lock = LockFile(kind="requirements", pins=(pin,), indexes=((origin, "https://x/simple"),))
    [found] = softened([mismatch("onnxruntime-gpu")], lock, ())
    assert found.severity is gravity
    assert ("may have another build" in found.found) is (gravity is Severity.WARNING)
    lost = replace(mismatch("onnxruntime-gpu"), severity=Severity.DEGRADED)
    [part] = softened([lost], lock, ())
    assert part.severity is (Severity.WARNING if gravity is Severity.WARNING else Severity.DEGRADED)


def fork(name: str, *findings: Reason) -> Report:
    return Report(
        prefix="uv.lock",
        kind="lock",
        target=make_target(),
        findings=findings,
        members_checked=1,
        packages=3,
        fork=name,
        torch=f"torch of {name}",
    )


def mismatch(name: str, severity: Severity = Severity.FATAL) -> Reason:
    return Reason(
        code=Code.CUDA_MISMATCH,
        severity=severity,
        subject=Release(canonicalize_name(name), Version("2.9.1+cpu")),
        needs="a build for CUDA 13",
        found="no CUDA at all: a CPU build",
        evidence="e",
    )


def test_a_fork_for_other_machines_does_not_count() -> None:
    cpu, gpu = fork("extra cpu", mismatch("torch")), fork("extra cu130")
    report = joined_report([cpu, gpu])
    assert (report.verdict, [each.elsewhere for each in report.forks]) == ("ok", [True, False])
    assert check_text(report).splitlines()[2:5] == [
        "  judged with torch of extra cu130",
        "  extra cpu: for other machines, and does not count: torch of extra cpu",
        "  extra cu130: ok; 3 packages",
    ]
    # What fails beside a torch for this machine is a finding, and so is a lock for none.
    assert joined_report([cpu, fork("extra cu130", mismatch("xformers"))]).verdict == "broken"
    assert joined_report([cpu, fork("none", mismatch("torch"))]).verdict == "broken"


@pytest.mark.parametrize(
    ("local", "found"),
    [
        ("cpu", "no CUDA at all: a CPU build"),
        ("cpu.cxx11.abi", "no CUDA at all: a CPU build"),
        ("rocm6.4", "no CUDA at all: a ROCm build"),
        ("xpu", "no CUDA at all: an XPU build"),
    ],
)
def test_a_build_without_cuda_is_broken_on_a_gpu(check: Any, local: str, found: str) -> None:
    done = check("r.txt", f"torch==2.9.1+{local}\n")
    [finding] = [f for f in done.json("check")["findings"] if f["severity"] == "fatal"]
    assert (done.code, finding["code"], finding["found"]) == (1, "cuda-mismatch", found)
