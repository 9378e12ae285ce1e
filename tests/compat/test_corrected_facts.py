"""Facts that were wrong once, each with the value that reading its source gave."""

from __future__ import annotations

import pytest

from resolver.compat.load_facts import load_knowledge
from resolver.model.reason import Code, Severity

KNOWN = load_knowledge()


@pytest.mark.parametrize(
    ("project", "soname", "version", "directory"),
    [
        ("nvidia-cusparselt-cu13", "libcusparseLt.so.0", "0.8.0", "nvidia/cusparselt/lib"),
        ("nvidia-cusparselt-cu13", "libcusparseLt.so.0", "0.8.1.post1", "nvidia/cusparselt/lib"),
        ("nvidia-cusparselt-cu13", "libcusparseLt.so.0", "0.9.0", "nvidia/cu13/lib"),
        ("nvidia-cusparselt-cu13", "libcusparseLt.so.0", "0.10.0", "nvidia/cu13/lib"),
        ("nvidia-cusparselt-cu12", "libcusparseLt.so.0", "0.6.3", "cusparselt/lib"),
        ("nvidia-cusparselt-cu12", "libcusparseLt.so.0", "0.7.1", "nvidia/cusparselt/lib"),
        ("nvidia-cudnn-cu12", "libcudnn_heuristic.so.9", "9.1.0.70", "nvidia/cudnn/lib"),
        ("nvidia-cudnn-cu12", "libcudnn_heuristic.so.9", "8.9.7.29", None),
        ("nvidia-cudnn-cu12", "libcudnn_engines_precompiled.so.9", "8.9.7.29", None),
        ("nvidia-cudnn-cu12", "libcudnn_engines_runtime_compiled.so.9", "8.9.7.29", None),
        ("cutensor-cu12", "libcutensor.so.2", "1.7.0", None),
        ("cutensor-cu12", "libcutensor.so.2", "2.0.1", "cutensor/lib"),
    ],
)
def test_where_a_wheel_puts_a_library(
    project: str, soname: str, version: str, directory: str | None
) -> None:
    """By the directories of all 2,009 wheels of these projects on the public index."""
    found = {
        row.directory
        for row in KNOWN.libraries
        if (row.project, row.soname) == (project, soname)
        and (row.versions is None or row.versions.contains(version, prereleases=True))
    }
    assert found == ({directory} if directory else set())


@pytest.mark.parametrize(
    ("id_", "code", "severity", "works_with"),
    [
        # SetDevice(int), which the wheel needs, is gone since 2.3; the C++ ABI is new since 2.7.
        (
            "torch-2.2.0-cu118-flash-attn-2.5.5-cxx11abi",
            Code.CXX11_ABI,
            Severity.FATAL,
            None,
        ),
        # nixl_ep_cpp is of a package of its own: nixl imports without it.
        (
            "torch-2.13.0-cu130-nixl-cu13-1.3.0",
            Code.MISSING_SYMBOL,
            Severity.DEGRADED,
            "torch >=2.3,<2.13",
        ),
    ],
)
def test_what_a_bad_set_says(
    id_: str, code: Code, severity: Severity, works_with: str | None
) -> None:
    reason = next(known for known in KNOWN.tuples if known.id == id_).reason
    assert reason is not None
    assert (reason.code, reason.severity, reason.works_with) == (code, severity, works_with)
