"""Writes the network of a training of sleap-nn as ONNX, in float32 and float16, with a sidecar each, for trtinfer and
peakfind. Run by scripts/export in the Python that has sleap-nn.

    python3 tools export.sleap MODEL_DIR [--output FOLDER] [--peak-threshold VALUE]

MODEL_DIR is what a training left: best.ckpt and training_config.yaml. FOLDER gets model.onnx, model_fp16.onnx and their
sidecars. The network is a bare one, whose confidence maps are refined by peakfind as sleap-nn's PyTorch path refines them;
`sleap-nn export` writes whole cells. Frames are taken at their own size, without max_height and max_width of the training.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cudainfer_tools.export import common, training
from cudainfer_tools.export.common import ExportError
from cudainfer_tools.export.training import Training

if TYPE_CHECKING:
    import torch

# What has no kernel of a fixed size in it, and so takes frames of any size.
CONVOLUTIONAL = ("unet", "convnext")
# The size of frames for other networks, where the training does not say one.
SIDE = 512
# How far the ONNX file's outputs may be from PyTorch's: maps are 0 to 1, and sums are taken in another order.
TOLERANCE = 1e-3
NEEDED = ("torch", "sleap_nn", "onnx", "numpy", "yaml")


def network(folder: Path, config: dict[str, Any], facts: Training) -> torch.nn.Module:
    """The trained network, from frames of 0 to 1 to the outputs in the order of `facts.outputs`.

    Raises ExportError where the checkpoint is another's."""
    import torch
    from omegaconf import OmegaConf
    from sleap_nn.architectures.model import Model

    model_config = OmegaConf.create(config["model_config"])
    model = Model.from_config(
        backbone_type=facts.backbone,
        backbone_config=model_config.backbone_config[facts.backbone],
        head_configs=model_config.head_configs[facts.kind],
        model_type=facts.kind,
    )
    try:
        # As sleap-nn reads it: a checkpoint of Lightning has more than tensors.
        state = torch.load(folder / "best.ckpt", map_location="cpu", weights_only=False)["state_dict"]
        prefix = "model."
        model.load_state_dict({key.removeprefix(prefix): value for key, value in state.items() if key.startswith(prefix)})
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise ExportError(f"'{folder / 'best.ckpt'}' is no checkpoint of the network in its training_config: {reason}") from None

    class Bare(torch.nn.Module):
        """The network with its outputs by their order."""

        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, image: torch.Tensor) -> tuple[torch.Tensor, ...]:
            found = self.model(image)
            return tuple(found[name] for name in facts.outputs)

    return Bare().eval()


def size(facts: Training) -> tuple[tuple[int, int], bool]:
    """Height and width that the network is traced at, after the scale and padding, and whether others are possible."""
    if facts.crop is None and facts.backbone in CONVOLUTIONAL:
        return (4 * facts.max_stride, 6 * facts.max_stride), True
    height, width = (-(-int(side * facts.scale) // facts.max_stride) * facts.max_stride for side in sides(facts))
    return (height, width), False


def sides(facts: Training) -> tuple[int, int]:
    """Height and width of crops or frames, where the network takes no others."""
    return facts.crop or facts.largest or (SIDE, SIDE)


def written(model: torch.nn.Module, facts: Training, to: Path) -> None:
    """Writes the float32 file, and compares it with PyTorch at another size and batch than it was traced at.

    Raises ExportError where it answers something else."""
    import onnx
    import torch

    from cudainfer_tools.export import onnx_file

    (height, width), is_open = size(facts)
    frames = torch.rand(1, facts.channels, height, width)
    axes = {0: "batch", 2: "height", 3: "width"} if is_open else {0: "batch"}
    maps = {0: "batch", 2: "rows", 3: "columns"} if is_open else {0: "batch"}
    # Antialiased resizing came with 18.
    opset = 18 if facts.prepares else 17
    common.traced(model, {"image": frames}, facts.outputs, {"image": axes, **dict.fromkeys(facts.outputs, maps)}, opset, to)
    other = torch.rand(2, facts.channels, *((2 * height, height) if is_open else (height, width)))
    common.compare(to, model, other, facts.outputs, TOLERANCE, facts.backbone)
    written_model = onnx.load(to)
    if facts.prepares:
        onnx_file.prepared(written_model, facts.scale, facts.max_stride, None if is_open else sides(facts))
    common.signed(written_model, {"cudainfer_export": "sleap", "model_type": facts.kind})
    onnx.checker.check_model(written_model)
    onnx.save(written_model, to)


def export(folder: Path, to: Path, threshold: float) -> list[Path]:
    """Writes all files; their paths.

    Raises ExportError where that is not possible."""
    training.find(folder)
    common.imported(NEEDED, "sleap-nn")
    import onnx
    import sleap_nn

    from cudainfer_tools.export import onnx_file

    config = training.read(folder)
    facts = training.facts(config)
    model = network(folder, config, facts)
    to.mkdir(parents=True, exist_ok=True)
    path, half = to / "model.onnx", to / "model_fp16.onnx"
    written(model, facts, path)
    onnx.save(onnx_file.in_float16(onnx.load(path)), half)
    onnx.checker.check_model(onnx.load(half), full_check=True)
    text = training.sidecar(
        facts, threshold, f"exported by scripts/export from a training of sleap-nn, with {sleap_nn.__version__}"
    )
    sidecars = [each.with_suffix(".toml") for each in (path, half)]
    for each in sidecars:
        each.write_text(text, encoding="utf-8")
    return [path, half, *sidecars]


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/export sleap", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=Path, metavar="MODEL_DIR", help="folder with best.ckpt and training_config.yaml")
    parser.add_argument("--output", type=Path, metavar="FOLDER", help="where the files go (default: MODEL_DIR/cudainfer)")
    parser.add_argument(
        "--peak-threshold",
        type=float,
        default=training.PEAK_THRESHOLD,
        metavar="VALUE",
        help="the sidecar's threshold (default: %(default)s, sleap-nn's)",
    )
    return common.command(
        parser, lambda given: export(given.model, given.output or given.model / "cudainfer", given.peak_threshold)
    )


if __name__ == "__main__":
    sys.exit(main())
