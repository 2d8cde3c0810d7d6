"""Scores tracks with TrackEval. Used by scripts/evaluate."""

from __future__ import annotations

import configparser
import contextlib
import io
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

COMBINED = "COMBINED_SEQ"


@dataclass(frozen=True)
class Sequence:
    """Ground truth of the MOTChallenge."""

    name: str
    file: Path
    frames: int


def read_mot(path: Path) -> np.ndarray:
    """The rows of a MOTChallenge file, at least two-dimensional."""
    return np.loadtxt(path, delimiter=",", ndmin=2) if path.stat().st_size else np.zeros((0, 10))


def sequence(ground_truth: Path, *tracks: Path) -> Sequence:
    """That of a file or of a folder with gt/gt.txt; without a seqinfo.ini its length is its last frame, or the tracks'."""
    if not ground_truth.is_dir():
        return Sequence(ground_truth.stem, ground_truth, last_frame(ground_truth, *tracks))
    file, info = ground_truth / "gt" / "gt.txt", configparser.ConfigParser()
    if info.read(ground_truth / "seqinfo.ini"):
        return Sequence(info["Sequence"]["name"], file, int(info["Sequence"]["seqLength"]))
    return Sequence(ground_truth.name, file, last_frame(file, *tracks))


def last_frame(*paths: Path) -> int:
    return int(max((rows[:, 0].max() for rows in map(read_mot, paths) if len(rows)), default=0))


def scores(sequences: list[Sequence], tracks: dict[str, dict[str, Path]]) -> dict[str, dict[str, float]]:
    """TrackEval's figures of each tracker over all sequences, of which `tracks` has its file by the sequence's name: HOTA,
    DetA, AssA, MOTA and IDF1 in per cent, identity switches, false positives and misses."""
    import trackeval

    # MOT15 marks nothing to be ignored; later ground truth has a class and a visibility, and distractors.
    later = any(read_mot(one.file).shape[1] <= 9 for one in sequences)
    with tempfile.TemporaryDirectory() as folder:
        truth, theirs = Path(folder) / "gt", Path(folder) / "tracks"
        for one in sequences:
            (truth / one.name / "gt").mkdir(parents=True)
            shutil.copy(one.file, truth / one.name / "gt" / "gt.txt")
        for who, files in tracks.items():
            (theirs / who / "data").mkdir(parents=True)
            for name, file in files.items():
                shutil.copy(file, theirs / who / "data" / f"{name}.txt")
        quiet = {"PRINT_CONFIG": False, "PRINT_RESULTS": False, "TIME_PROGRESS": False, "BREAK_ON_ERROR": True}
        written = {"OUTPUT_SUMMARY": False, "OUTPUT_DETAILED": False, "PLOT_CURVES": False, "OUTPUT_EMPTY_CLASSES": False}
        # TrackEval prints its progress, and each metric its settings.
        with contextlib.redirect_stdout(io.StringIO()):
            dataset = trackeval.datasets.MotChallenge2DBox(
                {
                    "GT_FOLDER": str(truth),
                    "TRACKERS_FOLDER": str(theirs),
                    "TRACKERS_TO_EVAL": list(tracks),
                    "BENCHMARK": "MOT17" if later else "MOT15",
                    "SKIP_SPLIT_FOL": True,
                    "SEQ_INFO": {one.name: one.frames for one in sequences},
                    "PRINT_CONFIG": False,
                }
            )
            evaluator = trackeval.Evaluator({"USE_PARALLEL": False, "LOG_ON_ERROR": None, **quiet, **written})
            metrics = [trackeval.metrics.HOTA(), trackeval.metrics.CLEAR(), trackeval.metrics.Identity()]
            everything, _ = evaluator.evaluate([dataset], metrics)
    return {who: figures(everything["MotChallenge2DBox"][who][COMBINED]["pedestrian"]) for who in tracks}


def figures(found: dict) -> dict[str, float]:
    hota = {name: 100 * float(np.mean(found["HOTA"][name])) for name in ("HOTA", "DetA", "AssA")}
    return hota | {
        "MOTA": 100 * float(found["CLEAR"]["MOTA"]),
        "IDF1": 100 * float(found["Identity"]["IDF1"]),
        "switches": float(found["CLEAR"]["IDSW"]),
        "false positives": float(found["CLEAR"]["CLR_FP"]),
        "misses": float(found["CLEAR"]["CLR_FN"]),
    }
