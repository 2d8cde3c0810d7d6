"""Writes kernels/src/preproc/tests/references.txt: what Pillow and OpenCV make of noise, for the tests of preprocessing.

    pip install numpy==2.4.6 pillow==11.3.0 opencv-python-headless==5.0.0.93
    python3 tools reference.preproc

A line is: what was done, the frame's width and height, the numbers that belong to it, the tensor's width and height, and
the pixels in hexadecimal digits. torchvision's and timm's geometry, mmpose's matrices and BoxMOT's crops are written here
from these libraries' documented behaviour, because nothing else of them is needed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image

from cudainfer_tools.repository import ROOT

# Width and height.
Size = tuple[int, int]
FILTERS = {"pil-bilinear": Image.Resampling.BILINEAR, "pil-bicubic": Image.Resampling.BICUBIC}


def noise(width: int, height: int, channels: int, seed: int) -> npt.NDArray[np.uint8]:
    """The frame of reference.rs's Owned::noise."""
    state = (seed * 0x9E3779B97F4A7C15 & 2**64 - 1) | 1
    values = []
    for _ in range(width * height * channels):
        state ^= state << 13 & 2**64 - 1
        state ^= state >> 7
        state ^= state << 17 & 2**64 - 1
        values.append(state >> 32 & 255)
    shape = (height, width, channels) if channels > 1 else (height, width)
    return np.array(values, dtype=np.uint8).reshape(shape)


def line(what: str, frame: Size, numbers: Iterable[float], pixels: np.ndarray) -> str:
    height, width = pixels.shape[:2]
    words = [what, *frame, *numbers, width, height, pixels.astype(np.uint8).tobytes().hex()]
    return " ".join(map(str, words))


def plain() -> Iterator[str]:
    """Image.resize, enlarging and shrinking, sides of 1, 9, 17 and 65."""
    shapes = [((1, 1), (9, 17)), ((9, 17), (1, 1)), ((9, 17), (9, 17)), ((9, 17), (65, 33)), ((65, 33), (9, 17))]
    shapes += [((65, 17), (17, 65)), ((17, 65), (65, 9)), ((65, 65), (33, 20)), ((400, 223), (5, 3))]
    for name, resample in FILTERS.items():
        for seed, (frame, tensor) in enumerate(shapes, 1):
            image = Image.fromarray(noise(*frame, 1, seed))
            yield line(name, frame, [], np.asarray(image.resize(tensor, resample)))
        image = Image.fromarray(noise(21, 13, 3, 3))
        yield line(name + "-rgb", (21, 13), [], np.asarray(image.resize((8, 9), resample)))


def evaluation(frame: Size, crop: Size, ratio: float) -> tuple[Size, tuple[int, int, int, int]]:
    """The size to which timm's evaluation transform resizes, and where it crops: left, top, right, bottom."""
    target = [math.floor(side / ratio) for side in crop]
    if crop[0] == crop[1]:
        # torchvision.transforms.functional.resize: the shorter side, and the other one truncated.
        short, long = sorted(frame)
        size = target[0], int(target[0] * long / short)
        resized = size if frame[0] <= frame[1] else size[::-1]
    else:
        # timm's ResizeKeepRatio.
        shrink = min(frame[0] / target[0], frame[1] / target[1])
        resized = round(frame[0] / shrink), round(frame[1] / shrink)
    # torchvision.transforms.functional.center_crop.
    left, top = (round((a - b) / 2.0) for a, b in zip(resized, crop, strict=True))
    return resized, (left, top, left + crop[0], top + crop[1])


def crops() -> Iterator[str]:
    """Resize and CenterCrop of a PIL image."""
    frames = [(64, 48), (48, 64), (65, 33), (33, 65), (57, 57), (30, 31), (101, 40), (40, 103), (29, 200), (128, 72)]
    ratios = [0.875, 0.9, 0.95, 1.0, 0.875, 0.77, 0.965, 0.8, 0.9, 0.875]
    for seed, (frame, ratio) in enumerate(zip(frames, ratios, strict=True), 1):
        for name, resample in FILTERS.items():
            crop = (21, 21) if name == "pil-bilinear" else (24, 24)
            if seed % 5 == 0:
                crop = (24, 17)
            resized, box = evaluation(frame, crop, ratio)
            image = Image.fromarray(noise(*frame, 1, seed)).resize(resized, resample).crop(box)
            yield line("crop-" + name, frame, [ratio], np.asarray(image))


