"""Environments that load and environments that do not, and what is said of them."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from packaging.version import Version

from resolver.compat.load_facts import load_knowledge
from resolver.errors import UsageError
from resolver.host.dynamic_loader import probe_loader
from resolver.load.environment import load_environment
from resolver.load.library_search import LoaderHost
from resolver.model.check_report import Report
from resolver.model.cuda import Arch, CudaVersion
from resolver.model.reason import Code, Reason, Severity
from resolver.usecase import check_environment
from tests.load.world import HOST, World, elf
from tests.support.fakes import make_reason, make_tuple

EXTENSION = "ext/_ext.abi3.so"


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """An environment on a machine whose loader finds nothing by itself."""
    monkeypatch.setattr(check_environment, "probe_loader", LoaderHost)
    return World(tmp_path / "env")


def extension(**parts: object) -> dict[str, bytes]:
    values: dict[str, object] = {
        "needed": ("libtorch.so", "libc10.so"),
        "defined": ("PyInit__ext",),
        **parts,
    }
    return {EXTENSION: elf(None, **values).build()}  # type: ignore[arg-type]


def codes(report: Report) -> list[tuple[str, str]]:
    return [(str(reason.code), str(reason.severity)) for reason in report.findings]


def only(report: Report) -> Reason:
    (reason,) = report.findings
    return reason


def test_a_set_that_loads(world: World) -> None:
    world.torch()
    world.install("ext", "1.0", extension(undefined=("_ZN3c104workEv",)))
    report = world.check()
    assert (report.verdict, codes(report)) == ("ok", [])
    assert report.target is not None
    assert report.target.cuda == CudaVersion(13, 0)
    assert report.packages == 3


def test_the_leftover_of_an_upgrade(world: World) -> None:
    world.torch()
    needed = ("libtorch.so", "libnvrtc.so.13")
    world.install("ext", "1.0", extension(needed=needed))
    assert world.check().verdict == "ok"
    leftover = "nvidia/cuda_nvrtc/lib/libnvrtc.so.12"
    world.install("nvidia-cuda-nvrtc-cu12", "12.8.93", {leftover: elf("libnvrtc.so.12").build()})
    report = world.check()
    reason = only(report)
    assert report.verdict == "broken"
    assert reason.code is Code.SHADOWED_LIBRARY
    assert (str(reason.subject), str(reason.object)) == (
        "ext 1.0",
        "nvidia-cuda-nvrtc-cu12 12.8.93",
    )
    assert reason.needs == "libnvrtc.so.13"
    assert reason.found == (
        f"{leftover} of nvidia-cuda-nvrtc-cu12 12.8.93, which torch 2.11.0 loads instead: it looks "
        "in nvidia/cuda_nvrtc/lib first"
    )
    assert reason.remedy is not None
    assert reason.remedy.startswith(
        f"uv pip uninstall --python {world.prefix} nvidia-cuda-nvrtc-cu12, or: sudo sh -c 'echo "
        f"{world.site}/nvidia/cu13/lib > "
    )


def test_a_leftover_that_nobody_needs_degrades(world: World) -> None:
    world.torch()
    leftover = {"nvidia/cuda_nvrtc/lib/libnvrtc.so.12": elf("libnvrtc.so.12").build()}
    world.install("nvidia-cuda-nvrtc-cu12", "12.8.93", leftover)
    report = world.check()
    assert codes(report) == [("shadowed-library", "degraded")]
    assert str(only(report).subject) == "torch 2.11.0"


def test_a_symbol_that_torch_does_not_have(world: World) -> None:
    world.torch()
    world.install("ext", "1.0", extension(undefined=("_ZN3c104restEi", "_ZN3c104workEv")))
    reason = only(world.check())
    assert reason.code is Code.MISSING_SYMBOL
    assert (str(reason.subject), str(reason.object)) == ("ext 1.0", "torch 2.11.0")
    assert (reason.needs, reason.found) == ("c10::rest(int)", "c10::rest(unsigned int)")
    assert reason.symbols == ("_ZN3c104restEi",)
    assert reason.member == EXTENSION


def test_a_range_with_a_gap_is_a_command_that_runs(world: World) -> None:
    world.torch("2.9.1")
    # at::arange(Scalar, Scalar, Scalar, TensorOptions) went with 2.14 and came back with 2.15.
    gone = "_ZN2at6arangeERKN3c106ScalarES3_S3_NS0_13TensorOptionsE"
    world.install("ext", "1.0", extension(undefined=(gone,)))
    reason = only(world.check())
    assert reason.works_with == "torch >=2.12,<2.14 or >=2.15"
    assert reason.remedy == (
        f"uv pip install --python {world.prefix} 'torch>=2.12,<2.14', or a release of ext that was "
        "built for torch 2.9.1."
    )


def test_a_symbol_and_a_library_are_both_told(world: World) -> None:
    world.torch()
    world.install(
        "ext",
        "1.0",
        extension(needed=("libtorch.so", "libodd.so.9"), undefined=("_ZN3c104goneEv", "odd_call")),
    )
    report = world.check()
    assert sorted(codes(report)) == [("missing-library", "fatal"), ("missing-symbol", "fatal")]
    symbols = [reason.symbols for reason in report.findings if reason.symbols]
    assert symbols == [("_ZN3c104goneEv",)]


@pytest.mark.parametrize(
    ("soname", "code", "remedy"),
    [
        ("libcublas.so.12", "cuda-mismatch", "Use a build of ext for CUDA 13."),
        (
            "libcusolver.so.12",
            "missing-library",
            "uv pip install --python {prefix} nvidia-cusolver",
        ),
        (
            "libnuma.so.1",
            "missing-system-library",
            "apt-get install libnuma1, or dnf install numactl-libs.",
        ),
        ("libodd.so.9", "missing-library", "Install what brings libodd.so.9."),
    ],
)
def test_what_a_missing_library_is(world: World, soname: str, code: str, remedy: str) -> None:
    world.torch()
    world.install("ext", "1.0", extension(needed=("libtorch.so", soname)))
    reason = only(world.check())
    assert (str(reason.code), reason.needs.partition(",")[0]) == (code, soname)
    assert reason.remedy == remedy.format(prefix=world.prefix)


@pytest.mark.parametrize(
    ("soname", "there", "lacking"),
    [
        ("libcuda.so.1", "cuInit", "cuGreenCtxStreamCreate"),
        ("libnvidia-ml.so.1", "nvmlInit_v2", "nvmlDeviceGetGpuFabricInfoV"),
    ],
)
def test_a_driver_that_is_too_old(
    world: World, monkeypatch: pytest.MonkeyPatch, soname: str, there: str, lacking: str
) -> None:
    drivers = world.prefix / "drivers"
    drivers.mkdir()
    (drivers / soname).write_bytes(elf(soname, defined=(there,)).build())
    host = LoaderHost(library_path=(str(drivers),))
    monkeypatch.setattr(check_environment, "probe_loader", lambda: host)
    world.torch()
    needed = ("libtorch.so", soname)
    world.install("ext", "1.0", extension(needed=needed, undefined=(there, lacking)))
    reason = only(world.check())
    assert (reason.code, reason.symbols) == (Code.DRIVER_TOO_OLD, (lacking,))
    assert reason.found == f"a {soname} on this machine that does not have them"


@pytest.mark.parametrize(
    ("version", "installer", "whose"),
    [
        ("2.11.0", "conda", "torch 2.11.0 is conda's own build"),
        ("2.11.0", "uv", None),
        ("2.6.0a0+df5bbc09d1.nv24.12", "pip", "is NVIDIA's own build (+df5bbc09d1.nv24.12)"),
    ],
)
def test_a_torch_of_somebody_s_own_is_said_to_be_one(
    world: World, version: str, installer: str, whose: str | None
) -> None:
    world.torch(version)
    (world.site / f"torch-{version}.dist-info" / "INSTALLER").write_text(f"{installer}\n")
    told = [note for note in world.check().notes if "own build" in note]
    assert [whose in note for note in told if whose] == [True] * (whose is not None)
    assert len(told) == (whose is not None)


def test_a_machine_without_a_driver(world: World) -> None:
    world.torch()
    needed = ("libtorch.so", "libcuda.so.1")
    world.install("ext", "1.0", extension(needed=needed, undefined=("cuGreenCtxStreamCreate",)))
    report = world.check()
    assert report.verdict == "ok"
    assert report.notes[1] == (
        "this machine has no NVIDIA driver: libcuda.so.1 is taken as there and complete"
    )


@pytest.mark.parametrize(("driver", "refused"), [("535.183.06", True), ("550.54.14", False)])
def test_a_driver_that_is_named_is_asked_where_there_is_none(
    world: World, driver: str, refused: bool
) -> None:
    world.torch()
    needed = ("libtorch.so", "libcuda.so.1")
    world.install("ext", "1.0", extension(needed=needed, undefined=("cuGreenCtxDestroy",)))
    report = world.check(driver=Version(driver))
    found = [(r.code, r.symbols) for r in report.findings if r.symbols]
    assert found == ([(Code.DRIVER_TOO_OLD, ("cuGreenCtxDestroy",))] if refused else [])


def test_a_torch_that_does_not_load(world: World) -> None:
    world.torch()
    (world.site / "nvidia/cu13/lib/libcudart.so.13").unlink()
    world.install("ext", "1.0", extension())
    report = world.check()
    assert [(str(r.code), str(r.subject)) for r in report.findings] == [
        ("missing-library", "torch 2.11.0"),
        ("broken-install", "nvidia-cuda-cu13 13.0"),
    ]
    assert "not judged, since torch itself does not load: ext 1.0" in report.notes


def test_a_library_that_is_there_and_not_found(world: World) -> None:
    world.torch()
    world.install("other", "2.0", {"other/libs/libodd.so.9": elf("libodd.so.9").build()})
    world.install("ext", "1.0", extension(needed=("libtorch.so", "libodd.so.9")))
    reason = only(world.check())
    assert reason.found == "other/libs/libodd.so.9, where the loader does not look"
    assert str(reason.object) == "other 2.0"
    assert reason.remedy is not None
    libraries = f"{world.site}/other/libs"
    assert reason.remedy == (
        f'export LD_LIBRARY_PATH={libraries}"${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}", or: sudo sh '
        f"-c 'echo {libraries} > /etc/ld.so.conf.d/abilock.conf; ldconfig'"
    )


def test_an_own_library_is_loaded_by_the_package(world: World) -> None:
    files = {
        "pkg/_pkg.abi3.so": elf(None, needed=("libodd.so.9",), defined=("PyInit__pkg",)).build(),
        "pkg.libs/libodd.so.9": elf("libodd.so.9").build(),
    }
    world.install("pkg", "1.0", files)
    assert world.check().verdict == "ok"


def test_what_is_missing_beside_an_own_library_is_told_alone(world: World) -> None:
    """As of ``_C.so`` of sgl-deep-gemm 0.1.2, whose tvm_ffi Python has loaded before."""
    world.torch()
    module = extension(needed=("libodd.so.9", "libc10.so"), undefined=("_ZN3c104goneEv",))
    library = {"odd/libodd.so.9": elf("libodd.so.9").build()}
    world.install("odd", "1.0", library)
    world.install("ext", "1.0", module, requires=["odd", "torch"])
    report = world.check()
    assert [(reason.code, reason.symbols) for reason in report.findings] == [
        ("missing-symbol", ("_ZN3c104goneEv",))
    ]


def test_what_a_package_opens_of_nvidias_wheels_is_there_before_it(world: World) -> None:
    """Transformer Engine opens cuDNN and NVRTC from its Python, and takes NVRTC's functions so."""
    member = elf(None, needed=("libcudnn_graph.so.9",), undefined=("nvrtcCompileProgram",)).build()
    engine = {"transformer_engine/wheel_lib/libtransformer_engine.so": member}
    world.install("transformer-engine-cu13", "2.13.0", engine)
    assert only(world.check()).needs == "libcudnn_graph.so.9"
    graph = elf("libcudnn_graph.so.9").build()
    compiler = elf("libnvrtc.so.13", defined=("nvrtcCompileProgram",)).build()
    world.install("nvidia-cudnn-cu13", "9.19", {"nvidia/cudnn/lib/libcudnn_graph.so.9": graph})
    world.install("nvidia-cuda-nvrtc", "13.0", {"nvidia/cu13/lib/libnvrtc.so.13": compiler})
    assert world.check().verdict == "ok"


