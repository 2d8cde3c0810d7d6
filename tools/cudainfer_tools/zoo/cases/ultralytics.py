"""Ultralytics' families with random weights, exported and post-processed by Ultralytics itself (AGPL: only where the user has
installed it)."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
import ultralytics
from ultralytics import RTDETR, YOLO, YOLOE
from ultralytics.utils import nms, ops

from cudainfer_tools.zoo.cases import object_masks
from cudainfer_tools.zoo.cases.case import Case, Maker, enliven, planes, resized, session, spread, top

if TYPE_CHECKING:
    from ultralytics.engine.model import Model

LIBRARY = f"ultralytics {ultralytics.__version__}"
CONFIDENCE, IOU, MOST = 0.25, 0.7, 300
# Of YOLOE, whose classes are set.
CLASSES = 12
NMS = f"gpunms confidence={CONFIDENCE} iou={IOU} top-k-before=30000 top-k-after={MOST}"


def export(folder: Path, frames: np.ndarray, config: str, kind: type[Model] = YOLO, **options: object) -> Model:
    """Builds the model with random weights whose scores spread over these frames, and exports it."""
    torch.manual_seed(0)
    model = kind(config)
    head = model.model.model[-1]
    if kind is YOLOE:
        # What it would compute of their names with a text model, which it would download.
        words = [f"class {i}" for i in range(CLASSES)]
        model.set_classes(words, torch.nn.functional.normalize(torch.randn(1, CLASSES, 512), dim=-1))
        model.model.eval()
        head.fuse(model.model.pe)
    images = torch.from_numpy(np.concatenate([planes(frame) for frame in frames]))
    enliven(model.model, lambda: model.model(images[::5]))
    if kind is RTDETR:
        # Their distances from the reference points are 0 without training.
        for module in [head.enc_bbox_head, *head.dec_bbox_head]:
            torch.nn.init.normal_(module.layers[-1].weight, std=0.2)
        spread([head.enc_score_head, *head.dec_score_head], lambda: model.model(images), -1.1, 3.0)
    elif model.task != "classify":
        layers = {
            name: [branch[-1] for branch in getattr(head, name, None) or ()]
            for name in ("cv2", "one2one_cv2", "cv3", "one2one_cv3")
        }
        if head.reg_max == 1:
            # Distances themselves, not their distribution: random ones would turn boxes inside out.
            for layer in (*layers["cv2"], *layers["one2one_cv2"]):
                layer.weight.data.mul_(0.05)
                layer.bias.data.fill_(2.0)
        spread([*layers["cv3"], *layers["one2one_cv3"]], lambda: model.model(images), -1.1, 3.0, 3e-4 if head.nc > 10 else 5e-3)
    else:
        spread([head.linear], lambda: model.model(images), 0.0, 3.0, share=0.1)
    exported = model.export(format="onnx", imgsz=frames.shape[1], simplify=False, **options)
    shutil.move(exported, folder / "model.onnx")
    return model


def masks(outputs: list[np.ndarray], rows: torch.Tensor, size: int) -> tuple[np.ndarray, np.ndarray]:
    """The masks of the rows as Ultralytics' predictor makes them, and which of their pixels rounding decides."""
    protos = torch.from_numpy(outputs[1][0])
    values = (rows[:, 6:].float() @ protos.flatten(1)).reshape(-1, *protos.shape[1:])
    fine = (
        torch.nn.functional.interpolate(values[None], (size, size), mode="bilinear")[0] if len(rows) else torch.zeros(0, size, size)
    )
    found = ops.process_mask(protos, rows[:, 6:].float(), rows[:, :4].float(), (size, size), upsample=True)
    return found.numpy().astype(bool), object_masks.near(fine.numpy())


def suppress(outputs: np.ndarray, model: Model, suppressed: bool) -> torch.Tensor:
    """The rows of the first output that Ultralytics keeps, in the type that this has."""
    return nms.non_max_suppression(
        torch.from_numpy(outputs),
        CONFIDENCE,
        IOU,
        nc=len(model.names),
        max_det=MOST,
        rotated=model.task == "obb",
        end2end=suppressed,
    )[0]


