"""What the elements have found in a frame: objects, masks, maps of numbers and zones.

All coordinates are frame pixels, continuous: pixel i has its centre at i + 0.5. Boxes are x, y of the upper left corner, width and
height.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cudainfer import analytics, gst
from cudainfer.arrays import Array

Box = tuple[float, float, float, float]
# GST_CLOCK_TIME_NONE
NO_TIME = 2**64 - 1


@dataclass
class Track:
    """A tracker's result."""

    id: int
    """Identity, unique in the stream, from 1."""
    lost: bool
    """Whether the object is expected here and was not detected."""
    age: int
    """Frames since it was first seen."""
    hits: int
    """Detections so far."""
    box: Box
    """The filter's estimate."""
    velocity: tuple[float, float]
    """Of its centre to the right and down, in pixels per second."""
    name: str | None = None
    """The individual's, where the model itself tells individuals apart and names them."""
    carried: bool = False
    """Whether the object is expected here and no model saw the frame (`interval` of fusedpreproc)."""


@dataclass
class Keypoints:
    """The points of an object that were found."""

    names: list[str]
    points: np.ndarray[Any, Any]
    """x and y of each: float64, of shape [n, 2]."""
    scores: np.ndarray[Any, Any]
    """float64, of shape [n]."""
    edges: np.ndarray[Any, Any]
    """The skeleton's lines, as pairs of indices into the points: int32, of shape [m, 2]."""
    pose_score: float | None = None
    """The score of all points together, where the model states one."""
    z: np.ndarray[Any, Any] | None = None
    """Depths in frame pixels, where the model gives three coordinates: float64, of shape [n]."""


@dataclass
class Classification:
    """A classifier's result, the best class first."""

    labels: list[str]
    label_ids: list[int]
    confidences: list[float]
    model: str
    output: str
    """The model's output that these are of."""
    held: bool = False
    """Found in an earlier frame: the model has not looked at the object in this one."""


@dataclass
class Values:
    """Numbers that a model gives for an object, such as an age, in the model's units."""

    names: list[str]
    values: list[float]
    model: str
    output: str
    """The model's output that these are of."""
    held: bool = False
    """As of classifications."""


@dataclass
class Embedding:
    """A vector that describes an object: similar objects have similar ones."""

    data: Array
    """float32, of shape [n]."""
    normalized: bool
    """Whether its length is 1."""
    model: str
    output: str

    def numpy(self) -> np.ndarray[Any, Any]:
        return self.data.numpy()


@dataclass
class Speed:
    """How an object moves on the ground."""

    value: float
    """Metres per second."""
    deviation: float
    """Its standard deviation."""
    direction: float | None = None
    """Degrees from the x axis of zonecount's ground towards its y axis; None where the object may as well stand."""


@dataclass
class World:
    """Where an object is in the world, in the axes of zonecount's ground."""

    x: float
    """Metres, as y."""
    y: float
    speed: Speed | None = None
    """None if it is not tracked or was seen once only."""
    nearest: int | None = None
    """The id of the nearest other object that has a place."""
    nearest_distance: float | None = None
    """How far that is, in metres."""


@dataclass
class Identity:
    """Whom an object was recognised as, by its embedding."""

    name: str
    """That of the gallery; of who is in none, `unknown-3`."""
    score: float
    """Cosine similarity, -1 to 1."""
    unknown: int | None = None
    """The number of who is in no gallery."""
    held: bool = False
    """Of earlier frames: no embedding was made of the object in this one."""


