"""Residual addition and rmsnorm in PyTorch: the norm reads the rounded sum; f32 arithmetic otherwise."""

import torch


def run(x, res, w, eps, rounding="one"):
    h = x + res
    v = h.float()
    normed = v * torch.rsqrt(v.pow(2).mean(-1, keepdim=True) + eps)
    y = w * normed.to(x.dtype) if rounding == "two" else (normed * w.float()).to(x.dtype)
    return {"res": h, "y": y}