def test_what_another_package_brings_is_there_for_a_curated_one_too(world: World) -> None:
    """xgrammar imports tvm_ffi, which has loaded libtvm_ffi.so, before its own library."""
    member = elf(None, needed=("libtvm_ffi.so",)).build()
    world.install("xgrammar", "0.2.9", {"xgrammar/libxgrammar_bindings.so": member})
    assert only(world.check()).needs == "libtvm_ffi.so"
    library = {"tvm_ffi/lib/libtvm_ffi.so": elf("libtvm_ffi.so").build()}
    world.install("apache-tvm-ffi", "0.1.11", library)
    assert only(world.check()).needs == "libtvm_ffi.so"  # which nothing imports
    shutil.rmtree(world.site / "xgrammar-0.2.9.dist-info")
    files = {"xgrammar/libxgrammar_bindings.so": member}
    world.install("xgrammar", "0.2.9", files, requires=["apache-tvm-ffi"])
    assert codes(world.check()) == []


def test_a_reference_that_nothing_relocates_is_no_need(world: World) -> None:
    """GCC 13 puts it into whatever includes <iostream>; libtilelang.so loads without it."""
    module = elf(None, undefined=("_ZSt21ios_base_library_initv",), defined=("PyInit__pkg",))
    world.install("pkg", "1.0", {"pkg/_pkg.abi3.so": module.build()})
    assert codes(world.check()) == []


