"""What SAHI and supervision's InferenceSlicer find in tiles of the same frames with the same ONNX file. Run by
evaluate/tiles.py with a Python that has sahi, supervision, onnxruntime and opencv.

    python3 tools reference.tiles MODEL FRAMES.rgb WIDTH HEIGHT TILE OVERLAP WHO

WHO is a key of RUNNERS. Writes one JSON object: the seconds that all frames but the first took, and for each frame its
objects as [class, score, x1, y1, x2, y2] in frame pixels. The detector is NanoDet, as published (RangiLyu, 2020): scores
after the sigmoid and the logits of four distances for each cell, whose centre they are counted from.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial

import cv2
import numpy as np
import onnxruntime

CONFIDENCE, IOU = 0.25, 0.5
STRIDES = (8, 16, 32)
# As in the sidecar of pipelines/models.
MEAN = np.array([103.53, 116.28, 123.675], np.float32)
STD = np.array([57.375, 57.12, 58.395], np.float32)

# What finds a frame's objects: [class, score, x1, y1, x2, y2] each.
Runner = Callable[[np.ndarray], list[list[float]]]


def suppressed(boxes: np.ndarray, scores: np.ndarray) -> list[int]:
    """The boxes of one class that stay, the most confident first."""
    left = np.argsort(-scores, kind="stable")
    kept: list[int] = []
    areas = (boxes[:, 2:] - boxes[:, :2]).prod(1)
    while len(left):
        best, left = left[0], left[1:]
        kept.append(int(best))
        corner = np.maximum(boxes[best, :2], boxes[left, :2])
        common = np.clip(np.minimum(boxes[best, 2:], boxes[left, 2:]) - corner, 0, None).prod(1)
        left = left[common / (areas[best] + areas[left] - common) <= IOU]
    return kept


def resized(image: np.ndarray, width: int, height: int) -> np.ndarray:
    """What cv2.resize makes of an image (bilinear, INTER_LINEAR), in float64: neither its weights nor the samples are rounded."""

    def along(values: np.ndarray, size: int) -> np.ndarray:
        length = values.shape[0]
        at = np.clip((np.arange(size) + 0.5) * length / size - 0.5, 0, length - 1)
        first = np.minimum(at.astype(int), length - 2)
        share = (at - first).reshape(-1, 1, 1)
        return values[first] * (1 - share) + values[first + 1] * share

    return along(along(image.astype(np.float64), height).swapaxes(0, 1), width).swapaxes(0, 1)


class NanoDet:
    """The detector that both tools are given. With `exact`, images are resized without rounding."""

    def __init__(self, model: str, exact: bool = False) -> None:
        self.resize = resized if exact else lambda image, width, height: cv2.resize(image, (width, height))
        self.session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
        self.input = self.session.get_inputs()[0]
        self.height, self.width = self.input.shape[2:]

    def __call__(self, image: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Boxes `[N, 4]` (x1, y1, x2, y2 in the pixels of an RGB image), scores and classes `[N]`."""
        height, width = image.shape[:2]
        if (width, height) != (self.width, self.height):
            image = self.resize(image, self.width, self.height)
        pixels = ((image[:, :, ::-1].astype(np.float32) - MEAN) / STD).transpose(2, 0, 1)[None]
        outputs = self.session.run(None, {self.input.name: np.ascontiguousarray(pixels)})
        half = len(STRIDES)
        found = [self.cells(*one) for one in zip(outputs[:half], outputs[half:], STRIDES, strict=True)]
        boxes, scores, classes = (np.concatenate(part) for part in zip(*found, strict=True))
        kept = []
        for one in np.unique(classes):
            members = np.flatnonzero(classes == one)
            kept += list(members[suppressed(boxes[members], scores[members])])
        scale = np.array([width / self.width, height / self.height] * 2)
        # To the image, as most detectors' wrappers do.
        boxes = np.clip(boxes[kept] * scale, 0, [width, height] * 2)
        return boxes, scores[kept], classes[kept]

    def cells(self, scores: np.ndarray, distances: np.ndarray, stride: int) -> tuple[np.ndarray, ...]:
        """The boxes of one stride whose best class is sure enough."""
        scores = scores[0]
        best = scores.argmax(1)
        sure = np.flatnonzero(scores[np.arange(len(best)), best] >= CONFIDENCE)
        logits = distances[0, sure].reshape(len(sure), 4, distances.shape[2] // 4).astype(np.float64)
        weights = np.exp(logits - logits.max(2, keepdims=True))
        sides = (weights / weights.sum(2, keepdims=True)) @ np.arange(logits.shape[2]) * stride
        columns = self.width // stride
        points = (np.stack([sure % columns, sure // columns], 1) + 0.5) * stride
        boxes = np.concatenate([points - sides[:, :2], points + sides[:, 2:]], 1)
        return boxes, scores[sure, best[sure]].astype(np.float64), best[sure]


def sahi(detector: NanoDet, tile: int, overlap: float, postprocess: str, whole: bool) -> Runner:
    """SAHI, with its defaults but for the detector and the tiles."""
    from sahi.models.base import DetectionModel
    from sahi.predict import get_sliced_prediction
    from sahi.prediction import ObjectPrediction

    class Model(DetectionModel):
        def load_model(self) -> None:
            self.category_mapping: dict[str, str] = {}

        def perform_inference(self, image: np.ndarray) -> None:
            self._original_predictions = detector(image)

        def _create_object_prediction_list_from_original_predictions(
            self, shift_amount_list: Sequence = ((0, 0),), full_shape_list: Sequence = ()
        ) -> None:
            # Numbers of a frame, or a list with those of one frame.
            shift, shape = (one[0] if isinstance(one[0], (list, tuple)) else one for one in (shift_amount_list, full_shape_list))
            self._object_prediction_list_per_image = [
                [
                    ObjectPrediction(
                        bbox=box.tolist(), category_id=int(label), category_name=str(label), score=float(score),
                        shift_amount=list(shift), full_shape=list(shape),
                    )
                    for box, score, label in zip(*self._original_predictions, strict=True)
                ]
            ]  # fmt: skip

    model = Model(confidence_threshold=CONFIDENCE, device="cpu")

    def run(frame: np.ndarray) -> list[list[float]]:
        found = get_sliced_prediction(
            frame, model, slice_height=tile, slice_width=tile, overlap_height_ratio=overlap, overlap_width_ratio=overlap,
            perform_standard_pred=whole, postprocess_type=postprocess, verbose=0,
        )  # fmt: skip
        return [[p.category.id, float(p.score.value), *map(float, p.bbox.to_xyxy())] for p in found.object_prediction_list]

    return run


def supervision(detector: NanoDet, tile: int, overlap: float) -> Runner:
    """supervision's InferenceSlicer, with its defaults but for the tiles."""
    import supervision

    def callback(image: np.ndarray) -> supervision.Detections:
        boxes, scores, classes = detector(image)
        return supervision.Detections(xyxy=boxes, confidence=scores, class_id=classes.astype(int))

    slicer = supervision.InferenceSlicer(callback, slice_wh=tile, overlap_wh=int(tile * overlap))

    def run(frame: np.ndarray) -> list[list[float]]:
        found = slicer(frame)
        rows = zip(found.class_id, found.confidence, found.xyxy, strict=True)
        return [[int(label), float(score), *map(float, box)] for label, score, box in rows]

    return run


RUNNERS: dict[str, Callable[[NanoDet, int, float], Runner]] = {
    "sahi": partial(sahi, postprocess="GREEDYNMM", whole=False),
    "sahi-nms": partial(sahi, postprocess="NMS", whole=False),
    "sahi-whole": partial(sahi, postprocess="GREEDYNMM", whole=True),
    "sahi-exact": partial(sahi, postprocess="GREEDYNMM", whole=True),
    "supervision": supervision,
}


def main(model: str, frames: str, width: str, height: str, tile: str, overlap: str, who: str) -> None:
    pictures = np.fromfile(frames, np.uint8).reshape(-1, int(height), int(width), 3)
    run = RUNNERS[who](NanoDet(model, who.endswith("exact")), int(tile), float(overlap))
    objects = [run(pictures[0])]
    begin = time.perf_counter()
    objects += [run(picture) for picture in pictures[1:]]
    print(json.dumps({"seconds": time.perf_counter() - begin, "objects": objects}))


if __name__ == "__main__":
    main(*sys.argv[1:])
