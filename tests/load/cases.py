"""Small libraries whose loading is compared with the real loader, and how both are asked.

A case lists its libraries in the order they are built (``{at}`` is its directory), the search path
of the environment, and the loads in order. ``recorded.json`` holds the facts of the libraries and
what glibc 2.36 did with them, for machines without a compiler.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from resolver.abi.shared_object import read_shared_object
from resolver.load.library_search import LoaderHost
from resolver.load.process import Process
from resolver.model.shared_object import SharedObject

RECORDED = Path(__file__).with_name("recorded.json")
COMPILER = shutil.which("gcc")


@dataclass(frozen=True, kw_only=True)
class Lib:
    """One library: its file, its source, the linker's flags, the libraries it is linked with."""

    path: str
    source: str = "int {stem}_here;"
    flags: Sequence[str] = ()
    links: Sequence[str] = ()
    soname: str | None = ""
    script: str = ""


@dataclass(frozen=True, kw_only=True)
class Case:
    name: str
    libs: Sequence[Lib]
    opens: Sequence[str]
    library_path: str = ""
    links: Sequence[tuple[str, str]] = ()  # symbolic links: from, to
    remove: Sequence[str] = ()  # after the build: libraries that were only linked with
    globally: Sequence[str] = ()


def _rpath(*directories: str) -> list[str]:
    return ["-Wl,--disable-new-dtags", *(f"-Wl,-rpath,{d}" for d in directories)]


def _runpath(*directories: str) -> list[str]:
    return ["-Wl,--enable-new-dtags", *(f"-Wl,-rpath,{d}" for d in directories)]


_LEAF_A = Lib(path="a/libleaf.so.1", source="int leaf(void){{return 1;}}")
_LEAF_B = Lib(path="b/libleaf.so.1", source="int leaf(void){{return 2;}}")
_USE = "int leaf(void); int use(void){{return leaf();}}"
_VERSIONED = "V1 {{ global: old; local: *; }}; V2 {{ global: fresh; }} V1;"

