"""What the decorator of ours makes is what the standard one makes."""

from __future__ import annotations

import dataclasses
import inspect
import pickle
import re
from typing import Any, ClassVar, Protocol

import pytest

from resolver import dataclass as ours
from resolver.model.channel import Channel
from tests.test_layers import MODULES, ROOT

FROZEN = {"frozen": True, "slots": True}
SHAPES = [
    {},
    {"order": True},
    {"frozen": True},
    {"frozen": True, "kw_only": True},
    {"slots": True},
    {"slots": True, "eq": False},
    FROZEN,
    {**FROZEN, "kw_only": True, "order": True},
    {**FROZEN, "repr": False},
]
ARGUMENTS: list[dict[str, Any]] = [
    {"name": "a"},
    {"name": "b", "size": 2},
    {"name": "b", "size": 3, "parts": [1]},
    {"name": "b", "size": 3, "parts": [2], "note": "?"},
    {"name": "b", "size": 2, "note": "!"},
    {"size": 3},
    {"name": "a", "colour": 1},
]


def made(decorate: Any, options: dict[str, Any]) -> Any:
    """A class of every kind of field, and one that is derived from it."""

    @decorate(**options)
    class Base:
        name: str
        size: int = 1
        parts: list[int] = dataclasses.field(default_factory=list, hash=False)
        kind: ClassVar[str] = "base"

        @property
        def twice(self) -> int:
            return 2 * self.size

    @decorate(**options)
    class Thing(Base):
        size: int = 2
        note: str = dataclasses.field(default="", compare=False, repr=False)
        last: bool = dataclasses.field(default=False, kw_only=True)

        def __post_init__(self) -> None:
            if self.note == "?":
                raise ValueError(self.note)

    return Thing


def outcome(call: Any) -> Any:
    """What a call gives, or the kind of what it raises with its words."""
    try:
        return call()
    except Exception as error:  # noqa: BLE001 - any is compared
        return type(error), str(error).replace("Base", "Thing").replace("hash(...)", "")


@pytest.mark.parametrize("options", SHAPES, ids=str)
def test_objects_are_the_same(options: dict[str, Any]) -> None:
    mine, standard = made(ours.dataclass, options), made(dataclasses.dataclass, options)
    things = []
    for kind in (mine, standard):
        built = [outcome(lambda a=a, kind=kind: kind(**a)) for a in ARGUMENTS]
        built.append(outcome(lambda kind=kind: kind("c", 4, [], "", last=True)))
        told = []
        for a in built:
            if not isinstance(a, kind):
                told.append(a)
                continue
            copy = ours.replace(a)
            told += [
                repr(a) if options.get("repr", True) else None,
                dataclasses.asdict(a),
                [getattr(a, name) for name in ("twice", "kind", "note")],
                hasattr(a, "__dict__"),
                kind.__match_args__,
                [(each.name, each.type, each.compare, each.kw_only) for each in ours.fields(a)],
                outcome(lambda b=copy: setattr(b, "size", 9)),
                outcome(lambda b=copy: delattr(b, "size")),
                outcome(lambda a=a: ours.replace(a, name="z").name),
                outcome(lambda a=a: type(hash(a)) if options.get("eq", True) else None),
                [a == b for b in built if isinstance(b, kind)],
                [outcome(lambda a=a, b=b: a < b) for b in built if isinstance(b, kind)],
                [outcome(lambda a=a, b=b: a >= b) for b in built if isinstance(b, kind)],
                outcome(lambda a=a: a < 1),
            ]
        things.append(told)
    assert things[0] == things[1]


def test_signature_is_that_of_the_fields() -> None:
    kinds = [made(decorate, FROZEN) for decorate in (ours.dataclass, dataclasses.dataclass)]
    mine, standard = (inspect.signature(kind).parameters.values() for kind in kinds)
    assert [(p.name, p.kind) for p in mine] == [(p.name, p.kind) for p in standard]


def test_objects_are_pickled_and_hashed_by_value() -> None:
    channel = Channel(name="a", title="A", url="x", projects=frozenset())
    again = pickle.loads(pickle.dumps(channel))
    assert again == channel
    assert {again, channel} == {channel}


def test_what_is_not_known_is_refused() -> None:
    with pytest.raises(
        TypeError, match=r"Kind\.given: dataclasses\.InitVar\[int\] is not known here"
    ):

        @ours.dataclass
        class Kind:
            given: dataclasses.InitVar[int]

    with pytest.raises(TypeError, match=r"Other\.given: a default that can change"):

        @ours.dataclass
        class Other:
            given: list[int] = []  # noqa: RUF012 - what is refused


def test_a_class_may_state_methods_of_its_own() -> None:
    class Named(Protocol):
        @property
        def name(self) -> str: ...

    @ours.dataclass(frozen=True, slots=True)
    class Own(Named):
        name: str

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Own)

        def __hash__(self) -> int:
            return 7

        def __repr__(self) -> str:
            return "own"

    assert (Own("a"), hash(Own("a")), repr(Own("a"))) == (Own("b"), 7, "own")


def test_no_module_uses_the_standard_decorator() -> None:
    standard = re.compile(r"^\s*(from|import) dataclasses\b", re.MULTILINE)
    found = [str(each) for each in MODULES if standard.search((ROOT / each).read_text("utf-8"))]
    assert found == ["dataclass.py"]
