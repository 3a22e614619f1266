"""rope in PyTorch, the first 2 * cos.shape[-1] values of a head, halves paired. three: everything in the type of q."""

import torch


def rotate(x, cos, sin, rounding):
    half = cos.shape[-1]
    dtype = x.dtype if rounding == "three" else torch.float32
    cos, sin = cos.unsqueeze(1).to(dtype), sin.unsqueeze(1).to(dtype)
    a, b = x[..., :half].to(dtype), x[..., half : 2 * half].to(dtype)
    turned = torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)
    return torch.cat([turned.to(x.dtype), x[..., 2 * half :]], dim=-1)


def run(q, k, cos, sin, rounding="one"):
    return {"q": rotate(q, cos, sin, rounding), "k": rotate(k, cos, sin, rounding)}
