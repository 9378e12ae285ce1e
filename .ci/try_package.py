"""Try an environment that abilock was installed into: python .ci/try_package.py VENV.

Nothing of the source may be in reach of what is run; schemas and types are checked by the tools of
the Python that runs this.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import jsonschema

TARGET = ("--cuda=13.0", "--arch=sm120", "--python=3.12", "--machine=x86_64", "--glibc=2.35")
OFFLINE = ("--offline", "--no-cache")
SNIPPET = """\
import abilock

answer = abilock.resolve(["torch"], cuda="13.0", arch="sm120", offline=True)
reveal_type(answer)
if answer.lock is not None:
    answer.lock.write("pylock.toml")
wrong: int = answer.solved and answer.notes
"""


def main() -> None:
    """Run everything; the first thing that is wrong ends it."""
    bin_ = Path(sys.argv[1]).resolve() / "bin"
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        environ = {"HOME": directory, "PATH": os.environ["PATH"], "PIP_CONFIG_FILE": os.devnull}

        def run(*words: str, code: int = 0) -> str:
            done = subprocess.run(words, capture_output=True, text=True, env=environ, check=False)
            if done.returncode != code:
                sys.exit(f"{' '.join(words)}: {done.returncode}\n{done.stdout}{done.stderr}")
            return done.stdout

        def abilock(*words: str, code: int = 0) -> str:
            return run(str(bin_ / "abilock"), *words, code=code)

        def python(text: str) -> str:
            return run(str(bin_ / "python"), "-I", "-c", text)

        def document(name: str, *words: str, code: int = 0) -> dict[str, Any]:
            schema = json.loads(python(SCHEMA.format(name)))
            found: dict[str, Any] = json.loads(abilock(*words, "--format=json", code=code))
            jsonschema.Draft202012Validator(schema).validate(found)
            return found

        place = python("import resolver, abilock; print(resolver.__file__, abilock.__file__)")
        assert place.count("site-packages") == 2, place
        version = abilock("--version")
        assert run(str(bin_ / "python"), "-I", "-m", "abilock", "--version") == version
        verified = document("knowledge-verify", "knowledge", "verify")
        assert (verified["verdict"], verified["installed"]) == ("intact", True)

        document("resolve", "resolve", *TARGET, *OFFLINE)
        packages = tomllib.loads(Path("pylock.toml").read_text(encoding="utf-8"))["packages"]
        assert {"torch", "sgl-kernel", "flashinfer-python"} <= {each["name"] for each in packages}
        assert all(each["wheels"][0]["hashes"]["sha256"] for each in packages)
        abilock("resolve", *TARGET, *OFFLINE, "--check", "-qq")
        for form in ("uv", "pip", "constraints"):
            lines = abilock("export", "--to", form).splitlines()
            assert any(line.startswith("torch") and "2.9.1" in line for line in lines), form
        wrong = ("why", "torch==2.10.0", "sgl-kernel==0.3.21+cu130", *TARGET, *OFFLINE)
        rejected = document("why", *wrong, code=1)
        assert rejected["verdict"] == "rejected"
        (first, *_) = rejected["reasons"]
        assert first["code"] == "missing-symbol", rejected
        assert "_ZN3c104cuda29c10_cuda_check_implementationEiPKcS2_ib" in first["symbols"], rejected
        document("target", "target", *TARGET[:2])
        document("knowledge-list", "knowledge", "list")
        assert "complete -o nosort" in abilock("completion", "bash")
        told = abilock("__complete", "zsh", "resolve", "torch==2.9.1+cu13")
        assert told.split() == ["torch==2.9.1+cu130"], told
        _check_types(bin_ / "python")
        sys.stdout.write(f"{version.strip()}: commands, schemas, types are as they should be\n")


SCHEMA = (
    "import json; from resolver.render.render_json import load_schema; "
    "print(json.dumps(load_schema({!r})))"
)


def _check_types(python: Path) -> None:
    """A user's program, as mypy sees it: abilock says its types (py.typed), and they hold."""
    Path("snippet.py").write_text(SNIPPET, encoding="utf-8")
    mypy = (sys.executable, "-m", "mypy", "--strict", "--no-incremental", "--config-file=")
    done = subprocess.run(
        [*mypy, "--python-executable", str(python), "snippet.py"],
        capture_output=True,
        text=True,
        check=False,
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 3, done.stdout + done.stderr
    assert 'Revealed type is "resolver.usecase.resolve.ResolveResult"' in lines[0], lines
    assert lines[1].startswith("snippet.py:7: error: Incompatible types in assignment"), lines


if __name__ == "__main__":
    main()