CASES = (
    Case(
        name="rpath-before-environment",
        libs=[
            _LEAF_A,
            _LEAF_B,
            Lib(path="libuse.so", source=_USE, flags=_rpath("{at}/a"), links=["a/libleaf.so.1"]),
        ],
        opens=["libuse.so"],
        library_path="{at}/b",
    ),
    Case(
        name="environment-before-runpath",
        libs=[
            _LEAF_A,
            _LEAF_B,
            Lib(path="libuse.so", source=_USE, flags=_runpath("{at}/a"), links=["a/libleaf.so.1"]),
        ],
        opens=["libuse.so"],
        library_path="{at}/b",
    ),
    Case(
        name="rpath-is-inherited",
        libs=[
            _LEAF_A,
            Lib(path="a/libmid.so", source=_USE, links=["a/libleaf.so.1"]),
            Lib(
                path="libtop.so",
                flags=[*_rpath("$ORIGIN/a"), "-Wl,--no-as-needed"],
                links=["a/libmid.so"],
            ),
        ],
        opens=["libtop.so"],
    ),
    Case(
        name="runpath-is-not-inherited",
        libs=[
            _LEAF_A,
            Lib(path="a/libmid.so", source=_USE, links=["a/libleaf.so.1"]),
            Lib(
                path="libtop.so",
                flags=[*_runpath("$ORIGIN/a"), "-Wl,--no-as-needed"],
                links=["a/libmid.so"],
            ),
        ],
        opens=["libtop.so"],
    ),
    Case(
        name="runpath-of-the-needer-silences-inherited-rpath",
        libs=[
            _LEAF_A,
            Lib(
                path="a/libmid.so",
                source=_USE,
                flags=_runpath("{at}/nowhere"),
                links=["a/libleaf.so.1"],
            ),
            Lib(
                path="libtop.so",
                flags=[*_rpath("$ORIGIN/a"), "-Wl,--no-as-needed"],
                links=["a/libmid.so"],
            ),
        ],
        opens=["libtop.so"],
    ),
    Case(
        name="origin-is-where-the-link-lies",
        libs=[
            _LEAF_A,
            Lib(
                path="real/libuse.so",
                source=_USE,
                flags=_runpath("$ORIGIN/../a"),
                links=["a/libleaf.so.1"],
            ),
        ],
        links=[("x/y/libuse.so", "../../real/libuse.so")],
        opens=["x/y/libuse.so"],
    ),
    Case(
        name="origin-in-braces",
        libs=[
            _LEAF_A,
            Lib(
                path="libuse.so",
                source=_USE,
                flags=_runpath("${{ORIGIN}}/a"),
                links=["a/libleaf.so.1"],
            ),
        ],
        opens=["libuse.so"],
    ),
    Case(
        name="a-loaded-soname-answers-first",
        libs=[
            _LEAF_A,
            _LEAF_B,
            Lib(path="libuse.so", source=_USE, flags=_rpath("$ORIGIN/a"), links=["a/libleaf.so.1"]),
        ],
        opens=["b/libleaf.so.1", "libuse.so"],
    ),
    Case(
        name="another-soname-does-not-answer",
        libs=[
            Lib(path="a/libleaf.so.1", source="int leaf(void){{return 1;}}"),
            Lib(path="b/libleaf.so.2", source="int leaf(void){{return 2;}}"),
            Lib(path="libuse.so", source=_USE, links=["a/libleaf.so.1"]),
        ],
        opens=["b/libleaf.so.2", "libuse.so"],
    ),
    Case(
        name="file-name-is-no-soname",
        libs=[
            Lib(path="b/libother.so", source="int leaf(void){{return 2;}}", soname="libleaf.so.1"),
            Lib(path="a/libleaf.so.1", source="int leaf(void){{return 1;}}"),
            Lib(path="libuse.so", source=_USE, links=["a/libleaf.so.1"]),
        ],
        opens=["b/libother.so", "libuse.so"],
    ),
    Case(
        name="without-soname-the-name-asked-for-counts",
        libs=[
            Lib(path="a/libleaf.so", source="int leaf(void){{return 1;}}", soname=None),
            Lib(
                path="libuse.so", source=_USE, flags=["-L{at}/a", "-lleaf", *_runpath("$ORIGIN/a")]
            ),
            Lib(
                path="libuse2.so",
                source="int leaf(void); int use2(void){{return leaf();}}",
                flags=["-L{at}/a", "-lleaf"],
            ),
        ],
        opens=["libuse.so", "libuse2.so"],
    ),
    Case(
        name="missing-library",
        libs=[_LEAF_A, Lib(path="libuse.so", source=_USE, links=["a/libleaf.so.1"])],
        opens=["libuse.so"],
        remove=["a/libleaf.so.1"],
    ),
    Case(
        name="missing-symbol",
        libs=[Lib(path="libuse.so", source=_USE)],
        opens=["libuse.so"],
    ),
    Case(
        name="weak-symbol-may-be-missing",
        libs=[
            Lib(
                path="libuse.so",
                source="__attribute__((weak)) int leaf(void);"
                "int use(void){{return leaf ? leaf() : 0;}}",
            ),
        ],
        opens=["libuse.so"],
    ),
    Case(
        name="weak-definition-answers",
        libs=[
            Lib(path="a/libleaf.so.1", source="__attribute__((weak)) int leaf(void){{return 1;}}"),
            Lib(
                path="libuse.so", source=_USE, flags=_runpath("$ORIGIN/a"), links=["a/libleaf.so.1"]
            ),
        ],
        opens=["libuse.so"],
    ),
    Case(
        name="hidden-definition-does-not-answer",
        libs=[
            Lib(path="a/libleaf.so.1", source="int leaf(void){{return 1;}}"),
            Lib(
                path="libuse.so", source=_USE, flags=_runpath("$ORIGIN/b"), links=["a/libleaf.so.1"]
            ),
            Lib(
                path="b/libleaf.so.1",
                source='__attribute__((visibility("hidden"))) int leaf(void){{return 1;}}',
            ),
        ],
        opens=["libuse.so"],
    ),
    Case(
        name="local-load-does-not-answer",
        libs=[
            _LEAF_A,
            Lib(path="libuse.so", source=_USE),
        ],
        opens=["a/libleaf.so.1", "libuse.so"],
    ),
    Case(
        name="global-load-answers",
        libs=[
            _LEAF_A,
            Lib(path="libuse.so", source=_USE),
        ],
        opens=["a/libleaf.so.1", "libuse.so"],
        globally=["a/libleaf.so.1"],
    ),
    Case(
        name="dependencies-of-dependencies-answer",
        libs=[
            _LEAF_A,
            Lib(
                path="a/libmid.so",
                flags=["-Wl,--no-as-needed", *_runpath("$ORIGIN")],
                links=["a/libleaf.so.1"],
            ),
            Lib(
                path="libuse.so",
                source=_USE,
                flags=["-Wl,--no-as-needed", *_runpath("$ORIGIN/a")],
                links=["a/libmid.so"],
            ),
        ],
        opens=["libuse.so"],
    ),
    Case(
        name="version-is-there",
        libs=[
            Lib(
                path="a/libv.so.1",
                source="int old(void){{return 1;}} int fresh(void){{return 2;}}",
                script=_VERSIONED,
            ),
            Lib(
                path="libuse.so",
                source="int fresh(void); int use(void){{return fresh();}}",
                flags=_runpath("$ORIGIN/a"),
                links=["a/libv.so.1"],
            ),
        ],
        opens=["libuse.so"],
    ),
    Case(
        name="version-is-too-new",
        libs=[
            Lib(
                path="a/libv.so.1",
                source="int old(void){{return 1;}} int fresh(void){{return 2;}}",
                script=_VERSIONED,
            ),
            Lib(
                path="libuse.so",
                source="int fresh(void); int use(void){{return fresh();}}",
                flags=_runpath("$ORIGIN/b"),
                links=["a/libv.so.1"],
            ),
            Lib(
                path="b/libv.so.1",
                source="int old(void){{return 1;}}",
                script="V1 {{ global: old; local: *; }};",
            ),
        ],
        opens=["libuse.so"],
    ),
    Case(
        name="library-without-versions-answers-versioned-references",
        # Not the library that the reference names: for that one ld.so aborts by an assertion.
        libs=[
            Lib(path="a/libplain.so.1"),
            Lib(
                path="a/libv.so.1",
                source="int old(void){{return 1;}} int fresh(void){{return 2;}}",
                script=_VERSIONED,
            ),
            Lib(
                path="libuse.so",
                source="int fresh(void); int use(void){{return fresh();}}",
                flags=["-Wl,--no-as-needed", *_runpath("$ORIGIN/b", "$ORIGIN/a")],
                links=["a/libplain.so.1", "a/libv.so.1"],
            ),
            Lib(path="b/libplain.so.1", source="int fresh(void){{return 1;}}"),
        ],
        opens=["libuse.so"],
    ),
    Case(
        name="symbol-under-another-version",
        libs=[
            Lib(
                path="a/libv.so.1",
                source="int old(void){{return 1;}} int fresh(void){{return 2;}}",
                script=_VERSIONED,
            ),
            Lib(
                path="libuse.so",
                source="int fresh(void); int use(void){{return fresh();}}",
                flags=_runpath("$ORIGIN/b"),
                links=["a/libv.so.1"],
            ),
            Lib(
                path="b/libv.so.1",
                source="int old(void){{return 1;}} int fresh(void){{return 2;}}",
                script="V1 {{ global: old; fresh; local: *; }}; V2 {{ global: none; }} V1;",
            ),
        ],
        opens=["libuse.so"],
    ),
    Case(
        name="unversioned-reference-takes-the-default-version",
        libs=[
            Lib(path="b/libv.so.1", source="int fresh(void){{return 1;}}"),
            Lib(
                path="libuse.so",
                source="int fresh(void); int use(void){{return fresh();}}",
                flags=_runpath("$ORIGIN/a"),
                links=["b/libv.so.1"],
            ),
            Lib(
                path="a/libv.so.1",
                source="int old(void){{return 1;}} int fresh(void){{return 2;}}",
                script=_VERSIONED,
            ),
        ],
        opens=["libuse.so"],
    ),
    Case(
        name="failed-load-leaves-nothing",
        libs=[
            _LEAF_B,
            Lib(
                path="libbad.so",
                source="int nowhere(void); int bad(void){{return nowhere();}}",
                flags=["-Wl,--no-as-needed", *_runpath("$ORIGIN/b")],
                links=["b/libleaf.so.1"],
            ),
            Lib(path="libuse.so", source=_USE, links=["b/libleaf.so.1"]),
        ],
        opens=["libbad.so", "libuse.so"],
    ),
    Case(
        name="same-file-by-two-paths",
        libs=[
            _LEAF_A,
            Lib(path="libuse.so", source=_USE, flags=_runpath("{at}/b"), links=["a/libleaf.so.1"]),
        ],
        links=[("b/libleaf.so.1", "../a/libleaf.so.1")],
        opens=["a/libleaf.so.1", "libuse.so"],
    ),
    Case(
        name="a-dangling-link-is-passed-over",
        libs=[
            _LEAF_A,
            Lib(
                path="libuse.so",
                source=_USE,
                flags=_runpath("$ORIGIN/b", "$ORIGIN/a"),
                links=["a/libleaf.so.1"],
            ),
        ],
        links=[("b/libleaf.so.1", "../nowhere")],
        opens=["libuse.so"],
    ),
)


