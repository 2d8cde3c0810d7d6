"""Ultralytics' families with random weights, exported and post-processed by Ultralytics itself (AGPL: only where the user has
installed it)."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

import numpy as np
import torch
import ultralytics
from ultralytics import RTDETR, YOLO
from ultralytics.utils import nms, ops

from zoo.case import Case, enliven, planes, resized, session

LIBRARY = f"ultralytics {ultralytics.__version__}"
CONFIDENCE, IOU, MOST = 0.25, 0.7, 300
NMS = f"gpunms confidence={CONFIDENCE} iou={IOU} top-k-before=30000 top-k-after={MOST}"


def export(folder: Path, frames: np.ndarray, config: str, kind: type = YOLO, **options: object) -> YOLO:
    """Builds the model with random weights whose scores spread over these frames, and exports it."""
    torch.manual_seed(0)
    model = kind(config)
    head = model.model.model[-1]
    for name in ("cv3", "one2one_cv3"):
        for branch in getattr(head, name, None) or ():
            torch.nn.init.normal_(branch[-1].weight, std=0.1)
            torch.nn.init.constant_(branch[-1].bias, -4.0 - 0.4 * np.log(head.nc))
    images = torch.from_numpy(np.concatenate([planes(frame) for frame in frames[:2]]))
    enliven(model.model, lambda: model.model(images))
    imgsz = frames.shape[1]
    exported = model.export(format="onnx", imgsz=imgsz, simplify=False, **options)
    shutil.move(exported, folder / "model.onnx")
    return model


def boxes(folder: Path, frames: np.ndarray, config: str, imgsz: int = 640, **options: object) -> None:
    """Boxes, with keypoints or rotated where the model has them."""
    frames = resized(frames, imgsz, imgsz)
    model = export(folder, frames, config, **options)
    net = session(folder)
    rotated, points = model.task == "obb", model.task == "pose"
    expected = []
    for frame in frames:
        outputs = net.run(None, {net.get_inputs()[0].name: planes(frame)})
        kept = nms.non_max_suppression(
            torch.from_numpy(outputs[0]),
            CONFIDENCE,
            IOU,
            nc=len(model.names),
            max_det=MOST,
            rotated=rotated,
            end2end=bool(options.get("nms")) or getattr(model.model, "end2end", False),
        )[0].numpy()
        found = []
        for row in kept:
            one = {"score": row[4], "class": int(row[5])}
            if rotated:
                corners = ops.xywhr2xyxyxyxy(torch.tensor([[*row[:4], row[6]]]))
                one["corners"] = corners[0].tolist()
            else:
                one["box"] = ops.clip_boxes(torch.tensor(row[None, :4]), (imgsz, imgsz))[0].tolist()
            if points:
                shape = model.model.kpt_shape
                one["keypoints"] = row[6:].reshape(shape).tolist()
            found.append(one)
        expected.append(found)
    elements = NMS + (" ! segmask" if model.task == "segment" else "")
    Case(LIBRARY, elements, expected).write(folder, frames)


def classes(folder: Path, frames: np.ndarray, config: str, imgsz: int = 224) -> None:
    """The five best classes."""
    frames = resized(frames, imgsz, imgsz)
    export(folder, frames, config)
    net = session(folder)
    expected = []
    for frame in frames:
        scores = net.run(None, {net.get_inputs()[0].name: planes(frame)})[0][0]
        expected.append([{"class": int(i), "score": scores[i]} for i in np.argsort(-scores, kind="stable")[:5]])
    Case(LIBRARY, "classify top-k=5", expected, scores=1e-4).write(folder, frames)


DETECTORS = ["yolov3-tiny", "yolov5n", "yolov6n", "yolov8n", "yolov9t", "yolov10n", "yolo11n", "yolo12n", "yolo26n"]
CASES = {
    **{f"{name}": partial(boxes, config=f"{name}.yaml") for name in DETECTORS},
    **{f"{name}-nms": partial(boxes, config=f"{name}.yaml", nms=True) for name in ("yolov8n", "yolo11n")},
    **{
        f"{name}-{task}": partial(boxes, config=f"{name}-{task}.yaml")
        for name in ("yolov8n", "yolo11n", "yolo26n")
        for task in ("seg", "pose", "obb")
    },
    "yolo11n-obb-nms": partial(boxes, config="yolo11n-obb.yaml", nms=True),
    "yolo11n-pose-nms": partial(boxes, config="yolo11n-pose.yaml", nms=True),
    "rtdetr-l-ultralytics": partial(boxes, config="rtdetr-l.yaml", kind=RTDETR),
    **{f"{name}-cls": partial(classes, config=f"{name}-cls.yaml") for name in ("yolov8n", "yolo11n")},
}
