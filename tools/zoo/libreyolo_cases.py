"""libreyolo's detectors with random weights, exported by libreyolo and run by its own backend for ONNX files."""

from __future__ import annotations

import re
import shutil
from functools import partial
from importlib.metadata import version
from pathlib import Path

import libreyolo
import numpy as np
import torch
from libreyolo.backends.onnx import OnnxBackend
from PIL import Image

from zoo.case import Case, enliven, planes, resized, spread

# No other layer has as many outputs.
CLASSES = 23
CONFIDENCE = 0.35


def boxes(folder: Path, frames: np.ndarray, kind: str, size: str, elements: str, share: float, side: int = 320) -> None:
    family = getattr(libreyolo, kind)
    # As when it is built anew for other classes: no weights are downloaded.
    family._in_rebuild = True
    frames = resized(frames, side, side)
    torch.manual_seed(1)
    model = family(None, size=size, nb_classes=CLASSES, device="cpu")
    net = model.model.to("cpu")
    scoring = [
        layer for name, layer in net.named_modules()
        if getattr(layer, "out_channels", 0) == CLASSES or getattr(layer, "out_features", 0) in (CLASSES, CLASSES + 1)
    ]  # fmt: skip
    # YOLOX takes pixels as they are.
    some = torch.from_numpy(np.concatenate([planes(frame, 1.0 if kind == "LibreYOLOX" else 1 / 255) for frame in frames]))
    for name, layer in net.named_modules():
        # Boxes should not be as large as the frame, nor logits of distances so far apart that rounding decides.
        if "reg_preds." in name or re.search(r"head\.cv2\.\d\.2$", name):
            layer.weight.data.mul_(0.2)
    net.eval()
    enliven(net, lambda: net(some[::5]))
    spread(scoring, lambda: net(some), -0.85, 3.0, share)
    spread([layer for name, layer in net.named_modules() if "obj_preds." in name], lambda: net(some), 1.0, 4.0, 0.5)
    shutil.move(model.export(format="onnx", imgsz=side, simplify=False, output_path=str(folder / "exported.onnx")), folder / "model.onnx")
    backend = OnnxBackend(str(folder / "model.onnx"), nb_classes=CLASSES, device="cpu")
    expected = []
    for frame in frames:
        found = backend(Image.fromarray(frame), conf=CONFIDENCE, iou=0.45, max_det=300).boxes
        rows = (np.asarray(value, float).tolist() for value in (found.xyxy, found.conf, found.cls))
        # Not all families cut their boxes at the frame.
        expected.append(
            [{"box": np.clip(box, 0, side), "score": score, "class": int(label)} for box, score, label in zip(*rows, strict=True)]
        )
    Case(f"libreyolo {version('libreyolo')}", f"{elements} confidence={CONFIDENCE} top-k-after=300", expected).write(folder, frames)


def queries(kind: str, size: str, side: int = 320) -> partial:
    return partial(boxes, kind=kind, size=size, elements="gpunms", share=1e-3, side=side)


CASES = {
    "libreyolo-yolox": partial(boxes, kind="LibreYOLOX", size="n", elements="gpunms iou=0.45", share=3e-4),
    "libreyolo-yolo9": partial(boxes, kind="LibreYOLO9", size="t", elements="gpunms iou=0.45", share=3e-4),
    "libreyolo-rtdetr": queries("LibreRTDETR", "r18"),
    "libreyolo-dfine": queries("LibreDFINE", "n"),
    "libreyolo-deim": queries("LibreDEIM", "n"),
}
