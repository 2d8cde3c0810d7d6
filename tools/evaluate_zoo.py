"""Compares what our elements find with what the models' own libraries find, for models of many families. Started by
scripts/evaluate.

    evaluate_zoo.py --reference PYTHON [CASE...]

PYTHON is one that has the libraries, or some of them (tools/zoo/requirements.txt); it exports the models with random
weights and runs their own post-processing on 20 frames of vtest.avi. Our side runs the exported file in a pipeline. The table
goes to benches/results/zoo.txt and docs/models.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pipeline

OUT = pipeline.ROOT / "out" / "evaluate" / "zoo"
VTEST = pipeline.ROOT / ".cache" / "video" / "vtest.avi"
RESULTS = pipeline.ROOT / "benches" / "results" / "zoo.json"
FRAMES = 20
# Results farther apart than this, in pixels, are not the same one.
FAR = 2.0
# A case with fewer results on all frames together proves nothing.
FEWEST = 20


@dataclass
class Verdict:
    """What came out of a case."""

    expected: int
    found: int
    unmatched: int
    pixels: float
    scores: float
    error: str = ""

    def holds(self, case: dict) -> bool:
        same = self.unmatched == 0 and self.expected == self.found
        return not self.error and same and self.pixels <= case["pixels"] and self.scores <= case["scores"]


def frames() -> Path:
    """20 frames of vtest.avi as RGB, `[20, 576, 768, 3]`."""
    file = OUT / "frames.npy"
    if not file.exists():
        OUT.mkdir(parents=True, exist_ok=True)
        raw = OUT / "all.rgb"
        line = ["filesrc", f"location={VTEST}", "!", "decodebin", "!", "videoconvert", "!", "videorate", "drop-only=true"]
        line += ["!", "video/x-raw,format=RGB,framerate=1/4", "!", "filesink", f"location={raw}"]
        subprocess.run(pipeline.command(line, "-q"), check=True)
        np.save(file, np.fromfile(raw, np.uint8).reshape(-1, 576, 768, 3)[:FRAMES])
        raw.unlink()
    return file


def published(folder: Path, case: dict) -> list[dict]:
    """What our pipeline publishes of the case's frames."""
    width, height = case["size"]
    out = folder / "found.jsonl"
    line = ["filesrc", f"location={folder}/frames.rgb", f"blocksize={width * height * 3}", "!", "rawvideoparse"]
    line += ["format=rgb", f"width={width}", f"height={height}", "framerate=25/1", "!", "fusedpreproc", *case["preprocessing"].split()]
    line += ["!", "trtinfer", f"model={folder}/model.onnx", "provider=cpu", "!", *case["elements"].split()]
    pipeline.run([*line, "!", "inferpublish", f"location={out}", "!", "fakesink"])
    return [json.loads(text) for text in out.read_text().splitlines()]


def results(record: dict) -> list[dict]:
    """A record's objects as the cases write results."""
    found = []
    for item in record["objects"]:
        one = {"class": item.get("label_id", 0), "score": item.get("confidence", 0.0)}
        if box := item.get("box"):
            one["box"] = [box["x"], box["y"], box["x"] + box["w"], box["y"] + box["h"]]
        if rotated := item.get("rotated"):
            one["corners"] = corners(rotated)
        if points := item.get("keypoints"):
            one["keypoints"] = [[p["x"], p["y"], p["score"]] for p in points]
        if named := item.get("classification"):
            found += [{"class": c["label_id"], "score": c["confidence"]} for c in named]
            continue
        found.append(one)
    return found


def corners(rotated: dict) -> list[list[float]]:
    """The four points of a rotated box."""
    angle = rotated["angle"]
    across = np.array([np.cos(angle), np.sin(angle)]) * rotated["w"] / 2
    down = np.array([-np.sin(angle), np.cos(angle)]) * rotated["h"] / 2
    center = np.array([rotated["x"], rotated["y"]])
    return [list(center + a * across + d * down) for a, d in ((1, 1), (1, -1), (-1, -1), (-1, 1))]


