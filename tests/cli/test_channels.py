"""Channels in their real form, hashes, dates, and indexes that offer what is not theirs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from packaging.pylock import PackageWheel

from resolver.lockfile.pylock import load_lock, locked_versions
from tests.cli.conftest import TARGET, Result
from tests.support.server import JSON, Reply, Server, ranged
from tests.support.wheels import BuiltWheel, build_wheel

Run = Callable[..., Result]
Publish = Callable[..., None]
ASKED = (*TARGET, "--glibc", "2.35")
X86 = "cp312-cp312-manylinux_2_28_x86_64"


def torch(version: str, *, requires: tuple[str, ...] = ("filelock",)) -> BuiltWheel:
    return build_wheel("torch", version, tag=X86, requires=requires)


def pins() -> dict[str, str]:
    versions = locked_versions(load_lock(Path("pylock.toml")))
    return {name: str(version) for name, version in versions.items()}


def wheel_of(name: str) -> PackageWheel:
    (found,) = (p for p in load_lock(Path("pylock.toml")).packages if p.name == name)
    assert found.wheels is not None
    return found.wheels[0]


FILELOCK = build_wheel("filelock", "3.0")


@pytest.fixture(autouse=True)
def _index(publish: Publish, place: Path, server: Server) -> None:
    """The default index, and PyTorch's channel moved to a mirror that has nothing."""
    publish(FILELOCK, torch("2.11.0"))
    place.joinpath("pyproject.toml").write_text(
        f'[[tool.abilock.index]]\nname = "pytorch"\nurl = "{server.url}/whl/{{cuda}}"\n'
    )


def html_index(server: Server, root: str, name: str, rows: list[tuple[str, BuiltWheel]]) -> None:
    """A page of the form that PyTorch and sgl-project have; each row has its own attributes."""
    lines = ["<!DOCTYPE html>", "<html>", "  <body>", f"    <h1>Links for {name}</h1>"]
    for attributes, wheel in rows:
        path = f"/hosted/{wheel.filename.replace('+', '%2B')}"
        server.routes[path] = ranged(wheel.data)
        server.routes[path.replace("%2B", "+")] = ranged(wheel.data)
        digest = attributes.partition("sha256=")[2].partition('"')[0] or wheel.sha256
        fragment = "" if "nohash" in attributes else f"#sha256={digest}"
        lines.append(f'    <a href="{path}{fragment}">{wheel.filename}</a><br/>')
    server.html(
        f"{root}/{name}/", "\n".join([*lines, "  </body>", "</html>", "<!--TIMESTAMP 1-->"])
    )


# Each built-in channel that is an index, on a mirror in its own form.

WHERE = [
    ("pytorch", "torch", "2.11.1+cu130", "/cu130"),
    ("pytorch-test", "torchvision", "0.26.0+cu130", "/cu130"),
    ("pytorch-nightly", "triton", "3.7.0", "/cu130"),
    ("sgl-project", "sgl-kernel", "0.3.21+cu130", "/cu130"),
    ("flashinfer", "flashinfer-cubin", "0.6.14", ""),
    ("flashinfer-jit-cache", "flashinfer-jit-cache", "0.6.14+cu130", "/cu130"),
    ("vllm-nightly", "vllm", "0.33.0", "/cu130"),
]


@pytest.mark.parametrize(("channel", "project", "version", "directory"), WHERE)
def test_a_mirror_of_a_channel(
    run: Run, server: Server, channel: str, project: str, version: str, directory: str
) -> None:
    wheel = build_wheel(project, version, tag="cp312-abi3-manylinux2014_x86_64")
    again = ("sha256=" + "e" * 64 + '"', wheel)
    rows = [again, ("", wheel)] if channel == "sgl-project" else [("", wheel)]
    html_index(server, f"/mirror{directory}", project, rows)
    url = f"{server.url}/mirror" + ("/{cuda}" if directory else "")
    result = run(
        *("resolve", project, *ASKED, "--no-tuples"),
        *("--channel", channel, "--channel", "default", "--index", f"{channel}={url}"),
    )
    assert result.code == 0, result.err
    assert pins() == {project: version}
    assert wheel_of(project).hashes == {"sha256": wheel.sha256}
    assert ("hash-ambiguous" in result.err) is (channel == "sgl-project")


# Nightlies.


@pytest.fixture
def nightly(server: Server) -> str:
    """The option that puts PyTorch's nightly channel on the local server."""
    builds = [
        torch("2.12.0.dev20260225+cu130"),
        torch("2.12.0.dev20260226+cu130"),
        torch("2.11.0.dev20251212+cu130"),
    ]
    html_index(server, "/nightly/cu130", "torch", [("", build) for build in builds])
    return f"pytorch-nightly={server.url}/nightly/{{cuda}}"


