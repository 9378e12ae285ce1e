"""All benchmarks that need nothing but the package index: ``make bench``."""

from __future__ import annotations

from benchmarks import resolve, startup
from benchmarks.measure import table


def main() -> None:
    """Print one table; a few minutes."""
    print(table([*startup.rows(15), *resolve.rows(5)]))


if __name__ == "__main__":
    main()
