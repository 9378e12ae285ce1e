"""Libraries that come with the system: which package to ask for."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from resolver.errors import KnowledgeError

FILE = "system_libraries.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemLibrary:
    """One row of ``knowledge/system_libraries.toml``."""

    id: str
    pattern: re.Pattern[str]
    title: str
    apt: str
    dnf: str
    note: str
    source: str

    @property
    def remedy(self) -> str:
        """The commands that install it, and the note."""
        command = ""
        if self.apt:
            command = f"apt-get install {self.apt}, or dnf install {self.dnf}."
        return " ".join(part for part in (command, self.note) if part)


def find_system(rows: Iterable[SystemLibrary], soname: str) -> SystemLibrary | None:
    """The row that knows this library."""
    return next((row for row in rows if row.pattern.fullmatch(soname)), None)


def load_system_libraries(directory: Path) -> tuple[SystemLibrary, ...]:
    """Read the rows from ``directory`` (``knowledge``). Raises KnowledgeError."""
    path = directory / FILE
    try:
        document = _Document.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise KnowledgeError(f"{path}: cannot be read: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise KnowledgeError(f"{path}: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise KnowledgeError(f"{path}: {place}: {first['msg']}") from error
    return tuple(row.to_library() for row in document.system)


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    id: str
    pattern: str
    title: str
    apt: str
    dnf: str
    note: str
    source: str = Field(min_length=1)
    date: date

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, value: str) -> str:
        try:
            re.compile(value)
        except re.error as error:
            raise ValueError(f"pattern: {error}") from error
        return value

    def to_library(self) -> SystemLibrary:
        return SystemLibrary(
            id=self.id,
            pattern=re.compile(self.pattern),
            title=self.title,
            apt=self.apt,
            dnf=self.dnf,
            note=self.note,
            source=self.source,
        )


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    system: list[_Row]