@dataclass
class Object:
    """An object in a frame."""

    id: int
    """Number in this frame, from 0."""
    label: str
    box: Box
    """The detector's; if none has found it, its region in whole pixels."""
    angle: float = 0.0
    """By how much the box is rotated about its centre: radians, clockwise on the screen."""
    confidence: float | None = None
    """0 to 1; None if no detector has found it."""
    label_id: int | None = None
    """Number of the label among the detector's."""
    track: Track | None = None
    parent: int | None = None
    """The id of the object in whose region a second model has found it."""
    keypoints: Keypoints | None = None
    classifications: list[Classification] = field(default_factory=list)
    values: list[Values] = field(default_factory=list)
    embeddings: list[Embedding] = field(default_factory=list)
    identity: Identity | None = None
    zones: dict[str, int | None] = field(default_factory=dict)
    """The polygons that it is in, and for how long: nanoseconds, None where that is not known."""
    world: World | None = None
    """Where it is, downstream of a zonecount that knows the ground."""


@dataclass
class Mask:
    """A mask over the frame or a part of it."""

    kind: str
    """`classes`: each number is a class. `alpha`: 0 to 255. `instance`: 1 inside the object, 0 elsewhere."""
    data: Array
    """uint8, of shape [rows, columns]."""
    box: Box
    """What it covers; it may reach beyond the frame."""
    labels: list[str]
    """`classes`: names by number. `alpha`: the channel's name."""
    background: int | None
    """`classes`: the number of the background."""
    object: int | None
    """`instance`: the object's id."""

    def numpy(self) -> np.ndarray[Any, Any]:
        return self.data.numpy()


@dataclass
class Map:
    """A map of numbers over the frame or a part of it, such as depth."""

    name: str
    """The model's output."""
    data: Array
    """float32, float16 or uint8, of shape [rows, columns]; of vectors [channels, rows, columns] or [rows, columns, channels]."""
    box: Box
    """What it covers; it may reach beyond the frame."""
    min: float | None
    """Of the finite numbers within the frame; None if there is none. So are mean and max."""
    mean: float | None
    max: float | None
    sum: float | None
    """Of the finite numbers within the frame, of maps of one channel."""
    counts: str | None
    """What the sum is a number of."""
    non_finite: int
    """Numbers within the frame that are NaN or infinity."""
    score: float | None
    """The frame's, if the model has an output for it."""
    range: tuple[float, float] | None
    """On GRAY16 frames: the numbers that 0 and 65535 stand for."""

    def numpy(self) -> np.ndarray[Any, Any]:
        return self.data.numpy()


@dataclass
class Zone:
    """A polygon or a line, and what zonecount has counted since the stream's start."""

    name: str
    kind: str
    """`polygon` or `line`."""
    points: np.ndarray[Any, Any]
    """The vertices, or the line's ends: float64, of shape [n, 2]."""
    counts: dict[str, int]
    """`occupancy`, `entered`, `left` of a polygon; `in`, `out` of a line."""
    classes: dict[str, dict[str, int]]
    """The same by label."""
    longest_dwell: int | None
    """Of a polygon from which objects have gone: nanoseconds."""
    mean_dwell: int | None
    holes: list[np.ndarray[Any, Any]] = field(default_factory=list)
    """The outlines of a polygon's holes, each as `points`."""


@dataclass
class ZoneEvent:
    """What happened at a zone in this frame."""

    zone: str
    kind: str
    event: str
    """`enter`, `leave`, `cross`, `dwell`, `loiter`, `speed` or `occupancy`."""
    object: int | None
    """The object's id in this frame."""
    track: int | None
    label: str | None
    cause: str | None
    """`enter`: moved or appeared. `leave`: moved or vanished. `occupancy`: reached or fell."""
    direction: str | None
    """`cross`: in or out."""
    dwell: int | None
    """Nanoseconds inside."""
    occupancy: int | None
    """Objects in the polygon after the event."""
    speed: Speed | None = None
    """`speed`: how the object moved."""


