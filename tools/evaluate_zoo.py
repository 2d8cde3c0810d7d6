"""Compares what our elements find with what the models' own libraries find, for models of many families. Started by
scripts/evaluate zoo.

    evaluate_zoo.py --reference PYTHON [--keep] [CASE...]

PYTHON is one that has the libraries, or some of them (tools/zoo/requirements.txt); what it lacks is left out. It exports the
models with random weights, or takes those that a package ships, and runs their own post-processing on 20 frames: of vtest.avi,
of a face, of text. Our side runs the exported file in a pipeline on the CPU. The rows of what ran go to
benches/results/zoo.json, from which docs/models.md is made. Without CASE, words of names, everything runs, and rows of what
did not run leave the file. --keep takes models that were exported before.
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
import zoo_objects
from zoo_objects import Masks

OUT = pipeline.ROOT / "out" / "evaluate" / "zoo"
VIDEOS = {"street": ("vtest.avi", 39), "close-up": ("carphone.mp4", 5)}
RESULTS = pipeline.ROOT / "benches" / "results" / "zoo.json"
PAGE = pipeline.ROOT / "docs" / "models.md"
FRAMES = 20
# Results farther apart than this, in pixels, are not the same one; where more is allowed, twice as much.
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
    # Results that are the library's only if it computes in float64: its rounding in float32 decides them.
    ties: int = 0
    error: str = ""
    # Of pairs of objects that have masks: the least overlap, samples that differ, of so many in either, and the pairs.
    overlap: float = 1.0
    other_samples: int = 0
    samples: int = 0
    compared: int = 0

    def holds(self, case: dict) -> bool:
        """Whether everything is the library's, within what the case allows."""
        same = self.unmatched == 0 and self.expected == self.found
        masks = self.overlap >= case["overlap"]
        return not self.error and same and masks and self.pixels <= case["pixels"] and self.scores <= case["scores"]

    def see(self, masks: Masks) -> None:
        """Takes over how masks of objects agree."""
        self.overlap, self.other_samples, self.samples, self.compared = masks.lowest, masks.other, masks.samples, masks.compared


def decode(video: Path, file: Path, every: int) -> None:
    """20 frames of a video as RGB, `[20, H, W, 3]`."""
    raw = file.with_suffix(".rgb")
    line = ["filesrc", f"location={video}", "!", "decodebin", "!", "videoconvert", "!", "video/x-raw,format=RGB", "!"]
    shown = subprocess.run(
        pipeline.command([*line, "fakesink", "num-buffers=1"], "-v"), capture_output=True, text=True, check=False
    ).stdout
    width, height = (int(shown.rpartition(f"{side}=(int)")[2].split(",")[0].split()[0]) for side in ("width", "height"))
    pipeline.run([*line, "filesink", f"location={raw}"])
    np.save(file, np.fromfile(raw, np.uint8).reshape(-1, height, width, 3)[::every][:FRAMES])
    raw.unlink()


def frames() -> Path:
    """The frames of the street; those of the face lie beside them."""
    OUT.mkdir(parents=True, exist_ok=True)
    for name, (video, every) in VIDEOS.items():
        if not (OUT / f"{name}.npy").exists():
            decode(pipeline.ROOT / ".cache" / "video" / video, OUT / f"{name}.npy", every)
    return OUT / "street.npy"


def pipeline_of(folder: Path, case: dict) -> list[str]:
    """Our pipeline, to the link behind trtinfer."""
    width, height = case["size"]
    line = ["filesrc", f"location={folder}/frames.rgb", f"blocksize={width * height * 3}", "!", "rawvideoparse"]
    line += [
        "format=rgb",
        f"width={width}",
        f"height={height}",
        "framerate=25/1",
        "!",
        "fusedpreproc",
        *case["preprocessing"].split(),
    ]
    return [*line, "!", "trtinfer", f"model={folder}/model.onnx", "provider=cpu", "!"]


