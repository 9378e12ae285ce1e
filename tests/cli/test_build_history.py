"""``abilock knowledge build``: torch's symbols and NVIDIA's libraries, from wheels on an index."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from packaging.version import Version

from resolver.abi.history import History
from resolver.abi.history_file import dump_history
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.model.cuda import CudaVersion
from tests.abi.columns import CHECK_INT, CLONE, EXPORTS, column
from tests.abi.elf_builder import Elf
from tests.abi.test_driver import HEADER_TEXT
from tests.cli.conftest import Result
from tests.support.database import unmeasured
from tests.support.server import Server
from tests.support.wheels import BuiltWheel, build_wheel

Run = Callable[..., Result]
X86, ARM = "manylinux_2_28_x86_64", "manylinux_2_28_aarch64"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A database of one torch, of which an index has no file."""
    root = unmeasured(tmp_path / "knowledge")
    dump_history(History.from_columns([column("2.6.0", EXPORTS["2.6.0"])]), root / "abi")
    return root


def torch(version: str, *names: str, tag: str = f"cp312-cp312-{X86}") -> BuiltWheel:
    files = {
        "torch/lib/libc10.so": Elf(defined=names, soname="libc10.so").build(),
        "torch/version.py": b"cuda: Optional[str] = '13.0'\n",
    }
    return build_wheel("torch", version, tag=tag, files=files)


def builds(database: Path) -> list[tuple[str, str, int, int]]:
    return [
        (str(build.version), build.machine, build.symbols, len(build.files))
        for build in KnowledgeBase(database).history.builds
    ]


def test_torch_is_read_once_and_added_to(run: Run, server: Server, database: Path) -> None:
    line = ("knowledge", "build", "--knowledge", str(database))
    first = torch("2.9.1", CLONE, CHECK_INT)
    others = [
        torch("2.9.1", CLONE, CHECK_INT, tag=f"cp311-cp311-{X86}"),
        torch("2.10.0", CLONE),
        torch("2.10.0", CLONE, tag=f"cp312-cp312-{ARM}"),
    ]
    unwanted = [torch("2.0.0", CLONE), torch("2.11.0rc1", CLONE)]
    server.project("torch", [first, *others, *unwanted])
    named = run(*line, "2.9.1")
    assert named.code == 0, named.err
    assert named.err.splitlines()[-3:] == [
        f"{first.filename}: 2 symbols",
        f"{others[0].filename}: 2 symbols",
        "Read 2 wheels; the history has 2 builds.",
    ]
    assert builds(database)[1:] == [("2.9.1", "x86_64", 2, 2)]
    assert KnowledgeBase(database).history.builds[1].cuda == CudaVersion(13, 0)

    assert run(*line).err.splitlines()[-1] == "Read 2 wheels; the history has 4 builds."
    history = KnowledgeBase(database).history
    assert [history.mask(name).bit_count() for name in (CLONE, CHECK_INT)] == [4, 2]
    assert run(*line).err.splitlines()[-1] == (
        "Nothing to read: the history holds every release asked for."
    )
    # Of every file of the history those that the index has.
    again = run(*line, "--again")
    assert again.err.splitlines()[-1] == "Read 4 wheels; the history has 3 builds."


def test_a_release_that_is_none(run: Run, database: Path) -> None:
    found = run("knowledge", "build", "newest", "--knowledge", str(database))
    assert (found.code, found.err) == (
        2,
        "error: 'newest' is not a torch release\nhint: write it as 2.15.0\n",
    )


def runtime(version: str, *names: str) -> BuiltWheel:
    library = Elf(defined=names, soname="libcudart.so.13", offers=("libcudart.so.13",))
    files = {
        "nvidia/cu13/lib/libcudart.so.13": library.build(),
        "nvidia/cu13/include/cudaTypedefs.h": HEADER_TEXT.encode(),
    }
    return build_wheel("nvidia-cuda-runtime", version, tag=f"py3-none-{X86}", files=files)


def test_libraries_and_the_functions_of_the_driver(
    run: Run, server: Server, database: Path
) -> None:
    line = ("knowledge", "build", "--libraries", "--knowledge", str(database))
    wheels = [runtime("13.0.88", "cudaMalloc"), runtime("13.1.80", "cudaMalloc", "cudaNew")]
    server.project("nvidia-cuda-runtime", wheels)
    first = run(*line)
    assert first.code == 0, first.err
    assert first.err.splitlines()[-1] == "Read 2 wheels; the libraries of 2 wheels are known."
    known = KnowledgeBase(database)
    assert [wheel.version for wheel in known.providers.wheels] == [
        Version("13.0.88"),
        Version("13.1.80"),
    ]
    assert known.driver_functions.since("cuGreenCtxDestroy") == CudaVersion(12, 4)
    assert run(*line).err.splitlines()[-1] == "Read 0 wheels; the libraries of 2 wheels are known."
    named = run(*line, "nvidia-cuda-runtime==13.0.88")
    assert named.err.splitlines()[-1] == "Read 0 wheels; the libraries of 2 wheels are known."


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["=="],
            "error: '==' names no wheels of NVIDIA's\nhint: write it as nvidia-cublas==13.3.0.5\n",
        ),
        (["--again"], "error: --again is for torch\nhint: name the wheels to read anew\n"),
    ],
)
def test_libraries_that_are_none(
    run: Run, database: Path, arguments: list[str], message: str
) -> None:
    found = run("knowledge", "build", "--libraries", "--knowledge", str(database), *arguments)
    assert (found.code, found.err) == (2, message)
