"""TOML and JSON from outside: every way in which a text is none is one ValueError.

The parsers of the standard library recurse with the nesting of what they read and refuse integers
beyond the interpreter's limit of digits: a RecursionError and a plain ValueError, beside their own.
"""

from __future__ import annotations

import json
import tomllib
from typing import Any


def parse_toml(text: str) -> dict[str, Any]:
    """The tables of a TOML text. Raises ValueError, which says what is wrong in a line."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except tomllib.TOMLDecodeError:
        raise
    except ValueError:
        raise ValueError("a number has too many digits") from None


def parse_json(text: str | bytes) -> Any:
    """The value of a JSON text. Raises ValueError, which says what is wrong in a line."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise
    except ValueError:
        raise ValueError("a number has too many digits") from None
