"""Pose networks of DeepLabCut with random weights, of configurations as it writes them, with a smaller backbone. scripts/export
writes their ONNX files; one is exported as it is, with its pytorch_config.yaml beside it. The results are those of DeepLabCut's
predictors on PyTorch's maps, with its Assembler."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml
from deeplabcut.pose_estimation_pytorch.data.image import top_down_crop
from deeplabcut.pose_estimation_pytorch.models import PoseModel

from cudainfer_tools.export import deeplabcut as exporter
from cudainfer_tools.zoo.cases.case import Case, enliven, planes, resized, spread

LIBRARY = f"deeplabcut {importlib.metadata.version('deeplabcut')}"
BODYPARTS = ["snout", "leftear", "rightear", "spine", "tailbase"]
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
ANIMALS = 3
# All pairs of points have fields; those of a tree are kept, some with circles, or all.
GRAPH = [[a, b] for a in range(len(BODYPARTS)) for b in range(a + 1, len(BODYPARTS))]
TREE = [GRAPH.index(edge) for edge in ([0, 3], [1, 3], [2, 3], [3, 4])]
CIRCLES = [GRAPH.index(edge) for edge in ([0, 1], [0, 2], [1, 2], [1, 3], [2, 3], [3, 4])]
ALL = list(range(len(GRAPH)))
# Width and height of frames, no multiples of the stride, and of crops.
SIZE, CROP = (381, 290), (96, 96)


def configuration(head: dict[str, Any], method: str = "bu") -> dict[str, Any]:
    """As DeepLabCut writes it for a ResNet."""
    data: dict[str, Any] = {"colormode": "RGB", "inference": {"normalize_images": True}}
    if method == "td":
        data["inference"]["top_down_crop"] = dict(zip(("width", "height"), CROP, strict=True))
    return {
        "data": data,
        "metadata": {"bodyparts": BODYPARTS, "unique_bodyparts": [], "individuals": ["animal"]},
        "method": method,
        "model": {
            "backbone": {"type": "ResNet", "model_name": "resnet18", "output_stride": 16},
            "backbone_output_channels": 512,
            "heads": {"bodypart": head},
        },
    }


def layers(channels: int, deconvolved: bool) -> dict[str, Any]:
    """Of a head that doubles the maps, which makes cells beyond the frame, or of one that does not."""
    if deconvolved:
        return {"channels": [512, channels], "kernel_size": [3], "strides": [2]}
    return {"channels": [512], "kernel_size": [], "strides": [], "final_conv": {"out_channels": channels, "kernel_size": 1}}


def training(names: Iterable[str]) -> dict[str, Any]:
    """What a head has for its training alone."""
    generator = {"type": "HeatmapGaussianGenerator", "num_heatmaps": len(BODYPARTS), "pos_dist_thresh": 17, "locref_std": 7.2801}
    criterion = {name: {"type": "WeightedHuberCriterion", "weight": 1.0} for name in names}
    return {"target_generator": generator, "criterion": criterion}


def heatmap_head(sigmoid: bool = False, deconvolved: bool = True) -> dict[str, Any]:
    count = len(BODYPARTS)
    predictor = {"type": "HeatmapPredictor", "apply_sigmoid": sigmoid, "clip_scores": not sigmoid}
    predictor |= {"location_refinement": True, "locref_std": 7.2801}
    maps = {"heatmap_config": layers(count, deconvolved), "locref_config": layers(2 * count, deconvolved)}
    return {"type": "HeatmapHead", "predictor": predictor, **maps, **training(("heatmap", "locref"))}


def paf_head(animals: int, stages: int, kept: list[int]) -> dict[str, Any]:
    count = len(BODYPARTS)
    predictor = {
        "type": "PartAffinityFieldPredictor",
        "num_animals": animals,
        "num_multibodyparts": count,
        "num_uniquebodyparts": 0,
    }
    predictor |= {"nms_radius": 5, "sigma": 1.0, "locref_stdev": 7.2801, "min_affinity": 0.05}
    predictor |= {"graph": GRAPH, "edges_to_keep": kept, "apply_sigmoid": True, "clip_scores": False}
    maps = {"heatmap": count, "locref": 2 * count, "paf": 2 * len(GRAPH)}
    configs = {f"{name}_config": layers(channels, True) for name, channels in maps.items()}
    return {"type": "DLCRNetHead", "predictor": predictor, **configs, "num_stages": stages, **training(maps)}


def built(config: dict[str, Any], frames: torch.Tensor, low: float, high: float) -> torch.nn.Module:
    """The network, of whose maps each has its greatest value in every frame from `low` to `high`."""
    torch.manual_seed(0)
    model = PoseModel.build(config["model"]).eval()
    enliven(model, lambda: model(frames))
    maps = last(model.heads["bodypart"].heatmap_head)
    by_point = [-1 if at == isinstance(maps, torch.nn.ConvTranspose2d) else 1 for at in range(4)]
    with torch.no_grad():
        found = model(frames)["bodypart"]["heatmap"].amax((2, 3))
        least = found.amin(0)
        factor = (high - low) / (found.amax(0) - least)
        maps.weight *= factor.reshape(by_point)
        maps.bias.copy_((maps.bias - least) * factor + low)
    return model


def last(module: torch.nn.Module) -> Any:
    """The layer that writes maps."""
    return [each for each in module.modules() if isinstance(each, torch.nn.Conv2d | torch.nn.ConvTranspose2d)][-1]


def tensor(frame: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(planes(frame, mean=MEAN, std=STD))


def saved(folder: Path, config: dict[str, Any], model: torch.nn.Module) -> None:
    """Exports the network as a training leaves it."""
    (folder / exporter.CONFIG).write_text(yaml.safe_dump(config))
    torch.save({"model": model.state_dict()}, folder / "snapshot-best-200.pt")
    exporter.export(folder, folder)
    # The sidecar says it all.
    (folder / exporter.CONFIG).unlink()


def poses(model: torch.nn.Module, image: torch.Tensor) -> np.ndarray:
    """What DeepLabCut finds, `[animals, points, ...]`."""
    with torch.inference_mode():
        return model.get_predictions(model(image))["bodypart"]["poses"][0].numpy()


def results(found: Iterable[np.ndarray]) -> list[dict]:
    """Animals as the cases write results, without points that were not found. DeepLabCut's first pixel has its centre at 0."""
    some = [rows[np.isfinite(rows[:, 0])] for rows in found]
    return [{"class": 0, "score": 0.0, "keypoints": rows[:, :3] + np.array([0.5, 0.5, 0])} for rows in some]


