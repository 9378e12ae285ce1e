"""What is asked for before it is needed: nothing waits for one answer after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest
from packaging.utils import NormalizedName

from resolver.model.artifact import Artifact, Metadata
from tests.support.fakes import FakeIndex, answer, pins


class Told(FakeIndex):
    """Keeps what is fetched ahead among what is read; a star says that it was not told of."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.log: list[str] = []
        self.ahead: set[str] = set()

    def prefetch_metadata(
        self,
        artifacts: Iterable[Artifact],
        leads_to: Callable[[Metadata], Iterable[NormalizedName]] | None = None,  # noqa: ARG002
    ) -> None:
        self.ahead.update(str(artifact.release) for artifact in artifacts)

    def metadata(self, artifact: Artifact) -> Metadata:
        ahead = sorted(self.ahead - {"top 1.0"})
        self.log.append(f"{artifact.release}: {', '.join(ahead)}")
        return super().metadata(artifact)


def test_what_has_one_release_left_is_read_at_once() -> None:
    index = Told("top 1.0 needs a==1 | b==1 | c==1\na 1\nb 1\nc 1\nc 2")
    assert pins(answer(index, "top==1.0")) == {"a": "1", "b": "1", "c": "1", "top": "1.0"}
    assert index.log[:2] == ["top 1.0: ", "a 1: a 1, b 1, c 1"]


@pytest.mark.parametrize(("offline", "expected"), [(False, (4, 6, 16)), (True, (3, 4, 9))])
def test_the_more_releases_fail_the_more_are_read_ahead(
    offline: bool, expected: tuple[int, ...]
) -> None:
    text = "".join(f"a {n} needs b=={n}\nb {n} needs c<2\n" for n in range(20, 4, -1))
    index = Told(f"{text}a 1 needs b==1\nb 1\nc 1 needs b<5\nc 2")
    index.offline = offline
    assert pins(answer(index, "a", "c<2")) == {"a": "1", "b": "1", "c": "1"}
    ahead = dict(line.split(": ", 1) for line in index.log)
    assert tuple(ahead[f"a {n}"].count("a ") for n in (18, 17, 12)) == expected