def test_nightly_channel_gives_the_newest_dated_build(run: Run, nightly: str) -> None:
    arguments = ("--pre", "--channel", "pytorch-nightly", "--index", nightly)
    result = run("resolve", "torch", *ASKED, *arguments)
    assert result.code == 0, result.err
    # Its dependency comes from the default index, which the channel does not replace.
    assert pins() == {"filelock": "3.0", "torch": "2.12.0.dev20260226+cu130"}
    assert "%2Bcu130" in (wheel_of("torch").url or "")
    assert run("download").code == 0
    assert {path.name for path in Path("wheelhouse").iterdir()} == {
        FILELOCK.filename,
        f"torch-2.12.0.dev20260226+cu130-{X86}.whl",
    }


@pytest.mark.parametrize("pre", [(), ("--pre",)], ids=["", "pre"])
def test_a_dated_pin_needs_no_pre(run: Run, nightly: str, pre: tuple[str, ...]) -> None:
    wanted = "torch==2.12.0.dev20260225+cu130"
    assert run("resolve", wanted, *ASKED, "--index", nightly, *pre).code == 0
    assert pins() == {"filelock": "3.0", "torch": "2.12.0.dev20260225+cu130"}


def test_without_pre_a_stable_release_is_taken(run: Run, nightly: str) -> None:
    assert run("resolve", "torch", *ASKED, "--index", nightly).code == 0
    assert pins()["torch"] == "2.11.0"


# Confusion.


