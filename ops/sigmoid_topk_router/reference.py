"""The sigmoid router in PyTorch. A stable sort, since torch.topk promises no order among equals."""

import torch


def run(logits, bias, scale, K):
    s = torch.sigmoid(logits)
    index = torch.sort(s + bias, dim=-1, descending=True, stable=True).indices[..., :K]
    chosen = s.gather(-1, index)
    return {"index": index.int(), "weight": chosen / (chosen.sum(-1, keepdim=True) + 1e-20) * scale}
