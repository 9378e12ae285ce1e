from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resolver.abi.demangle import (
    demangle,
    mangled,
    name_prefix,
    overloads,
    pair_changes,
    qualified_name,
)
from resolver.abi.history import History
from tests.abi.columns import CHECK_INT, CHECK_UNSIGNED, CLONE, column, small_history

IMPLEMENTATION = "c10::cuda::c10_cuda_check_implementation"


@pytest.mark.parametrize(
    ("symbol", "text"),
    [
        (CHECK_INT, f"{IMPLEMENTATION}(int, char const*, char const*, int, bool)"),
        (
            "_ZN3c105ErrorC1ENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
            "c10::Error::Error(std::__cxx11::string)",
        ),
        ("aoti_torch_new", "aoti_torch_new"),
        ("_Zrubbish", "_Zrubbish"),
        ("", ""),
    ],
)
def test_demangle(symbol: str, text: str) -> None:
    assert demangle(symbol) == text


def test_a_short_symbol_that_stands_for_a_gigabyte() -> None:
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    levels = "".join(f"S2_IS{digits[n]}_S{digits[n]}_E" for n in range(3, 33))
    symbol = f"_ZN2at1fE3foo4pairIS1_S1_E{levels}"
    assert len(symbol) < 400
    assert demangle(symbol) == symbol


@pytest.mark.parametrize(
    ("declaration", "name"),
    [
        (f"{IMPLEMENTATION}(int, bool)", IMPLEMENTATION),
        ("float* at::TensorBase::data_ptr<float>() const", "at::TensorBase::data_ptr<float>"),
        (
            "std::vector<at::Tensor, std::allocator<at::Tensor>> at::pick<int (*)(int)>(int)",
            "at::pick<int (*)(int)>",
        ),
        ("c10::operator<<(std::ostream&, c10::DeviceType)", "c10::operator<<"),
        ("at::Tensor::operator bool()", "at::Tensor::operator bool"),
        ("at::Functor::operator()(int) const", "at::Functor::operator()"),
        ("bool c10::operator<<int>(int)", "c10::operator<<int>"),
        ("(anonymous namespace)::helper(at::Tensor)", "(anonymous namespace)::helper"),
        ("at::(anonymous namespace)::helper(int)", "at::(anonymous namespace)::helper"),
        ("c10::my_operator(int)", "c10::my_operator"),
        ("vtable for at::Tensor", "vtable for at::Tensor"),
        ("guard variable for at::x", "guard variable for at::x"),
        ("aoti_torch_new", "aoti_torch_new"),
        ("c10::Error::what[abi:cxx11](int)", "c10::Error::what[abi:cxx11]"),
    ],
)
def test_qualified_name(declaration: str, name: str) -> None:
    assert qualified_name(declaration) == name


@given(st.text("abc:<>()[]{} ,*&operator0", max_size=60))
def test_qualified_name_takes_anything(declaration: str) -> None:
    assert isinstance(qualified_name(declaration), str)


@pytest.mark.parametrize(
    ("symbol", "prefix"),
    [
        (CHECK_INT, "_ZN3c104cuda29c10_cuda_check_implementation"),
        (CLONE, "_ZNK2at6Tensor5clone"),
        ("_ZN3c1013MessageLoggerC1EPKcii", "_ZN3c1013MessageLoggerC1"),
        ("_ZN3c10lsERSoNS_10DeviceTypeE", "_ZN3c10ls"),
        ("_ZNK2at10TensorBase8data_ptrIfEEPT_v", "_ZNK2at10TensorBase8data_ptr"),
        ("_Z3fooi", "_Z3foo"),
        ("_ZTIN2at6TensorE", None),
        ("_ZN9999", None),
        ("_Z", None),
        ("torch_new", None),
    ],
)
def test_name_prefix(symbol: str, prefix: str | None) -> None:
    assert name_prefix(symbol) == prefix


def test_overloads() -> None:
    history = small_history()
    assert overloads(history, 4, CHECK_INT) == (CHECK_UNSIGNED,)
    assert overloads(history, 3, CHECK_INT) == ()
    assert overloads(history, 4, "_ZTIN2at6TensorE") == ()
    # No longer const, the same function to a reader.
    assert overloads(history, 4, CLONE.replace("_ZNK", "_ZN")) == (CLONE,)


def test_changes_are_paired_by_name_and_likeness() -> None:
    removed = [CHECK_INT, "_ZN2at3addEiii", "_ZN2at3addEi", "_ZN2at4goneEv", "THPOld"]
    added = [CHECK_UNSIGNED, "_ZN2at3addEiiif", "_ZN2at3addEl", "_ZN2at3newEv", "THPNew"]
    assert pair_changes(removed, added) == [
        ("at::add", "at::add(int)", "at::add(long)"),
        ("at::add", "at::add(int, int, int)", "at::add(int, int, int, float)"),
        (
            IMPLEMENTATION,
            f"{IMPLEMENTATION}(int, char const*, char const*, int, bool)",
            f"{IMPLEMENTATION}(int, char const*, char const*, unsigned int, bool)",
        ),
    ]
    assert pair_changes([], added) == []
    assert pair_changes(["_ZN2at3addEi", "_ZN2at3addEl"], ["_ZN2at3addEf"]) == [
        ("at::add", "at::add(int)", "at::add(float)")
    ]


@pytest.mark.parametrize(
    ("declaration", "symbol"),
    [
        ("c10::Error::what() const", "_ZNK3c105Error4whatEv"),
        ("c10::cuda::SetDevice(signed char,bool)", "_ZN3c104cuda9SetDeviceEab"),
        ("c10::cuda::SetDevice(signed char, ...", "_ZN3c104cuda9SetDeviceEab"),
        ("c10::cuda::SetDevice(int)", None),
        (
            "c10::Error::Error(c10::SourceLocation, std::string)",
            "_ZN3c105ErrorC1ENS_14SourceLocationESs",
        ),
    ],
)
def test_a_declaration_back_to_its_symbol(declaration: str, symbol: str | None) -> None:
    names = (
        "_ZN3c104cuda9SetDeviceEa",
        "_ZN3c104cuda9SetDeviceEab",
        "_ZN3c105ErrorC1ENS_14SourceLocationESs",
        "_ZN3c105ErrorC2ENS_14SourceLocationESs",
        "_ZNK3c105Error4whatEv",
    )
    history = History.from_columns([column("2.9.0", dict.fromkeys(names, "libc10.so"))])
    assert mangled(history, declaration) == symbol
