from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from resolver.errors import UsageError
from resolver.index.credential import Credential
from resolver.index.index_source import IndexSource
from resolver.index.settings import Settings, load_settings
from resolver.index.settings_layer import Host
from resolver.model.options import IndexOptions


class Machine:
    """A home, a project, a root and a prefix in a temporary directory."""

    def __init__(self, path: Path) -> None:
        self.root = path / "root"
        self.home = path / "home"
        self.cwd = path / "project/below"
        self.prefix = path / "prefix"
        for directory in (self.root, self.home, self.cwd, self.prefix):
            directory.mkdir(parents=True)

    def write(self, path: Path, text: str) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def load(self, flags: IndexOptions | None = None, **environ: str) -> Settings:
        host = Host(
            environ=environ, cwd=self.cwd, home=self.home, prefix=self.prefix, root=self.root
        )
        return load_settings(host, flags)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def urls(sources: tuple[IndexSource, ...]) -> list[tuple[str, str | None]]:
    return [(source.name, source.url) for source in sources]


def default_of(settings: Settings) -> tuple[str | None, str] | None:
    return (settings.default.url, settings.default.origin) if settings.default else None


def test_nothing_set(machine: Machine) -> None:
    settings = machine.load()
    assert default_of(settings) == (None, "pypi-simple")
    assert settings == Settings(netrc_file=machine.home / ".netrc")


def test_every_tool_can_set_the_default_and_the_stronger_wins(machine: Machine) -> None:
    pip = machine.write(machine.home / ".config/pip/pip.conf", "[global]\nindex-url=https://8/s\n")
    system_uv = machine.write(machine.root / "etc/uv/uv.toml", 'index-url = "https://7/s"\n')
    user_uv = machine.write(
        machine.home / ".config/uv/uv.toml", '[[index]]\nurl = "https://6/s"\ndefault = true\n'
    )
    project = machine.write(
        machine.cwd.parent / "pyproject.toml",
        '[tool.abilock]\ndefault-index = "https://3/s"\n'
        '[[tool.uv.index]]\nname = "x"\nurl = "https://5/s"\ndefault = true\n',
    )
    environ = {
        "UV_DEFAULT_INDEX": "https://4/s",
        "UV_INDEX_URL": "https://4b/s",
        "ABILOCK_DEFAULT_INDEX": "https://2/s",
        "PIP_INDEX_URL": "https://7b/s",
    }
    flags = IndexOptions(index=("default=https://1/s",))
    assert default_of(machine.load(flags, **environ)) == ("https://1/s", "--index")
    expected: list[tuple[str | Path, str, str]] = [
        ("ABILOCK_DEFAULT_INDEX", "https://2/s", "ABILOCK_DEFAULT_INDEX"),
        (project, "https://3/s", f"{project} [tool.abilock] default-index"),
        ("UV_DEFAULT_INDEX", "https://4/s", "UV_DEFAULT_INDEX"),
        ("UV_INDEX_URL", "https://4b/s", "UV_INDEX_URL"),
        (project, "https://5/s", f"{project} [tool.uv] [[index]]"),
        (user_uv, "https://6/s", f"{user_uv} [[index]]"),
        (system_uv, "https://7/s", f"{system_uv} index-url"),
        ("PIP_INDEX_URL", "https://7b/s", "PIP_INDEX_URL"),
        (pip, "https://8/s", f"{pip} [global] index-url"),
    ]
    for setting, url, origin in expected:
        assert default_of(machine.load(None, **environ)) == (url, origin)
        if isinstance(setting, str):
            del environ[setting]
        elif setting == project and "abilock" in project.read_text():
            project.write_text(project.read_text().replace("[tool.abilock]", "[tool.other]"))
        else:
            setting.unlink()
    assert default_of(machine.load(None, **environ)) == (None, "pypi-simple")


