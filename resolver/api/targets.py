"""The call for several locks at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack

from resolver.api.answers import resolve
from resolver.errors import AbilockError, UsageError
from resolver.model.options import TargetOptions
from resolver.usecase.arguments import SourceKeywords, items_of, session_for

if TYPE_CHECKING:
    from resolver.usecase.resolve_targets import TargetsResult
    from resolver.usecase.session import Session


class SolveKeywords(TypedDict, total=False):
    """What counts for every target: the keywords of ``resolve`` but the machine."""

    constraints: Iterable[str | Path]
    overrides: Iterable[str | Path]
    prefer: Literal["known-good", "newest"] | None
    tuples: bool
    strict: bool
    pre: bool
    exclude_newer: str | date | None
    upgrade: Iterable[str] | bool
    fetch_hashes: bool
    allow_sdist: bool


def resolve_targets(
    file: Path | str,
    requirements: str | Path | Iterable[str | Path] = (),
    *,
    directory: Path | str = ".",
    target: TargetOptions | None = None,
    keep_going: bool = False,
    tell: Callable[[str], None] = lambda _: None,
    solve: SolveKeywords | None = None,
    session: Session | None = None,
    **options: Unpack[SourceKeywords],
) -> TargetsResult:
    """A lock for each ``[[target]]`` of a TOML file, in one session: what is read is read once.

    ``requirements`` go before those of the file. What a target does not say of its machine is taken
    from ``target``, then as ``resolve`` does. The locks are to lie in ``directory``; their pins are
    kept where they are there already. An index that does not answer raises, or with ``keep_going``
    is the error of its target. ``tell`` is called with the name of the target that is next.
    """
    from resolver.usecase import resolve_targets as usecase

    asked = items_of(requirements)
    targets = usecase.read_targets(Path(file))
    answers = []
    with session_for(session, options, frozenset()) as opened:
        for named in targets:
            tell(named.name)
            path = Path(directory, named.file_name)
            try:
                answer = resolve(
                    asked or named.requirements,
                    target=named.beside(target or TargetOptions()),
                    session=opened,
                    keep=path,
                    **(solve or {}),
                )
            except UsageError as error:
                where = f"{file} [[target]] {named.name}"
                raise UsageError(f"{where}: {error}", hint=error.hint) from error
            except AbilockError as error:
                if not keep_going:
                    raise
                answers.append(usecase.TargetAnswer(target=named, path=path, error=error))
                continue
            answers.append(usecase.TargetAnswer(target=named, path=path, answer=answer))
    return usecase.TargetsResult(answers=tuple(answers))
