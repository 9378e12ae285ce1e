"""``check --root``: the unpacked root of an image. Nothing of this machine counts."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from resolver.errors import Undecided, UsageError
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.load.tree import Tree
from resolver.model.check_report import Report
from resolver.model.reason import Code
from resolver.usecase.check_environment import simulate
from resolver.usecase.check_image import on_musl, open_image
from tests.load.test_command import run
from tests.load.world import World, elf

__all__ = ["run"]

TRIPLE = "x86_64-linux-gnu"
MODULE = "ext.cpython-312-x86_64-linux-gnu.so"
OUTSIDE = elf("libhost.so.1").build()


def write(root: Path, path: str, data: bytes | str = b"") -> Path:
    """A file of an image."""
    target = root / path.lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data.encode() if isinstance(data, str) else data)
    return target


def link(root: Path, path: str, to: str) -> None:
    target = root / path.lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.symlink_to(to)


def python(machine: int = 62) -> bytes:
    made = elf(None, defined=("PyObject_Call",), needed=("libc.so.6",))
    made.machine = machine
    return made.build()


def image(root: Path, glibc: str = "2.31") -> Path:
    """Debian's: links of ``/bin`` and ``/lib`` into ``/usr``, glibc, Python 3.12."""
    for name in ("bin", "lib"):
        link(root, name, f"usr/{name}")
    libc = elf("libc.so.6")
    libc.offers = ("GLIBC_2.2.5", f"GLIBC_{glibc}")
    write(root, f"usr/lib/{TRIPLE}/libc.so.6", libc.build())
    write(root, "usr/bin/python3.12", python())
    link(root, "usr/bin/python3", "python3.12")
    return root


def environment(root: Path, *needed: str, place: str = "opt/venv", name: str = "ext") -> World:
    """A virtual environment of the image's Python with one module."""
    world = World(root / place)
    (world.prefix / "pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.12.1\n")
    link(root, f"{place}/bin/python", "/usr/bin/python3")
    module = elf(None, defined=("PyInit_ext",), needed=needed)
    world.install(name, "1.0", {MODULE: module.build()})
    return world


def check(root: Path, place: str | None = None, **options: Any) -> Report:
    found, machine, notes = open_image(
        root, None if place is None else Path(place), root.parent, "x86_64"
    )
    values: dict[str, Any] = dict.fromkeys(("cuda", "driver", "toolkit", "gpu", "cache"))
    values |= {"archs": (), "environ": {}, "notes": notes, "image": machine}
    return simulate(KnowledgeBase(facts=None), found, machine.host, **(values | options))


# links and paths


@pytest.mark.parametrize(
    ("path", "inside"),
    [
        ("/a/file", "/a/file"),
        ("/absolute", "/a/file"),
        ("/up", "/a/file"),
        ("/a/../../../a/./file", "/a/file"),
        ("/chain/file", "/a/file"),
        ("/round/x", None),
        ("/none/../a/file", "/none/a/file"),
        ("/a/file/../file", "/a/file/file"),
        ("/", ""),
        ("/..", ""),
        ("/out", "/etc/hostname"),
    ],
)
def test_a_path_stays_in_the_root(tmp_path: Path, path: str, inside: str | None) -> None:
    root = tmp_path / "root"
    write(root, "a/file", "inside")
    link(root, "absolute", "/a/file")
    link(root, "up", "../../../../../a/file")
    link(root, "chain", "first")
    link(root, "first", "/a/../b")
    link(root, "b", "a/.")
    link(root, "round", "circle")
    link(root, "circle", "/round")
    link(root, "out", "/etc/hostname")
    tree = Tree(root)
    if inside is None:
        with pytest.raises(OSError, match="Too many levels"):
            tree.place(path)
        assert (tree.exists(path), tree.real(path)) == (False, path)
        return
    assert tree.place(path) == f"{root}{inside}"
    assert tree.exists(path) is os.path.exists(f"{root}{inside}")
    assert (tree.is_link("/up"), tree.is_link("/chain/file"), tree.is_dir("/chain")) == (
        True,
        False,
        True,
    )


def test_this_machines_own_tree_leaves_paths_alone(tmp_path: Path) -> None:
    link(tmp_path, "link", "file")
    write(tmp_path, "file")
    here = Tree()
    assert here.place(tmp_path / "link") == str(tmp_path / "link")
    assert here.real(tmp_path / "link") == os.path.realpath(tmp_path / "file")
    assert here.is_link(tmp_path / "link")
    assert not here.is_file("nul\0")


