"""What NVIDIA's wheels export: read, kept, and as it ships."""

from __future__ import annotations

from pathlib import Path

import pytest
from packaging.version import Version

from resolver.abi.provider import ProviderHistory, ProviderWheel
from resolver.abi.provider_build import extend_providers, read_provider_wheel
from resolver.abi.provider_file import PROVIDERS_FILE, dump_providers, load_providers
from resolver.errors import KnowledgeError
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.wheelfile.byte_source import BytesSource
from tests.abi.elf_builder import Elf
from tests.abi.wheels import make_wheel

BLAS = "nvidia/blas/lib/libblas.so.1"


def column(
    version: str, *names: str, machine: str = "x86_64", filler: int = 64
) -> tuple[ProviderWheel, dict[str, frozenset[str]]]:
    """One wheel of a library and of one that it needs."""
    library = Elf(
        defined=names,
        soname="libblas.so.1",
        needed=("liblt.so.1",),
        runpath="$ORIGIN",
        offers=("libblas.so.1", "BLAS_1.0"),
        filler=bytes(filler),
    )
    wheel = make_wheel({BLAS: library.build(), "nvidia/blas/include/blas.h": b"int x;"})
    return read_provider_wheel(
        BytesSource(wheel),
        filename=f"nvidia_blas-{version}-py3-none-manylinux_2_17_{machine}.whl",
        sha256=(version.replace(".", "") + machine).encode().hex().ljust(64, "0"),
        most=1 << 20,
    )


@pytest.mark.parametrize("filler", [pytest.param(64, id="whole"), pytest.param(1 << 22, id="ends")])
def test_a_wheel_is_read(filler: int) -> None:
    wheel, exports = column("1.0", "blasGemm", "blasScal", filler=filler)
    assert (wheel.project, wheel.version, wheel.machine) == (
        "nvidia-blas",
        Version("1.0"),
        "x86_64",
    )
    (library,) = wheel.libraries
    assert (library.path, library.soname, library.needed) == (
        BLAS,
        "libblas.so.1",
        ("liblt.so.1", "libc.so.6") if filler > 64 else ("liblt.so.1",),
    )
    assert library.runpath == ("$ORIGIN",)
    assert exports == {BLAS: {"blasGemm", "blasScal", "@libblas.so.1", "@BLAS_1.0"}}


def test_what_lies_at_the_end_of_a_large_file_stays_unread() -> None:
    scrambled = bytearray(Elf(filler=bytes(1 << 22), soname="libblas.so.1").build())
    scrambled[64 + 56 * 2 : 4096] = b"X" * (4096 - 64 - 56 * 2)  # as patchelf leaves it
    wheel, exports = read_provider_wheel(
        BytesSource(make_wheel({BLAS: bytes(scrambled)})),
        filename="nvidia_blas-1.0-py3-none-manylinux_2_17_x86_64.whl",
        sha256="0" * 64,
        most=0,
    )
    assert exports == {}
    assert [(each.soname, each.is_read) for each in wheel.libraries] == [("libblas.so.1", False)]


def test_it_comes_back_from_disk(tmp_path: Path) -> None:
    columns = [column("1.0", "blasGemm"), column("1.1", "blasGemm", "blasScal")]
    history = ProviderHistory.from_columns(columns)
    again = extend_providers(ProviderHistory.from_columns(columns[1:]), columns[:1])
    for place, each in (("one", history), ("two", again)):
        (tmp_path / place).mkdir()
        dump_providers(each, tmp_path / place)
    one, two = ((tmp_path / place / PROVIDERS_FILE).read_bytes() for place in ("one", "two"))
    assert one == two
    loaded = load_providers(tmp_path / "one")
    assert tuple(loaded.wheels) == tuple(history.wheels)
    assert loaded.names("libblas.so.1") == {
        "@BLAS_1.0": 0b11,
        "@libblas.so.1": 0b11,
        "blasGemm": 0b11,
        "blasScal": 0b10,
    }
    assert loaded.exports(loaded.wheels[0])[BLAS] == {"@BLAS_1.0", "@libblas.so.1", "blasGemm"}
    assert len(load_providers(tmp_path)) == 0  # a database may have none
    (tmp_path / PROVIDERS_FILE).write_bytes(one[:-20])
    with pytest.raises(KnowledgeError, match="damaged history"):
        load_providers(tmp_path)


# what ships


def releases(soname: str, name: str, project: str) -> tuple[set[str], set[str]]:
    """The releases of a project that export a name, and those that do not."""
    history = KnowledgeBase().providers
    have: set[str] = set()
    lack: set[str] = set()
    mask = history.names(soname)[name]
    for sha256, place in history.places[soname].items():
        wheel = history.of_sha256(sha256)
        assert wheel is not None
        if wheel.project == project:
            (have if mask >> place & 1 else lack).add(str(wheel.version))
    return have, lack


def test_when_a_function_came() -> None:
    name = "cublasLtGroupedMatrixLayoutInit_internal"
    have, lack = releases("libcublasLt.so.13", name, "nvidia-cublas")
    assert {"13.3.0.5", "13.2.0.9"} <= have
    assert {"13.1.0.3", "13.1.1.3", "13.0.0.19"} <= lack
    have, lack = releases("libnccl.so.2", "ncclCommWindowRegister", "nvidia-nccl-cu12")
    assert {"2.27.3", "2.27.5"} <= have
    assert {"2.23.4", "2.26.2"} <= lack


def test_versions_that_libraries_define() -> None:
    names = KnowledgeBase().providers.names("libcublas.so.12")
    assert "@libcublas.so.12" in names
    assert "@libcublas.so.13" not in names
