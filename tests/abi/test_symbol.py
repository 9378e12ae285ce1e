"""Whose a symbol is: by its own scope, whatever types it takes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resolver.abi.demangle import demangle, qualified_name
from resolver.abi.symbol import is_torch_symbol, may_be_torchs, mentions_torch, string_abi
from tests.abi.columns import CHECK_INT, CLONE, DELETE

OURS = ("at", "c10", "torch", "caffe2")
THEIRS = ("std", "vision", "QUTLASS", "attention", "c10x", "mytorch", "atlas", "pybind11")


@pytest.mark.parametrize(
    ("name", "torchs", "mentions"),
    [
        (CLONE, True, False),
        (CHECK_INT, True, False),
        (DELETE, True, False),
        ("torch_library_impl", True, False),
        ("THPVariableClass", True, False),
        ("_Z16THPVariable_WrapRKN2at10TensorBaseE", True, False),
        ("_ZN3c10lsERSoNS_10DeviceTypeE", True, False),
        ("_ZTIN5torch8autograd4NodeE", True, False),
        ("_ZGVN3c107flagsE", True, False),
        ("_ZThn176_NK5torch4lazy7SizeAdd10isSymbolicEv", True, False),
        ("_ZZN2at6detail6getterEvE5cache", True, False),
        ("_ZN6caffe28TypeMeta4MakeEv", True, False),
        # A function of somebody's, and what torch alone can answer for.
        ("_ZN7QUTLASS9matmul_tnERN5torch6stable6TensorE", False, True),
        ("_ZN6vision3ops3nmsERKN2at6TensorES4_d", False, True),
        ("_Z12getTHPLayoutN3c106LayoutE", False, True),
        ("_ZN8pybind116detail11type_casterIN3c106SymIntEvE4loadENS_6handleEb", False, True),
        # libstdc++'s, over whatever types; copies that torch contains; what a compiler made.
        ("_ZNSt6vectorIN2at6TensorESaIS1_EE9push_backERKS1_", False, False),
        ("_ZNKSs2atEm", False, False),
        ("_ZNSs2atEm", False, False),
        ("_ZNKSt6vectorIiSaIiEE2atEm", False, False),
        ("_ZTVSt23_Sp_counted_ptr_inplaceIN2at12PTThreadPoolESaIS1_E", False, False),
        ("_ZN10fbgemm_gpu8f8f8bf16EN2at6TensorES1_", False, False),
        ("_ZN6thrust11lower_boundIN2at4cuda9AllocatorEEvT_", False, False),
        ("_ZTSFN2at6TensorEN3c106ScalarES0_E", False, False),
        ("_ZTIPN2at6TensorE", False, False),
        # What no other file can name.
        ("_ZN2at6native12_GLOBAL__N_17runImplERKNS_6TensorE", False, False),
        (
            "_ZN2at6native10gpu_kernelINS0_44_GLOBAL__N__c0eda84e_11_Foo_cu_7049d6aa3FooEEEvv",
            False,
            False,
        ),
        ("THP_PyFrame_Clear", False, False),
        ("THPPyInterpreterFrame_New", False, False),
        ("THPVariable_Check", True, False),
        ("_ZN12attention3runEv", False, False),
        ("_ZNSt6vectorIiSaIiEE9push_backERKi", False, False),
        ("cudaMalloc", False, False),
        ("PyInit_torch", False, False),
        ("", False, False),
    ],
)
def test_a_symbol_is_its_scope_s(name: str, torchs: bool, mentions: bool) -> None:
    assert (is_torch_symbol(name), mentions_torch(name)) == (torchs, mentions)
    assert may_be_torchs(name) is (torchs or mentions)


def mangled(scopes: tuple[str, ...], argument: str) -> str:
    """A function, by the rules of the Itanium C++ ABI."""
    inner = "".join("St" if s == "std" else f"{len(s)}{s}" for s in scopes)
    return f"_ZN{inner}E{argument}"


IDENTIFIER = st.from_regex(r"[a-zA-Z_][a-zA-Z0-9_]{0,8}", fullmatch=True)
SCOPES = st.tuples(
    st.sampled_from(OURS + THEIRS), *[st.sampled_from((*OURS, *THEIRS[1:], "Tensor", "run"))] * 2
)
ARGUMENT = st.sampled_from(
    ["v", "i", "RKN2at6TensorE", "N3c105ErrorE", "NSt7__cxx1112basic_stringIcEE", "Ss"]
)


@given(SCOPES, IDENTIFIER, ARGUMENT)
def test_the_outermost_scope_decides(
    scopes: tuple[str, str, str], function: str, argument: str
) -> None:
    name = mangled((*scopes, function), argument)
    declared = qualified_name(demangle(name))
    assert declared.split("::")[0] == scopes[0]
    assert is_torch_symbol(name) is (scopes[0] in OURS)
    if mentions_torch(name):
        assert scopes[0] not in (*OURS, "std")


@given(st.text(max_size=60))
def test_any_text_has_an_answer(name: str) -> None:
    assert not (is_torch_symbol(name) and mentions_torch(name))
    string_abi(name)


@pytest.mark.parametrize(
    ("name", "new"),
    [
        ("_ZN3c106detail14torchCheckFailEPKcS2_jRKSs", False),
        ("_ZN3c105ErrorC1ENS_14SourceLocationESs", False),
        ("_ZN5torch3jit5parseEiSsb", False),
        ("_ZNK3c106Device3strB5cxx11Ev", True),
        (
            "_ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
            True,
        ),
        (CLONE, None),
        # Part of an identifier, not the abbreviation.
        ("_ZN2at7getSsizERKNS_6TensorE", None),
        ("", None),
    ],
)
def test_the_string_that_a_symbol_names(name: str, new: bool | None) -> None:
    assert string_abi(name) is new
