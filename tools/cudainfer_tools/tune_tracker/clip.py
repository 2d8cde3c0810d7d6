"""A labelled clip: its detections and its ground truth, and what is wrong with them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cudainfer_tools.pipeline import PipelineError

# Columns of MOTChallenge text: frame, identity, x, y, width, height, confidence (in ground truth 0 where a row does not count).
FRAME, BOX, CONFIDENCE = 0, slice(2, 6), 6
# Of ground truth from MOT16 on, which has nine columns: the class, of which 1 is a pedestrian.
CLASS, PEDESTRIAN = 7, 1
# The overlap from which a detection finds an object.
FOUND = 0.5
# The share of the ground truth that may lie after the last detection of a text file, which does not say how long the clip is.
BEYOND = 0.1
# Frames of a half with which a tracker has something to do.
LEAST_FRAMES = 10


@dataclass(frozen=True)
class Clip:
    """Rows of MOTChallenge text, and how many frames there are."""

    detections: np.ndarray
    truth: np.ndarray
    frames: int

    def part(self, first: int, last: int) -> Clip:
        """The frames from `first` to `last`, counted from 1 again."""

        def cut(rows: np.ndarray) -> np.ndarray:
            inside = rows[(rows[:, FRAME] >= first) & (rows[:, FRAME] <= last)].copy()
            inside[:, FRAME] -= first - 1
            return inside

        return Clip(cut(self.detections), cut(self.truth), last - first + 1)

    def halves(self) -> tuple[Clip, Clip]:
        middle = self.frames // 2
        return self.part(1, middle), self.part(middle + 1, self.frames)

    def benchmark(self) -> str:
        """By whose rules TrackEval counts: MOT15 has ten columns and marks nothing as a class of its own."""
        return "MOT17" if self.truth.shape[1] <= 9 else "MOT15"

    def counted(self) -> np.ndarray:
        """The rows of the ground truth that TrackEval counts."""
        rows = self.truth[self.truth[:, CONFIDENCE] != 0]
        return rows[rows[:, CLASS] == PEDESTRIAN] if self.benchmark() == "MOT17" else rows

    def found(self) -> int:
        """How many boxes of the ground truth that count have a detection on them."""
        counted, found = self.counted(), 0
        for frame in np.unique(counted[:, FRAME]):
            theirs = self.detections[self.detections[:, FRAME] == frame][:, BOX]
            ours = counted[counted[:, FRAME] == frame][:, BOX]
            found += int((overlaps(ours, theirs).max(axis=1, initial=0.0) >= FOUND).sum())
        return found


def overlaps(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The IoU of each box x, y, width, height of `a` with each of `b`."""
    low = np.maximum(a[:, None, :2], b[None, :, :2])
    high = np.minimum((a[:, :2] + a[:, 2:])[:, None], (b[:, :2] + b[:, 2:])[None])
    shared = np.clip(high - low, 0, None).prod(axis=2)
    union = a[:, 2:].prod(axis=1)[:, None] + b[:, 2:].prod(axis=1)[None] - shared
    return np.divide(shared, union, out=np.zeros_like(shared), where=union > 0)


def read_rows(file: Path, what: str, columns: int) -> np.ndarray:
    """The rows of MOTChallenge text, of at least `columns` columns."""
    rows: list[list[float]] = []
    for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
        if not line.strip():
            continue
        try:
            values = [float(value) for value in line.split(",")]
        except ValueError:
            raise PipelineError(
                f"{what} '{file}', line {number}: '{line[:60]}' is not a row of numbers with commas between. A file of the MOTChallenge "
                "has frame,identity,x,y,width,height,confidence and more"
            ) from None
        if len(values) < columns:
            raise PipelineError(
                f"{what} '{file}', line {number} has {len(values)} columns, and at least {columns} are needed: "
                f"{','.join(('frame', 'identity', 'x', 'y', 'width', 'height', 'confidence', 'class')[:columns])}"
            )
        if rows and len(values) != len(rows[0]):
            raise PipelineError(f"{what} '{file}', line {number} has {len(values)} columns, and the first has {len(rows[0])}")
        if values[FRAME] < 1:
            raise PipelineError(f"{what} '{file}', line {number} is of frame {values[FRAME]:g}, but frames count from 1")
        rows.append(values)
    if not rows:
        raise PipelineError(f"{what} '{file}' is empty: there is nothing to score tracks by")
    return np.array(rows)