def test_a_library_that_nobody_has_is_told_beside_an_own_one(world: World) -> None:
    files = {
        "pkg/_pkg.abi3.so": elf(
            None, needed=("libodd.so.9", "libgone.so.1"), defined=("PyInit__pkg",)
        ).build(),
        "pkg.libs/libodd.so.9": elf("libodd.so.9").build(),
    }
    world.install("pkg", "1.0", files)
    assert only(world.check()).needs == "libgone.so.1"


def test_one_of_several_modules_may_be_optional(world: World) -> None:
    good = elf(None, defined=("PyInit__a",)).build()
    bad = elf(None, defined=("PyInit__b",), needed=("libodd.so.9",)).build()
    world.install("pkg", "1.0", {"pkg/_a.abi3.so": good, "pkg/_b.abi3.so": bad})
    assert codes(world.check()) == [("missing-library", "degraded")]


def test_modules_of_another_python_do_not_count(world: World) -> None:
    bad = elf(None, defined=("PyInit__b",), needed=("libodd.so.9",)).build()
    world.install("pkg", "1.0", {"pkg/_b.cpython-310-x86_64-linux-gnu.so": bad})
    assert world.check().verdict == "ok"


def test_a_wheel_for_another_machine(world: World) -> None:
    module = elf(None, defined=("PyInit__a",))
    module.machine = 183
    world.install("pkg", "1.0", {"pkg/_a.abi3.so": module.build()})
    reason = only(world.check())
    assert (reason.code, reason.needs) == (
        Code.PLATFORM_UNSUPPORTED,
        "a machine of type aarch64",
    )


