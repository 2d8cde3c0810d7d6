"""What a pytorch_config.yaml of DeepLabCut 3 says about its network, and the sidecar that is made of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from cudainfer_tools.export.common import ExportError, pairs, strings

CONFIG = "pytorch_config.yaml"
READ = "HeatmapPredictor and PartAffinityFieldPredictor are"

# ImageNet's, by which albumentations' Normalize takes pixels of 0 to 1, in whatever order the channels are.
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
# A peak has at least this much in DeepLabCut's predictor, and this much in its Assembler.
LEAST, PCUTOFF = 0.01, 0.1
# The most points, and the most edges, of a skeleton in peakfind.
MOST = 128


@dataclass(frozen=True)
class Fields:
    """What PartAffinityFieldPredictor says about peaks and the fields between them."""

    animals: int
    # Numbers of points, and of the field.
    edges: list[tuple[int, int]]
    channels: list[int]
    radius: int
    sigma: float
    min_affinity: float


@dataclass(frozen=True)
class Model:
    """The facts that an export needs, of one head."""

    head: str
    backbone: str
    points: list[str]
    sigmoid: bool
    clips: bool
    # Pixels for each unit of the location refinement; None without one.
    offset_scale: float | None
    # None of a network of one animal, or of one crop.
    fields: Fields | None
    # Width and height of crops around objects.
    crop: tuple[int, int] | None
    # Pixels that a crop has around an object's box on each side.
    margin: int
    bgr: bool
    normalized: bool
    unit_range: bool
    # What sides are padded to a multiple of, where the configuration has it.
    divisor: int | None

    @property
    def outputs(self) -> list[str]:
        """Those of the bare network, as DeepLabCut calls them."""
        return ["heatmap", *["locref"] * (self.offset_scale is not None), *["paf"] * (self.fields is not None)]


def chosen_head(config: dict[str, Any], name: str) -> dict[str, Any]:
    """The configuration of a head.

    Raises ExportError if there is none of that name, and for heads beside it without which the results are others."""
    model = config.get("model")
    heads = model.get("heads") if isinstance(model, dict) else None
    if not isinstance(heads, dict) or not all(isinstance(head, dict) for head in heads.values()):
        raise ExportError(f"the {CONFIG} has no model.heads: it is none of a pose network of DeepLabCut 3")
    if name not in heads:
        raise ExportError(f"the network has no head '{name}': it has {', '.join(map(str, heads))}")
    if "identity" in heads:
        raise ExportError(
            "the network has a head 'identity' that tells animals apart, which is not exported: networks without one are"
        )
    return heads[name]


def facts(config: dict[str, Any], name: str = "bodypart") -> Model:
    """What the configuration says of a head.

    Raises ExportError for what is not exported, and for a configuration that lacks something."""
    head = chosen_head(config, name)
    predictor = head.get("predictor") or {}
    kind, method = predictor.get("type"), str(config.get("method") or "bu").lower()
    if kind not in ("HeatmapPredictor", "PartAffinityFieldPredictor"):
        raise ExportError(f"what '{kind}' finds is not exported: {READ}")
    if method not in ("bu", "td") or (method == "td" and kind != "HeatmapPredictor"):
        raise ExportError(f"a network of method '{method}' with {kind} is not exported: bu, and td with HeatmapPredictor, are")
    data = config.get("data") or {}
    frames = data.get("inference") or {}
    for key in ("resize", "longest_max_size"):
        if frames.get(key):
            raise ExportError(
                f"data.inference.{key} resizes frames for the network, which is not exported: train without it, or remove it and "
                "put videoscale before fusedpreproc"
            )
    try:
        names = "unique_bodyparts" if name == "unique_bodypart" else "bodyparts"
        points = [str(point) for point in config["metadata"][names]]
        padding = frames.get("auto_padding") or {}
        divisors = [int(padding.get(f"pad_{side}_divisor") or 1) for side in ("width", "height")]
        several = kind == "PartAffinityFieldPredictor"
        refined = several or predictor.get("location_refinement", True)
        crop = frames["top_down_crop"] if method == "td" else {}
        if crop and not crop.get("crop_with_context", True):
            raise ExportError(
                "data.inference.top_down_crop has crop_with_context: false, which is not exported: crops with context are"
            )
        found = Model(
            head=name,
            backbone=str(config["model"]["backbone"]["type"]),
            points=points,
            sigmoid=bool(predictor.get("apply_sigmoid", True)),
            clips=bool(predictor.get("clip_scores", False)),
            offset_scale=float(predictor.get("locref_stdev" if several else "locref_std", 7.2801)) if refined else None,
            fields=fields(predictor, points) if several else None,
            crop=(int(crop["width"]), int(crop["height"])) if crop else None,
            margin=int(crop.get("margin") or 0),
            bgr=data.get("colormode") == "BGR",
            normalized=bool(frames.get("normalize_images")),
            unit_range=bool(frames.get("scale_to_unit_range")),
            divisor=math.lcm(*divisors) if padding else None,
        )
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise ExportError(f"the {CONFIG} lacks what a model with {kind} has, or has something else there: {error!r}") from None
    if not points:
        raise ExportError(f"the {CONFIG} names no points: metadata.{names} must not be empty")
    return found


def fields(predictor: dict[str, Any], points: list[str]) -> Fields:
    """What the predictor says.

    Raises ExportError where peaks of several animals could not be joined as it says."""
    if predictor.get("num_uniquebodyparts"):
        raise ExportError(
            "the predictor has num_uniquebodyparts above 0, points of no animal among those of animals, which is not exported: "
            "unique points with a head of their own are (--head unique_bodypart)"
        )
    count = int(predictor["num_multibodyparts"])
    if count != len(points):
        raise ExportError(f"the predictor has num_multibodyparts: {count}, but metadata.bodyparts names {len(points)} points")
    animals, radius = int(predictor["num_animals"]), int(predictor["nms_radius"])
    if animals < 1 or radius < 1 or radius % 2 == 0:
        raise ExportError(f"num_animals: {animals} must be at least 1, and nms_radius: {radius} odd")
    graph = [(int(a), int(b)) for a, b in predictor["graph"]]
    channels = list(dict.fromkeys(int(channel) for channel in predictor["edges_to_keep"]))
    edges = [graph[channel] for channel in channels]
    if not all(0 <= a < b < count for a, b in edges):
        raise ExportError(
            f"the predictor's graph must have edges from one of the {count} points of metadata.bodyparts to one of a higher number, as "
            "DeepLabCut writes it"
        )
    if not edges or len(edges) > MOST or count > MOST:
        raise ExportError(
            f"the predictor's edges_to_keep are {len(edges)} edges of {count} points: there must be an edge, and there may be {MOST} "
            "points and edges"
        )
    for name in ("add_discarded", "force_fusion"):
        if predictor.get(name):
            raise ExportError(f"the predictor has {name}, with which animals are not joined here: set it to false, its default")
    return Fields(
        animals=animals,
        edges=edges,
        channels=channels,
        radius=radius,
        sigma=float(predictor["sigma"]),
        min_affinity=float(predictor["min_affinity"]),
    )


def sidecar(model: Model, stride: int, made_by: str) -> str:
    """The sidecar of the network: frames in, points out, as DeepLabCut's predictor has them."""
    lines = [f"# A network of DeepLabCut, {made_by}.", "# Format: docs/model-sidecar.md", "", "[input]"]
    lines.append(f'channels = "{"bgr" if model.bgr else "rgb"}"')
    if model.normalized:
        lines += [f"{key} = [{', '.join(map(str, values))}]" for key, values in (("mean", MEAN), ("std", STD))]
    elif not model.unit_range:
        lines.append("scale = 1.0")
    if model.crop:
        lines += ['resize = "letterbox"', "padding = 0", 'roi-crop = "deeplabcut"']
    else:
        # As the network's own convolutions pad: with 0 after the normalisation.
        lines += ['resize = "pad"', 'padding = "mean"', f"size-multiple = {model.divisor or 1}"]
    lines += ["", "[skeleton]", f"points = {strings(model.points)}"]
    if model.fields:
        lines.append(f"edges = {pairs([(model.points[a], model.points[b]) for a, b in model.fields.edges])}")
    lines += ["", "[peaks]"]
    if model.fields is None:
        # Deconvolutions without padding make cells beyond the frame.
        lines += ['output = "heatmap"', 'mode = "global"', 'grid = "strided-half"', f"stride = {stride}", "threshold = 0.0"]
        lines += ['activation = "sigmoid"'] if model.sigmoid else []
        if model.offset_scale is None:
            lines.append('refinement = "none"')
        else:
            lines += ['refinement = "offsets"', 'offsets = "locref"', f"offset-scale = {model.offset_scale}"]
        return "\n".join(lines) + "\n"
    lines += ['output = "peaks"', 'scores = "peak_vals"', "normalized = false", 'pixel-origin = "center"']
    if model.fields.animals == 1:
        lines += ['encoding = "points"', f"threshold = {LEAST}"]
    else:
        lines += ['encoding = "candidates"', 'valid = "peak_mask"', 'line-scores = "line_scores"', f"threshold = {PCUTOFF}"]
        lines += [
            'paf-layout = "deeplabcut"',
            f"min-line-score = {model.fields.min_affinity}",
            f"max-poses = {model.fields.animals}",
        ]
    return "\n".join(lines) + "\n"
