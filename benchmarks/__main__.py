"""All benchmarks that need nothing but the package index: ``make bench``.

Run: python -m benchmarks [PAIRS [PAIRS OF COLD AND WARM]]
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import resolve, startup
from benchmarks.measure import BIN, table

RESULTS = Path(__file__).with_name("RESULTS.md")


def main() -> None:
    """Measure, print the table and write it to RESULTS.md; some minutes."""
    numbers = [int(word) for word in sys.argv[1:]]
    pairs = numbers[0] if numbers else 7
    online = numbers[1] if len(numbers) > 1 else pairs
    started = datetime.now(UTC)
    load = os.getloadavg()[0]
    found = table([*startup.rows(pairs), *(resolve.rows(online) if online else ())])
    print(found)
    uv = subprocess.run([BIN / "uv", "--version"], capture_output=True, text=True, check=True)
    RESULTS.write_text(
        "# What was measured last\n\n"
        f"{started:%Y-%m-%d %H:%M} UTC, {os.cpu_count()} processors, a load of {load:.1f} before "
        f"and {os.getloadavg()[0]:.1f} after, Python {platform.python_version()}, "
        f"{uv.stdout.split(' (')[0].strip()}. {pairs} pairs, {online} of cold and warm runs: "
        "medians, and medians of the ratios within a pair. What the rows are: "
        "[docs/benchmarks.md](../docs/benchmarks.md). Written by `make bench`.\n\n"
        f"{found}\n",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
