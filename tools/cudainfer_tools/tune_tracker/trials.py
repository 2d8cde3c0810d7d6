"""Runs the tracker with many settings on clips, and scores them, in as many processes as there are cores."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Self

import numpy as np

from cudainfer_tools.evaluate.mot_scores import read_mot
from cudainfer_tools.pipeline import PipelineError
from cudainfer_tools.tune_tracker.clip import Clip
from cudainfer_tools.tune_tracker.scoring import Scorer, together
from cudainfer_tools.tune_tracker.search import Setting, words

MOST_PROCESSES = 16
# Trackers that a process takes at a time.
SHARE = 4


def track(program: Path, clip: Clip, tried: list[Setting], folder: Path) -> list[Path]:
    """The files of tracks of each setting."""
    settings, detections = folder / "settings.txt", folder / "detections.txt"
    settings.write_text("".join(words(one) + "\n" for one in tried))
    np.savetxt(detections, clip.detections, delimiter=",", fmt="%.8g")
    done = subprocess.run([program, "--each", settings, folder, detections], capture_output=True, text=True, check=False)
    if done.returncode:
        raise PipelineError(f"{program} failed: {done.stderr.strip()}")
    return [folder / f"{number}.txt" for number in range(len(tried))]


# The scorers of this process, one for each clip.
SCORERS: list[Scorer] = []


def begin(clips: tuple[Clip, ...]) -> None:
    SCORERS[:] = [Scorer(clip) for clip in clips]


def score(asked: tuple[int, Path]) -> dict:
    number, file = asked
    return SCORERS[number].hota(read_mot(file))


class Trials:
    """What settings reach on clips, such as the halves of one."""

    def __init__(self, clips: tuple[Clip, ...], program: Path) -> None:
        self.clips = clips
        self.program = program
        self.known: dict[tuple[Setting, int], dict] = {}
        # A fork would copy what other threads hold.
        processes = min(len(os.sched_getaffinity(0)), MOST_PROCESSES)
        self.pool = multiprocessing.get_context("spawn").Pool(processes, begin, (clips,))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.pool.terminate()

    def of(self, tried: list[Setting], number: int) -> list[dict]:
        """What HOTA is made of on the clip of this number."""
        new = [one for one in dict.fromkeys(tried) if (one, number) not in self.known]
        if new:
            with tempfile.TemporaryDirectory() as folder:
                files = track(self.program, self.clips[number], new, Path(folder))
                found = self.pool.map(score, [(number, file) for file in files], SHARE)
            self.known |= {(one, number): parts for one, parts in zip(new, found, strict=True)}
        return [self.known[one, number] for one in tried]

    def by(self, *clips: int) -> Callable[[list[Setting]], list[float]]:
        """HOTA over these clips together, by their numbers."""

        def score_all(tried: list[Setting]) -> list[float]:
            parts = [self.of(tried, number) for number in clips]
            return [together(*of_one) for of_one in zip(*parts, strict=True)]

        return score_all

    def settings(self) -> int:
        """How many settings were tried."""
        return len({one for one, _ in self.known})