def objects(buffer: Any) -> list[Object]:
    """The objects of a frame, given as a Gst.Buffer, in the order in which they were found.

    Regions of interest of other elements, which have none of the parameters described in docs/embedding.md, are left out. What only
    GStreamer's analytics metadata describe comes last.
    """
    found, keys = [], {}
    for region, parameters in gst.regions(buffer):
        if not (one := _object(region, parameters)):
            continue
        found.append(one)
        if one.confidence is not None or one.keypoints:
            pixels = region.x, region.y, region.w, region.h
            turned = tuple(int(side + math.copysign(0.5, side)) for side in one.box)
            place = analytics.key(one.label, turned if one.angle else pixels, one.angle)
            keys.setdefault(place, []).append(one)
    # Of boxes that no region describes: those that no region has.
    taken = {one.id for one in found}
    free = (number for number in itertools.count() if number not in taken)
    boxes, by_number, added = analytics.detections(buffer), {}, []
    for detection in boxes:
        if of_region := keys.get(detection.key):
            by_number[detection.number] = of_region[0]
            _complete(of_region.pop(0), detection)
            continue
        box = tuple(map(float, detection.box))
        label_id = analytics.number_of(detection.label)
        one = Object(next(free), detection.label, box, detection.angle, detection.confidence, label_id)
        _complete(one, detection)
        found.append(one)
        by_number[detection.number] = one
        added.append(detection)
    for part, whole in analytics.wholes(buffer, added, boxes).items():
        by_number[part].parent = by_number[whole].id
    return found


def _complete(found: Object, detection: analytics.Detection) -> None:
    """Adds what only analytics metadata say."""
    if detection.track and not found.track:
        number, lost = detection.track
        box = tuple(map(float, detection.box))
        found.track = Track(number, lost, 0, 0, box, (0.0, 0.0))
    if not found.classifications:
        for classes in detection.classes:
            labels, numbers, confidences = map(list, zip(*classes))
            found.classifications.append(Classification(labels, numbers, confidences, "", ""))


def masks(buffer: Any) -> list[Mask]:
    """The masks that segmask has put on a frame."""
    return [_mask(s) for s in _entries(buffer, "GstCudaInferMaskMeta", "masks")]


def maps(buffer: Any) -> list[Map]:
    """The maps of numbers that tensormap has put on a frame."""
    return [_map(s) for s in _entries(buffer, "GstCudaInferMapMeta", "maps")]


def zones(buffer: Any) -> list[Zone]:
    """The zones of the elements zonecount that a frame has passed."""
    return [_zone(s) for s in _entries(buffer, "GstCudaInferZoneMeta", "zones")]


def zone_events(buffer: Any) -> list[ZoneEvent]:
    """What happened at the zones in this frame."""
    return [_zone_event(s) for s in _entries(buffer, "GstCudaInferZoneMeta", "events")]


def _entries(buffer: Any, meta: str, name: str) -> list[gst.Structure]:
    found = gst.custom_meta(buffer, meta)
    return found.get(name, []) if found else []


def _box(s: gst.Structure) -> Box:
    return s["x"], s["y"], s["w"], s["h"]


def _object(region: gst.RegionStruct, parameters: list[gst.Structure]) -> Object | None:
    label = gst.text(gst.functions().quark_to_string(region.roi_type))
    found = Object(region.id, label, tuple(map(float, (region.x, region.y, region.w, region.h))))
    # Not one comprehension: all are taken.
    known = [_take(found, s) for s in parameters]
    return found if any(known) else None


