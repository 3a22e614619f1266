"""linear in PyTorch: the library's own product, bf16 with f32 sums."""

import torch


def run(x, w):
    return {"y": torch.nn.functional.linear(x, w)}
