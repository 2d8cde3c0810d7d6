"""What users call instead of the operation `peaks`: the algorithm of SLEAP (sleap-nn, `find_local_peaks` with integral
refinement), written in PyTorch: non-maximum suppression by dilation, a threshold, 5x5 crops around what is left, and
the crops' centres of mass."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from cudainfer_tools.bench.gpu.peers.measure import in_turn, measure, row

THRESHOLD, PATCH = 0.3, 5
# name, batch, channels, side, inputs taken in turns: more than the cache holds
ROWS = (
    ("local peaks + integral 13x96x96", 1, 13, 96, 256),
    ("local peaks + integral 13x512x512", 1, 13, 512, 8),
    ("local peaks + integral 16x13x192x192", 16, 13, 192, 4),
)
# Gaussians a channel.
PEOPLE = 4


def local_peaks(maps: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Confidence maps `[N, C, H, W]` to the peaks' `x, y` `[P, 2]`, their confidence `[P]`, and their frame and
    channel `[P, 2]`."""
    highest = F.max_pool2d(maps, 3, stride=1, padding=1)
    frame, channel, y, x = torch.where((maps == highest) & (maps > THRESHOLD))
    around = torch.arange(PATCH, device=maps.device) - PATCH // 2
    padded = F.pad(maps, [PATCH // 2] * 4)
    rows = (y[:, None] + around + PATCH // 2)[:, :, None]
    columns = (x[:, None] + around + PATCH // 2)[:, None, :]
    crops = padded[frame[:, None, None], channel[:, None, None], rows, columns]
    total = crops.sum((1, 2))
    dx = (crops.sum(1) * around).sum(1) / total
    dy = (crops.sum(2) * around).sum(1) / total
    return torch.stack([x + dx, y + dy], 1), maps[frame, channel, y, x], torch.stack([frame, channel], 1)


def gaussians(batch: int, channels: int, side: int, seed: int) -> torch.Tensor:
    """Confidence maps as a network gives them: gaussians (sigma 2) over a little noise."""
    random = torch.Generator(device="cuda").manual_seed(seed)
    at = torch.arange(side, device="cuda") + 0.0
    x, y = (torch.rand(2, batch, channels, PEOPLE, 1, generator=random, device="cuda") * side).unbind()
    bump_x, bump_y = torch.exp(-((at - x) ** 2) / 8), torch.exp(-((at - y) ** 2) / 8)
    maps = torch.einsum("ncpy,ncpx->ncyx", bump_y, 0.8 * bump_x)
    return maps + 0.1 * torch.rand(maps.shape, generator=random, device="cuda")


def run() -> None:
    for name, batch, channels, side, inputs in ROWS:
        maps = [gaussians(batch, channels, side, seed) for seed in range(inputs)]
        row(name, "torch", measure(in_turn(local_peaks, maps)))
