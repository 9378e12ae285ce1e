"""``abilock knowledge learn`` of what works, and ``forget``: sets, grades, refusals."""

from __future__ import annotations

import json
import shutil
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from resolver import api
from resolver.model.options import TargetOptions
from resolver.usecase.open_knowledge import own_directory
from tests.cli.conftest import Result
from tests.load.world import World, elf
from tests.support.wheels import build_wheel

Run = Callable[..., Result]


@pytest.fixture
def data(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's own directory of facts."""
    monkeypatch.setenv("XDG_DATA_HOME", str(place / "data"))
    monkeypatch.setenv("ABILOCK_OFFLINE", "1")
    return own_directory(place / "data/abilock")


def kernel(*undefined: str) -> bytes:
    """An extension that links with torch."""
    return elf(None, needed=("libc10.so",), undefined=undefined).build()


@pytest.fixture
def world(place: Path) -> World:
    """An environment that loads: torch, an extension, and what is asked for above it."""
    made = World(place / "env")
    made.torch("2.9.1+cu130")
    made.install("sgl-kernel", "0.3.21+cu130", {"sgl_kernel/_C.abi3.so": kernel("_ZN3c104workEv")})
    made.install("numpy", "2.3.0", {"numpy/__init__.py": b""})
    made.install("sglang", "0.5.9", requires=["sgl-kernel", "numpy; extra == 'all'"])
    made.install("pip", "26.0")
    return made


def learned(data: Path, id_: str) -> dict[str, Any]:
    """The set of that id, as it is written."""
    return tomllib.loads((data / f"tuples/{id_}.toml").read_text())


ID = "own-sglang-0.5.9-cu130-sm120-py312-x86_64"


def test_an_environment_that_loads_is_measured(run: Run, world: World, data: Path) -> None:
    done = run("knowledge", "learn", str(world.prefix), "--arch", "sm120")
    assert (done.code, done.out) == (0, "")
    assert done.err == (
        f"Recorded: {ID} (measured)\n"
        "  CUDA 13.0, sm_120, Python 3.12, x86_64\n"
        "  sgl-kernel==0.3.21+cu130\n"
        "  sglang==0.5.9\n"
        "  torch==2.9.1+cu130\n"
        f"{data}/tuples/{ID}.toml\n"
        "This machine uses it from now on.\n"
        "Propose it: add that file to knowledge/tuples (CONTRIBUTING.md).\n"
        f"Undo it: abilock knowledge forget {ID}\n"
    )
    found = learned(data, ID)
    assert {key: found[key] for key in ("grade", "anchor", "cuda", "archs", "machines")} == {
        "grade": "measured",
        "anchor": "sglang",
        "cuda": ["13.0"],
        "archs": ["sm_120"],
        "machines": ["x86_64"],
    }
    assert found["python"] == "==3.12.*"
    assert str(world.prefix) not in json.dumps(found, default=str)
    pins = tomllib.loads((data / f"tuples/{ID}.pins.toml").read_text())["pins"]
    assert {"numpy==2.3.0", "torch==2.9.1+cu130", "sgl-kernel==0.3.21+cu130"} <= {*pins}
    assert "pip==26.0" not in pins
    # It counts at once, and is valid beside what ships.
    assert ID in run("knowledge", "list", "tuple").out
    assert run("knowledge", "validate", str(data), "--overlay").code == 0
    python = world.prefix / "bin/python"
    python.parent.mkdir()
    python.touch(mode=0o755)
    again = run("knowledge", "learn", str(python), "--arch", "sm120")
    assert (again.code, again.err.splitlines()[1]) == (0, f"Recorded already: {ID} (measured)")
    files = [f"{data}/tuples/{ID}{suffix}" for suffix in (".toml", ".pins.toml")]
    assert run("knowledge", "forget", ID).err == "".join(f"Removed {file}.\n" for file in files)
    assert not list(data.glob("tuples/*"))


def test_nothing_is_overwritten_unasked(run: Run, world: World, data: Path) -> None:
    learn = ("knowledge", "learn", str(world.prefix), "--arch", "sm120")
    assert run(*learn).code == 0
    world.install("scipy", "1.0")
    before = learned(data, ID)
    refused = run(*learn)
    assert (refused.code, refused.err.splitlines()[1:]) == (
        2,
        [
            f"error: {data}/tuples/{ID}.toml is there, and says something else",
            "hint: give another --id, or --replace to write it anew",
        ],
    )
    assert learned(data, ID) == before
    assert run(*learn, "--id", "mine").code == 0
    assert learned(data, "mine")["id"] == "mine"
    assert run(*learn, "--replace").code == 0
    assert "scipy==1.0" in (data / f"tuples/{ID}.pins.toml").read_text()


def test_another_directory_is_named(run: Run, world: World, data: Path, place: Path) -> None:
    (place / "mine").mkdir()
    done = run("knowledge", "learn", "env", "--arch", "sm120", "--knowledge", "mine")
    assert done.code == 0
    assert "Runs with --knowledge mine use it.\n" in done.err
    assert done.err.endswith(f"Undo it: abilock knowledge forget {ID} --knowledge mine\n")
    assert not data.exists()
    assert world.prefix.is_dir()
    assert run("knowledge", "forget", ID, "--knowledge", "mine").code == 0
    assert not list((place / "mine/tuples").iterdir())


def test_what_does_not_load_is_refused(run: Run, world: World, data: Path) -> None:
    broken = elf(None, needed=("libc10.so", "libgone.so.1"), defined=("PyInit__C",))
    world.install("ext", "1.0", {"ext/_C.abi3.so": broken.build()})
    refused = run("knowledge", "learn", str(world.prefix), "--arch", "sm120")
    assert (refused.code, refused.out) == (1, "")
    assert "libgone.so.1" in refused.err
    assert refused.err.endswith("Nothing is recorded: the set does not work.\n")
    assert not data.exists()


def test_what_works_in_part_is_no_member(run: Run, world: World, data: Path) -> None:
    part = elf(None, needed=("libc10.so", "libgone.so.1"))
    world.install("ext", "1.0", {"ext/part.so": part.build()})
    told = run("knowledge", "learn", "env", "--arch", "sm120", "--anchor", "sglang")
    assert told.code == 0
    found = learned(data, ID)
    assert "ext" not in found["packages"]
    assert found["notes"] == [
        "ext 1.0: missing-library: needs libgone.so.1; found no such file",
    ]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["env"], 2, "no GPU is known: its device code was not judged"),
        (["env", "--arch", "sm120", "--anchor", "vllm"], 2, "--anchor 'vllm' is not in the set"),
        (["env", "--arch", "sm120", "--id", "A b"], 2, "--id 'A b' is none"),
        (["env", "sgl-kernel>=0.3"], 2, "env is learned alone"),
        (["env", "--full"], 2, "--full is for wheels"),
        (["sgl-kernel>=0.3", "--anchor", "x"], 2, "--anchor, --id, --replace and what describes"),
        (["none.json"], 2, "no known-good set with the id 'none.json'"),
    ],
)
@pytest.mark.usefixtures("world")
def test_what_is_no_set(
    run: Run, data: Path, arguments: list[str], code: int, message: str
) -> None:
    told = run("knowledge", "learn", *arguments)
    assert (told.code, told.out) == (code, "")
    assert any(line.startswith(f"error: {message}") for line in told.err.splitlines())
    assert not data.exists()


