"""torchvision's detectors, classifiers and segmenters with random weights: the detectors' own post-processing is in the exported
file."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import torch
import torchvision

from zoo.case import Case, enliven, planes, resized, session, spread, top

LIBRARY = f"torchvision {torchvision.__version__.partition('+')[0]}"
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
NORMALIZED = f"[input]\nmean = {list(MEAN)}\nstd = {list(STD)}\n"
CONFIDENCE = 0.25


def scoring(model: torch.nn.Module) -> list:
    """The layers that write a detector's scores."""
    if hasattr(model, "roi_heads"):
        return [model.roi_heads.box_predictor.cls_score]
    head = model.head.classification_head
    if hasattr(head, "cls_logits"):
        return [head.cls_logits]
    return [module if isinstance(module, torch.nn.Conv2d) else module[-1] for module in head.module_list]


def detector(folder: Path, frames: np.ndarray, name: str, size: int, **options: object) -> None:
    """Boxes, labels (0 is the background) and scores, as the model returns them."""
    frames = resized(frames, size, size)
    torch.manual_seed(0)
    model = torchvision.models.get_model(name, weights=None, weights_backbone=None, num_classes=21, **options)
    images = [torch.from_numpy(planes(frame)[0]) for frame in frames]
    enliven(model.backbone, lambda: model.backbone(torch.stack(images[::4])))
    model.eval()
    sigmoid = name.startswith(("retinanet", "fcos"))
    spread(scoring(model), lambda: model(images[::4]), *((-1.1, 3.0, 1e-4) if sigmoid else (1.0, 4.0, 0.05)))
    torch.onnx.export(
        model, images[0][None], folder / "model.onnx", dynamo=False, opset_version=17,
        input_names=["image"], output_names=list(model(images[:1])[0]),
    )  # fmt: skip
    net = session(folder)
    expected = []
    for image in images:
        boxes, scores, labels = net.run(["boxes", "scores", "labels"], {"image": image.numpy()[None]})
        rows = zip(boxes, scores, labels, strict=True)
        expected.append([{"box": box, "score": score, "class": int(label) - 1} for box, score, label in rows if score >= CONFIDENCE])
    elements = f"gpunms confidence={CONFIDENCE} top-k-after=1000"
    note = "Exported with a tensor `[1,3,H,W]`: a list of pictures would have three dimensions."
    Case(LIBRARY, elements, expected, sidecar='[output]\nbackground = "first"\n', note=note).write(folder, frames)


def classes(folder: Path, frames: np.ndarray, name: str, size: int = 224) -> None:
    """The five best classes: softmax over the logits."""
    frames = resized(frames, size, size)
    torch.manual_seed(0)
    model = torchvision.models.get_model(name, weights=None)
    inputs = [planes(frame, mean=MEAN, std=STD) for frame in frames]
    some = torch.from_numpy(np.concatenate(inputs[::4]))
    enliven(model, lambda: model(some))
    last = [module for module in model.modules() if isinstance(module, torch.nn.Linear)][-1]
    spread([last], lambda: model(some), 0.0, 3.0, 0.1)
    torch.onnx.export(model, torch.zeros(1, 3, size, size), folder / "model.onnx", dynamo=False, opset_version=17, input_names=["image"])
    net = session(folder)
    expected = [top(torch.from_numpy(net.run(None, {"image": image})[0])[0].softmax(0).numpy()) for image in inputs]
    Case(LIBRARY, "classify top-k=5", expected, sidecar=NORMALIZED).write(folder, frames)


def segments(folder: Path, frames: np.ndarray, name: str, size: int = 256) -> None:
    """The class of each pixel."""
    frames = resized(frames, size, size)
    torch.manual_seed(0)
    model = torchvision.models.get_model(name, weights=None, weights_backbone=None, num_classes=21)
    inputs = [planes(frame, mean=MEAN, std=STD) for frame in frames]
    some = torch.from_numpy(np.concatenate(inputs[::4]))
    enliven(model, lambda: model(some))
    torch.onnx.export(
        model, some[:1], folder / "model.onnx", dynamo=False, opset_version=17, input_names=["image"], output_names=["out"],
    )  # fmt: skip
    net = session(folder)
    logits = np.stack([net.run(["out"], {"image": image})[0][0] for image in inputs])
    Case(LIBRARY, "segmask", [], sidecar=NORMALIZED).write_masks(folder, frames, logits.argmax(1), logits)


CASES = {
    "fasterrcnn": partial(detector, name="fasterrcnn_mobilenet_v3_large_320_fpn", size=320, min_size=320, max_size=320),
    "ssd300": partial(detector, name="ssd300_vgg16", size=300),
    "ssdlite320": partial(detector, name="ssdlite320_mobilenet_v3_large", size=320),
    "retinanet": partial(detector, name="retinanet_resnet50_fpn", size=320, min_size=320, max_size=320),
    "fcos": partial(detector, name="fcos_resnet50_fpn", size=320, min_size=320, max_size=320),
    **{name.replace("_", "-"): partial(classes, name=name) for name in ("resnet18", "mobilenet_v3_small", "efficientnet_b0")},
    "deeplabv3": partial(segments, name="deeplabv3_mobilenet_v3_large"),
    "lraspp": partial(segments, name="lraspp_mobilenet_v3_large"),
}
