"""Facts of wheels, each read once: from what came with abilock, the cache, or their bytes."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import NamedTuple, Protocol

from resolver.abi.bundled_evidence import EvidencePack
from resolver.abi.evidence_cache import EvidenceStore
from resolver.abi.wheel import WheelFacts
from resolver.errors import AbilockError
from resolver.model.activity import Activity
from resolver.model.artifact import Artifact
from resolver.model.plural import counted
from resolver.wheelfile.byte_source import ByteSource, FileSource

_READERS = 4
_EARLIER = " (found earlier in this run)"
_NO_WAY = "nothing that is reached here has it"


class Opener(Protocol):
    """Gives access to the bytes of a file; None where it has no address."""

    def __call__(self, artifact: Artifact) -> ByteSource | None:
        """Open one file. Raises IndexFailure."""
        ...


class _Failure(NamedTuple):
    project: str
    filename: str
    cause: str


class WheelReader:
    """Reads files at the same time, each once.

    ``pack`` came with abilock; ``store`` keeps what is read. ``on_read`` is called from the
    readers' threads before a file's own bytes are read; ``activity`` counts them.
    """

    def __init__(
        self,
        opener: Opener,
        *,
        store: EvidenceStore | None = None,
        pack: EvidencePack | None = None,
        on_read: Callable[[Artifact], None] = lambda _: None,
        activity: Activity | None = None,
    ) -> None:
        self._opener = opener
        self._store = store
        self._pack = pack
        self._on_read = on_read
        self._activity = activity or Activity()
        self._workers = ThreadPoolExecutor(_READERS, thread_name_prefix="evidence")
        self._lock = Lock()
        self._futures: dict[str, Future[WheelFacts | None]] = {}
        self._failures: dict[str, _Failure] = {}
        self._forgotten: set[str] = set()

    def close(self) -> None:
        """Let the readers go; waits for what they are at, which uses connections of others."""
        self._workers.shutdown(cancel_futures=True)

    def start(self, artifact: Artifact) -> None:
        """Begin to read a file; nothing where it was begun before."""
        self._future(artifact)

    def read(self, artifact: Artifact) -> WheelFacts | None:
        """The facts of a file; None where it cannot be read, which ``failures`` tells.

        Raises KnowledgeError where what came with abilock is damaged.
        """
        return self._future(artifact).result()

    def known(self, artifact: Artifact) -> WheelFacts | None:
        """What was read of a file before, the deepest first; nothing is read for it.

        Raises KnowledgeError where what came with abilock is damaged.
        """
        return self._known(artifact)

    def cause(self, artifact: Artifact) -> str:
        """Why a file was not read, in words."""
        with self._lock:
            failure = self._failures.get(key_of(artifact))
        return _NO_WAY if failure is None else failure.cause

    def forget_failure(self, artifact: Artifact) -> None:
        """Tell no more that a file could not be read: another answers for it."""
        with self._lock:
            self._forgotten.add(key_of(artifact))

    def failures(self) -> tuple[str, ...]:
        """The files that could not be read, with the cause; one stands for all of its project."""
        by_project: dict[str, list[_Failure]] = {}
        with self._lock:
            told = self._failures.keys() - self._forgotten
            for failure in sorted(self._failures[key] for key in told):
                by_project.setdefault(failure.project, []).append(failure)
        return tuple(
            f"{failures[0].filename}{_more(len(failures) - 1)} could not be read: "
            f"{failures[0].cause}"
            for failures in by_project.values()
        )

    def _future(self, artifact: Artifact) -> Future[WheelFacts | None]:
        key = key_of(artifact)
        with self._lock:
            future = self._futures.get(key)
        if future is not None:
            return future
        known: Future[WheelFacts | None] = Future()  # what is at hand needs no thread
        try:
            facts = self._known(artifact)
        except AbilockError as error:
            known.set_exception(error)
        else:
            known.set_result(None if facts is not None and _has_more(facts) else facts)
        with self._lock:
            future = self._futures.get(key)
            if future is None and (known.exception() is not None or known.result() is not None):
                future = self._futures[key] = known
            if future is None:
                future = self._futures[key] = self._workers.submit(self._load, artifact)
            return future

    def _load(self, artifact: Artifact) -> WheelFacts | None:
        """What the bytes say; where they cannot be had, what was read of them before."""
        shallow = self._known(artifact)
        try:
            return self._read(artifact) or shallow
        except (AbilockError, OSError) as error:
            if shallow is not None:
                return shallow
            with self._lock:
                self._failures[key_of(artifact)] = _Failure(
                    artifact.name, artifact.filename, str(error).removesuffix(_EARLIER)
                )
            return None

    def _known(self, artifact: Artifact) -> WheelFacts | None:
        """What was read before, the deepest first: by this machine, or by who made the pack."""
        if artifact.sha256 is None:
            return None
        kept = self._store.get(artifact.sha256) if self._store is not None else None
        if kept is not None and kept.depth == "full":
            return kept
        packed = self._pack.get(artifact.name, artifact.sha256) if self._pack is not None else None
        return packed if packed is not None and packed.depth == "full" else kept or packed

    def _read(self, artifact: Artifact) -> WheelFacts | None:
        source = self._opener(artifact)
        if source is None:
            return None
        from resolver.abi.inspection import read_evidence

        self._on_read(artifact)
        try:
            with self._activity.reading(artifact):
                return read_evidence(
                    source, filename=artifact.filename, sha256=artifact.sha256, store=self._store
                )
        finally:
            if isinstance(source, FileSource):
                source.close()


def _has_more(facts: WheelFacts) -> bool:
    from resolver.abi.inspection import has_more

    return has_more(facts)


def key_of(artifact: Artifact) -> str:
    """What identifies the bytes of a file: its hash, else its place."""
    return artifact.sha256 or artifact.url or artifact.path or artifact.filename


def _more(count: int) -> str:
    return f" and {counted(count, 'more file')}" if count else ""
