"""Runs every tracking algorithm, and those of the Python package `trackers`, over the detections of a MOTChallenge folder and
scores them with TrackEval. Started by scripts/evaluate mot.

    python3 tools evaluate.mot DIR [--video SEQUENCE=FILE] [--results FOLDER]

DIR has a folder a sequence: det/det.txt, gt/gt.txt and seqinfo.ini. With --video, only that sequence is taken, and instead of
det.txt what detect-track.launch finds in the video. Every tracker has its own defaults, the same for all sequences; SORT's
authors' confidence threshold is theirs. Those that our `auto` was tuned on are also scored apart from the others. What is
printed goes to mot-NAME.txt in FOLDER (default: benches/results), the tracks to out/evaluate.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import subprocess
import sys
from pathlib import Path

import numpy as np

from cudainfer_tools.evaluate import tracks
from cudainfer_tools.evaluate.mot_scores import Sequence, read_mot, scores, sequence
from cudainfer_tools.repository import ROOT

# Ours, and the class of `trackers` that is the reference for it.
REFERENCES = {
    "sort": "SORTTracker",
    "bytetrack": "ByteTrackTracker",
    "ocsort": "OCSORTTracker",
    "botsort": "BoTSORTTracker",
    "cbiou": "CBIoUTracker",
}
# The default, which has no reference: it must be better than all of them.
DEFAULT = "auto"
# HOTA that an algorithm of ours may lie below its reference.
ALLOWED = 0.3
# By how much the default must be better than the best reference.
AHEAD = {"HOTA": 2.0, "IDF1": 3.0}
# What the default was tuned on.
TUNED = {"ADL-Rundle-6", "KITTI-13", "TUD-Campus"}


def by_reference(name: str, detections: np.ndarray, frames: int) -> list[str]:
    """The tracks of `trackers`' class, as MOTChallenge text."""
    import supervision
    import trackers

    tracker, lines = getattr(trackers, name)(), []
    for frame in range(1, frames + 1):
        rows = detections[detections[:, 0] == frame]
        boxes = np.hstack([rows[:, 2:4], rows[:, 2:4] + rows[:, 4:6]])
        reported = supervision.Detections(xyxy=boxes, confidence=rows[:, 6], class_id=np.zeros(len(rows), int))
        found = tracker.update(reported)
        for box, track in zip(found.xyxy, found.tracker_id, strict=True):
            if track >= 0:
                x, y, right, bottom = box
                lines.append(f"{frame},{track + 1},{x:.2f},{y:.2f},{right - x:.2f},{bottom - y:.2f},1,-1,-1,-1\n")
    return lines


def table(found: dict[str, dict[str, float]]) -> list[str]:
    """Trackers by metrics, and whether each of ours is as good as its reference."""
    names = list(next(iter(found.values())))
    lines = ["".join(f"{word:>16}" for word in ["", *names])]
    for who, figures in found.items():
        cells = [f"{value:>16.1f}" if name[0].isupper() else f"{value:>16.0f}" for name, value in figures.items()]
        lines.append(f"{who:>16}{''.join(cells)}")
    for ours, reference in REFERENCES.items():
        if reference in found:
            more = found[ours]["HOTA"] - found[reference]["HOTA"]
            met = "met" if more >= -ALLOWED else "MISSED"
            lines.append(f"{ours}: HOTA {more:+.1f} against {reference} (goal: at least -{ALLOWED}): {met}")
    references = [figures for who, figures in found.items() if who in REFERENCES.values()]
    for metric, goal in AHEAD.items() if DEFAULT in found and references else ():
        more = found[DEFAULT][metric] - max(figures[metric] for figures in references)
        met = "met" if more >= goal else "MISSED"
        lines.append(f"{DEFAULT}: {metric} {more:+.1f} against the best of them (goal: at least +{goal}): {met}")
    return lines


def tracks_of(sequences: dict[Sequence, Path]) -> dict[str, dict[str, Path]]:
    """Files of tracks, by tracker and sequence."""
    files: dict[str, dict[str, Path]] = {}
    for one, detections in sequences.items():
        for who in (DEFAULT, *(name for pair in REFERENCES.items() for name in pair)):
            file = tracks.OUT / f"{who}-{one.name}.txt"
            files.setdefault(who, {})[one.name] = file
            if who in REFERENCES.values():
                file.write_text("".join(by_reference(who, read_mot(detections), one.frames)))
            else:
                tracks.track_detections(detections, who, file)
    return files


def report(sequences: list[Sequence], files: dict[str, dict[str, Path]], why: str = "") -> list[str]:
    names = {one.name for one in sequences}
    chosen = {who: {name: file for name, file in of.items() if name in names} for who, of in files.items()}
    return [f"{', '.join(sorted(names))}: all together{why}", *table(scores(sequences, chosen))]


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/evaluate mot", description=__doc__)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--results", type=Path, default=ROOT / "benches" / "results", metavar="FOLDER")
    parser.add_argument("--video", metavar="SEQUENCE=FILE")
    given = parser.parse_args()
    sequence_of_video, _, video = (given.video or "").partition("=")
    folders = sorted(path.parent.parent for path in given.folder.glob(f"{sequence_of_video or '*'}/det/det.txt"))
    if not folders:
        parser.error(f"there is no {sequence_of_video or '*'}/det/det.txt in '{given.folder}'")
    if given.video and not Path(video).is_file():
        parser.error(f"there is no '{video}': --video is SEQUENCE=FILE")
    if lacking := next((path for path in folders if not (path / "gt" / "gt.txt").is_file()), None):
        parser.error(f"'{lacking}' has no gt/gt.txt")
    tracks.OUT.mkdir(parents=True, exist_ok=True)
    sequences = {sequence(path, path / "det" / "det.txt"): path / "det" / "det.txt" for path in folders}
    try:
        if given.video:
            sequences = {one: tracks.detect(Path(video)) for one in sequences}
        files = tracks_of(sequences)
    except subprocess.CalledProcessError as error:
        print(f"evaluate: {error.cmd[0]} failed, see above", file=sys.stderr)
        return 1
    versions = " ".join(f"{name} {importlib.metadata.version(name)}" for name in ("trackers", "trackeval"))
    what = f", the detector's own output on {Path(video).name}" if given.video else ""
    text = [f"scripts/evaluate mot, {versions}{what}", *report(list(sequences), files)]
    tuned = [one for one in sequences if one.name in TUNED]
    if tuned and len(tuned) < len(sequences):
        text += ["", *report(tuned, files, f" (what {DEFAULT} was tuned on)")]
        text += ["", *report([one for one in sequences if one not in tuned], files, " (the others)")]
    for line in text:
        print(line)
    name = Path(video).stem if given.video else given.folder.resolve().name
    (given.results / f"mot-{name}.txt").write_text("\n".join(text) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
