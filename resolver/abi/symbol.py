"""Which symbols are torch's: by namespace, never by "some torch exports it".

torch's libraries also leak templates of libstdc++ and of their static dependencies, so presence in
an export table says nothing about whose symbol it is.
"""

from __future__ import annotations

import re

# Itanium C++ ABI, 5.1.2: a <source-name> is its length, then the identifier; a length is never the
# tail of a longer number ("12attention" is not "at").
_NAMESPACE = re.compile(r"(?<![0-9])(?:2at|3c10|5torch|6caffe2)")
_C_NAME = re.compile(r"(?:aoti_torch_|torch_|THP)")


def is_torch_symbol(name: str) -> bool:
    """Whether ``name`` (mangled, without a version) belongs to torch's own namespaces."""
    if name.startswith("_Z"):
        return _NAMESPACE.search(name) is not None
    return _C_NAME.match(name) is not None
