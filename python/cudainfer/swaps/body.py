"""What tells bodies apart: the lengths of the skeleton's edges, learned from the stretches of the file in which all individuals are
certain (the idea of idtracker.ai's global fragments, Romero-Ferrero et al., Nature Methods 2019, with lengths in place of pictures).
"""

from __future__ import annotations

import numpy as np

# Chosen: frames whose median is one measurement, as frames that follow each other have the same pose; and how many measurements one
# stretch counts for at most, as an animal may sit bent for as long as it likes.
BLOCK, MOST = 25, 8
# Chosen: individuals less apart than this, in standard deviations of a measurement, are alike.
APART = 2.0


class Body:
    """Measurements of one stretch."""

    def __init__(self, measures: int) -> None:
        self.block: list[np.ndarray] = []
        self.count = 0
        self.sum = np.zeros(measures)
        self.products = np.zeros((measures, measures))

    def add(self, lengths: np.ndarray) -> None:
        self.block.append(lengths)
        if len(self.block) < BLOCK:
            return
        block, self.block = np.array(self.block), []
        # A length that is seldom there is measured badly.
        if (np.isfinite(block).sum(axis=0) > BLOCK / 2).all():
            middle = np.nanmedian(block, axis=0)
            self.count += 1
            self.sum += middle
            self.products += np.outer(middle, middle)


def lengths(pose: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """The logarithms of the distances of pairs of points."""
    ways = pose[pairs[:, 0]] - pose[pairs[:, 1]]
    return np.log(np.maximum(np.hypot(ways[:, 0], ways[:, 1]), 1e-3))


class Looks:
    """What individuals' bodies are like, and what it costs to take a stretch for another one's."""

    def __init__(self, groups: list[list[Body]], everything: list[Body]) -> None:
        self.means = [sum((body.sum for body in group), start=np.zeros(1)) / max(count(group), 1) for group in groups]
        self.counts = [count(group) for group in groups]
        several = [body for body in everything if body.count > 1]
        freedom = sum(body.count - 1 for body in several)
        measures = len(self.means[0])
        if min(self.counts) == 0 or freedom <= measures:
            self.separation = 0.0
            return
        within = sum(body.products - np.outer(body.sum, body.sum) / body.count for body in several) / freedom
        # Shrunk towards its diagonal, as many edges are measured by few blocks.
        shrunk = measures / (measures + freedom)
        within = (1 - shrunk) * within + shrunk * np.diag(np.diag(within)) + 1e-8 * np.eye(measures)
        self.inverse = np.linalg.inv(within)
        apart = [
            self.squared(self.means[a] - self.means[b]) - measures * (1 / min(self.counts[a], MOST) + 1 / min(self.counts[b], MOST))
            for a in range(len(groups))
            for b in range(a)
        ]
        self.separation = float(np.sqrt(max(0.0, *apart, 0.0)))

    @property
    def tell_apart(self) -> bool:
        return self.separation >= APART

    def squared(self, difference: np.ndarray) -> float:
        return float(difference @ self.inverse @ difference)

    def costs(self, body: Body) -> list[float]:
        """Of a stretch, as each individual's."""
        if body.count == 0:
            return [0.0] * len(self.means)
        found = []
        for mean, known in zip(self.means, self.counts, strict=True):
            variance = 1 / min(body.count, MOST) + 1 / min(known, MOST)
            # As heavy in the tail as an animal's poses are long: Student's t with as many degrees as there are measurements at most.
            far = self.squared(body.sum / body.count - mean) / variance
            found.append((MOST + len(mean)) / 2 * float(np.log1p(far / MOST)) + len(mean) / 2 * float(np.log(variance)))
        return found


def count(group: list[Body]) -> int:
    return sum(body.count for body in group)
