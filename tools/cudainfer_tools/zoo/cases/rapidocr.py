"""RapidOCR's PP-OCR models with the weights of the package: lines of text are found, turned upright and read."""

from __future__ import annotations

import shutil
from importlib.metadata import version
from pathlib import Path

import numpy as np
import rapidocr
from PIL import Image, ImageDraw, ImageFont
from rapidocr import RapidOCR
from rapidocr.ch_ppocr_rec import TextRecInput

from cudainfer_tools.zoo.cases.case import Case

LIBRARY = f"rapidocr {version('rapidocr')}"
MODELS = Path(rapidocr.__file__).parent / "models"
WORDS = "platform seven departs at noon tickets please mind the gap between train and station exit north 24 17:35".split()
HALF = "mean = [0.5]\nstd = [0.5]\n"


def line(number: int, width: int, height: int, turned: bool = False) -> np.ndarray:
    """A picture of two or three words."""
    words = " ".join(WORDS[(number + i) % len(WORDS)] for i in range(2 + number % 2))
    picture = Image.new("RGB", (width, height), (225, 228, 220))
    font = ImageFont.load_default(size=round(height * 0.62) - number % 4)
    ImageDraw.Draw(picture).text((6, height * 0.12), words, font=font, fill=(20 + 4 * number, 30, 60))
    return np.asarray(picture.rotate(180) if turned else picture)


def page(number: int) -> np.ndarray:
    """A page of some lines, every other page slightly turned."""
    picture = Image.new("RGB", (960, 736), (230, 230, 226))
    draw = ImageDraw.Draw(picture)
    for row in range(6):
        words = " ".join(WORDS[(number * 5 + row * 3 + i) % len(WORDS)] for i in range(2 + (number + row) % 3))
        font = ImageFont.load_default(size=26 + (number + 3 * row) % 14)
        draw.text((60 + 37 * ((number + row) % 5), 60 + 105 * row), words, font=font, fill=(10, 20, 40 + 5 * row))
    angle = 4.0 * (number % 2)
    return np.asarray(picture.rotate(angle, Image.Resampling.BICUBIC, fillcolor=(230, 230, 226)))


def recogniser(folder: Path, _: np.ndarray) -> None:
    frames = np.stack([line(i, 320, 48) for i in range(20)])
    shutil.copy(MODELS / "PP-OCRv6_rec_small.onnx", folder / "model.onnx")
    engine = RapidOCR()._load_rec_model()
    expected = []
    for frame in frames:
        read = engine(TextRecInput(img=frame[:, :, ::-1].copy()))
        expected.append([{"text": read.txts[0], "score": read.scores[0], "class": 0}])
    Case(LIBRARY, "classify", expected, weights=True).write(folder, frames)


def turner(folder: Path, _: np.ndarray) -> None:
    frames = np.stack([line(i, 192, 48, turned=i % 3 == 0) for i in range(20)])
    shutil.copy(MODELS / "ch_ppocr_mobile_v2.0_cls_mobile.onnx", folder / "model.onnx")
    engine = RapidOCR()._load_cls_model()
    expected = []
    for frame in frames:
        [(label, score)] = engine(frame[:, :, ::-1].copy()).cls_res
        expected.append([{"class": ["0", "180"].index(label), "score": score}])
    sidecar = f'[input]\nwidth = 192\nheight = 48\nchannels = "bgr"\n{HALF}\n[output]\nlabels = ["0", "180"]\n'
    Case(LIBRARY, "classify", expected, sidecar=sidecar, weights=True).write(folder, frames)


def finder(folder: Path, _: np.ndarray) -> None:
    frames = np.stack([page(i) for i in range(20)])
    shutil.copy(MODELS / "PP-OCRv6_det_small.onnx", folder / "model.onnx")
    engine = RapidOCR(params={"Det.use_dilation": False})._load_det_model()
    expected = []
    for frame in frames:
        found = engine(frame[:, :, ::-1].copy())
        rows = zip(found.boxes, found.scores, strict=True) if found.boxes is not None else ()
        # Its corners are those of whole pixels, ours the edges.
        expected.append([{"corners": box.tolist(), "score": score, "class": 0} for box, score in rows])
    sidecar = f'[input]\nchannels = "bgr"\n{HALF}\n[output]\ndecoder = "db"\nconfidence = 0.5\nunclip-ratio = 1.6\n'
    Case(
        LIBRARY, "gpunms", expected, sidecar=sidecar, weights=True, pixels=2.5, scores=0.15,
        note="use_dilation=False. It rounds corners to whole pixels before and after it widens a line, and does not fill turned ones' rims.",
    ).write(folder, frames)  # fmt: skip


CASES = {"pp-ocr-rec": recogniser, "pp-ocr-cls": turner, "pp-ocr-det": finder}
