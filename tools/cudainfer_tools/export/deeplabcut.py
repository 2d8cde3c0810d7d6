"""Writes a network of DeepLabCut 3 as ONNX, in float32 and float16, with a sidecar each, for trtinfer and peakfind. Run by
scripts/export in the Python that has DeepLabCut or deeplabcut-live.

    python3 tools export.deeplabcut MODEL_DIR [--snapshot FILE] [--head NAME] [--output FOLDER]

MODEL_DIR is what a training left (the folder `train` of a shuffle): pytorch_config.yaml and snapshot-*.pt; or a file that
deeplabcut.export_model wrote for deeplabcut-live. FOLDER gets model.onnx, model_fp16.onnx and their sidecars. Of one animal, and
of crops around objects (method td), the network's maps and offsets are written as they are. Of several animals
(PartAffinityFieldPredictor), what the predictor does before it joins points is a part of the file, in float32 in both: peakfind only
joins.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cudainfer_tools.export import common, deeplabcut_config
from cudainfer_tools.export.common import ExportError
from cudainfer_tools.export.deeplabcut_config import CONFIG, Fields, Model

if TYPE_CHECKING:
    import torch
    from onnx import ModelProto

NEEDED = ("torch", "onnx", "numpy", "yaml")
# The packages that have the networks, the first one that is there.
PACKAGES = ("deeplabcut", "dlclive")
# Those of the trainings, the last epoch last.
SNAPSHOT = re.compile(r"snapshot(-best)?-(\d+)\.pt")
# How far the ONNX file's outputs may be from PyTorch's, as a part of their greatest value, and those in float16 from them.
TOLERANCE, HALF_TOLERANCE = 1e-3, 2e-2
OPSET = 17
# Sides of the frames that networks of open sizes are traced and compared with: multiples of every network's stride.
TRACED, COMPARED = (192, 256), (256, 320)


def found(model: Path, snapshot: Path | None) -> Path:
    """The file with the weights.

    Raises ExportError where it or the configuration is missing."""
    if model.is_file():
        if snapshot:
            raise ExportError(f"'{model}' has weights itself: --snapshot belongs to a folder with a {CONFIG}")
        return model
    if not model.is_dir():
        raise ExportError(f"'{model}' is no folder: give the one of a training of DeepLabCut 3, with {CONFIG} in it")
    if not (model / CONFIG).is_file():
        old = " Networks of DeepLabCut 2 (pose_cfg.yaml) are not read." if (model / "pose_cfg.yaml").exists() else ""
        raise ExportError(f"'{model}' has no {CONFIG}: give the folder of a training of DeepLabCut 3, which is called train.{old}")
    if snapshot:
        # Also its name alone.
        snapshot = snapshot if snapshot.is_file() else model / snapshot
        if not snapshot.is_file():
            raise ExportError(f"'{snapshot}' is no file: --snapshot names one of the training's snapshot-*.pt")
        return snapshot
    snapshots = [(bool(match[1]), int(match[2]), path) for path in model.iterdir() if (match := SNAPSHOT.fullmatch(path.name))]
    if not snapshots:
        raise ExportError(f"'{model}' has no snapshot-*.pt: the training has not saved one there yet, or --snapshot must name it")
    return max(snapshots)[2]


def read(model: Path, snapshot: Path | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """The configuration and the weights.

    Raises ExportError where they are missing, and for files that are others."""
    import torch

    path = found(model, snapshot)
    try:
        saved = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise ExportError(f"'{path}' cannot be read: {' '.join(str(error).split())[:200]}") from None
    keys = ("config", "pose") if path == model else ("model",)
    if not isinstance(saved, dict) or not all(isinstance(saved.get(key), dict) for key in keys):
        raise ExportError(f"'{path}' is no file of DeepLabCut 3: it lacks {' and '.join(keys)}")
    return (saved["config"], saved["pose"]) if path == model else (common.read_yaml(model / CONFIG), saved["model"])


def package() -> str:
    """The package that has the networks.

    Raises ExportError where there is none."""
    reasons = []
    for name in PACKAGES:
        try:
            # DeepLabCut says hello.
            with contextlib.redirect_stdout(sys.stderr):
                importlib.import_module(f"{name}.pose_estimation_pytorch.models")
        except ImportError as error:
            reasons.append(f"{name} ({error})")
            continue
        return name
    raise ExportError(
        f"{sys.executable} has neither of {' and '.join(reasons)}. Install deeplabcut or deeplabcut-live there, or name the Python "
        "that has one with --python"
    )


def network(config: dict[str, Any], weights: dict[str, Any], facts: Model, of: str) -> tuple[torch.nn.Module, int]:
    """The trained network with the outputs of its head, in the order of `facts.outputs`, and pixels from cell to cell.

    Raises ExportError where weights or maps are others than the configuration says."""
    import torch

    pose_model = importlib.import_module(f"{of}.pose_estimation_pytorch.models").PoseModel
    try:
        whole = pose_model.build(config["model"]).eval()
        whole.load_state_dict(weights)
        head = whole.heads[facts.head]
        # A head doubles the maps, or halves them where its stride is negative.
        stride = whole.backbone.stride / head.stride if head.stride > 0 else whole.backbone.stride * -head.stride
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise ExportError(f"the snapshot's weights are not those of the network in its {CONFIG}: {reason}") from None
    if stride < 1 or stride != int(stride):
        raise ExportError(f"the maps have {stride:g} pixels from cell to cell, which is not exported: whole numbers of pixels are")

    class Bare(torch.nn.Module):
        """The network with the outputs of its head."""

        def __init__(self) -> None:
            super().__init__()
            self.whole, self.head = whole, head

        def forward(self, image: torch.Tensor) -> tuple[torch.Tensor, ...]:
            features = self.whole.backbone(image)
            outputs = self.head(self.whole.neck(features) if self.whole.neck else features)
            return tuple(outputs[name] for name in facts.outputs)

    bare = Bare().eval()
    with torch.inference_mode():
        height, width = traced_size(facts)
        maps = dict(zip(facts.outputs, bare(torch.zeros(1, 3, height, width)), strict=True))
    check_maps(facts, {name: tuple(each.shape) for name, each in maps.items()})
    rows, columns = maps["heatmap"].shape[2:]
    if rows * stride < height or columns * stride < width:
        raise ExportError(f"the maps have fewer cells than a frame has in steps of {int(stride)} pixels, which is not exported")
    return bare, int(stride)


def check_maps(facts: Model, shapes: dict[str, tuple[int, ...]]) -> None:
    """Raises ExportError where the maps are not those of the points and edges."""
    points = len(facts.points)
    if shapes["heatmap"][1] != points:
        raise ExportError(f"the network has maps of {shapes['heatmap'][1]} points, but its {CONFIG} names {points}")
    if "locref" in shapes and shapes["locref"][1] != 2 * points:
        raise ExportError(f"the network has {shapes['locref'][1]} maps of offsets, {2 * points} were expected")
    if facts.fields and shapes["paf"][1] <= 2 * max(facts.fields.channels) + 1:
        raise ExportError(f"the network has {shapes['paf'][1]} maps of fields, fewer than the predictor's edges_to_keep need")


def traced_size(facts: Model) -> tuple[int, int]:
    """Height and width that the network is traced at."""
    return facts.crop[::-1] if facts.crop else TRACED


def export(model: Path, to: Path | None = None, head: str = "bodypart", snapshot: Path | None = None) -> list[Path]:
    """Writes all files; their paths.

    Raises ExportError where that is not possible."""
    found(model, snapshot)
    common.imported(NEEDED, "deeplabcut or deeplabcut-live")
    import onnx

    from cudainfer_tools.export import onnx_file

    config, weights = read(model, snapshot)
    facts = deeplabcut_config.facts(config, head)
    of = package()
    bare, stride = network(config, weights, facts, of)
    if to is None:
        folder = model if model.is_dir() else model.parent
        to = folder / ("cudainfer" if head == "bodypart" else f"cudainfer-{head}")
    to.mkdir(parents=True, exist_ok=True)
    path, half = to / "model.onnx", to / "model_fp16.onnx"
    models, kept = written(bare, facts, of, path, half)
    if facts.fields:
        after = predictor(bare, facts, facts.fields, stride)
        models = [onnx_file.joined(each, after) for each in models]
    text = deeplabcut_config.sidecar(facts, stride, f"exported by scripts/export from a snapshot, with {of}")
    files = [path, half] if kept else [path]
    for file, each in zip(files, models, strict=False):
        onnx.checker.check_model(each, full_check=True)
        onnx.save(each, file)
        file.with_suffix(".toml").write_text(text, encoding="utf-8")
    if not kept:
        for file in half, half.with_suffix(".toml"):
            file.unlink(missing_ok=True)
        say("float16 is not exported: its maps are too far from those in float32")
    remarks(facts, config)
    return [*files, *(file.with_suffix(".toml") for file in files)]


def written(bare: torch.nn.Module, facts: Model, of: str, path: Path, half: Path) -> tuple[list[ModelProto], bool]:
    """The bare network in float32 and float16, which is also written, and whether the maps in float16 are near those in float32.

    Raises ExportError where the file answers something else than PyTorch."""
    import onnx
    import torch

    from cudainfer_tools.export import onnx_file

    height, width = traced_size(facts)
    sides = {0: "batch"} if facts.crop else {0: "batch", 2: "height", 3: "width"}
    with plainly_enlarged(of):
        axes = {"image": sides, **dict.fromkeys(facts.outputs, axes_of(facts))}
        common.traced(bare, {"image": torch.rand(1, 3, height, width)}, facts.outputs, axes, OPSET, path)
    frames = torch.randn(2, 3, *(facts.crop[::-1] if facts.crop else COMPARED))
    common.compare(path, bare, frames, facts.outputs, TOLERANCE, facts.backbone)
    model = onnx.load(path)
    common.signed(model, {"cudainfer_export": "deeplabcut", "head": facts.head})
    in_half = onnx_file.in_float16(model)
    onnx.save(in_half, half)
    return [model, in_half], holds(path, half, frames)


def predictor(bare: torch.nn.Module, facts: Model, fields: Fields, stride: int) -> ModelProto:
    """What follows the network where there are several animals."""
    import onnx
    import torch

    from cudainfer_tools.export.deeplabcut_peaks import Candidates, Strongest

    after = (Strongest if fields.animals == 1 else Candidates)(facts, fields, stride).eval()
    names = ["peaks", "peak_vals", "peak_mask", "line_scores"][: 2 if fields.animals == 1 else 4]
    axes = dict.fromkeys(facts.outputs, axes_of(facts)) | dict.fromkeys(names, axes_of(None))
    with torch.inference_mode():
        maps = dict(zip(facts.outputs, bare(torch.rand(1, 3, *traced_size(facts))), strict=True))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "predictor.onnx"
        common.traced(after, maps, names, axes, OPSET, file)
        model = onnx.load(file)
    common.signed(model, {})
    return model


def axes_of(facts: Model | None) -> dict[int, str]:
    """The open dimensions of maps, or of what is found in them."""
    return {0: "batch"} if facts is None or facts.crop else {0: "batch", 2: "rows", 3: "columns"}


@contextlib.contextmanager
def plainly_enlarged(of: str) -> Iterator[None]:
    """Takes the antialiasing out of DLCRNet's resizing, for which the exporter has no operation: it only enlarges there, which is
    the same without."""
    import torch

    def enlarged(maps: torch.Tensor, size: list[int], antialias: bool) -> torch.Tensor:
        return torch.nn.functional.interpolate(maps, size=size, mode="bilinear")

    module = importlib.import_module(f"{of}.pose_estimation_pytorch.models.backbones.resnet")
    before, module.resize = module.resize, enlarged  # type: ignore[attr-defined]
    try:
        yield
    finally:
        module.resize = before  # type: ignore[attr-defined]


def holds(path: Path, half: Path, frames: torch.Tensor) -> bool:
    """Whether the maps in float16 are near those in float32."""
    in_half = common.answers(half, frames.half().numpy())
    for exact, rounded in zip(common.answers(path, frames.numpy()), in_half, strict=True):
        if not float(abs(rounded.astype("float32") - exact).max()) <= HALF_TOLERANCE * max(float(abs(exact).max()), 1e-6):
            return False
    return True


def remarks(facts: Model, config: dict[str, Any]) -> None:
    """Says what of DeepLabCut's results the files do not have."""
    if facts.margin:
        say(
            f"DeepLabCut's crops have {facts.margin} pixels around a box on each side: set roi-padding in the sidecar to about that"
        )
    if facts.head == "bodypart" and "unique_bodypart" in config["model"]["heads"]:
        say("the points of the head unique_bodypart are not in the file: --head unique_bodypart writes one of their own")


def say(text: str) -> None:
    print(f"export: {text}", file=sys.stderr)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/export deeplabcut", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "model", type=Path, metavar="MODEL_DIR", help=f"folder with {CONFIG} and snapshots, or an exported .pt file"
    )
    parser.add_argument("--snapshot", type=Path, metavar="FILE", help="the snapshot (default: the best one, else the last)")
    parser.add_argument("--head", default="bodypart", metavar="NAME", help="the head: bodypart (default), or unique_bodypart")
    parser.add_argument("--output", type=Path, metavar="FOLDER", help="where the files go (default: MODEL_DIR/cudainfer)")
    return common.command(parser, lambda given: export(given.model, given.output, given.head, given.snapshot))


if __name__ == "__main__":
    sys.exit(main())
