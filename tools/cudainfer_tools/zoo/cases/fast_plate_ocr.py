"""fast-plate-ocr's recognisers of number plates with networks of their inputs and outputs and random weights."""

from __future__ import annotations

import json
from functools import partial
from importlib.metadata import version
from pathlib import Path

import cv2
import numpy as np
from fast_plate_ocr import LicensePlateRecognizer
from PIL import Image, ImageDraw, ImageFont

from cudainfer_tools.test_models.graph import F32, U8
from cudainfer_tools.zoo.cases.case import Case
from cudainfer_tools.zoo.cases.network import Network

LIBRARY = f"fast-plate-ocr {version('fast-plate-ocr')}"
ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_"
PAD = len(ALPHABET) - 1
REGIONS = ["Argentina", "Brazil", "France", "Germany", "Unknown"]
NOTE = (
    "It gives probabilities of all places: the mean of those that are read is compared. It removes pads at the end of a line alone, and "
    "mode=slots all: here all are at the end."
)


def plate(number: int, width: int, height: int) -> np.ndarray:
    """A picture of a number plate."""
    random = np.random.default_rng(number)
    text = "".join(ALPHABET[i] for i in random.integers(0, PAD, 5 + number % 3))
    picture = Image.new("RGB", (width, height), tuple(random.integers(150, 255, 3).tolist()))
    font = ImageFont.load_default(size=round(height * 0.45))
    ImageDraw.Draw(picture).text((8 + number % 7, height * 0.2), text, font=font, fill=tuple(random.integers(0, 90, 3).tolist()))
    return np.asarray(picture)


def network(colours: int, width: int, height: int, slots: int, regions: bool, flat: bool) -> Network:
    """A recogniser that takes bytes, the colours last. Of its places the first five have a character, the sixth has one or none, and the
    others have none."""
    net = Network(["batch", height, width, colours], "input", U8)
    net.node("Cast", ["input"], "numbers", to=F32)
    net.node("Sub", ["numbers", net.constant("middle", np.float32(127.5))], "centred")
    net.node("Div", ["centred", net.constant("deviation", np.float32(50))], "scaled")
    level = net.trunk(net.node("Transpose", ["scaled"], "planes", perm=[0, 3, 1, 2]), (colours, 16, 32, 32, 32))[-1]
    net.node("Flatten", [level], "features")
    features, symbols = 32 * -(-height // 16) * -(-width // 16), len(ALPHABET)
    pads = np.zeros((slots, symbols), np.float32)
    pads[:, PAD] = [-100.0] * 5 + [2.0] + [100.0] * (slots - 6)
    net.node(
        "Gemm", ["features", net.weights("places", slots * symbols, features), net.constant("pads", pads.ravel())], "all", transB=1
    )
    net.node("Reshape", ["all", net.constant("places.shape", np.array([-1, slots, symbols]))], "places")
    if flat:
        net.node("Softmax", ["places"], "characters", axis=-1)
        net.node("Flatten", ["characters"], "plate")
        net.output("plate", F32, ["batch", slots * symbols])
        return net
    net.node("Softmax", ["places"], "plate", axis=-1)
    net.output("plate", F32, ["batch", slots, symbols])
    if regions:
        net.node("Gemm", ["features", net.weights("regions", len(REGIONS), features)], "kinds", transB=1)
        net.node("Softmax", ["kinds"], "region", axis=-1)
        net.output("region", F32, ["batch", len(REGIONS)])
    return net


def write(folder: Path, _: np.ndarray, gray: bool, width: int, height: int, slots: int, flat: bool = False) -> None:
    frames = np.stack([plate(i, width, height) for i in range(20)])
    network(1 if gray else 3, width, height, slots, regions=not gray, flat=flat).write(folder / "model.onnx")
    config = {"max_plate_slots": slots, "alphabet": ALPHABET, "pad_char": ALPHABET[PAD], "img_height": height, "img_width": width}
    config |= {} if gray else {"image_color_mode": "rgb", "plate_regions": REGIONS}
    # Its YAML may be JSON.
    (folder / "plate.yaml").write_text(json.dumps(config))
    engine = LicensePlateRecognizer(
        onnx_model_path=folder / "model.onnx", plate_config_path=folder / "plate.yaml", providers=["CPUExecutionProvider"]
    )
    expected = []
    for frame in frames:
        read = engine.run_one(cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY) if gray else frame, return_confidence=True)
        found = [{"class": 0, "text": read.plate, "score": read.char_probs[: len(read.plate)].mean()}]
        if read.has_region:
            found.append({"class": REGIONS.index(read.region), "text": read.region, "score": read.region_prob})
        expected.append(found)
    sidecar = f"[input]\nscale = 1.0\n\n[output]\nlabels = {json.dumps(list(ALPHABET[:PAD]))}\n\n"
    sidecar += f'[classify.plate]\nmode = "slots"\npad = {PAD}\n'
    sidecar += "" if gray else f"\n[classify.region]\nlabels = {json.dumps(REGIONS)}\n"
    line = "classify" if gray else "classify output=plate ! classify output=region"
    Case(LIBRARY, line, expected, sidecar=sidecar, note=NOTE).write(folder, frames)


CASES = {
    "fast-plate-ocr": partial(write, gray=False, width=128, height=64, slots=10),
    "fast-plate-ocr-gray": partial(write, gray=True, width=140, height=70, slots=9),
    "fast-plate-ocr-flat": partial(write, gray=True, width=140, height=70, slots=9, flat=True),
}
