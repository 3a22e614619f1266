"""The softmax router in PyTorch. A stable sort, since torch.topk promises no order among equals."""

import torch


def run(logits, K):
    p = torch.softmax(logits, dim=-1, dtype=torch.float32)
    index = torch.sort(logits, dim=-1, descending=True, stable=True).indices[..., :K]
    chosen = p.gather(-1, index)
    return {"index": index.int(), "weight": (chosen / chosen.sum(-1, keepdim=True)).to(logits.dtype)}