def test_stronger_default_hides_weaker_indexes_but_not_files(machine: Machine) -> None:
    machine.write(
        machine.home / ".pip/pip.conf",
        "[global]\nextra-index-url = https://e1/s https://e2/s\nfind-links = wheels\n",
    )
    settings = machine.load()
    assert urls(settings.extra) == [("extra-1", "https://e1/s"), ("extra-2", "https://e2/s")]
    settings = machine.load(UV_INDEX="https://u/s")
    assert urls(settings.named) == [("uv-1", "https://u/s")]
    assert len(settings.extra) == 2
    settings = machine.load(UV_DEFAULT_INDEX="https://d/s", UV_INDEX="https://u/s")
    assert urls(settings.named) == [("uv-1", "https://u/s")]
    assert settings.extra == ()
    assert urls(settings.find_links) == [("find-links-1", str(machine.cwd / "wheels"))]
    settings = machine.load(IndexOptions(index=("default=https://d/s",)), UV_INDEX="https://u/s")
    assert (settings.named, settings.extra) == ((), ())


# pip.


def test_pip_files_in_the_order_of_pip(machine: Machine, tmp_path: Path) -> None:
    named = machine.write(tmp_path / "named.conf", "[global]\nindex-url = https://env/s\n")
    files = [
        machine.write(path, f"[global]\nindex_url = https://{number}/s\n")
        for number, path in enumerate(
            [
                machine.prefix / "pip.conf",
                machine.home / ".config/pip/pip.conf",
                machine.home / ".pip/pip.conf",
                machine.root / "etc/pip.conf",
                machine.root / "etc/xdg/pip/pip.conf",
            ]
        )
    ]
    assert default_of(machine.load(PIP_CONFIG_FILE=str(named)))[0] == "https://env/s"  # type: ignore[index]
    for number, path in enumerate(files):
        found = default_of(machine.load())
        assert found == (f"https://{number}/s", f"{path} [global] index-url")
        path.unlink()


def test_pip_config_file_stands_in_for_the_users(machine: Machine, tmp_path: Path) -> None:
    machine.write(machine.home / ".pip/pip.conf", "[global]\nextra-index-url = https://user/s\n")
    machine.write(machine.root / "etc/pip.conf", "[global]\nfind-links = /global\n")
    named = machine.write(tmp_path / "named.conf", "[global]\nno-index = false\n")
    settings = machine.load(PIP_CONFIG_FILE=str(named))
    assert (settings.extra, urls(settings.find_links)) == ((), [("find-links-1", "/global")])
    assert machine.load(PIP_CONFIG_FILE=os.devnull).find_links == ()
    assert len(machine.load(PIP_CONFIG_FILE=str(tmp_path / "none")).extra) == 1


def test_pip_install_section_and_variables_override(machine: Machine) -> None:
    path = machine.write(
        machine.home / ".pip/pip.conf",
        "[install]\nextra-index-url =\n    https://i1/s\n    https://i2/s\n"
        "[global]\nextra-index-url = https://g/s\n",
    )
    settings = machine.load()
    assert urls(settings.extra) == [("extra-1", "https://i1/s"), ("extra-2", "https://i2/s")]
    assert settings.extra[0].origin == f"{path} [install] extra-index-url"
    settings = machine.load(PIP_EXTRA_INDEX_URL="https://v/s", PIP_INDEX_URL="")
    assert urls(settings.extra) == [("extra-1", "https://v/s")]
    assert default_of(settings) == (None, "pypi-simple")


@pytest.mark.parametrize(("value", "off"), [("1", True), ("true", True), ("0", False)])
def test_pip_no_index(machine: Machine, value: str, off: bool) -> None:
    settings = machine.load(
        PIP_NO_INDEX=value, PIP_EXTRA_INDEX_URL="https://e/s", PIP_FIND_LINKS="/w"
    )
    assert (settings.default is None) is off
    assert bool(settings.extra) is not off
    assert urls(settings.find_links) == [("find-links-1", "/w")]


def test_pip_paths(machine: Machine) -> None:
    settings = machine.load(
        PIP_FIND_LINKS="wheels ~/wheels ../flat.html file:///opt/wheels https://h/flat.html",
        PIP_EXTRA_INDEX_URL="file:///opt/pypi/simple file:///opt/a%20b",
    )
    assert [source.url for source in settings.find_links] == [
        str(machine.cwd / "wheels"),
        str(machine.home / "wheels"),
        str(machine.cwd / "../flat.html"),
        "/opt/wheels",
        "https://h/flat.html",
    ]
    assert [source.url for source in settings.extra] == ["/opt/pypi/simple", "/opt/a b"]


