"""Everything that was written down: what ships, and what a user's directories add to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from packaging.utils import NormalizedName, canonicalize_name

from resolver.compat.kept_facts import kept, kept_bytes
from resolver.compat.load_facts import is_whole, knowledge_path, load_knowledge, load_rows
from resolver.model.knowledge import Knowledge
from resolver.model.load_knowledge import LoadRule, NativeProjects, PreloadRule, SystemLibrary

if TYPE_CHECKING:
    from resolver.abi.bundled_evidence import EvidenceCount, EvidencePack
    from resolver.abi.driver import DriverFunctions
    from resolver.abi.history import History
    from resolver.abi.packed_file import Keep
    from resolver.abi.provider import ProviderHistory
    from resolver.compat.set_file import SetFiles
    from resolver.model.image import Images
    from resolver.model.measured_set import SetRoot
    from resolver.model.message import Message, Soname

T = TypeVar("T")

# What this process has read, by the state of the files; nothing of it is ever changed.
_read: dict[tuple[object, ...], Any] = {}
_lock = Lock()


def _state(path: Path) -> tuple[str, int, int]:
    """What tells a file's content without reading it; that of no file where there is none."""
    try:
        state = path.stat()
    except OSError:
        return (str(path), -1, -1)
    return (str(path), state.st_size, state.st_mtime_ns)


def _once(make: Callable[[], T], *files: Path) -> T:
    """What ``make`` reads of these files, once in a process; from any thread."""
    state = tuple(map(_state, files))
    with _lock:
        if state not in _read:
            _read[state] = make()
        value: T = _read[state]
        return value


