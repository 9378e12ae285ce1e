"""abilock: resolves GPU Python environments that really load.

The calls and values of ``resolver.api``; docs/api.md shows them at work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from resolver import api
from resolver.api import __all__ as __all__
from resolver.api import __version__ as __version__

if TYPE_CHECKING:
    from resolver.api import *  # noqa: F403
else:
    # By name when it is asked for: a star would load what only answers need.
    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(api, name)

    def __dir__() -> list[str]:
        return sorted(__all__)
