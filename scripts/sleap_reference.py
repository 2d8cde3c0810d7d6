"""Poses of two flies as sleap-nn's own functions find them, as JSON lines. Run by evaluate_pose.py in a Python of its own,
which has torch, scipy, networkx, attrs and onnxruntime, and the wheel of sleap-nn or its folder on PYTHONPATH. group.py of
benches/gpu times the same functions.

    sleap_reference.py FOLDER FRAMES WIDTH HEIGHT

FOLDER holds centroid.onnx, centered_instance.onnx and bottomup.onnx, FRAMES is 8-bit grey, one frame after the other.
A line has for each way ("bottom-up", "top-down", "top-down-floor") {"instances": [instance...], "stable": bool}; an instance is
a list of points, each [x, y, score] in sleap-nn's coordinates (pixel i has its centre at i) or null.

sleap-nn cuts a crop at its corner rounded down, but adds the corner as it was to the points: "top-down" is that, and
"top-down-floor" adds the corner that was cut at. A frame is stable where the same instances are found if the maps are
rounded to float16 and if the thresholds are moved by a twentieth.

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
from pathlib import Path

import numpy as np

# sleap-nn's defaults (PostprocessConfig, PAFScorer).
PEAK, LINE, CROP = 0.2, 0.25, 96
STRIDES = {"centroid": 4, "centered_instance": 2, "bottomup": 2}
PAF_STRIDE = 4
# What "the same instance" allows a point to move, in pixels.
SAME = 1.0


class StandIn(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives an empty module for whatever is not installed."""

    def find_spec(self, name, path=None, target=None):
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        def anything(attribute: str) -> type:
            if attribute.startswith("__"):
                raise AttributeError(attribute)
            return type(attribute, (), {})

        module = types.ModuleType(spec.name)
        module.__getattr__ = anything
        return module

    def exec_module(self, module):
        pass


def operations() -> types.SimpleNamespace:
    """sleap-nn's peak finding, crops and grouping, without what its packages import when they are opened."""
    # What they do need, before anything is stood in for.
    for name in ("torch", "scipy.optimize", "networkx", "attrs"):
        importlib.import_module(name)
    found = importlib.util.find_spec("sleap_nn")
    if found is None:
        raise ImportError(
            "sleap-nn is not on PYTHONPATH: give its wheel (pip download --no-deps sleap-nn) or its folder"
        )
    root = Path(found.submodule_search_locations[0])
    for name in ("sleap_nn", "sleap_nn.inference", "sleap_nn.data"):
        package = types.ModuleType(name)
        package.__path__ = [str(root.joinpath(*name.split(".")[1:]))]
        sys.modules[name] = package
    sys.meta_path.append(StandIn())
    from sleap_nn.inference.ops import crops, paf, peaks

    sys.meta_path.pop()
    return types.SimpleNamespace(
        local=peaks.find_local_peaks,
        whole=peaks.find_global_peaks,
        boxes=crops.make_centered_bboxes,
        crop=crops.crop_bboxes,
        scorer=paf.PAFScorer,
    )


def version() -> str:
    """Of sleap-nn."""
    return importlib.metadata.version("sleap-nn")


def scorer(ops: types.SimpleNamespace, least: float = LINE):
    return ops.scorer(part_names=["A", "B"], edges=[("A", "B")], pafs_stride=PAF_STRIDE, min_line_scores=least)


def bottom_up(ops, maps, fields, grouping, peak: float = PEAK) -> np.ndarray:
    """Instances `[I, 2, 3]`: x, y, score; NaN where a point is missing. `maps` `[1, 2, H, W]`, `fields` `[1, 2, h, w]`, on any
    device."""
    points, scores, _, channels = ops.local(maps, threshold=peak, refinement="integral")
    points = points * STRIDES["bottomup"]
    # As sleap-nn's own layer has it: lines are scored where the maps are, all else is on the host.
    lines = grouping.score_paf_lines(fields.permute(0, 2, 3, 1), [points], [channels])
    matches = grouping.match_candidates(*([each.cpu() for each in part] for part in lines))
    instances, values, _ = grouping.group_instances([points.cpu()], [scores.cpu()], [channels.cpu()], *matches)
    return np.concatenate([instances[0].numpy(), values[0].numpy()[..., None]], -1).reshape(-1, 2, 3)


def top_down(ops, image, centres, centred, peak: float = PEAK) -> tuple[np.ndarray, np.ndarray]:
    """Instances around the peaks of `centres` `[1, 1, h, w]`: by the corner of the crop, and by the one that was cut at."""
    import torch

    middles = ops.local(centres, threshold=peak, refinement="integral")[0] * STRIDES["centroid"]
    if len(middles) == 0:
        return np.zeros((0, 2, 3)), np.zeros((0, 2, 3))
    boxes = ops.boxes(middles, CROP, CROP)
    crops = ops.crop(image, boxes, torch.zeros(len(middles), dtype=torch.int64), crop_size=(CROP, CROP))
    points, scores = ops.whole(torch.from_numpy(centred(crops.numpy())[0]), peak, refinement="integral")
    points = points * STRIDES["centered_instance"]
    corner = boxes[:, :1]
    # As `crop_bboxes` says where it cuts.
    cut = torch.trunc(corner + CROP // 2) - CROP // 2
    at_corner, at_cut = (torch.cat([points + offset, scores[..., None]], -1).numpy() for offset in (corner, cut))
    return at_corner, at_cut


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


def network(folder: Path, name: str):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(folder / f"{name}.onnx"), options, providers=["CPUExecutionProvider"])
    image = session.get_inputs()[0].name
    return lambda frames: session.run(None, {image: frames})


def told(instances: np.ndarray, others: list[np.ndarray]) -> dict:
    plain = [[None if np.isnan(p[0]) else [round(float(v), 5) for v in p] for p in i] for i in instances]
    return {"instances": plain, "stable": all(same(instances, other) for other in others)}


def main() -> None:
    import torch

    folder, frames, width, height = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    torch.set_num_threads(1)
    ops = operations()
    nets = {name: network(folder, name) for name in STRIDES}
    grouping = scorer(ops)
    nearby = [(PEAK * f, scorer(ops, LINE * f)) for f in (0.95, 1.05)]
    for frame in np.memmap(frames, np.uint8, "r").reshape(-1, 1, 1, height, width):
        pixels = frame.astype(np.float32) / 255
        image, centred = torch.from_numpy(pixels), nets["centered_instance"]
        maps, fields = sorted(map(torch.from_numpy, nets["bottomup"](pixels)), key=lambda out: -out.shape[-1])
        others = [bottom_up(ops, maps.half().float(), fields.half().float(), grouping)]
        others += [bottom_up(ops, maps, fields, near, peak) for peak, near in nearby]
        line = {"bottom-up": told(bottom_up(ops, maps, fields, grouping), others)}

        centres = torch.from_numpy(nets["centroid"](pixels)[0])
        corner, cut = top_down(ops, image, centres, centred)
        # Half a pixel more or less moves a crop by one: another picture for the network, but the same animal.
        others = [top_down(ops, image, centres.half().float(), centred)]
        others += [top_down(ops, image, centres, centred, peak) for peak, _ in nearby]
        line["top-down"] = told(corner, [other[0] for other in others])
        line["top-down-floor"] = told(cut, [other[1] for other in others])
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
