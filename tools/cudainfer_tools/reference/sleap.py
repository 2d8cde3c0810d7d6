"""Poses of two flies as sleap-nn's own functions find them, as JSON lines. Run by evaluate/pose.py in a Python of its own,
which has torch, scipy, networkx, attrs and onnxruntime, and the wheel of sleap-nn or its folder on PYTHONPATH. group.py of
benches/gpu times the same functions.

    python3 tools reference.sleap FOLDER FRAMES WIDTH HEIGHT

FOLDER holds centroid.onnx, centered_instance.onnx and bottomup.onnx, FRAMES is 8-bit grey, one frame after the other.
A line has for each way ("bottom-up", "bottom-up-low", "top-down", "top-down-floor", "top-down-exact") {"instances":
[instance...], "stable": bool}; an instance is a list of points, each [x, y, score] in sleap-nn's coordinates (pixel i has its
centre at i) or null. Low is a threshold at which more peaks have to be grouped.

sleap-nn cuts a crop at its corner rounded down, but adds the corner to the points without rounding: "top-down" is that, and
"top-down-floor" adds the corner that was cut at. For "top-down-exact" crops are taken where they were asked for, bilinearly, and
all else is sleap-nn's. A frame is stable where the same instances are found if the maps are rounded to float16 and if the
thresholds are moved by a twentieth.

Nothing of sleap-nn (GPL-3.0) is copied here: its functions are called as it publishes them. They need none of what else
their modules import, so that is stood in for where it is not installed.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import importlib.util
import json
import sys
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import numpy as np

if TYPE_CHECKING:
    import torch
    from sleap_nn.inference.ops.paf import PAFScorer

    Tensors = tuple[torch.Tensor, ...]

# sleap-nn's defaults (PostprocessConfig, PAFScorer).
PEAK, LINE, CROP = 0.2, 0.25, 96
LOW = 0.05
STRIDES = {"centroid": 4, "centered_instance": 2, "bottomup": 2}
PAF_STRIDE = 4
# What "the same instance" allows a point to move, in pixels.
SAME = 1.0

# A network: what it makes of frames `[N, 1, H, W]`.
Network = Callable[[np.ndarray], list[np.ndarray]]


class Reported(TypedDict):
    """The instances of a way, and whether they are stable."""

    instances: list[list[list[float] | None]]
    stable: bool


@dataclass(frozen=True)
class Operations:
    """sleap-nn's functions: peaks of maps, the peak of each map, boxes around points, crops, and what scores lines."""

    local: Callable[..., Tensors]
    whole: Callable[..., Tensors]
    boxes: Callable[..., torch.Tensor]
    crop: Callable[..., torch.Tensor]
    scorer: Callable[..., PAFScorer]


