"""A pose network of Lightning Pose with random weights, exported as `litpose export` does it, with its config.yaml beside the
file. The points are those of its soft argmax."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import numpy as np
import torch
import yaml
from lightning_pose.models.heatmap_tracker import HeatmapTracker

from cudainfer_tools.zoo.cases.case import Case, enliven, planes, resized

LIBRARY = f"lightning-pose {importlib.metadata.version('lightning-pose')}"
KEYPOINTS = ["paw", "nose", "ear", "tail"]
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
SIZE = 256
# Of the Gaussians that it is trained with, in cells.
DEVIATION = 1.25


class Gaussians(torch.nn.Module):
    """Maps as a trained network has them: a Gaussian for each point, at the place that maps of random weights lead to."""

    def forward(self, maps: torch.Tensor) -> torch.Tensor:
        height, width = maps.shape[2:]
        down, across = torch.arange(float(height))[:, None], torch.arange(float(width))
        # Weights of random maps' cells, few of which count.
        apart = (maps - maps.mean((2, 3), keepdim=True)) / maps.std((2, 3), keepdim=True)
        weights = torch.softmax(5 * apart.flatten(2), 2).unflatten(2, (height, width))
        y, x = ((weights * axis).sum((2, 3), keepdim=True) for axis in (down, across))
        return -((down - y) ** 2 + (across - x) ** 2) / (2 * DEVIATION**2)


def points(folder: Path, frames: np.ndarray) -> None:
    """The points of one animal in every frame."""
    # Frames of the size that the network is trained at: nothing is left to resize.
    frames = resized(frames, SIZE, SIZE)
    config = {
        "data": {"image_resize_dims": {"height": SIZE, "width": SIZE}, "keypoint_names": KEYPOINTS, "view_names": None},
        "model": {"model_type": "heatmap", "backbone": "resnet18"},
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    model = HeatmapTracker(num_keypoints=len(KEYPOINTS), backbone="resnet18", pretrained=False).eval()
    inputs = torch.from_numpy(np.concatenate([planes(frame, mean=MEAN, std=STD) for frame in frames]))
    enliven(model, lambda: model(inputs))
    model.head.upsampling_layers.append(Gaussians())
    torch.onnx.export(
        model, (inputs[:1],), folder / "model.onnx", dynamo=False, opset_version=17, input_names=["images"],
        output_names=["heatmaps"], dynamic_axes={"images": {0: "batch"}, "heatmaps": {0: "batch"}},
    )  # fmt: skip
    with torch.inference_mode():
        places, _ = model.head.run_subpixelmaxima(model(inputs))
    # Its first pixel's centre is 0. Confidences are those of sharpened maps: none is compared.
    expected = [
        [{"class": 0, "score": 0.0, "keypoints": rows}] for rows in places.reshape(len(frames), -1, 2).double().numpy() + 0.5
    ]
    case = Case(LIBRARY, "peakfind", expected, declared_by="`config.yaml`")
    case.note = (
        "Its maps are Gaussians, as those of trained networks. Lightning Pose takes the soft argmax of an enlarged map, peakfind the vertex of a parabola. A confidence "
        "is that of a sharpened map there: none is compared."
    )
    case.write(folder, frames)


CASES = {"lightning-pose": points}
