"""Whose packages a prefix holds: links, several Pythons, Debian's directories, old records."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from resolver.load.environment import Environment, load_environment
from resolver.load.library_search import LoaderHost
from resolver.model.cuda import CudaVersion
from resolver.model.reason import Code
from resolver.usecase import check_environment
from tests.load.world import World, elf

BROKEN = elf(None, defined=("PyInit_ext",), needed=("libgone.so",)).build()
MEMBER = "ext.cpython-312-x86_64-linux-gnu.so"


@pytest.fixture(autouse=True)
def _no_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_environment, "probe_loader", LoaderHost)


def bare(prefix: Path, *sites: str, **links: str) -> Path:
    """A prefix with these directories, in each a package that is named after its Python."""
    for site in sites:
        World(prefix, site).install(f"of-{'-'.join(site.split('/')[-2:])}", "1.0")
    (prefix / "pyvenv.cfg").unlink()
    for name, place in links.items():
        program = prefix / "bin" / name.replace("_", ".")
        program.parent.mkdir(exist_ok=True)
        program.symlink_to(place)
    return prefix


def names(environment: Environment) -> list[str]:
    return [each.name for each in environment.distributions]


@pytest.mark.parametrize("above", ["python3.9-tools", "python3.9", "python3.9/lib/python3.8"])
def test_names_in_the_path_above_say_nothing(tmp_path: Path, above: str) -> None:
    world = World(tmp_path / above / "env")
    world.install("ext", "1.0", {MEMBER: BROKEN})
    assert load_environment(world.prefix).version == (3, 12)
    report = world.check()
    assert [reason.code for reason in report.findings] == [Code.MISSING_LIBRARY]
    assert load_environment(world.site).version == (3, 12)


def test_a_link_of_condas(tmp_path: Path) -> None:
    prefix = bare(tmp_path / "conda", "lib/python3.12/site-packages")
    (prefix / "conda-meta").mkdir()
    (prefix / "lib/python3.1").symlink_to("python3.12")
    found = load_environment(prefix)
    assert found.version == (3, 12)
    assert found.path == (f"{prefix}/lib/python3.12/site-packages",)
    assert (found.kind, found.notes[:-1]) == ("conda", ())


@pytest.mark.parametrize(
    ("links", "stated", "version", "package"),
    [
        pytest.param({}, None, (3, 12), "of-python3-12-site-packages", id="newest"),
        pytest.param(
            {"python": "/usr/bin/python3.9"}, None, (3, 9), "of-python3-9-site-packages", id="runs"
        ),
        pytest.param(
            {"python": "/usr/bin/python3.7"},
            None,
            (3, 12),
            "of-python3-12-site-packages",
            id="gone",
        ),
        pytest.param({}, "3.9.18", (3, 9), "of-python3-9-site-packages", id="pyvenv.cfg"),
    ],
)
def test_two_pythons_in_a_prefix(
    tmp_path: Path,
    links: dict[str, str],
    stated: str | None,
    version: tuple[int, int],
    package: str,
) -> None:
    sites = ("lib/python3.9/site-packages", "lib/python3.12/site-packages")
    prefix = bare(tmp_path / "both", *sites, **links)
    if stated is not None:
        (prefix / "pyvenv.cfg").write_text(f"home = /usr/bin\nversion = {stated}\n")
    found = load_environment(prefix)
    assert (found.version, names(found)) == (version, [package])
    other = "3.9" if version == (3, 12) else "3.12"
    kept = "{}.{}".format(*version)
    assert found.notes[0] == (
        f"{prefix} holds packages for Python {other} too: those for {kept} were checked"
    )


def test_a_free_threaded_environment(tmp_path: Path) -> None:
    world = World(tmp_path / "env", "lib/python3.13t/site-packages")
    (world.prefix / "pyvenv.cfg").write_text("home = /nowhere\nversion_info = 3.13.0\n")
    module = elf(None, defined=("PyInit_ext",)).build()
    world.install("pkg", "1.0", {"ext.cpython-313t-x86_64-linux-gnu.so": module})
    world.install("of-313", "1.0", {"ext.cpython-313-x86_64-linux-gnu.so": BROKEN})
    found = load_environment(world.prefix)
    assert (found.version, found.python_short, len(found.distributions)) == ((3, 13), "3.13t", 2)
    report = world.check(cuda=CudaVersion(13, 0))
    assert (report.verdict, report.members_checked) == ("ok", 1)
    assert report.target is not None
    assert report.target.python_short == "3.13t"


def test_debians_directories(tmp_path: Path) -> None:
    sites = [f"local/lib/python3.{minor}/dist-packages" for minor in (9, 11)]
    usr = bare(tmp_path / "usr", "lib/python3/dist-packages", *sites, python3="python3.11")
    (usr / "bin/python3.11").write_bytes(b"")
    for prefix in (usr, usr / "local"):
        found = load_environment(prefix)
        assert found.version == (3, 11)
        assert found.python == f"{usr}/bin/python3.11"
        assert names(found) == ["of-python3-11-dist-packages", "of-python3-dist-packages"]


def test_a_python_that_was_built_beside_debians(tmp_path: Path) -> None:
    usr = bare(tmp_path / "usr", "lib/python3/dist-packages", "local/lib/python3.13/site-packages")
    assert names(load_environment(usr)) == ["of-python3-dist-packages"]
    assert names(load_environment(usr / "local")) == ["of-python3-13-site-packages"]


def test_an_interpreter_that_is_gone(tmp_path: Path) -> None:
    world = World(tmp_path / "an env")
    world.install("pkg", "1.0", {"pkg/a.py": b""})
    (world.prefix / "bin").mkdir()
    (world.prefix / "bin/python").symlink_to("python3")
    (world.prefix / "bin/python3").symlink_to("/gone/bin/python3.12")
    report = world.check()
    (reason,) = report.findings
    assert report.verdict == "broken"
    assert (reason.code, str(reason.subject)) == (Code.BROKEN_INSTALL, "Python 3.12")
    assert reason.found == (
        f"{world.prefix}/bin/python leads to /gone/bin/python3.12, which is not there"
    )
    assert reason.remedy == f"uv venv --allow-existing --python 3.12 '{world.prefix}'"
    (world.prefix / "bin/python3.12").write_bytes(b"")
    assert world.check().verdict == "ok"


def test_records_of_an_egg(tmp_path: Path) -> None:
    world = World(tmp_path / "env")
    world.torch()
    info = next(world.site.glob("torch-*.dist-info"))
    (info / "METADATA").rename(info / "PKG-INFO")
    info.rename(world.site / "torch-2.11.0-py3.12.egg-info")
    old = world.site / "old-1.5-py3.12.egg-info"
    old.mkdir()
    (old / "PKG-INFO").write_text("Metadata-Version: 1.0\nName: old\nVersion: 1.5\n")
    (old / "requires.txt").write_text("numpy\n\n[:python_version < '3']\nsix\n\n[x]\nextra\n")
    (old / "installed-files.txt").write_text(f"../{MEMBER}\nPKG-INFO\n")
    (world.site / MEMBER).write_bytes(BROKEN)
    (world.site / "flat-2.0.egg-info").write_text("Name: flat\nVersion: 2.0\n")
    egg = world.site / "zipped-3.0-py3.12.egg"
    (egg / "EGG-INFO").mkdir(parents=True)
    (egg / "EGG-INFO/PKG-INFO").write_text("Name: zipped\nVersion: 3.0\n")
    (world.site / "easy-install.pth").write_text(f"./{egg.name}\n")
    found = load_environment(world.prefix)
    assert sorted(map(str, found.distributions)) == [
        "flat 2.0",
        "nvidia-cuda-cu13 13.0",
        "old 1.5",
        "torch 2.11.0",
        "zipped 3.0",
    ]
    assert [problem for each in found.distributions for problem in each.problems] == []
    told = {(str(r.code), str(r.subject), r.needs) for r in world.check().findings}
    assert told == {
        ("missing-library", "old 1.5", "libgone.so"),
        ("version-conflict", "old 1.5", "numpy"),
    }


def test_records_that_outlived_their_files(tmp_path: Path) -> None:
    world = World(tmp_path / "an env")
    world.install("pkg", "2.0", {"pkg/a.py": b"two", "pkg/b.py": b""})
    world.install("pkg", "1.0", {"pkg/a.py": b"old", "pkg/c.py": b"", MEMBER: BROKEN})
    (world.site / "pkg/a.py").write_bytes(b"two")
    (world.site / "pkg/c.py").unlink()
    (world.site / MEMBER).unlink()
    report = world.check()
    (reason,) = report.findings
    assert (str(reason.subject), str(reason.object)) == ("pkg 2.0", "pkg 1.0")
    assert reason.found == (
        "pkg-2.0.dist-info and pkg-1.0.dist-info; the files that lie there are those of 2.0"
    )
    assert reason.remedy == f"rm -r '{world.site}/pkg-1.0.dist-info'"
    (world.site / "pkg/b.py").unlink()
    (reason,) = world.check().findings
    assert reason.remedy == (
        f"rm -r '{world.site}/pkg-1.0.dist-info' && uv pip install --reinstall --python "
        f"'{world.prefix}' pkg==2.0"
    )
    subprocess.run(["sh", "-c", str(reason.remedy).partition(" && ")[0]], check=True)
    assert world.check().findings == ()


def test_two_forms_of_one_record(tmp_path: Path) -> None:
    world = World(tmp_path / "env")
    world.install("pkg", "1.0", {"pkg/a.py": b""})
    (world.site / "pkg.egg-info").mkdir()
    (world.site / "pkg.egg-info/PKG-INFO").write_text("Name: pkg\nVersion: 1.0\n")
    found = load_environment(world.prefix)
    assert [each.info for each in found.distributions] == ["pkg-1.0.dist-info"]
    assert world.check().findings == ()


def test_what_pip_renamed_before_it_broke_off(tmp_path: Path) -> None:
    world = World(tmp_path / "env")
    world.install("pkg", "2.0", {"pkg/a.py": b""})
    world.install("~kg", "1.0")
    found = load_environment(world.prefix)
    assert names(found) == ["pkg"]
    assert found.notes[-1] == (
        f"{world.site}/~kg-1.0.dist-info is what an uninstall left that broke off"
    )


def test_a_package_of_a_lower_directory_is_shadowed(tmp_path: Path) -> None:
    base = World(tmp_path / "base")
    base.install("pkg", "1.0", {MEMBER: BROKEN})
    world = World(tmp_path / "env")
    world.install("pkg", "2.0", {"pkg/a.py": b""})
    (world.prefix / "pyvenv.cfg").write_text(
        f"home = {base.prefix}/bin\ninclude-system-site-packages = true\n"
    )
    assert world.check().findings == ()


def test_commands_survive_a_shell(tmp_path: Path) -> None:
    world = World(tmp_path / "it's an env")
    world.install("app", "1.0", {"app.py": b""}, requires=["there>=2,<3"])
    (reason,) = world.check().findings
    assert shlex.split(str(reason.remedy)) == [
        *("uv", "pip", "install", "--python", str(world.prefix)),
        "there<3,>=2",
    ]


def test_commands_for_a_directory_name_it_as_one(tmp_path: Path) -> None:
    world = World(tmp_path / "env")
    world.install("app", "1.0", {"app.py": b""}, requires=["there"])
    world.prefix = world.site
    (reason,) = world.check().findings
    assert reason.remedy == f"uv pip install --target {world.site} there"
