"""Compares the points and instances of a lab's SLEAP models, as scripts/export writes them and as `sleap-nn export` does, with
what sleap-nn itself predicts. Started by scripts/evaluate.

    python3 tools evaluate.sleap --checkpoints DIR --exports DIR --video FILE --reference PYTHON [--every N]

Both sides get the same frames, decoded once to grey, at their own size and cut to one that no stride divides, and both run on
the CPU. Of checkpoints, sleap-nn runs its PyTorch path; of exports, ONNX Runtime. See reference/sleap_predict.py.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cudainfer_tools import pipeline, repository
from cudainfer_tools.evaluate.pose import FAR, decode, instances
from cudainfer_tools.repository import ROOT

OUT = ROOT / "out" / "evaluate" / "sleap"
RESULTS = ROOT / "benches" / "results" / "sleap-accuracy.txt"
GOAL_PIXELS = 0.05
# Width and height that frames are cut to, and the corner of the cut: no multiples of 8, which the networks need. They are
# even, because sleap-nn rounds a scaled odd side and places points as if it had not, and rows of 4 pixels need no padding.
OTHER, CORNER = (380, 370), (3, 5)


@dataclass(frozen=True)
class Way:
    """A model, or a pair of them, by the names of their folders."""

    title: str
    kind: str
    folders: tuple[str, ...]
    points: tuple[str, ...] = ("A", "B")
    threshold: float = 0.2


# A threshold below sleap-nn's own gives what is grouped more to choose from.
CHECKPOINTS = (
    Way("single_instance", "checkpoints", ("single_instance",)),
    Way("centroid", "checkpoints", ("centroid",), ("centroid",)),
    Way("centroid and centered_instance", "checkpoints", ("centroid", "centered_instance")),
    Way("bottomup", "checkpoints", ("bottomup",)),
    Way("bottomup, threshold 0.05", "checkpoints", ("bottomup",), threshold=0.05),
)
EXPORTS = (
    Way("single_instance", "export", ("single_instance",)),
    Way("centroid", "export", ("centroid",), ("centroid",)),
    Way("topdown", "export", ("topdown",)),
    Way("bottomup", "export", ("bottomup",)),
)


@dataclass
class Comparison:
    """Instances of both sides that have no twin, points that only one twin has, and the distances of the others."""

    theirs: int = 0
    ours: int = 0
    missing: int = 0
    more: int = 0
    lonely: int = 0
    distances: tuple[float, ...] = ()

    def add(self, ours: np.ndarray, theirs: np.ndarray) -> None:
        """Instances `[I, N, 3]` of a frame: each of theirs is paired with the nearest one of ours that is left."""
        self.theirs += len(theirs)
        self.ours += len(ours)
        left = list(range(len(ours)))
        for other in theirs:
            apart = [np.hypot(*(ours[i] - other)[:, :2].T) for i in left]
            common = [found[~np.isnan(found)] for found in apart]
            best = min(range(len(left)), key=lambda i: common[i].mean() if len(common[i]) else np.inf, default=None)
            if best is None or not len(common[best]) or common[best].mean() > FAR:
                self.missing += 1
                continue
            mine = ours[left.pop(best)]
            self.lonely += int((np.isnan(mine[:, 0]) != np.isnan(other[:, 0])).sum())
            self.distances += tuple(common[best])
        self.more += len(left)

    def line(self, title: str, frames: int) -> str:
        most, mean = (max(self.distances), float(np.mean(self.distances))) if self.distances else (0.0, 0.0)
        same = not (self.missing or self.more or self.lonely)
        met = "met" if same and most <= GOAL_PIXELS else "MISSED"
        return (
            f"{title}: {frames} frames, {self.theirs} instances of sleap-nn, {self.ours} of ours; {self.missing} missing, "
            f"{self.more} more, {self.lonely} points of one side only; {len(self.distances)} points apart by {mean:.4f} px (mean), "
            f"{most:.4f} (most): {met}"
        )


def cut(frames: Path, size: tuple[int, int], to: Path) -> None:
    """Writes a part of each frame."""
    (width, height), (x, y) = OTHER, CORNER
    whole = np.memmap(frames, np.uint8, "r").reshape(-1, size[1], size[0])
    np.ascontiguousarray(whole[:, y : y + height, x : x + width]).tofile(to)


def found(models: list[Path], way: Way, frames: Path, size: tuple[int, int]) -> list[np.ndarray]:
    """What our pipeline finds: one model, or two, of which the second sees crops around what the first has found."""
    records = OUT / "records.jsonl"
    records.unlink(missing_ok=True)
    form = ["format=gray8", f"width={size[0]}", f"height={size[1]}", "framerate=25/1"]
    line = ["filesrc", f"location={frames}", f"blocksize={size[0] * size[1]}", "!", "rawvideoparse", *form]
    for number, model in enumerate(models):
        line += ["!", "fusedpreproc", *(["roi=objects"] if number else []), "!", "trtinfer", f"model={model}", "!", "peakfind"]
        line += [f"threshold={way.threshold}"] if way.kind == "checkpoints" else []
    line += ["!", "inferpublish", f"location={records}", "!", "fakesink"]
    pipeline.run(line)
    return [boxes_or_points(json.loads(text), way) for text in records.read_text().splitlines()]


def boxes_or_points(record: dict, way: Way) -> np.ndarray:
    """A record's instances; those of a centroid model are boxes without a size."""
    if way.points != ("centroid",):
        return instances(record, list(way.points))
    boxes = [one["box"] for one in record["objects"]]
    return np.array([[[box["x"] - 0.5, box["y"] - 0.5, 0.0]] for box in boxes], float).reshape(-1, 1, 3)


