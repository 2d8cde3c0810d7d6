"""How far our results are from those of a model's own library."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cudainfer_tools.zoo.objects import Masks

# Results farther apart than this, in pixels, are not the same one; where more is allowed, twice as much.
FAR = 2.0
# What is compared number by number, as scores are.
NUMBERS = ("embedding", "values")


@dataclass
class Verdict:
    """What came out of a case."""

    expected: int
    found: int
    unmatched: int
    pixels: float
    scores: float
    # Results that are the library's only if it computes in float64: its rounding in float32 decides them.
    ties: int = 0
    error: str = ""
    # Of pairs of objects that have masks: the least overlap, samples that differ, of those in either, and the pairs.
    overlap: float = 1.0
    other_samples: int = 0
    samples: int = 0
    compared: int = 0

    def holds(self, case: dict) -> bool:
        """Whether everything is the library's, within what the case allows."""
        same = self.unmatched == 0 and self.expected == self.found
        masks = self.overlap >= case["overlap"]
        return not self.error and same and masks and self.pixels <= case["pixels"] and self.scores <= case["scores"]

    def see(self, masks: Masks) -> None:
        """Takes over how masks of objects agree."""
        self.overlap, self.other_samples, self.samples, self.compared = masks.lowest, masks.other, masks.samples, masks.compared


def apart(mine: dict, theirs: dict) -> float:
    """The greatest distance of a coordinate, in pixels; infinite where the two are of different kinds."""
    if "text" in theirs and mine.get("text") != theirs["text"]:
        return np.inf
    if any(len(mine.get(key, ())) != len(theirs.get(key, ())) for key in NUMBERS):
        return np.inf
    distances = [0.0]
    for key in ("box", "corners", "keypoints"):
        if (key in mine) != (key in theirs):
            return np.inf
        if key not in mine:
            continue
        a, b = (np.array(one[key], float) for one in (mine, theirs))
        if key == "keypoints":
            # A third coordinate follows the score, where the library gives one.
            axes = [0, 1, 3] if b.shape[1] == 4 else [0, 1]
            if a.shape[1] <= axes[-1]:
                return np.inf
            a, b = a[:, axes], b[:, axes]
        if a.shape != b.shape:
            return np.inf
        if key == "corners":
            # Any corner may be the first, and both ways round.
            distances.append(min(np.abs(a[::way] - np.roll(b, i, 0)).max() for i in range(4) for way in (1, -1)))
        else:
            distances.append(np.abs(a - b).max())
    return max(distances)


def scores_apart(mine: dict, theirs: dict) -> list[float]:
    """The differences of scores and other numbers, and of the scores of points where the library gives any."""
    points = zip(mine.get("keypoints", ()), theirs.get("keypoints", ()), strict=True)
    values = (pair for key in NUMBERS for pair in zip(mine.get(key, ()), theirs.get(key, ()), strict=True))
    apart = [*(abs(a[2] - b[2]) for a, b in points if len(b) > 2), *(abs(a - b) for a, b in values)]
    return [abs(mine["score"] - theirs["score"]), *apart]


def compare(expected: list[list[dict]], found: list[list[dict]], far: float = FAR, pairs: list | None = None) -> Verdict:
    """Each expected result is paired with the nearest one found of its class. For each frame, `pairs` gets the numbers of
    expected results and of the objects that are theirs."""
    unmatched, pixels, scores = 0, 0.0, 0.0
    for theirs, ours in zip(expected, found, strict=True):
        left, matched = list(ours), []
        for number, one in enumerate(theirs):
            same = [other for other in left if other["class"] == one["class"]]
            # Both as parts of what is allowed: of boxes that are alike the scores tell which is which.
            distances = [apart(other, one) / 0.05 + abs(other["score"] - one["score"]) / 1e-3 for other in same]
            nearest = min(range(len(same)), key=distances.__getitem__, default=None)
            if nearest is None or apart(same[nearest], one) > far:
                unmatched += 1
                continue
            pixels = max(pixels, apart(same[nearest], one))
            scores = max(scores, *scores_apart(same[nearest], one))
            matched.append((number, same[nearest].get("object")))
            left.remove(same[nearest])
        unmatched += len(left)
        if pairs is not None:
            pairs.append(matched)
    return Verdict(sum(map(len, expected)), sum(map(len, found)), unmatched, float(pixels), float(scores))


def compare_masks(expected: np.ndarray, tied: np.ndarray, found: np.ndarray) -> Verdict:
    """Counts the cells; each is as many pixels of ours. `tied` are those that rounding decides."""
    times = found.shape[1] // expected.shape[1]
    cells = found[:, times // 2 :: times, times // 2 :: times]
    if cells.shape != expected.shape:
        raise ValueError(f"masks of {cells.shape}, expected are {expected.shape}")
    other = cells != expected
    return Verdict(expected.size, cells.size, int((other & ~tied).sum()), 0.0, 0.0, ties=int((other & tied).sum()))


def compare_samples(expected: np.ndarray, found: np.ndarray, greatest: int) -> Verdict:
    """The most that two samples are apart, as a part of the greatest there may be."""
    return Verdict(expected.size, found.size, 0, 0.0, float(np.abs(expected.ravel() - found).max()) / greatest)
