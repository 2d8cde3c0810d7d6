"""Animals that DeepLabCut's Assembler makes of made-up peaks and affinities, which the kernels' tests compare with
(kernels/src/group/paf/tests/deeplabcut.txt). Run in a Python that has deeplabcut.

    python3 tools reference.deeplabcut_assembly FILE [FRAMES] [SEED]

Frames have two to four animals near each other, with missing points, false and weak peaks, and affinities that mistake neighbours
for each other; in some, affinities are noise alone. Skeletons are full graphs, and parts of them with and without circles. More
FRAMES, of another SEED, can be compared in the place of those that are kept. A frame is:

    frame POINTS ANIMALS EDGE...      an edge as A-B
    peaks X,Y,CONFIDENCE...           of each point
    lines N...                        of each edge: affinities in thousandths, from each peak of the first point to each of the second
    animal AFFINITY PEAK...           of each animal: the number of each point's peak, or -
"""

from __future__ import annotations

import itertools
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from deeplabcut.core.inferenceutils import Assembler

FRAMES, SEED = 240, 0
# What the predictor hands to the Assembler unless a configuration says otherwise, and what affinities are rounded to.
MIN_AFFINITY, STEPS = 0.05, 1000


@dataclass
class Frame:
    """What the Assembler joins."""

    animals: int
    edges: list[tuple[int, int]]
    # Of each point: x, y, confidence and whose peak it is, -1 for nobody's.
    peaks: list[np.ndarray]
    # Of each edge, `[peaks of its first point, peaks of its second]`.
    affinities: list[np.ndarray]


def skeleton(random: np.random.Generator, points: int) -> list[tuple[int, int]]:
    """Edges that join all points: the full graph, or some of it."""
    every = list(itertools.combinations(range(points), 2))
    if random.random() < 0.4:
        return every
    order = random.permutation(points)
    tree = {tuple(sorted((int(order[at]), int(order[random.integers(at)])))) for at in range(1, points)}
    return [edge for edge in every if edge in tree or random.random() < 0.35]


def found(random: np.random.Generator, at: np.ndarray) -> np.ndarray:
    """The peaks of a point that each animal has at a place, in the order of rows as the predictor finds them."""
    near = at + random.normal(0, 2, at.shape)
    rows = [[*place, random.beta(6, 2), animal] for animal, place in enumerate(near) if random.random() > 0.12]
    rows += [[*(at.mean(0) + random.normal(0, 40, 2)), random.beta(2, 6), -1] for _ in range(random.poisson(0.5))]
    peaks = np.array(rows).reshape(-1, 4)
    peaks[:, :2] = peaks[:, :2].round(1)
    peaks[:, 2] = peaks[:, 2].clip(0.011).round(4)
    return peaks[np.lexsort((peaks[:, 0], peaks[:, 1]))].astype(np.float32)


def made(random: np.random.Generator) -> Frame:
    points, animals = int(random.integers(3, 8)), int(random.integers(2, 5))
    there = max(1, animals + int(random.integers(-1, 2)))
    body = random.normal(0, 20, (points, 2))
    places = random.uniform(60, 200, 2) + random.normal(0, 30, (there, 1, 2)) + body + random.normal(0, 4, (there, points, 2))
    peaks = [found(random, places[:, point]) for point in range(points)]
    edges, noisy, mistakes = skeleton(random, points), random.random() < 0.15, random.random() < 0.4
    affinities = []
    for a, b in edges:
        same = (peaks[a][:, None, 3] == peaks[b][None, :, 3]) & (peaks[a][:, None, 3] >= 0)
        right = random.normal(0.8, 0.2, same.shape)
        wrong = np.where(random.random(same.shape) < 0.25 * mistakes, random.uniform(0.2, 0.9, same.shape), 0)
        wrong = np.maximum(wrong, random.normal(0.02, 0.1, same.shape))
        values = random.uniform(0, 0.6, same.shape) if noisy else np.where(same, right, wrong)
        affinities.append((values.clip(0, 1) * STEPS).round().astype(int))
    return Frame(animals, edges, peaks, affinities)


def assembled(frame: Frame) -> list[tuple[float, list[int | None]]]:
    """The Assembler's animals: the mean of the links, and the number of each point's peak."""
    points = len(frame.peaks)
    assembler = Assembler.empty(
        frame.animals,
        n_multibodyparts=points,
        n_uniquebodyparts=0,
        graph=frame.edges,
        paf_inds=list(range(len(frame.edges))),
        min_affinity=MIN_AFFINITY,
    )
    costs = {
        edge: {"m1": (affinity / STEPS).astype(np.float32), "distance": np.ones(affinity.shape, np.float32)}
        for edge, affinity in enumerate(frame.affinities)
        if affinity.size
    }
    data = {
        "coordinates": ([peaks[:, :2] for peaks in frame.peaks],),
        "confidence": [peaks[:, 2:3] for peaks in frame.peaks],
        "costs": costs,
    }
    animals, _ = assembler._assemble(data, 0)
    result = []
    for animal in animals or []:
        numbers: list[int | None] = []
        for point, row in enumerate(animal.data):
            at = np.flatnonzero((frame.peaks[point][:, :2] == row[:2]).all(1))
            numbers.append(int(at[0]) if at.size else None)
        result.append((float(animal.affinity), numbers))
    return result


def text(frame: Frame) -> str:
    lines = [f"frame {len(frame.peaks)} {frame.animals} {' '.join(f'{a}-{b}' for a, b in frame.edges)}"]
    lines += [" ".join(["peaks", *(f"{x:.1f},{y:.1f},{score:.4f}" for x, y, score, _ in peaks)]) for peaks in frame.peaks]
    lines += [" ".join(["lines", *map(str, values.flatten())]) for values in frame.affinities]
    for affinity, numbers in assembled(frame):
        lines.append(" ".join([f"animal {affinity:.5f}", *("-" if number is None else str(number) for number in numbers)]))
    return "\n".join(lines) + "\n"


def main() -> int:
    if not 2 <= len(sys.argv) <= 4:
        print(__doc__, file=sys.stderr)
        return 2
    frames, seed = (int(sys.argv[at]) if len(sys.argv) > at else default for at, default in ((2, FRAMES), (3, SEED)))
    random = np.random.default_rng(seed)
    Path(sys.argv[1]).write_text("".join(text(made(random)) for _ in range(frames)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