def test_pip_constraint_gives_a_notice(machine: Machine) -> None:
    path = machine.write(machine.root / "etc/pip.conf", "[global]\nconstraint = /etc/c.txt\n")
    assert machine.load().notices == (
        f"pip's constraint /etc/c.txt ({path} [global] constraint) is not applied",
    )
    assert machine.load(PIP_CONSTRAINT="x.txt").notices == (
        "pip's constraint x.txt (PIP_CONSTRAINT) is not applied",
    )


def test_pip_certificates(machine: Machine) -> None:
    assert machine.load(PIP_CERT="/ca.pem").ca_file == Path("/ca.pem")
    assert machine.load(PIP_CERT="/ca.pem", SSL_CERT_FILE="/other.pem").ca_file is None


# uv.


def test_uv_indexes_in_the_order_of_uv(machine: Machine) -> None:
    machine.write(
        machine.cwd / "uv.toml",
        'extra-index-url = ["https://4/s"]\nfind-links = ["wheels"]\n'
        '[[index]]\nname = "third"\nurl = "https://3/s"\n'
        '[[index]]\nname = "flat"\nurl = "../flat"\nformat = "flat"\n',
    )
    machine.write(
        machine.home / ".config/uv/uv.toml", '[[index]]\nname = "third"\nurl = "https://5/s"\n'
    )
    settings = machine.load(
        UV_INDEX="first=https://1/s https://2/s", UV_FIND_LINKS="a,b", UV_EXTRA_INDEX_URL=""
    )
    assert urls(settings.named) == [
        ("first", "https://1/s"),
        ("uv-1", "https://2/s"),
        ("third", "https://3/s"),
        ("uv-4", "https://4/s"),
        ("third.2", "https://5/s"),
    ]
    assert [source.url for source in settings.find_links] == [
        str(machine.cwd / name) for name in ("a", "b", "../flat", "wheels")
    ]


def test_uv_explicit_index_is_not_used(machine: Machine) -> None:
    path = machine.write(
        machine.cwd / "pyproject.toml",
        '[[tool.uv.index]]\nname = "pytorch"\nurl = "https://p/whl/cu130"\nexplicit = true\n',
    )
    settings = machine.load()
    assert settings.named == ()
    assert settings.notices == (
        f"uv's index pytorch ({path} [tool.uv]) is marked explicit and not used",
    )


def test_uv_config_file_and_no_config(machine: Machine, tmp_path: Path) -> None:
    machine.write(machine.cwd / "uv.toml", 'index-url = "https://project/s"\n')
    machine.write(machine.home / ".config/uv/uv.toml", 'extra-index-url = ["https://user/s"]\n')
    named = machine.write(tmp_path / "named.toml", 'index-url = "https://named/s"\n')
    settings = machine.load(UV_CONFIG_FILE=str(named))
    assert (default_of(settings), settings.named) == (
        ("https://named/s", f"{named} index-url"),
        (),
    )
    assert default_of(machine.load(UV_NO_CONFIG="1")) == (None, "pypi-simple")


def test_uv_toml_wins_over_pyproject_and_the_nearest_counts(machine: Machine) -> None:
    machine.write(machine.cwd.parent / "uv.toml", 'index-url = "https://far/s"\n')
    machine.write(machine.cwd / "pyproject.toml", "[project]\nname = 'x'\n")
    assert default_of(machine.load())[0] == "https://far/s"  # type: ignore[index]
    machine.write(machine.cwd / "pyproject.toml", '[tool.uv]\nindex-url = "https://near/s"\n')
    assert default_of(machine.load())[0] == "https://near/s"  # type: ignore[index]


def test_uv_switches(machine: Machine) -> None:
    assert machine.load(UV_OFFLINE="1").offline
    assert machine.load(UV_NO_INDEX="true").default is None
    assert not machine.load(UV_OFFLINE="1", ABILOCK_OFFLINE="0").offline
    machine.write(machine.cwd / "uv.toml", "offline = true\nno-index = true\n")
    settings = machine.load()
    assert (settings.offline, settings.default) == (True, None)


# abilock's own.


