"""Lock files against a directory of wheels, without a network."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from resolver.load.merge_findings import join_reported
from resolver.model.reason import Code, Reason, Severity
from tests.load.test_command import Result, run
from tests.support.named import named
from tests.support.wheels import build_wheel

__all__ = ["run"]  # the fixture

TARGET = ("--cuda", "13.0", "--arch", "sm120", "--python", "3.12", "--machine", "x86_64")


@pytest.fixture
def check(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Checks a text as a lock of that name, beside the wheels of a directory."""
    for name in [name for name in os.environ if name.startswith(("PIP_", "UV_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("UV_NO_CONFIG", "1")
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    for wheel in (
        build_wheel("alpha", "1.0", requires=["beta>=2"]),
        build_wheel("beta", "1.0"),
        build_wheel("beta", "2.0"),
        build_wheel("old", "1.0", requires_python="<3.12"),
        build_wheel("elsewhere", "1.0", tag="cp312-cp312-win_amd64"),
    ):
        (wheels / wheel.filename).write_bytes(wheel.data)
    monkeypatch.chdir(tmp_path)

    def call(name: str, text: str) -> Result:
        Path(name).write_text(text)
        options = ("--offline", "--wheelhouse", wheels, "--format", "json")
        done: Result = run("check", name, *TARGET, *options)
        return done

    return call


def findings(done: Result) -> list[tuple[str, str, str]]:
    document = done.json("check")
    return [(f["code"], f["severity"], f["subject"]) for f in document["findings"]]


def test_a_set_that_fits(check: Any) -> None:
    done = check("requirements.txt", "alpha==1.0\nbeta==2.0 ; python_version >= '3.9'\n")
    assert (done.code, findings(done)) == (0, [])
    document = done.json("check")
    assert (document["kind"], document["verdict"], document["packages"]) == ("lock", "ok", 2)


def test_a_requirement_that_the_lock_overrides(check: Any) -> None:
    done = check("requirements.txt", "alpha==1.0\nbeta==1.0\n")
    assert (done.code, findings(done)) == (0, [("version-conflict", "warning", "alpha 1.0")])


def test_files_that_this_target_does_not_take(check: Any) -> None:
    done = check("requirements.txt", "old==1.0\nelsewhere==1.0\n")
    assert done.code == 1
    assert sorted(findings(done)) == [
        ("platform-unsupported", "fatal", "elsewhere 1.0"),
        ("python-unsupported", "fatal", "old 1.0"),
    ]


def test_what_no_index_has_is_a_warning(check: Any) -> None:
    done = check("requirements.txt", "unheard-of==1.0\n")
    assert (done.code, findings(done)) == (0, [("not-found", "warning", "unheard-of 1.0")])


@pytest.mark.parametrize(
    ("one", "other", "skewed"),
    [
        ("flashinfer-python 0.6.4", "flashinfer-cubin 0.6.3", True),
        ("cuda-python 12.6.2.post1", "cuda-bindings 13.5.0", True),  # write the same modules
        ("cuda-python 13.4.4", "cuda-bindings 13.4.5", False),  # the first has no modules
    ],
)
def test_versions_that_must_agree(check: Any, one: str, other: str, skewed: bool) -> None:
    done = check(
        "poetry.lock",
        "".join(
            f'[[package]]\nname = "{name}"\nversion = "{version}"\noptional = false\nfiles = []\n'
            for name, version in (one.split(), other.split())
        ),
    )
    assert done.code == (1 if skewed else 0)
    assert (("version-skew", "fatal", one) in findings(done)) is skewed


def test_what_is_no_file_of_an_index_is_left_out(check: Any) -> None:
    text = (
        'version = 1\n[[package]]\nname = "app"\nversion = "0"\nsource = { virtual = "." }\n'
        'dependencies = [{ name = "mine" }, { name = "beta" }]\n'
        '[[package]]\nname = "mine"\nversion = "1.0"\nsource = { git = "https://example.org/m" }\n'
        '[[package]]\nname = "beta"\nversion = "2.0"\nsource = { registry = "https://x.example" }\n'
    )
    done = check("uv.lock", text)
    assert (done.code, findings(done)) == (0, [])
    assert "mine was left out: it is no file of an index" in done.json("check")["notes"]


# what cannot be judged is told, and nothing else stands in


def sha256_of(name: str) -> str:
    return hashlib.sha256(Path("wheels", name).read_bytes()).hexdigest()


def headline(run: Any, name: str) -> str:
    done: Result = run("check", name, *TARGET, "--offline", "--wheelhouse", "wheels")
    return done.out.splitlines()[0].partition(";")[0]


def test_the_headline_says_what_was_not_judged(check: Any, run: Any) -> None:
    check("requirements.txt", "beta==2.0\nunheard-of==1.0\n")
    assert headline(run, "requirements.txt") == (
        "Ok, as far as it could be judged: 1 package was not"
    )
    check("requirements.txt", "beta==2.0\n")
    assert headline(run, "requirements.txt") == ("Ok: requirements.txt loads")


@pytest.mark.parametrize("lock", ["requirements.txt", "poetry.lock", "pylock.toml"])
def test_another_file_of_that_name_does_not_stand_in(check: Any, run: Any, lock: str) -> None:
    digest = "ab" * 32
    text = {
        "requirements.txt": f"old==1.0 \\\n    --hash=sha256:{digest}\n",
        "poetry.lock": '[[package]]\nname = "old"\nversion = "1.0"\n'
        f'files = [{{ file = "old-1.0-py3-none-any.whl", hash = "sha256:{digest}" }}]\n',
        "pylock.toml": 'lock-version = "1.0"\ncreated-by = "other"\n[[packages]]\nname = "old"\n'
        'version = "1.0"\n[[packages.wheels]]\nname = "old-1.0-py3-none-any.whl"\n'
        f'url = "https://files.example/old-1.0-py3-none-any.whl"\nhashes.sha256 = "{digest}"\n',
    }[lock]
    done = check(lock, text)
    assert (done.code, findings(done)) == (0, [("unverified", "warning", "old 1.0")])
    [finding] = done.json("check")["findings"]
    assert finding["needs"] == "a file of the sha256 in the lock, abababababab"
    assert finding["found"] == (
        "old-1.0-py3-none-any.whl of that version, with another sha256: not judged by that"
    )
    assert headline(run, lock) == "Ok, as far as it could be judged: 1 package was not"


def test_the_file_of_the_hash_is_judged(check: Any) -> None:
    check("requirements.txt", "")
    digest = sha256_of("old-1.0-py3-none-any.whl")
    done = check("requirements.txt", f"old==1.0 --hash=sha256:{digest}\n")
    assert (done.code, findings(done)) == (1, [("python-unsupported", "fatal", "old 1.0")])


@pytest.mark.parametrize(
    ("name", "text", "code", "message"),
    [
        ("uv.lock", "", 3, "uv.lock is empty"),
        ("poetry.lock", "", 3, "poetry.lock is empty"),
        ("requirements.txt", "# nothing\n", 2, "requirements.txt names no package"),
        ("requirements.txt", "", 2, "requirements.txt names no package"),
        ("requirements.txt", "a==1 ; sys_platform == 'win32'\n", 2, "pins no package for this"),
        ("requirements.txt", "a==1 --hash=sha256:zz\n", 3, "line 1: 'sha256:zz' is not a sha256"),
    ],
)
def test_locks_of_nothing(check: Any, name: str, text: str, code: int, message: str) -> None:
    done = check(name, text)
    assert (done.code, done.out) == (code, "")
    assert message in done.err


@pytest.mark.parametrize("data", [b"root:x:0:0:root:/root:/bin/bash\n", bytes(range(256)), b""])
def test_the_file_is_looked_at_before_a_target_is_asked_for(
    run: Any, tmp_path: Path, data: bytes
) -> None:
    path = tmp_path / "passwd"
    path.write_bytes(data)
    done = run("check", path)
    assert done.code == 2
    assert "no CUDA version" not in done.err
    expected = "is no environment and no lock file: " if data else "names no package"
    assert done.err.startswith(f"error: {path} {expected}")


# wheels by their address


def test_an_address_is_judged_by_its_hash(check: Any) -> None:
    check("requirements.txt", "")
    digest = sha256_of("old-1.0-py3-none-any.whl")
    address = "https://files.example/old-1.0-py3-none-any.whl"
    done = check("requirements.txt", f"old @ {address} \\\n    --hash=sha256:{digest}\n")
    assert (done.code, findings(done)) == (1, [("python-unsupported", "fatal", "old 1.0")])
    done = check("requirements.txt", f"old @ {address}#sha256={digest}\n")
    assert (done.code, findings(done)) == (1, [("python-unsupported", "fatal", "old 1.0")])


def test_an_address_out_of_reach_is_told(check: Any) -> None:
    digest = "cd" * 32
    address = "https://files.example/faraway-1.0%2Bcu130-py3-none-any.whl"
    done = check("requirements.txt", f"faraway @ {address} --hash=sha256:{digest}\nbeta==2.0\n")
    assert done.code == 0
    [(code, severity, subject)] = findings(done)
    assert (severity, subject) == ("warning", "faraway 1.0+cu130")
    assert code in ("not-found", "unreadable")


def test_a_wheel_in_a_directory(check: Any) -> None:
    check("requirements.txt", "")
    wheel = build_wheel("near", "1.0", requires=["beta<2"])
    Path("here").mkdir()
    Path("here", wheel.filename).write_bytes(wheel.data)
    text = f"./here/{wheel.filename} --hash=sha256:{wheel.sha256}\nbeta==2.0\n"
    done = check("requirements.txt", text)
    assert (done.code, findings(done)) == (0, [("version-conflict", "warning", "near 1.0")])
    lock = (
        'lock-version = "1.0"\ncreated-by = "other"\n[[packages]]\nname = "near"\nversion = "1.0"\n'
        f'[packages.archive]\npath = "here/{wheel.filename}"\nhashes.sha256 = "{wheel.sha256}"\n'
        '[[packages]]\nname = "beta"\nversion = "2.0"\n[[packages.wheels]]\n'
        f'name = "beta-2.0-py3-none-any.whl"\npath = "wheels/beta-2.0-py3-none-any.whl"\n'
        f'hashes.sha256 = "{sha256_of("beta-2.0-py3-none-any.whl")}"\n'
    )
    done = check("pylock.toml", lock)
    assert (done.code, findings(done)) == (0, [("version-conflict", "warning", "near 1.0")])


def test_an_address_of_no_wheel_is_left_out(check: Any) -> None:
    done = check("requirements.txt", "mine @ git+https://example.org/mine\nbeta==2.0\n")
    assert (done.code, findings(done)) == (0, [])
    notes = done.json("check")["notes"]
    assert "mine was left out: its address names no wheel" in notes


def missing(subject: str, **values: Any) -> Reason:
    fields: dict[str, Any] = {
        "code": Code.MISSING_SYMBOL,
        "object": "torch 2.11.0",
        "needs": "a()",
        "found": "b()",
        "evidence": "its bytes",
        "remedy": "Build it again.",
    }
    values = {**fields, **values}
    return Reason(subject=named(subject), object=named(values.pop("object")), **values)


def test_what_bytes_and_a_report_say_is_told_once() -> None:
    bytes_say = missing("sgl-kernel 0.3.21+cu130", object="torch 2.11.0+cu130")
    feature = missing("sgl-kernel 0.3.21+cu130", severity=Severity.DEGRADED)
    other = missing("sgl-kernel 0.3.2")
    report = missing("sgl-kernel 0.3.21", needs="a(), c()", remedy="Use torch 2.9.1.")
    assert join_reported([other, bytes_say, feature], [report]) == [
        other,
        replace(bytes_say, remedy="Use torch 2.9.1."),
        feature,
    ]
    assert join_reported([other, feature], [report]) == [other, feature, report]


def test_a_remark_of_a_judged_file_is_no_doubt(check: Any, run: Any) -> None:
    check("requirements.txt", "alpha==1.0\nbeta==1.0\n")
    assert headline(run, "requirements.txt") == "Ok: requirements.txt loads"


# what an installer builds

SOURCES = {
    "built-1.0.tar.gz": None,
    "ported-1.0.tar.gz": None,
    "ported-1.0-py2-none-any.whl": "py2-none-any",
    "ported-1.0-cp312-cp312-win_amd64.whl": "cp312-cp312-win_amd64",
}


@pytest.mark.parametrize("hashed", [False, True])
@pytest.mark.parametrize("name", ["built", "ported"])
def test_a_source_distribution_is_a_warning(check: Any, run: Any, name: str, hashed: bool) -> None:
    for filename, tag in SOURCES.items():
        data = b"sources" if tag is None else build_wheel("ported", "1.0", tag=tag).data
        Path("wheels", filename).write_bytes(data)
    files = [filename for filename in SOURCES if filename.startswith(name)]
    hashes = "".join(f" --hash=sha256:{sha256_of(file)}" for file in files) if hashed else ""
    done = check("requirements.txt", f"{name}==1.0{hashes}\nbeta==2.0\n")
    assert (done.code, findings(done)) == (0, [("sdist-only", "warning", f"{name} 1.0")])
    [finding] = done.json("check")["findings"]
    assert finding["found"] == f"{name}-1.0.tar.gz: built from source, not judged"
    assert headline(run, "requirements.txt") == (
        "Ok, as far as it could be judged: 1 package was not"
    )


def test_a_lock_of_other_wheels_alone_cannot_be_installed(check: Any) -> None:
    wheel = build_wheel("ported", "1.0", tag="cp312-cp312-win_amd64")
    Path("wheels", "ported-1.0.tar.gz").write_bytes(b"sources")
    Path("wheels", wheel.filename).write_bytes(wheel.data)
    done = check("requirements.txt", f"ported==1.0 --hash=sha256:{wheel.sha256}\n")
    assert (done.code, findings(done)) == (1, [("platform-unsupported", "fatal", "ported 1.0")])
    # A wheel that another Python would take here says more than one for another system.
    other = build_wheel("ported", "1.0", tag="cp313-cp313-manylinux_2_17_x86_64")
    Path("wheels", other.filename).write_bytes(other.data)
    hashes = f"--hash=sha256:{wheel.sha256} --hash=sha256:{other.sha256}"
    done = check("requirements.txt", f"ported==1.0 {hashes}\n")
    assert (done.code, findings(done)) == (1, [("python-unsupported", "fatal", "ported 1.0")])


def test_wheels_that_uv_locks_by_place_are_read(check: Any) -> None:
    near = build_wheel("near", "1.0", requires=["beta<2"])
    Path("near").mkdir()
    Path("near", near.filename).write_bytes(near.data)
    address = "https://files.example/faraway-1.0-py3-none-any.whl"
    text = (
        'version = 1\n[[package]]\nname = "app"\nversion = "0"\nsource = { virtual = "." }\n'
        'dependencies = [{ name = "near" }, { name = "faraway" }, { name = "beta" }]\n'
        '[[package]]\nname = "near"\nversion = "1.0"\n'
        f'source = {{ path = "near/{near.filename}" }}\n'
        f'wheels = [{{ filename = "{near.filename}", hash = "sha256:{near.sha256}" }}]\n'
        f'[[package]]\nname = "faraway"\nversion = "1.0"\nsource = {{ url = "{address}" }}\n'
        f'wheels = [{{ url = "{address}", hash = "sha256:{"cd" * 32}" }}]\n'
        '[[package]]\nname = "beta"\nversion = "2.0"\n'
    )
    done = check("uv.lock", text)
    assert done.code == 0
    told = findings(done)
    assert ("version-conflict", "warning", "near 1.0") in told
    [(code, severity, _)] = [row for row in told if row[2] == "faraway 1.0"]
    assert (code in ("not-found", "unreadable"), severity) == (True, "warning")
    assert not [note for note in done.json("check")["notes"] if "left out" in note]
