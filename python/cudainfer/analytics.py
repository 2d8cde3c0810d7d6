"""Objects that only GStreamer's own analytics metadata describe, which 1.24 and newer have (docs/embedding.md)."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from ctypes import POINTER, byref, c_float, c_int, c_size_t, c_uint, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from cudainfer import gst

# The same in all versions.
LIBRARY = "libgstanalytics-1.0.so.0"
# Entries of a frame that are read, and pairs of them that are looked up for relations; as the elements do.
MOST_ENTRIES, MOST_RELATIONS, MOST_CLASSES = 1 << 14, 1 << 20, 100
# GST_ANALYTICS_REL_TYPE_IS_PART_OF
IS_PART_OF = 1 << 1

Pixels = tuple[int, int, int, int]
Key = tuple[str, Pixels, bool]


class Mtd(ctypes.Structure):
    """GstAnalyticsMtd: an entry."""

    _fields_ = [("id", c_uint), ("meta", c_void_p)]


@dataclass
class Detection:
    """A box, and what is related to it."""

    number: int
    """That of its entry."""
    label: str
    box: Pixels
    angle: float
    confidence: float
    track: tuple[int, bool] | None = None
    """Identity, and whether it is lost."""
    classes: list[list[tuple[str, int, float]]] = field(default_factory=list)
    """Of each classifier: labels, numbers and confidences, the best first."""

    @property
    def key(self) -> Key:
        """What tells boxes apart."""
        return key(self.label, self.box, self.angle)


def key(label: str, box: Pixels, angle: float) -> Key:
    """Regions of interest have no negative coordinates: a box that is not rotated is cut off there."""
    if angle:
        return label, box, True
    x, y, w, h = box
    left, top = max(x, 0), max(y, 0)
    return label, (left, top, max(x + w - left, 0), max(y + h - top, 0)), False


class Library:
    """The functions that are called, without the common part of their names."""

    def __init__(self, library: ctypes.CDLL) -> None:
        def function(name: str, returned: Any, *arguments: Any) -> Any:
            return gst.declare(getattr(library, f"gst_analytics_{name}"), returned, *arguments)

        def type_of(name: str) -> int:
            return function(name, c_size_t)()

        numbers, entry = POINTER(c_int), POINTER(Mtd)
        self.api = type_of("relation_meta_api_get_type")
        self.detection, self.tracking, self.classification = (
            type_of(f"{name}_mtd_get_mtd_type") for name in ("od", "tracking", "cls")
        )
        self.length = function("relation_get_length", c_size_t, c_void_p)
        self.type_of = function("mtd_get_mtd_type", c_size_t, entry)
        self.relation = function("relation_meta_get_relation", c_int, c_void_p, c_uint, c_uint)
        self.label = function("od_mtd_get_obj_type", c_uint32, entry)
        self.is_rotated = hasattr(library, "gst_analytics_od_mtd_get_oriented_location")
        more = [POINTER(c_float)] * (2 if self.is_rotated else 1)
        name = "od_mtd_get_oriented_location" if self.is_rotated else "od_mtd_get_location"
        self.location = function(name, c_int, entry, numbers, numbers, numbers, numbers, *more)
        times = [POINTER(c_uint64)] * 3
        self.track = function("tracking_mtd_get_info", c_int, entry, *times, numbers)
        self.class_count = function("cls_mtd_get_length", c_size_t, entry)
        self.class_level = function("cls_mtd_get_level", c_float, entry, c_size_t)
        self.class_label = function("cls_mtd_get_quark", c_uint32, entry, c_size_t)
        self.get_meta = gst.declare(
            ctypes.CDLL("libgstreamer-1.0.so.0").gst_buffer_get_meta, c_void_p, c_void_p, c_size_t
        )


@cache
def library() -> Library | None:
    """Opens the library; None where GStreamer has none, or another."""
    try:
        return Library(ctypes.CDLL(LIBRARY))
    except (OSError, AttributeError):
        return None


def detections(buffer: Any) -> list[Detection]:
    """The boxes of a frame, with the tracks and classes that are related to them."""
    of = library()
    meta = of and of.get_meta(gst.address(buffer), of.api)
    if not of or not meta:
        return []
    entries = [Mtd(number, meta) for number in range(min(of.length(meta), MOST_ENTRIES))]
    by_type: dict[int, list[Mtd]] = {}
    for entry in entries:
        by_type.setdefault(of.type_of(byref(entry)), []).append(entry)
    boxes = [(entry.id, found) for entry in by_type.get(of.detection, []) if (found := _detection(of, entry))]
    related = _relations(of, meta, boxes)
    for entry in by_type.get(of.tracking, []):
        if (box := related(entry)) and not box.track:
            box.track = _track(of, entry)
    for entry in by_type.get(of.classification, []):
        if (box := related(entry)) and (classes := _classes(of, entry)):
            box.classes.append(classes)
    return [box for _, box in boxes]


def wholes(buffer: Any, parts: list[Detection], boxes: list[Detection]) -> dict[int, int]:
    """Which of the boxes each of these is a part of, if any: their numbers."""
    of = library()
    meta = of and of.get_meta(gst.address(buffer), of.api)
    if not of or not meta:
        return {}
    found, left = {}, MOST_RELATIONS
    for part in parts:
        for box in boxes[:left]:
            left -= 1
            if box.number != part.number and of.relation(meta, part.number, box.number) & IS_PART_OF:
                found[part.number] = box.number
                break
    return found


def _relations(of: Library, meta: int, boxes: list[tuple[int, Detection]]) -> Callable[[Mtd], Detection | None]:
    """Finds the box that an entry is related to."""
    start, left = 0, MOST_RELATIONS

    def related(entry: Mtd) -> Detection | None:
        # Whoever writes adds entries mostly in the order of the boxes.
        nonlocal start, left
        for place in [*range(start, len(boxes)), *range(start)][:left]:
            left -= 1
            number, box = boxes[place]
            if of.relation(meta, number, entry.id) or of.relation(meta, entry.id, number):
                start = (place + 1) % len(boxes)
                return box
        return None

    return related


def _text(quark: int) -> str:
    return gst.text(gst.functions().quark_to_string(quark))


def _detection(of: Library, entry: Mtd) -> Detection | None:
    """None for boxes that cannot be."""
    sides, angle, confidence = [c_int() for _ in range(4)], c_float(), c_float()
    more = (angle, confidence) if of.is_rotated else (confidence,)
    if not of.location(byref(entry), *map(byref, sides), *map(byref, more)):
        return None
    x, y, w, h = (side.value for side in sides)
    if min(w, h) < 0 or not (math.isfinite(angle.value) and math.isfinite(confidence.value)):
        return None
    confident = min(max(confidence.value, 0.0), 1.0)
    return Detection(entry.id, _text(of.label(byref(entry))), (x, y, w, h), angle.value, confident)


def _track(of: Library, entry: Mtd) -> tuple[int, bool] | None:
    number, first, last, lost = c_uint64(), c_uint64(), c_uint64(), c_int()
    found = of.track(byref(entry), byref(number), byref(first), byref(last), byref(lost))
    return (number.value, bool(lost.value)) if found else None


def _classes(of: Library, entry: Mtd) -> list[tuple[str, int, float]]:
    handle = byref(entry)
    count = min(of.class_count(handle), MOST_CLASSES)
    classes = [(_text(of.class_label(handle, i)), i, of.class_level(handle, i)) for i in range(count)]
    finite = [each for each in classes if math.isfinite(each[2])]
    return sorted(finite, key=lambda each: -each[2])


def number_of(label: str) -> int:
    """The `label_id` that the elements give a label whose model is not known: FNV-1a with the highest bit set."""
    number = 0x811C9DC5
    for byte in label.encode():
        number = (number ^ byte) * 0x01000193 & 0xFFFFFFFF
    return number | 1 << 31
