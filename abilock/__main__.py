"""``python -m abilock``."""

from __future__ import annotations

from resolver.cli.main import main

if __name__ == "__main__":
    main()
