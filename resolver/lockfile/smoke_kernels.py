"""The kernels that a smoke script runs: one small call each, compared with what torch computes.

Sources: sgl_kernel/elementwise.py of sgl-kernel 0.3.21 and sglang-kernel 0.4.10 (their rmsnorm may
be FlashInfer's, silu_and_mul is their own); flashinfer/norm.py of 0.6.4; vllm/_custom_ops.py of
0.15.1 and 0.33.0; the documentation of xformers.ops, torchvision.ops and flash-attn's README.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

# Of half precision: what two correct kernels differ by, and wrong ones do not.
_TRUTH = 2e-2


class Skip(Exception):
    """A call that this release does not have."""


def _half(torch: Any, gpu: int, *shape: int) -> Any:
    torch.manual_seed(0)
    return torch.randn(*shape).to(f"cuda:{gpu}").to(torch.float16)


def _same(torch: Any, got: Any, wanted: Any) -> None:
    torch.cuda.synchronize()
    torch.testing.assert_close(got.float(), wanted.float(), rtol=_TRUTH, atol=_TRUTH)


def _rms(torch: Any, x: Any, weight: Any) -> Any:
    x = x.float()
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * weight.float()


def _attention(torch: Any, q: Any) -> Any:
    """Of q with itself, heads in the third place as FlashAttention has them."""
    t = q.float().transpose(1, 2)
    return torch.nn.functional.scaled_dot_product_attention(t, t, t).transpose(1, 2)


def run_torch(torch: Any, gpu: int) -> None:
    """torch.matmul, compared with the CPU's."""
    left, right = torch.randn(64, 64), torch.randn(64, 64)
    _same(torch, (left.to(f"cuda:{gpu}") @ right.to(f"cuda:{gpu}")).cpu(), left @ right)


def run_sgl_kernel(torch: Any, gpu: int) -> None:
    """torch.ops.sgl_kernel.silu_and_mul, as sgl_kernel/elementwise.py calls it."""
    importlib.import_module("sgl_kernel")
    if not hasattr(torch.ops.sgl_kernel, "silu_and_mul"):
        raise Skip("this release has no silu_and_mul")
    x = _half(torch, gpu, 4, 256)
    out = torch.empty(4, 128, dtype=x.dtype, device=x.device)
    torch.ops.sgl_kernel.silu_and_mul.default(out, x)
    left, right = x.float().chunk(2, dim=-1)
    _same(torch, out, torch.nn.functional.silu(left) * right)


def run_flashinfer(torch: Any, gpu: int) -> None:
    """flashinfer.norm.rmsnorm; without flashinfer-jit-cache it is compiled first, by nvcc."""
    norm = importlib.import_module("flashinfer.norm")
    x, weight = _half(torch, gpu, 4, 128), _half(torch, gpu, 128)
    _same(torch, norm.rmsnorm(x, weight, 1e-6), _rms(torch, x, weight))


def run_vllm(torch: Any, gpu: int) -> None:
    """vllm._custom_ops.rms_norm."""
    ops = importlib.import_module("vllm._custom_ops")
    if not hasattr(ops, "rms_norm"):
        raise Skip("this release has no rms_norm")
    x, weight = _half(torch, gpu, 4, 128), _half(torch, gpu, 128)
    out = torch.empty_like(x)
    ops.rms_norm(out, x, weight, 1e-6)
    _same(torch, out, _rms(torch, x, weight))


def run_xformers(torch: Any, gpu: int) -> None:
    """xformers.ops.memory_efficient_attention."""
    ops = importlib.import_module("xformers.ops")
    q = _half(torch, gpu, 1, 32, 2, 64)
    _same(torch, ops.memory_efficient_attention(q, q, q), _attention(torch, q))


def run_flash_attn(torch: Any, gpu: int) -> None:
    """flash_attn.flash_attn_func."""
    flash = importlib.import_module("flash_attn")
    q = _half(torch, gpu, 1, 32, 2, 64)
    _same(torch, flash.flash_attn_func(q, q, q), _attention(torch, q))


def run_torchvision(torch: Any, gpu: int) -> None:
    """torchvision.ops.nms: of two boxes that lie on each other the better one stays."""
    ops = importlib.import_module("torchvision.ops")
    boxes = torch.tensor([[0.0, 0, 9, 9], [0, 0, 9, 8], [20, 20, 29, 29]], device=f"cuda:{gpu}")
    scores = torch.tensor([0.9, 0.8, 0.7], device=f"cuda:{gpu}")
    _same(torch, ops.nms(boxes, scores, 0.5), torch.tensor([0, 2], device=f"cuda:{gpu}"))


KERNELS: dict[str, Callable[[Any, int], None]] = {
    "torch": run_torch,
    "sgl-kernel": run_sgl_kernel,
    "sglang-kernel": run_sgl_kernel,
    "flashinfer-python": run_flashinfer,
    "vllm": run_vllm,
    "xformers": run_xformers,
    "flash-attn": run_flash_attn,
    "torchvision": run_torchvision,
}