# machine, C library, loader


def test_an_image_is_judged_by_its_own_machine(tmp_path: Path) -> None:
    root = image(tmp_path / "root")
    world = environment(root, "libc.so.6")
    module = elf(None, defined=("PyInit_new",), needed=("libc.so.6",))
    module.versions = (("libc.so.6", "GLIBC_2.34"),)
    world.install("new", "1.0", {f"new{MODULE[3:]}": module.build()})
    report = check(root)
    (reason,) = report.findings
    assert (report.prefix, report.root) == ("/opt/venv", str(root))
    assert (reason.code, str(reason.subject)) == (Code.SYMBOL_VERSION_TOO_NEW, "new 1.0")
    assert reason.found == f"/lib/{TRIPLE}/libc.so.6, whose newest is GLIBC_2.31"
    found, machine, _ = open_image(root, None, tmp_path, "riscv64")
    assert found.python == "/usr/bin/python3.12"
    assert (machine.host.machine, machine.host.glibc, machine.musl) == ("x86_64", (2, 31), None)


def test_an_image_of_another_machine(tmp_path: Path) -> None:
    root = image(tmp_path / "root")
    write(root, "usr/bin/python3.12", python(machine=183))
    libc = elf("libc.so.6")
    libc.machine = 183
    shutil.rmtree(root / f"usr/lib/{TRIPLE}")
    write(root, "usr/lib/aarch64-linux-gnu/libc.so.6", libc.build())
    world = environment(root, name="wrong")
    module = elf(None, defined=("PyInit_ext",), needed=("libc.so.6",))
    module.machine = 183
    world.install("right", "1.0", {f"r{MODULE}": module.build()})
    (reason,) = check(root).findings
    assert (reason.code, str(reason.subject)) == (Code.PLATFORM_UNSUPPORTED, "wrong 1.0")


