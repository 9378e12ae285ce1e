"""Dataclasses that cost next to nothing until they are used.

The standard decorator compiles six methods of a frozen class when it is defined, 0.5 ms of work. A
command defines some 140 classes and makes objects of half of them, which was a fifth of its time.
Here ``__init__``, ``__eq__``, ``__hash__`` and the comparisons are compiled when they are first
called, and the others need no compiling. Type checkers see the standard decorator, and what it
means is what this one does, for the options that it takes; ``tests/test_dataclass.py`` compares.

This module imports nothing of ours.
"""

from __future__ import annotations

import dataclasses
from dataclasses import asdict, field, fields, is_dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    from inspect import get_annotations
    from operator import attrgetter
    from reprlib import recursive_repr
    from typing import NamedTuple

    class _Options(NamedTuple):
        """What the standard decorator asks of a base class, and what is asked of this one."""

        init: bool
        repr: bool
        eq: bool
        order: bool
        unsafe_hash: bool
        frozen: bool
        kw_only: bool
        slots: bool

    def dataclass(
        cls=None,
        /,
        *,
        repr=True,
        eq=True,
        order=False,
        frozen=False,
        kw_only=False,
        slots=False,
    ):
        """``dataclasses.dataclass``, of which the options that abilock uses. Raises TypeError."""
        options = _Options(True, repr, eq, order, False, frozen, kw_only, slots)
        if cls is None:
            return lambda cls: _made(cls, options)
        return _made(cls, options)

    def _made(cls, options):
        own = _own_fields(cls, options)
        found = {}
        for base in reversed(cls.__mro__[1:]):
            found |= base.__dict__.get("__dataclass_fields__", {})
            params = base.__dict__.get("__dataclass_params__")
            if params is not None and params.frozen is not options.frozen:
                raise TypeError(f"{cls.__name__} and {base.__name__}: one is frozen, the other not")
        found |= own
        for name, each in own.items():
            if isinstance(cls.__dict__.get(name), dataclasses.Field):
                if each.default is dataclasses.MISSING:
                    delattr(cls, name)
                else:
                    setattr(cls, name, each.default)
        if options.slots:
            cls = _with_slots(cls, found)
        cls.__dataclass_fields__ = found
        cls.__dataclass_params__ = options
        cls.__signature__ = _Signature()
        cls.__match_args__ = tuple(name for name, each in found.items() if not each.kw_only)
        _add_methods(cls, found, options)
        if "__abstractmethods__" in cls.__dict__:
            from abc import update_abstractmethods

            update_abstractmethods(cls)
        return cls

    class _Signature:
        """``inspect.signature`` of a class: of its real ``__init__``, made where somebody asks."""

        def __get__(self, instance, owner):
            from inspect import signature

            if instance is not None:
                raise AttributeError("__signature__")
            init = owner.__init__
            whole = signature(init.make() if hasattr(init, "make") else init)
            return whole.replace(parameters=list(whole.parameters.values())[1:])

    def _own_fields(cls, options):
        """The fields of the class without those of its bases, by name."""
        own = {}
        for name, kind in get_annotations(cls).items():
            if not isinstance(kind, str):
                raise TypeError(f"{cls.__name__}.{name}: write from __future__ import annotations")
            if kind.startswith(("ClassVar", "typing.ClassVar")):
                continue
            if kind.startswith(("InitVar", "KW_ONLY", "dataclasses.")):
                raise TypeError(f"{cls.__name__}.{name}: {kind} is not known here")
            each = cls.__dict__.get(name, dataclasses.MISSING)
            if not isinstance(each, dataclasses.Field):
                if each.__class__.__hash__ is None:
                    raise TypeError(f"{cls.__name__}.{name}: a default that can change")
                each = field(default=each)
            each.name, each.type = name, kind
            each._field_type = dataclasses._FIELD  # what fields() looks for
            if each.kw_only is dataclasses.MISSING:
                each.kw_only = options.kw_only
            own[name] = each
        return own

    def _with_slots(cls, found):
        """The class once more: slots can only be said when a class is made."""
        taken = {slot for base in cls.__mro__[1:] for slot in base.__dict__.get("__slots__", ())}
        body = dict(cls.__dict__)
        for name in (*found, "__dict__", "__weakref__"):
            body.pop(name, None)
        body["__slots__"] = tuple(name for name in found if name not in taken)
        made = type(cls)(cls.__name__, cls.__bases__, body)
        made.__qualname__ = cls.__qualname__
        return made

    def _add_methods(cls, found, options):
        body = cls.__dict__
        compared = [name for name, each in found.items() if each.compare]
        if "__init__" not in body:
            cls.__init__ = _later(cls, "__init__", lambda: _init(cls, found, options))
        if options.repr and "__repr__" not in body:
            cls.__repr__ = _repr([name for name, each in found.items() if each.repr])
        # A class that defines __eq__ alone has a __hash__ of None in its body.
        hashed = body.get("__hash__") is not None
        if options.eq:
            if "__eq__" not in body:
                cls.__eq__ = _later(cls, "__eq__", lambda: _comparison(cls, "__eq__", compared))
            if not hashed:
                cls.__hash__ = (
                    _later(cls, "__hash__", lambda: _hash(cls, found)) if options.frozen else None
                )
        if options.order:
            for name in ("__lt__", "__le__", "__gt__", "__ge__"):
                if name in body:
                    raise TypeError(f"{cls.__name__} has a {name} of its own")
                setattr(
                    cls, name, _later(cls, name, lambda name=name: _comparison(cls, name, compared))
                )
        if options.frozen:
            cls.__setattr__, cls.__delattr__ = _frozen(cls, found)
            if options.slots:
                names = tuple(found)
                if "__getstate__" not in body:
                    cls.__getstate__ = _getstate(names)
                if "__setstate__" not in body:
                    cls.__setstate__ = _setstate(cls, names)

    def _later(cls, name, make):
        """A method that puts the real one in its place when it is first called."""

        def method(self, *given, **named):
            made = make()
            setattr(cls, name, made)
            return made(self, *given, **named)

        method.make = make
        method.__name__, method.__qualname__ = name, f"{cls.__qualname__}.{name}"
        return method

    def _compiled(cls, name, lines, known):
        known["__name__"] = cls.__module__
        exec("\n".join(lines), known)  # of names of fields alone, as the standard does
        made = known[name]
        made.__qualname__ = f"{cls.__qualname__}.{name}"
        return made

    def _init(cls, found, options):
        known = {"_missing": dataclasses.MISSING, "_set": object.__setattr__}
        words, keywords, body = [], [], []
        for name, each in found.items():
            word, value = name, name
            if each.default is not dataclasses.MISSING:
                known[f"_default_{name}"] = each.default
                word = f"{name}=_default_{name}"
            elif each.default_factory is not dataclasses.MISSING:
                known[f"_factory_{name}"] = each.default_factory
                word = f"{name}=_missing"
                value = f"_factory_{name}() if {name} is _missing else {name}"
            (keywords if each.kw_only else words).append(word)
            slot = cls.__dict__.get(name) if options.frozen and options.slots else None
            if slot is not None:
                known[f"_set_{name}"] = slot.__set__
                body.append(f" _set_{name}(self, {value})")
            elif options.frozen:
                body.append(f" _set(self, {name!r}, {value})")
            else:
                body.append(f" self.{name} = {value}")
        if hasattr(cls, "__post_init__"):
            body.append(" self.__post_init__()")
        asked = ", ".join(["self", *words, *(["*", *keywords] if keywords else [])])
        return _compiled(cls, "__init__", [f"def __init__({asked}):", *(body or [" pass"])], known)

    def _tuple(of, names):
        return f"({''.join(f'{of}.{name}, ' for name in names)})"

    def _comparison(cls, name, names):
        sign = {"__eq__": "==", "__lt__": "<", "__le__": "<=", "__gt__": ">", "__ge__": ">="}[name]
        lines = [
            f"def {name}(self, other):",
            " if other.__class__ is self.__class__:",
            f"  return {_tuple('self', names)} {sign} {_tuple('other', names)}",
            " return NotImplemented",
        ]
        return _compiled(cls, name, lines, {})

    def _hash(cls, found):
        names = [
            name
            for name, each in found.items()
            if (each.compare if each.hash is None else each.hash)
        ]
        lines = ["def __hash__(self):", f" return hash({_tuple('self', names)})"]
        return _compiled(cls, "__hash__", lines, {})

    def _repr(names):
        @recursive_repr()
        def __repr__(self):  # noqa: N807
            told = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
            return f"{self.__class__.__qualname__}({told})"

        return __repr__

    def _frozen(cls, found):
        def __setattr__(self, name, value):  # noqa: N807
            if type(self) is cls or name in found:
                raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
            super(cls, self).__setattr__(name, value)

        def __delattr__(self, name):  # noqa: N807
            if type(self) is cls or name in found:
                raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
            super(cls, self).__delattr__(name)

        return __setattr__, __delattr__

    def _getstate(names):
        values = attrgetter(*names) if len(names) > 1 else None

        def __getstate__(self):  # noqa: N807
            return list(values(self)) if values else [getattr(self, name) for name in names]

        return __getstate__

    def _setstate(cls, names):
        setters = []

        def __setstate__(self, state):  # noqa: N807
            if not setters:
                setters.extend(getattr(cls, name).__set__ for name in names)
            for setter, value in zip(setters, state, strict=True):
                setter(self, value)

        return __setstate__


__all__ = ["asdict", "dataclass", "field", "fields", "is_dataclass", "replace"]
