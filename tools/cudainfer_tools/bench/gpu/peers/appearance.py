"""What users would write instead of the operation `appearance`: the same samples, levels and counts by PyTorch's indexing
and scatter_add, for all boxes at once, as it stands and as a CUDA graph; without hashing, which costs it nothing."""

from __future__ import annotations

from functools import partial

import torch

from cudainfer_tools.bench.gpu.peers.measure import graph_of, in_turn, measure, row

WIDTH, HEIGHT = 1920, 1080
COLUMNS, ROWS, STRIPES, LEVELS = 32, 64, 6, 208
COUNTS = (1, 10, 100, 1000)
# Taken in turns: 125 MB, more than the cache holds.
FRAMES = 40


def people(count: int) -> torch.Tensor:
    """Boxes `[count, 4]`, whole pixels: x, y, width, height."""
    unit = torch.rand((count, 4), generator=torch.Generator().manual_seed(1))
    most = torch.tensor([1770.0, 720.0, 110.0, 260.0])
    return (unit * most + torch.tensor([0.0, 0.0, 40.0, 100.0])).long().cuda()


def level(chroma: torch.Tensor) -> torch.Tensor:
    return 2 + (chroma >= 134).int() + (chroma >= 146).int() - (chroma <= 122).int() - (chroma <= 110).int()


class Describe:
    """What does not depend on the frame is made once."""

    def __init__(self) -> None:
        columns, rows = torch.arange(COLUMNS, device="cuda"), torch.arange(ROWS, device="cuda")
        self.x, self.y = 2 * columns + 1, 2 * rows + 1
        eighth = 8 * torch.minimum(columns, COLUMNS - 1 - columns) // COLUMNS
        self.weight = (1 << eighth).float().expand(ROWS, COLUMNS)
        self.stripe = (rows * STRIPES // ROWS * LEVELS)[:, None]

    def __call__(self, frame: torch.Tensor, boxes: torch.Tensor) -> torch.Tensor:
        """NV12 `[H * 3 / 2, W]` to embeddings `[N, 1248]`."""
        x = boxes[:, 0, None] + self.x * boxes[:, 2, None] // (2 * COLUMNS)
        y = boxes[:, 1, None] + self.y * boxes[:, 3, None] // (2 * ROWS)
        x, y = x[:, None, :], y[:, :, None]
        luma = frame[y, x].int()
        pair = HEIGHT + y // 2, x // 2 * 2
        cb, cr = frame[pair[0], pair[1]].int(), frame[pair[0], pair[1] + 1].int()
        color = self.stripe + (luma // 32 * 5 + level(cb)) * 5 + level(cr)
        padded = torch.nn.functional.pad(luma[:, None].float(), (1, 1, 1, 1), mode="replicate")[:, 0]
        gx, gy = padded[:, 1:-1, 2:] - padded[:, 1:-1, :-2], padded[:, 2:, 1:-1] - padded[:, :-2, 1:-1]
        orientation = (torch.atan2(gy, gx) * (8 / torch.pi)).round().long() % 8
        edge = torch.maximum(gx.abs(), gy.abs()) >= 16
        keys = torch.cat([color.long().flatten(1), (self.stripe + 200 + orientation).flatten(1)], 1)
        votes = torch.cat([(4 * self.weight).expand_as(gx).flatten(1), (self.weight * edge).flatten(1)], 1)
        counts = torch.zeros((len(boxes), STRIPES * LEVELS), device="cuda").scatter_add_(1, keys, votes)
        return (counts / counts.sum(1, keepdim=True)).sqrt()


def run() -> None:
    frames = [torch.randint(0, 256, (HEIGHT * 3 // 2, WIDTH), dtype=torch.uint8, device="cuda") for _ in range(FRAMES)]
    describe = Describe()
    for count in COUNTS:
        boxes, name = people(count), f"appearance of {count} boxes of NV12 1080p"
        row(name, "torch", measure(in_turn(partial(describe, boxes=boxes), frames)))
        graphs = [graph_of(partial(describe, frame, boxes)) for frame in frames]
        row(name, "torch, CUDA graph", measure(in_turn(torch.cuda.CUDAGraph.replay, graphs)))
