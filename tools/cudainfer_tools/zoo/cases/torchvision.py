"""torchvision's detectors, classifiers and segmenters with random weights: the detectors' own post-processing is in the exported
file."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import torch
import torchvision

from cudainfer_tools.zoo.cases import object_masks
from cudainfer_tools.zoo.cases.case import Case, enliven, planes, resized, session, spread, top

LIBRARY = f"torchvision {torchvision.__version__.partition('+')[0]}"
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
MODULES = "the modules in its graph"
CONFIDENCE = 0.25


def scoring(model: torch.nn.Module) -> list:
    """The layers that write a detector's scores."""
    if hasattr(model, "roi_heads"):
        return [model.roi_heads.box_predictor.cls_score]
    head = model.head.classification_head
    if hasattr(head, "cls_logits"):
        return [head.cls_logits]
    return [module if isinstance(module, torch.nn.Conv2d) else module[-1] for module in head.module_list]


TENSOR = "Exported with a tensor `[1,3,H,W]` instead of a list of pictures."


def detector(
    folder: Path, frames: np.ndarray, name: str, size: int, note: str = TENSOR, documented: bool = False, **options: object
) -> None:
    """Boxes, labels (0 is the background) and scores, as the model returns them, with masks or keypoints where it has any."""
    frames = resized(frames, size, size)
    torch.manual_seed(0)
    model = torchvision.models.get_model(name, weights=None, weights_backbone=None, **{"num_classes": 21, **options})
    images = [torch.from_numpy(planes(frame)[0]) for frame in frames]
    enliven(model.backbone, lambda: model.backbone(torch.stack(images[::4])))
    model.eval()
    if name.startswith("fcos"):
        # Distances below 0 are none: there would be no boxes.
        torch.nn.init.constant_(model.head.regression_head.bbox_reg.bias, 3.0)
    sigmoid = name.startswith(("retinanet", "fcos"))
    spread(scoring(model), lambda: model(images[::4]), *((-1.1, 3.0, 1e-4) if sigmoid else (1.0, 4.0, 0.05)))
    example = ([images[0]],) if documented else images[0][None]
    torch.onnx.export(
        model, example, folder / "model.onnx", dynamo=False, opset_version=17,
        input_names=["image"], output_names=list(model(images[:1])[0]),
    )  # fmt: skip
    net = session(folder)
    names = [output.name for output in net.get_outputs()]
    expected, masks, tied = [], [], []
    for image in images:
        outputs = dict(zip(names, net.run(names, {"image": image.numpy() if documented else image.numpy()[None]}), strict=True))
        boxes, labels = outputs["boxes"], outputs["labels"].astype(int) - 1
        # Label 0 is the background, which RetinaNet and FCOS find without training, and boxes that were clipped to nothing.
        kept = (outputs["scores"] >= CONFIDENCE) & (labels >= 0) & (boxes[:, 2:] > boxes[:, :2]).all(1)
        found = [{"box": boxes[i], "score": outputs["scores"][i], "class": labels[i]} for i in np.flatnonzero(kept)]
        for one, i in zip(found, np.flatnonzero(kept), strict=True):
            if "keypoints" in outputs:
                # The third number of each is that it is there.
                one["keypoints"] = outputs["keypoints"][i]
        expected.append(found)
        if "masks" in outputs:
            values = outputs["masks"][kept, 0]
            masks.append(values > 0.5)
            tied.append(object_masks.near(values, 0.5))
    elements = f"gpunms confidence={CONFIDENCE} top-k-after=1000"
    if masks:
        object_masks.write(folder, masks, tied)
        elements += " ! segmask upsample=true"
    Case(LIBRARY, elements, expected, note=note, declared_by=MODULES).write(folder, frames)


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
    torch.onnx.export(
        model, torch.zeros(1, 3, size, size), folder / "model.onnx", dynamo=False, opset_version=17, input_names=["image"]
    )
    net = session(folder)
    expected = [top(torch.from_numpy(net.run(None, {"image": image})[0])[0].softmax(0).numpy()) for image in inputs]
    Case(LIBRARY, "classify top-k=5", expected, declared_by=MODULES).write(folder, frames)


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
    Case(LIBRARY, "segmask", [], declared_by=MODULES).write_masks(folder, frames, logits.argmax(1), logits)


CASES = {
    "fasterrcnn": partial(detector, name="fasterrcnn_mobilenet_v3_large_320_fpn", size=320, min_size=320, max_size=320),
    "fasterrcnn-documented": partial(
        detector, name="fasterrcnn_mobilenet_v3_large_320_fpn", size=320, min_size=320, max_size=320, documented=True,
        note="Exported with a list of one picture, as torchvision documents it: the input is `[3,H,W]`.",
    ),
    "maskrcnn": partial(detector, name="maskrcnn_resnet50_fpn", size=320, min_size=320, max_size=320, box_detections_per_img=10),
    "keypointrcnn": partial(
        detector, name="keypointrcnn_resnet50_fpn", size=320, min_size=320, max_size=320, num_classes=2, box_detections_per_img=10
    ),
    "ssd300": partial(detector, name="ssd300_vgg16", size=300),
    "ssdlite320": partial(detector, name="ssdlite320_mobilenet_v3_large", size=320),
    "retinanet": partial(detector, name="retinanet_resnet50_fpn", size=320, min_size=320, max_size=320),
    "fcos": partial(detector, name="fcos_resnet50_fpn", size=320, min_size=320, max_size=320),
    **{name.replace("_", "-"): partial(classes, name=name) for name in ("resnet18", "mobilenet_v3_small", "efficientnet_b0")},
    "deeplabv3": partial(segments, name="deeplabv3_mobilenet_v3_large"),
    "lraspp": partial(segments, name="lraspp_mobilenet_v3_large"),
}  # fmt: skip
