"""Runs the tracker with many settings on poses, and scores the identities that it gives."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cudainfer_tools.pipeline import PipelineError
from cudainfer_tools.tune_tracker.poses import PoseClip
from cudainfer_tools.tune_tracker.search import TRIED, WITH_WEAK, Setting, Tried, confidences, options, words

# Gains of IDF1 that are worth a longer line: one exchange of identities early or late in a clip makes tens of points or none.
LEAST_GAIN = 1.0
# Sigmas for all points alike, and thresholds for confidences that are means of peaks, which are lower than a detector's.
SIGMAS = (0.05, 0.1, 0.2, 0.3, 0.6, 0.8)
LOWER = (0.1, 0.15)


@dataclass(frozen=True)
class PoseScores:
    """What a tracker's identities are worth on a clip."""

    # The share of labelled poses and given identities that are right, by the best choice of whose each identity is (Ristani et al.,
    # "Performance Measures and a Data Set for Multi-Target, Multi-Camera Tracking", 2016), in per cent.
    idf1: float
    # How often an animal's identity is another one than before, and how often an animal that is found loses its identity.
    switches: int
    breaks: int
    # Identities that were given.
    identities: int

    def figures(self) -> dict[str, float]:
        return {"IDF1": self.idf1, "switches": self.switches, "breaks": self.breaks, "identities": self.identities}


def scores(clip: PoseClip, given: list[list[int]]) -> PoseScores:
    """Identities against the animals that the poses are."""
    from scipy.optimize import linear_sum_assignment

    pairs: dict[tuple[int, int], int] = {}
    last: dict[int, int] = {}
    had: set[int] = set()
    switches = breaks = 0
    for animals, identities in zip(clip.animals, given, strict=True):
        for animal, identity in zip(animals, identities, strict=True):
            if animal and identity:
                switches += last.get(animal, identity) != identity
                last[animal] = identity
                had.add(animal)
                pairs[animal, identity] = pairs.get((animal, identity), 0) + 1
            elif animal:
                breaks += animal in had
                had.discard(animal)
    known = sorted({identity for frame in given for identity in frame if identity})
    table = np.zeros((len(clip.identities), len(known)))
    for (animal, identity), count in pairs.items():
        table[animal - 1, known.index(identity)] = count
    right = table[linear_sum_assignment(-table)].sum()
    total = sum(clip.labelled) + sum(identity > 0 for frame in given for identity in frame)
    return PoseScores(float(200 * right / total), switches, breaks, len(known))


def tried(clip: PoseClip) -> Tried:
    """What is tried, in this order: what boxes have, and before it what poses have besides."""
    every = tuple(dict.fromkeys(algorithm for algorithms, _ in TRIED for algorithm in algorithms))
    others = "iou" if clip.is_boxed() else "keypoint-boxes"
    of_poses = [
        (every, options("max-tracks", len(clip.identities))),
        (every, [{"similarity": "oks", "sigmas": f"{sigma:g}"} for sigma in SIGMAS]),
        (every, [{"similarity": others, "sigmas": ""}]),
        (WITH_WEAK, [confidences(low, low) for low in LOWER]),
    ]
    return [*of_poses, *TRIED]


def arguments(setting: Setting, is_boxed: bool, file: Path) -> list[str]:
    """Those of the example `identities`."""
    values = dict(setting)
    own = [values.pop("algorithm"), values.pop("max-tracks", "0"), "oks" if values.pop("similarity") == "oks" else "iou"]
    more = [f"{name}={value}" for name, value in sorted(values.items())]
    return [*own, str(file), *(["boxes=detector"] if is_boxed else []), *more]


class PoseTrials:
    """What settings reach on clips, such as the halves of one."""

    def __init__(self, clips: tuple[PoseClip, ...], program: Path, folder: Path) -> None:
        self.clips = clips
        self.program = program
        self.known: dict[tuple[Setting, int], PoseScores] = {}
        self.files = [folder / f"poses-{number}.csv" for number in range(len(clips))]
        for clip, file in zip(clips, self.files, strict=True):
            file.write_text("".join(line + "\n" for line in clip.lines()))
        self.pool = ThreadPoolExecutor(len(os.sched_getaffinity(0)))

    def run(self, setting: Setting, number: int) -> PoseScores:
        clip = self.clips[number]
        command = [str(self.program), *arguments(setting, clip.is_boxed(), self.files[number])]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise PipelineError(f"{self.program} failed with {words(setting)}: {done.stderr.strip()}")
        found = iter(map(int, done.stdout.split()))
        return scores(clip, [[next(found) for _ in frame] for frame in clip.found])

    def of(self, wanted: list[Setting], number: int) -> list[PoseScores]:
        """What settings reach on the clip of this number."""
        new = [one for one in dict.fromkeys(wanted) if (one, number) not in self.known]
        for one, reached in zip(new, self.pool.map(lambda one: self.run(one, number), new), strict=True):
            self.known[one, number] = reached
        return [self.known[one, number] for one in wanted]

    def by(self, number: int) -> Callable[[list[Setting]], list[float]]:
        """IDF1 on the clip of this number."""
        return lambda wanted: [one.idf1 for one in self.of(wanted, number)]

    def settings(self) -> int:
        """How many settings were tried."""
        return len({one for one, _ in self.known})
