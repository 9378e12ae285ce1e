"""Pasted errors as values: tracebacks, loader messages, and the versions people paste with them.

Sources of the words: glibc's ``elf/dl-lookup.c``, ``dl-load.c`` and ``dl-version.c``; torch's
``torch/cuda/__init__.py`` and ``c10/cuda/CUDAFunctions.cpp``; CUDA's ``cudaGetErrorString``;
sgl_kernel's ``load_utils.py``.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate

from packaging.utils import (
    NormalizedName,
    canonicalize_name,
)
from packaging.version import Version

from resolver.diagnosis.message_table import Place, arch_of, find_messages, installed_by
from resolver.model.cuda import Arch, CudaVersion
from resolver.model.filename import parse_wheel_name
from resolver.model.message import Message
from resolver.model.pasted_error import (
    CompatLibrary,
    Fault,
    KnownMessage,
    MissingLibrary,
    MissingModule,
    MissingVersion,
    NoCommonOps,
    NoKernelImage,
    OldDriver,
    Paste,
    UndefinedSymbol,
    UnsupportedGpu,
    UnsupportedToolchain,
)
from resolver.model.reason import Code
from resolver.model.template import Cleaned, clean
from resolver.model.version import parse_version

_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
# ray and vLLM put the process before each line, loggers the time.
_PROCESS = re.compile(r"^[ \t]*\([\w \-=.]*pid=\d+[^)]*\)\s?", re.MULTILINE)
_LONGEST = 240

# What is optional or of any length begins where a word does, and is bounded: a paste may be one
# line of megabytes, and each letter of it a beginning.
_FILE = r"(?:(?<![^\s:'\"`])(?P<file>[^\s:'\"`]{1,1000}\.so[.\d]*): )?"
_SYMBOL = re.compile(
    _FILE
    + r"undefined symbol:\s*(?P<symbol>[\w.$@]+)(?![\w.$@]|::)(?:, version (?P<library>[\w.+-]+))?"
)
# As c++filt shows it.
_DECLARED = re.compile(
    _FILE + r"undefined symbol:?\s+[`'\"]?(?P<symbol>(?:[A-Za-z_]\w*::)+~?\w+\([^\n()]{0,600}\))"
)
# Titles leave the colon out: then only what reads like a symbol is one.
_TITLE = re.compile(
    _FILE + r"undefined symbols?\s+[`'\"]?(?P<symbol>_Z\w+|_{0,2}[A-Za-z]\w*[_A-Z]\w*)(?![\w.:])"
    r"(?:, version (?P<library>[\w.+-]+))?"
)
_LINK_TIME = re.compile(
    _FILE + r"symbol (?P<symbol>[\w.$@]+),? version [*`]*[\w.+-]+[*`]* not defined in "
    r"file [*`]*(?P<library>[\w.+-]+)[*`]* with link time reference"
)
_FLAT = re.compile(r"symbol not found(?: in flat namespace)?:?\s*\(?['\"]?_(?P<symbol>\w+)", re.I)
_LIBRARY = re.compile(r"(?P<soname>lib[\w.+-]{0,200}?\.so[.\d]*): cannot open shared object file")
# As titles say it.
_LIBRARY_TITLE = re.compile(
    r"(?P<soname>lib[\w.+-]{0,200}?\.so[.\d]*)[`'\"]?,? (?:is )?(?:not found|missing|required)\b"
)
_FFMPEG = re.compile(r"lib(av|sw)[a-z]+\.so")
_MODULE = re.compile(r"No module named\s+['\"`]?(?P<module>[A-Za-z_]\w*(?:\.\w+)*)")
_FRAME = re.compile(r"File \"(?P<file>[^\"\n]{0,400}-packages/[^\"\n]{1,200})\"")
_VERSION = re.compile(
    r"(?:(?<![^\s:'\"`(\[])(?P<library>/[^\s:'\"]{1,1000}): )?(?:version )?"
    r"[`'\u2018\"]?(?P<version>(?:GLIBC|GLIBCXX|CXXABI)_[\d.]+)"
    r"['\u2019\"`]? not found(?: \(required by (?P<file>[^)]+)\))?"
)
_KERNEL = re.compile(
    r"no kernel image is available for execution on the device|cudaErrorNoKernelImageForDevice"
)
_GPU = re.compile(
    r"(?<![^\n:])(?P<gpu>[^\n:]{0,300}?)\s{1,20}with\s+CUDA\s+capability\s+(?P<arch>sm_\d+[af]?)\s+is\s+not\s+compatible"
    r"\s+with\s+the\s+current\s+PyTorch\s+installation"
)
_MAKER = re.compile(r"^.*?(?=NVIDIA|GeForce|Tesla|Quadro|RTX|GTX|A\d)")
_SUPPORTS = re.compile(r"supports\s+CUDA\s+capabilities\s+((?:(?:sm|compute)_\d+[af]?[\s,]*)+)")
_RANGE = re.compile(
    r"Found\s+GPU\d+\s+(?P<gpu>.+?)\s+which\s+is\s+of\s+(?:cuda|compute)\s+capability\s+"
    r"(?:\(CC\)\s+)?(?P<arch>\d+\.\d)",
    re.I,
)
_BOUNDS = re.compile(r"PyTorch\s+is\s+\((\d+\.\d)\)\s+-\s+\((\d+\.\d)\)")
_DRIVER = re.compile(
    r"NVIDIA driver on your system is too old(?: \(found version (?P<found>\d+)\))?"
    r"|CUDA driver version is insufficient for CUDA runtime version|cudaErrorInsufficientDriver"
)
_TOOLCHAIN = re.compile(
    r"PTX was compiled with an unsupported toolchain|cudaErrorUnsupportedPtxVersion"
)
_COMPAT = re.compile(
    r"\b[Ee]rror (?P<number>803|804)\b"
    r"|(?P<newer>unsupported display driver / cuda driver combination)"
    r"|forward compatibility was attempted on non supported HW"
)
_COMMON_OPS = re.compile(r"Could not load any common_ops library")


def parse_paste(text: str, messages: Sequence[Message] = ()) -> Paste:
    """Everything of use in a pasted text; no fault where it holds none that is known.

    ``messages`` are those of the table; what stands in their words is one of them and no other.
    """
    text = _PROCESS.sub("", _ESCAPE.sub("", text)).replace("\r", "")
    cleaned = Cleaned.of(text)
    places = find_messages(cleaned, messages)
    known = [place.known for place in places]
    bare = _without(text, cleaned, places)
    installed = dict(version for message in reversed(known) for version in installed_by(message))
    archs = tuple(dict.fromkeys(arch for message in known if (arch := arch_of(message))))
    return Paste(
        faults=tuple(_faults(text, cleaned, places)),
        installed=dict(sorted((_installed(bare) | installed).items())),
        python=_first(r"(?:python|Python[ :]+(?:version)?[ :]*)(3\.\d{1,2})(?=[/. \n]|$)", bare),
        machine=_first(r"(?:manylinux\w*_|[-_ ]linux-gnu/|\b)(x86_64|aarch64)\b", text),
        cuda=_cuda(bare),
        driver=_driver(bare),
        archs=_archs(text) or archs[:1],
    )


def _without(text: str, cleaned: Cleaned, places: Iterable[Place]) -> str:
    """The text without what messages say of versions that are not installed.

    These are those that say it of others, and what an installer says of what it was asked for.
    """
    lines = text.split("\n")
    for place in places:
        message = place.known.message
        numbers = cleaned.numbers_of(place.start, place.end)
        if message.place == "request":
            end = numbers.stop
            while end < len(lines) and lines[end].strip():
                end += 1
            numbers = range(numbers.start, end)
        elif not message.installed and message.code is not Code.CUDA_MISMATCH:
            continue
        for number in numbers:
            lines[number] = ""
    return "\n".join(lines)


# faults


def _faults(text: str, cleaned: Cleaned, places: Sequence[Place]) -> Iterator[Fault]:
    """Each fault once, in the order of the text; one of a kind and object."""
    starts = list(accumulate((len(line) + 1 for line in text.split("\n")), initial=0))
    strong = [place for place in places if not place.known.message.weak]
    found: list[tuple[int, object, Fault]] = [
        (place.start, (place.known.message.id, place.start), place.known) for place in places
    ]
    for pattern, make, key in _READERS:
        for match in pattern.finditer(text):
            number = bisect_right(starts, match.start()) - 1
            at = cleaned.place(number, text[starts[number] : match.start()])
            end = at + len(clean(match[0]))
            if any(place.start < end and at < place.end for place in strong):
                continue
            fault = make(match, text, _line(text, match))
            found.append((at, (type(fault), key(fault)), fault))
    seen: set[object] = set()
    for _, identity, fault in sorted(found, key=lambda item: item[0]):
        if identity not in seen:
            seen.add(identity)
            yield fault


def causes(faults: Sequence[Fault]) -> list[Fault]:
    """The faults that say why: without those that follow from another, what is harmless last."""
    strong = [fault for fault in faults if not _is_weak(fault)]
    # torchcodec tries each FFmpeg: those that are not there are no fault where another error is.
    others = [fault for fault in strong if not _is_ffmpeg(fault)]
    strong = others or strong[:1] if any(map(_is_ffmpeg, strong)) else strong
    return sorted(strong or faults, key=_is_harmless)


def _is_weak(fault: Fault) -> bool:
    known = isinstance(fault, KnownMessage) and fault.message.weak
    # A module is missing in the handling of what really failed, or nobody knows whose it is.
    return known or isinstance(fault, NoCommonOps | MissingModule)


def _is_ffmpeg(fault: Fault) -> bool:
    return isinstance(fault, MissingLibrary) and bool(_FFMPEG.match(fault.soname))


def _is_harmless(fault: Fault) -> bool:
    return isinstance(fault, KnownMessage) and fault.message.harmless


def _line(text: str, match: re.Match[str]) -> str:
    start = text.rfind("\n", 0, match.start()) + 1
    end = text.find("\n", match.end())
    line = " ".join(text[start : end if end >= 0 else len(text)].split()).removeprefix("- ")
    if len(line) <= _LONGEST:
        return line
    return "..." + " ".join(match[0].split())[-_LONGEST:]


def _symbol(match: re.Match[str], _text: str, line: str) -> Fault:
    groups = match.groupdict()
    return UndefinedSymbol(
        line=line,
        symbol=groups["symbol"].rstrip("."),
        file=groups.get("file"),
        library=groups.get("library"),
    )


def _missing_library(match: re.Match[str], text: str, line: str) -> Fault:
    """What was imported is the last file of the traceback, or what the message says it loads."""
    before = text[max(0, match.start() - 200) : match.start()]
    loaded = re.search(r"load library (\S+\.so\S*) with error: $", before)
    frames = _FRAME.findall(text, max(0, match.start() - 4000), match.start())
    file = loaded[1] if loaded else frames[-1] if frames else None
    return MissingLibrary(line=line, soname=match["soname"], file=file)


def _missing_version(match: re.Match[str], _text: str, line: str) -> Fault:
    return MissingVersion(
        line=line,
        version=match["version"].rstrip("."),
        library=match["library"],
        file=match["file"],
    )


def _gpu(match: re.Match[str], text: str, line: str) -> Fault:
    listed = _SUPPORTS.search(text, match.end())
    name = _MAKER.sub("", match["gpu"], count=1).strip()
    return UnsupportedGpu(
        line=line,
        arch=Arch.parse(match["arch"]),
        gpu=name or None,
        supported=tuple(re.findall(r"(?:sm|compute)_\d+[af]?", listed[1])) if listed else (),
    )


def _range(match: re.Match[str], text: str, line: str) -> Fault:
    bounds = _BOUNDS.search(text, match.end())
    return UnsupportedGpu(
        line=line,
        arch=Arch.parse(match["arch"]),
        gpu=match["gpu"],
        supported=tuple(str(Arch.parse(bound)) for bound in bounds.groups()) if bounds else (),
        is_range=True,
    )


def _old_driver(match: re.Match[str], _text: str, line: str) -> Fault:
    found = match["found"]
    # cudaDriverGetVersion: 1000 * major + 10 * minor.
    serves = CudaVersion(int(found) // 1000, int(found) % 1000 // 10) if found else None
    return OldDriver(line=line, serves=serves)


def _compat(match: re.Match[str], _text: str, line: str) -> Fault:
    number = int(match["number"] or (803 if match["newer"] else 804))
    return CompatLibrary(line=line, number=number)


_Make = Callable[[re.Match[str], str, str], Fault]
_READERS: tuple[tuple[re.Pattern[str], _Make, Callable[[Fault], object]], ...] = (
    (_COMMON_OPS, lambda _m, _t, line: NoCommonOps(line=line), lambda _: None),
    (_SYMBOL, _symbol, lambda fault: getattr(fault, "symbol", None)),
    (_DECLARED, _symbol, lambda fault: getattr(fault, "symbol", None)),
    (_TITLE, _symbol, lambda fault: getattr(fault, "symbol", None)),
    (_LINK_TIME, _symbol, lambda fault: getattr(fault, "symbol", None)),
    (_FLAT, _symbol, lambda fault: getattr(fault, "symbol", None)),
    (_LIBRARY, _missing_library, lambda fault: getattr(fault, "soname", None)),
    (_LIBRARY_TITLE, _missing_library, lambda fault: getattr(fault, "soname", None)),
    (
        _MODULE,
        lambda match, _t, line: MissingModule(line=line, module=match["module"]),
        lambda fault: getattr(fault, "module", None),
    ),
    (_VERSION, _missing_version, lambda fault: getattr(fault, "version", None)),
    (_GPU, _gpu, lambda fault: getattr(fault, "arch", None)),
    (_RANGE, _range, lambda fault: getattr(fault, "arch", None)),
    (_KERNEL, lambda _m, _t, line: NoKernelImage(line=line), lambda _: None),
    (_DRIVER, _old_driver, lambda _: None),
    (_TOOLCHAIN, lambda _m, _t, line: UnsupportedToolchain(line=line), lambda _: None),
    (_COMPAT, _compat, lambda fault: getattr(fault, "number", None)),
)


# the machine and the packages


def _first(pattern: str, text: str) -> str | None:
    match = re.search(pattern, text)
    return match[1] if match else None


def _cuda(text: str) -> CudaVersion | None:
    """The CUDA release that a text names: of torch, of the environment; not the driver's."""
    for pattern in (
        r"CUDA used to build PyTorch:\s*(\d+\.\d+)",
        r"torch\.version\.cuda\D{1,8}(\d+\.\d+)",
        r"CUDA[ _]?(?:toolkit|runtime)?[ _]?version\s*[:=]\s*(\d+\.\d+)",
    ):
        if found := _first(f"(?i){pattern}", text):
            return CudaVersion.parse(found)
    return None