def one_animal(folder: Path, frames: np.ndarray, sigmoid: bool) -> None:
    """The points of one animal in every frame, of a file that scripts/export writes."""
    frames = resized(frames, *SIZE)
    config = configuration(heatmap_head(sigmoid))
    model = built(config, torch.cat([tensor(frame) for frame in frames]), *((-2.0, 2.0) if sigmoid else (0.1, 0.9)))
    saved(folder, config, model)
    expected = [results(poses(model, tensor(frame))) for frame in frames]
    Case(LIBRARY, "peakfind", expected, declared_by="`scripts/export deeplabcut`").write(folder, frames)


def one_animal_as_it_is(folder: Path, frames: np.ndarray) -> None:
    """The same of a file that PyTorch's exporter writes, with the configuration beside it."""
    frames = resized(frames, *SIZE)
    config = configuration(heatmap_head())
    model = built(config, torch.cat([tensor(frame) for frame in frames]), 0.1, 0.9)

    class Head(torch.nn.Module):
        """The network with the outputs of its only head."""

        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, images: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            found = self.model(images)["bodypart"]
            return found["heatmap"], found["locref"]

    (folder / exporter.CONFIG).write_text(yaml.safe_dump(config))
    torch.onnx.export(
        Head().eval(), tensor(frames[0]), folder / "model.onnx", dynamo=False, opset_version=17, input_names=["images"],
        output_names=["heatmap", "locref"],
    )  # fmt: skip
    expected = [results(poses(model, tensor(frame))) for frame in frames]
    Case(LIBRARY, "peakfind", expected, declared_by="`pytorch_config.yaml`").write(folder, frames)


