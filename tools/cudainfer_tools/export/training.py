"""What a training_config.yaml of sleap-nn says about its network, and the sidecar that is made of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cudainfer_tools.export import common
from cudainfer_tools.export.common import ExportError, pairs, strings

# The types of models that are exported.
KINDS = ("single_instance", "centered_instance", "centroid", "bottomup")

# The heads' names, which are the outputs'.
MAPS = {
    "single_instance": "SingleInstanceConfmapsHead",
    "centered_instance": "CenteredInstanceConfmapsHead",
    "centroid": "CentroidConfmapsHead",
    "bottomup": "MultiInstanceConfmapsHead",
}
FIELDS = "PartAffinityFieldsHead"

CONFIG = "training_config.yaml"

# sleap-nn's own (PostprocessConfig); a training has none.
PEAK_THRESHOLD = 0.2


@dataclass(frozen=True)
class Training:
    """The facts that an export needs."""

    kind: str
    backbone: str
    # In the order of the confidence maps; of a centroid model none.
    points: list[str]
    # In the order of the fields, source and destination.
    edges: list[tuple[str, str]]
    symmetric: list[tuple[str, str]]
    # Channels of the frames, 1 or 3: the network itself makes its own number of them.
    channels: int
    max_stride: int
    output_stride: int
    # Of the frames that the network sees.
    scale: float
    # Height and width of the largest frames of the training, where they are known.
    largest: tuple[int, int] | None
    # Height and width of crops around centroids, of centered_instance alone.
    crop: tuple[int, int] | None

    @property
    def outputs(self) -> list[str]:
        return [MAPS[self.kind], FIELDS] if self.kind == "bottomup" else [MAPS[self.kind]]

    @property
    def prepares(self) -> bool:
        """Whether the file scales and pads frames itself, so that maps cover more than the frame."""
        return self.scale != 1 or any(side % self.max_stride for side in self.crop or ())


def find(folder: Path) -> None:
    """Raises ExportError where the folder, the checkpoint or the configuration is missing."""
    if not folder.is_dir():
        raise ExportError(f"'{folder}' is no folder: give the one that a training of sleap-nn left, with best.ckpt in it")
    if not (folder / "best.ckpt").is_file():
        old = " Models of SLEAP 1.4 and older (best_model.h5) are not read." if (folder / "best_model.h5").exists() else ""
        raise ExportError(f"'{folder}' has no best.ckpt: give the folder that a training of sleap-nn left.{old}")
    if not (folder / CONFIG).is_file():
        raise ExportError(f"'{folder}' has no {CONFIG}: it lies beside best.ckpt where a training of sleap-nn ended")


def read(folder: Path) -> dict[str, Any]:
    """The configuration in a model's folder.

    Raises ExportError where it cannot be read."""
    return common.read_yaml(folder / CONFIG)


def chosen(config: dict[str, Any], section: str) -> tuple[str, dict[str, Any]]:
    """The entry of a section of model_config that is not null, with its name."""
    entries = (config.get("model_config") or {}).get(section) or {}
    for name, entry in entries.items():
        if entry is not None:
            return str(name), entry
    raise ExportError(f"the training_config names no {section}: one of its entries must not be null")


def pair(value: Any) -> tuple[int, int] | None:
    """Height and width, from one number or a list."""
    if isinstance(value, list) and len(value) in (1, 2):
        return (int(value[0]), int(value[-1]))
    return (int(value), int(value)) if isinstance(value, int | float) and not isinstance(value, bool) else None


def facts(config: dict[str, Any]) -> Training:
    """What the configuration says.

    Raises ExportError for a type that is not exported, and for a configuration that lacks something."""
    kind, head = chosen(config, "head_configs")
    if kind not in KINDS:
        more = ": classes are not read from bare networks yet" if kind.startswith("multi_class") else ""
        raise ExportError(f"a '{kind}' model is not exported{more}; {', '.join(KINDS[:-1])} and {KINDS[-1]} are")
    backbone, network = chosen(config, "backbone_config")
    data = config.get("data_config") or {}
    frames = data.get("preprocessing") or {}
    if (frames.get("tiling") or {}).get("enabled"):
        raise ExportError("the model was trained on tiles of frames: sleap-nn joins maps of tiles, which is not exported")
    if kind == "centered_instance" and frames.get("crop_mode") == "bbox":
        raise ExportError(
            "the model was trained on boxes that are resized (crop_mode: bbox), which is not exported: only crops of a fixed size are"
        )
    try:
        maps = head["confmaps"]
        fields = head["pafs"] if kind == "bottomup" else {}
        skeleton = (data.get("skeletons") or [{}])[0]
        nodes = [str(node["name"]) for node in skeleton.get("nodes") or []]
        edges = [(str(edge["source"]["name"]), str(edge["destination"]["name"])) for edge in skeleton.get("edges") or []]
        of_fields = [(str(a), str(b)) for a, b in fields.get("edges") or []]
        symmetric = [(str(a["name"]), str(b["name"])) for a, b in skeleton.get("symmetries") or []]
        channels = 1 if frames.get("ensure_grayscale") or network["in_channels"] == 1 else 3
        scale = frames.get("scale") or 1.0
        scale = float(scale[0] if isinstance(scale, list) else scale)
        if not 0.01 <= scale <= 100:
            raise ValueError(f"the scale {scale} is none")
        height, width = frames.get("max_height"), frames.get("max_width")
        crop = pair(frames.get("crop_size"))
        found = Training(
            kind=kind,
            backbone=backbone,
            points=[] if kind == "centroid" else [str(name) for name in maps.get("part_names") or nodes],
            edges=[] if kind == "centroid" else of_fields or edges,
            symmetric=[] if kind == "centroid" else symmetric,
            channels=channels,
            max_stride=int(network["max_stride"]),
            output_stride=int(maps["output_stride"]),
            scale=scale,
            largest=(int(height), int(width)) if height and width else None,
            crop=crop if kind == "centered_instance" else None,
        )
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise ExportError(f"the training_config lacks what a '{kind}' model has, or has something else there: {error!r}") from None
    if kind == "centered_instance" and crop is None:
        raise ExportError("the training_config has no crop_size: set data_config.preprocessing.crop_size to that of the training")
    if kind == "bottomup" and not found.edges:
        raise ExportError("the training_config of a bottomup model has no edges: its fields cannot be read without them")
    return found


def sidecar(training: Training, threshold: float, made_by: str) -> str:
    """The sidecar of the network: frames in, points out, as sleap-nn's PyTorch path does both."""
    kind = training.kind
    lines = [f"# A {kind} network of SLEAP, {made_by}.", "# Format: docs/model-sidecar.md", "", "[input]"]
    lines.append(f'channels = "{"gray" if training.channels == 1 else "rgb"}"')
    if kind == "centered_instance" and training.crop:
        lines += ["padding = 0", f"roi-size = {max(training.crop)}", 'roi-crop = "sleap"']
    else:
        lines += ['resize = "pad"', "padding = 0", f"size-multiple = {1 if training.prepares else training.max_stride}"]
    if kind == "centroid":
        lines += ["", "[output]", 'labels = ["centroid"]']
    else:
        lines += ["", "[skeleton]", f"points = {strings(training.points)}"]
        for key, of_points in ("edges", training.edges), ("symmetric", training.symmetric):
            if of_points:
                lines.append(f"{key} = {pairs(of_points)}")
    lines += ["", "[peaks]", f'output = "{MAPS[kind]}"']
    if kind == "bottomup":
        lines += [f'pafs = "{FIELDS}"', 'grouping = "paf"']
    elif kind == "centroid":
        lines.append('grouping = "each"')
    else:
        lines.append('mode = "global"')
    if training.prepares:
        lines += ['layout = "nchw"', f"stride = {training.output_stride / training.scale:.9g}"]
    lines += ['grid = "strided"', 'refinement = "integral"', f"threshold = {threshold}"]
    return "\n".join(lines) + "\n"
