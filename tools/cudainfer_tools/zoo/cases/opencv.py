"""OpenCV's detector of faces with a network of YuNet's outputs and random weights."""

from __future__ import annotations

import itertools
from pathlib import Path

import cv2
import numpy as np
import torch

from cudainfer_tools.zoo.cases.case import Case, enliven, resized, spread

SIZE, CONFIDENCE = 320, 0.5
STRIDES = (8, 16, 32)
# Numbers a cell, and whether they are probabilities.
HEADS = {"cls": (1, True), "obj": (1, True), "bbox": (4, False), "kps": (10, False)}


class Faces(torch.nn.Module):
    """A few convolutions, and YuNet's four heads for each stride."""

    def __init__(self) -> None:
        super().__init__()
        sizes = (3, 16, 32, 32, 48, 48)
        self.trunk = torch.nn.ModuleList(
            torch.nn.Sequential(torch.nn.Conv2d(a, b, 3, 2, 1), torch.nn.BatchNorm2d(b), torch.nn.ReLU())
            for a, b in itertools.pairwise(sizes)
        )
        self.heads = torch.nn.ModuleDict(
            {name: torch.nn.ModuleList(torch.nn.Conv2d(c, count, 1) for c in (32, 48, 48)) for name, (count, _) in HEADS.items()}
        )

    def forward(self, image: torch.Tensor) -> list[torch.Tensor]:
        values, levels = image / 255, []
        for i, block in enumerate(self.trunk):
            values = block(values)
            if i >= 2:
                levels.append(values)
        found = []
        for name, (count, probability) in HEADS.items():
            for level, head in zip(levels, self.heads[name], strict=True):
                rows = head(level).permute(0, 2, 3, 1).reshape(1, -1, count)
                found.append(rows.sigmoid() if probability else rows)
        return found


def yunet(folder: Path, frames: np.ndarray) -> None:
    frames = resized(frames, SIZE, SIZE)
    torch.manual_seed(0)
    model = Faces().eval()
    # OpenCV reads blue first.
    images = [torch.from_numpy(frame[:, :, ::-1].transpose(2, 0, 1)[None].astype(np.float32)) for frame in frames]
    enliven(model.trunk, lambda: [model(image) for image in images[::4]])
    model.eval()
    scoring = [*model.heads["cls"], *model.heads["obj"]]
    spread(scoring, lambda: [model(image) for image in images], 0.0, 4.0, 0.03)
    names = [f"{name}_{stride}" for name in HEADS for stride in STRIDES]
    torch.onnx.export(
        model, images[0], folder / "model.onnx", dynamo=False, opset_version=13, input_names=["input"], output_names=names
    )
    # Nothing is suppressed: it would do so with boxes of whole pixels.
    detector = cv2.FaceDetectorYN.create(str(folder / "model.onnx"), "", (SIZE, SIZE), CONFIDENCE, 1.0, 5000)
    expected = []
    for frame in frames:
        _, faces = detector.detect(np.ascontiguousarray(frame[:, :, ::-1]))
        rows = [] if faces is None else faces.tolist()
        boxes = [np.clip([x, y, x + w, y + h], 0, SIZE) for x, y, w, h, *_ in rows]
        expected.append(
            [
                {"box": box, "score": row[14], "class": 0, "keypoints": np.reshape(row[4:14], (5, 2))}
                for box, row in zip(boxes, rows, strict=True)
            ]
        )
    sidecar = '[input]\nchannels = "bgr"\nscale = 1.0\n'
    Case(f"opencv {cv2.__version__}", f"gpunms confidence={CONFIDENCE} nms=none top-k-after=1000", expected, sidecar=sidecar).write(
        folder, frames
    )


CASES = {"yunet": yunet}
