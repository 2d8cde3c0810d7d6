"""What users call instead of the operation `upload`: PyTorch's copy from pinned memory."""

from __future__ import annotations

import torch

from cudainfer_tools.bench.gpu.peers.measure import measure, row

BYTES = 1920 * 1080 * 3 // 2
# Taken in turns: more than the processor's cache holds.
FRAMES = 64


def run() -> None:
    frames = [torch.randint(0, 256, (BYTES,), dtype=torch.uint8).pin_memory() for _ in range(FRAMES)]
    targets = [torch.empty(BYTES, dtype=torch.uint8, device="cuda") for _ in range(FRAMES)]
    times = measure(lambda i: targets[i % FRAMES].copy_(frames[i % FRAMES], non_blocking=True))
    row("upload 1080p NV12", "torch", times, gb_s=round(BYTES / times.median / 1e3, 2))