class StandIn(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives an empty module for whatever is not installed."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec:
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        def anything(attribute: str) -> type:
            if attribute.startswith("__"):
                raise AttributeError(attribute)
            return type(attribute, (), {})

        module = types.ModuleType(spec.name)
        # As PEP 562 has it: a function of a module answers for names that it lacks.
        vars(module)["__getattr__"] = anything
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        pass


def operations() -> Operations:
    """sleap-nn's peak finding, crops and grouping, without what its packages import when they are opened."""
    # What they do need, before anything is stood in for.
    for name in ("torch", "scipy.optimize", "networkx", "attrs"):
        importlib.import_module(name)
    found = importlib.util.find_spec("sleap_nn")
    if found is None or not found.submodule_search_locations:
        raise ImportError("sleap-nn is not on PYTHONPATH: give its wheel (pip download --no-deps sleap-nn) or its folder")
    root = Path(found.submodule_search_locations[0])
    for name in ("sleap_nn", "sleap_nn.inference", "sleap_nn.data"):
        package = types.ModuleType(name)
        package.__path__ = [str(root.joinpath(*name.split(".")[1:]))]
        sys.modules[name] = package
    sys.meta_path.append(StandIn())
    from sleap_nn.inference.ops import crops, paf, peaks

    sys.meta_path.pop()
    return Operations(
        local=peaks.find_local_peaks,
        whole=peaks.find_global_peaks,
        boxes=crops.make_centered_bboxes,
        crop=crops.crop_bboxes,
        scorer=paf.PAFScorer,
    )


def version() -> str:
    """Of sleap-nn."""
    return importlib.metadata.version("sleap-nn")


def scorer(ops: Operations, least: float = LINE) -> PAFScorer:
    return ops.scorer(part_names=["A", "B"], edges=[("A", "B")], pafs_stride=PAF_STRIDE, min_line_scores=least)


def bottom_up(ops: Operations, maps: torch.Tensor, fields: torch.Tensor, grouping: PAFScorer, peak: float = PEAK) -> np.ndarray:
    """Instances `[I, 2, 3]`: x, y, score; NaN where a point is missing. `maps` `[1, 2, H, W]`, `fields` `[1, 2, h, w]`, on any
    device."""
    points, scores, _, channels = ops.local(maps, threshold=peak, refinement="integral")
    points = points * STRIDES["bottomup"]
    # As sleap-nn's own layer has it: lines are scored where the maps are, all else is on the host.
    lines = grouping.score_paf_lines(fields.permute(0, 2, 3, 1), [points], [channels])
    matches = grouping.match_candidates(*([each.cpu() for each in part] for part in lines))
    instances, values, _ = grouping.group_instances([points.cpu()], [scores.cpu()], [channels.cpu()], *matches)
    return np.concatenate([instances[0].numpy(), values[0].numpy()[..., None]], -1).reshape(-1, 2, 3)


def bilinear(image: torch.Tensor, corners: torch.Tensor) -> torch.Tensor:
    """Crops `[N, 1, 96, 96]` of `image` `[1, 1, H, W]` whose first pixel's centre is at `corners` `[N, 2]`; 0 outside."""
    import torch

    size = torch.tensor(image.shape[:1:-1])
    at = torch.stack(torch.meshgrid(torch.arange(CROP), torch.arange(CROP), indexing="xy"), -1)
    at = (at + corners[:, None, None] + 0.5) / size * 2 - 1
    return torch.nn.functional.grid_sample(image.expand(len(corners), -1, -1, -1), at, align_corners=False)


def top_down(
    ops: Operations, image: torch.Tensor, centres: torch.Tensor, centred: Network, peak: float = PEAK
) -> dict[str, np.ndarray]:
    """Instances around the peaks of `centres` `[1, 1, h, w]`, by way."""
    import torch

    middles = ops.local(centres, threshold=peak, refinement="integral")[0] * STRIDES["centroid"]
    if len(middles) == 0:
        return dict.fromkeys(("top-down", "top-down-floor", "top-down-exact"), np.zeros((0, 2, 3)))
    boxes = ops.boxes(middles, CROP, CROP)
    corner = boxes[:, :1]
    # As `crop_bboxes` says where it cuts.
    cut = torch.trunc(corner + CROP // 2) - CROP // 2
    crops = ops.crop(image, boxes, torch.zeros(len(middles), dtype=torch.int64), crop_size=(CROP, CROP))

    def found(crops: torch.Tensor, corner: torch.Tensor) -> np.ndarray:
        points, scores = ops.whole(torch.from_numpy(centred(crops.numpy())[0]), peak, refinement="integral")
        instances = torch.cat([points * STRIDES["centered_instance"] + corner, scores[..., None]], -1).numpy()
        return instances[~np.isnan(instances[..., 0]).all(1)]

    return {
        "top-down": found(crops, corner),
        "top-down-floor": found(crops, cut),
        "top-down-exact": found(bilinear(image, corner[:, 0]), corner),
    }


def same(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two lists of instances are the same but for small movements."""
    if len(a) != len(b):
        return False
    left = list(range(len(b)))
    for instance in a:
        for j in left:
            if (np.isnan(instance) == np.isnan(b[j])).all() and not (np.abs(instance - b[j])[:, :2] > SAME).any():
                left.remove(j)
                break
    return not left


def network(folder: Path, name: str) -> Network:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(folder / f"{name}.onnx"), options, providers=["CPUExecutionProvider"])
    image = session.get_inputs()[0].name
    return lambda frames: session.run(None, {image: frames})


def reported(instances: np.ndarray, others: list[np.ndarray]) -> Reported:
    plain = [[None if np.isnan(p[0]) else [round(float(v), 5) for v in p] for p in i] for i in instances]
    return {"instances": plain, "stable": all(same(instances, other) for other in others)}


def main() -> None:
    import torch

    folder, frames, width, height = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    torch.set_num_threads(1)
    ops = operations()
    nets = {name: network(folder, name) for name in STRIDES}
    grouping = scorer(ops)
    nearby = [(f, scorer(ops, LINE * f)) for f in (0.95, 1.05)]
    for frame in np.memmap(frames, np.uint8, "r").reshape(-1, 1, 1, height, width):
        pixels = frame.astype(np.float32) / 255
        image, centred = torch.from_numpy(pixels), nets["centered_instance"]
        line: dict[str, Reported] = {}
        maps, fields = sorted(map(torch.from_numpy, nets["bottomup"](pixels)), key=lambda out: -out.shape[-1])
        rounded = maps.half().float(), fields.half().float()
        for way, peak in (("bottom-up", PEAK), ("bottom-up-low", LOW)):
            others = [bottom_up(ops, *rounded, grouping, peak)]
            others += [bottom_up(ops, maps, fields, near, peak * f) for f, near in nearby]
            line[way] = reported(bottom_up(ops, maps, fields, grouping, peak), others)

        centres = torch.from_numpy(nets["centroid"](pixels)[0])
        near_by_way = [top_down(ops, image, centres.half().float(), centred)]
        near_by_way += [top_down(ops, image, centres, centred, PEAK * f) for f, _ in nearby]
        for way, instances in top_down(ops, image, centres, centred).items():
            line[way] = reported(instances, [other[way] for other in near_by_way])
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
