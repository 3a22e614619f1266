"""Mamba2's gated norm over groups in PyTorch: gate first, f32 arithmetic, rounded where the option says."""

import torch
import torch.nn.functional as F


def run(y, z, w, eps, G, rounding="one"):
    u = y.float() * F.silu(z.float())
    part = u.unflatten(-1, (G, -1))
    normed = (part * torch.rsqrt(part.pow(2).mean(-1, keepdim=True) + eps)).flatten(-2)
    if rounding == "two":
        return {"out": w * normed.to(y.dtype)}
    return {"out": (normed * w.float()).to(y.dtype)}
