"""Writes ``recorded.json`` anew: ``python -m tests.load.record``, with gcc and glibc."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from tests.load import cases


def main() -> None:
    document = {}
    for case in cases.CASES:
        with tempfile.TemporaryDirectory() as name:
            at = Path(name)
            cases.build(case, at)
            row = cases.to_json(cases.record(case, at), at)
            document[case.name] = {**row, "real": cases.run_real(case, at)}
    cases.RECORDED.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n", "utf-8")


if __name__ == "__main__":
    main()