def _driver(text: str) -> Version | None:
    found = _first(r"(?i)driver[ _]version[ :|=]+(\d{3}\.\d+(?:\.\d+)?)", text)
    return Version(found) if found else None


def _archs(text: str) -> tuple[Arch, ...]:
    for pattern in (
        _GPU,
        _RANGE,
        re.compile(r"(?i)compute capability\s*[:=]?\s*\(?(?P<arch>\d{1,2}\.\d|\d{2,3})\b"),
    ):
        if match := pattern.search(text):
            return (Arch.parse(match["arch"]),)
    return ()


_NUMBER = r"\d+(?:\.\d+)+[\w.!+-]*"
_PINNED = re.compile(
    rf"^[ \t]*(?:\[\w+\][ \t]*)?([A-Za-z][\w.-]*)\s*==\s*({_NUMBER})", re.MULTILINE
)
_COLUMN = re.compile(
    rf"^[ \t]*(?:[-*|][ \t]*)?(torch\w*|pytorch|py-?torch version|triton|\w+[-_]kernel|sglang|vllm|"
    rf"flash[-_]attn|flashinfer[\w-]*|xformers|nvidia[\w-]+)[ \t]*[:=| \t][ \t]*v?({_NUMBER})",
    re.MULTILINE | re.IGNORECASE,
)
_WHEEL = re.compile(r"(?<![\w.+!%-])[\w.+!%-]{1,500}\.whl")
_INFO = re.compile(rf"/([A-Za-z][\w.]*)-({_NUMBER}?)\.dist-info")
_TORCH = re.compile(rf"\b(?:torch|PyTorch)(?: version)?[ =:]+v?({_NUMBER})", re.IGNORECASE)


def _installed(text: str) -> dict[NormalizedName, Version]:
    """The versions that a text names; the first word on a package counts."""
    found: dict[NormalizedName, Version] = {}
    for name, version in _named(text):
        if (parsed := parse_version(version)) is not None:
            found.setdefault(canonicalize_name(_REAL.get(name.lower(), name)), parsed)
    return found


_REAL = {
    "pytorch": "torch",
    "pytorch version": "torch",
    "py-torch version": "torch",
    "flashinfer": "flashinfer-python",
}


def _named(text: str) -> Iterator[tuple[str, str]]:
    for pattern in (_PINNED, _COLUMN, _INFO):
        for match in pattern.finditer(text):
            yield match[1], match[2].rstrip(".-")
    for match in _WHEEL.finditer(text):
        try:
            name, version, _build, _tags = parse_wheel_name(match[0].replace("%2B", "+"))
        except ValueError:  # InvalidWheelFilename, or a number that is too long
            continue
        yield name, str(version)
    for match in _TORCH.finditer(text):
        yield "torch", match[1].rstrip(".-")
