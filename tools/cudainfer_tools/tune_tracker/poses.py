"""A clip of poses with known identities: what was found, whose each is, and what is wrong with them."""

from __future__ import annotations

import csv
import json
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cudainfer_tools.evaluate.identities import UsualSize
from cudainfer_tools.pipeline import PipelineError
from cudainfer_tools.tune_tracker.clip import BEYOND, LEAST_FRAMES

SUFFIXES = {".csv", ".jsonl"}
# The first pixel's centre is 0 in SLEAP's tables, and 0.5 in our records.
HALF = 0.5
# How far the points of a pose may be from those of the ground truth, as a part of its size, to be the same animal's.
NEAR = 0.5


@dataclass(frozen=True)
class Pose:
    """Points by their names, in pixels."""

    points: dict[str, tuple[float, float]]
    # Of the ground truth; "" where nobody has said who it is.
    identity: str
    confidence: float
    # The detector's x, y, width and height.
    box: tuple[float, float, float, float] | None = None


# The poses of each frame, from 0.
Frames = list[list[Pose]]


@dataclass(frozen=True)
class PoseClip:
    """What was found, and for each pose the number of the animal that it is, from 1; 0 for none."""

    found: Frames
    animals: list[list[int]]
    # The poses of the ground truth, whether they were found or not, and its identities.
    labelled: list[int]
    identities: list[str]

    def part(self, first: int, last: int) -> PoseClip:
        """The frames from `first` up to `last`, which is not one of them."""
        here = slice(first, last)
        return PoseClip(self.found[here], self.animals[here], self.labelled[here], self.identities)

    def halves(self) -> tuple[PoseClip, PoseClip]:
        middle = len(self.found) // 2
        return self.part(0, middle), self.part(middle, len(self.found))

    def is_boxed(self) -> bool:
        """Whether a detector has boxed most poses."""
        all_found = [pose for frame in self.found for pose in frame]
        return 2 * sum(pose.box is not None for pose in all_found) > len(all_found)

    def lines(self) -> list[str]:
        """As the example `identities` of the crate kernels reads them."""
        names = sorted({name for frame in self.found for pose in frame for name in pose.points})
        usual, made = UsualSize(), []
        for number, frame in enumerate(self.found):
            for pose in frame:
                points = tuple(pose.points.get(name, (math.nan, math.nan)) for name in names)
                box = pose.box or usual.box(points)
                values = [*box, *(value for point in points for value in point)]
                made.append(f"{number},{pose.confidence:.4f}," + ",".join(f"{value:.3f}" for value in values))
        return made


def read_frames(file: Path, what: str) -> Frames:
    """The poses of a SLEAP table (as inferpublish format=sleap and SLEAP's "Export Analysis CSV" write it) or of inferpublish's records."""
    if not file.is_file():
        raise PipelineError(f"there is no {what} '{file}'")
    frames = read_table(file, what) if file.suffix == ".csv" else read_records(file, what)
    if not any(frames):
        raise PipelineError(f"{what} '{file}' has no poses: there is nothing to compare")
    return frames


def read_table(file: Path, what: str) -> Frames:
    with file.open(newline="", errors="replace") as lines:
        rows = list(csv.reader(lines))
    head = rows[0] if rows else []
    columns = {name: place for place, name in enumerate(head)}
    names = [name.removesuffix(".x") for name in head if name.endswith(".x") and f"{name[:-2]}.y" in columns]
    if "frame_idx" not in columns or "track" not in columns or not names:
        raise PipelineError(
            f"{what} '{file}' is no table of SLEAP: its header needs track, frame_idx and NODE.x, NODE.y for each point, as SLEAP's "
            "Export Analysis CSV and inferpublish format=sleap write them"
        )
    frames: Frames = []
    for number, row in enumerate(rows[1:], 2):
        if not row:
            continue
        try:
            frame = int(row[columns["frame_idx"]])
            points = {name: at for name in names if (at := table_point(row, columns, name))}
            scores = [float(text) for name in names if name in points and (text := cell(row, columns, f"{name}.score"))]
        except (ValueError, IndexError):
            raise PipelineError(f"{what} '{file}', line {number}: a frame or a coordinate is no number") from None
        if frame < 0:
            raise PipelineError(f"{what} '{file}', line {number} is of frame {frame}, but frames count from 0")
        frames.extend([] for _ in range(frame + 1 - len(frames)))
        if points:
            confidence = sum(scores) / len(scores) if scores else 1.0
            frames[frame].append(Pose(points, row[columns["track"]].strip(), confidence))
    return frames


def cell(row: list[str], columns: dict[str, int], name: str) -> str:
    return row[columns[name]].strip() if name in columns else ""


def table_point(row: list[str], columns: dict[str, int], name: str) -> tuple[float, float] | None:
    x, y = (cell(row, columns, f"{name}.{axis}") for axis in "xy")
    found = (float(x) + HALF, float(y) + HALF) if x and y else None
    return found if found and all(map(math.isfinite, found)) else None


