"""l2norm in PyTorch: eps is added to the sum of squares; f32 arithmetic, one rounding."""

import torch


def run(x, eps):
    v = x.float()
    return {"y": (v * torch.rsqrt(v.pow(2).sum(-1, keepdim=True) + eps)).to(x.dtype)}
