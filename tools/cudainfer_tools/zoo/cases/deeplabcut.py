"""A pose network of DeepLabCut with random weights, as deeplabcut-live builds it, its pytorch_config.yaml beside the file. The
packages export no ONNX: the outputs of the head are exported as they are. The predictor is deeplabcut-live's, which is
DeepLabCut's own."""

from __future__ import annotations

import importlib.metadata
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml
from dlclive.pose_estimation_pytorch.models.model import PoseModel

from cudainfer_tools.zoo.cases.case import Case, enliven, planes, resized, session, spread

LIBRARY = f"deeplabcut-live {importlib.metadata.version('deeplabcut-live')}"
BODYPARTS = ["snout", "leftear", "rightear", "spine", "tailbase"]
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def configuration(sigmoid: bool) -> dict[str, Any]:
    """As DeepLabCut writes it for a ResNet, with a smaller one (config/base in its package)."""

    def layers(channels: int) -> dict[str, list[int]]:
        return {"channels": [512, channels], "kernel_size": [3], "strides": [2]}

    count = len(BODYPARTS)
    predictor = {"type": "HeatmapPredictor", "apply_sigmoid": sigmoid, "clip_scores": not sigmoid}
    predictor |= {"location_refinement": True, "locref_std": 7.2801}
    head = {"type": "HeatmapHead", "predictor": predictor, "heatmap_config": layers(count), "locref_config": layers(2 * count)}
    backbone = {"type": "ResNet", "model_name": "resnet18", "output_stride": 16}
    return {
        "data": {"colormode": "RGB", "inference": {"normalize_images": True}},
        "metadata": {"bodyparts": BODYPARTS, "unique_bodyparts": [], "individuals": ["animal"]},
        "method": "bu",
        "model": {"backbone": backbone, "backbone_output_channels": 512, "heads": {"bodypart": head}},
    }


class Head(torch.nn.Module):
    """The network with the outputs of its only head."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, images: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        found = self.model(images)["bodypart"]
        return found["heatmap"], found["locref"]


def points(folder: Path, frames: np.ndarray, sigmoid: bool) -> None:
    """The points of one animal in every frame."""
    torch.manual_seed(0)
    # Multiples of the stride: DeepLabCut pads nothing for this backbone.
    frames = resized(frames, 384, 288)
    config = configuration(sigmoid)
    (folder / "pytorch_config.yaml").write_text(yaml.safe_dump(config))
    model = PoseModel.build(config["model"]).eval()
    inputs = [torch.from_numpy(planes(frame, mean=MEAN, std=STD)) for frame in frames]
    some = torch.cat(inputs[::4])
    head = Head(model).eval()
    enliven(head, lambda: head(some))
    last = model.heads["bodypart"].heatmap_head
    layers = [module for module in last.modules() if isinstance(module, torch.nn.ConvTranspose2d)]
    spread(layers[-1:], lambda: head(some), *((-2.0, 2.0) if sigmoid else (0.1, 0.9)))
    torch.onnx.export(
        head, inputs[0], folder / "model.onnx", dynamo=False, opset_version=17, input_names=["images"],
        output_names=["heatmap", "locref"],
    )  # fmt: skip
    net = session(folder)
    expected = []
    for image in inputs:
        heatmap, locref = map(torch.from_numpy, net.run(None, {"images": image.numpy()}))
        found = {"bodypart": {"heatmap": heatmap, "locref": locref}}
        poses = model.get_predictions(found)["bodypart"]["poses"]
        # Its first pixel's centre is 0.
        rows = poses[0, 0].numpy() + np.array([0.5, 0.5, 0])
        expected.append([{"class": 0, "score": 0.0, "keypoints": rows}])
    Case(LIBRARY, "peakfind", expected, declared_by="`pytorch_config.yaml`").write(folder, frames)


CASES = {"deeplabcut-resnet": partial(points, sigmoid=False), "deeplabcut-resnet-sigmoid": partial(points, sigmoid=True)}