def test_a_version_of_the_c_library_that_is_too_new(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check_environment, "probe_loader", probe_loader)
    if not Path("/etc/ld.so.cache").exists():
        pytest.skip("needs a glibc to compare with")
    needs = (("libc.so.6", "GLIBC_9.99"),)
    module = elf(None, defined=("PyInit__a",), needed=("libc.so.6",), versions=needs).build()
    world.install("pkg", "1.0", {"pkg/_a.abi3.so": module})
    reason = only(world.check())
    assert reason.code is Code.SYMBOL_VERSION_TOO_NEW
    assert reason.needs == "GLIBC_9.99 of libc.so.6"
    assert "whose newest is GLIBC_2." in reason.found


def test_the_newest_version_is_a_number(world: World) -> None:
    """The C library has GLIBC_ABI_DT_X86_64_PLT and GLIBC_PRIVATE beside GLIBC_2.43."""
    offers = ("libb.so.1", "B_1.9", "B_1.10", "B_ABI_DT_X86_64_PLT", "B_PRIVATE")
    library = elf("libb.so.1")
    library.offers = offers
    module = elf(
        None,
        defined=("PyInit__a",),
        needed=("libb.so.1",),
        versions=(("libb.so.1", "B_2.0"),),
        runpath="$ORIGIN",
    ).build()
    world.install("pkg", "1.0", {"pkg/_a.abi3.so": module, "pkg/libb.so.1": library.build()})
    reason = only(world.check())
    assert reason.needs == "B_2.0 of libb.so.1"
    assert reason.found.endswith("libb.so.1, whose newest is B_1.10")


