"""A model, frames, and what its own library finds in them."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import onnxruntime


@dataclass
class Case:
    """What `scripts/evaluate zoo` compares. A result is a dict with `class` and `score`, and with `box` (x1, y1, x2, y2),
    `corners` (four points of a rotated box), `keypoints` ([[x, y, score], ...]) or `text`, in pixels of the frame."""

    library: str
    # The elements behind trtinfer.
    elements: str
    expected: list[list[dict]]
    # Properties of fusedpreproc that the model's files do not tell.
    preprocessing: str = ""
    # How far boxes and points may be apart, in pixels, and scores.
    pixels: float = 0.05
    scores: float = 1e-3
    # What a reader of the table should know.
    note: str = ""
    # The sidecar that the model needs, as TOML.
    sidecar: str = ""
    size: list[int] = field(default_factory=list)

    def write(self, folder: Path, frames: np.ndarray) -> None:
        """`frames` are RGB, `[N, H, W, 3]`."""
        self.size = [frames.shape[2], frames.shape[1]]
        frames.tofile(folder / "frames.rgb")
        if self.sidecar:
            (folder / "model.toml").write_text(self.sidecar)
        (folder / "case.json").write_text(json.dumps(asdict(self), default=lambda value: value.tolist()))


def session(folder: Path) -> onnxruntime.InferenceSession:
    """The exported model, as the library itself would run it."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    return onnxruntime.InferenceSession(folder / "model.onnx", options, providers=["CPUExecutionProvider"])


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


def planes(frame: np.ndarray, scale: float = 1 / 255, mean: tuple = (0, 0, 0), std: tuple = (1, 1, 1)) -> np.ndarray:
    """A frame as `[1, 3, H, W]` float32: `(pixel * scale - mean) / std`."""
    values = (frame.astype(np.float32) * np.float32(scale) - np.float32(mean)) / np.float32(std)
    return np.ascontiguousarray(values.transpose(2, 0, 1)[None])


def enliven(model, forward) -> None:
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
