"""Writes what RapidOCR's DBPostProcess (rapidocr, opencv-python, pyclipper) makes of the maps in
kernels/src/detect/text/tests.rs: centre, longer and shorter side, score. Run in an environment that has them."""

import cv2
import numpy as np
from rapidocr.ch_ppocr_det.utils import DBPostProcess

WIDTH, HEIGHT = 160, 120


def painted(lines: list[tuple]) -> np.ndarray:
    """Rectangles (centre, half sides, axis, value) on a map; cells whose centres are inside."""
    y, x = np.mgrid[:HEIGHT, :WIDTH].astype(float)
    values = np.zeros((HEIGHT, WIDTH), np.float32)
    for (cx, cy), (hw, hh), (ax, ay), value in lines:
        u, v = (x - cx) * ax + (y - cy) * ay, (y - cy) * ax - (x - cx) * ay
        values[(abs(u) <= hw) & (abs(v) <= hh)] = value
    return values


SCENES: list[tuple[str, list[tuple]]] = [
    ("upright", [((50.25, 30.25), (40, 6), (1, 0), 0.9)]),
    ("tilted", [((70.25, 60.25), (45, 7), (0.8, 0.6), 0.8)]),
    ("tilted back", [((70.25, 60.25), (45, 7), (0.8, -0.6), 0.8)]),
    ("steep", [((70.25, 60.25), (40, 6), (0.28, 0.96), 0.95)]),
]
for name, lines in SCENES:
    values = painted(lines)
    for score_threshold in [0.0]:
        post = DBPostProcess(0.3, score_threshold, 1000, 1.5)
        boxes, scores = post(values[None, None], (HEIGHT, WIDTH))
        for box, score in zip(boxes, scores, strict=True):
            (cx, cy), sides, _ = cv2.minAreaRect(box.astype(np.float32))
            print(f"{name}: {cx:.2f} {cy:.2f} {max(sides):.2f} {min(sides):.2f} {score:.4f}")
    points = cv2.findContours((values > 0.3).astype(np.uint8), cv2.RETR_LIST, cv2.CHAIN_APPROX_SIMPLE)[0]
    for contour in points:
        (cx, cy), sides, _ = cv2.minAreaRect(contour)
        print(f"  before: {cx:.4f} {cy:.4f} {max(sides):.4f} {min(sides):.4f}")