def test_two_wheels_that_wrote_one_path(world: World) -> None:
    path = "nvidia/nccl/lib/libnccl.so.2"
    world.install("nvidia-nccl-cu13", "2.28.9", {path: elf("libnccl.so.2").build()})
    other = elf("libnccl.so.2", defined=("here", "there")).build()
    world.install("nvidia-nccl-cu12", "2.27.5", {path: other})
    reason = only(world.check())
    assert reason.code is Code.FILE_COLLISION
    assert reason.found == "that of nvidia-nccl-cu12 2.27.5"


def test_a_file_that_another_package_took_along(world: World) -> None:
    path = "nvidia/nccl/lib/libnccl.so.2"
    world.install("nvidia-nccl-cu13", "2.28.9", {path: elf("libnccl.so.2").build()})
    (world.site / path).unlink()
    reason = only(world.check())
    assert (reason.code, reason.member) == (Code.BROKEN_INSTALL, path)


def test_versions_that_do_not_go_together(world: World) -> None:
    world.install("flashinfer-python", "0.6.4", {"flashinfer/__init__.py": b""})
    world.install("flashinfer-cubin", "0.6.3", {"flashinfer_cubin/__init__.py": b""})
    world.install("app", "1.0", {"app.py": b""}, requires=["flashinfer-python>=0.7", "numpy"])
    found = [code for code, _ in codes(world.check())]
    assert found[0] == "version-skew"
    assert found.count("version-conflict") == 2


@pytest.mark.parametrize(
    ("torchaudio", "built", "expected"),
    [
        ("2.11.0", "2.11.0+cu128", [("cuda-mismatch", "fatal")]),
        ("2.11.0", "2.11.0+cu130", []),
        ("2.11.0", "2.11.0+cpu", []),
        ("2.11.1", "2.11.1+cu132", []),
        ("2.11.1", "2.11.1+cu128", [("cuda-mismatch", "fatal")]),
    ],
)
def test_what_torchaudio_compares_at_import(
    world: World, torchaudio: str, built: str, expected: list[tuple[str, str]]
) -> None:
    world.torch("2.11.0" if torchaudio == "2.11.0" else "2.13.0", "13.0")
    version = f"__version__ = '{built}'\n".encode()
    world.install("torchaudio", torchaudio, {"torchaudio/version.py": version})
    assert codes(world.check()) == expected


def test_a_placeholder(world: World) -> None:
    world.install("nvidia-nothing-cu13", "0.0.0a0")
    assert codes(world.check()) == [("placeholder-package", "warning")]


def test_two_versions_of_one_package(world: World) -> None:
    world.install("pkg", "1.0", {"pkg/a.py": b""})
    world.install("pkg", "2.0", {"pkg/b.py": b""})
    assert codes(world.check()) == [("broken-install", "degraded")]


# what is broken is told, and nothing is raised


def test_broken_records(world: World) -> None:
    info = world.install("pkg", "1.0", {"pkg/a.py": b""})
    (info / "METADATA").write_bytes(b"\xff\xfe no header at all")
    (info / "RECORD").unlink()
    (info / "direct_url.json").write_text("{")
    found = [reason.found for reason in world.check().findings]
    assert found == [
        "METADATA has no name or no version",
        "RECORD is missing: nobody knows which files are its own",
        "direct_url.json cannot be read: Expecting property name enclosed in double quotes: "
        "line 1 column 2 (char 1)",
    ]


def test_damaged_and_unreadable_files(world: World) -> None:
    whole = elf(None, defined=("PyInit__a",)).build()
    world.install("pkg", "1.0", {"pkg/_a.abi3.so": whole[:200]})
    world.install("text", "1.0", {"text/_t.abi3.so": b"not a library"})
    loop = world.site / "loop"
    world.install("loop", "1.0", {"loop/_l.abi3.so": whole})
    (loop / "_l.abi3.so").unlink()
    (loop / "_l.abi3.so").symlink_to("_l.abi3.so")
    report = world.check()
    found = {str(reason.subject): reason for reason in report.findings}
    assert report.verdict == "broken"
    assert set(found) == {"pkg 1.0", "loop 1.0", "text 1.0"}
    assert len(report.findings) == 3
    assert {reason.code for reason in report.findings} == {Code.BROKEN_INSTALL}
    assert found["pkg 1.0"].found == "a file that ends early: 200 bytes"
    assert found["text 1.0"].found == "a file that is no ELF object"
    assert "symbolic links" in found["loop 1.0"].found


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_files_without_permission(world: World) -> None:
    whole = elf(None, defined=("PyInit__a",)).build()
    world.install("pkg", "1.0", {"pkg/_a.abi3.so": whole})
    (world.site / "pkg/_a.abi3.so").chmod(0)
    assert only(world.check()).found == "a file that cannot be read: Permission denied"