def truth_file(path: Path) -> Path:
    """The file of ground truth, which may be named by its folder."""
    found = path / "gt" / "gt.txt" if path.is_dir() else path
    if not found.is_file():
        raise PipelineError(f"there is no '{found}': --ground-truth is a gt.txt of the MOTChallenge, or the folder with gt/gt.txt")
    return found


def read_records(file: Path, classes: list[str]) -> tuple[np.ndarray, int]:
    """Rows of detections from inferpublish's JSON lines, and the number of frames."""
    rows, labels, frames = [], set(), 0
    for number, line in enumerate(file.read_text().splitlines(), 1):
        try:
            record = json.loads(line)
            frame, objects = int(record["frame"]) + 1, record["objects"]
        except (ValueError, KeyError, TypeError):
            raise PipelineError(
                f"'{file}', line {number} is no record of a frame: its lines must be those of inferpublish without send=, or a text file "
                "of the MOTChallenge"
            ) from None
        frames = max(frames, frame)
        for one in objects:
            if (box := one.get("box")) and (not classes or one.get("label") in classes):
                labels.add(one.get("label", ""))
                rows.append([frame, -1, *(box[side] for side in "xywh"), one.get("confidence", 1.0), -1, -1, -1])
    if len(labels) > 1:
        raise PipelineError(
            f"'{file}' has objects of several classes, {', '.join(sorted(labels))}: name those of the ground truth, as in "
            f"--classes {min(labels)}"
        )
    if not rows:
        wanted = f" of the classes {', '.join(classes)}" if classes else ""
        raise PipelineError(f"'{file}' has no boxes{wanted}: there is nothing to track")
    return np.array(rows, float), frames


def read(detections: Path, ground_truth: Path, classes: list[str]) -> Clip:
    """A clip, whose ground truth must be its own."""
    file = truth_file(ground_truth)
    truth = read_rows(file, "the ground truth", 8)
    last = int(truth[:, FRAME].max())
    if detections.suffix == ".jsonl":
        rows, frames = read_records(detections, classes)
        beyond = last > frames
    else:
        rows = read_rows(detections, "the detections", 7)
        frames = int(rows[:, FRAME].max())
        beyond = float((truth[:, FRAME] > frames).mean()) > BEYOND
    if beyond:
        raise PipelineError(
            f"the ground truth goes to frame {last}, and the clip has {frames}: '{file}' is of another video, or of a longer one"
        )
    clip = Clip(rows, truth, max(frames, last))
    check(clip, file)
    return clip


def check(clip: Clip, file: Path) -> None:
    counted = clip.counted()
    if not len(counted):
        raise PipelineError(
            f"'{file}' has {len(clip.truth)} rows, but none counts: the seventh column is 0, or the eighth no pedestrian's class (1)"
        )
    if not (found := clip.found()):
        raise PipelineError(
            f"none of the {len(counted)} boxes of '{file}' has a detection on it: the ground truth is of another video, or in another size"
        )
    for name, half in zip(("first", "second"), clip.halves(), strict=True):
        if half.frames < LEAST_FRAMES or not len(half.counted()) or not len(half.detections):
            raise PipelineError(
                f"the {name} half of the clip, of {half.frames} frames, has {len(half.counted())} boxes of ground truth and "
                f"{len(half.detections)} detections: parameters are chosen on one half and tried on the other, so both need some"
            )
    share = found / len(counted)
    print(f"{clip.frames} frames, {len(clip.detections)} detections; they find {share:.0%} of {len(counted)} boxes (IoU {FOUND:g})")
