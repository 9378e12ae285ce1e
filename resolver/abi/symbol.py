"""Whose a symbol is: by the scope that it is declared in, never by "some torch exports it".

torch's libraries also leak templates of libstdc++ and of their static dependencies, so presence in
an export table says nothing about whose symbol it is. Nor do the types among its arguments: a
kernel that takes a Tensor belongs to who wrote it.

Source: Itanium C++ ABI, 5.1 (mangling): a name is its scopes from the outside in, each a length and
an identifier; what stands before them says what kind of name it is.
"""

from __future__ import annotations

from functools import lru_cache

from resolver.abi.demangle import demangle
from resolver.model.pattern import later

# What may stand between "_Z" and the scopes. Tables and type information are their class's, a guard
# and what is local to a function are the function's, a thunk is the method's that it leads to.
_OFFSET = r"(?:h[n\d]+_|v[n\d]+_[n\d]+_)"
_KIND = rf"_Z(?:T[VTISCWH]|G[VR]|T{_OFFSET}|Tc{_OFFSET}{{2}})?Z*"
_TORCH = later(_KIND + r"N[KVrRO]*(?:2at|3c10|5torch|6caffe2|4c10d)")
_STANDARD = later(_KIND + r"(?:N[KVrRO]*)?S[tabsiod]")
# Code of other projects that torch contains, and what a compiler makes for its own use, which no
# header can declare. Who needs it has a copy of his own.
_CONTAINED = later(
    _KIND
    + r"(?:N[KVrRO]*)?L?(?:\d+(?:_GLOBAL__|__nv_|__device_stub_)|14at_cuda_detail|6thrust|3cub"
    r"|4cuda|7cutlass|9__gnu_cxx|4gloo|8nlohmann|10fbgemm_gpu|4mslk)"
)
# Type information of a type that has no name of its own (a function's, a pointer's).
_UNNAMED = later(r"_ZT[IS][^N\d]")

# What no other file can name: what is made of unnamed namespaces, by nvcc with a hash of its own in
# each build, and torch's copies of the interpreter's inner functions, which each Python has others
# of. Wheels of one release for several Pythons differ in nothing else.
_PRIVATE = later(r"_GLOBAL__N_|^THP_Py|^THPPyInterpreterFrame")

# A length is never the tail of a longer number ("12attention" is not "at").
_MENTION = later(r"(?<![0-9])(?:2at|3c10|5torch|6caffe2|4c10d)")
_C_NAME = later(r"(?:aoti_torch_|torch_|THP)")
_CXX_NAME = later(r"_Z\d+THP")

# The old std::string ("Ss") in a declaration; the new one is written std::__cxx11::string.
_OLD_STRING = later(r"\bstd::(?:string\b|basic_string<)")
_NEW_STRING = later(r"__cxx11\b|\[abi:cxx11\]")


def is_torch_symbol(name: str) -> bool:
    """Whether ``name`` (mangled, without a version) is declared in torch's own namespaces.

    A torch that does not export it lacks it.
    """
    if _PRIVATE.search(name):
        return False
    if name.startswith("_Z"):
        return _TORCH.match(name) is not None or _CXX_NAME.match(name) is not None
    return _C_NAME.match(name) is not None


def mentions_torch(name: str) -> bool:
    """Whether a symbol of somebody's is about torch's types: only torch's exports tell whose.

    pybind11's casters of them are torch's, a function of QUTLASS that takes a Tensor is not.
    """
    return (
        name.startswith("_Z")
        and not is_torch_symbol(name)
        and _MENTION.search(name) is not None
        and not _PRIVATE.search(name)
        and not any(kind.match(name) for kind in (_STANDARD, _CONTAINED, _UNNAMED))
    )


@lru_cache(maxsize=1 << 14)  # releases of one package need the same names
def may_be_torchs(name: str) -> bool:
    """Whether a symbol is torch's, or is where torch exports it: what a history has to hold."""
    return is_torch_symbol(name) or mentions_torch(name)


def string_abi(name: str) -> bool | None:
    """The C++11 ABI that a symbol names: True the new std::string, False the old, None neither."""
    if "Ss" not in name and "basic_string" not in name and "cxx11" not in name:
        return None
    declaration = demangle(name)
    if _NEW_STRING.search(declaration):
        return True
    return False if _OLD_STRING.search(declaration) else None


# cudaMalloc, cublasCreate_v2, cuMemAlloc_v2, ncclSend, __nvJitLinkCreate_12_8, nvrtcCompileProgram,
# nppiNV12ToRGB, NVPW_InitializeHost. The C++ names of NVSHMEM are no interface.
_LIBRARY = later(r"_*(?:cu|p?nccl|nv|NV|npp)")


def is_library_symbol(name: str) -> bool:
    """Whether a C name may belong to a library of NVIDIA's or to its driver."""
    return _LIBRARY.match(name) is not None
