"""Writes tests/elements/gpunms/coverage.txt: what the post-processing of TAO's DetectNet_v2, as its documentation describes it, makes of the
outputs of .cache/test-models/coverage.onnx (tools/cudainfer_tools/test_models) in float64, for frames of 400x200 pixels that are letterboxed
into its 160x96. Of each class, boxes are left by non-maximum suppression at an overlap of 0.5. A line an object, the surest
first: label, confidence, left, top, right, bottom in frame pixels."""

import numpy as np
import onnxruntime

from cudainfer_tools.repository import ROOT

LABELS, STRIDE, OFFSET, SCALE = ["person", "bag", "face"], 16, 0.5, 35.0
WIDTH, HEIGHT, CONFIDENCE, OVERLAP = 400, 200, 0.4, 0.5


def overlap(a: np.ndarray, b: np.ndarray) -> float:
    """Intersection over union of two boxes."""
    sides = np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2])
    inside = np.prod(np.maximum(sides, 0))
    return inside / (np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - inside)


session = onnxruntime.InferenceSession(ROOT / ".cache/test-models/coverage.onnx", providers=["CPUExecutionProvider"])
boxes, covered = session.run(
    ["output_bbox/BiasAdd:0", "output_cov/Sigmoid:0"], {"input_1:0": np.zeros((1, 3, 96, 160), np.float32)}
)
_, classes, rows, columns = covered.shape
left, top, right, bottom = boxes[0].astype(float).reshape(classes, 4, rows, columns).transpose(1, 0, 2, 3)
x, y = np.meshgrid(np.arange(columns) * STRIDE, np.arange(rows) * STRIDE)
# As TAO has it: centres and distances are both divided by the scale, and what comes of them is multiplied by it.
x, y = (x + OFFSET) / SCALE, (y + OFFSET) / SCALE
corners = np.stack([x - left, y - top, right + x, bottom + y], axis=-1) * SCALE
scale = min(columns * STRIDE / WIDTH, rows * STRIDE / HEIGHT)
bars = np.array([columns * STRIDE - WIDTH * scale, rows * STRIDE - HEIGHT * scale]) / 2
corners = (corners - np.tile(bars, 2)) / scale
found = []
for label in range(classes):
    sure = np.argwhere(covered[0, label] >= CONFIDENCE)
    kept: list = []
    for cell in sorted(map(tuple, sure), key=lambda cell: -covered[(0, label, *cell)]):
        box = corners[(label, *cell)]
        if all(overlap(box, other) <= OVERLAP for other in kept):
            kept.append(box)
            found.append((float(covered[(0, label, *cell)]), label, np.clip(box, 0, [WIDTH, HEIGHT, WIDTH, HEIGHT])))
found.sort(key=lambda object: -object[0])
text = "".join(f"{LABELS[label]} {sure:.9f} {' '.join(f'{v:.6f}' for v in box)}\n" for sure, label, box in found)
(ROOT / "tests/elements/gpunms/coverage.txt").write_text(text)
