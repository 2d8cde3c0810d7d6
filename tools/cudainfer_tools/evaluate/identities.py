"""How well identities stay where the number of animals is known (`tracker max-tracks=N`), beside SLEAP's own tracker on the very
same instances. Started by scripts/evaluate.

    python3 tools evaluate.identities [--reference PYTHON] [--models DIR --video FILE]

Ours are scored again after `cudainfer-labels --repair-swaps`. Made videos (evaluate/identity_scenes.py) have known identities: switches are counted. Two flies (--models has SLEAP's networks
centroid.onnx and centered_instance.onnx, --video the video that they were made for) have none: swaps are counted that the nearest
motion speaks against. PYTHON has sleap-nn, see reference/sleap_tracks.py; without it SLEAP's rows stay as the results have them.
The flies' instances are those of pose-topdown with the tracker in it, by the plugin that scripts/run would use; all other rows go
through the example `identities` of the crate kernels, which is the same tracker.
"""

from __future__ import annotations

import argparse
import json
import math
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from cudainfer_tools import pipeline, repository
from cudainfer_tools.evaluate.identity_repairs import repaired
from cudainfer_tools.evaluate.identity_scenes import NAN, SCENES, Frames, Instance, Scene, make
from cudainfer_tools.evaluate.identity_scores import Identities, scores, unaided
from cudainfer_tools.evaluate.tracks import ALGORITHMS
from cudainfer_tools.repository import ROOT

OUT = ROOT / "out" / "evaluate"
RESULTS = ROOT / "benches" / "results"
SIDECARS = ROOT / "pipelines" / "models"
# Their networks by our sidecars' names.
NETWORKS = {"flies-centroid": "centroid", "flies-centered": "centered_instance"}
FLY_POINTS = ("A", "B")
FLIES = 2
SIMILARITIES = ("oks", "iou")
# Where the number of animals is not known, which is not repaired: exchanges are looked for among known individuals.
UNLIMITED = "auto, oks, no limit"
# A box around points has at least this share of its height as width, and the other way round (plugins/src/tracker/scene.rs).
LEAST_RATIO = 0.25
# How much a pose counts for the usual size, and the part of it that an incomplete one has at least (plugins/src/tracker/usual_size.rs).
SHARE, LEAST_SIZE = 0.1, 0.5
# The example, of a debug build: no figure depends on it.
PROGRAM = pipeline.built().parent / "debug" / "examples" / "identities"


def box(points: tuple[tuple[float, float], ...]) -> tuple[float, float, float, float]:
    """x, y, width and height around points, as the element `tracker` has it: not much thinner than long."""
    there = [point for point in points if not math.isnan(point[0])]
    left, right = min(x for x, _ in there), max(x for x, _ in there)
    top, bottom = min(y for _, y in there), max(y for _, y in there)
    wide, high = right - left, bottom - top
    w, h = max(wide, LEAST_RATIO * high, 1.0), max(high, LEAST_RATIO * wide, 1.0)
    return left - (w - wide) / 2, top - (h - high) / 2, w, h


class UsualSize:
    """The size of poses so far, as the element `tracker` has it."""

    def __init__(self) -> None:
        self.points = 0
        self.side = 0.0

    def box(self, points: tuple[tuple[float, float], ...]) -> tuple[float, float, float, float]:
        """The box around points, and not much smaller than complete ones before it if some are missing."""
        x, y, w, h = box(points)
        there, side = sum(not math.isnan(point[0]) for point in points), math.sqrt(w * h)
        if there > max(self.points, 1):
            self.points, self.side = there, side
        elif there == self.points:
            self.side += SHARE * (side - self.side)
        if there >= self.points:
            return x, y, w, h
        wide, high = max(w, LEAST_SIZE * self.side), max(h, LEAST_SIZE * self.side)
        return x - (wide - w) / 2, y - (high - h) / 2, wide, high