def _take(found: Object, s: gst.Structure) -> bool:
    """Reads a parameter, the first of each name where there can be only one; false if it is none of ours."""
    try:
        match s.name:
            case "detection" if found.confidence is None:
                box, confidence, label_id = _box(s), s["confidence"], s["label-id"]
                found.box, found.confidence, found.label_id, found.angle = box, confidence, label_id, s.get("angle", 0.0)
            case "tracking":
                found.track = found.track or _track(s)
            case "parent":
                found.parent = s["id"]
                # That alone makes no object.
                return False
            case "keypoints":
                # Those of a model that looked at the object by itself follow those of its detector.
                found.keypoints = _keypoints(s)
            case "classification":
                found.classifications.append(
                    Classification(
                        s["labels"], s["label-ids"], s["confidence"], s["model"], s["output"], s.get("held", False)
                    )
                )
            case "values":
                found.values.append(Values(s["names"], s["values"], s["model"], s["output"], s.get("held", False)))
            case "embedding":
                data = Array(s["data"], np.dtype("<f4"), (s["length"],))
                found.embeddings.append(Embedding(data, s["normalized"], s["model"], s["output"]))
            case "identity":
                identity = Identity(s["name"], s["score"], s.get("unknown"), s.get("held", False))
                found.identity = found.identity or identity
            case "zones":
                found.zones |= {name: _time(dwell) for name, dwell in zip(s["names"], s["dwell"])}
            case "world":
                found.world = found.world or _world(s)
            case name:
                return name == "detection"
    except KeyError:
        # Of another element that uses the same name.
        return False
    return True


def _track(s: gst.Structure) -> Track:
    velocity = s["velocity-x"], s["velocity-y"]
    state = s["state"]
    return Track(s["id"], state == "lost", s["age"], s["hits"], _box(s), velocity, s.get("name"), state == "carried")


def _speed(s: gst.Structure) -> Speed | None:
    value, deviation = s.get("speed"), s.get("speed-deviation")
    if value is None or deviation is None:
        return None
    return Speed(value, deviation, s.get("speed-direction"))


def _world(s: gst.Structure) -> World:
    return World(s["x"], s["y"], _speed(s), s.get("nearest"), s.get("nearest-distance"))


def _keypoints(s: gst.Structure) -> Keypoints:
    points = np.array([s["x"], s["y"]], np.float64).T
    edges = np.array(s.get("edges", []), np.int32).reshape(-1, 2)
    depths = s.get("z")
    z = None if depths is None else np.array(depths, np.float64)
    return Keypoints(s["names"], points, np.array(s["score"], np.float64), edges, s.get("pose-score"), z)


def _time(ns: int) -> int | None:
    return None if ns == NO_TIME else ns


def _mask(s: gst.Structure) -> Mask:
    data = Array(s["data"], np.dtype("u1"), (s["height"], s["width"]))
    background = s.get("background", -1)
    return Mask(
        s["kind"], data, _box(s), s.get("labels", []), background if background >= 0 else None, s.get("object")
    )


def _map(s: gst.Structure) -> Map:
    shape = (s["height"], s["width"])
    if s["channels"] > 1:
        shape = (s["channels"], *shape) if s["layout"] == "nchw" else (*shape, s["channels"])
    data = Array(s["data"], np.dtype(s["type"]), shape)
    least, most = s.get("range-min"), s.get("range-max")
    span = None if least is None or most is None else (least, most)
    numbers = (s.get(name) for name in ("min", "mean", "max", "sum", "counts"))
    return Map(s["name"], data, _box(s), *numbers, s["non-finite"], s.get("score"), span)


def _counts(s: gst.Structure) -> dict[str, int]:
    names = ("occupancy", "entered", "left", "in", "out")
    return {name: count for name in names if (count := s.get(name)) is not None}


def _zone(s: gst.Structure) -> Zone:
    def points(of: gst.Structure) -> np.ndarray[Any, Any]:
        return np.array([of["x"], of["y"]], np.float64).T

    classes = {of["label"]: _counts(of) for of in s.get("classes", [])}
    dwells = s.get("longest-dwell"), s.get("mean-dwell")
    holes = [points(hole) for hole in s.get("holes", [])]
    return Zone(s["name"], s["kind"], points(s), _counts(s), classes, *dwells, holes)


def _zone_event(s: gst.Structure) -> ZoneEvent:
    number = s.get("object", -1)
    rest = (s.get(name) for name in ("track", "label", "cause", "direction", "dwell", "occupancy"))
    return ZoneEvent(s["zone"], s["kind"], s["event"], number if number >= 0 else None, *rest, _speed(s))
