"""Functions of the driver: from headers, on disk, and as they ship."""

from __future__ import annotations

from pathlib import Path

import pytest

from resolver.abi.driver import (
    HEADER,
    dump_functions,
    is_driver_symbol,
    load_functions,
    parse_typedefs,
)
from resolver.errors import KnowledgeError
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.model.cuda import CudaVersion

HEADER_TEXT = """
typedef CUresult (CUDAAPI *PFN_cuMemAlloc_v3020)(CUdeviceptr_v2 *dptr, size_t bytesize);
typedef CUresult(CUDAAPI *PFN_cuGreenCtxDestroy_v12040)(CUgreenCtx hCtx);
typedef CUresult (CUDAAPI *PFN_cuMemcpyHtoD_v3020)(CUdeviceptr_v2 to, const void *from, size_t n);
typedef CUresult (CUDAAPI *PFN_cuMemcpyHtoD_v7000_ptds)(CUdeviceptr_v2 to, const void *from);
typedef CUresult (CUDAAPI * PFN_cuLaunch_v11060_ptsz)(CUstream stream);
    typedef CUresult (CUDAAPI *PFN_cuMemAlloc_v2000)(CUdeviceptr_v1 *dptr, unsigned int bytesize);
    typedef CUresult (CUDAAPI *PFN_cuMemcpyHtoD_v2000)(CUdeviceptr_v1 to, const void *from);
#define PFN_cuMemAlloc PFN_cuMemAlloc_v3020
"""


def test_names_and_the_cuda_that_brought_them() -> None:
    assert parse_typedefs([HEADER_TEXT]) == {
        "cuMemAlloc": 2000,
        "cuMemAlloc_v2": 3020,
        "cuGreenCtxDestroy": 12040,
        "cuMemcpyHtoD": 2000,
        "cuMemcpyHtoD_v2": 3020,
        "cuMemcpyHtoD_v2_ptds": 7000,
        "cuLaunch_ptsz": 11060,
    }


def test_it_comes_back_from_disk(tmp_path: Path) -> None:
    assert load_functions(tmp_path).since("cuMemAlloc") is None
    dump_functions(parse_typedefs([HEADER_TEXT]), ["b.whl", "a.whl"], tmp_path)
    loaded = load_functions(tmp_path)
    assert loaded.sources == ("a.whl", "b.whl")
    assert loaded.since("cuGreenCtxDestroy") == CudaVersion(12, 4)
    (tmp_path / "driver_functions.json").write_text("{}", encoding="utf-8")
    with pytest.raises(KnowledgeError, match=r"damaged"):
        load_functions(tmp_path)


@pytest.mark.parametrize(
    ("name", "mine"), [("cuMemAlloc_v2", True), ("cudaMalloc", False), ("cublasCreate_v2", False)]
)
def test_the_driver_s_own_names(name: str, mine: bool) -> None:
    assert is_driver_symbol(name) is mine


def test_where_the_headers_lie() -> None:
    assert HEADER.search("nvidia/cu13/include/cudaTypedefs.h")
    assert HEADER.search("nvidia/cuda_runtime/include/cudaGLTypedefs.h")
    assert not HEADER.search("nvidia/cu13/include/cuda.h")


def test_what_ships() -> None:
    known = KnowledgeBase().driver_functions
    assert len(known.introduced) >= 724
    assert known.since("cuGreenCtxDestroy") == CudaVersion(12, 4)
    assert known.since("cuCtxCreate_v4") == CudaVersion(12, 5)
    assert known.since("cuMemcpyBatchAsync") == CudaVersion(12, 8)
    assert known.since("cuTensorMapEncodeTiled") == CudaVersion(12, 0)