def test_what_the_machine_has_is_not_the_images(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LD_LIBRARY_PATH, PYTHONPATH, absolute links and .pth lines that lead out of the root."""
    root = image(tmp_path / "root")
    write(tmp_path, "host/libhost.so.1", OUTSIDE)
    world = environment(root, "libhost.so.1")
    link(root, f"usr/lib/{TRIPLE}/libhost.so.1", f"{tmp_path}/host/libhost.so.1")
    other = World(tmp_path / "elsewhere")
    other.install("other", "1.0")
    (world.site / "paths.pth").write_text(f"{other.site}\n/opt/more\n../../../../../../../more\n")
    for place in ("opt/more", "more"):
        World(root / place, site="").install(f"in-{place.replace('/', '-')}", "1.0")
    monkeypatch.setenv("LD_LIBRARY_PATH", f"{tmp_path}/host")
    monkeypatch.setenv("PYTHONPATH", str(other.site))
    report = check(root, "/opt/venv")
    assert report.packages == 3
    (reason,) = report.findings
    assert (reason.code, reason.needs) == (Code.MISSING_LIBRARY, "libhost.so.1")
    assert f"searched: /lib/{TRIPLE}, /usr/lib/{TRIPLE}, /lib, /usr/lib" in reason.evidence
    # The same link is one within the root where the file is there too.
    write(root, f"{tmp_path}/host/libhost.so.1", OUTSIDE)
    assert check(root).findings == ()


def ld_cache(*rows: tuple[str, str]) -> bytes:
    """``/etc/ld.so.cache`` of an x86-64 machine."""
    at = 48 + 24 * len(rows)
    entries, strings = b"", b""
    for name, path in rows:
        key = at + len(strings)
        strings += name.encode() + b"\0"
        entries += struct.pack("<iIIIQ", 0x0303, key, at + len(strings), 0, 0)
        strings += path.encode() + b"\0"
    header = struct.pack("<20sIIB3xI12x", b"glibc-ld.so.cache1.1", len(rows), len(strings), 2, 0)
    return header + entries + strings


def test_the_toolkit_of_a_cuda_image(tmp_path: Path) -> None:
    """By ld.so.cache; what only ld.so.conf has is found where the runtime runs ldconfig."""
    root = image(tmp_path / "root")
    environment(root, "libcudart.so.12", "libcuda.so.1")
    lib = "usr/local/cuda-12.8/targets/x86_64-linux/lib"
    write(root, f"{lib}/libcudart.so.12", elf("libcudart.so.12").build())
    write(root, f"{lib}/stubs/libcuda.so.1", elf("libcuda.so.1").build())
    link(root, "usr/local/cuda", "/usr/local/cuda-12.8")
    link(root, "usr/local/cuda-12.8/lib64", "targets/x86_64-linux/lib")
    write(root, "etc/ld.so.conf", "include /etc/ld.so.conf.d/*.conf\n")
    write(root, "etc/ld.so.cache", ld_cache(("libother.so", "/usr/lib/libother.so")))
    assert [reason.code for reason in check(root).findings] == [Code.MISSING_LIBRARY]
    write(root, "etc/ld.so.conf.d/988_cuda-12.conf", "# CUDA\n/usr/local/cuda/lib64\n")
    report = check(root)
    (reason,) = report.findings
    assert (report.verdict, str(reason.subject)) == ("degraded", "/etc/ld.so.cache")
    assert (reason.needs, reason.remedy) == (
        "libcudart.so.12",
        "RUN ldconfig, at the end of the image",
    )
    path = "/usr/local/cuda/lib64/libcudart.so.12"
    write(root, "etc/ld.so.cache", ld_cache(("libcudart.so.12", path)))
    assert check(root).findings == ()
    write(root, "etc/ld.so.cache", ld_cache(("libcudart.so.12", "/gone/libcudart.so.12")))
    assert check(root).verdict == "degraded"


def test_the_driver_is_the_machines(tmp_path: Path) -> None:
    """No copy in the image counts: the container runtime mounts another over it."""
    root = image(tmp_path / "root")
    world = environment(root)
    world.torch()
    module = elf(None, defined=("PyInit_drv",), needed=("libcuda.so.1",), undefined=("cuNew",))
    world.install("drv", "1.0", {f"drv{MODULE[3:]}": module.build()})
    write(root, f"usr/lib/{TRIPLE}/libcuda.so.1", elf("libcuda.so.1").build())
    report = check(root)
    assert report.findings == ()
    assert report.notes[:2] == (
        "paths and commands are the image's; its ENV (LD_LIBRARY_PATH, PYTHONPATH) is not in its "
        "files and was taken as empty",
        "libcuda.so.1 is taken as there and complete: the container runtime mounts the machine's; "
        "--driver judges that one",
    )


def test_wheels_for_glibc_on_musl(tmp_path: Path) -> None:
    root = tmp_path / "root"
    write(root, "lib/ld-musl-x86_64.so.1", elf("libc.musl-x86_64.so.1").build())
    write(root, "usr/bin/python3.12", python())
    world = environment(root, "libc.so.6", name="forced")
    found, machine, notes = open_image(root, None, tmp_path, "x86_64")
    assert machine.musl == "/lib/ld-musl-x86_64.so.1"
    with pytest.raises(Undecided, match=r"runs on musl .*1 of its packages"):
        on_musl(found, machine, notes)
    info = world.site / "forced-1.0.dist-info"
    (info / "WHEEL").write_text("Tag: cp312-cp312-manylinux_2_28_x86_64\n")
    found, machine, notes = open_image(root, None, tmp_path, "x86_64")
    report = on_musl(found, machine, notes)
    assert report.verdict == "broken"
    assert [(r.code, r.needs) for r in report.findings] == [
        (Code.PLATFORM_UNSUPPORTED, "glibc: it is a wheel for manylinux_2_28_x86_64")
    ]


# which environment


def test_the_environment_of_an_image_is_found(tmp_path: Path) -> None:
    root = image(tmp_path / "root")
    with pytest.raises(UsageError, match="has no Python environment"):
        open_image(root, None, tmp_path, "x86_64")
    World(root / "usr", site="lib/python3/dist-packages").install("pip", "23.0")
    (root / "usr/pyvenv.cfg").unlink()
    assert open_image(root, None, tmp_path, "x86_64")[0].prefix == "/usr"
    environment(root)
    conda = World(root / "opt/conda")
    (conda.prefix / "conda-meta").mkdir()
    (conda.prefix / "pyvenv.cfg").unlink()
    found, _, notes = open_image(root, None, tmp_path, "x86_64")
    assert (found.prefix, found.kind, notes[1:]) == ("/opt/venv", "venv", ())
    link(conda.prefix, "lib/python3.1", "python3.12")
    conda.install("numpy", "2.0")
    with pytest.raises(UsageError) as caught:
        open_image(root, None, tmp_path, "x86_64")
    assert str(caught.value) == (
        f"{root} has several environments: /opt/conda (Python 3.12, 1 package), "
        "/opt/venv (Python 3.12, 1 package)"
    )
    assert caught.value.hint == f"name one: abilock check --root {root} /opt/conda"
    conda.torch(version="2.9.1")
    found, _, notes = open_image(root, None, tmp_path, "x86_64")
    assert (found.prefix, found.kind) == ("/opt/conda", "conda")
    assert notes[0] == f"{root} also has /opt/venv (Python 3.12, 1 package)"


@pytest.mark.parametrize(
    ("named", "prefix"),
    [
        ("/opt/venv", "/opt/venv"),
        ("opt/venv", "/opt/venv"),
        ("/opt/venv/bin/python", "/opt/venv"),
        ("/opt/venv/lib/python3.12/site-packages", "/opt/venv"),
        ("/usr/lib/python3/dist-packages", "/usr"),
        ("/lib/python3", "/usr"),
        ("/usr/bin/python3", "/usr"),
        ("/bin/python3", "/usr"),
        ("root/opt/venv", "/opt/venv"),
        ("{root}/opt/venv", "/opt/venv"),
    ],
)
def test_an_environment_is_named_by_any_of_its_paths(
    tmp_path: Path, named: str, prefix: str
) -> None:
    root = image(tmp_path / "root")
    environment(root)
    World(root / "usr", site="lib/python3/dist-packages").install("of-debian", "1.0")
    (root / "usr/pyvenv.cfg").unlink()
    place = Path(named.format(root=root))
    assert open_image(root, place, tmp_path, "x86_64")[0].prefix == prefix


def test_the_packages_below_an_environment_are_the_images(tmp_path: Path) -> None:
    root = image(tmp_path / "root")
    World(root / "usr/local", site="lib/python3.12/dist-packages").install("of-pip", "1.0")
    World(root / "usr", site="lib/python3/dist-packages").install("of-debian", "1.0")
    for place in ("usr", "usr/local"):
        (root / place / "pyvenv.cfg").unlink()
    world = environment(root)
    with (world.prefix / "pyvenv.cfg").open("a") as file:
        file.write("include-system-site-packages = true\n")
    found = open_image(root, Path("/opt/venv"), tmp_path, "x86_64")[0]
    assert [each.name for each in found.distributions] == ["ext", "of-pip", "of-debian"]
    assert found.path[1:] == (
        "/usr/local/lib/python3.12/dist-packages",
        "/usr/lib/python3/dist-packages",
    )


# the command


def test_the_command(run: Any, tmp_path: Path) -> None:
    root = image(tmp_path / "root")
    world = environment(root, "libgone.so.1")
    done = run("check", "--root", root)
    assert done.code == 1
    assert done.out.splitlines()[0] == f"Broken: /opt/venv in {root} does not load as a whole"
    document = run("check", "--root", root, "/opt/venv", "--format", "json").json("check")
    assert (document["prefix"], document["root"]) == ("/opt/venv", str(root))
    assert str(tmp_path) not in str(document["findings"])
    github = run("check", "--root", root, "--format", "github")
    assert "libgone.so.1" in github.out
    (world.site / MODULE).write_bytes(elf(None, defined=("PyInit_ext",)).build())
    assert run("check", "--root", root, "--verify").out.startswith("Degraded: /opt/venv in ")
    for arguments, said in (
        (("--root", tmp_path / "none"), "is no directory"),
        (("--root", root, "/none"), "error: /none is not in the root"),
        (("--root", root, "/opt"), "error: /opt has no site-packages"),
    ):
        failed = run("check", *arguments)
        assert (failed.code, said in failed.err) == (2, True), failed.err


# beside a real chroot

HEADERS = sysconfig.get_path("include")


def change_root() -> list[str] | None:
    """The command that runs another below a root, for who may and has a compiler; else None."""
    for name, *arguments in (("chroot",), ("unshare", "-r", "chroot")):
        command = [shutil.which(name) or name, *arguments]
        try:
            done = subprocess.run([*command, "/", "/bin/true"], capture_output=True, check=False)
        except OSError:
            continue
        if not done.returncode and shutil.which("gcc") and Path(HEADERS, "Python.h").exists():
            return command
    return None


CHANGE_ROOT = change_root()


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root with the running Python, what it needs of the system, and an environment."""
    root = tmp_path_factory.mktemp("real") / "root"
    home = Path(sys.base_prefix)
    program = Path(os.path.realpath(sys.executable))
    needed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    for line in needed.splitlines():
        for word in filter(lambda word: word.startswith("/"), line.split()):
            write(root, word, Path(word).read_bytes()).chmod(0o755)
    write(root, f"{home}/bin/{program.name}", program.read_bytes()).chmod(0o755)
    library = Path(sysconfig.get_path("stdlib"))
    for path in (*library.glob("*.py"), *library.glob("encodings/*.py"), *library.glob("re/*.py")):
        write(root, str(path), path.read_bytes())
    (root / library.relative_to("/") / "lib-dynload").mkdir()
    site = f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
    world = World(root / "opt/venv", site=site)
    (world.prefix / "pyvenv.cfg").write_text(
        f"home = {home}/bin\nversion = {sys.version_info[0]}.{sys.version_info[1]}.0\n"
    )
    link(root, "opt/venv/bin/python", f"{home}/bin/{program.name}")
    compiled = root.parent / "compiled"
    compiled.mkdir()
    (compiled / "dep.c").write_text("int dep(void) { return 7; }\n")
    (compiled / "ext.c").write_text(
        "#include <Python.h>\nextern int dep(void);\nint (*kept)(void) = dep;\n"
        'static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, .m_name = "ext"};\n'
        "PyObject *PyInit_ext(void) { return PyModule_Create(&module); }\n"
    )
    for command in (
        ["-Wl,-soname,libdep.so.1", "-o", "libdep.so.1", "dep.c"],
        ["-o", "ext.so", f"-I{HEADERS}", "ext.c", "libdep.so.1"],
    ):
        subprocess.run(["gcc", "-shared", "-fPIC", "-w", *command], cwd=compiled, check=True)
    world.install("ext", "1.0", {"ext.abi3.so": (compiled / "ext.so").read_bytes()})
    return root


@pytest.mark.skipif(CHANGE_ROOT is None, reason="needs gcc, and to change the root directory")
@pytest.mark.parametrize(
    ("where", "links", "verdict"),
    [
        ("/usr/lib/libdep.so.1", {}, "ok"),
        ("/opt/lib/libdep.so.1", {}, "broken"),
        ("/opt/lib/libdep.so.1", {"/usr/lib/libdep.so.1": "/opt/lib/libdep.so.1"}, "ok"),
        (
            "/opt/lib/libdep.so.1",
            {"/usr/lib/libdep.so.1": "../../../../../../opt/lib/libdep.so.1"},
            "ok",
        ),
        ("/opt/lib/libdep.so.1", {"/usr/lib/libdep.so.1": "{outside}/libdep.so.1"}, "broken"),
        ("/opt/lib/libdep.so.1", {"/usr/lib/libdep.so.1": "/usr/lib/libdep.so.1"}, "broken"),
        (
            "/opt/venv/lib/{python}/site-packages/libdep.so.1",
            {
                "/usr/lib/libdep.so.1": "/opt/here/{python}/site-packages/libdep.so.1",
                "/opt/here": "venv/lib",
            },
            "ok",
        ),
    ],
    ids=("there", "elsewhere", "absolute", "above", "outside", "circle", "directory"),
)
def test_it_says_what_an_import_in_a_chroot_shows(
    real: Path, where: str, links: dict[str, str], verdict: str
) -> None:
    names = {"python": f"python{sys.version_info[0]}.{sys.version_info[1]}"}
    names["outside"] = str(real.parent / "compiled")
    made = [write(real, where.format(**names), (real.parent / "compiled/libdep.so.1").read_bytes())]
    try:
        for path, to in links.items():
            link(real, path, to.format(**names))
            made.append(real / path[1:])
        assert CHANGE_ROOT is not None
        done = subprocess.run(
            [*CHANGE_ROOT, real, "/opt/venv/bin/python", "-c", "import ext"],
            env={},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode == 0) is (verdict == "ok"), done.stderr
        if verdict == "broken":
            assert "ImportError: libdep.so.1: cannot open shared object file" in done.stderr
        report = check(real)
        assert report.verdict == verdict, report.findings
    finally:
        for each in made:
            each.unlink()
