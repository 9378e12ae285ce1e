"""Builds small, valid wheels: METADATA, WHEEL, RECORD with hashes."""

from __future__ import annotations

import base64
import hashlib
import io
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BuiltWheel:
    """A wheel in memory; ``metadata`` is its METADATA file."""

    filename: str
    data: bytes
    metadata: bytes

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()

    @property
    def metadata_sha256(self) -> str:
        return hashlib.sha256(self.metadata).hexdigest()


def build_wheel(
    name: str,
    version: str,
    *,
    tag: str = "py3-none-any",
    build: str = "",
    requires: Iterable[str] = (),
    requires_python: str | None = None,
    extras: Iterable[str] = (),
    says_name: str | None = None,
    says_version: str | None = None,
    files: Mapping[str, bytes] | None = None,
    metadata: bytes | None = None,
    description: str = "A wheel of the tests.",
) -> BuiltWheel:
    """A wheel whose METADATA says what the arguments say, or ``metadata`` as it is.

    ``says_name`` and ``says_version`` make METADATA differ from the file's name. Same arguments,
    same bytes.
    """
    escaped = name.replace("-", "_")
    if metadata is None:
        lines = ["Metadata-Version: 2.1", f"Name: {says_name or name}"]
        lines.append(f"Version: {says_version or version}")
        if requires_python:
            lines.append(f"Requires-Python: {requires_python}")
        lines += [f"Provides-Extra: {extra}" for extra in extras]
        lines += [f"Requires-Dist: {line}" for line in requires]
        metadata = ("\n".join(lines) + "\n\n" + description + "\n").encode()
    info = f"{escaped}-{version}.dist-info"
    members = dict(files if files is not None else {f"{escaped}/__init__.py": b"name = __name__\n"})
    members[f"{info}/METADATA"] = metadata
    wheel = f"Wheel-Version: 1.0\nGenerator: abilock-tests\nRoot-Is-Purelib: true\nTag: {tag}\n"
    members[f"{info}/WHEEL"] = wheel.encode()
    record = "".join(f"{path},{_digest(data)},{len(data)}\n" for path, data in members.items())
    members[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in members.items():
            entry = zipfile.ZipInfo(path, (2020, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    parts = [escaped, version, *([build] if build else []), tag]
    return BuiltWheel("-".join(parts) + ".whl", buffer.getvalue(), metadata)


def _digest(data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest())
    return "sha256=" + digest.rstrip(b"=").decode()