def predicted(folders: list[Path], way: Way, frames: Path, size: tuple[int, int], python: Path) -> list[np.ndarray]:
    """What sleap-nn predicts of the same frames."""
    command = repository.command("reference.sleap_predict", way.kind, frames, *size, way.threshold, *folders, python=python)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise pipeline.PipelineError(f"{shlex.join(command)} failed: {done.stderr.strip()[-2000:]}")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return [
        np.array([[point or [np.nan] * 3 for point in one] for one in frame], float).reshape(-1, len(way.points), 3)
        for frame in rows
    ]


def compared(given: argparse.Namespace, frames: Path, size: tuple[int, int]) -> list[str]:
    """A line for each model and precision."""
    lines = []
    for way in [*CHECKPOINTS, *EXPORTS]:
        root = given.checkpoints if way.kind == "checkpoints" else given.exports
        theirs = predicted([root / name for name in way.folders], way, frames, size, given.reference)
        # The exports are as sleap-nn has written them.
        for name, precision in (("model.onnx", "float32"), ("model_fp16.onnx", "float16")):
            if way.kind == "export" and precision == "float16":
                continue
            models = [(OUT / "models" if way.kind == "checkpoints" else root) / folder / name for folder in way.folders]
            ours = found(models, way, frames, size)
            if len(ours) != len(theirs):
                raise pipeline.PipelineError(f"{way.title}: {len(ours)} frames of ours, {len(theirs)} of sleap-nn")
            comparison = Comparison()
            for mine, other in zip(ours, theirs, strict=True):
                comparison.add(mine, other)
            source = f"scripts/export, {precision}" if way.kind == "checkpoints" else "sleap-nn export"
            lines.append(comparison.line(f"{way.title} ({source})", len(ours)))
            print(lines[-1], flush=True)
    return lines


def version(python: Path) -> str:
    code = "import importlib.metadata as m; print(*(f'{n} {m.version(n)}' for n in ('sleap-nn', 'torch', 'onnxruntime')), sep=', ')"
    return subprocess.run([python, "-c", code], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/evaluate sleap", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--checkpoints", type=Path, required=True, help="folder of the trainings, one folder for each type")
    parser.add_argument("--exports", type=Path, required=True, help="folder of what `sleap-nn export` made of them")
    parser.add_argument("--video", type=Path, required=True, help="the video of two flies that they were made for")
    parser.add_argument("--reference", type=Path, required=True, help="a Python with sleap-nn, onnx and onnxruntime")
    parser.add_argument("--every", type=int, default=20, metavar="N", help="take every N-th frame (default: 20)")
    given = parser.parse_args()
    for path in (given.checkpoints, given.exports, given.video, given.reference):
        if not path.exists():
            parser.error(f"there is no '{path}'")
    OUT.mkdir(parents=True, exist_ok=True)
    if "GST_PLUGIN_PATH" not in os.environ:
        subprocess.run(["cargo", "build", "--release", "--locked", "--package", "gst-plugin-cudainfer"], cwd=ROOT, check=True)
    for name in sorted({name for way in CHECKPOINTS for name in way.folders}):
        command = repository.command(
            "export.sleap", given.checkpoints / name, "--output", OUT / "models" / name, python=given.reference
        )
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    frames, part = OUT / "frames.gray", OUT / "part.gray"
    size, count = decode(given.video, frames, "GRAY8", given.every)
    cut(frames, size, part)
    lines = [f"scripts/evaluate sleap, commit {commit.stdout.strip()}, {version(given.reference)}"]
    lines.append(
        f"{given.video.name}, every {given.every}. frame ({count}), grey; goal: the same instances, and no point farther than {GOAL_PIXELS} px"
    )
    for pixels, of_size in (frames, size), (part, OTHER):
        lines += [f"{of_size[0]}x{of_size[1]}", *compared(given, pixels, of_size)]
    RESULTS.write_text("\n".join(lines) + "\n")
    print(RESULTS.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    pipeline.start("evaluate", main)
