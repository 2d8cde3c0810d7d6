"""The tensors of a frame: between fusedpreproc and trtinfer the network's input, downstream of trtinfer its outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cudainfer import gst, gst_tensors
from cudainfer.arrays import Array
from cudainfer.results import Box


@dataclass
class Tensors:
    """The tensors of a frame, or of a region of it."""

    by_name: dict[str, Array]
    """In the model's order; GStreamer's own tensors by their identifiers."""
    input_size: tuple[int, int] | None
    """Width and height of the network's input. None for GStreamer's own tensors, which do not say it: the frame is taken for it."""
    scale: tuple[float, float]
    skew: tuple[float, float]
    offset: tuple[float, float]
    object: int | None = None
    """The id of the object whose region it is."""
    region: Box | None = None
    """The tile or the region of a list that it is."""

    def __getitem__(self, name: str) -> Array:
        return self.by_name[name]

    def to_frame(self, points: Any) -> np.ndarray[Any, Any]:
        """From pixels of the network's input to frame pixels: x and y along the last axis."""
        points = np.asarray(points, np.float64)
        return points * self.scale + points[..., ::-1] * self.skew + self.offset


def tensors(buffer: Any) -> list[Tensors]:
    """The tensors of a frame, given as a Gst.Buffer: of the whole frame, or with `fusedpreproc roi=…` of each region.

    If a frame has only GStreamer's own tensors (1.26), these. There are none downstream of the elements that decode them: gpunms, peakfind,
    classify, embed, segmask and tensormap.
    """
    meta = gst.custom_meta(buffer, "GstCudaInferTensorMeta")
    if not meta:
        others = gst_tensors.arrays(buffer)
        return [] if others is None else [Tensors(others, None, (1.0, 1.0), (0.0, 0.0), (0.0, 0.0))]
    regions = meta.get("regions")
    return [_tensors(s) for s in ([meta] if regions is None else regions)]


def _tensors(s: gst.Structure) -> Tensors:
    region = tuple(s.get(f"region-{name}") for name in ("x", "y", "width", "height"))
    return Tensors(
        {tensor["name"]: _array(tensor) for tensor in s["tensors"]},
        (s["input-width"], s["input-height"]),
        (s["scale-x"], s["scale-y"]),
        (s.get("skew-x", 0.0), s.get("skew-y", 0.0)),
        (s["offset-x"], s["offset-y"]),
        s.get("object"),
        None if None in region else region,
    )


def _array(s: gst.Structure) -> Array:
    return Array(s["data"], np.dtype(s["type"]), tuple(s["dims"]))
