"""ddddocr's models of captchas with the weights of the package."""

from __future__ import annotations

import io
import shutil
from importlib.metadata import version
from pathlib import Path

import ddddocr
import numpy as np
from ddddocr.core.detection_engine import DetectionEngine
from PIL import Image, ImageDraw, ImageFont

from cudainfer_tools.zoo.cases.case import Case

LIBRARY = f"ddddocr {version('ddddocr')}"
SIZE = 416
NOTE = "ddddocr gives no score with a text: none is compared. characters.txt has its character set, a line each, without the first, which is empty."


def captcha(number: int) -> np.ndarray:
    """Some characters strewn over noise."""
    random = np.random.default_rng(number)
    noise = random.integers(120, 200, (SIZE // 8, SIZE // 8, 3)).astype(np.uint8)
    picture = Image.fromarray(noise).resize((SIZE, SIZE), Image.Resampling.BICUBIC)
    draw = ImageDraw.Draw(picture)
    for i in range(4):
        font = ImageFont.load_default(size=int(random.integers(45, 75)))
        place = (40 + 190 * (i % 2) + int(random.integers(0, 90)), 30 + 190 * (i // 2) + int(random.integers(0, 90)))
        draw.text(
            place, "ABCDEFGHKMNPRSTUVWXYZ"[int(random.integers(21))], font=font, fill=tuple(random.integers(0, 90, 3).tolist())
        )
    return np.asarray(picture)


def detector(folder: Path, _: np.ndarray) -> None:
    """YOLOX of one class."""
    frames = np.stack([captcha(i) for i in range(20)])
    shutil.copy(Path(ddddocr.__file__).with_name("common_det.onnx"), folder / "model.onnx")
    engine = DetectionEngine()
    expected = []
    for frame in frames:
        # get_bbox without its rounding to whole pixels.
        tensor, ratio = engine.preproc(frame[:, :, ::-1], (SIZE, SIZE))
        rows = engine.demo_postprocess(engine.session.run(None, {"images": tensor[None]})[0], (SIZE, SIZE))[0]
        center, size = rows[:, :2], rows[:, 2:4]
        boxes = np.concatenate([center - size / 2, center + size / 2], 1) / ratio
        found = engine.multiclass_nms(boxes, rows[:, 4:5] * rows[:, 5:], nms_thr=0.45, score_thr=0.1)
        found = () if found is None else found
        expected.append([{"box": np.clip(row[:4], 0, SIZE), "score": row[4], "class": int(row[5])} for row in found])
    sidecar = '[input]\nchannels = "bgr"\nscale = 1.0\nresize = "letterbox-top-left"\n\n[output]\ndecoder = "yolox"\n'
    Case(LIBRARY, "gpunms confidence=0.1 iou=0.45", expected, sidecar=sidecar, weights=True).write(folder, frames)


def recogniser(folder: Path, _: np.ndarray) -> None:
    """Its output has the steps before the batch, as PyTorch's recurrent layers write it."""
    random = np.random.default_rng(3)
    frames = []
    for number in range(20):
        picture = Image.new("RGB", (160, 64), (230, 232, 225))
        text = "".join("abcdefhkmnprstuvwxyz2345678"[i] for i in random.integers(0, 27, 4))
        ImageDraw.Draw(picture).text((12, 6 + number % 5), text, font=ImageFont.load_default(size=40), fill=(30, 40, 70 + number))
        frames.append(np.asarray(picture))
    shutil.copy(Path(ddddocr.__file__).with_name("common_old.onnx"), folder / "model.onnx")
    engine = ddddocr.DdddOcr(show_ad=False)
    expected = []
    for frame in frames:
        file = io.BytesIO()
        Image.fromarray(frame).save(file, "PNG")
        expected.append([{"text": engine.classification(file.getvalue()), "score": 1.0, "class": 0}])
    # The first is the blank.
    (folder / "characters.txt").write_text("\n".join(engine.get_charset()[1:]) + "\n", encoding="utf-8")
    sidecar = (
        '[input]\nwidth = 160\nheight = 64\nchannels = "gray"\ninterpolation = "pil-bilinear"\n\n'
        '[output]\nlabels-file = "characters.txt"\n\n[classify]\nmode = "text"\n'
    )
    Case(LIBRARY, "classify", expected, sidecar=sidecar, weights=True, scores=1.0, note=NOTE).write(folder, np.stack(frames))


CASES = {"ddddocr-det": detector, "ddddocr-rec": recogniser}
