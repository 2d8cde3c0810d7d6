"""Compares the masks of objects in a pipeline with those that a model's own library makes."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cudainfer_tools import pipeline, repository

# Debian's python3-gi is this one's; that of the tools need not have it.
PYTHONS = (sys.executable, "/usr/bin/python3")


@dataclass
class Masks:
    """How masks agree: the least overlap of two, and samples that differ, of those in both of a pair together."""

    lowest: float = 1.0
    other: int = 0
    samples: int = 0
    compared: int = 0

    def see(self, ours: np.ndarray, theirs: np.ndarray, tied: np.ndarray) -> None:
        """Takes a pair of masks `[H, W]`; what is tied agrees."""
        ours = np.where(tied, theirs, ours)
        union, other = int((ours | theirs).sum()), int((ours != theirs).sum())
        self.lowest = min(self.lowest, 1 - other / union if union else 1.0)
        self.other += other
        self.samples += union
        self.compared += 1


def python_with_gstreamer() -> str:
    """A Python that has GStreamer's bindings."""
    for python in PYTHONS:
        asked = subprocess.run([python, "-c", "import gi; gi.require_version('Gst', '1.0')"], capture_output=True, check=False)
        if asked.returncode == 0:
            return python
    raise pipeline.PipelineError("masks of objects need GStreamer's bindings for Python: install python3-gi")


def found(line: list[str], out: Path, size: tuple[int, int], shape: tuple[int, int]) -> list[dict[int, np.ndarray]]:
    """The masks of the pipeline's objects, `[H, W]` of a frame of `size` (width, height), by frame and object."""
    command = repository.command("zoo.masks", out, *line, python=python_with_gstreamer())
    done = subprocess.run(command, env=pipeline.environment(), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        error = pipeline.ERROR.search(done.stderr)
        raise pipeline.PipelineError(error[3] if error else done.stderr.strip())
    data, at = np.fromfile(out.with_suffix(".bin"), np.uint8), 0
    scale = size[0] / shape[1], size[1] / shape[0]
    frames = []
    for text in out.with_suffix(".jsonl").read_text().splitlines():
        frame = {}
        for mask in json.loads(text):
            width, height = mask["width"], mask["height"]
            samples = data[at : at + width * height].reshape(height, width) > 0
            at += width * height
            frame[mask["object"]] = placed(samples, mask, scale, shape)
        frames.append(frame)
    return frames


def placed(samples: np.ndarray, place: dict, scale: tuple[float, float], shape: tuple[int, int]) -> np.ndarray:
    """The mask on a canvas of the whole frame, which has a sample for each `scale` pixels."""
    canvas = np.zeros(shape, bool)
    height, width = samples.shape
    x, y = place["x"] / scale[0], place["y"] / scale[1]
    sizes = place["w"] / scale[0] - width, place["h"] / scale[1] - height
    if width and height and max(map(abs, (x - round(x), y - round(y), *sizes))) > 1e-3:
        raise ValueError(f"a mask's samples are not those of the frame: {place}")
    left, top = round(x), round(y)
    inside = samples[max(-top, 0) : shape[0] - top, max(-left, 0) : shape[1] - left]
    canvas[max(top, 0) : max(top, 0) + inside.shape[0], max(left, 0) : max(left, 0) + inside.shape[1]] = inside
    return canvas


def compare(folder: Path, found: list[dict[int, np.ndarray]], pairs: list[list[tuple[int, int]]]) -> Masks:
    """`pairs` are numbers of the library's results and of ours that belong together, by frame."""
    wanted = np.load(folder / "objects.npz")
    shape, counts = tuple(wanted["shape"]), wanted["counts"]
    total = int(np.prod(shape)) * int(counts.sum())
    masks, tied = (np.unpackbits(wanted[name], count=total).astype(bool).reshape(-1, *shape) for name in ("masks", "tied"))
    result, first = Masks(), 0
    for frame, matched, count in zip(found, pairs, counts, strict=True):
        for theirs, ours in matched:
            result.see(frame.get(ours, np.zeros(shape, bool)), masks[first + theirs], tied[first + theirs])
        first += count
    return result
