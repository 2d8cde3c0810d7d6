"""nudenet's detector (YOLOv8, exported by Ultralytics) with the weights of the package, on a man's face."""

from __future__ import annotations

import shutil
from importlib.metadata import version
from pathlib import Path

import nudenet
import numpy as np
from nudenet import nudenet as library

from cudainfer_tools.zoo.cases.case import Case, close_up, planes, resized, session

SIZE = 320
# It rounds its boxes down to whole pixels: of a picture that many times as large, which costs nothing.
FINER = 1024


def faces(folder: Path, _: np.ndarray) -> None:
    frames = resized(close_up(folder), SIZE, SIZE)
    shutil.copy(Path(nudenet.__file__).with_name("320n.onnx"), folder / "model.onnx")
    net = session(folder)
    labels = vars(library)["__labels"]
    expected = []
    for frame in frames:
        outputs = net.run(None, {"images": planes(frame)})
        side = SIZE * FINER
        found = library._postprocess(outputs, 0, 0, 1, 1, side, side, SIZE, SIZE)
        boxes = [[value / FINER for value in one["box"]] for one in found]
        expected.append(
            [
                {"box": [x, y, x + w, y + h], "score": one["score"], "class": labels.index(one["class"])}
                for one, (x, y, w, h) in zip(found, boxes, strict=True)
            ]
        )
    elements = "gpunms confidence=0.25 iou=0.45 nms=class-agnostic"
    Case(f"nudenet {version('nudenet')}", elements, expected, preprocessing=f"width={SIZE} height={SIZE}", weights=True).write(
        folder, frames
    )


CASES = {"nudenet": faces}
