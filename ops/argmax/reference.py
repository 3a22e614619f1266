"""argmax in PyTorch, of equals the lowest index, which torch.argmax promises on no device."""

import torch


def run(logits):
    largest = logits == logits.amax(-1, keepdim=True)
    place = torch.arange(logits.shape[-1], device=logits.device, dtype=torch.int32)
    return {"index": torch.where(largest, place, logits.shape[-1]).amin(-1).int()}
