"""How far two runs of a detector agree: one's boxes are the truth, the other's are scored against them."""

from __future__ import annotations

import json
import statistics
from dataclasses import dataclass
from pathlib import Path

from cudainfer_tools import pipeline

# Boxes that overlap so much are the same object.
SAME_IOU = 0.5


def iou(a: dict[str, float], b: dict[str, float]) -> float:
    """Intersection over union of two boxes `x`, `y`, `w`, `h`."""
    width = min(a["x"] + a["w"], b["x"] + b["w"]) - max(a["x"], b["x"])
    height = min(a["y"] + a["h"], b["y"] + b["h"]) - max(a["y"], b["y"])
    if width <= 0 or height <= 0:
        return 0.0
    return width * height / (a["w"] * a["h"] + b["w"] * b["h"] - width * height)


@dataclass(frozen=True)
class Agreement:
    """Objects in the truth and found; of the pairs, each one's IoU and the found confidence minus the true one."""

    true: int
    found: int
    overlaps: list[float]
    changes: list[float]

    @property
    def precision(self) -> float:
        return len(self.overlaps) / self.found if self.found else 0.0

    @property
    def recall(self) -> float:
        return len(self.overlaps) / self.true if self.true else 0.0

    @property
    def f1(self) -> float:
        return 2 * len(self.overlaps) / (self.true + self.found) if self.true + self.found else 0.0

    @property
    def mean_iou(self) -> float:
        return statistics.fmean(self.overlaps) if self.overlaps else 0.0

    @property
    def mean_change(self) -> float:
        return statistics.fmean(self.changes) if self.changes else 0.0

    @property
    def mean_absolute_change(self) -> float:
        return statistics.fmean(map(abs, self.changes)) if self.changes else 0.0


def detect(model: Path, video: Path, frames: int, results: Path, *properties: str) -> list[list[dict]]:
    """The objects of each frame, by the line that detects, with `properties` of trtinfer."""
    values = {"model": str(model), "video": str(video), "json": str(results)}
    line = pipeline.read("detect").arguments(values)
    line = line[: line.index("inferpublish") + 2] + ["!", "fakesink"]
    at = line.index("trtinfer") + 1
    line[at:at] = properties
    at = line.index("cudainferupload")
    line[at:at] = ["identity", f"eos-after={frames + 1}", "silent=true", "!"]
    pipeline.run(line)
    # The decoder may let out a frame after the last.
    lines = results.read_text().splitlines()[:frames]
    return [json.loads(line)["objects"] for line in lines]


def agreement(truth: list[list[dict]], found: list[list[dict]]) -> Agreement:
    """Pairs the objects of inferpublish frame by frame: the surest first, each with the free one of its label that it
    overlaps most."""
    overlaps, changes = [], []
    for true, mine in zip(truth, found, strict=True):
        free = list(true)
        for item in sorted(mine, key=lambda item: -item["confidence"]):
            fits = [(iou(item["box"], other["box"]), n) for n, other in enumerate(free) if other["label"] == item["label"]]
            overlap, best = max(fits, default=(0.0, -1))
            if overlap >= SAME_IOU:
                overlaps.append(overlap)
                changes.append(item["confidence"] - free.pop(best)["confidence"])
    return Agreement(sum(map(len, truth)), sum(map(len, found)), overlaps, changes)
