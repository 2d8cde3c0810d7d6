"""PoseNet's poses of several people, in plain numpy, one person and point after the other: what our operation is compared
with (evaluate/pose.py). Written from Papandreou et al., "PersonLab" (ECCV 2018), sections 3.1 to 3.3, and from what the
documentation of TensorFlow.js's PoseNet says of `decodeMultiplePoses`, with its defaults."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnxruntime

SIDE, STRIDE = 385, 16
SCORE, RADIUS = 0.5, 20.0
# How often a point is moved by the offset of the cell next to it.
REFINEMENTS = 2
NAMES = [
    "nose", "left_eye", "right_eye", "left_ear", "right_ear", "left_shoulder", "right_shoulder", "left_elbow",
    "right_elbow", "left_wrist", "right_wrist", "left_hip", "right_hip", "left_knee", "right_knee", "left_ankle",
    "right_ankle",
]  # fmt: skip
# Parent and child of each of the displacements' channels.
TREE = [
    (0, 1), (1, 3), (0, 2), (2, 4), (0, 5), (5, 7), (7, 9), (5, 11), (11, 13), (13, 15), (0, 6), (6, 8), (8, 10), (6, 12),
    (12, 14), (14, 16),
]  # fmt: skip


@dataclass(frozen=True)
class Maps:
    """A frame's outputs: scores `[h, w, 17]`; offsets `[h, w, 2, 17]` and displacements `[h, w, 2, 16]`, y before x."""

    scores: np.ndarray
    offsets: np.ndarray
    forward: np.ndarray
    backward: np.ndarray

    def near(self, point: np.ndarray) -> tuple[int, int]:
        """The row and column next to a point (y, x) of the tensor."""
        most = np.array(self.scores.shape[:2]) - 1
        row, column = np.clip(np.floor(point / STRIDE + 0.5), 0, most).astype(int)
        return row, column

    def at(self, cell: tuple[int, int], part: int) -> np.ndarray:
        return np.array(cell) * STRIDE + self.offsets[*cell, :, part]

    def reach(self, point: np.ndarray, displacement: np.ndarray, part: int) -> tuple[np.ndarray, float]:
        """The point `part` that a displacement leads to from `point`, and its score."""
        to = point + displacement[self.near(point)]
        for _ in range(REFINEMENTS):
            to = self.at(self.near(to), part)
        return to, self.scores[*self.near(to), part]


def roots(scores: np.ndarray, least: float) -> list[tuple[float, int, int, int]]:
    """Score, row, column and part of the cells that no neighbour exceeds, the best first."""
    padded = np.pad(scores, [(1, 1), (1, 1), (0, 0)], constant_values=-np.inf)
    rows, columns, _ = scores.shape
    highest = np.max([padded[y : y + rows, x : x + columns] for y in range(3) for x in range(3)], axis=0)
    found = np.argwhere((scores >= least) & (scores == highest))
    return sorted(((float(scores[y, x, part]), int(y), int(x), int(part)) for y, x, part in found), key=lambda root: -root[0])


def taken(poses: list[np.ndarray], point: np.ndarray, part: int) -> bool:
    """Whether the same point of a pose that there is already lies near."""
    return any(np.sum((pose[part, :2] - point) ** 2) <= RADIUS**2 for pose in poses)


def decode(maps: Maps, most: int, least: float = SCORE) -> list[np.ndarray]:
    """Poses `[17, 3]`, `most` of them at most: y, x in the tensor, and score."""
    poses: list[np.ndarray] = []
    for score, row, column, part in roots(maps.scores, least):
        if len(poses) == most:
            break
        root = maps.at((row, column), part)
        if taken(poses, root, part):
            continue
        pose = np.full((len(NAMES), 3), np.nan)
        pose[part] = *root, score
        steps = [(child, parent, maps.backward[..., e]) for e, (parent, child) in reversed(list(enumerate(TREE)))]
        steps += [(parent, child, maps.forward[..., e]) for e, (parent, child) in enumerate(TREE)]
        for start, end, displacement in steps:
            if np.isfinite(pose[start, 0]) and np.isnan(pose[end, 0]):
                point, reached = maps.reach(pose[start, :2], displacement, end)
                pose[end] = *point, reached
        poses.append(pose)
    return poses


def prepare(frame: np.ndarray) -> np.ndarray:
    """`[1, 385, 385, 3]`, -1 to 1, of RGB pixels: bilinear between pixels' centres, the edge repeated."""
    ends = []
    for size in frame.shape[:2]:
        at = np.clip((np.arange(SIDE) + 0.5) * size / SIDE - 0.5, 0, size - 1)
        low = np.minimum(at.astype(int), size - 2)
        ends.append((low, at - low))
    (y, fy), (x, fx) = ends
    image = frame.astype(np.float64)
    image = image[:, x] * (1 - fx)[:, None] + image[:, x + 1] * fx[:, None]
    image = image[y] * (1 - fy)[:, None, None] + image[y + 1] * fy[:, None, None]
    return (image / 127.5 - 1).astype(np.float32)[None]


def split(outputs: dict[str, np.ndarray], kind: type = np.float64) -> Maps:
    """The outputs by what their names have in them."""
    part = {
        word: next(o[0] for name, o in outputs.items() if word in name).astype(kind).astype(np.float64)
        for word in ("heatmap", "offset", "displacement_fwd", "displacement_bwd")
    }
    vectors = (part[w].reshape(*part[w].shape[:2], 2, -1) for w in ("offset", "displacement_fwd", "displacement_bwd"))
    return Maps(1 / (1 + np.exp(-part["heatmap"])), *vectors)


def same(a: list[np.ndarray], b: list[np.ndarray]) -> bool:
    """Whether two lists of poses are the same but for movements of a few pixels."""
    return len(a) == len(b) and all(np.abs(p - q)[:, :2].max() < 5 for p, q in zip(a, b, strict=True))


def run(model: Path, frames: Path, size: tuple[int, int], most: int, least: float) -> tuple[list[np.ndarray], list[bool]]:
    """Instances `[I, 17, 3]`, `most` of them at most, of each frame of a file of RGB pixels: x, y (pixel i has its centre
    at i) and score, NaN for points whose score is below `least`; and whether they stay the same with outputs rounded to
    float16 and with thresholds a twentieth away."""
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    scale = np.array(size) / SIDE
    found, stable = [], []
    for frame in np.memmap(frames, np.uint8, "r").reshape(-1, size[1], size[0], 3):
        outputs = dict(zip(names, session.run(None, {session.get_inputs()[0].name: prepare(frame)}), strict=True))
        maps = split(outputs)
        poses = decode(maps, most)
        others = [decode(split(outputs, np.float16), most), *(decode(maps, most, SCORE * f) for f in (0.95, 1.05))]
        scores = np.array(poses).reshape(-1, 3)[:, 2]
        close = np.abs(scores - least) < least / 20
        stable.append(not close.any() and all(same(poses, other) for other in others))
        points = [np.concatenate([(p[:, 1::-1] + 0.5) * scale - 0.5, p[:, 2:]], 1) for p in poses]
        instances = np.array(points).reshape(-1, len(NAMES), 3)
        instances[instances[..., 2] < least] = np.nan
        found.append(instances)
    return found, stable
