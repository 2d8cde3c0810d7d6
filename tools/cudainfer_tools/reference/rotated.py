"""Rotated boxes as Ultralytics compares and suppresses them, in plain NumPy: what kernels/src/detect/tests/rotated.rs compares
our decoder with. Written from Llerena et al., "Gaussian Bounding Boxes and Probabilistic Intersection-over-Union for Object
Detection" (arXiv 2106.06072), equations 4 to 8, and from what Ultralytics documents of `batch_probiou`, `nms_rotated` (Fast
NMS: Bolya et al., "YOLACT", section 3.3; a box goes at a threshold that is reached) and `regularize_rboxes`; with their
epsilon of 1e-7, in float64.

    python3 tools reference.rotated > kernels/src/detect/tests/rotated.txt

Lines are `pair` (two boxes and their overlap), `box` (x, y, w, h, angle, class, confidence; all exact in float32), `kept` (how,
threshold, the indices of the boxes that stay, strongest first) and `regular` (a box, and the same with an angle from 0 to
below a quarter turn)."""

from __future__ import annotations

import numpy as np

EPSILON = 1e-7


def covariance(box: np.ndarray) -> np.ndarray:
    """That of a uniform distribution over the box [x, y, w, h, angle]."""
    _, _, w, h, angle = box
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return turn @ np.diag([w * w / 12, h * h / 12]) @ turn.T


def overlap(p: np.ndarray, q: np.ndarray) -> float:
    """The probabilistic IoU."""
    first, second = covariance(p), covariance(q)
    both, apart = first + second, p[:2] - q[:2]
    determinant = np.linalg.det(both)
    # The inverse's denominator is where Ultralytics adds its epsilon.
    adjugate = np.array([[both[1, 1], -both[0, 1]], [-both[1, 0], both[0, 0]]])
    centres = apart @ adjugate @ apart / (determinant + EPSILON) / 4
    own = np.sqrt(max(np.linalg.det(first), 0) * max(np.linalg.det(second), 0))
    shapes = np.log(determinant / (4 * own + EPSILON) + EPSILON) / 2
    distance = np.clip(centres + shapes, EPSILON, 100)
    return 1 - np.sqrt(1 - np.exp(-distance) + EPSILON)


def kept(boxes: np.ndarray, classes: np.ndarray, scores: np.ndarray, threshold: float, across: bool) -> list[int]:
    """Who is overlapped by none that is stronger."""
    order = np.argsort(-scores, kind="stable")
    stays = []
    for rank, i in enumerate(order):
        rivals = [j for j in order[:rank] if across or classes[j] == classes[i]]
        overlaps = [overlap(boxes[j], boxes[i]) for j in rivals]
        # A test that hangs on the last digit proves nothing.
        assert all(abs(value - threshold) > 1e-5 for value in overlaps), "too close to call"
        if all(value < threshold for value in overlaps):
            stays.append(int(i))
    return stays


def regular(box: np.ndarray) -> np.ndarray:
    """With sides that change places where the angle is beyond a quarter turn, modulo half a turn."""
    x, y, w, h, angle = box
    if angle % np.pi >= np.pi / 2:
        w, h = h, w
    return np.array([x, y, w, h, angle % (np.pi / 2)])


def numbers(values: np.ndarray) -> str:
    return " ".join(repr(float(value)) for value in values)


def main() -> None:
    random = np.random.default_rng(7)

    def box(centre: np.ndarray, shape: np.ndarray) -> np.ndarray:
        # In steps that float32 holds exactly; the angles are those of Ultralytics' head, -pi/4 to 3 pi/4.
        x, y = np.round(centre * 8) / 8
        w, h = np.maximum(np.round(shape * 8) / 8, 0.5)
        return np.array([x, y, w, h, np.round(random.uniform(-0.78, 2.35) * 64) / 64])

    for _ in range(60):
        first = box(random.uniform(20, 600, 2), random.uniform(2, 120, 2))
        size = first[2:4] * random.uniform(0.5, 1.5, 2)
        second = box(first[:2] + random.normal(0, 0.3, 2) * first[2:4], size)
        print("pair", numbers(first), numbers(second), repr(float(overlap(first, second))))

    boxes, classes = [], []
    for _ in range(30):
        centre, shape, kind = random.uniform(40, 600, 2), random.uniform(6, 150, 2), random.integers(3)
        angle = np.round(random.uniform(-0.7, 2.2) * 64) / 64
        for _ in range(8):
            one = box(centre + random.normal(0, 0.15, 2) * shape.min(), shape * random.uniform(0.8, 1.2, 2))
            one[4] = angle + np.round(random.normal(0, 0.1) * 64) / 64
            boxes.append(one)
            classes.append(kind if random.random() < 0.8 else random.integers(3))
    tilted, kinds = np.array(boxes), np.array(classes)
    scores = random.permutation(np.arange(len(boxes)) / 512 + 0.375)
    for one, kind, score in zip(tilted, kinds, scores, strict=True):
        print("box", numbers(one), int(kind), repr(float(score)))
    for across in (False, True):
        for threshold in (0.1, 0.45, 0.7):
            # As the property holds it.
            exact = float(np.float32(threshold))
            stays = kept(tilted, kinds, scores, exact, across)
            print("kept", "class-agnostic" if across else "class-wise", threshold, *stays)

    for angle in (-0.75, -0.015625, 0.0, 0.5, 1.5625, 1.578125, 2.25, 3.5, -4.0):
        one = np.array([320.5, 200.25, 64.0, 16.5, angle])
        print("regular", numbers(one), numbers(regular(one)))


if __name__ == "__main__":
    main()