def test_a_set_of_several_roots_says_what_it_is_for(run: Run, world: World, data: Path) -> None:
    for name in ("one", "two"):
        world.install(name, "1.0", {f"{name}/_C.abi3.so": kernel()}, requires=["sglang"])
    told = run("knowledge", "learn", "env", "--arch", "sm120")
    assert told.code == 2
    assert "it is not known what the set is for: one, two" in told.err
    assert run("knowledge", "learn", "env", "--arch", "sm120", "--anchor", "two").code == 0
    (file,) = data.glob("tuples/*two-1.0*.pins.toml")
    assert file.is_file()


def test_a_build_is_known_by_its_files_where_its_metadata_hides_it(
    run: Run,
    world: World,
    data: Path,
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    publish: Callable[..., None],
) -> None:
    shutil.rmtree(world.site / "sgl_kernel-0.3.21+cu130.dist-info")
    tag, files = (
        "cp310-abi3-manylinux2014_x86_64",
        {"sgl_kernel/_C.abi3.so": kernel("_ZN3c104workEv")},
    )
    mine = build_wheel("sgl-kernel", "0.3.21+cu130", says_version="0.3.21", tag=tag, files=files)
    other = build_wheel("sgl-kernel", "0.3.21", tag=tag, files={"sgl_kernel/_C.abi3.so": kernel()})
    (place / "mine.whl").write_bytes(mine.data)
    with zipfile.ZipFile(place / "mine.whl") as archive:
        archive.extractall(world.site)
    # Of itself the wheel says no more than linux, as sgl-kernel's do.
    (wheel,) = world.site.glob("sgl_kernel-*.dist-info/WHEEL")
    wheel.write_text(wheel.read_text().replace("manylinux2014_", "linux_"))
    publish(mine, other)
    learn = ("knowledge", "learn", "env", "--arch", "sm120")
    unknown = run(*learn)
    assert (unknown.code, unknown.err.splitlines()[0]) == (
        3,
        "error: which files are installed is not known: sgl-kernel 0.3.21",
    )
    assert not data.exists()
    monkeypatch.delenv("ABILOCK_OFFLINE")
    assert run(*learn).code == 0
    assert learned(data, ID)["packages"]["sgl-kernel"] == "0.3.21+cu130"
    assert learned(data, ID)["sha256"] == {"sgl-kernel": mine.sha256}