def test_an_editable_install(world: World, tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "pkg").mkdir(parents=True)
    bad = elf(None, defined=("PyInit__a",), needed=("libodd.so.9",)).build()
    (project / "pkg/_a.abi3.so").write_bytes(bad)
    info = world.install("pkg", "1.0")
    (info / "direct_url.json").write_text(
        f'{{"url": "file://{project}", "dir_info": {{"editable": true}}}}'
    )
    (world.site / "pkg.pth").write_text(f"{project}\nimport os; os.abort()\n")
    assert codes(world.check()) == [("missing-library", "fatal")]


def test_a_conda_prefix(tmp_path: Path) -> None:
    world = World(tmp_path / "env")
    (world.prefix / "pyvenv.cfg").unlink()
    (world.prefix / "conda-meta").mkdir()
    assert load_environment(world.prefix).kind == "conda"


def test_a_directory_of_packages(tmp_path: Path) -> None:
    world = World(tmp_path / "env")
    world.install("pkg", "1.0", {"pkg/a.py": b""})
    found = load_environment(world.site)
    assert (found.kind, [str(each) for each in found.distributions]) == ("directory", ["pkg 1.0"])


def test_no_environment(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no site-packages"):
        load_environment(tmp_path)
    with pytest.raises(UsageError, match="no environment and no lock file"):
        load_environment(tmp_path / "nothing")


def test_a_system_wide_environment_below(tmp_path: Path) -> None:
    base = World(tmp_path / "base")
    base.install("old", "1.0", {"old.py": b""})
    world = World(tmp_path / "env")
    (world.prefix / "pyvenv.cfg").write_text(
        f"home = {base.prefix}/bin\ninclude-system-site-packages = true\n"
    )
    (base.prefix / "bin").mkdir()
    found = load_environment(world.prefix)
    assert [each.name for each in found.distributions] == ["old"]


def test_facts_are_kept_and_read_anew_when_a_file_changes(world: World, tmp_path: Path) -> None:
    world.torch()
    world.install("ext", "1.0", extension(undefined=("_ZN3c104goneEv",)))
    cache = tmp_path / "cache"
    first = world.check(cache=cache)
    assert world.check(cache=cache).findings == first.findings
    (world.site / EXTENSION).write_bytes(extension()[EXTENSION])
    assert world.check(cache=cache).verdict == "ok"


@pytest.mark.parametrize(
    ("archs", "machine", "told"),
    [
        ("sm_120", "x86_64", ["no-device-code", "version-conflict"]),
        ("sm_90,sm_120", "x86_64", ["no-device-code", "version-conflict"]),
        ("sm_90", "x86_64", ["version-conflict"]),
        ("", "x86_64", ["version-conflict"]),
        ("sm_120", "aarch64", ["no-device-code"]),
    ],
)
def test_reports_count_for_the_machines_they_speak_for(
    world: World, monkeypatch: pytest.MonkeyPatch, archs: str, machine: str, told: list[str]
) -> None:
    monkeypatch.setattr(check_environment, "find_nvcc", lambda *_: "/usr/local/cuda/bin/nvcc")
    pair = make_tuple("here 1.0, there 2.0", verdict="bad", machines=("x86_64",))
    reason = replace(make_reason(), code=Code.VERSION_CONFLICT, severity=Severity.DEGRADED)
    known = load_knowledge()
    known = replace(known, tuples=(*known.tuples, replace(pair, reason=reason)))
    for name, version in (("flashinfer-python", "0.6.18"), ("here", "1.0"), ("there", "2.0")):
        world.install(name, version)
    report = world.check(
        known=known,
        host=replace(HOST, machine=machine),
        archs=tuple(map(Arch.parse, filter(None, archs.split(",")))),
    )
    assert sorted(code for code, _ in codes(report)) == told
