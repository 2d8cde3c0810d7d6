"""libreyolo's detectors with random weights, exported by libreyolo and run by its own backend for ONNX files."""

from __future__ import annotations

import re
import shutil
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TypedDict

import libreyolo
import numpy as np
import torch
from libreyolo.backends.onnx import OnnxBackend
from PIL import Image

from cudainfer_tools.zoo.cases.case import Case, Colour, Maker, enliven, planes, resized, spread

# No other layer has as many outputs.
CLASSES = 23
CONFIDENCE = 0.35

# Of YOLOv3, v4 and v7: box, objectness and classes of three anchors a cell. Of PicoDet: classes, and 8 bins for each side. Of
# EfficientDet: classes of nine anchors a cell.
RAW = 3 * (5 + CLASSES)
ANCHORS = [range(first, first + 5 + CLASSES) for first in range(0, RAW, 5 + CLASSES)]
ROWS: dict[int, list[int] | slice] = {
    CLASSES: slice(None),
    CLASSES + 32: list(range(CLASSES)),
    9 * CLASSES: slice(None),
    RAW: [row for anchor in ANCHORS for row in anchor[5:]],
}


class Normalisation(TypedDict, total=False):
    """Arguments of `planes`."""

    scale: float
    mean: Colour
    std: Colour


# How a family's pixels are normalised.
PLANES: dict[str, Normalisation] = {
    "LibreYOLOX": {"scale": 1.0},
    "LibreRTMDet": {"scale": 1.0, "mean": (123.675, 116.28, 103.53), "std": (58.395, 57.12, 57.375)},
    "LibrePICODET": {"mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)},
    "LibreEfficientDet": {"mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)},
    "LibreCenterNet": {"mean": (0.470, 0.447, 0.408), "std": (0.278, 0.274, 0.289)},
    "LibrePPYOLOE": {"mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)},
}


def outputs(layer: torch.nn.Module) -> int:
    """How many numbers a layer with weights writes."""
    return (getattr(layer, "out_channels", 0) or getattr(layer, "out_features", 0)) if hasattr(layer, "weight") else 0


def boxes(folder: Path, frames: np.ndarray, kind: str, size: str, elements: str, share: float, side: int = 320) -> None:
    family = getattr(libreyolo, kind)
    # As when it is built anew for other classes: no weights are downloaded.
    family._in_rebuild = True
    frames = resized(frames, side, side)
    torch.manual_seed(1)
    model = family(None, size=size, nb_classes=CLASSES, device="cpu")
    net = model.model.to("cpu")
    normalisation = PLANES.get(kind, Normalisation())
    some = torch.from_numpy(np.concatenate([planes(frame, **normalisation) for frame in frames]))
    layers = dict(net.named_modules())
    for name, layer in layers.items():
        # Some begin with weights that say nothing. Deformable convolutions begin without offsets, and with random ones the last bits
        # of the input would decide.
        if isinstance(layer, torch.nn.Conv2d) and not layer.weight.any() and "offset" not in name:
            torch.nn.init.normal_(layer.weight, std=0.05)
        # Boxes should not be as large as the frame, nor logits of distances so far apart that rounding decides.
        if re.search(r"reg_preds\.|head\.cv2\.\d\.2$|pred_reg|reg_pred$|gfl_reg|box_net\.predict\.conv_pw", name) and outputs(
            layer
        ):
            layer.weight.data.mul_(0.2)
        elif outputs(layer) == RAW:
            layer.weight.data[[row for anchor in ANCHORS for row in anchor[:4]]] *= 0.2
        elif outputs(layer) == CLASSES + 32:
            layer.weight.data[CLASSES:] *= 0.2
    net.eval()
    enliven(net, lambda: net(some[::5]))
    for count, rows in ROWS.items():
        spread([layer for layer in layers.values() if outputs(layer) == count], lambda: net(some), -0.85, 3.0, share, rows)
    raw = [layer for layer in layers.values() if outputs(layer) == RAW]
    spread(raw, lambda: net(some), 1.0, 4.0, 0.5, [anchor[4] for anchor in ANCHORS])
    spread([layer for name, layer in layers.items() if "obj_preds." in name], lambda: net(some), 1.0, 4.0, 0.5)
    # Distances from a cell, not all of which would be positive.
    spread([layer for name, layer in layers.items() if "rtm_reg." in name], lambda: net(some), 1.0, 4.0, 0.5)
    # Sizes in cells, all of which should be positive.
    spread([layer for name, layer in layers.items() if name == "wh.2"], lambda: net(some), 1.0, 30.0, 1.0)
    shutil.move(
        model.export(format="onnx", imgsz=side, simplify=False, output_path=str(folder / "exported.onnx")), folder / "model.onnx"
    )
    backend = OnnxBackend(str(folder / "model.onnx"), nb_classes=CLASSES, device="cpu")
    expected = []
    for frame in frames:
        found = backend(Image.fromarray(frame), conf=CONFIDENCE, iou=0.45, max_det=300).boxes
        columns = (np.asarray(value, float).tolist() for value in (found.xyxy, found.conf, found.cls))
        # Not all families cut their boxes at the frame.
        expected.append(
            [
                {"box": np.clip(box, 0, side), "score": score, "class": int(label)}
                for box, score, label in zip(*columns, strict=True)
            ]
        )
    Case(f"libreyolo {version('libreyolo')}", f"{elements} confidence={CONFIDENCE} top-k-after=300", expected).write(folder, frames)


def queries(kind: str, size: str, side: int = 320) -> Maker:
    return partial(boxes, kind=kind, size=size, elements="gpunms", share=1e-3, side=side)


CASES: dict[str, Maker] = {
    "libreyolo-yolox": partial(boxes, kind="LibreYOLOX", size="n", elements="gpunms iou=0.45", share=3e-4),
    "libreyolo-yolo9": partial(boxes, kind="LibreYOLO9", size="t", elements="gpunms iou=0.45", share=3e-4),
    "libreyolo-rtmdet": partial(boxes, kind="LibreRTMDet", size="t", elements="gpunms iou=0.45", share=3e-4),
    "libreyolo-picodet": partial(boxes, kind="LibrePICODET", size="s", elements="gpunms iou=0.45", share=3e-4),
    "libreyolo-yolov4-tiny": partial(boxes, kind="LibreYOLO4", size="t", elements="gpunms iou=0.45", share=3e-4),
    "libreyolo-yolov3-tiny": partial(boxes, kind="LibreYOLO3", size="t", elements="gpunms iou=0.45", share=3e-4),
    "libreyolo-yolov7": partial(boxes, kind="LibreYOLO7", size="b", elements="gpunms iou=0.45", share=3e-4),
    "libreyolo-pp-yoloe": partial(boxes, kind="LibrePPYOLOE", size="s", elements="gpunms iou=0.45", share=3e-4),
    "libreyolo-yolo-nas": partial(boxes, kind="LibreYOLONAS", size="s", elements="gpunms iou=0.45", share=3e-4),
    "libreyolo-efficientdet": partial(boxes, kind="LibreEfficientDet", size="d0", elements="gpunms iou=0.45", share=3e-4, side=512),
    "libreyolo-centernet": partial(boxes, kind="LibreCenterNet", size="resdcn18", elements="gpunms", share=1e-4, side=512),
    "libreyolo-rtdetr": queries("LibreRTDETR", "r18"),
    "libreyolo-dfine": queries("LibreDFINE", "n"),
    "libreyolo-deim": queries("LibreDEIM", "n"),
}
