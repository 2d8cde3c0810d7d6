"""TrackEval's HOTA of many trackers on one clip, whose ground truth is read once."""

from __future__ import annotations

import contextlib
import io
import itertools
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from cudainfer_tools.tune_tracker.clip import BOX, CLASS, CONFIDENCE, FRAME, Clip, overlaps

IDENTITY = 1
# HOTA is a mean over 19 overlaps from which boxes match; settings are compared by five of them, which takes a third of the time.
ALPHAS = np.arange(0.05, 0.99, 0.2)


class Scorer:
    """The ground truth of a clip."""

    def __init__(self, clip: Clip) -> None:
        import trackeval

        self.clip = clip
        self.truth = by_frame(clip.truth, clip.frames)
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            # It looks for a file, but the rows are handed to it.
            (Path(folder) / "clip" / "gt").mkdir(parents=True)
            (Path(folder) / "clip" / "gt" / "gt.txt").write_text("")
            self.dataset = trackeval.datasets.MotChallenge2DBox(
                {
                    "GT_FOLDER": folder,
                    "TRACKERS_FOLDER": folder,
                    "TRACKERS_TO_EVAL": [],
                    "BENCHMARK": clip.benchmark(),
                    "SKIP_SPLIT_FOL": True,
                    "SEQ_INFO": {"clip": clip.frames},
                    "PRINT_CONFIG": False,
                }
            )
        # It looks for identities that occur twice in a frame, which a tracker never gives, for as long as HOTA itself takes.
        self.dataset._check_unique_ids = lambda *_, **__: None
        self.metric = metric()

    def hota(self, rows: np.ndarray) -> dict:
        """What HOTA is made of, for tracks as MOTChallenge text has them."""
        tracks = by_frame(rows, self.clip.frames)
        pairs = zip(self.truth, tracks, strict=True)
        raw = {
            "num_timesteps": self.clip.frames,
            "seq": "clip",
            "gt_ids": [truth[:, IDENTITY].astype(int) for truth in self.truth],
            "gt_dets": [truth[:, BOX] for truth in self.truth],
            "gt_classes": [truth[:, CLASS].astype(int) for truth in self.truth],
            "gt_extras": [{"zero_marked": truth[:, CONFIDENCE].astype(int)} for truth in self.truth],
            "tracker_ids": [track[:, IDENTITY].astype(int) for track in tracks],
            "tracker_dets": [track[:, BOX] for track in tracks],
            "tracker_classes": [np.ones(len(track), int) for track in tracks],
            "tracker_confidences": [track[:, CONFIDENCE] for track in tracks],
            "similarity_scores": [overlaps(truth[:, BOX], track[:, BOX]) for truth, track in pairs],
        }
        with contextlib.redirect_stdout(io.StringIO()):
            return self.metric.eval_sequence(self.dataset.get_preprocessed_seq_data(raw, "pedestrian"))


def metric() -> Any:
    """HOTA at fewer overlaps."""
    import trackeval

    with contextlib.redirect_stdout(io.StringIO()):
        hota = trackeval.metrics.HOTA()
    hota.array_labels = ALPHAS
    return hota


def by_frame(rows: np.ndarray, frames: int) -> list[np.ndarray]:
    """The rows of each frame."""
    ordered = rows[np.argsort(rows[:, FRAME], kind="stable")]
    edges = np.searchsorted(ordered[:, FRAME], np.arange(1, frames + 2))
    return [ordered[start:end] for start, end in itertools.pairwise(edges)]


def together(*parts: dict) -> float:
    """HOTA over parts of a clip, in per cent."""
    combined = metric().combine_sequences({str(number): part for number, part in enumerate(parts)})
    return 100 * float(np.mean(combined["HOTA"]))