class KnowledgeBase:
    """The parts of one database, each read once, when it is first asked for.

    ``root`` is the directory of the database, by default the one that came with abilock. Every
    part is read from there, and from ``overlays``: directories of the same form that hold some of
    its files. What they say of the same id replaces what stands below, other rows add to it; a
    symbol history is one thing, and the last one counts. ``facts`` stand in for the facts of the
    files. Each part raises KnowledgeError where its file is missing or damaged. ``cache_dir`` is
    where parsed parts are kept.
    """

    def __init__(
        self,
        root: Path | None = None,
        overlays: Iterable[Path] = (),
        *,
        facts: Knowledge | None = None,
        cache_dir: Path | None = None,
    ) -> None:
        self.root = root if root is not None else knowledge_path()
        self.overlays = tuple(overlays)
        self._facts = facts
        self._cache_dir = cache_dir

    @classmethod
    def to_edit(cls, directory: Path | None) -> KnowledgeBase:
        """What is read by who writes into ``directory``, by default what ships.

        A directory of some facts is read above what ships.
        """
        if directory is None or is_whole(directory):
            return cls(directory)
        return cls(None, [directory])

    @property
    def top(self) -> Path:
        """The directory that counts most: where who edits writes."""
        return self.layers[-1]

    @property
    def layers(self) -> tuple[Path, ...]:
        """The directories, what replaces after what is replaced."""
        return (self.root, *self.overlays)

    @cached_property
    def facts(self) -> Knowledge:
        """Channels, CUDA releases, GPUs, builds, sets, recorded listings."""
        return self._facts or load_knowledge(self.root, self.overlays, self._cache_dir)

    def measured(self) -> KnowledgeBase:
        """The same without what is only reported or declared; see ``Knowledge.measured``."""
        return KnowledgeBase(
            self.root, self.overlays, facts=self.facts.measured(), cache_dir=self._cache_dir
        )

    @cached_property
    def load_rules(self) -> tuple[LoadRule, ...]:
        """How packages load their members; of two that match the first counts."""

        def parse() -> tuple[LoadRule, ...]:
            from resolver.compat.schema_load import LoadRulesFile

            rows = load_rows(self.layers, "abi/load_rules.toml", LoadRulesFile, lambda f: f.rule)
            return tuple(fact.value() for fact in rows)

        return self._kept("load_rules", "abi/load_rules.toml", parse)

    @cached_property
    def preloads(self) -> tuple[PreloadRule, ...]:
        """What torch loads before its own libraries, by release."""

        def parse() -> tuple[PreloadRule, ...]:
            from resolver.compat.schema_load import PreloadsFile

            rows = load_rows(self.layers, "preloads.toml", PreloadsFile, lambda f: f.preload)
            return tuple(fact.value() for fact in rows)

        return self._kept("preloads", "preloads.toml", parse)

    @cached_property
    def system_libraries(self) -> tuple[SystemLibrary, ...]:
        """Libraries that packages of a distribution bring."""

        def parse() -> tuple[SystemLibrary, ...]:
            from resolver.compat.schema_load import SystemLibrariesFile as File

            rows = load_rows(self.layers, "system_libraries.toml", File, lambda f: f.system)
            return tuple(fact.value() for fact in rows)

        return self._kept("system_libraries", "system_libraries.toml", parse)

    @cached_property
    def images(self) -> Images:
        """What containers begin from."""

        def parse() -> Images:
            from resolver.compat.schema_image import ImagesFile as File
            from resolver.model.image import Images

            distros = load_rows(self.layers, "images.toml", File, lambda f: f.distro)
            images = load_rows(self.layers, "images.toml", File, lambda f: f.image)
            tools = load_rows(self.layers, "images.toml", File, lambda f: f.tool)
            return Images(
                distros=tuple(sorted((d.value() for d in distros), key=lambda d: d.glibc)),
                cuda=tuple(fact.value() for fact in images),
                tools=tuple(fact.value() for fact in tools),
            )

        return self._kept("images", "images.toml", parse)

    @cached_property
    def messages(self) -> tuple[Message, ...]:
        """What programs print when something does not fit; of two that match the first counts."""

        def parse() -> tuple[Message, ...]:
            from resolver.compat.schema_message import MessagesFile

            rows = load_rows(self.layers, "messages.toml", MessagesFile, lambda f: f.message)
            return tuple(fact.value() for fact in rows)

        return self._kept("messages", "messages.toml", parse)

    @cached_property
    def modules(self) -> Mapping[str, tuple[NormalizedName, ...]]:
        """The projects that bring a module, by its name; the likeliest first."""

        def parse() -> dict[str, tuple[NormalizedName, ...]]:
            from resolver.compat.schema_message import ModulesFile

            rows = load_rows(self.layers, "modules.toml", ModulesFile, lambda f: f.module)
            found: dict[str, tuple[NormalizedName, ...]] = {}
            for fact in rows:
                names, projects = fact.value()
                for name in names:
                    found[name] = tuple(dict.fromkeys((*found.get(name, ()), *projects)))
            return found

        return self._kept("modules", "modules.toml", parse)

    @cached_property
    def natives(self) -> tuple[NativeProjects, ...]:
        """What the shared objects of projects need."""

        def parse() -> tuple[NativeProjects, ...]:
            from resolver.compat.schema_load import NativesFile as File

            rows = load_rows(self.layers, "natives.toml", File, lambda f: f.native)
            return tuple(fact.value() for fact in rows)

        return self._kept("natives", "natives.toml", parse)

    @cached_property
    def driver_functions(self) -> DriverFunctions:
        """The functions of NVIDIA's driver, by the CUDA that introduced them."""
        from resolver.abi.driver import FUNCTIONS_FILE, load_functions

        place = self._last_with(FUNCTIONS_FILE)
        return _once(lambda: load_functions(place), place / FUNCTIONS_FILE)

    @cached_property
    def providers(self) -> ProviderHistory:
        """What the wheels of NVIDIA's libraries export. Cost: some 40 ms, once."""
        from resolver.abi.provider_file import PROVIDERS_FILE, load_providers

        place = self._last_with(PROVIDERS_FILE)
        keep = self._keep("providers", place / PROVIDERS_FILE)
        return _once(lambda: load_providers(place, keep), place / PROVIDERS_FILE)

    def _last_with(self, name: str) -> Path:
        """The last layer's ``abi`` that has this file, the first where none has."""
        places = [layer / "abi" for layer in self.layers]
        return next((p for p in reversed(places) if (p / name).exists()), places[0])

    @cached_property
    def sonames(self) -> tuple[Soname, ...]:
        """What it says that a shared object is looked for; of two that match the first counts."""

        def parse() -> tuple[Soname, ...]:
            from resolver.compat.schema_message import SonamesFile

            rows = load_rows(self.layers, "sonames.toml", SonamesFile, lambda f: f.soname)
            return tuple(fact.value() for fact in rows)

        return self._kept("sonames", "sonames.toml", parse)

    @cached_property
    def set_roots(self) -> tuple[SetRoot, ...]:
        """Whose releases are made into sets."""
        from resolver.compat.schema_sets import SetsFile

        rows = load_rows(self.layers, "sets.toml", SetsFile, lambda f: f.root)
        return tuple(fact.value() for fact in rows)

    @cached_property
    def sets(self) -> SetFiles:
        """The generated sets; nothing is read before a root is asked for."""
        from resolver.compat.set_file import SetFiles

        return SetFiles(*self.layers)

    def _kept(self, part: str, name: str, parse: Callable[[], T]) -> T:
        return kept(self._cache_dir, part, [layer / name for layer in self.layers], parse)

    def _keep(self, part: str, path: Path) -> Keep:
        """Keeps the inflated content of a packed file beside the parsed parts."""
        return lambda make: kept_bytes(self._cache_dir, part, path, make)

    @cached_property
    def history(self) -> History:
        """What each torch that was read exports; from any thread. Cost: below 0.1 s, once."""
        from resolver.abi.history_file import BUILDS_FILE, SYMBOLS_FILE, load_history

        place = self._last_with(BUILDS_FILE)
        keep = self._keep("torch_symbols", place / SYMBOLS_FILE)
        return _once(lambda: load_history(place, keep), place / SYMBOLS_FILE, place / BUILDS_FILE)

    def evidence_counts(self) -> tuple[EvidenceCount, ...]:
        """How many wheels there is evidence of, by project. Cost: inflates every data file."""
        from resolver.abi.bundled_evidence import count_evidence

        projects = map(canonicalize_name, self.pack.projects())
        return tuple(count_evidence(each, self.pack.held(each)) for each in projects)

    @cached_property
    def pack(self) -> EvidencePack:
        """What was read of the wheels that people use most."""
        from resolver.abi.bundled_evidence import EvidencePack

        return EvidencePack(*(layer / "abi" for layer in self.layers))