def published(folder: Path, case: dict) -> list[dict]:
    """What our pipeline publishes of the case's frames."""
    out = folder / "found.jsonl"
    line = [
        *pipeline_of(folder, case),
        *case["elements"].split(),
        "!",
        "inferpublish",
        f"location={out}",
        "embeddings=true",
        "!",
        "fakesink",
    ]
    pipeline.run(line)
    return [json.loads(text) for text in out.read_text().splitlines()]


def results(record: dict, rotated: bool = False) -> list[dict]:
    """A record's objects as the cases write results. Of rotated boxes, upright ones have no angle."""
    found = []
    for item in record["objects"]:
        one = {"class": item.get("label_id", 0), "score": item.get("confidence", 0.0)}
        if box := item.get("box"):
            if "angle" in box or rotated:
                one["corners"] = corners(box)
            else:
                one["box"] = [box["x"], box["y"], box["x"] + box["w"], box["y"] + box["h"]]
        if "id" in item:
            one["object"] = item["id"]
        if vectors := item.get("embeddings"):
            one["embedding"] = vectors[0]["values"]
        if points := item.get("keypoints"):
            one["keypoints"] = [[p["x"], p["y"], p["score"]] for p in points]
        if named := item.get("classification"):
            found += [{"class": c["label_id"], "score": c["confidence"], "text": c["label"]} for c in named]
            continue
        found.append(one)
    return found


def corners(box: dict) -> list[list[float]]:
    """The four points of a rotated box."""
    angle = box.get("angle", 0.0)
    across = np.array([np.cos(angle), np.sin(angle)]) * box["w"] / 2
    down = np.array([-np.sin(angle), np.cos(angle)]) * box["h"] / 2
    center = np.array([box["x"] + box["w"] / 2, box["y"] + box["h"] / 2])
    return [list(center + a * across + d * down) for a, d in ((1, 1), (1, -1), (-1, -1), (-1, 1))]


def apart(mine: dict, theirs: dict) -> float:
    """The greatest distance of a coordinate, in pixels; infinite where the two are of different kinds."""
    if "text" in theirs and mine.get("text") != theirs["text"]:
        return np.inf
    if len(mine.get("embedding", ())) != len(theirs.get("embedding", ())):
        return np.inf
    distances = [0.0]
    for key in ("box", "corners", "keypoints"):
        if (key in mine) != (key in theirs):
            return np.inf
        if key not in mine:
            continue
        a, b = (np.array(one[key], float) for one in (mine, theirs))
        if key == "keypoints":
            a, b = a[:, :2], b[:, :2]
        if a.shape != b.shape:
            return np.inf
        if key == "corners":
            # Any corner may be the first, and both ways round.
            distances.append(min(np.abs(a[::way] - np.roll(b, i, 0)).max() for i in range(4) for way in (1, -1)))
        else:
            distances.append(np.abs(a - b).max())
    return max(distances)


def scores_apart(mine: dict, theirs: dict) -> list[float]:
    """The differences of scores, and of those of points where the library gives any."""
    points = zip(mine.get("keypoints", ()), theirs.get("keypoints", ()), strict=True)
    values = zip(mine.get("embedding", ()), theirs.get("embedding", ()), strict=True)
    apart = [*(abs(a[2] - b[2]) for a, b in points if len(b) > 2), *(abs(a - b) for a, b in values)]
    return [abs(mine["score"] - theirs["score"]), *apart]


def compare(expected: list[list[dict]], found: list[list[dict]], far: float = FAR, pairs: list | None = None) -> Verdict:
    """Each expected result is paired with the nearest one found of its class. For each frame, `pairs` gets the numbers of
    expected results and of the objects that are theirs."""
    unmatched, pixels, scores = 0, 0.0, 0.0
    for theirs, ours in zip(expected, found, strict=True):
        left, matched = list(ours), []
        for number, one in enumerate(theirs):
            same = [other for other in left if other["class"] == one["class"]]
            # Both as parts of what is allowed: of boxes that are alike the scores tell which is which.
            distances = [apart(other, one) / 0.05 + abs(other["score"] - one["score"]) / 1e-3 for other in same]
            nearest = min(range(len(same)), key=distances.__getitem__, default=None)
            if nearest is None or apart(same[nearest], one) > far:
                unmatched += 1
                continue
            pixels = max(pixels, apart(same[nearest], one))
            scores = max(scores, *scores_apart(same[nearest], one))
            matched.append((number, same[nearest].get("object")))
            left.remove(same[nearest])
        unmatched += len(left)
        if pairs is not None:
            pairs.append(matched)
    return Verdict(sum(map(len, expected)), sum(map(len, found)), unmatched, float(pixels), float(scores))


