"""Compares what fusedpreproc roi=tiles and gpunms find in tiles with what SAHI and supervision's InferenceSlicer find. Started
by scripts/evaluate.

    python3 tools evaluate.tiles --reference PYTHON [--video FILE] [--tile PIXELS] [--overlap SHARE] [--every N] [--rounds N] [--exact]

All get the same frames, decoded once to RGB, and run the same ONNX file on the CPU, one tile at a time; see
reference/tiles.py for what the other side is. A tile of 416 pixels is the size of the network's input: nothing is resized.
Rounds alternate between all of them; the frame rates are medians. With --exact, only SAHI with the whole frame runs, which the
reference resizes without rounding: what is left of the difference is not OpenCV's.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import shlex
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cudainfer_tools import machine, pipeline, repository
from cudainfer_tools.evaluate.pose import decode
from cudainfer_tools.repository import ROOT

OUT = ROOT / "out" / "evaluate" / "tiles"
RESULTS = ROOT / "benches" / "results" / "tiles.txt"
MODEL = ROOT / ".cache" / "models" / "nanodet.onnx"
VTEST = ROOT / ".cache" / "video" / "vtest.avi"
# Boxes farther apart, in pixels, are not the same one.
FAR = 2.0
# What ours are set to for the same merging: by name, fusedpreproc's and gpunms' properties, and the title of the row.
SUPPRESS = "merge=suppress merge-overlap={} merge-threshold=0.5"
WAYS = {
    "sahi": ("", "", "SAHI (GREEDYNMM, IOS 0.5)"),
    "sahi-nms": ("", SUPPRESS.format("ios"), "SAHI (NMS, IOS 0.5)"),
    "sahi-whole": ("whole=true roi-crop=pixels", "", "SAHI (GREEDYNMM) with the whole frame"),
    "supervision": ("", SUPPRESS.format("iou"), "InferenceSlicer (NMS, IOU 0.5)"),
}
EXACT = {"sahi-exact": ("whole=true roi-crop=pixels", "", "SAHI (GREEDYNMM) with the whole frame, resized without rounding")}


@dataclass
class Verdict:
    """How two sets of boxes differ. `pixels` and `scores` are the largest differences of those that both have."""

    theirs: int = 0
    ours: int = 0
    common: int = 0
    pixels: float = 0.0
    scores: float = 0.0


def compare(theirs: list[list], ours: list[list]) -> Verdict:
    """Boxes of each frame as [class, score, x1, y1, x2, y2], paired with the nearest of their class."""
    if len(theirs) != len(ours):
        raise pipeline.PipelineError(f"{len(ours)} frames of ours, {len(theirs)} of the reference")
    verdict = Verdict(sum(map(len, theirs)), sum(map(len, ours)))
    for expected, found in zip(theirs, ours, strict=True):
        left = [np.array(one, float) for one in found]
        for one in np.array(expected, float).reshape(-1, 6):
            apart = [np.abs(other[2:] - one[2:]).max() if other[0] == one[0] else np.inf for other in left]
            nearest = min(range(len(left)), key=apart.__getitem__, default=None)
            if nearest is None or apart[nearest] > FAR:
                continue
            verdict.common += 1
            verdict.pixels = max(verdict.pixels, float(apart[nearest]))
            verdict.scores = max(verdict.scores, abs(float(left.pop(nearest)[1] - one[1])))
    return verdict


def boxes(record: dict) -> list[list[float]]:
    """A record's objects as the reference writes them."""
    found = []
    for item in record["objects"]:
        box = item["box"]
        corners = [box["x"], box["y"], box["x"] + box["w"], box["y"] + box["h"]]
        found.append([item["label_id"], item["confidence"], *corners])
    return found


class Ours:
    """Our pipeline on the frames."""

    def __init__(self, frames: Path, size: tuple[int, int], count: int, tile: int, overlap: float) -> None:
        self.count, self.tiles = count, f"roi=tiles tile-size={tile} overlap={overlap}"
        self.source = ["filesrc", f"location={frames}", f"blocksize={size[0] * size[1] * 3}"]
        self.parser = ["rawvideoparse", "format=rgb", f"width={size[0]}", f"height={size[1]}", "framerate=25/1"]

    def line(self, way: str, out: Path, *source: str) -> list[str]:
        cut, merge, _ = (WAYS | EXACT)[way]
        elements = (
            f"! fusedpreproc {self.tiles} {cut} ! trtinfer model={MODEL} provider=cpu ! gpunms confidence=0.25 iou=0.5 {merge}"
        )
        sink = ["!", "inferpublish", f"location={out}", "!", "fakesink"]
        return [*self.source, *source, "!", *self.parser, *elements.split(), *sink]

    def seconds(self, way: str, *source: str) -> float:
        line = self.line(way, OUT / f"{way}.jsonl", *source)
        begin = time.perf_counter()
        pipeline.run(line)
        return time.perf_counter() - begin

    def run(self, way: str) -> dict:
        """The seconds that all frames but the first take, and the boxes."""
        first = self.seconds(way, "num-buffers=1")
        seconds = self.seconds(way) - first
        records = (OUT / f"{way}.jsonl").read_text().splitlines()
        return {"seconds": seconds, "objects": [boxes(json.loads(record)) for record in records]}