def by_ours(frames: Frames, animals: int, algorithm: str, similarity: str) -> Identities:
    """The identities that our tracker gives."""
    file, usual = OUT / "instances.csv", UsualSize()
    with file.open("w") as lines:
        for number, frame in enumerate(frames):
            for one in frame:
                values = [*usual.box(one.points), *(v for point in one.points for v in point)]
                lines.write(f"{number},{one.score:.4f}," + ",".join(f"{value:.3f}" for value in values) + "\n")
    command = [str(PROGRAM), algorithm, str(animals), similarity, str(file)]
    found = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    given = iter(map(int, found))
    return [[next(given) for _ in frame] for frame in frames]


def all_of_ours(frames: Frames, animals: int) -> dict[str, Identities]:
    """The identities by each algorithm and similarity."""
    ways = [(algorithm, similarity) for similarity in SIMILARITIES for algorithm in ALGORITHMS]
    return {f"{algorithm}, {similarity}": by_ours(frames, animals, algorithm, similarity) for algorithm, similarity in ways}


def without_limit(frames: Frames, score: Callable[[Identities], dict]) -> dict[str, dict]:
    """Figures of the default where the number of animals is not set."""
    return {UNLIMITED: score(by_ours(frames, 0, "auto", "oks"))}


def by_sleap(frames: Frames, animals: int, python: Path) -> tuple[str, dict[str, Identities]]:
    """The version of sleap-nn, and the identities that its tracker gives, by the way that it is set up."""
    file = OUT / "instances.jsonl"
    points = [[[p if not math.isnan(p[0]) else None for p in one.points] for one in frame] for frame in frames]
    rows = [
        [[one.score, found] for one, found in zip(frame, all_of, strict=True)] for frame, all_of in zip(frames, points, strict=True)
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = repository.command("reference.sleap_tracks", animals, file, python=python)
    answer = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
    return answer["version"], answer["identities"]


def made(scene: Scene, reference: Reference) -> dict:
    """Figures of a made video."""
    frames = make(scene)

    def score(identities: Identities) -> dict:
        return vars(scores(frames, identities, scene.animals))

    theirs, kept = reference.identities(scene.name, frames, scene.animals)
    figures = kept | {who: score(given) for who, given in theirs.items()} | twice(frames, all_of_ours(frames, scene.animals), score)
    figures |= without_limit(frames, score)
    return {"name": scene.name, "what": scene.what, "animals": scene.animals, "frames": scene.frames, "trackers": figures}


def twice(frames: Frames, found: dict[str, Identities], score: Callable[[Identities], dict]) -> dict[str, dict]:
    """Figures of trackers, and of what the second pass makes of each."""
    return {who: {**score(given), "repaired": score(repaired(frames, given, OUT))} for who, given in found.items()}


class Reference:
    """SLEAP's tracker, or the rows that it has in results that were made before."""

    def __init__(self, python: Path | None, results: Path) -> None:
        self.python = python
        self.version = ""
        self.videos = {}
        if python is None:
            before = json.loads(results.read_text())
            self.version = before["sleap-nn"]
            self.videos = {video["name"]: video["trackers"] for video in before["videos"]}

    def identities(self, video: str, frames: Frames, animals: int) -> tuple[dict[str, Identities], dict[str, dict]]:
        """Its identities by the way that it is set up, else the figures that are kept."""
        if self.python is None:
            return {}, {who: figures for who, figures in self.videos.get(video, {}).items() if who.startswith("SLEAP, ")}
        self.version, found = by_sleap(frames, animals, self.python)
        return {f"SLEAP, {way}": given for way, given in found.items()}, {}


def published(record: dict) -> tuple[list[Instance], list[int]]:
    """A record's poses and their identities."""
    instances, identities = [], []
    for item in record["objects"]:
        at = {point["name"]: point for point in item.get("keypoints", [])}
        points = tuple((at[name]["x"], at[name]["y"]) if name in at else NAN for name in FLY_POINTS)
        if at.keys() & set(FLY_POINTS):
            instances.append(Instance(points, item.get("confidence", 0.0)))
            identities.append(item.get("track", {}).get("id", 0))
    return instances, identities


def flies(models: Path, video: Path, reference: Reference) -> dict:
    """Figures of the two flies."""
    folder = OUT / "models"
    folder.mkdir(exist_ok=True)
    for name, network in NETWORKS.items():
        (folder / f"{name}.onnx").unlink(missing_ok=True)
        (folder / f"{name}.onnx").symlink_to((models / f"{network}.onnx").resolve())
        shutil.copy(SIDECARS / f"{name}.toml", folder)
    results = OUT / "flies.jsonl"
    values = {"video": str(video), "detector": str(folder / "flies-centroid.onnx"), "finder": "peakfind", "classes": ""}
    line = pipeline.read("pose-topdown").arguments(values | {"model": str(folder / "flies-centered.onnx"), "json": str(results)})
    at = line.index("inferpublish")
    line = [*line[:at], "tracker", "similarity=oks", f"max-tracks={FLIES}", "!", *line[at : at + 2], "!", "fakesink"]
    print(pipeline.printable(pipeline.command(line)), flush=True)
    pipeline.run(line)
    rows = [published(json.loads(text)) for text in results.read_text().splitlines()]
    frames = [instances for instances, _ in rows]
    theirs, kept = reference.identities("flies", frames, FLIES)
    found = {"tracker similarity=oks": [given for _, given in rows]} | all_of_ours(frames, FLIES)

    def score(identities: Identities) -> dict:
        return vars(unaided(frames, identities, FLIES))

    figures = (
        kept | {who: score(given) for who, given in theirs.items()} | twice(frames, found, score) | without_limit(frames, score)
    )
    above = sum(len(frame) > FLIES for frame in frames)
    what = f"two flies in {video.name}; {above} frames have more than two instances"
    return {"name": "flies", "what": what, "animals": FLIES, "frames": len(frames), "trackers": figures}


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/evaluate identities", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--reference", type=Path, metavar="PYTHON", help="a Python that has sleap-nn; else SLEAP's rows stay")
    parser.add_argument("--models", type=Path, metavar="DIR", help="folder of centroid.onnx and centered_instance.onnx")
    parser.add_argument("--video", type=Path, help="the video of two flies that they were made for")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="FOLDER")
    given = parser.parse_args()
    if bool(given.models) != bool(given.video):
        parser.error("--models and --video belong together; without them made videos alone are looked at")
    for path in filter(None, (given.reference, given.models, given.video)):
        if not path.exists():
            parser.error(f"there is no '{path}'")
    OUT.mkdir(parents=True, exist_ok=True)
    file = given.results / "identities.json"
    reference, videos = Reference(given.reference, file), []
    try:
        build = ["cargo", "build", "--locked", "--quiet", "--package", "cudainfer-kernels", "--example", PROGRAM.name]
        subprocess.run(build, cwd=ROOT, check=True)
        for scene in SCENES:
            videos.append(made(scene, reference))
            show(videos[-1])
        if given.models:
            videos.append(flies(given.models, given.video, reference))
            show(videos[-1])
    except subprocess.CalledProcessError as error:
        print(f"evaluate: {shlex.join(map(str, error.cmd[:3]))} failed, see above", file=sys.stderr)
        return 1
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    file.write_text(json.dumps({"commit": commit.stdout.strip(), "sleap-nn": reference.version, "videos": videos}, indent=1) + "\n")
    print(file)
    return 0


def show(video: dict) -> None:
    print(f"{video['name']}: {video['what']}, {video['frames']} frames")
    for who, figures in video["trackers"].items():
        for when, found in (("", figures), ("repaired", figures.get("repaired"))):
            values = [f"{name} {round(value, 4)}" for name, value in (found or {}).items() if name != "repaired"]
            if values:
                print(f"  {when or who:<20}", "  ".join(values), flush=True)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except pipeline.PipelineError as error:
        sys.exit(f"evaluate: {error}")
