"""abilock held to what importing came to: three questions about each fact of ``imports.json``.

``python -m tests.load.ask DIRECTORY [--build] [--env] [--other] [--again] [WORD]...`` takes the
cases that hold every WORD. ``--build`` builds and imports those of which no fact is known, and asks
all three there; ``--env`` builds the others anew for that; ``--other`` asks ``why`` and ``check
LOCKFILE``. Answers are kept below DIRECTORY and given anew with ``--again``. At the end stand the
table, and what disagrees.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from resolver import api
from resolver.errors import AbilockError
from resolver.model.options import IndexOptions
from resolver.usecase.session import Session
from resolver.usecase.world import World
from tests.load.truth import (
    CASES,
    PYTHON,
    Bench,
    Fact,
    load_closures,
    load_facts,
    parse_cases,
    read_pins,
    save_facts,
)

# The CUDA release of torch's wheels on the public index.
CUDA = {"2.8.0": "12.8", "2.9.1": "12.8", "2.11.0": "13.0", "2.14.1": "13.0", "2.15.0": "13.2"}
# Most wheels have code for it, so that device code hides nothing else.
ARCH = "sm_90"
QUESTIONS = ("why", "lock", "env")

Agreement = Literal["agrees", "disagrees", "unknown", "declared", "outside", "elsewhere"]

# What metadata says and no byte of a library.
_DECLARED = {"version-conflict"}
_OPEN = {"unverified", "not-in-snapshot", "not-found", "unreadable"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one question came to; ``reasons`` are code, severity, subject, need and finding."""

    verdict: str
    reasons: tuple[tuple[str, str, str, str, str], ...]
    grade: str = ""

    @property
    def fatal(self) -> set[str]:
        return {code for code, severity, *_ in self.reasons if severity == "fatal"}

    @property
    def codes(self) -> set[str]:
        return {code for code, *_ in self.reasons}


def agreement(fact: Fact, question: str, answer: Answer) -> Agreement:
    """How an answer stands to what happened.

    ``outside`` is what no library has to do with: Python code that asks another for a name that is
    not there, a compiler that is not installed. ``declared`` is a set that works and that metadata
    excludes: abilock says no more than pip. A set without some feature is degraded or broken.
    ``elsewhere`` is a set that fails by a package that the case does not import.
    """
    if answer.verdict == "error":
        return "disagrees"
    said_no = answer.verdict in {"broken", "rejected"}
    if fact.works:
        if not said_no:
            return "agrees"
        if question != "env" and answer.fatal <= _DECLARED:
            return "declared"
        wheels = {wheel.partition("==")[0] for wheel in fact.wheels}
        blamed = {row[2].partition(" ")[0] for row in answer.reasons if row[1] == "fatal"}
        ours = question == "why" or blamed & {*wheels, "torch"}
        return "disagrees" if ours else "elsewhere"
    if said_no:
        return "agrees"
    if fact.kind == "python":
        return "outside"
    if fact.feature and "degraded" in {severity for _, severity, *_ in answer.reasons}:
        return "agrees"
    if answer.verdict == "unknown" or (question != "env" and is_open(fact, answer)):
        return "unknown"
    # Of the machine, which is not at hand where a lock is judged.
    told = fact.kind == "system" and question != "env" and "missing-system-library" in answer.codes
    return "agrees" if told else "disagrees"


def is_open(fact: Fact, answer: Answer) -> bool:
    """Whether it says of a wheel of the case that it was not judged."""
    names = {wheel.partition("==")[0] for wheel in fact.wheels}
    return any(
        code in _OPEN and subject.partition(" ")[0] in names
        for code, _, subject, *_ in answer.reasons
    )


def target_words(torch: str) -> Any:
    """The machine that is asked for, as keywords of the API."""
    where = {"machine": "x86_64", "glibc": "2.36"}
    return {"cuda": CUDA[torch], "arch": ARCH, "python": PYTHON, **where}


class Asker:
    """abilock's answers within one session."""

    def __init__(self, session: Session, directory: Path) -> None:
        self.session = session
        self.directory = directory

    def why(self, fact: Fact) -> dict[str, Any]:
        wanted = [*fact.wheels, f"torch=={fact.torch}"]
        return api.why(wanted, session=self.session, **target_words(fact.torch)).to_json()

    def lock(self, fact: Fact) -> dict[str, Any]:
        """Of a requirements file with the release of each file that was installed."""
        path = self.directory / "requirements.txt"
        pins = [f"{name}=={version}\n" for name, version in fact.pins.items()]
        path.write_text("".join(pins), "utf-8")
        return api.check_lock(path, session=self.session, **target_words(fact.torch)).to_json()

    def ask(self, fact: Fact, question: str) -> Answer:
        """The answer; an error is one too, and agrees with nothing."""
        try:
            return summarised({"why": self.why, "lock": self.lock}[question](fact))
        except AbilockError as error:
            row = ("error", "fatal", "abilock", "", f"{error}")
            return Answer(verdict="error", reasons=(row,))


def open_session(directory: Path) -> Session:
    """abilock as it is without anybody's settings, over the network."""
    world = World.of_process()
    plain = {
        k: v for k, v in world.environ.items() if not k.startswith(("PIP_", "UV_", "ABILOCK_"))
    }
    world = replace(world, environ=plain | {"PIP_CONFIG_FILE": os.devnull}, cwd=directory)
    options = IndexOptions(channels=("default",), cache_dir=directory / "abilock")
    return Session(options=options, world=world)