def crops(folder: Path, frames: np.ndarray) -> None:
    """The points of one animal in each of some regions: as large as the network's input, larger, of another shape and beyond the
    frame. DeepLabCut resizes bytes, and so rounds what it makes of them; of random weights that moves points to other maxima."""
    frames = resized(frames, *SIZE)
    boxes = [(0, 0, *CROP), (150, 70, 144, 144), (201, 33, 77, 180), (SIZE[0] - 120, SIZE[1] - 100, 120, 100)]
    config = configuration(heatmap_head(deconvolved=False), "td")
    cut = [[top_down_crop(frame, np.array(box, float), CROP) for box in boxes] for frame in frames.astype(np.float32)]
    model = built(config, torch.cat([tensor(crop) for of_frame in cut for crop, _, _ in of_frame]), 0.1, 0.9)
    saved(folder, config, model)
    expected = []
    for of_frame in cut:
        found = []
        for crop, offset, scale in of_frame:
            pose = poses(model, tensor(crop))[0]
            pose[:, :2] = pose[:, :2] * np.array(scale) + np.array(offset)
            found.append(pose)
        expected.append(results(found))
    regions = ";".join(",".join(map(str, box)) for box in boxes)
    case = Case(LIBRARY, "peakfind", expected, declared_by="`scripts/export deeplabcut`")
    case.preprocessing = f"roi=list regions={regions}"
    case.note = (
        "Regions stand for objects, which no detector finds here. They are resized in float32 on both sides; DeepLabCut resizes "
        "frames of bytes, which rounds the pixels of a crop to whole numbers ([what that changes](model-sidecar.md#deeplabcut))."
    )
    case.write(folder, frames)


def several_animals(folder: Path, frames: np.ndarray, animals: int = ANIMALS, stages: int = 0, kept: list[int] = TREE) -> None:
    """The points of several animals, joined by DeepLabCut's Assembler."""
    frames = resized(frames, *SIZE)
    config = configuration(paf_head(animals, stages, kept))
    # Smoothing lowers the maps of random weights.
    inputs = torch.cat([tensor(frame) for frame in frames])
    model = built(config, inputs, 4.0, 8.0)
    spread([last(model.heads["bodypart"].paf_head)], lambda: model(inputs[::4]), 0.3, 1.0, share=0.1)
    saved(folder, config, model)
    expected = []
    for frame in frames:
        found = [rows for rows in poses(model, tensor(frame)) if not (rows == -1).all()]
        of_frame = results(found)
        for one, rows in zip(of_frame, found, strict=True):
            one["score"] = float(rows[0, 4])
        expected.append(of_frame)
    Case(LIBRARY, "peakfind", expected, declared_by="`scripts/export deeplabcut`").write(folder, frames)


CASES = {
    "deeplabcut-resnet": partial(one_animal, sigmoid=False),
    "deeplabcut-resnet-sigmoid": partial(one_animal, sigmoid=True),
    "deeplabcut-resnet-config": one_animal_as_it_is,
    "deeplabcut-crops": crops,
    "deeplabcut-animals": several_animals,
    "deeplabcut-animals-circles": partial(several_animals, kept=CIRCLES),
    "deeplabcut-animals-all-edges": partial(several_animals, kept=ALL),
    "deeplabcut-animals-one": partial(several_animals, animals=1),
    "deeplabcut-animals-stages": partial(several_animals, stages=2),
}
