"""torchvision's detectors and classifiers with random weights: the model's own post-processing is in the exported file."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import torch
import torchvision

from zoo.case import Case, enliven, planes, resized, session

LIBRARY = f"torchvision {torchvision.__version__}"
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def detector(folder: Path, frames: np.ndarray, name: str, size: int, **options: object) -> None:
    """Boxes, labels (0 is the background) and scores, as the model returns them."""
    frames = resized(frames, size, size)
    torch.manual_seed(0)
    model = torchvision.models.get_model(name, weights=None, weights_backbone=None, num_classes=21, **options)
    images = [torch.from_numpy(planes(frame)[0]) for frame in frames]
    enliven(model, lambda: model.backbone(torch.stack(images[:2])))
    model.eval()
    torch.onnx.export(
        model, ([images[0]],), folder / "model.onnx", dynamo=False, opset_version=17,
        input_names=["image"], output_names=["boxes", "labels", "scores"],
    )  # fmt: skip
    net = session(folder)
    expected = []
    for image in images:
        outputs = dict(zip((o.name for o in net.get_outputs()), net.run(None, {"image": image.numpy()}), strict=True))
        rows = zip(outputs["boxes"], outputs["scores"], outputs["labels"], strict=True)
        expected.append([{"box": box, "score": score, "class": int(label) - 1} for box, score, label in rows if score >= 0.05])
    Case(LIBRARY, "gpunms confidence=0.05 top-k-after=1000", expected, sidecar='[output]\nbackground = "first"\n').write(folder, frames)


def classes(folder: Path, frames: np.ndarray, name: str, size: int = 224) -> None:
    """The five best classes: softmax over the logits."""
    frames = resized(frames, size, size)
    torch.manual_seed(0)
    model = torchvision.models.get_model(name, weights=None)
    enliven(model, lambda: model(torch.from_numpy(np.concatenate([planes(f, mean=MEAN, std=STD) for f in frames[:4]]))))
    model.eval()
    torch.onnx.export(model, torch.zeros(1, 3, size, size), folder / "model.onnx", dynamo=False, opset_version=17, input_names=["image"])
    net = session(folder)
    expected = []
    for frame in frames:
        scores = torch.from_numpy(net.run(None, {"image": planes(frame, mean=MEAN, std=STD)})[0])[0].softmax(0).numpy()
        expected.append([{"class": int(i), "score": scores[i]} for i in np.argsort(-scores, kind="stable")[:5]])
    sidecar = f"[input]\nmean = {list(MEAN)}\nstd = {list(STD)}\n"
    Case(LIBRARY, "classify top-k=5", expected, scores=1e-4, sidecar=sidecar).write(folder, frames)


CASES = {
    "fasterrcnn-mobilenet": partial(detector, name="fasterrcnn_mobilenet_v3_large_320_fpn", size=320, box_score_thresh=0.01, min_size=320, max_size=320),
    "ssdlite320": partial(detector, name="ssdlite320_mobilenet_v3_large", size=320, score_thresh=0.01),
    "retinanet": partial(detector, name="retinanet_resnet50_fpn", size=320, min_size=320, max_size=320, score_thresh=0.01),
    "fcos": partial(detector, name="fcos_resnet50_fpn", size=320, min_size=320, max_size=320, score_thresh=0.01),
    **{name.replace("_", "-"): partial(classes, name=name) for name in ("resnet18", "mobilenet_v3_small", "efficientnet_b0")},
}
