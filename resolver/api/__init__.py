"""What abilock does, as calls: values in, values out.

Nothing here prints, ends the program, or reads clock, environment or machine but through a
``Session``. Each call opens one of its own, or shares the one that it is given::

    import abilock

    answer = abilock.resolve(["torch", "sgl-kernel"], cuda="13.0", arch="sm120", offline=True)
    print(answer)
    if answer.lock is not None:
        answer.lock.write("pylock.toml")

A requirement is text (``"torch==2.9.1"``), a ``Path`` is a file of them. What cannot be done
raises ``AbilockError``: ``UsageError`` for wrong arguments, ``IndexFailure`` where an index does
not answer, ``DamagedData`` for what cannot be read. No solution is an answer, and raises nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from resolver import __version__
from resolver.api.answers import explain_error, matrix, resolve, why
from resolver.api.files import (
    check_environment,
    check_lock,
    diff,
    download,
    export,
    freeze,
    inspect,
    sync,
)
from resolver.api.machine import describe_machine, find_target, open_session, site
from resolver.api.targets import resolve_targets
from resolver.errors import AbilockError, DamagedData, IndexFailure, UsageError
from resolver.model.options import IndexOptions, PlatformOptions, TargetOptions

if TYPE_CHECKING:
    from resolver.lockfile.lock import Lock
    from resolver.model.reason import Code, Grade, Reason, Severity
    from resolver.model.release import Release
    from resolver.model.target import Target
    from resolver.usecase.check import CheckResult
    from resolver.usecase.describe_machine import MachineResult
    from resolver.usecase.diff import DiffResult
    from resolver.usecase.download import DownloadResult
    from resolver.usecase.explain_error import ErrorResult
    from resolver.usecase.freeze import FreezeResult
    from resolver.usecase.inspect import InspectResult
    from resolver.usecase.matrix import MatrixResult
    from resolver.usecase.resolve import ResolveResult
    from resolver.usecase.resolve_targets import TargetsResult
    from resolver.usecase.session import Session
    from resolver.usecase.site import SiteResult
    from resolver.usecase.sync import SyncResult
    from resolver.usecase.why import WhyResult
    from resolver.usecase.world import World

__all__ = [
    "AbilockError",
    "CheckResult",
    "Code",
    "DamagedData",
    "DiffResult",
    "DownloadResult",
    "ErrorResult",
    "FreezeResult",
    "Grade",
    "IndexFailure",
    "IndexOptions",
    "InspectResult",
    "Lock",
    "MachineResult",
    "MatrixResult",
    "PlatformOptions",
    "Reason",
    "Release",
    "ResolveResult",
    "Session",
    "Severity",
    "SiteResult",
    "SyncResult",
    "Target",
    "TargetOptions",
    "TargetsResult",
    "UsageError",
    "WhyResult",
    "World",
    "__version__",
    "check_environment",
    "check_lock",
    "describe_machine",
    "diff",
    "download",
    "explain_error",
    "export",
    "find_target",
    "freeze",
    "inspect",
    "matrix",
    "open_session",
    "resolve",
    "resolve_targets",
    "site",
    "sync",
    "why",
]

# The types of answers come with the first answer, so that the import costs nothing.
_LAZY = {
    "CheckResult": "resolver.usecase.check",
    "Code": "resolver.model.reason",
    "DiffResult": "resolver.usecase.diff",
    "DownloadResult": "resolver.usecase.download",
    "ErrorResult": "resolver.usecase.explain_error",
    "FreezeResult": "resolver.usecase.freeze",
    "Grade": "resolver.model.reason",
    "InspectResult": "resolver.usecase.inspect",
    "Lock": "resolver.lockfile.lock",
    "MachineResult": "resolver.usecase.describe_machine",
    "MatrixResult": "resolver.usecase.matrix",
    "Reason": "resolver.model.reason",
    "Release": "resolver.model.release",
    "ResolveResult": "resolver.usecase.resolve",
    "Session": "resolver.usecase.session",
    "Severity": "resolver.model.reason",
    "SiteResult": "resolver.usecase.site",
    "SyncResult": "resolver.usecase.sync",
    "Target": "resolver.model.target",
    "TargetsResult": "resolver.usecase.resolve_targets",
    "WhyResult": "resolver.usecase.why",
    "World": "resolver.usecase.world",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_LAZY[name]), name)