def read_records(file: Path, what: str) -> Frames:
    frames: Frames = []
    for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
        try:
            record = json.loads(line)
            frame, objects = int(record["frame"]), record["objects"]
            poses = [pose for one in objects if (pose := record_pose(one))]
        except (ValueError, KeyError, TypeError):
            raise PipelineError(
                f"{what} '{file}', line {number} is no record of a frame: its lines must be those of inferpublish without send="
            ) from None
        frames.extend([] for _ in range(frame + 1 - len(frames)))
        frames[frame] = poses
    return frames


def record_pose(one: dict) -> Pose | None:
    points = {point["name"]: (point["x"], point["y"]) for point in one.get("keypoints", [])}
    if not points:
        return None
    scores = [point["score"] for point in one["keypoints"]]
    box = one.get("box")
    found = tuple(box[side] for side in "xywh") if box and box["w"] > 0 and box["h"] > 0 else None
    track = one.get("track")
    identity = str(track["id"]) if track and track.get("state") != "lost" else ""
    return Pose(points, identity, one.get("confidence", sum(scores) / len(scores)), found)


def size(pose: Pose) -> float:
    """The root of the area of the square around the points; at least a pixel."""
    return max(*(max(axis) - min(axis) for axis in zip(*pose.points.values(), strict=True)), 1.0)


def apart(truth: Pose, found: Pose) -> float:
    """The mean distance of the points that both have, as a part of the ground truth's size; infinite where they share none."""
    shared = truth.points.keys() & found.points.keys()
    if not shared:
        return math.inf
    return sum(math.dist(truth.points[name], found.points[name]) for name in shared) / len(shared) / size(truth)


def animals_of(truth: list[Pose], found: list[Pose], numbers: dict[str, int]) -> list[int]:
    """For each pose that was found the number of its animal, by the pairs that are nearest to each other together."""
    from scipy.optimize import linear_sum_assignment

    given = [0] * len(found)
    known = [pose for pose in truth if pose.identity]
    if not known or not found:
        return given
    # What is not near costs as much as no pair at all.
    distances = np.array([[min(apart(one, other), NEAR) for other in found] for one in known])
    for one, other in zip(*linear_sum_assignment(distances), strict=True):
        if distances[one, other] < NEAR:
            given[other] = numbers[known[one].identity]
    return given


def read(source: Path, ground_truth: Path) -> PoseClip:
    """A clip, whose ground truth must be its own."""
    truth, found = read_frames(ground_truth, "the ground truth"), read_frames(source, "the file of poses")
    identities = sorted({pose.identity for frame in truth for pose in frame if pose.identity})
    if not identities:
        raise PipelineError(
            f"the ground truth '{ground_truth}' has no identities: name the animals in its column track, or give records with tracks"
        )
    for number, frame in enumerate(truth):
        names = [pose.identity for pose in frame if pose.identity]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise PipelineError(f"the ground truth '{ground_truth}' has '{twice}' twice in frame {number}: an animal is there once")
    check_names(truth, found, ground_truth, source)
    labelled = [sum(bool(pose.identity) for pose in frame) for frame in truth]
    beyond = sum(labelled[len(found) :])
    if beyond > (0 if source.suffix == ".jsonl" else BEYOND * sum(labelled)):
        raise PipelineError(
            f"the ground truth goes to frame {len(truth) - 1}, and the clip to frame {len(found) - 1}: '{ground_truth}' is of another video, "
            "or of a longer one"
        )
    frames = max(len(truth), len(found))
    for listed in (truth, found):
        listed.extend([] for _ in range(frames - len(listed)))
    labelled.extend([0] * (frames - len(labelled)))
    numbers = {identity: number for number, identity in enumerate(identities, 1)}
    animals = [animals_of(*pair, numbers) for pair in zip(truth, found, strict=True)]
    clip = PoseClip(found, animals, labelled, identities)
    check(clip, ground_truth)
    return clip


def check_names(truth: Frames, found: Frames, ground_truth: Path, source: Path) -> None:
    ours, theirs = ({name for frame in frames for pose in frame for name in pose.points} for frames in (truth, found))
    if not ours & theirs:
        raise PipelineError(
            f"'{ground_truth}' has the points {', '.join(sorted(ours))}, and '{source}' has {', '.join(sorted(theirs))}: the ground truth is of "
            "another skeleton"
        )


def check(clip: PoseClip, ground_truth: Path) -> None:
    found, labelled = sum(number > 0 for frame in clip.animals for number in frame), sum(clip.labelled)
    if not found:
        raise PipelineError(
            f"none of the {labelled} poses of '{ground_truth}' has a found one near it: the ground truth is of another video, or in another "
            "size"
        )
    for name, half in zip(("first", "second"), clip.halves(), strict=True):
        if len(half.found) < LEAST_FRAMES or not any(map(any, half.animals)):
            raise PipelineError(
                f"the {name} half of the clip, of {len(half.found)} frames, has {sum(half.labelled)} poses of ground truth and "
                f"{sum(map(len, half.found))} found ones: parameters are chosen on one half and tried on the other, so both need some"
            )
    print(
        f"{len(clip.found)} frames, {sum(map(len, clip.found))} poses of {len(clip.identities)} animals; they find "
        f"{found / labelled:.0%} of {labelled} labelled ones"
    )