def top_left() -> Iterator[str]:
    """YOLOX's preproc."""
    for seed, (frame, tensor) in enumerate([((65, 33), (32, 32)), ((33, 65), (40, 48)), ((31, 17), (61, 40))], 1):
        scale = min(tensor[1] / frame[1], tensor[0] / frame[0])
        size = int(frame[0] * scale), int(frame[1] * scale)
        padded = np.full((tensor[1], tensor[0]), 114, dtype=np.uint8)
        padded[: size[1], : size[0]] = cv2.resize(noise(*frame, 1, seed), size, interpolation=cv2.INTER_LINEAR)
        yield line("yolox", frame, [], padded)


BOXES = [(10.3, 5.6, 30.2, 40.9), (-4.0, 3.5, 20.0, 60.0), (50.2, 20.0, 70.0, 48.7), (12.5, 13.5, 18.5, 45.49)]


def cut() -> Iterator[str]:
    """BoxMOT's crops of boxes x1, y1, x2, y2, in a frame of 64x48."""
    image = noise(64, 48, 1, 7)
    for box in BOXES:
        x1, y1, x2, y2 = np.array(box).round().astype(int)
        x1, y1, x2, y2 = max(0, x1), max(0, y1), min(64, x2), min(48, y2)
        part = image[y1:y2, x1:x2]
        yield line("boxmot", (64, 48), box, cv2.resize(part, (16, 32), interpolation=cv2.INTER_LINEAR))
        for name, resample in FILTERS.items():
            pixels = np.asarray(Image.fromarray(part).resize((16, 32), resample))
            yield line("part-" + name, (64, 48), box, pixels)


def warped() -> Iterator[str]:
    """mmpose's TopdownAffine of boxes x1, y1, x2, y2, in a frame of 64x48: padding 1.25, no rotation."""
    image = noise(64, 48, 1, 7).astype(np.float32)
    w, h = 18, 24
    for box in BOXES:
        center = np.array([box[0] + box[2], box[1] + box[3]]) / 2
        size = np.array([box[2] - box[0], box[3] - box[1]]) * 1.25
        size = np.array([size[0], size[0] * h / w]) if size[0] > size[1] * w / h else np.array([size[1] * w / h, size[1]])
        # get_warp_matrix: centre to centre. get_udp_warp_matrix: first and last pixel to the box's edges.
        for name, scale, middle in [
            ("mmpose", np.array([w, h]) / size, np.array([w, h]) / 2),
            ("mmpose-udp", np.array([w - 1, h - 1]) / size, np.array([w - 1, h - 1]) / 2),
        ]:
            move = middle - scale * center
            matrix = np.array([[scale[0], 0, move[0]], [0, scale[1], move[1]]])
            yield line(name, (64, 48), box, exactly(image, matrix, (w, h)))


def exactly(image: np.ndarray, matrix: np.ndarray, size: Size) -> np.ndarray:
    """What warpAffine approaches with INTER_LINEAR and a border of 0: it rounds positions to 1/32 pixel, this does not."""
    out = np.zeros((size[1], size[0]))
    for j in range(size[1]):
        for i in range(size[0]):
            x, y = (i - matrix[0, 2]) / matrix[0, 0], (j - matrix[1, 2]) / matrix[1, 1]
            for px in (math.floor(x), math.floor(x) + 1):
                for py in (math.floor(y), math.floor(y) + 1):
                    if 0 <= px < image.shape[1] and 0 <= py < image.shape[0]:
                        out[j, i] += image[py, px] * (1 - abs(x - px)) * (1 - abs(y - py))
    theirs = cv2.warpAffine(image, matrix, size, flags=cv2.INTER_LINEAR)
    # 1/32 pixel of noise on both axes.
    assert np.abs(out - theirs).max() < 255 / 16, np.abs(out - theirs).max()
    return np.round(out)


if __name__ == "__main__":
    target = ROOT / "kernels/src/preproc/tests/references.txt"
    lines = [*plain(), *crops(), *top_left(), *cut(), *warped()]
    target.write_text("\n".join(lines) + "\n")
    print(f"{len(lines)} lines in {target}")