def kept(rows: torch.Tensor, model: Model, size: int) -> list[dict]:
    """These rows as results."""
    found = []
    for row in rows:
        one: dict[str, object] = {"score": float(row[4]), "class": int(row[5])}
        if model.task == "obb":
            one["corners"] = ops.xywhr2xyxyxyxy(torch.cat([row[:4], row[6:7]])[None])[0].tolist()
        else:
            one["box"] = ops.clip_boxes(row[None, :4].clone(), (size, size))[0].tolist()
        if model.task == "pose":
            one["keypoints"] = row[6:].reshape(model.model.model[-1].kpt_shape).tolist()
        found.append(one)
    return found


def boxes(folder: Path, frames: np.ndarray, config: str, imgsz: int = 320, kind: type[Model] = YOLO, **options: object) -> None:
    """Boxes, with keypoints or rotated where the model has them."""
    frames = resized(frames, imgsz, imgsz)
    model = export(folder, frames, config, kind, **options)
    net = session(folder)
    suppressed = "nms" in options
    expected, exact, shapes = [], [], []
    for frame in frames:
        outputs = net.run(None, {net.get_inputs()[0].name: planes(frame)})
        rows = suppress(outputs[0], model, suppressed)
        expected.append(kept(rows, model, imgsz))
        if not suppressed:
            exact.append(kept(suppress(outputs[0].astype(np.float64), model, suppressed), model, imgsz))
        if model.task == "segment":
            shapes.append(masks(outputs, rows, imgsz))
    if shapes:
        object_masks.write(folder, [found for found, _ in shapes], [tied for _, tied in shapes])
    Case(LIBRARY, NMS + (" ! segmask upsample=true" if shapes else ""), expected, exact=exact).write(folder, frames)


def queries(folder: Path, frames: np.ndarray, config: str, imgsz: int = 320) -> None:
    """RT-DETR: rows of centre, size, score and class, as its predictor reads them."""
    frames = resized(frames, imgsz, imgsz)
    export(folder, frames, config, kind=RTDETR)
    net = session(folder)
    expected = []
    for frame in frames:
        rows = torch.from_numpy(net.run(None, {net.get_inputs()[0].name: planes(frame)})[0][0])
        rows = rows[rows[:, 4] > CONFIDENCE][:MOST]
        corners = ops.clip_boxes(ops.xywh2xyxy(rows[:, :4]) * imgsz, (imgsz, imgsz)).tolist()
        expected.append(
            [{"box": box, "score": float(row[4]), "class": int(row[5])} for box, row in zip(corners, rows, strict=True)]
        )
    Case(LIBRARY, f"gpunms confidence={CONFIDENCE} top-k-after={MOST}", expected).write(folder, frames)


def classes(folder: Path, frames: np.ndarray, config: str, imgsz: int = 224) -> None:
    """The five best classes."""
    frames = resized(frames, imgsz, imgsz)
    export(folder, frames, config)
    net = session(folder)
    expected = [top(net.run(None, {net.get_inputs()[0].name: planes(frame)})[0][0]) for frame in frames]
    Case(LIBRARY, "classify top-k=5", expected).write(folder, frames)


DETECTORS = ["yolov3-tiny", "yolov5n", "yolov6n", "yolov8n", "yolov9t", "yolov10n", "yolo11n", "yolo12n", "yolo26n"]
CASES: dict[str, Maker] = {
    **{name: partial(boxes, config=f"{name}.yaml") for name in DETECTORS},
    **{f"{name}-nms": partial(boxes, config=f"{name}.yaml", nms=True) for name in ("yolov8n", "yolo11n")},
    **{
        f"{name}-{task}": partial(boxes, config=f"{name}-{task}.yaml")
        for name in ("yolov8n", "yolo11n", "yolo26n")
        for task in ("seg", "pose", "obb")
    },
    # Without nms=False, 8.4 exports the head that needs suppression.
    **{
        f"{name}-end2end": partial(boxes, config=f"{name}.yaml", nms=False)
        for name in ("yolov10n", "yolo26n", "yolo26n-seg", "yolo26n-pose", "yolo26n-obb")
    },
    "yolo11n-obb-nms": partial(boxes, config="yolo11n-obb.yaml", nms=True),
    "yolo11n-pose-nms": partial(boxes, config="yolo11n-pose.yaml", nms=True),
    "yoloe-11s-seg": partial(boxes, config="yoloe-11s-seg.yaml", kind=YOLOE),
    "rtdetr-l": partial(queries, config="rtdetr-l.yaml"),
    **{f"{name}-cls": partial(classes, config=f"{name}-cls.yaml") for name in ("yolov8n", "yolo11n", "yolo26n")},
}