def masks(folder: Path, case: dict) -> np.ndarray:
    """The class of each of our masks' cells, `[N, h, w]`."""
    width, height = case["size"]
    out = folder / "found.gray"
    line = [*pipeline_of(folder, case), "segmask", "output=gray", "!", "filesink", f"location={out}"]
    pipeline.run(line)
    return np.fromfile(out, np.uint8).reshape(-1, height, width) // (255 // (case["mask_classes"] - 1))


def compare_masks(expected: np.ndarray, tied: np.ndarray, found: np.ndarray) -> Verdict:
    """Counts the cells; each is as many pixels of ours. `tied` are those that rounding decides."""
    times = found.shape[1] // expected.shape[1]
    cells = found[:, times // 2 :: times, times // 2 :: times]
    if cells.shape != expected.shape:
        raise ValueError(f"masks of {cells.shape}, expected are {expected.shape}")
    other = cells != expected
    return Verdict(expected.size, cells.size, int((other & ~tied).sum()), 0.0, 0.0, ties=int((other & tied).sum()))


def samples(folder: Path, case: dict, count: int) -> np.ndarray:
    """The samples of the frames that our pipeline makes; not rounded as the greatest are."""
    out = folder / "found.samples"
    pipeline.run([*pipeline_of(folder, case), *case["elements"].split(), "!", "filesink", f"location={out}"])
    found = np.fromfile(out, np.uint8 if case["greatest"] < 256 else "<u2")
    if found.size != count:
        raise ValueError(f"{found.size} samples, expected are {count}")
    return found.astype(np.float32)


def compare_samples(expected: np.ndarray, found: np.ndarray, greatest: int) -> Verdict:
    """The most that two samples are apart, as a part of the greatest there may be."""
    return Verdict(expected.size, found.size, 0, 0.0, float(np.abs(expected.ravel() - found).max()) / greatest)


def judge(folder: Path) -> tuple[dict, Verdict]:
    """The case in this folder, and how far our results are from the library's."""
    case = json.loads((folder / "case.json").read_text())
    try:
        if case["mask_classes"]:
            wanted = np.load(folder / "masks.npz")
            return case, compare_masks(wanted["masks"], wanted["tied"], masks(folder, case))
        if case["greatest"]:
            wanted = np.load(folder / "samples.npz")["samples"]
            return case, compare_samples(wanted, samples(folder, case, wanted.size), case["greatest"])
        rotated = any("corners" in one for frame in case["expected"] for one in frame)
        found = [results(record, rotated) for record in published(folder, case)]
        pairs = []
        verdict = compare(case["expected"], found, max(FAR, 2 * case["pixels"]), pairs)
        if (folder / "objects.npz").exists():
            line = [*pipeline_of(folder, case), *case["elements"].split()]
            shape = tuple(np.load(folder / "objects.npz")["shape"].tolist())
            verdict.see(zoo_objects.compare(folder, zoo_objects.found(line, folder / "objects", case["size"], shape), pairs))
        if verdict.unmatched and case["exact"]:
            exact = compare(case["exact"], found)
            if exact.unmatched == 0:
                exact.ties = verdict.unmatched
                exact.see(Masks(verdict.overlap, verdict.other_samples, verdict.samples, verdict.compared))
                return case, exact
        return case, verdict
    except (pipeline.PipelineError, ValueError) as error:
        expected = sum(map(len, case["expected"]))
        return case, Verdict(expected, 0, expected, 0.0, 0.0, error=str(error))


def kind_of(case: dict) -> str:
    """What is counted of a case."""
    return "cells" if case["mask_classes"] else "samples" if case["greatest"] else "results"


def row(name: str, case: dict, verdict: Verdict) -> dict:
    """What the results file keeps of a case."""
    kept = ("library", "elements", "preprocessing", "sidecar", "told", "note", "weights", "unread")
    figures = {key: round(value, 6) if isinstance(value, float) else value for key, value in vars(verdict).items()}
    allowed = {"pixels": case["pixels"], "scores": case["scores"], "overlap": case["overlap"]}
    holds = verdict.holds(case)
    return {"case": name, "holds": holds, "allowed": allowed, "kind": kind_of(case), **{k: case[k] for k in kept}, **figures}


def words(one: dict) -> str:
    """The line that is printed of a row."""
    verdict = "ok" if one["holds"] else "not read" if one["unread"] else "BAD"
    counts = f"{one['found']:>7} of {one['expected']:<7} unmatched {one['unmatched']:<5} ties {one['ties']:<3}"
    masks = f"masks {one['overlap']:.4f} ({one['other_samples']} of {one['samples']}) " if one["compared"] else ""
    return f"{one['case']:<28}{verdict:<9}{counts} {one['pixels']:.3f} px {one['scores']:.1e} {masks}{one['error']}"


# --- docs/models.md ----------------------------------------------------------------------------------------------

HEAD = """\
# Models of other libraries

<!-- Written by `scripts/evaluate zoo` from benches/results/zoo.json. Do not edit. -->

Models that were exported by their own libraries, and what is found with them here and there. The same file is run by the
library on 20 frames, with its own post-processing, and by the pipeline `fusedpreproc ! trtinfer ! ELEMENTS` on the CPU. A row
is *equal* if there are as many results, each with its class, if no coordinate is farther away than 0.05 pixels and if no
score differs by more than 0.001, and if no object's mask overlaps the library's by less than 0.99 (intersection over union,
with samples as fine as the library's pixels). (inferpublish rounds coordinates to 0.01 and scores to 0.0001, which is what most of the
differences are.) Weights are random, with scores that are spread over the frames, unless *shipped*: then they are those in
the library's package. Random weights say nothing about what a model detects; they say that its outputs are read as its
library reads them. *Masks* are the least overlap of an object's mask with the library's, and how many of the pixels of all
masks are in one of the two only; pixels whose value is the threshold but for rounding are not counted.

*Needs* is what has to be written into the [sidecar](model-sidecar.md); where it is nothing, the metadata in the file, a file
beside it, the modules in its graph or the shapes of its tensors tell everything. *Ties* are results that rounding in float32 decides: those that the
library itself finds when it computes in float64, and cells of masks whose best two classes are equal. *Samples* are those of the
frames that tensormap makes, compared with the library's numbers before they are rounded: *equal* is at most 0.6 of a step of
8 bits, or of 16 bits 0.0001 of the range. Embeddings are compared number by number, as scores are.
"""


# What is not compared, and what stands for it in the tests.
TAIL = """\
## Families that are not compared

No package in [tools/zoo/requirements.txt](../tools/zoo/requirements.txt) ships their weights or is asked to export them in
this form: most have their models on servers of their own (rtmlib and insightface download them from there). A small network of
[tests/models/make.py](../tests/models/make.py) with the same outputs stands for each; the tests compare it with values
calculated by hand or with the code of the model's makers.

| family | network | test |
|---|---|---|
| YOLOv6 and YOLOX, their makers' exporters (`[N,5+C]`) | tables in the test | kernels/src/detect/tests/decoders.rs |
| YOLOv3, v4, v5 and v7, raw heads with anchors | `anchors-planes`, `anchors-rows` | tests/elements/gpunms/raw_heads.rs |
| YOLOv5-seg and v7-seg (`[N,5+C+M]`) | tables in the test | kernels/src/detect/tests/choice.rs |
| YOLOv7 with suppression inside (`[N,7]`) | `lists-yolov7` | tests/elements/gpunms/lists.rs |
| PaddleDetection (`[N,6]`) | `lists-paddle` | tests/elements/gpunms/lists.rs |
| TensorFlow's Object Detection API | `lists-tensorflow` | tests/elements/gpunms/lists.rs |
| EfficientNMS (TensorRT) | `lists-efficient` | tests/elements/gpunms/lists.rs |
| MMDeploy's lists | `lists-mmdeploy` | tests/elements/gpunms/lists.rs |
| RT-DETR, D-FINE and DEIM, their makers' exporters (`orig_target_sizes`) | `lists-rtdetr` | tests/elements/gpunms/lists.rs |
| RTMO | `lists-rtmo` | tests/elements/gpunms/lists.rs |
| RTMPose, DWPose (SimCC) | `simcc` | tests/elements/peakfind/keypoints.rs |
| MoveNet | `movenet`, `movenet-people` | tests/elements/peakfind/keypoints.rs |
| HRNet with UDP | `heat-maps-udp` | tests/elements/peakfind/keypoints.rs |
| SCRFD, RetinaFace | `scrfd`, `retinaface` | tests/elements/gpunms/faces.rs |
| SSD with prior boxes | `ssd` | tests/elements/gpunms/faces.rs |
| MaskDINO: masks of queries that have boxes | `queries-masks` | tests/elements/segmask/instances.rs |
| CenterNet's heat maps | tables in the test | kernels/src/detect/tests/extras.rs |
| segmentation with the classes' numbers as output (argmax inside) | `class-map-int64`, `-int32`, `-uint8`, `-bool` | tests/elements/segmask/masks.rs |
| classifiers with several heads, or with several labels at once (sigmoid) | `attributes` | tests/elements/classify/attributes.rs |
| anomaly detectors (PaDiM, PatchCore) | `map-anomaly` | tests/elements/tensormap/maps.rs |
| transfer of style | `picture`, `picture-bright` | tests/elements/tensormap/maps.rs |
| re-identification (OSNet, FastReID) | `colours` | tests/elements/tracker/tracks.rs |

Mask2Former and MaskFormer of transformers are not read: their queries have masks and no boxes. gpunms says so ("no decoder fits the
model's outputs class_queries_logits, masks_queries_logits … names architecture 'Mask2FormerForUniversalSegmentation' for them, which
no decoder reads"). Of Mask2Former as PyTorch's older exporter writes it, ONNX Runtime itself refuses a node (GridSample).

libreyolo's CenterNet paints and places its input by an affine map that lies up to half a pixel of the input beside ours, and
EfficientDet paints the bars in ImageNet's mean, ours in its average: neither shows where frames are as large as the input.
"""


def needs(one: dict) -> str:
    """What a user has to write for this model, and who says the rest."""
    if not one["sidecar"]:
        return f"nothing: {one['told']}" if one["told"] else "nothing: the shapes"
    section, lines = "", []
    for line in one["sidecar"].splitlines():
        if line.startswith("["):
            section = line
        elif line:
            lines.append(f"`{section} {line}`".replace("` ", "`"))
            section = ""
    return "<br>".join(lines)


def verdict(one: dict) -> str:
    if one["unread"]:
        return f"not read: {one['unread']}"
    if not one["holds"]:
        return f"**{one['error']}**" if one["error"] else "**differs**"
    loose = one["kind"] == "results" and (one["allowed"]["pixels"] > 0.05 or one["allowed"]["scores"] > 1e-3)
    near = f"within {one['allowed']['pixels']:g} px and {one['allowed']['scores']:g}" if loose else "equal"
    return f"{near} but for {one['ties']} {'tie' if one['ties'] == 1 else 'ties'}" if one["ties"] else near


def cells(one: dict) -> list[str]:
    """A row of the page."""
    kind = one["kind"]
    elements = " ".join(filter(None, (one["preprocessing"] and f"fusedpreproc {one['preprocessing']} ! … !", one["elements"])))
    places = "" if kind != "results" else f"{one['pixels']:.3f}"
    scores = "" if kind == "cells" else f"{one['scores']:.5f}"
    figures = ["", ""] if one["unread"] else [places, scores]
    counts = "" if one["unread"] else f"{one['found']} of {one['expected']} {kind}"
    name = one["case"] + (" (shipped)" if one["weights"] else "")
    masks = f"{one['overlap']:.4f}; {one['other_samples']} of {one['samples']}" if one.get("compared") else ""
    return [name, f"`{elements}`", needs(one), counts, *figures, masks, verdict(one)]


def page(rows: list[dict]) -> str:
    """docs/models.md."""
    good = sum(one["holds"] for one in rows)
    lines = [HEAD, f"{good} of {len(rows)} models are read as their libraries read them."]
    for library in dict.fromkeys(one["library"] for one in rows):
        of = [one for one in rows if one["library"] == library]
        lines += ["", f"## {library}", ""]
        head = ["model", "elements", "needs", "found", "most pixels apart", "most of scores apart", "masks", "verdict"]
        table = [head, ["---"] * len(head), *map(cells, of)]
        if not any(one.get("compared") for one in of):
            table = [[*row[:-2], row[-1]] for row in table]
        lines += [f"| {' | '.join(row)} |" if row[0] != "---" else f"|{'|'.join(row)}|" for row in table]
        notes = {}
        for one in of:
            if one["note"]:
                notes.setdefault(one["note"], []).append(one["case"])
        lines += [""] if notes else []
        lines += [f"- {', '.join(names)}: {note}" for note, names in notes.items()]
    lines += ["", TAIL.rstrip()]
    raw = "Raw output: [zoo.json](../benches/results/zoo.json). Script: `scripts/evaluate zoo --reference PYTHON`, with the packages of"
    return "\n".join([*lines, "", raw, "[tools/zoo/requirements.txt](../tools/zoo/requirements.txt).", ""])


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/evaluate zoo", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--reference", metavar="PYTHON", help="a Python with the models' libraries")
    parser.add_argument("--keep", action="store_true", help="take the models that were exported before")
    parser.add_argument("--page", action="store_true", help="only write docs/models.md anew from the results file")
    parser.add_argument("cases", nargs="*", metavar="CASE", help="only the cases whose names contain one of these words")
    given = parser.parse_args()
    before = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    if given.page:
        PAGE.write_text(page(before))
        return 0
    if not given.reference:
        parser.error("--reference PYTHON is needed: a Python with the models' libraries, or some of them")
    street = frames()
    command = [given.reference, "-m", "zoo", "--keep" if given.keep else "--anew", OUT, street, *given.cases]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent), "YOLO_AUTOINSTALL": "false", "YOLO_OFFLINE": "true"}
    found, failed = {}, []
    with (OUT / "export.log").open("w") as log:
        made = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, env=environment, cwd=OUT, text=True)
        for text in made.stdout:
            if not text.startswith("{"):
                continue
            line = json.loads(text)
            if "missing" in line:
                print(f"{line['library']}: left out, it is not in that Python ({line['missing']})", flush=True)
            elif "error" in line:
                failed.append(line["case"])
                print(f"{line['case']:<28}not exported: {line['error']} (see {OUT}/export.log)", flush=True)
            else:
                case, result = judge(OUT / line["case"])
                if result.expected < FEWEST and not result.error:
                    result.error = f"only {result.expected} results, which prove nothing"
                found[line["case"]] = row(line["case"], case, result)
                print(words(found[line["case"]]), flush=True)
                # Libraries may end the process; what was measured is kept.
                rows = merged(before if given.cases else [], found)
                RESULTS.write_text(json.dumps(rows, indent=1) + "\n")
                PAGE.write_text(page(rows))
    if made.wait() != 0:
        raise pipeline.PipelineError(f"the export failed: see {OUT}/export.log")
    good = sum(one["holds"] for one in found.values())
    print(
        f"{good} of {len(found)} equal to their own library's; {RESULTS.relative_to(pipeline.ROOT)}, {PAGE.relative_to(pipeline.ROOT)}"
    )
    return 0 if good == len(found) and not failed else 1


def merged(before: list[dict], found: dict[str, dict]) -> list[dict]:
    """The rows of before with what ran in their places, and new ones, by library."""
    rows = {one["case"]: one for one in before} | found
    return sorted(rows.values(), key=lambda one: one["library"].split()[0])


if __name__ == "__main__":
    try:
        sys.exit(main())
    except pipeline.PipelineError as error:
        sys.exit(f"evaluate: {error}")