@pytest.mark.parametrize("installer", ["conda", "pip"])
def test_conda_s_own_build_is_no_file_of_an_index(
    run: Run, world: World, data: Path, installer: str
) -> None:
    (torch,) = world.site.glob("torch-*.dist-info")
    (torch / "INSTALLER").write_text(f"{installer}\n")
    told = run("knowledge", "learn", "env", "--arch", "sm120")
    assert told.code == (3 if installer == "conda" else 0)
    if installer == "conda":
        assert told.err.splitlines()[0] == (
            "error: which files are installed is not known: torch 2.9.1+cu130, conda's own build"
        )
        assert not data.exists()


# a lock


def test_a_lock_is_declared(run: Run, data: Path) -> None:
    wanted = {"cuda": "13.0", "arch": "sm120", "python": "3.12", "machine": "x86_64"}
    answer = api.resolve("sgl-kernel", target=TargetOptions(**wanted, glibc="2.35"))
    assert answer.lock is not None
    answer.lock.write("pylock.toml")
    done = run("knowledge", "learn", "pylock.toml")
    id_ = "own-sgl-kernel-0.3.21-cu130-sm120-py312-x86_64"
    assert (done.code, done.err.splitlines()[0]) == (0, f"Recorded: {id_} (declared)")
    found = learned(data, id_)
    assert found["packages"] == {"sgl-kernel": "0.3.21+cu130", "torch": "2.9.1+cu130"}
    assert found["channels"] == {"sgl-kernel": "sgl-project", "torch": "pytorch"}
    assert found["source"].startswith("a pylock.toml (sha256 ")


# a smoke record


def package(name: str, version: str, result: str = "ran", **changes: Any) -> dict[str, Any]:
    """What a record says of one package."""
    return {
        "name": name,
        "version": version,
        "filename": f"{name}-{version}-py3-none-any.whl",
        "channel": "pytorch" if name == "torch" else "default",
        "sha256": "1" * 64,
        "installed": version,
        "record_sha256": "2" * 64,
        "archive_sha256": None,
        "result": result,
        "modules": [{"name": name.replace("-", "_"), "result": "imported", "error": None}],
    } | changes


def record(**changes: Any) -> dict[str, Any]:
    """A record of two GPUs on which everything ran."""
    gpus = [{"index": n, "name": "NVIDIA RTX PRO 6000", "arch": "sm_120"} for n in range(2)]
    call = {"call": "a product", "result": "ran", "error": None}
    return {
        "version": 1,
        "kind": "abilock-smoke",
        "verdict": "ran",
        "date": "2026-11-29",
        "lock": {"name": "pylock.toml", "sha256": "a" * 64, "requests": ["sgl-kernel", "torch"]},
        "target": {
            "cuda": "13.0",
            "arch": ["sm_120"],
            "python": "3.12",
            "machine": "x86_64",
            "glibc": "2.35",
        },
        "host": {
            "python": "3.12.4",
            "machine": "x86_64",
            "glibc": "2.35",
            "driver": "580.95.05",
            "driver_cuda": "13.0",
            "torch_cuda": "13.0",
        },
        "gpus": gpus,
        "packages": [
            package("numpy", "2.3.0", "imported"),
            package("sgl-kernel", "0.3.21"),
            package("torch", "2.9.1+cu130"),
        ],
        "kernels": [call | {"package": "torch", "gpu": n} for n in range(2)],
        "pairs": [],
    } | changes


def write_record(place: Path, **changes: Any) -> str:
    (place / "smoke.json").write_text(json.dumps(record(**changes)))
    return "smoke.json"


