"""The console script: light, so that Ctrl-C ends quietly while the parts are still imported."""

from __future__ import annotations

import sys


def main() -> None:
    """Run ``abilock``; exit 130 where it is interrupted, at any moment."""
    try:
        from resolver.cli import app

        app.main()
    except KeyboardInterrupt:
        sys.exit(130)
