"""What users call instead of the operation `group`: peaks, refinement and grouping by part affinity fields of one bottom-up
frame of SLEAP's, 384x384: written in PyTorch after the paper (Cao et al., CVPR 2017), and sleap-nn's own functions.

sleap-nn's need, besides PyTorch, scipy and networkx: sleap-nn's wheel (pure Python, 1.2 MB; GPL-3.0) and, where there is none,
that of attrs (0.1 MB). They are looked for in .cache/wheels:

    pip download --no-deps -d .cache/wheels sleap-nn attrs
"""

from __future__ import annotations

import importlib
import importlib.metadata
import sys

import torch

from cudainfer_tools.bench.gpu.peers.measure import measure, row
from cudainfer_tools.bench.gpu.peers.peaks import local_peaks
from cudainfer_tools.repository import ROOT

ROW = "peaks + integral + grouping 384x384 bottom-up"
# Rows and columns of the confidence maps and of the fields; pixels a cell of each.
MAPS, FIELDS, MAPS_STRIDE, FIELDS_STRIDE = 192, 96, 2, 4
ANIMALS, LENGTH = 4, 60.0
SAMPLES, LEAST = 10, 0.25
# Frames taken in turns: more than the cache holds.
INPUTS = 256


def frame(seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Confidence maps `[1, 2, 192, 192]` and a field `[1, 2, 96, 96]` of some animals of two points each."""
    random = torch.Generator().manual_seed(seed)
    middle = 60 + 264 * torch.rand(ANIMALS, 2, generator=random)
    turn = 6.28 * torch.rand(ANIMALS, generator=random)
    along = torch.stack([turn.cos(), turn.sin()], 1)
    ends = torch.stack([middle - along * LENGTH / 2, middle + along * LENGTH / 2])
    at = torch.arange(MAPS) * MAPS_STRIDE + 0.0
    bump = torch.exp(-((at - ends[..., None]) ** 2) / 32)
    maps = torch.einsum("pay,pax->pyx", bump[:, :, 1], 0.8 * bump[:, :, 0])
    maps += 0.1 * torch.rand(maps.shape, generator=random)
    at = torch.arange(FIELDS) * FIELDS_STRIDE + 0.0
    y, x = torch.meshgrid(at, at, indexing="ij")
    offset = torch.stack([x, y], -1) - middle[:, None, None]
    on = (offset * along[:, None, None]).sum(-1).abs() < LENGTH / 2
    beside = offset[..., 0] * along[:, None, None, 1] - offset[..., 1] * along[:, None, None, 0]
    strength = torch.where(on, torch.exp(-(beside**2) / 200), 0.0)
    field = torch.einsum("ayx,ac->cyx", strength, along)
    return maps[None].cuda(), field[None].cuda()


def by_torch(maps: torch.Tensor, field: torch.Tensor) -> list[tuple[int, int]]:
    """Pairs of peaks, of all that are found: those of the first point with those of the second."""
    from scipy.optimize import linear_sum_assignment

    points, _, of = local_peaks(maps)
    points = points * MAPS_STRIDE
    first, second = (torch.nonzero(of[:, 1] == part)[:, 0] for part in (0, 1))
    start, end = points[first][:, None], points[second][None]
    apart = end - start
    length = apart.norm(dim=-1, keepdim=True).clamp_min(1e-6)
    steps = torch.linspace(0, 1, SAMPLES, device=maps.device)[:, None]
    at = ((start[:, :, None] + apart[:, :, None] * steps) / FIELDS_STRIDE).round().long().clamp(0, FIELDS - 1)
    found = field[0][:, at[..., 1], at[..., 0]]
    scores = (found.permute(1, 2, 3, 0) * (apart / length)[:, :, None]).sum(-1).mean(-1)
    # The assignment is on the host: this waits for the device.
    table, first, second = scores.cpu(), first.tolist(), second.tolist()
    rows, columns = linear_sum_assignment(table, maximize=True)
    return [(first[r], second[c]) for r, c in zip(rows, columns, strict=True) if table[r, c] >= LEAST]


def run() -> None:
    frames = [frame(seed) for seed in range(INPUTS)]
    try:
        importlib.import_module("scipy.optimize")
    except ImportError as error:
        print(f"peers: grouping is left out: {error}", file=sys.stderr)
        return
    pairs = [len(by_torch(*each)) for each in frames]
    if min(pairs) < 1 or sum(pairs) < 0.9 * ANIMALS * INPUTS:
        raise SystemExit(f"peers: the torch grouping finds {sum(pairs)} of {ANIMALS * INPUTS} animals")
    row(ROW, "torch, scipy", measure(lambda i: by_torch(*frames[i % INPUTS])))

    sys.path += [*map(str, (ROOT / ".cache" / "wheels").glob("*.whl"))]
    try:
        from cudainfer_tools.reference import sleap

        ops = sleap.operations()
    except ImportError as error:
        print(f"peers: sleap-nn's own functions are left out: {error}", file=sys.stderr)
        return
    grouping = sleap.scorer(ops)
    with torch.inference_mode():
        work = measure(lambda i: sleap.bottom_up(ops, *frames[i % INPUTS], grouping))
    row(ROW, f"sleap-nn {sleap.version()}", work)