def theirs(python: Path, way: str, given: list[str]) -> dict:
    """The same of the reference."""
    command = repository.command("reference.tiles", MODEL, *given, way, python=python)
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def versions(python: Path) -> str:
    """Those of the reference's libraries."""
    names = ["sahi", "supervision", "onnxruntime"]
    code = f"import importlib.metadata as m; print(', '.join(f'{{n}} {{m.version(n)}}' for n in {names}))"
    return subprocess.run([str(python), "-c", code], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/evaluate tiles", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--reference", type=Path, required=True, metavar="PYTHON", help="a Python with sahi, supervision and onnxruntime"
    )
    parser.add_argument("--video", type=Path, default=VTEST, help="the video (default: vtest.avi)")
    parser.add_argument("--tile", type=int, default=416, metavar="PIXELS", help="width and height of a tile (default: 416)")
    parser.add_argument("--overlap", type=float, default=0.2, metavar="SHARE", help="part of a tile (default: 0.2)")
    parser.add_argument("--every", type=int, default=20, metavar="N", help="take every N-th frame (default: 20)")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="how often each is run (default: 3)")
    parser.add_argument("--exact", action="store_true", help="only what shows that OpenCV's rounding is the difference")
    given = parser.parse_args()
    ways, results = (EXACT, RESULTS.with_stem("tiles-exact")) if given.exact else (WAYS, RESULTS)
    for path in (given.reference, given.video):
        if not path.exists():
            parser.error(f"there is no '{path}'")
    OUT.mkdir(parents=True, exist_ok=True)
    plugin = os.environ.get("GST_PLUGIN_PATH")
    if not plugin:
        build = ["cargo", "build", "--release", "--locked", "--package", "gst-plugin-cudainfer"]
        subprocess.run(build, cwd=ROOT, check=True)
    frames = OUT / f"{given.video.stem}.rgb"
    size, count = decode(given.video, frames, "RGB", given.every)
    ours = Ours(frames, size, count, given.tile, given.overlap)
    same = [str(frames), *map(str, size), str(given.tile), str(given.overlap)]
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    lines = [
        f"scripts/evaluate tiles, commit {commit.stdout.strip()}, {machine.processor()}, {os.cpu_count()} cores, "
        f"{f'plugin of {os.path.relpath(plugin, ROOT)}' if plugin else 'release build'}, "
        f"onnxruntime {importlib.metadata.version('onnxruntime')}; reference: {versions(given.reference)}",
        f"{given.video.name}, every {given.every}. frame ({count}), {size[0]}x{size[1]} RGB; NanoDet; tiles of {given.tile}, "
        f"overlap {given.overlap}",
    ]
    both: dict[str, list[tuple[dict, dict]]] = {way: [] for way in ways}
    for _ in range(given.rounds):
        for way in ways:
            both[way].append((theirs(given.reference, way, same), ours.run(way)))
            rates = [f"{(count - 1) / run['seconds']:.2f}" for run in both[way][-1]]
            print(f"{way}: {rates[0]} frames/s, cudainfer {rates[1]}", flush=True)
    for way, (*_, title) in ways.items():
        their, own = both[way][0]
        verdict = compare(their["objects"], own["objects"])
        rates = [statistics.median((count - 1) / pair[side]["seconds"] for pair in both[way]) for side in (0, 1)]
        lines.append(
            f"{title}: {verdict.theirs} boxes, cudainfer {verdict.ours}, in common {verdict.common}, apart by at most "
            f"{verdict.pixels:.3f} px and {verdict.scores:.5f} of confidence; {rates[0]:.2f} frames/s, cudainfer {rates[1]:.2f}"
        )
    text = "\n".join(lines) + "\n"
    print(text, end="")
    results.write_text(text)
    print(results.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.CalledProcessError as error:
        sys.exit(f"evaluate: {shlex.join(map(str, error.cmd[:3]))} failed, see above")
    except pipeline.PipelineError as error:
        sys.exit(f"evaluate: {error}")
