"""What callers of the API write, as the values that use cases take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from resolver.dataclass import fields
from resolver.model.options import IndexOptions, PlatformOptions, TargetOptions

if TYPE_CHECKING:
    from resolver.model.target import Target
    from resolver.usecase.session import Session


class TargetKeywords(TypedDict, total=False):
    """The machine, a keyword for each field of ``TargetOptions``; this machine is the default."""

    cuda: str | None
    arch: str | None
    gpu: str | None
    python: str | None
    machine: str | None
    glibc: str | None
    driver: str | None
    toolkit: str | None


class SourceKeywords(TypedDict, total=False):
    """Indexes and caches."""

    index: Iterable[str]
    channels: Iterable[str]
    offline: bool
    no_cache: bool
    cache_dir: Path | str | None
    knowledge: Path | str | None


class IndexKeywords(SourceKeywords, total=False):
    """Indexes and caches, a keyword for each field of ``IndexOptions``."""

    wheelhouse: Path | str | None


class Keywords(TargetKeywords, IndexKeywords, total=False):
    """The machine, and the indexes where no session is given."""


class WheelKeywords(IndexKeywords, total=False):
    """Whose wheels are meant, by default this machine's; and the indexes without a session."""

    python: str | None
    machine: str | None


def items_of(items: str | Path | Iterable[str | Path]) -> tuple[str | Path, ...]:
    """One thing, or all of several."""
    return (items,) if isinstance(items, str | Path) else tuple(items)


TARGET_FIELDS = frozenset(field.name for field in fields(TargetOptions))
PLATFORM_FIELDS = frozenset(field.name for field in fields(PlatformOptions))


def target_options(options: Keywords) -> TargetOptions:
    """The keywords that are a machine's."""
    said: dict[str, Any] = {n: v for n, v in options.items() if n in TARGET_FIELDS}
    return TargetOptions(**said)


def index_options(options: Any, others: frozenset[str] = frozenset()) -> IndexOptions:
    """All keywords but ``others``. Raises TypeError for one that is none."""
    given: dict[str, Any] = {n: v for n, v in options.items() if n not in others}
    for name in ("index", "channels"):
        if name in given:
            given[name] = items_of(given[name])
    for name in ("wheelhouse", "cache_dir", "knowledge"):
        if given.get(name) is not None:
            given[name] = Path(given[name])
    return IndexOptions(**given)


@contextmanager
def session_for(
    session: Session | None,
    options: Keywords | WheelKeywords | SourceKeywords,
    others: frozenset[str] = TARGET_FIELDS,
) -> Iterator[Session]:
    """The given session, or one for this call alone; ``others`` are no keywords of sessions."""
    if session is None:
        from resolver.usecase.session import Session

        with Session(options=index_options(options, others)) as opened:
            yield opened
        return
    if wrong := sorted(options.keys() - others):
        raise TypeError(f"{', '.join(wrong)}: say it where the session is opened")
    yield session


def target_for(
    session: Session,
    target: Target | TargetOptions | None,
    options: Keywords,
) -> Target:
    """The machine that is meant. Raises UsageError, and TypeError where it is said twice."""
    from resolver.model.target import Target
    from resolver.usecase.target_options import make_project_target

    if isinstance(target, Target):
        _check_alone(target, options)
        return target
    said = described(target, options)
    return make_project_target(
        session.knowledge, said, session.project, session.world, session.tell
    )


def described(target: TargetOptions | None, options: Keywords) -> TargetOptions:
    """What is said of the machine, in either form. Raises TypeError for both."""
    _check_alone(target, options)
    return target or target_options(options)


def _check_alone(target: Target | TargetOptions | None, options: Keywords) -> None:
    if target is not None and (beside := options.keys() & TARGET_FIELDS):
        raise TypeError(f"a target is given, and {', '.join(sorted(beside))} beside it")


def platform_for(
    session: Session, platform: PlatformOptions | None, options: WheelKeywords
) -> Target:
    """Whose wheels are meant. Raises UsageError, and TypeError where it is said twice."""
    from resolver.usecase.target_options import make_platform

    if platform is not None and (beside := options.keys() & PLATFORM_FIELDS):
        raise TypeError(f"a platform is given, and {', '.join(sorted(beside))} beside it")
    said = platform or PlatformOptions(python=options.get("python"), machine=options.get("machine"))
    return make_platform(session.knowledge, said, session.world)


def repeatable(target: Target | TargetOptions | None, options: Keywords) -> TargetOptions:
    """What the commands of an answer have to repeat of the machine."""
    from resolver.model.target import Target, driver_text

    if not isinstance(target, Target):
        return target or target_options(options)
    return TargetOptions(
        python=target.python_short,
        machine=target.machine,
        glibc=target.glibc_text,
        driver=None if target.driver is None else driver_text(target.driver),
        toolkit=None if target.toolkit is None else str(target.toolkit),
    )