def test_an_index_that_offers_a_higher_torch_is_refused_and_named(
    run: Run, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.project("torch", [torch("99.0", requires=("evil",))], root="/extra")
    named = run("resolve", "torch", *ASKED, "--no-tuples", "--index", f"mine={server.url}/extra")
    assert named.code == 0
    assert pins()["torch"] == "2.11.0"
    assert (
        "index mine (--index) is not asked for torch: built-in channels and the default index "
        "alone may supply them" in named.err
    )
    assert "/extra/torch/" not in server.paths
    monkeypatch.delenv("ABILOCK_DEFAULT_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", f"{server.url}/simple")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", f"{server.url}/extra")
    extra = run("resolve", "torch", *ASKED, "--no-tuples", "--upgrade")
    assert (extra.code, pins()["torch"]) == (0, "2.11.0")
    assert "index extra-1 (PIP_EXTRA_INDEX_URL) is not asked for torch" in extra.err
    assert "/extra/torch/" not in server.paths


def test_a_private_name_on_two_indexes_is_taken_from_the_first_and_named(
    run: Run, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.project("acme", [build_wheel("acme", "1.0")])
    server.project("acme", [build_wheel("acme", "99.0", requires=["evil"])], root="/extra")
    monkeypatch.delenv("ABILOCK_DEFAULT_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", f"{server.url}/simple")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", f"{server.url}/extra")
    result = run("resolve", "acme", *ASKED)
    assert (result.code, pins()) == (0, {"acme": "1.0"})
    assert "index extra-1 (PIP_EXTRA_INDEX_URL) has acme too, which is taken from default" in (
        result.err
    )


def test_a_private_project_never_comes_from_the_default_index(run: Run, server: Server) -> None:
    server.project("acme", [build_wheel("acme", "1.0")], root="/own")
    server.project("acme", [build_wheel("acme", "99.0", requires=["evil"])])
    result = run("resolve", "acme", *ASKED, "--index", f"own={server.url}/own")
    assert (result.code, pins()) == (0, {"acme": "1.0"})
    assert "/simple/acme/" not in server.paths


# Hashes.


def test_a_file_without_a_hash_is_refused_unless_it_is_to_be_fetched(
    run: Run, server: Server
) -> None:
    wheel = build_wheel("bare", "1.0", requires=["filelock"])
    html_index(server, "/simple", "bare", [("nohash", wheel)])
    refused = run("resolve", "bare", *ASKED)
    assert refused.code == 1
    assert "hash-missing: bare 1.0\n" in refused.err
    assert "--fetch-hashes" in refused.err
    fetched = run("resolve", "bare", *ASKED, "--fetch-hashes")
    assert fetched.code == 0
    assert wheel_of("bare").hashes == {"sha256": wheel.sha256}
    whole = [
        r for r in server.requests if r.path.startswith("/hosted/") and "range" not in r.headers
    ]
    assert len(whole) == 1
    # A second run soon after need not download it again.
    assert run("resolve", "bare", *ASKED, "--fetch-hashes").code == 0
    assert len([r for r in server.requests if r.path.startswith("/hosted/")]) <= 2


def test_several_hashes_of_one_address_are_told(run: Run, server: Server) -> None:
    wheel = build_wheel("kernel", "1.0")
    html_index(server, "/simple", "kernel", [(f'sha256={"e" * 64}"', wheel), ("", wheel)])
    result = run("resolve", "kernel", *ASKED)
    assert result.code == 0
    assert wheel_of("kernel").hashes == {"sha256": wheel.sha256}
    assert "hash-ambiguous: kernel 1.0" in result.err


def test_one_name_at_two_addresses_is_refused(run: Run, server: Server) -> None:
    wheel = build_wheel("kernel", "1.0")
    other = build_wheel("kernel", "1.0", description="Another build.")
    entries = []
    for number, built in enumerate((wheel, other)):
        server.routes[f"/{number}/{built.filename}"] = ranged(built.data)
        entries.append(
            {
                "filename": built.filename,
                "url": f"{server.url}/{number}/{built.filename}",
                "hashes": {"sha256": built.sha256},
            }
        )
    server.project("kernel", entries)
    result = run("resolve", "kernel", *ASKED)
    assert result.code == 1
    assert "hash-ambiguous: kernel 1.0" in result.err
    assert "at 2 addresses with different content" in result.err
    server.project("kernel", entries[:1])
    assert run("resolve", "kernel", *ASKED, "--no-cache").code == 0


# Dates.


def test_files_after_the_day_and_undated_ones_are_left_out(run: Run, server: Server) -> None:
    files = []
    for version, uploaded in (("1.0", "2026-01-01T00:00:00Z"), ("2.0", "2026-03-01T00:00:00Z")):
        built = build_wheel("dated", version)
        server.routes[f"/files/{built.filename}"] = ranged(built.data)
        files.append(entry_of(server, built) | {"upload-time": uploaded})
    undated = build_wheel("dated", "3.0")
    server.routes[f"/files/{undated.filename}"] = ranged(undated.data)
    server.project("dated", [*files, entry_of(server, undated)])
    for day, version in (("2026-01-01", "1.0"), ("2026-04-01", "2.0")):
        assert run("resolve", "dated", *ASKED, "--exclude-newer", day, "--upgrade").code == 0
        assert pins() == {"dated": version}
    result = run("resolve", "dated", *ASKED, "--exclude-newer", "2025-01-01", "--upgrade")
    assert result.code == 1
    assert "uploaded-later" in result.err
    # An index of one's own that gives no dates at all stays usable.
    server.project("private", [build_wheel("private", "1.0")], root="/own")
    named = ("--index", f"own={server.url}/own")
    assert run("resolve", "private", *ASKED, "--exclude-newer", "2026-01-01", *named).code == 0


def entry_of(server: Server, wheel: BuiltWheel) -> dict[str, object]:
    return {
        "filename": wheel.filename,
        "url": f"{server.url}/files/{wheel.filename}",
        "hashes": {"sha256": wheel.sha256},
    }


# Credentials.


def test_credentials_go_to_their_host_alone_and_are_never_shown(
    run: Run, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    netloc = server.url.removeprefix("http://")
    monkeypatch.delenv("ABILOCK_DEFAULT_INDEX")
    monkeypatch.setenv("UV_NO_CONFIG", "")
    Path("uv.toml").write_text(f'[pip]\nindex-url = "http://me:hush@{netloc}/simple"\n')
    assert run("resolve", "filelock", *ASKED).code == 0
    assert {r.headers["authorization"] for r in server.requests} == {"Basic bWU6aHVzaA=="}
    assert "hush" not in Path("pylock.toml").read_text(encoding="utf-8")
    with_other_host(server)
    del server.requests[:]
    result = run("resolve", "elsewhere", *ASKED, "--format", "json")
    assert (result.code, "hush" in result.out + result.err) == (3, False)


def with_other_host(server: Server) -> None:
    server.routes["/simple/elsewhere/"] = Reply(
        status=302, headers={"Location": "http://other.invalid/simple/elsewhere/"}
    )


# Exports that install.


@pytest.mark.parametrize("form", ["pip", "constraints"])
def test_an_export_is_what_pip_takes(run: Run, server: Server, form: str, tmp_path: Path) -> None:
    html_index(server, "/own/cu130", "sgl-kernel", [("", build_wheel("sgl-kernel", "1.0+cu130"))])
    moved = f"sgl-project={server.url}/own/{{cuda}}"
    assert run("resolve", "sgl-kernel", "filelock", *ASKED, "--index", moved).code == 0
    assert run("export", "--to", form, "-o", "out.txt").code == 0
    index = ("--index-url", f"{server.url}/simple", "--disable-pip-version-check", "--no-cache-dir")
    use = (
        ("--no-deps", "--require-hashes", "-r", "out.txt")
        if form == "pip"
        else ("-c", "out.txt", "filelock")
    )
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", "-t", str(tmp_path / "t"), *index, *use],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    installed = {path.name for path in (tmp_path / "t").glob("*.dist-info")}
    assert "filelock-3.0.dist-info" in installed
    assert ("sgl_kernel-1.0+cu130.dist-info" in installed) is (form == "pip")


def test_json_pages_of_pep_691_count_as_such(run: Run, server: Server) -> None:
    assert run("resolve", "filelock", *ASKED).code == 0
    (request,) = (r for r in server.requests if r.path == "/simple/filelock/")
    assert request.headers["accept"].startswith(JSON)
