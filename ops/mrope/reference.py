"""rope with three position rows in PyTorch: SH and SW frequencies, interleaved, follow height and width."""

import torch


def rotate(x, cos, sin, rounding):
    half = cos.shape[-1]
    dtype = x.dtype if rounding == "three" else torch.float32
    cos, sin = cos.unsqueeze(1).to(dtype), sin.unsqueeze(1).to(dtype)
    a, b = x[..., :half].to(dtype), x[..., half : 2 * half].to(dtype)
    turned = torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)
    return torch.cat([turned.to(x.dtype), x[..., 2 * half :]], dim=-1)


def interleaved(table, SH, SW):
    row = table[0].clone()
    row[..., 1 : 3 * SH : 3] = table[1, ..., 1 : 3 * SH : 3]
    row[..., 2 : 3 * SW : 3] = table[2, ..., 2 : 3 * SW : 3]
    return row


def run(q, k, cos, sin, SH, SW, rounding="one"):
    cos, sin = interleaved(cos, SH, SW), interleaved(sin, SH, SW)
    return {"q": rotate(q, cos, sin, rounding), "k": rotate(k, cos, sin, rounding)}