# the real loader

_DRIVER = """
import ctypes, json, os, sys
at, opens, globally = sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3])
answers = []
for name in opens:
    try:
        ctypes.CDLL(os.path.join(at, name), mode=ctypes.RTLD_GLOBAL if name in globally else 0)
        error = ""
    except OSError as problem:
        error = str(problem).replace(at + "/", "")
    with open("/proc/self/maps") as maps:
        files = {line.split(None, 5)[5].strip() for line in maps if line.count("/")}
    loaded = sorted(f[len(at) + 1 :] for f in files if f.startswith(at + "/"))
    answers.append({"works": not error, "loaded": loaded, "error": error})
print(json.dumps(answers))
"""


def build(case: Case, at: Path) -> None:
    """Compile the libraries of a case below ``at``."""
    assert COMPILER is not None
    for lib in case.libs:
        path = at / lib.path
        path.parent.mkdir(parents=True, exist_ok=True)
        stem = path.name.split(".")[0]
        source = path.with_name(f"{path.name}.c")
        source.write_text(lib.source.format(stem=stem))
        flags = [flag.format(at=at) if "{" in flag else flag for flag in lib.flags]
        if lib.soname is not None:
            flags.append(f"-Wl,-soname,{lib.soname or path.name}")
        if lib.script:
            script = path.with_name(f"{path.name}.map")
            script.write_text(lib.script.format())
            flags.append(f"-Wl,--version-script={script}")
        command = [
            COMPILER,
            "-shared",
            "-fPIC",
            "-nostdlib",
            "-Wl,--hash-style=gnu",
            "-Wl,--allow-shlib-undefined",
            "-o",
            str(path),
            str(source),
        ]
        links = [f"-l:{Path(name).name}" for name in lib.links]
        places = [f"-L{at / Path(name).parent}" for name in lib.links]
        linking = [f"-Wl,-rpath-link,{at}/a:{at}/b"]
        subprocess.run([*command, *flags, *places, *links, *linking], check=True, cwd=at)
    for name in case.remove:
        (at / name).unlink()
    for name, target in case.links:
        (at / name).parent.mkdir(parents=True, exist_ok=True)
        (at / name).symlink_to(target)


