"""Compares the points and instances that our pipelines find with those that the references find. Started by scripts/evaluate.

    python3 tools evaluate.pose --models DIR --video FILE --reference PYTHON [--sleap-nn WHEEL] [--every N]

Both sides get the same frames, decoded once to grey, and run the same networks on the CPU; see reference/sleap.py for what
the other side is, and reference/posenet.py for PoseNet's.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np

from cudainfer_tools import pipeline, repository
from cudainfer_tools.reference import posenet
from cudainfer_tools.repository import ROOT

OUT = ROOT / "out" / "evaluate"
RESULTS = ROOT / "benches" / "results" / "pose-accuracy.txt"
SIDECARS = ROOT / "pipelines" / "models"
POSENET = ROOT / ".cache" / "models" / "posenet.onnx"
VTEST = ROOT / ".cache" / "video" / "vtest.avi"
# Their networks by our sidecars' names.
NETWORKS = {"flies-centroid": "centroid", "flies-centered": "centered_instance", "flies-bottomup": "bottomup"}
POINTS = ["A", "B"]
# Instances farther apart are not the same; how far the same ones are apart is what is measured.
FAR = 5.0
GOAL_PIXELS, GOAL_SHARE = 0.1, 0.99


def decode(video: Path, to: Path, form: str, every: int) -> tuple[tuple[int, int], int]:
    """Writes every n-th frame of `video` as raw pixels (`form`: GRAY8 or RGB); width and height, and how many there are."""
    line = ["filesrc", f"location={video}", "!", "decodebin", "!", "videoconvert", "!", f"video/x-raw,format={form}"]
    shown = pipeline.launched([*line, "!", "fakesink", "num-buffers=1"], "-v").stdout
    width, height = (int(shown.rpartition(f"{side}=(int)")[2].split(",")[0].split()[0]) for side in ("width", "height"))
    pipeline.run([*line, "!", "filesink", f"location={to}.all"])
    frames = np.memmap(f"{to}.all", np.uint8, "r").reshape(-1, width * height * (3 if form == "RGB" else 1))
    np.ascontiguousarray(frames[::every]).tofile(to)
    Path(f"{to}.all").unlink()
    return (width, height), len(range(0, len(frames), every))


def published(name: str, values: dict[str, str], frames: Path, size: tuple[int, int], form: str) -> list[dict]:
    """What the pipeline `name` publishes of raw frames: it is cut after inferpublish, nothing is drawn."""
    json_lines = frames.with_name(f"{frames.stem}-{name}.jsonl")
    line = pipeline.read(name).arguments(values | {"json": str(json_lines)})
    bytes_a_frame = size[0] * size[1] * (3 if form == "rgb" else 1)
    source = ["filesrc", f"location={frames}", f"blocksize={bytes_a_frame}", "!", "rawvideoparse"]
    source += [f"format={form}", f"width={size[0]}", f"height={size[1]}", "framerate=25/1", "!"]
    line = [*source, *line[line.index("cudainferupload") : line.index("inferpublish") + 2], "!", "fakesink"]
    print(pipeline.printable(pipeline.command(line)), flush=True)
    pipeline.run(line)
    return [json.loads(text) for text in json_lines.read_text().splitlines()]


def instances(record: dict, points: list[str]) -> np.ndarray:
    """A record's objects with these points, `[I, N, 3]`: x, y, score; NaN where one was not found. Pixel i has its centre
    at i, as the references count."""
    found = []
    for item in record["objects"]:
        at = {point["name"]: (point["x"] - 0.5, point["y"] - 0.5, point["score"]) for point in item.get("keypoints", [])}
        if at.keys() & set(points):
            found.append([at.get(name, (np.nan,) * 3) for name in points])
    return np.array(found, np.float64).reshape(-1, len(points), 3)


def distances(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray | None:
    """Distances of all points where the instances are the same; None where they are not: another number of them, or one
    whose nearest twin has other points or is farther away than FAR."""
    if len(ours) != len(theirs):
        return None
    found: list[float] = []
    left = list(theirs)
    for mine in ours:
        apart = [np.hypot(*(mine - other)[:, :2].T) for other in left]
        best = min(range(len(left)), key=lambda i: np.nanmean(np.append(apart[i], FAR)))
        if (np.isnan(mine[:, 0]) != np.isnan(left[best][:, 0])).any() or np.nanmax(apart[best]) > FAR:
            return None
        found += list(apart[best][~np.isnan(apart[best])])
        del left[best]
    return np.array(found)


def compare(title: str, ours: list[np.ndarray], theirs: list[np.ndarray], stable: list[bool]) -> list[str]:
    """The sentences about one way."""
    if len(ours) != len(theirs):
        raise pipeline.PipelineError(f"{title}: {len(ours)} frames of ours, {len(theirs)} of the reference")
    apart = [distances(*pair) for pair in zip(ours, theirs, strict=True)]
    agreed = [found is not None for found in apart]
    steady = [same for same, still in zip(agreed, stable, strict=True) if still]
    points = np.concatenate([found for found in apart if found is not None] or [np.zeros(0)])
    reported = [f"{title}: {len(ours)} frames, {sum(map(len, theirs))} instances of the reference, {sum(map(len, ours))} of ours"]
    share = sum(steady) / max(len(steady), 1)
    met = "met" if share >= GOAL_SHARE else "MISSED"
    reported.append(
        f"  the same instances in {sum(steady)} of the {len(steady)} frames where the reference is stable ({share:.1%}, "
        f"goal {GOAL_SHARE:.0%}: {met}), in {sum(agreed)} of all"
    )
    if len(points):
        middle, most = np.median(points), points.max()
        met = "met" if most <= GOAL_PIXELS else "met by the median" if middle <= GOAL_PIXELS else "MISSED"
        reported.append(
            f"  {len(points)} points in these are apart by {middle:.4f} pixels (median), {np.percentile(points, 99):.4f} "
            f"(99 of 100), {most:.4f} (most); goal {GOAL_PIXELS}: {met}"
        )
    return reported


def flies(given: argparse.Namespace) -> list[str]:
    """The two flies, bottom-up and top-down, against sleap-nn."""
    frames, models = OUT / f"{given.video.stem}.gray", OUT / "models"
    size, count = decode(given.video, frames, "GRAY8", given.every)
    models.mkdir(exist_ok=True)
    for name, network in NETWORKS.items():
        (models / f"{name}.onnx").unlink(missing_ok=True)
        (models / f"{name}.onnx").symlink_to((given.models / f"{network}.onnx").resolve())
        shutil.copy(SIDECARS / f"{name}.toml", models)
    paths = [str(path.resolve()) for path in [given.sleap_nn] if path]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    command = repository.command("reference.sleap", given.models, frames, *size, python=given.reference)
    reported = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
    reference = [json.loads(line) for line in reported.splitlines()]

    low = models / "flies-bottomup-low.onnx"
    low.unlink(missing_ok=True)
    low.symlink_to((models / "flies-bottomup.onnx").resolve())
    sidecar = low.with_name("flies-bottomup.toml").read_text()
    low.with_suffix(".toml").write_text(sidecar.replace("threshold = 0.2", "threshold = 0.05"))
    top_down = {"detector": str(models / "flies-centroid.onnx"), "finder": "peakfind", "classes": ""}
    top_down["model"] = str(models / "flies-centered.onnx")
    ours = {
        "bottom-up": published("pose-bottomup", {"model": str(models / "flies-bottomup.onnx")}, frames, size, "gray8"),
        "bottom-up-low": published("pose-bottomup", {"model": str(low)}, frames, size, "gray8"),
        "top-down": published("pose-topdown", top_down, frames, size, "gray8"),
    }
    lines = [f"{given.video.name}, every {given.every}. frame ({count}), {size[0]}x{size[1]} grey; reference: sleap-nn's functions"]
    for way, title in (
        ("bottom-up", "bottom-up"),
        ("bottom-up-low", "bottom-up with a threshold of 0.05"),
        ("top-down-exact", "top-down, crops taken where they are asked for"),
        ("top-down-floor", "top-down, sleap-nn's crops (whole pixels), points moved by the corner that was cut at"),
        ("top-down", "top-down, sleap-nn's crops, points moved by the corner before it was rounded, as sleap-nn does"),
    ):
        mine = [instances(record, POINTS) for record in ours[way.removesuffix("-floor").removesuffix("-exact")]]
        theirs = [line[way]["instances"] for line in reference]
        theirs = [np.array([[p or [np.nan] * 3 for p in i] for i in frame], float) for frame in theirs]
        theirs = [frame.reshape(-1, 2, 3) for frame in theirs]
        lines += compare(title, mine, theirs, [line[way]["stable"] for line in reference])
    return lines


def people(given: argparse.Namespace) -> list[str]:
    """People on vtest.avi by PoseNet's displacements, against reference/posenet.py."""
    frames = OUT / "vtest.rgb"
    size, count = decode(VTEST, frames, "RGB", given.every)
    records = published("pose-bottomup", {"model": str(POSENET)}, frames, size, "rgb")
    ours = [instances(record, posenet.NAMES) for record in records]
    peaks = tomllib.loads((SIDECARS / "posenet.toml").read_text())["peaks"]
    theirs, stable = posenet.run(POSENET, frames, size, peaks["max-poses"], peaks["min-point-score"])
    lines = [f"vtest.avi, every {given.every}. frame ({count}), {size[0]}x{size[1]} RGB; reference: posenet_reference.py"]
    return lines + compare("PoseNet", ours, theirs, stable)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/evaluate pose", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", type=Path, help="folder of centroid.onnx, centered_instance.onnx and bottomup.onnx")
    parser.add_argument("--video", type=Path, help="the video of two flies that they were made for")
    parser.add_argument("--reference", type=Path, help="a Python with torch and what else reference/sleap.py names")
    parser.add_argument("--sleap-nn", type=Path, metavar="WHEEL", help="sleap-nn's wheel, where that Python has it not")
    parser.add_argument("--every", type=int, default=4, metavar="N", help="take every N-th frame (default: 4)")
    given = parser.parse_args()
    sleap = [given.models, given.video, given.reference]
    if any(sleap) and not all(sleap):
        parser.error("--models, --video and --reference belong together; without them PoseNet alone is looked at")
    for path in filter(None, [*sleap, given.sleap_nn]):
        if not path.exists():
            parser.error(f"there is no '{path}'")

    OUT.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cargo", "build", "--release", "--locked", "--package", "gst-plugin-cudainfer"], cwd=ROOT, check=True)
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    lines = [f"scripts/evaluate pose, commit {commit.stdout.strip()}, onnxruntime {importlib.metadata.version('onnxruntime')}"]
    try:
        lines += [*(flies(given) if given.models else []), *people(given)]
    except subprocess.CalledProcessError as error:
        print(f"evaluate: {shlex.join(map(str, error.cmd[:3]))} failed, see above", file=sys.stderr)
        return 1
    text = "\n".join(lines) + "\n"
    print(text, end="")
    if given.models:
        RESULTS.write_text(text)
        print(RESULTS.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except pipeline.PipelineError as error:
        sys.exit(f"evaluate: {error}")
