"""The table of messages: each example is told by its own row, whatever stands around it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resolver.diagnosis.paste_parser import causes, parse_paste
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.model.message import Message
from resolver.model.pasted_error import KnownMessage, MissingLibrary

BASE = KnowledgeBase()
MESSAGES = BASE.messages


def examples() -> dict[str, list[str]]:
    from resolver.compat.load_facts import load_file
    from resolver.compat.schema_message import MessagesFile

    facts = load_file(BASE.root, "messages.toml", MessagesFile).message
    return {fact.id: list(fact.examples) for fact in facts}


EXAMPLES = examples()


def told(text: str) -> list[str]:
    faults = causes(parse_paste(text, MESSAGES).faults)
    return [fault.message.id for fault in faults if isinstance(fault, KnownMessage)]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.id)
def test_an_example_is_told_by_its_own_row(message: Message) -> None:
    for example in EXAMPLES[message.id]:
        assert told(example)[:1] == [message.id]


LINES = [(id_, line) for id_, lines in EXAMPLES.items() for line in lines]


@given(
    st.sampled_from(LINES),
    st.sampled_from(
        [
            "2026-03-04 10:11:12,345 ERROR [worker] {}",
            "(EngineCore_DP0 pid=123) ERROR 03-02 19:49:00 [core.py:783] {}",
            "\x1b[31m{}\x1b[0m",
            "[rank0]: {}",
            "  \u2502 {} \u2502",
            "Title: `{}` on 8xH100",
            'Traceback (most recent call last):\n  File "a.py", line 1\n{}\nmore',
            "> {}",
        ]
    ),
)
def test_prefixes_do_not_matter(line: tuple[str, str], around: str) -> None:
    assert line[0] in told(around.format(line[1]))


@given(st.sampled_from(LINES), st.integers(20, 60))
def test_a_wrapped_line_is_the_same(line: tuple[str, str], width: int) -> None:
    rows, row = [], ""
    for word in line[1].split():
        if row and len(row) + len(word) > width:
            rows.append(row)
            row = ""
        row = f"{row} {word}".strip()
    assert line[0] in told("\n".join([*rows, row]))


def test_a_line_may_be_wrapped_before_a_colon() -> None:
    text = "cublas runtime error\n: the GPU program\nfailed to execute at x.cu:246"
    assert told(text) == ["cublas-execution-failed"]


@given(st.text(max_size=400))
def test_any_text_can_be_read(text: str) -> None:
    parse_paste(text, MESSAGES)


def test_a_long_log_is_read_in_linear_time() -> None:
    line = "NCCL WARN Cuda failure 'named symbol not found' (you have a lot) CUDA error: x\n"
    assert told(line * 3000) == ["named-symbol-not-found"]


@pytest.mark.parametrize(
    ("text", "installed"),
    [
        pytest.param(
            "xFormers was built for:\n    PyTorch 2.1.2+cu121 with CUDA 1201 (you have 2.0.1)",
            {"torch": "2.0.1"},
            id="what-you-have",
        ),
        pytest.param(
            "Skipping import of cpp extensions due to incompatible torch version 2.7.1+cu128 for "
            "torchao version 0.15.0",
            {"torch": "2.7.1+cu128", "torchao": "0.15.0"},
            id="torchao",
        ),
        pytest.param(
            "vllm 0.10.0 requires torch==2.7.1, but you have torch 2.8.0 which is incompatible.",
            {"torch": "2.8.0"},
            id="pip-names-what-is-installed",
        ),
        pytest.param(
            "  x No solution found when resolving dependencies:\n  Because torch 2.7.0 is asked",
            {},
            id="what-was-asked-for-is-not-installed",
        ),
    ],
)
def test_the_versions_that_count(text: str, installed: dict[str, str]) -> None:
    paste = parse_paste(text, MESSAGES)
    assert {name: str(version) for name, version in paste.installed.items()} == installed


def test_a_gpu_that_a_compiler_names() -> None:
    paste = parse_paste("ptxas fatal   : Value 'sm_121a' is not defined for option", MESSAGES)
    assert [str(arch) for arch in paste.archs] == []
    paste = parse_paste(
        "ptxas fatal : Value 'sm_121a' is not defined for option 'gpu-name'", MESSAGES
    )
    assert [str(arch) for arch in paste.archs] == ["sm_121"]


def test_what_follows_from_another_message_is_not_told() -> None:
    text = (
        "ImportError: libcudart.so.12: cannot open shared object file\n"
        "RuntimeError: CUDA Setup failed despite GPU being available."
    )
    assert told(text) == []
    assert [type(fault) for fault in causes(parse_paste(text, MESSAGES).faults)] == [MissingLibrary]