def run_real(case: Case, at: Path) -> list[dict[str, Any]]:
    """What the loader of this machine does."""
    done = subprocess.run(
        [sys.executable, "-c", _DRIVER, str(at), json.dumps(case.opens), json.dumps(case.globally)],
        env={"LD_LIBRARY_PATH": case.library_path.format(at=at)},
        check=True,
        capture_output=True,
        text=True,
    )
    answers: list[dict[str, Any]] = json.loads(done.stdout)
    return answers


# the simulation

AT = "/case"


@dataclass
class Recorded:
    """Files by their path below the case's directory: what they are, and which are the same."""

    objects: dict[str, SharedObject]
    same: dict[str, str]

    def identity(self, path: str) -> tuple[int, int] | None:
        name = self._name(path)
        return (1, sorted(self.objects).index(name)) if name in self.objects else None

    def read(self, path: str) -> SharedObject | None:
        return self.objects.get(self._name(path))

    def _name(self, path: str) -> str:
        import posixpath

        name = posixpath.normpath(path).removeprefix(AT + "/")
        return self.same.get(name, name)


def record(case: Case, at: Path) -> Recorded:
    """The facts of a built case, with its directory written as ``AT``."""
    objects = {}
    same = {}
    for path in sorted(at.rglob("*.so*")):
        name = str(path.relative_to(at))
        if path.is_symlink():
            if path.exists():
                same[name] = str(path.resolve().relative_to(at.resolve()))
        elif path.suffix not in (".c", ".map"):
            found = read_shared_object(path)
            assert found is not None
            objects[name] = found
    del case
    return Recorded(objects, same)


def to_json(recorded: Recorded, at: Path) -> dict[str, Any]:
    rows = {}
    for name, found in recorded.objects.items():
        row = {key: value for key, value in asdict(found).items() if value}
        row["plain"] = sorted(found.plain)
        row["offers"] = sorted(found.offers)
        rows[name] = json.loads(json.dumps(row).replace(str(at), AT))
    return {"objects": rows, "same": recorded.same}


def from_json(document: dict[str, Any]) -> Recorded:
    objects = {}
    for name, row in document["objects"].items():
        values = dict(row)
        for key in ("needed", "rpath", "runpath"):
            values[key] = tuple(values.get(key, ()))
        values["plain"] = frozenset(values["plain"])
        values["offers"] = frozenset(values["offers"])
        values["versioned"] = {k: tuple(v) for k, v in values.get("versioned", {}).items()}
        values["needs"] = tuple(map(tuple, values.get("needs", ())))
        objects[name] = SharedObject(**values)
    return Recorded(objects, document["same"])


def simulate(case: Case, recorded: Recorded) -> list[dict[str, Any]]:
    """What the simulation says, in the form of ``run_real`` without the messages."""
    host = LoaderHost(library_path=tuple(filter(None, [case.library_path.format(at=AT)])))
    process = Process(recorded, host)
    answers = []
    for name in case.opens:
        loaded = process.open(f"{AT}/{name}", make_global=name in case.globally)
        files = {recorded._name(m.path) for m in process.mapped}
        answers.append({"works": loaded.works, "loaded": sorted(files)})
    return answers
