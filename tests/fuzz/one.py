"""One reader under atheris: ``python -m tests.fuzz.one READER [libFuzzer's options] DIRECTORY``."""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["resolver", "packaging", "tomllib"]):
    from tests.fuzz.readers import run_one


def main() -> None:
    """Run until libFuzzer ends the process."""
    reader = sys.argv.pop(1)
    # libFuzzer starts itself anew to reduce a corpus, by what a shell makes of the first word.
    sys.argv[0] = f"{sys.executable} -m tests.fuzz.one {reader}"
    atheris.Setup(sys.argv, lambda data: run_one(reader, data))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