def apart(mine: dict, theirs: dict) -> float:
    """The greatest distance of a coordinate, in pixels; infinite where the two are of different kinds."""
    distances = [0.0]
    for key in ("box", "corners", "keypoints"):
        if (key in mine) != (key in theirs):
            return np.inf
        if key not in mine:
            continue
        a, b = (np.array(one[key], float) for one in (mine, theirs))
        if a.shape != b.shape:
            return np.inf
        if key == "corners":
            # Any corner may be the first.
            a, b = (np.array(sorted(points.tolist())) for points in (a, b))
        distances.append(np.abs(a[..., :2] - b[..., :2]).max() if key == "keypoints" else np.abs(a - b).max())
    return max(distances)


def compare(expected: list[list[dict]], found: list[list[dict]]) -> Verdict:
    """Each expected result is paired with the nearest one found of its class."""
    unmatched, pixels, scores = 0, 0.0, 0.0
    for theirs, ours in zip(expected, found, strict=True):
        left = list(ours)
        for one in theirs:
            same = [other for other in left if other["class"] == one["class"]]
            distances = [apart(other, one) + abs(other["score"] - one["score"]) for other in same]
            nearest = min(range(len(same)), key=distances.__getitem__, default=None)
            if nearest is None or apart(same[nearest], one) > FAR:
                unmatched += 1
                continue
            pixels = max(pixels, apart(same[nearest], one))
            scores = max(scores, abs(same[nearest]["score"] - one["score"]))
            left.remove(same[nearest])
        unmatched += len(left)
    return Verdict(sum(map(len, expected)), sum(map(len, found)), unmatched, float(pixels), float(scores))


def judge(folder: Path) -> tuple[dict, Verdict]:
    case = json.loads((folder / "case.json").read_text())
    try:
        found = [results(record) for record in published(folder, case)]
        return case, compare(case["expected"], found)
    except (pipeline.PipelineError, ValueError) as error:
        expected = sum(map(len, case["expected"]))
        return case, Verdict(expected, 0, expected, np.inf, np.inf, str(error))


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/evaluate zoo", description=__doc__)
    parser.add_argument("--reference", required=True, metavar="PYTHON", help="a Python with the models' libraries")
    parser.add_argument("cases", nargs="*", metavar="CASE", help="only the cases whose names contain one of these words")
    given = parser.parse_args()
    command = [given.reference, "-m", "zoo", OUT, frames(), *given.cases]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent), "YOLO_AUTOINSTALL": "false"}
    log = (OUT / "export.log").open("w")
    made = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, env=environment, cwd=OUT, text=True)
    table = []
    for text in made.stdout:
        if not text.startswith("{"):
            continue
        line = json.loads(text)
        if "missing" in line:
            print(f"{line['library']}: not installed there ({line['missing']})", flush=True)
            continue
        if "error" in line:
            print(f"{line['case']:<28} not exported: {line['error']}", flush=True)
            continue
        case, verdict = judge(OUT / line["case"])
        if verdict.expected < FEWEST and not verdict.error:
            verdict.error = f"only {verdict.expected} results: this proves nothing"
        holds = verdict.holds(case)
        table.append({"case": line["case"], "library": case["library"], "holds": holds, "sidecar": case["sidecar"], "note": case["note"], **vars(verdict)})
        counts = f"{verdict.found:>6} of {verdict.expected:<6} unmatched {verdict.unmatched:<5}"
        print(f"{line['case']:<28}{'ok ' if holds else 'BAD'} {counts} {verdict.pixels:.3f} px {verdict.scores:.1e} {verdict.error}", flush=True)
    made.wait()
    (OUT / "table.json").write_text(json.dumps(table, indent=1))
    good = sum(row["holds"] for row in table)
    print(f"{good} of {len(table)} equal to their own library's")
    return 0 if good == len(table) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except pipeline.PipelineError as error:
        sys.exit(f"evaluate: {error}")
