"""A model, frames, and what its own library finds in them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnx
import onnxruntime

if TYPE_CHECKING:
    import torch

# Numbers for red, green and blue.
Colour = tuple[float, float, float]
# What makes a case, in its folder, of RGB frames `[N, H, W, 3]`.
Maker = Callable[[Path, np.ndarray], None]


@dataclass
class Case:
    """What `scripts/evaluate zoo` compares. A result is a dict with `class` and `score`, and with `box` (x1, y1, x2, y2),
    `corners` (four points of a rotated box), `keypoints` ([[x, y, score, z], ...], of which the last two may be missing), `text`,
    `embedding` or `values`, in pixels of the frame."""

    library: str
    # The elements downstream of trtinfer.
    elements: str
    expected: list[list[dict]]
    # The same with the library's functions in float64, where its rounding decides what stays; empty elsewhere.
    exact: list[list[dict]] = field(default_factory=list)
    # Properties of fusedpreproc that the model's files do not tell.
    preprocessing: str = ""
    # How far boxes and points may be apart, in pixels, and scores.
    pixels: float = 0.05
    scores: float = 1e-3
    # The least overlap of an object's mask with the library's.
    overlap: float = 0.99
    # What a reader of the table should know.
    note: str = ""
    # The sidecar that the model needs, as TOML.
    sidecar: str = ""
    # Whether the weights are those that the package ships.
    weights: bool = False
    # Why no element reads this model: nothing is compared then.
    unread: str = ""
    # Who else says how the model is read: its metadata, files beside it.
    declared_by: str = ""
    size: list[int] = field(default_factory=list)
    # The greatest of the samples in samples.npz, which are compared instead of results: 255 for bytes, 65535 for GRAY16.
    greatest: int = 0
    # Classes of the masks in masks.npz, which are compared instead of results.
    mask_classes: int = 0

    def write(self, folder: Path, frames: np.ndarray) -> None:
        """`frames` are RGB, `[N, H, W, 3]`."""
        self.size = [frames.shape[2], frames.shape[1]]
        frames.tofile(folder / "frames.rgb")
        if self.sidecar:
            (folder / "model.toml").write_text(self.sidecar)
        self.declared_by = self.declared_by or declared_by(folder)
        (folder / "case.json").write_text(json.dumps(asdict(self), default=lambda value: value.tolist()))

    def write_masks(self, folder: Path, frames: np.ndarray, masks: np.ndarray, logits: np.ndarray) -> None:
        """`masks` are class numbers, `[N, h, w]`; frames are as large or a whole number of times as large. `logits` are
        `[N, C, h, w]`: where the best two are equal but for rounding, any of them is right."""
        second, first = np.partition(logits, -2, axis=1)[:, -2:].swapaxes(0, 1)
        np.savez(folder / "masks.npz", masks=masks.astype(np.uint8), tied=first - second < 1e-5 * np.abs(first))
        self.mask_classes = logits.shape[1]
        self.write(folder, frames)

    def write_samples(self, folder: Path, frames: np.ndarray, samples: np.ndarray, greatest: int) -> None:
        """`samples` are those of the frames that the elements should make, not rounded: a frame after the other."""
        np.savez_compressed(folder / "samples.npz", samples=samples.astype(np.float32))
        # Rounding to the nearest, on both sides of a half, and that of float32 in the model.
        self.greatest, self.scores = greatest, max(0.6 / greatest, 1e-4)
        self.write(folder, frames)


def declared_by(folder: Path) -> str:
    """Who says how the model in this folder is read, beside the sidecar: keys of its metadata, or files."""
    keys = {entry.key for entry in onnx.load(folder / "model.onnx", load_external_data=False).metadata_props}
    files = [f"`{name}`" for name in ("config.json", "preprocessor_config.json") if (folder / name).exists()]
    return "its metadata" if keys & {"names", "model_family", "character"} else " and ".join(files)


def session(folder: Path) -> onnxruntime.InferenceSession:
    """The exported model, as the library itself would run it."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    return onnxruntime.InferenceSession(folder / "model.onnx", options, providers=["CPUExecutionProvider"])


def close_up(folder: Path) -> np.ndarray:
    """Frames of a man's face, RGB."""
    return np.load(folder.parent / "close-up.npy")


def resized(frames: np.ndarray, width: int, height: int) -> np.ndarray:
    """The frames' middle, at the size of the model's input: nothing is left to resize then."""
    from PIL import Image

    h, w = frames.shape[1:3]
    scale = min(w / width, h / height)
    cut_w, cut_h = round(width * scale), round(height * scale)
    left, top = (w - cut_w) // 2, (h - cut_h) // 2
    box = (left, top, left + cut_w, top + cut_h)
    images = (Image.fromarray(frame).crop(box).resize((width, height), Image.Resampling.BICUBIC) for frame in frames)
    return np.stack([np.asarray(image) for image in images])


def planes(frame: np.ndarray, scale: float = 1 / 255, mean: Colour = (0, 0, 0), std: Colour = (1, 1, 1)) -> np.ndarray:
    """A frame as `[1, 3, H, W]` float32: `(pixel * scale - mean) / std`."""
    values = (frame.astype(np.float32) * np.float32(scale) - np.array(mean, np.float32)) / np.array(std, np.float32)
    return np.ascontiguousarray(values.transpose(2, 0, 1)[None])


def enliven(model: torch.nn.Module, forward: Callable[[], object]) -> None:
    """Keeps the features of random weights from vanishing on their way: the batch norms take the statistics of what
    `forward` runs."""
    import torch

    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.momentum = 1.0
    model.train()
    with torch.no_grad():
        forward()
    model.eval()


def spread(
    layers: list, forward: Callable[[], object], low: float, high: float, share: float = 3e-4, rows: list[int] | slice = slice(None)
) -> None:
    """Moves and scales what the layers that write the scores write while `forward` runs: the greatest becomes `high`, and
    this share of all is above `low`. Random weights alone make all scores alike, or some of them 1. `rows` are the channels
    that are scores, of convolutions that write other numbers as well."""
    import torch

    if not layers:
        return
    part = rows != slice(None)
    written: dict[torch.nn.Module, list[torch.Tensor]] = {layer: [] for layer in layers}

    def keep(layer: torch.nn.Module, _: object, output: torch.Tensor) -> None:
        written[layer].append((output[:, rows] if part else output).detach())

    hooks = [layer.register_forward_hook(keep) for layer in layers]
    with torch.no_grad():
        forward()
        for hook in hooks:
            hook.remove()
        for layer, outputs in written.items():
            if not outputs:
                continue
            values = torch.cat([output.flatten() for output in outputs])
            best = values.topk(max(round(share * len(values)), 2)).values
            factor = (high - low) / float((best[0] - best[-1]).clamp(min=1e-6))
            layer.weight[rows] *= factor
            if layer.bias is not None:
                layer.bias[rows] = (layer.bias[rows] - float(best[-1])) * factor + low


def wake(model: torch.nn.Module) -> None:
    """Larger weights than transformers start with, which make all queries alike."""
    import torch

    for module in model.modules():
        if isinstance(module, torch.nn.Linear):
            torch.nn.init.xavier_normal_(module.weight, gain=1.4)
        elif isinstance(module, torch.nn.Embedding):
            torch.nn.init.normal_(module.weight)
    for name, parameter in model.named_parameters():
        if "token" in name or "position_embedding" in name:
            torch.nn.init.normal_(parameter)


def top(scores: np.ndarray, count: int = 5) -> list[dict]:
    """The best classes as results."""
    return [{"class": int(i), "score": scores[i]} for i in np.argsort(-scores, kind="stable")[:count]]
