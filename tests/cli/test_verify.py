"""``abilock knowledge verify``: what ships is what was installed, and what it says is so."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import jsonschema
import pytest
from packaging.utils import canonicalize_name

from resolver.abi.bundled_evidence import EvidencePack
from resolver.abi.wheel import probe_wheel
from resolver.compat.load_facts import knowledge_path
from resolver.render.render_json import load_schema
from resolver.wheelfile.byte_source import BytesSource
from tests.abi.elf_builder import Elf
from tests.cli.conftest import Result
from tests.support.server import Server
from tests.support.wheels import BuiltWheel, build_wheel

Run = Callable[..., Result]
ERROR, LIST = "_ZN3c105ErrorC1Ev", "_ZN3c104List5clearEv"


def kernel(name: str, *undefined: str) -> BuiltWheel:
    """A wheel with one extension, which needs these symbols."""
    shared = Elf(undefined=undefined, needed=["libc10.so"]).build()
    return build_wheel(name, "1.0", tag="cp312-cp312-linux_x86_64", files={f"{name}/_C.so": shared})


@pytest.fixture
def database(tmp_path: Path, server: Server) -> Path:
    """The shipped facts with evidence: of alpha true, of beta false; of gamma no file is left."""
    root = tmp_path / "knowledge"
    root.mkdir()
    for path in knowledge_path().glob("*.toml"):
        (root / path.name).write_bytes(path.read_bytes())
    for name in ("alpha", "beta", "gamma"):
        wheel = kernel(name, ERROR, "strlen")
        read = probe_wheel(BytesSource(wheel.data), filename=wheel.filename, sha256=wheel.sha256)
        served = kernel(name, LIST) if name == "beta" else wheel
        facts = replace(read, sha256=served.sha256, size=len(served.data))
        EvidencePack(root / "abi").write(canonicalize_name(name), [facts])
        server.project(name, [] if name == "gamma" else [served])
    return root


def of_record(root: Path) -> list[metadata.PackagePath]:
    """What RECORD lists of an installed database at ``root``/resolver/_knowledge."""
    paths = []
    for path in sorted((root / "resolver/_knowledge").rglob("*")):
        if path.is_file():
            digest = base64.urlsafe_b64encode(hashlib.sha256(path.read_bytes()).digest())
            record = metadata.PackagePath(path.relative_to(root))
            record.hash = metadata.FileHash(f"sha256={digest.decode().rstrip('=')}")
            record.dist = metadata.PathDistribution(root / "abilock-1.dist-info")
            paths.append(record)
    return paths


def test_a_sample_is_read_again_and_compared(run: Run, database: Path) -> None:
    told = run("knowledge", "verify", "--sample", "9", "--knowledge", str(database))
    beta = "beta-1.0-cp312-cp312-linux_x86_64.whl"
    assert told.code == 1
    lines = told.out.splitlines()
    assert lines[2] == "files    a checkout or a copy: no installed wheel lists their hashes"
    assert lines[3] == (
        f"error    {beta}: beta/_C.so: other bytes, "
        "1 needed symbols are recorded alone, 1 are in the file alone"
    )
    assert lines[4].startswith("sample   1 of 2 wheels as recorded, ")
    assert "gamma-1.0-cp312-cp312-linux_x86_64.whl: no index has it any more\n" in told.err
    (database / "abi/wheels/beta.jsonl.xz").unlink()
    told = run("knowledge", "verify", "--sample", "9", "--knowledge", str(database))
    assert told.code == 0
    assert told.out.splitlines()[-1].startswith("sample   1 of 1 wheel as recorded, ")


def test_evidence_that_no_index_has_is_unknown(run: Run, database: Path) -> None:
    for name in ("alpha", "beta"):
        (database / f"abi/wheels/{name}.jsonl.xz").unlink()
    options = ("--sample", "1", "--knowledge", str(database), "--format", "json")
    told = run("knowledge", "verify", *options)
    document = json.loads(told.out)
    jsonschema.validate(document, load_schema("knowledge-verify"))
    assert (told.code, document["verdict"]) == (3, "unknown")
    assert [each["agrees"] for each in document["sample"]] == [None]


def test_the_digest_is_that_of_what_sha256sum_prints(run: Run, database: Path) -> None:
    paths = sorted(str(p.relative_to(database)) for p in database.rglob("*") if p.is_file())
    rows = [f"{hashlib.sha256((database / p).read_bytes()).hexdigest()}  {p}\n" for p in paths]
    digest = hashlib.sha256("".join(rows).encode()).hexdigest()
    verify = ("knowledge", "verify", "--knowledge", str(database), "--sha256")
    assert run(*verify, digest.upper()).code == 0
    told = run(*verify, "0" * 64)
    assert (told.code, told.out.splitlines()[2]) == (1, f"error    the digest has to be {'0' * 64}")
    assert run(*verify, "12").code == 2


def test_without_anything_to_compare_nothing_is_claimed(run: Run) -> None:
    told = run("knowledge", "verify")
    assert told.code == 3
    assert told.out.splitlines()[-1] == (
        "unknown  nothing was compared: give --sha256 HEX or --sample 10"
    )


def test_files_are_compared_with_what_was_installed(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "resolver/_knowledge"
    (root / "tuples").mkdir(parents=True)
    for name in ("gpus.toml", "cuda.toml", "tuples/a.toml"):
        (root / name).write_text(f"# {name}\n", encoding="utf-8")
    record = of_record(tmp_path)
    monkeypatch.setattr("resolver.usecase.verify_knowledge.installed_files", lambda: record)
    monkeypatch.setattr("resolver.usecase.verify_knowledge.knowledge_path", lambda: root)
    told = run("knowledge", "verify")
    assert (told.code, told.out.splitlines()[2:]) == (0, ["files    as installed"])
    (root / "gpus.toml").write_text("# another\n", encoding="utf-8")
    (root / "cuda.toml").unlink()
    (root / "tuples/b.toml").write_text("# more\n", encoding="utf-8")
    told = run("knowledge", "verify")
    assert (told.code, told.out.splitlines()[2:]) == (
        1,
        [
            "error    cuda.toml: missing since it was installed",
            "error    gpus.toml: changed since it was installed",
            "error    tuples/b.toml: added since it was installed",
            "fix      reinstall abilock",
        ],
    )


def test_options_of_a_sample_need_one(run: Run) -> None:
    told = run("knowledge", "verify", "--seed", "3")
    assert (told.code, told.out) == (2, "")
    assert told.err.startswith("error: --seed is about the wheels that --sample reads\n")