def summarised(document: Mapping[str, Any]) -> Answer:
    rows = document.get("reasons") or document.get("findings") or []
    reasons = tuple(
        (row["code"], row["severity"], row["subject"], row["needs"][:200], row["found"][:300])
        for row in rows
    )
    return Answer(verdict=document["verdict"], reasons=reasons, grade=document.get("grade", ""))


class Answers:
    """The answers that were given, kept in a file a question."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._rows: dict[str, dict[str, Any]] = {}
        for question in QUESTIONS:
            path = self._path(question)
            self._rows[question] = json.loads(path.read_text()) if path.exists() else {}

    def _path(self, question: str) -> Path:
        return self.directory / f"answers-{question}.json"

    def get(self, fact: Fact, question: str) -> Answer | None:
        row = self._rows[question].get(f"{fact.key}")
        if row is None:
            return None
        reasons = tuple((a, b, c, d, e) for a, b, c, d, e in row["reasons"])
        return Answer(verdict=row["verdict"], reasons=reasons, grade=row["grade"])

    def put(self, fact: Fact, question: str, answer: Answer) -> None:
        row = {"verdict": answer.verdict, "reasons": answer.reasons, "grade": answer.grade}
        self._rows[question][f"{fact.key}"] = row
        self._path(question).write_text(json.dumps(self._rows[question], indent=1))


def table(facts: Iterable[Fact], answers: Answers) -> Iterable[str]:
    """A line a fact, then counts, then each answer that disagrees with its reasons."""
    counts: Counter[tuple[str, str]] = Counter()
    wrong = []
    for fact in facts:
        cells = []
        for question in QUESTIONS:
            answer = answers.get(fact, question)
            if answer is None:
                cells.append("-")
                continue
            how = agreement(fact, question, answer)
            counts[question, how] += 1
            cells.append(answer.verdict if how == "agrees" else f"{answer.verdict} ({how})")
            if how == "disagrees":
                wrong.append((fact, question, answer))
        happened = "works" if fact.works else f"{fact.kind}: {fact.detail or fact.error}"[:100]
        cells = [fact.torch, " ".join(fact.wheels), fact.code[:60], fact.chosen, happened, *cells]
        yield "| " + " | ".join(cells) + " |"
    for question in QUESTIONS:
        told = {how: n for (each, how), n in sorted(counts.items()) if each == question}
        yield f"{question}: {told}"
    for fact, question, answer in wrong:
        yield f"\n{fact.torch} {' '.join(fact.wheels)}: {fact.code}\n  {fact.kind}: {fact.error}"
        yield f"  {fact.detail}\n  {question}: {answer.verdict} {answer.grade}"
        for reason in answer.reasons[:6]:
            yield f"    {' | '.join(reason)}"


def build(bench: Bench, words: Sequence[str], tell: Callable[[Fact], None]) -> None:
    """Build and import the cases of which no fact is known, and keep the facts."""
    cases = parse_cases(CASES.read_text("utf-8"))
    known = {case.key for case in cases}
    facts = {fact.key: fact for fact in load_facts() if fact.key in known}
    closures = load_closures()
    for case in cases:
        if case.key in facts or not all(word in f"{case.key}" for word in words):
            continue
        if case.torch not in closures:
            closures[case.torch] = read_pins(bench.compile([f"torch=={case.torch}"]) or "")
        try:
            fact = bench.try_case(case)
        except (RuntimeError, subprocess.CalledProcessError) as error:
            say(f"{case}: not built: {error}")
            continue
        facts[case.key] = fact
        save_facts(facts.values(), closures)
        say(f"{case} [{fact.chosen}] {fact.kind} {fact.error} | {fact.detail}")
        tell(fact)


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main(arguments: Sequence[str]) -> None:
    directory = Path(arguments[0])
    flags = {word for word in arguments[1:] if word.startswith("--")}
    words = [word for word in arguments[1:] if word not in flags]
    bench = Bench(directory, "env" if "--build" in flags else "asked")
    answers = Answers(directory)

    def keep(fact: Fact, question: str, answer: Answer) -> None:
        answers.put(fact, question, answer)
        say(f"{fact.key} {question}: {answer.verdict} {agreement(fact, question, answer)}")

    os.environ["LD_LIBRARY_PATH"] = str(bench.stub)  # where check ENV looks for the driver
    with open_session(directory) as session:

        def check(fact: Fact) -> None:
            document = api.check_environment(bench.prefix, session=session).to_json()
            keep(fact, "env", summarised(document))

        def ask(fact: Fact) -> None:
            check(fact)
            for question in QUESTIONS[:2]:
                keep(fact, question, asker.ask(fact, question))

        asker = Asker(session, bench.stub)
        if "--build" in flags:
            build(bench, words, ask)
        facts = [fact for fact in load_facts() if all(word in f"{fact.key}" for word in words)]
        for fact in facts if "--other" in flags else ():
            for question in QUESTIONS[:2]:
                if answers.get(fact, question) is None or "--again" in flags:
                    keep(fact, question, asker.ask(fact, question))
        for fact in facts if "--env" in flags else ():
            if answers.get(fact, "env") is None or "--again" in flags:
                bench.build(fact.pins)
                bench.make_stub()
                check(fact)
    say("\n".join(table(facts, answers)))


if __name__ == "__main__":
    main(sys.argv[1:])
