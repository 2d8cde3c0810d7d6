"""Whether ideas of other trackers make `auto` better, on sequences that took no part in it.

    python3 tools evaluate.ideas DIR [--program MOT] [--results FOLDER]

DIR has a folder a sequence: det/det.txt, gt/gt.txt and seqinfo.ini. Each idea is tried alone, with the numbers of its paper where it has some,
on the detections as published and on four copies whose boxes are shifted and scaled a little and of which one in fifty is missing: an
algorithm whose constants were chosen on these very detections loses by any change, and on the copies it has no such lead. Differences are
paired by sequence, with the interval in which 95 % of the means of resampled sequences lie. The figures go to tracker-ideas.json.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from cudainfer_tools import machine, pipeline
from cudainfer_tools.evaluate.left_out import KEPT, interval
from cudainfer_tools.evaluate.mot_scores import Sequence, read_mot, scores
from cudainfer_tools.repository import ROOT
from cudainfer_tools.tune_tracker import EXAMPLE
from cudainfer_tools.tune_tracker.clip import read

COPIES = 4
# Deviations of a shift, as a share of the box's size, and of the logarithm of its size; the share of boxes that is missing.
SHIFT, SCALE, MISSING = 0.015, 0.02, 0.02

CBIOU = "C-BIoU (Yang et al., WACV 2023)"
HYBRID = "Hybrid-SORT (Yang et al., AAAI 2024)"
BOOST = "BoostTrack (Stanojević and Todorović, 2024)"
BOOST2 = "BoostTrack++ (Stanojević and Todorović, 2024)"
TRACK = "TrackTrack (Shim et al., CVPR 2025)"
FAST = "FastTracker (2025)"
OCSORT = "OC-SORT (Cao et al., CVPR 2023)"
# What is tried, whose it is, and the numbers of kernels/src/track/trial.rs.
IDEAS = [
    ("boxes enlarged by 0.3, then by 0.5", CBIOU, "b1=0.3 b2=0.5"),
    ("boxes as they are, then enlarged by 0.3", CBIOU, "b2=0.3"),
    ("IoU times the overlap of heights", HYBRID, "hm=1"),
    ("difference from the expected confidence, weight 0.3", HYBRID, "tcm=0.3"),
    ("confidence raised to 0.65 of the overlap with a track", BOOST, "dlo=0.65"),
    ("confidence mixed with the overlap with a track (0.65, power 1.5)", BOOST2, "soft=0.65"),
    ("detections far from every track start one sooner", BOOST, "duo=0.05"),
    ("similarity of shape, weight 0.1", BOOST2, "sh=0.1"),
    ("weak and strong detections at once, tracks choose in turns", TRACK, "joint=1 lowpen=0.2 greedy=1"),
    ("weak and strong detections at once, best sum", TRACK, "joint=1 lowpen=0.2"),
    ("no new track that overlaps one by 0.3 or more", TRACK, "tai=0.3"),
    ("occluded tracks slow down (0.9 a frame)", FAST, "occ=0.5 occdamp=0.9"),
    ("occluded tracks live twice as long", FAST, "occ=0.5 occlife=2"),
    ("the filter is run again over a gap", OCSORT, "oru=1"),
]
SEED = 1


def disturbed(rows: np.ndarray, copy: int) -> np.ndarray:
    """The detections of a copy: number 0 is as published."""
    if copy == 0:
        return rows
    chance, changed = np.random.default_rng([SEED, copy]), rows.copy()
    changed[:, 2:4] += chance.normal(0, SHIFT, (len(rows), 2)) * rows[:, 4:6]
    changed[:, 4:6] *= np.exp(chance.normal(0, SCALE, (len(rows), 2)))
    return changed[chance.random(len(rows)) >= MISSING]


def tracks(program: Path, detections: Path, numbers: str, out: Path) -> None:
    with out.open("w") as file:
        command = [program, "--algorithm", "auto", detections]
        subprocess.run(command, env=os.environ | {"CUDAINFER_TRIAL": numbers}, stdout=file, check=True)


def figures(program: Path, folder: Path, copy: int) -> dict[str, dict[str, float]]:
    """Those of each idea on a sequence."""
    clip = read(folder / "det" / "det.txt", folder, [])
    with tempfile.TemporaryDirectory() as place:
        detections = Path(place) / "detections.txt"
        np.savetxt(detections, disturbed(read_mot(folder / "det" / "det.txt"), copy), delimiter=",", fmt="%.8g")
        files = {}
        for number, (_, _, numbers) in enumerate([("", "", ""), *IDEAS]):
            files[str(number)] = Path(place) / f"{number}.txt"
            tracks(program, detections, numbers, files[str(number)])
        sequence = Sequence(folder.name, folder / "gt" / "gt.txt", clip.frames)
        found = scores([sequence], {who: {folder.name: file} for who, file in files.items()})
    return {who: {metric: of[metric] for metric in KEPT} for who, of in found.items()}


def more(found: list[dict[str, dict[str, float]]], number: int, metric: str) -> list[float]:
    """By how much an idea is better than `auto`, sequence by sequence."""
    return [of[str(number)][metric] - of["0"][metric] for of in found]


def difference(by_sequence: list[float]) -> dict[str, float]:
    low, high = interval(by_sequence)
    return {name: round(value, 2) for name, value in {"mean": float(np.mean(by_sequence)), "low": low, "high": high}.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--program", type=Path, help="the example mot, if it has been built elsewhere")
    parser.add_argument("--results", type=Path, default=ROOT / "benches" / "results", metavar="FOLDER")
    given = parser.parse_args()
    if not given.program:
        subprocess.run(EXAMPLE, cwd=ROOT, check=True)
    program = given.program or pipeline.built() / "examples" / "mot"
    folders = sorted(path.parent.parent for path in given.folder.glob("*/det/det.txt"))
    found = [[figures(program, folder, copy) for folder in folders] for copy in range(COPIES + 1)]
    rows = []
    for number, (idea, paper, numbers) in enumerate(IDEAS, 1):
        row: dict = {"idea": idea, "paper": paper, "numbers": numbers}
        for metric in KEPT:
            copies = [more(of_copy, number, metric) for of_copy in found[1:]]
            row[metric] = {
                "as published": difference(more(found[0], number, metric)),
                "disturbed": difference(np.mean(copies, axis=0).tolist()),
            }
        rows.append(row)
        print(row, flush=True)
    means = {metric: [round(float(np.mean([of["0"][metric] for of in copy])), 2) for copy in found] for metric in KEPT}
    result = {"commit": machine.commit(), "sequences": [folder.name for folder in folders], "auto": means, "ideas": rows}
    (given.results / "tracker-ideas.json").write_text(json.dumps(result, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