def test_a_record_of_kernels_ran(run: Run, data: Path, place: Path) -> None:
    done = run("knowledge", "learn", write_record(place))
    id_ = "own-sgl-kernel-0.3.21-cu130-sm120-py312-x86_64"
    assert (done.code, done.err.splitlines()[0]) == (0, f"Recorded: {id_} (ran)")
    found = learned(data, id_)
    assert found["packages"] == {"sgl-kernel": "0.3.21", "torch": "2.9.1+cu130"}
    assert found["sha256"] == {"sgl-kernel": "1" * 64, "torch": "1" * 64}
    assert (str(found["date"]), found["channels"]) == ("2026-11-29", {"torch": "pytorch"})
    assert found["source"] == (
        "a smoke record of a lock (sha256 aaaaaaaaaaaa) on NVIDIA RTX PRO 6000, driver 580.95.05: "
        "a product"
    )
    assert "numpy==2.3.0" in (data / f"tuples/{id_}.pins.toml").read_text()


def test_what_ran_and_is_not_known_to_be_the_locks_is_left_out(
    run: Run, data: Path, place: Path
) -> None:
    packages = [
        package("torch", "2.9.1+cu130"),
        package("sgl-kernel", "0.3.21+cu130", installed="0.3.21"),
        package("flashinfer-python", "0.6.4", archive_sha256="1" * 64, installed="0.6.4+x"),
    ]
    assert run("knowledge", "learn", write_record(place, packages=packages)).code == 0
    (file,) = (path for path in data.glob("tuples/*.toml") if ".pins." not in path.name)
    found = tomllib.loads(file.read_text())
    assert found["packages"] == {"flashinfer-python": "0.6.4", "torch": "2.9.1+cu130"}
    assert found["notes"] == [
        "sgl-kernel 0.3.21+cu130 ran, and 0.3.21 is what its metadata says: whose file it is is "
        "not known, so it is left out"
    ]


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (
            {"verdict": "no-gpu", "gpus": [], "kernels": []},
            "no GPU was there: that imports work is no more than measured says",
        ),
        (
            {"packages": [package("torch", "2.9.1", "absent", installed="2.8.0")]},
            "torch 2.9.1 absent: 2.8.0 is installed",
        ),
        (
            {
                "verdict": "failed",
                "kernels": [
                    {
                        "package": "torch",
                        "gpu": 1,
                        "call": "a product",
                        "result": "crashed",
                        "error": "signal 11",
                    }
                ],
            },
            "a product on GPU 1 crashed: signal 11",
        ),
        (
            {"packages": [package("torch", "2.9.1", "imported")]},
            "torch ran on no GPU, or is another build than the lock names",
        ),
    ],
)
def test_a_record_of_what_did_not_run(
    run: Run, data: Path, place: Path, changes: dict[str, Any], line: str
) -> None:
    told = run("knowledge", "learn", write_record(place, **changes))
    assert (told.code, told.out) == (1, "")
    assert told.err == (
        f"Not recorded: the record does not say that the set ran.\n  {line}\n"
        "Nothing is recorded: the set does not work.\n"
    )
    assert not data.exists()


@pytest.mark.parametrize(
    "changes",
    [
        {"verdict": "fine"},
        {"date": 1},
        {"date": "2026-13-45"},
        {"more": 1},
        {"gpus": [{"index": 0}]},
        {"gpus": [{"index": 0, "name": "x", "arch": "fast"}]},
        {"packages": [package("torch", "new")]},
        {"packages": [package("torch", "2.9.1"), package("a b", "1")]},
    ],
)
def test_a_record_that_is_none(run: Run, data: Path, place: Path, changes: dict[str, Any]) -> None:
    told = run("knowledge", "learn", write_record(place, **changes))
    assert told.code == 3
    assert told.err.startswith("error: smoke.json is no smoke record: ")
    assert not data.exists()


# forgetting


@pytest.mark.parametrize(
    ("id_", "message"),
    [
        ("nothing", "no set of your own has the id 'nothing'"),
        ("../../x", "no set has the id '../../x'"),
        ("blackwell-sm120-cu130-2026-02", "blackwell-sm120-cu130-2026-02 ships with abilock"),
    ],
)
@pytest.mark.usefixtures("data")
def test_what_cannot_be_forgotten(run: Run, id_: str, message: str) -> None:
    told = run("knowledge", "forget", id_)
    assert told.code == 2
    assert told.err.startswith(f"error: {message}")
