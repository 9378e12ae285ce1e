"""What the history of NVIDIA's libraries holds of a wheel, against ``nm -D`` of its libraries.

``python -m benchmarks.provider_symbols nvidia-nccl-cu12==2.27.5 ...`` downloads the wheels, for
both machines, and compares names and versions of every library that the history has read. Exits
with 1 where one differs.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from resolver.abi.provider import version_name
from resolver.abi.provider_build import is_interface
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.model.channel import DEFAULT_CHANNEL
from resolver.model.options import IndexOptions
from resolver.usecase.session import Connection, Session
from resolver.wheelfile.member_stream import MemberStream
from resolver.wheelfile.zip_directory import read_directory

# One of each library, both majors and both machines, old ones among them.
SAMPLE = (
    "nvidia-cuda-runtime-cu11==11.8.89",
    "nvidia-cuda-runtime-cu12==12.1.105",
    "nvidia-cuda-runtime-cu12==12.8.90",
    "nvidia-cuda-runtime==13.0.96",
    "nvidia-nvjitlink-cu12==12.8.93",
    "nvidia-nvjitlink==13.0.88",
    "nvidia-cuda-cupti-cu12==12.8.90",
    "nvidia-cuda-cupti==13.0.85",
    "nvidia-cufile-cu12==1.13.1.3",
    "nvidia-nvjpeg==13.0.1.86",
    "nvidia-nvtx-cu12==12.8.90",
    "nvidia-nccl-cu12==2.21.5",
)
# ``T``, ``D`` and their like, ``W`` and ``u``: what the dynamic loader binds to.
_LINE = re.compile(r"^(?:[0-9a-f]+)?\s+(\w)\s+([^\s@]+)(@@?(\S+))?$")


def main(wanted: Sequence[str]) -> int:
    """Compare the wheels of these requirements; the exit code."""
    history = KnowledgeBase().providers
    wheels = libraries = names = different = 0
    options = IndexOptions(channels=(DEFAULT_CHANNEL,))
    with Session(options=options) as session, session.connect() as connection:
        for sha256, path, found in _libraries(connection, wanted):
            wheel = history.of_sha256(sha256)
            held = {} if wheel is None else history.exports(wheel)
            if path is None:
                wheels += 1
                continue
            if path not in held:
                continue
            libraries += 1
            names += len(found)
            mine = {name for name in held[path] if not name.startswith("@")}
            versions = {name for name in held[path] if name.startswith("@")}
            theirs = {name for name in found if not name.startswith("@")}
            wrong = (mine ^ theirs) | ({n for n in found if n.startswith("@")} - versions)
            if wrong:
                different += 1
                sys.stdout.write(f"{wheel} {path}: {len(wrong)} differ: {sorted(wrong)[:5]}\n")
    sys.stdout.write(
        f"{wheels} wheels, {libraries} libraries, {names} names: {different} libraries differ\n"
    )
    return int(different > 0)


def _libraries(
    connection: Connection, wanted: Sequence[str]
) -> Iterator[tuple[str, str | None, set[str]]]:
    """Each wheel by its hash, then each of its libraries with what nm lists."""
    for text in wanted:
        requirement = Requirement(text)
        for listing in connection.index.listings(canonicalize_name(requirement.name)):
            for version in listing.versions:
                if not requirement.specifier.contains(version):
                    continue
                for artifact in listing.files(version):
                    source = connection.opener(artifact) if "linux" in artifact.filename else None
                    if source is None or artifact.sha256 is None:
                        continue
                    yield artifact.sha256, None, set()
                    for entry in read_directory(source):
                        if re.search(r"\.so(\.\d+)*$", entry.path):
                            with tempfile.NamedTemporaryFile() as file:
                                for piece in MemberStream(source, entry, fetch=2 << 20):
                                    file.write(piece)
                                file.flush()
                                yield artifact.sha256, entry.path, _exports(file.name)


def _exports(path: str) -> set[str]:
    """Names that the library defines, and the versions that it gives them."""
    run = subprocess.run(
        ["nm", "-D", "--defined-only", "--with-symbol-versions", path],
        capture_output=True,
        text=True,
        check=True,
    )
    found: set[str] = set()
    for line in run.stdout.splitlines():
        match = _LINE.match(line)
        if match is not None and match[1] != "U" and is_interface(match[2]):
            found.add(match[2])
            if match[4]:
                found.add(version_name(match[4]))
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or SAMPLE))
