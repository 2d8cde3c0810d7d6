"""Writes kernels/src/detect/tests/anchors.txt: what YOLOv4's, YOLOv5's and Scaled-YOLOv4's formulas make of the raw heads in
kernels/src/detect/tests/anchors.rs, in float64. A line a box: formula, activation of the scores, confidence, class, left,
top, right, bottom in tensor pixels."""

import numpy as np

WIDTH, HEIGHT, CLASSES, THRESHOLD = 64, 32, 4, 0.35
STRIDES = [8, 16, 32]
SIZES = [[10, 13, 16, 30, 33, 23], [30, 61, 62, 45, 59, 119], [116, 90, 156, 198, 373, 326]]
SCALES = [1.2, 1.1, 1.05]


def raw(level: int) -> np.ndarray:
    """The head of a level, [anchor, row, column, value]: sixteenths, which float32 holds."""
    h, w = HEIGHT // STRIDES[level], WIDTH // STRIDES[level]
    a, y, x, v = np.ogrid[:3, :h, :w, : 5 + CLASSES]
    return ((level * 7 + a * 31 + y * 17 + x * 13 + v * 29 + a * y * 5 + x * v * 3) % 101) / 16 - 3


def sigmoid(t: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-t))


def boxes(formula: str, level: int) -> np.ndarray:
    """Centre and size of every anchor's box, [anchor, row, column, 4]."""
    head = raw(level)
    _, h, w, _ = head.shape
    cells = np.stack(np.meshgrid(np.arange(w), np.arange(h)), axis=-1)[None]
    anchors = np.array(SIZES[level], float).reshape(3, 1, 1, 2)
    if formula == "yolov3":
        center = sigmoid(head[..., :2]) * SCALES[level] - 0.5 * (SCALES[level] - 1) + cells
        size = np.exp(head[..., 2:4]) * anchors
    elif formula == "new-coords":
        center = head[..., :2] * SCALES[level] - 0.5 * (SCALES[level] - 1) + cells
        size = (head[..., 2:4] * 2) ** 2 * anchors
    else:
        center = sigmoid(head[..., :2]) * 2 - 0.5 + cells
        size = (sigmoid(head[..., 2:4]) * 2) ** 2 * anchors
    return np.concatenate([center * STRIDES[level], size], axis=-1)


for formula in ["yolov3", "yolov5", "new-coords"]:
    for activation in ["sigmoid", "none"]:
        found = []
        for level in range(3):
            scores = sigmoid(raw(level)[..., 4:]) if activation == "sigmoid" else raw(level)[..., 4:] / 4
            confidence = scores[..., 1:] * scores[..., :1]
            # A negative objectness and a negative score are no object.
            passed = (scores[..., 0] >= THRESHOLD) & (confidence.max(-1) >= THRESHOLD)
            for anchor in np.argwhere(passed):
                best = confidence[(*anchor,)]
                x, y, w, h = boxes(formula, level)[(*anchor,)]
                # Only new-coords, whose numbers should be above 0, has such.
                if w == 0 or h == 0:
                    continue
                found.append([best.max(), best.argmax(), x - w / 2, y - h / 2, x + w / 2, y + h / 2])
        found.sort(key=lambda row: -row[0])
        for confidence, label, *corners in found:
            print(formula, activation, f"{confidence:.9f}", label, *(f"{v:.6f}" for v in corners))