def test_own_settings(machine: Machine) -> None:
    project = machine.write(
        machine.cwd.parent / "pyproject.toml",
        '[tool.abilock]\nrequirements = ["torch"]\nfind-links = ["wheels"]\n'
        '[[tool.abilock.index]]\nname = "corp"\nurl = "https://3/s"\n',
    )
    settings = machine.load(
        IndexOptions(
            index=("pytorch=https://mirror/whl/{cuda}",),
            wheelhouse=Path("wheelhouse"),
            cache_dir=Path("/cache"),
        ),
        ABILOCK_INDEX="corp=https://1/s other=./index",
        ABILOCK_FIND_LINKS="a b",
        ABILOCK_OFFLINE="yes",
        ABILOCK_NO_CACHE="1",
    )
    assert urls(settings.named) == [
        ("pytorch", "https://mirror/whl/{cuda}"),
        ("corp", "https://1/s"),
        ("other", str(machine.cwd / "index")),
        ("corp.2", "https://3/s"),
    ]
    assert all(source.ours for source in settings.named)
    assert [source.origin for source in settings.named] == [
        "--index",
        "ABILOCK_INDEX",
        "ABILOCK_INDEX",
        f"{project} [tool.abilock] [[index]]",
    ]
    assert [source.url for source in settings.find_links] == [
        str(machine.cwd / "a"),
        str(machine.cwd / "b"),
        str(machine.cwd.parent / "wheels"),
    ]
    assert (settings.offline, settings.no_cache) == (True, True)
    assert (settings.cache_dir, settings.wheelhouse) == (Path("/cache"), Path("wheelhouse"))
    assert machine.load(ABILOCK_CACHE_DIR="c").cache_dir == machine.cwd / "c"


def test_credentials(machine: Machine, tmp_path: Path) -> None:
    settings = machine.load(
        IndexOptions(index=("my-corp=https://u%40x:p@corp/s",)),
        ABILOCK_INDEX_MY_CORP_USERNAME="name",
        ABILOCK_INDEX_MY_CORP_PASSWORD="word",
        UV_INDEX="other=https://other/s",
        UV_INDEX_OTHER_PASSWORD="token",
        PIP_INDEX_URL="https://only-token@pip/s",
        NETRC=str(tmp_path / "netrc"),
    )
    assert urls(settings.named) == [("my-corp", "https://corp/s"), ("other", "https://other/s")]
    assert default_of(settings) == ("https://pip/s", "PIP_INDEX_URL")
    assert settings.credentials == (
        Credential(prefix="https://corp/s", user="name", password="word"),
        Credential(prefix="https://corp/s", user="u@x", password="p"),
        Credential(prefix="https://other/s", user="", password="token"),
        Credential(prefix="https://pip/s", user="only-token", password=""),
    )
    assert settings.netrc_file == tmp_path / "netrc"
    assert "token" not in repr(settings)
    assert "word" not in repr(settings)


