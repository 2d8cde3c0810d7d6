"""What users call instead of the operation `detect`: a YOLO's output decoded as Ultralytics does, in PyTorch, and
torchvision's NMS by classes."""

from __future__ import annotations

import torch
from torchvision.ops import batched_nms

from cudainfer_tools.bench.gpu.peers.measure import in_turn, measure, row

CONFIDENCE, IOU, KEPT = 0.25, 0.45, 300
# Taken in turns: more than the cache holds.
INPUTS = 24


def corners(boxes: torch.Tensor) -> torch.Tensor:
    """`[N, 4]`: centre and size to corners."""
    centre, half = boxes[:, :2], boxes[:, 2:4] / 2
    return torch.cat([centre - half, centre + half], 1)


def suppress(boxes: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
    """Boxes `[N, 4]` and class scores `[N, C]` to `[M, 6]`: corners, score, class, the best first."""
    score, label = scores.max(1)
    kept = batched_nms(boxes, score, label, IOU)[:KEPT]
    return torch.cat([boxes[kept], score[kept, None], label[kept, None]], 1)


def yolov8(output: torch.Tensor) -> torch.Tensor:
    """One frame's `[4 + C, A]` to `[M, 6]`."""
    found = output[:, output[4:].amax(0) > CONFIDENCE].t()
    return suppress(corners(found[:, :4]), found[:, 4:])


def yolov5(output: torch.Tensor) -> torch.Tensor:
    """One frame's `[A, 5 + C]`, the fifth the objectness, to `[M, 6]`."""
    found = output[output[:, 4] > CONFIDENCE]
    scores = found[:, 5:] * found[:, 4:5]
    passed = scores.amax(1) > CONFIDENCE
    return suppress(corners(found[passed, :4]), scores[passed])


def street(anchors: int, classes: int, candidates: int, seed: int, objects: int = 200, side: float = 640) -> torch.Tensor:
    """`[A, 5 + C]` as a trained network gives: around each object a cluster of good boxes, of one class in the main;
    elsewhere low scores. Exactly `candidates` pass the threshold."""
    random = torch.Generator(device="cuda").manual_seed(seed)

    def uniform(*shape: int) -> torch.Tensor:
        return torch.rand(shape, generator=random, device="cuda")

    place = torch.cat([uniform(objects, 2) * side, 20 + uniform(objects, 2) * 120], 1)
    classes_of = (uniform(objects) ** 2 * classes).long()
    which = (uniform(anchors) * objects).long()
    boxes = place[which] + (uniform(anchors, 4) - 0.5) * place[which, 2:].repeat(1, 2) * 0.2
    # No single class passes the threshold outside the candidates, nor with the objectness as a factor.
    scores = torch.sigmoid(-4 - 6 * uniform(anchors, classes))
    good = torch.randperm(anchors, generator=random, device="cuda")[:candidates]
    scores[good, classes_of[which[good]]] = 0.6 + 0.39 * uniform(candidates)
    objectness = 0.2 * uniform(anchors)
    objectness[good] = 0.5 + 0.5 * uniform(candidates)
    return torch.cat([boxes, objectness[:, None], scores], 1)


def run() -> None:
    for candidates in (400, 1600):
        outputs = [street(8400, 80, candidates, seed) for seed in range(INPUTS)]
        # YOLOv8 has no objectness, and the anchors last.
        outputs = [torch.cat([output[:, :4], output[:, 5:]], 1).t().contiguous() for output in outputs]
        assert all((output[4:].amax(0) > CONFIDENCE).sum() == candidates for output in outputs)
        times = measure(in_turn(yolov8, outputs))
        row(f"decode + NMS 84x8400, {candidates} candidates", "torch + torchvision", times)
    outputs = [street(25200, 80, 1600, seed) for seed in range(INPUTS)]
    times = measure(in_turn(yolov5, outputs))
    row("decode + NMS 85x25200, 1600 candidates", "torch + torchvision", times)
