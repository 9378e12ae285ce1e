"""What a shell offers at the cursor, and bash that really asks for it."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from resolver.cli import complete
from resolver.cli.command_table import command_table
from resolver.cli.complete import Table, offers, split
from resolver.compat import known_names
from resolver.compat.gpu_name import find_gpu
from resolver.compat.load_facts import knowledge_path
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.model.knowledge import Knowledge
from tests.cli.conftest import Result
from tests.cli.test_progress import read_until
from tests.support.commands import commands

ROOTS = (knowledge_path(),)


@pytest.fixture(scope="module")
def table() -> Table:
    return command_table()


@pytest.fixture(scope="module")
def facts(shared_facts: Path) -> Knowledge:
    return KnowledgeBase(cache_dir=shared_facts.parent).facts


@pytest.mark.parametrize(
    ("line", "first"),
    [
        ("re", ["resolve"]),
        ("knowledge l", ["list", "learn"]),
        ("-q knowledge sh", ["show"]),
        ("resolve --upg", ["--upgrade", "--upgrade-package"]),
        ("resolve --fre", []),
        ("resolve --prefer ", ["known-good", "newest"]),
        ("export --to=con", ["--to=constraints"]),
        ("export ", [complete.FILES]),
        ("resolve -r ", [complete.FILES]),
        ("check --root x", [complete.DIRECTORIES]),
        ("resolve sgl-k", ["sgl-kernel"]),
        ("resolve Torch==2.9.1+cu13", ["Torch==2.9.1+cu130"]),
        ("resolve 'torch>=2.8,<2.9.1+cu13", ["torch>=2.8,<2.9.1+cu130"]),
        ("resolve torch=", ["torch=="]),
        ("resolve nobody==", []),
        ("why torch vllm==0.27.1+", ["vllm==0.27.1+cu129"]),
        ("resolve --gpu rtx-509", ["rtx-5090", "rtx-5090-d"]),
        ("resolve --cuda 13.0", ["13.0"]),
        ("resolve --arch sm90,sm12", ["sm90,sm121", "sm90,sm120"]),
        ("resolve --machine ", ["x86_64", "aarch64"]),
        ("resolve --channel p", ["pytorch", "pytorch-test", "pytorch-nightly"]),
        ("knowledge list tu", ["tuple"]),
        ("resolve sglang==0.5.1.post3", ["sglang==0.5.1.post3"]),
        ("knowledge show sglang-0.4.6-cu", ["sglang-0.4.6-cu124-x86_64"]),
        ("knowledge show blackwell", ["blackwell-sm120-cu130-2026-02"]),
        ("completion z", ["zsh"]),
        ("target x", []),
        ("nonsense ", []),
    ],
)
def test_what_is_offered(table: Table, line: str, first: list[str]) -> None:
    found = [offer.word for offer in offers(split(line), table)]
    assert found[: len(first)] == first
    assert first or not found


def test_nothing_is_offered_that_is_none(facts: Knowledge) -> None:
    gpus = known_names.known_gpus(ROOTS)
    assert [find_gpu(facts.gpus, word) for word, _ in gpus] == list(facts.gpus)
    taken = {*facts.cuda, *(each.version for each in facts.reported)}
    assert {*known_names.known_cuda(ROOTS)} == {*map(str, taken)}
    assert {*known_names.known_channels(ROOTS)} == {each.name for each in facts.channels}
    assert {*known_names.known_sets(ROOTS)} >= {each.id for each in facts.tuples}
    projects = known_names.known_projects(ROOTS)
    assert projects == sorted({*projects})
    assert {"torch", "sglang", "vllm", "xformers"} <= {*projects}


def test_versions_are_offered_as_people_order_them() -> None:
    order = ["2.10.0", "2.9.1.post1", "2.9.1+cu130", "2.9.1", "2.9.1rc2", "2.9.1.dev3", "2.9"]
    assert sorted(order, key=known_names._order, reverse=True) == order
    torch = known_names.known_versions(ROOTS, "torch")
    assert torch.index("2.10.0") < torch.index("2.9.1+cu130") < torch.index("2.4.1")


def test_every_command_and_option_is_in_the_table(table: Table) -> None:
    for name, command in commands():
        entry = table[name.removeprefix("abilock ")]
        names = {each for p in command.params if p.param_type_name == "option" for each in p.opts}
        assert names <= entry["options"].keys()
        assert len(entry["arguments"]) == sum(
            p.param_type_name == "argument" for p in command.params
        )


@pytest.mark.usefixtures("warm")
def test_a_key_needs_neither_typer_nor_the_facts(place: Path) -> None:
    program = (
        "import sys\nfrom resolver.cli.main import answer\n"
        "sys.argv[1:] = ['__complete', 'zsh', 'resolve', \"'torch==2.9.1+cu13\"]\n"
        "answer()\nprint(*sys.modules, file=sys.stderr)"
    )
    for _ in range(2):  # the first makes the table
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        )
        assert done.stdout == "torch==2.9.1+cu130\t\n"
    unneeded = {"typer", "packaging", "tomllib", "pydantic", "resolver.cli.app", "platformdirs"}
    assert unneeded & {*done.stderr.split()} == set()
    assert list((place.parent / "home/cache/abilock").glob("completion-*.json"))


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_scripts_of_other_shells_are_valid(run: Callable[..., Result], shell: str) -> None:
    text = run("completion", shell).out
    assert f"__complete {shell} " in text
    if (program := shutil.which(shell)) is not None:
        done = subprocess.run([program, "-n"], input=text, text=True, capture_output=True)
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
@pytest.mark.usefixtures("warm")
def test_bash_completes(tmp_path: Path) -> None:
    """A line is typed on a terminal, with Tab; what readline makes of it is read back."""
    script = tmp_path / "abilock"
    script.write_text(
        f"#!{sys.executable}\nfrom resolver.cli.main import main\nmain()\n", encoding="utf-8"
    )
    script.chmod(0o755)
    child, terminal = pty.fork()
    if child == 0:
        os.environ |= {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PS1": "$ ", "TERM": "dumb"}
        os.execlp("bash", "bash", "--norc", "-i")
    try:
        os.write(terminal, b'bind -x \'"\\C-g": echo "<$READLINE_LINE>"\'\n')
        os.write(terminal, b'eval "$(abilock completion bash)"; echo rea""dy\n')
        read_until(terminal, "ready\r\n")
        for typed, line in (
            ("abilock resolve --gpu=rtx-507", "abilock resolve --gpu=rtx-5070"),
            ("abilock why torch==2.9.1+cu13", "abilock why torch==2.9.1+cu130 "),
            ("abilock why 'torch==2.9.1+cu13", "abilock why 'torch==2.9.1+cu130' "),
        ):
            os.write(terminal, f"\x15{typed}\t\x07".encode())
            assert f"<{line}>" in read_until(terminal, ">\r\n")
    finally:
        os.close(terminal)
        os.waitpid(child, 0)