@pytest.mark.parametrize(
    ("files", "flags", "environ", "message"),
    [
        ({}, ["https://x/s"], {}, "--index: an index is given as NAME=URL"),
        (
            {},
            ["a b=https://x/s"],
            {},
            "--index: 'a b' is no name for an index (letters, digits, . _ -)",
        ),
        ({}, ["a=ftp://u:p@x/s"], {}, "--index: ftp://****@x/s is no address of an index"),
        ({}, ["a=https://"], {}, "--index: https:// is no address of an index"),
        ({}, ["a=http://["], {}, "--index: (an unreadable address) is no address of an index"),
        ({}, ["a="], {}, "--index: an empty address"),
        (
            {},
            [],
            {"PIP_INDEX_URL": "file://host/x"},
            "PIP_INDEX_URL: file://host/x is no address of an index",
        ),
        (
            {},
            [],
            {"ABILOCK_OFFLINE": "maybe"},
            "ABILOCK_OFFLINE: 'maybe' is neither true nor false",
        ),
        ({"pyproject.toml": "["}, [], {}, "{cwd}/pyproject.toml: not valid TOML: "),
        (
            {"pyproject.toml": "[tool.abilock]\ndefault-index = 7\n"},
            [],
            {},
            "{cwd}/pyproject.toml [tool.abilock]: default-index must be a string",
        ),
        (
            {"pyproject.toml": "[tool.abilock]\nfind-links = [1]\n"},
            [],
            {},
            "{cwd}/pyproject.toml [tool.abilock]: find-links must be an array of strings",
        ),
        (
            {"pyproject.toml": "[tool.abilock]\nindex = [1]\n"},
            [],
            {},
            "{cwd}/pyproject.toml [tool.abilock] [[index]]: each needs a name and a url",
        ),
        ({"uv.toml": "offline = 1\n"}, [], {}, "{cwd}/uv.toml: offline must be true or false"),
        ({"uv.toml": "index = 1\n"}, [], {}, "{cwd}/uv.toml: index must be an array"),
        ({"uv.toml": "[[index]]\n"}, [], {}, "{cwd}/uv.toml [[index]]: an empty address"),
        ({"uv.toml/x": ""}, [], {}, "{cwd}/uv.toml: Is a directory"),
        (
            {"../../home/.pip/pip.conf": "index-url = x\n"},
            [],
            {},
            "{home}/.pip/pip.conf: not a configuration of pip: File contains no section headers.",
        ),
        ({"../../home/.pip/pip.conf/x": ""}, [], {}, "{home}/.pip/pip.conf: Is a directory"),
    ],
)
def test_wrong_setting_is_named(
    machine: Machine,
    files: dict[str, str],
    flags: list[str],
    environ: dict[str, str],
    message: str,
) -> None:
    for name, text in files.items():
        machine.write(machine.cwd / name, text)
    with pytest.raises(UsageError) as caught:
        machine.load(IndexOptions(index=tuple(flags)), **environ)
    expected = message.format(cwd=machine.cwd, home=machine.home)
    assert str(caught.value)[: len(expected)] == expected
    if not expected.endswith(" "):
        assert str(caught.value) == expected


# Keyrings, and uv's table for pip.


def test_uv_pip_table_wins_over_the_table_it_lies_in(machine: Machine) -> None:
    machine.write(
        machine.cwd / "uv.toml",
        'index-url = "https://weak/s"\nextra-index-url = ["https://e/s"]\nfind-links = ["w"]\n'
        '[pip]\nindex-url = "https://strong/s"\nextra-index-url = []\n',
    )
    settings = machine.load()
    assert settings.default is not None
    assert settings.default.url == "https://strong/s"
    assert settings.named == ()
    assert len(settings.find_links) == 1


@pytest.mark.parametrize(
    ("environ", "wanted"),
    [
        ({}, False),
        ({"ABILOCK_KEYRING_PROVIDER": "subprocess"}, True),
        ({"ABILOCK_KEYRING_PROVIDER": "disabled", "UV_KEYRING_PROVIDER": "subprocess"}, False),
        ({"UV_KEYRING_PROVIDER": "subprocess", "PIP_KEYRING_PROVIDER": "disabled"}, True),
        ({"PIP_KEYRING_PROVIDER": "import"}, True),
        ({"PIP_KEYRING_PROVIDER": "auto"}, False),
    ],
)
def test_keyring_provider(machine: Machine, environ: dict[str, str], wanted: bool) -> None:
    assert machine.load(None, **environ).keyring is wanted


def test_keyring_provider_of_files(machine: Machine) -> None:
    machine.write(machine.cwd / "uv.toml", '[pip]\nkeyring-provider = "subprocess"\n')
    assert machine.load().keyring
    machine.write(machine.cwd / "pyproject.toml", '[tool.abilock]\nkeyring-provider = "disabled"\n')
    assert not machine.load().keyring


def test_keyring_provider_that_is_none(machine: Machine) -> None:
    with pytest.raises(UsageError, match="keyring-provider: 'gnome' is none"):
        machine.load(ABILOCK_KEYRING_PROVIDER="gnome")


def test_the_public_index_is_read_without_its_library() -> None:
    program = (
        "import sys\nfrom resolver.index.index_source import library_endpoint\n"
        "read = library_endpoint()\nassert 'pypi_simple' not in sys.modules\n"
        "import pypi_simple\nassert read == pypi_simple.PYPI_SIMPLE_ENDPOINT\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
