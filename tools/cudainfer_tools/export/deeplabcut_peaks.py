"""What DeepLabCut's PartAffinityFieldPredictor does before its Assembler, as a part of a graph: peaks of every point, and the
affinities of every pair of an edge's peaks (pose_estimation_pytorch/models/predictors/paf_predictor.py, DeepLabCut 3.0.2)."""

from __future__ import annotations

import torch

from cudainfer_tools.export.deeplabcut_config import LEAST, Fields, Model

# Cells of a line, ends included; and what affinities are rounded to.
SAMPLES, STEPS = 10, 1000.0


def gaussian(sigma: float, radius: int) -> torch.Tensor:
    """The kernel by which maps are smoothed."""
    weights = torch.softmax(-(torch.arange(-radius, radius + 1, dtype=torch.float32) ** 2) / (2 * sigma**2), dim=0)
    return torch.outer(weights, weights)


class Candidates(torch.nn.Module):
    """From the maps, offsets and fields of a frame's cells to the strongest peaks of each point and the lines between them."""

    def __init__(self, model: Model, fields: Fields, stride: int) -> None:
        super().__init__()
        self.model, self.fields, self.stride = model, fields, stride
        self.register_buffer("kernel", gaussian(fields.sigma, fields.radius).repeat(len(model.points), 1, 1, 1))
        # As PyTorch's linspace on the device of the fields.
        self.register_buffer("along", torch.linspace(0, 1, SAMPLES, dtype=torch.float32))
        self.ends = [[edge[end] for edge in fields.edges] for end in (0, 1)]

    def forward(self, heatmap: torch.Tensor, locref: torch.Tensor, paf: torch.Tensor) -> tuple[torch.Tensor, ...]:
        places, scores, cells = self.strongest(heatmap, locref)
        row = cells // heatmap.shape[3]
        column = cells - row * heatmap.shape[3]
        return places, scores, scores >= LEAST, self.affinities(row.float(), column.float(), paf)

    def strongest(self, heatmap: torch.Tensor, locref: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Of each point as many peaks as there are animals: the places, the scores (0 where there is no peak) and the cells."""
        maps = torch.sigmoid(heatmap) if self.model.sigmoid else heatmap
        count, radius = len(self.model.points), self.fields.radius
        maps = torch.nn.functional.conv2d(maps, self.kernel, padding=radius, groups=count)
        highest = torch.nn.functional.max_pool2d(maps, radius, stride=1, padding=radius // 2)
        peaks = torch.where(maps == highest, maps, torch.zeros_like(maps))
        scores, cells = peaks.flatten(2).topk(self.fields.animals, dim=2)
        row = cells // heatmap.shape[3]
        column = cells - row * heatmap.shape[3]
        chosen = cells[:, :, None].expand(-1, -1, 2, -1)
        offsets = locref.unflatten(1, (count, 2)).flatten(3).gather(3, chosen) * (self.model.offset_scale or 0.0)
        places = torch.stack([column, row], dim=2).float() * self.stride + self.stride // 2 + offsets
        return places.transpose(2, 3), scores.clamp(max=1.0) if self.model.clips else scores, cells

    def affinities(self, row: torch.Tensor, column: torch.Tensor, paf: torch.Tensor) -> torch.Tensor:
        """The lines between an edge's peaks, whose cells are given: the fields' integral along each, by its length."""
        width = paf.shape[3]
        # From each peak of the first point, down, to each of the second, across.
        ends = [[axis[:, self.ends[0], :, None], axis[:, self.ends[1], None, :]] for axis in (column, row)]
        ways = [to - start for start, to in ends]
        places = [(start[..., None] + self.along * way[..., None]).floor() for (start, _), way in zip(ends, ways, strict=True)]
        cells = (places[1].long() * width + places[0].long()).flatten(2)
        total = torch.zeros_like(ways[0])
        kept = paf.unflatten(1, (-1, 2))[:, self.fields.channels].flatten(3)
        for component, place in enumerate(places):
            sampled = kept[:, :, component].gather(2, cells).reshape(place.shape)
            steps = place[..., 1:] - place[..., :-1]
            total = total + ((steps * (sampled[..., 1:] + sampled[..., :-1])).sum(-1) / 2) ** 2
        length = (ways[0] ** 2 + ways[1] ** 2).sqrt() + torch.finfo(torch.float32).eps
        return (torch.round(total.sqrt() / length * STEPS) / STEPS).flatten(2)


class Strongest(Candidates):
    """The strongest peak of each point of the only animal there is, which the Assembler joins whatever the fields say."""

    def forward(self, heatmap: torch.Tensor, locref: torch.Tensor, paf: torch.Tensor) -> tuple[torch.Tensor, ...]:
        places, scores, _ = self.strongest(heatmap, locref)
        return places[:, :, 0], scores[:, :, 0]
