"""Makes the tiny models that the tests run, in .cache/test-models: what comes out of each follows from its input in a
way that a test can calculate. Run by scripts/test; does nothing where the models are newer than this file.

    NAME.onnx, and NAME.toml where the model has a sidecar
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".cache" / "test-models"
STAMP = FOLDER / ".made"

# What ONNX Runtime 1.17, the oldest that the plugin takes, can read.
OPSET = 17
IR = 8

F32, F16, U8, I8, I32, I64 = (
    TensorProto.FLOAT,
    TensorProto.FLOAT16,
    TensorProto.UINT8,
    TensorProto.INT8,
    TensorProto.INT32,
    TensorProto.INT64,
)


class Graph:
    """A graph under construction; nodes are named after their output."""

    def __init__(self, image_type: int = F32, image_dims: list = (), image: str = "images"):
        self.inputs = [helper.make_tensor_value_info(image, image_type, list(image_dims))]
        self.outputs, self.nodes, self.constants = [], [], []

    def input(self, name: str, kind: int, dims: list) -> str:
        """Adds an input."""
        self.inputs.append(helper.make_tensor_value_info(name, kind, dims))
        return name

    def constant(self, name: str, value: np.ndarray) -> str:
        """Adds a constant."""
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def node(self, op: str, inputs: list[str], name: str, **attributes) -> str:
        """Adds a node with one output."""
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        return name

    def output(self, name: str, kind: int, dims: list) -> None:
        """Makes a value an output."""
        self.outputs.append(helper.make_tensor_value_info(name, kind, dims))

    def nothing(self, image: str = "images") -> str:
        """A float32 scalar that is 0 but depends on the image."""
        self.node("ReduceMean", [image], "mean_all", keepdims=0)
        self.constant("zero", np.float32(0))
        return self.node("Mul", ["mean_all", "zero"], "nothing")

    def scoped(self, modules: list[str]) -> None:
        """Names the first nodes as PyTorch's exporter does: after the modules that they are in."""
        for module, node in zip(modules, self.nodes):
            node.name = f"/{module}/{node.op_type}"

    def save(self, name: str, sidecar: str = "", metadata: dict[str, str] | None = None, producer: str = "") -> None:
        """Writes the model, and its sidecar where it has one. `metadata` goes into the model's file."""
        graph = helper.make_graph(self.nodes, name, self.inputs, self.outputs, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR)
        helper.set_model_props(model, metadata or {})
        model.producer_name = producer
        onnx.checker.check_model(model)
        path = FOLDER / f"{name}.onnx"
        assert not path.exists(), f"there are two models of the name {name}"
        onnx.save(model, path)
        if sidecar:
            (FOLDER / f"{name}.toml").write_text(sidecar)


def identities() -> None:
    """Models whose output `copy` is their input."""
    for name, kind, dims, sidecar in [
        ("identity-f32-nchw", F32, [1, 3, 16, 24], ""),
        ("identity-f16-nchw", F16, [1, 3, 16, 24], ""),
        ("identity-f32-nhwc", F32, [1, 16, 24, 3], ""),
        ("identity-u8-nhwc", U8, [1, 16, 24, 3], ""),
        ("identity-i8", I8, [1, 3, 16, 24], "[input]\nscale = 1.0\nquant-scale = 2.0\nzero-point = -100\n"),
        ("identity-gray", F32, [1, 1, 16, 24], ""),
        ("identity-unbatched", F32, [3, 16, 24], ""),
        ("identity-unbatched-nhwc", U8, ["height", "width", 3], "[input]\nwidth = 24\nheight = 16\n"),
        ("identity-1x1", F32, [1, 3, 1, 1], ""),
        ("identity-dynamic", F32, [1, 3, "height", "width"], ""),
        (
            "identity-stretch-bgr",
            F32,
            [1, 3, 16, 24],
            '[input]\nchannels = "bgr"\nscale = 1.0\nmean = [10.0, 20.0, 30.0]\nstd = [2.0, 4.0, 8.0]\nresize = "stretch"\n',
        ),
        # What trtinfer cannot feed.
        ("rank5", F32, [1, 1, 3, 16, 24], ""),
        ("channels5", F32, [1, 5, 16, 24], ""),
        ("double", TensorProto.DOUBLE, [1, 3, 16, 24], ""),
        # Larger than any picture in caps.
        ("enormous", F32, [1, 3, 100_000, 100_000], ""),
        ("endless", F32, [1, 3, 16, 3_000_000_000], ""),
    ]:
        graph = Graph(kind, dims)
        graph.node("Identity", ["images"], "copy")
        graph.output("copy", kind, dims)
        graph.save(name, sidecar)


def several() -> None:
    """Models with several inputs and outputs."""
    for name, sidecar in [
        ("two-inputs", '[constants]\nsize = "frame-height-width"\n'),
        ("two-inputs-short", "[constants]\nsize = [1, 2, 3]\n"),
        ("two-inputs-bare", ""),
    ]:
        graph = Graph(F32, [1, 3, 16, 24])
        graph.input("size", I64, [1, 2])
        graph.node("ReduceMean", ["images"], "mean", axes=[2, 3], keepdims=0)
        graph.output("mean", F32, [1, 3])
        graph.node("Identity", ["size"], "size_again")
        graph.output("size_again", I64, [1, 2])
        graph.node("Cast", ["images"], "half", to=F16)
        graph.output("half", F16, [1, 3, 16, 24])
        graph.save(name, sidecar)
    graph = Graph(F32, [1, 3, 16, 24])
    graph.input("more", F32, [1, 3, 16, 24])
    graph.node("Add", ["images", "more"], "sum")
    graph.output("sum", F32, [1, 3, 16, 24])
    graph.save("two-images")
    # The only output is of a type that no element downstream could read.
    graph = Graph(F32, [1, 3, 16, 24])
    graph.node("Cast", ["images"], "texts", to=TensorProto.STRING)
    graph.output("texts", TensorProto.STRING, [1, 3, 16, 24])
    graph.save("text-output")


def detectors() -> None:
    """Models whose boxes are constant and whose scores are the picture's mean colours, 0..1. Input 64x64, 84 anchors."""
    red_and_blue = '[input]\nresize = "stretch"\n[output]\nlabels = ["red", "blue"]\nconfidence = 0.4\n'
    boxes, scores, colours = detector_tables()
    graph = Graph(F32, [1, 3, 64, 64])
    mean_scores(graph, boxes, scores, colours)
    graph.output("detections", F32, [1, 6, 84])
    graph.save("detector", red_and_blue)

    # The same with logits: -4 where there is nothing, up to 4; with boxes in 0..1 of the input; with no score that is a number.
    graph = Graph(F32, [1, 3, 64, 64])
    mean_scores(graph, boxes, scores - 4, colours * 8)
    graph.output("detections", F32, [1, 6, 84])
    graph.save("detector-logits", red_and_blue)
    graph = Graph(F32, [1, 3, 64, 64])
    mean_scores(graph, boxes / 64, scores, colours)
    graph.output("detections", F32, [1, 6, 84])
    graph.save("detector-fractions", red_and_blue)
    graph = Graph(F32, [1, 3, 64, 64])
    mean_scores(graph, boxes, np.full_like(scores, np.nan), colours)
    graph.output("detections", F32, [1, 6, 84])
    graph.save("detector-nan", red_and_blue)

    # The same with NaN and infinities beside them: two bad scores, one bad box.
    scores[1, 10], scores[0, 11], scores[0, 12] = np.nan, np.inf, 0.9
    boxes[0, 12] = np.inf
    graph = Graph(F32, [1, 3, 64, 64])
    mean_scores(graph, boxes, scores, colours)
    graph.output("detections", F32, [1, 6, 84])
    graph.save("not-finite", red_and_blue)

    # 150,000 candidates above the threshold, the first of them the strongest; no two overlap much.
    graph = Graph(F32, [1, 3, 64, 64])
    anchors = 150_000
    for name, value in [("start", 0), ("end", anchors), ("step", 1), ("columns", 500)]:
        graph.constant(name, np.float32(value))
    graph.node("Range", ["start", "end", "step"], "index")
    graph.node("Mod", ["index", "columns"], "column", fmod=1)
    graph.node("Sub", ["index", "column"], "rest")
    graph.node("Div", ["rest", "columns"], "row")
    graph.constant("cell", np.float32(0.125))
    for axis, source in [("x", "column"), ("y", "row")]:
        graph.node("Mul", [source, "cell"], axis)
    graph.node("Mul", ["index", graph.constant("slope", np.float32(-1e-6))], "less")
    graph.node("Add", ["less", graph.constant("top", np.float32(0.9))], "fixed_score")
    graph.node("Add", ["fixed_score", graph.nothing()], "score")
    graph.node("Mul", ["index", "zero"], "zeros")
    graph.node("Add", ["zeros", "cell"], "size")
    for axis in ["x", "y", "size", "score"]:
        graph.node("Unsqueeze", [axis, "leading"], f"{axis}_row")
    graph.constant("leading", np.array([0, 1], np.int64))
    graph.node("Concat", ["x_row", "y_row", "size_row", "size_row", "score_row"], "detections", axis=1)
    graph.output("detections", F32, [1, 5, anchors])
    graph.save("many-candidates", '[output]\ndecoder = "yolov8"\nlabels = ["thing"]\n')

    # As many rows as the picture has bright halves: none, or two. End-to-end: x1, y1, x2, y2, confidence, class.
    graph = Graph(F32, [1, 3, 64, 64])
    rows = np.array([[[8, 8, 24, 24, 0.75, 1], [40, 40, 56, 60, 0.5, 0]]], np.float32)
    graph.node("ReduceMean", ["images"], "mean", keepdims=0)
    graph.node("Greater", ["mean", graph.constant("half", np.float32(0.5))], "bright")
    graph.node("Expand", ["bright", graph.constant("two", np.array([2], np.int64))], "which")
    graph.node("Compress", [graph.constant("rows", rows), "which"], "detections", axis=1)
    graph.output("detections", F32, [1, "found", 6])
    graph.save("open-output", '[output]\ndecoder = "end-to-end"\nlabels = ["a", "b"]\n')

    # Shapes that cannot be distinguished, and one that is none.
    for name, dims in [("ambiguous", [1, 1000, 85]), ("unknown-shape", [1, 7, 9, 11])]:
        graph = Graph(F32, [1, 3, 640, 640])
        graph.node("Add", [graph.constant("empty", np.zeros(dims, np.float32)), graph.nothing()], "out")
        graph.output("out", F32, dims)
        graph.save(name)


def detector_tables() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Boxes [4, 84] (centre and size), fixed scores [2, 84], and which mean colour is added where [2, 84, 3]."""
    boxes, scores, colours = np.zeros((4, 84), np.float32), np.zeros((2, 84), np.float32), np.zeros((2, 84, 3), np.float32)
    boxes[:, 0] = [16, 16, 16, 24]
    colours[0, 0, 0] = 1
    boxes[:, 5] = [48, 40, 8, 16]
    colours[1, 5, 2] = 1
    # Overlaps the first and is weaker by a tenth: suppressed.
    boxes[:, 1] = [17, 16, 16, 24]
    colours[0, 1, 0] = 0.9
    return boxes, scores, colours


def mean_scores(graph: Graph, boxes: np.ndarray, scores: np.ndarray, colours: np.ndarray) -> None:
    """`detections`: the boxes over the fixed scores plus the mean colours."""
    graph.node("ReduceMean", ["images"], "mean", axes=[0, 2, 3], keepdims=0)
    graph.constant("means", np.array([3, 1], np.int64))
    graph.node("Reshape", ["mean", "means"], "mean_column")
    graph.node("MatMul", [graph.constant("colours", colours), "mean_column"], "coloured")
    graph.constant("table", np.array([2, 84], np.int64))
    graph.node("Reshape", ["coloured", "table"], "by_colour")
    graph.node("Add", ["by_colour", graph.constant("fixed", scores)], "scores")
    graph.node("Concat", [graph.constant("boxes", boxes), "scores"], "both", axis=0)
    graph.constant("shape", np.array([1, 6, 84], np.int64))
    graph.node("Reshape", ["both", "shape"], "detections")


RED_AND_BLUE = '[input]\nresize = "stretch"\n[output]\nlabels = ["red", "blue"]\nconfidence = 0.4\n'


def huge_batch() -> None:
    """A model that says that it takes a hundred million frames a run."""
    graph = Graph(F32, [100_000_000, 3, 16, 24])
    graph.node("Identity", ["images"], "copy")
    graph.output("copy", F32, [100_000_000, 3, 16, 24])
    graph.save("huge-batch")


def batches() -> None:
    """Models that take several frames a run; each frame's outputs follow from its picture alone."""
    graph = Graph(F32, ["batch", 3, 64, 64])
    batch_detections(graph)
    graph.save("detector-batch", RED_AND_BLUE)
    graph = Graph(F32, [4, 3, 64, 64])
    batch_detections(graph, batch=4)
    graph.save("detector-fixed-batch", RED_AND_BLUE)
    huge_batch()
    # Other names for the classes; another size of the input.
    graph = Graph(F32, ["batch", 3, 64, 64])
    batch_detections(graph)
    graph.save("detector-retrained", RED_AND_BLUE.replace("red", "rot").replace("blue", "blau"))
    graph = Graph(F32, ["batch", 3, 96, 96])
    batch_detections(graph, size=96)
    graph.save("detector-larger", RED_AND_BLUE.replace("red", "red96").replace("blue", "blue96"))
    # Any size.
    graph = Graph(F32, ["batch", 3, "height", "width"])
    batch_detections(graph)
    graph.save("detector-any-size", RED_AND_BLUE)
    # Takes some ten milliseconds a frame on one core: 0.6 billion multiplications; and the same with other labels.
    for name, sidecar in [("detector-slow", RED_AND_BLUE), ("detector-slow-retrained", RED_AND_BLUE.replace("red", "rot"))]:
        graph = Graph(F32, ["batch", 3, 64, 64])
        graph.constant("wide", np.full((64, 1024), 1 / 64, np.float32))
        graph.constant("narrow", np.full((1024, 64), 1 / 1024, np.float32))
        value = "images"
        for step in range(24):
            value = graph.node("MatMul", [graph.node("MatMul", [value, "wide"], f"wide_{step}"), "narrow"], f"narrow_{step}")
        batch_detections(graph, plus=value)
        graph.save(name, sidecar)
    # Fails where any frame of the run is white: the index is 6 for that, and there are six rows.
    graph = Graph(F32, ["batch", 3, 64, 64])
    graph.node("ReduceMean", ["images"], "brightness", axes=[1, 2, 3], keepdims=0)
    graph.node("ReduceMax", ["brightness"], "brightest", keepdims=0)
    graph.node("Mul", ["brightest", graph.constant("six", np.float32(6.1))], "scaled")
    graph.node("Cast", ["scaled"], "index", to=I64)
    graph.node("Gather", [graph.constant("rows", np.zeros(6, np.float32)), "index"], "looked_up")
    batch_detections(graph, plus="looked_up")
    graph.save("detector-fails-on-bright", RED_AND_BLUE)
    # An output that does not tell whose is what.
    graph = Graph(F32, ["batch", 3, 64, 64])
    graph.node("ReduceMean", ["images"], "mean", axes=[0, 2, 3], keepdims=0)
    graph.output("mean", F32, [3])
    graph.save("without-rows")
    # Other inputs: one that each frame has, one for all of them.
    graph = Graph(F32, ["batch", 3, 64, 64])
    graph.input("size", I64, ["batch", 2])
    graph.input("factor", F32, [1])
    graph.node("ReduceMean", ["images"], "mean", axes=[2, 3], keepdims=0)
    graph.node("Mul", ["mean", "factor"], "scaled")
    graph.output("scaled", F32, ["batch", 3])
    graph.node("Identity", ["size"], "size_again")
    graph.output("size_again", I64, ["batch", 2])
    graph.save("constants-batch", '[input]\nresize = "stretch"\n[constants]\nsize = "frame-height-width"\nfactor = [2.0]\n')


def batch_detections(graph: Graph, batch: int | str = "batch", size: int = 64, plus: str | None = None) -> None:
    """`detections`: as the detector's, for each frame of a batch. `plus` is calculated, and counts for nothing."""
    boxes, scores, colours = detector_tables()
    fixed = np.concatenate([boxes * (size / 64), scores])
    weights = np.concatenate([np.zeros((4, 84, 3), np.float32), colours]).transpose(2, 0, 1)
    graph.node("ReduceMean", ["images"], "colour", axes=[2, 3], keepdims=1)
    # [N, 3, 1, 1] * [3, 6, 84], added up over the colours: the same sums, in the same order, however large a batch is.
    graph.node("Mul", ["colour", graph.constant("weights", weights)], "weighted")
    graph.node("ReduceSum", ["weighted", graph.constant("over", np.array([1], np.int64))], "summed", keepdims=0)
    result = graph.node("Add", ["summed", graph.constant("fixed", fixed)], "detections" if plus is None else "before")
    if plus is not None:
        graph.node("Add", [result, graph.nothing(plus)], "detections")
    graph.output("detections", F32, [batch, 6, 84])


SKELETON = '[skeleton]\npoints = ["left", "right", "foot"]\nedges = [["left", "right"], ["right", "foot"]]\n'


def heads() -> None:
    """The detector's boxes with more beside them; each frame of a batch gets what its mean colours say."""
    boxes, scores, colours = detector_tables()
    # Three keypoints of each object: x, y, visibility.
    points = np.zeros((9, 84), np.float32)
    points[:, 0] = [12, 8, 0.875, 20, 8, 0.75, 16, 70, 0.25]
    points[:, 5] = [46, 34, 0.5, 50, 34, 0.625, 48, 46, 1]
    graph = Graph(F32, ["batch", 3, 64, 64])
    coloured(graph, np.concatenate([boxes, scores, points]), 4, colours)
    graph.output("coloured", F32, ["batch", 15, 84])
    graph.save("pose", RED_AND_BLUE + SKELETON)
    graph.save("pose-of-two", RED_AND_BLUE + '[skeleton]\npoints = ["head", "tail"]\n')
    graph.save("pose-of-four", RED_AND_BLUE + "keypoints = 4\n")

    # Rotated boxes: red in the middle, over a weaker one of its own; blue over the upper right corner of a frame of 64x64.
    rotated = boxes.copy()
    rotated[:, 0], rotated[:, 1], rotated[:, 5] = [32, 32, 24, 8], [33, 32, 24, 8], [60, 6, 16, 8]
    angles = np.zeros((1, 84), np.float32)
    angles[0, [0, 1, 5]] = [np.pi / 6, np.pi / 6, 2]
    graph = Graph(F32, ["batch", 3, 64, 64])
    coloured(graph, np.concatenate([rotated, scores, angles]), 4, colours)
    graph.output("coloured", F32, ["batch", 7, 84])
    graph.save("rotated", RED_AND_BLUE + 'decoder = "yolo-obb"\n')
    # The same, already suppressed; the last is padding.
    table = np.array(
        [[32, 32, 24, 8, 1, 0, np.pi / 6], [60, 6, 16, 8, 0.75, 1, 2], [0, 0, 0, 0, 0, 0, 0]], np.float32
    )
    graph = Graph(F32, ["batch", 3, 64, 64])
    coloured(graph, table, 0, np.zeros((3, 7, 3), np.float32))
    graph.output("coloured", F32, ["batch", 3, 7])
    graph.save("rotated-suppressed", RED_AND_BLUE + 'decoder = "yolo-obb"\n')

    # Four prototypes of 16x16 cells: left, right, top, bottom; the red object is its left half, the blue one its top half.
    prototypes = np.zeros((1, 4, 16, 16), np.float32)
    prototypes[0, 0, :, :4], prototypes[0, 1, :, 4:], prototypes[0, 2, :10], prototypes[0, 3, 10:] = 1, 1, 1, 1
    coefficients = np.zeros((4, 84), np.float32)
    coefficients[:, 0], coefficients[:, 5] = [4, -4, 0, 0], [0, 0, 4, -4]
    graph = Graph(F32, ["batch", 3, 64, 64])
    coloured(graph, np.concatenate([boxes, scores, coefficients]), 4, colours)
    graph.output("coloured", F32, ["batch", 10, 84])
    graph.node("ReduceMean", ["images"], "mean", axes=[1, 2, 3], keepdims=1)
    graph.node("Mul", ["mean", graph.constant("none", np.float32(0))], "zeros")
    graph.node("Add", ["zeros", graph.constant("fixed_prototypes", prototypes)], "prototypes")
    graph.output("prototypes", F32, ["batch", 4, 16, 16])
    graph.save("masks", RED_AND_BLUE)

    # Heat-maps of 16x16 cells: red is at the cell 4, 4, beside a weaker one, blue at 12, 10.
    heat, tints = np.zeros((2, 256), np.float32), np.zeros((2, 256, 3), np.float32)
    tints[0, 4 * 16 + 4, 0], tints[0, 4 * 16 + 5, 0], tints[1, 10 * 16 + 12, 2] = 1, 0.9, 1
    graph = Graph(F32, ["batch", 3, 64, 64])
    coloured(graph, heat, 0, tints)
    graph.node("Reshape", ["coloured", graph.constant("maps", np.array([-1, 2, 16, 16], np.int64))], "hm")
    graph.output("hm", F32, ["batch", 2, 16, 16])
    graph.node("ReduceMean", ["images"], "mean", axes=[1, 2, 3], keepdims=1)
    graph.node("Mul", ["mean", graph.constant("none", np.float32(0))], "zeros")
    for name, value in [("wh", [4, 6]), ("reg", [0, 0.25])]:
        maps = np.ones((1, 2, 16, 16), np.float32) * np.array(value, np.float32).reshape(1, 2, 1, 1)
        graph.node("Add", ["zeros", graph.constant(f"fixed_{name}", maps)], name)
        graph.output(name, F32, ["batch", 2, 16, 16])
    graph.save("centers", RED_AND_BLUE)


def extents() -> None:
    """The extent of each colour in a picture: x1, y1, x2, y2, confidence, class, as a detector that finds one object of each.
    The confidence is a / (a + 32), if a is the number of pixels that are more than half of the colour."""
    graph = Graph(F32, ["batch", 3, 64, 64])
    graph.node("Greater", ["images", graph.constant("half", np.float32(0.5))], "is_bright")
    graph.node("Cast", ["is_bright"], "bright", to=F32)
    graph.constant("one", np.float32(1))
    corners = {}
    for axis, over in [("x", 2), ("y", 3)]:
        graph.node("ReduceMax", ["bright"], f"any_{axis}", axes=[over], keepdims=0)
        for end in (0, 1):
            graph.node("ArgMax", [f"any_{axis}"], f"index_{axis}{end}", axis=2, keepdims=1, select_last_index=end)
            corners[axis, end] = graph.node("Cast", [f"index_{axis}{end}"], f"{axis}{end}", to=F32)
        corners[axis, 1] = graph.node("Add", [corners[axis, 1], "one"], f"{axis}2")
    graph.node("ReduceSum", ["bright", graph.constant("plane", np.array([2, 3], np.int64))], "area_flat", keepdims=0)
    graph.node("Unsqueeze", ["area_flat", graph.constant("last", np.array([2], np.int64))], "area")
    graph.node("Add", ["area", graph.constant("more", np.float32(32))], "more_area")
    graph.node("Div", ["area", "more_area"], "confidence")
    graph.node("Mul", ["area", graph.constant("none", np.float32(0))], "zeros")
    graph.node("Add", ["zeros", graph.constant("numbers", np.arange(3, dtype=np.float32).reshape(1, 3, 1))], "class")
    order = [corners["x", 0], corners["y", 0], corners["x", 1], corners["y", 1], "confidence", "class"]
    graph.node("Concat", order, "detections", axis=2)
    graph.output("detections", F32, ["batch", 3, 6])
    sidecar = '[input]\nresize = "stretch"\n[output]\ndecoder = "end-to-end"\nconfidence = 0.4\n'
    graph.save("extents", sidecar + 'labels = ["red", "green", "blue"]\n')


def constant_outputs(graph: Graph, tables: dict[str, np.ndarray], image: str = "images") -> None:
    """Outputs that are the same for each frame of a batch."""
    graph.node("ReduceMean", [image], "mean", axes=[1, 2, 3], keepdims=0)
    graph.node("Mul", ["mean", graph.constant("none", np.float32(0))], "zeros")
    for rank in {table.ndim for table in tables.values()}:
        rows = graph.constant(f"rows_{rank}", np.array([-1] + [1] * rank, np.int64))
        graph.node("Reshape", ["zeros", rows], f"zero_rows_{rank}")
    for name, table in tables.items():
        graph.node("Add", [f"zero_rows_{table.ndim}", graph.constant(f"fixed_{name}", table[None])], name)
        graph.output(name, F32, ["batch", *table.shape])


def faces() -> None:
    """Face detectors with outputs for each of the strides 8, 16 and 32, at 64x64."""
    strides = {8: 64, 16: 16, 32: 4}
    points = np.array([-0.5, -0.5, 0.5, -0.5, 0, 0, -0.5, 1, 0.5, 1], np.float32)
    # Two anchors a cell: one sure face and a weaker one over it in the cell 3, 2 of stride 8, one in the cell 1, 1 of stride 32.
    kinds = [("score", 1), ("bbox", 4), ("kps", 10)]
    tables = {f"{kind}_{s}": np.zeros((2 * n, k), np.float32) for kind, k in kinds for s, n in strides.items()}
    cell = 2 * 8 + 3
    for anchor, score in [(0, 0.5), (1, 0.875)]:
        tables["score_8"][2 * cell + anchor] = score
        tables["bbox_8"][2 * cell + anchor] = [1, 1.5, 1, 2]
        tables["kps_8"][2 * cell + anchor] = points
    tables["score_32"][2 * 3], tables["bbox_32"][2 * 3] = 0.75, 0.5
    graph = Graph(F32, ["batch", 3, 64, 64])
    constant_outputs(graph, tables)
    graph.save("scrfd", '[input]\nresize = "stretch"\n')

    kinds = [("cls", 1), ("obj", 1), ("bbox", 4), ("kps", 10)]
    tables = {f"{kind}_{s}": np.zeros((n, k), np.float32) for kind, k in kinds for s, n in strides.items()}
    cell = 4 + 2
    tables["cls_16"][cell], tables["obj_16"][cell], tables["bbox_16"][cell] = 0.25, 1.5, [0.5, 0.5, 0, 0]
    tables["kps_16"][cell] = [0, 0, 1, 0, 0.5, 0.5, 0, 1, 1, 1]
    graph = Graph(F32, ["batch", 3, 64, 64])
    constant_outputs(graph, tables)
    graph.save("yunet", '[input]\nresize = "stretch"\n[output]\nlabels = ["Gesicht"]\n')


def priors() -> None:
    """Boxes as offsets from prior boxes, at 64x64; two prior boxes in each cell of the strides 8, 16 and 32."""
    loc, conf, landms = np.zeros((168, 4), np.float32), np.zeros((168, 2), np.float32), np.zeros((168, 10), np.float32)
    anchor = 2 * (8 + 2) + 1
    conf[:, 0], conf[anchor] = 1, [0.25, 0.75]
    loc[anchor, :2] = 2.5
    landms[anchor] = [0, -1.875, 5, -1.875, 0, 3.125, 5, 3.125, 2.5, 0.625]
    graph = Graph(F32, ["batch", 3, 64, 64])
    constant_outputs(graph, {"loc": loc, "conf": conf, "landms": landms})
    graph.save("retinaface", '[input]\nresize = "stretch"\n')

    # Three prior boxes in each of four cells; logits with a background of its own.
    loc, conf = np.zeros((12, 4), np.float32), np.zeros((12, 3), np.float32)
    conf[:, 0], conf[3 * 3 + 1] = 20, [0, 0, 20]
    graph = Graph(F32, ["batch", 3, 64, 64])
    constant_outputs(graph, {"loc": loc, "conf": conf})
    sidecar = '[output]\ndecoder = "ssd"\nstrides = [32]\nactivation = "softmax"\nlabels = ["dog", "cat"]\n'
    graph.save("ssd", sidecar + "[priors]\nmin-sizes = [[16]]\naspect-ratios = [[4]]\n")


def anchors() -> None:
    """Raw heads for the strides 8, 16 and 32 at 64x64: three anchors a cell, two classes, in the forms of YOLOv4 and of YOLOv5. Two
    objects: anchor 1 of the cell 2, 3 of stride 8, and anchor 0 of the cell 1, 0 of stride 32."""
    sizes = "[[8, 8, 16, 32, 8, 8], [8, 8, 8, 8, 8, 8], [20, 24, 8, 8, 8, 8]]"
    heads = {}
    for stride in [8, 16, 32]:
        head = np.full((3, 64 // stride, 64 // stride, 7), -20, np.float32)
        head[..., :4] = 0
        heads[stride] = head
    # Logits: 20 is surely 1, 0 is a half.
    heads[8][1, 3, 2, 4:] = [20, -20, 0]
    heads[32][0, 0, 1, 4:] = [20, 20, -20]
    words = RED_AND_BLUE + f"[anchors]\nsizes = {sizes}\n"
    for name, tables, given in [
        ("anchors-planes", {s: head.transpose(0, 3, 1, 2).reshape(21, *head.shape[1:3]) for s, head in heads.items()}, True),
        ("anchors-rows", heads, True),
        ("anchors-untold", heads, False),
    ]:
        graph = Graph(F32, ["batch", 3, 64, 64])
        # The largest stride first, as Darknet has it.
        constant_outputs(graph, {f"head_{stride}": tables[stride] for stride in [32, 16, 8]})
        formula = "yolov3" if name == "anchors-planes" else "yolov5"
        graph.save(name, words + f'formula = "{formula}"\n' if given else RED_AND_BLUE)


# Class, left, top, right, bottom in tensor pixels, and the strongest coverage. The face is on the first person, the second person
# reaches beyond the frame, and the bag is in front of the first person.
COVERED = [(0, [34.25, 12.5, 81, 86.75], 0.875), (2, [44.5, 14, 68.25, 36], 0.75), (0, [108, 30.5, 171.5, 84], 0.625), (1, [40, 50.25, 90, 83], 0.5625)]


def coverage() -> None:
    """DetectNet_v2 as TAO exports it, of the classes person, bag and face at 160x96. The cells in the middle of an object cover it,
    the nearer the stronger; each has the object's box with an error of its own, so that one is left by suppression. Boxes where
    nothing is covered would be seen: they are as large as the frame."""
    rows, columns, stride = 6, 10, 16
    covered = np.zeros((3, rows, columns), np.float32)
    boxes = np.full((12, rows, columns), 1.5, np.float32)
    for label, sides, peak in COVERED:
        for row, column in np.ndindex(rows, columns):
            x, y = column * stride + 0.5, row * stride + 0.5
            across, along = [abs(2 * at - low - high) / (high - low) for at, low, high in [(x, sides[0], sides[2]), (y, sides[1], sides[3])]]
            if max(across, along) > 0.75:
                continue
            covered[label, row, column] = peak * (1 - 0.25 * max(across, along))
            distances = np.array([x - sides[0], y - sides[1], sides[2] - x, sides[3] - y])
            error = (np.arange(4) * 5 + row * 7 + column * 3) % 11 - 5
            boxes[4 * label : 4 * label + 4, row, column] = (distances + error * 0.125) / 35
    graph = Graph(F32, ["batch", 3, rows * stride, columns * stride], image="input_1:0")
    constant_outputs(graph, {"output_bbox/BiasAdd:0": boxes, "output_cov/Sigmoid:0": covered}, image="input_1:0")
    graph.save("coverage", '[output]\nlabels = ["person", "bag", "face"]\n')


def declared() -> None:
    """The detector's boxes, without a sidecar: what it lacks is in the file's metadata, as Ultralytics writes it."""
    boxes, scores, colours = detector_tables()
    points = np.zeros((9, 84), np.float32)
    points[:, 0] = [12, 8, 0.875, 20, 8, 0.75, 16, 70, 0.25]
    points[:, 5] = [46, 34, 0.5, 50, 34, 0.625, 48, 46, 1]
    third = np.zeros((1, 84), np.float32)
    two = {0: "red", 1: "blue"}
    common = {"author": "Ultralytics", "stride": "32", "imgsz": "[64, 64]", "end2end": "False", "args": "{'nms': False}"}
    for name, tables, side, words in [
        ("says-names", [third], 64, {"task": "detect", "names": str({**two, 2: "it's none"})}),
        # Without the names, 15 columns are those of eleven classes.
        ("says-pose", [points], 64, {"task": "pose", "names": str(two), "kpt_shape": "[3, 3]"}),
        ("says-size", [third], "side", {"task": "detect", "names": str({**two, 2: "none"})}),
        # Lies: about the size, the number of classes, the keypoints, the layout.
        ("lies-size", [third], 64, {"task": "detect", "names": str({**two, 2: "none"}), "imgsz": "[320, 640]"}),
        ("lies-names", [third], 64, {"task": "detect", "names": str({**two, 2: "none", 3: "more", 4: "most"})}),
        ("lies-pose", [points], 64, {"task": "pose", "names": str(two), "kpt_shape": "[4, 3]"}),
        ("lies-task", [third], 64, {"task": "segment", "names": str({**two, 2: "none"})}),
        ("says-depth", [third], 64, {"task": "depth", "names": str(two)}),
        # What nobody's exporter writes.
        ("says-nonsense", [third], 64, {"task": "\0" * 70000, "names": "{" * 70000, "imgsz": "[-1, 1e999]", "kpt_shape": "[[" * 500}),
    ]:
        graph = Graph(F32, ["batch", 3, side, side])
        coloured(graph, np.concatenate([boxes, scores, *tables]), 4, colours)
        graph.output("coloured", F32, ["batch", 6 + len(tables[0]), 84])
        graph.save(name, metadata={**common, **words})
    # A classifier: its scores are probabilities already.
    graph = Graph(F32, ["batch", 3, 16, 16])
    graph.node("ReduceMean", ["images"], "scores", axes=[2, 3], keepdims=0)
    graph.output("scores", F32, ["batch", 3])
    names = str({0: "red", 1: "green", 2: "blue"})
    graph.save("says-colours", metadata={**common, "task": "classify", "imgsz": "[16, 16]", "names": names})


# Corners and class of two boxes in an input of 64x64, and their confidences.
LISTED = np.array([[30, 8, 60, 40], [4, 6, 20, 30]], np.float32)
LISTED_CLASSES, LISTED_SCORES = np.array([0, 2]), np.array([0.5, 0.75], np.float32)


def lists() -> None:
    """Final boxes in lists, as libraries write them; all find the same two objects."""
    labels = '[input]\nresize = "stretch"\n[output]\nlabels = ["a", "b", "c"]\n'

    def fixed(graph: Graph, name: str, value: np.ndarray, kind: int = F32) -> None:
        """An output of these numbers, which depends on the image in name only."""
        value = np.asarray(value, np.float32)
        result = name if kind == F32 else f"{name}_float"
        graph.node("Add", [graph.constant(f"fixed_{name}", value), "nothing"], result)
        if kind != F32:
            graph.node("Cast", [result], name, to=kind)
        graph.output(name, kind, list(value.shape))

    def start() -> Graph:
        graph = Graph(F32, [1, 3, 64, 64])
        graph.nothing()
        return graph

    # torchvision: labels count from 1. Exported as its documentation does, it takes a list of images without a batch.
    for name, dims in [("lists-torchvision", [1, 3, 64, 64]), ("lists-unbatched", [3, 64, 64])]:
        graph = Graph(F32, dims)
        graph.nothing()
        fixed(graph, "boxes", LISTED)
        fixed(graph, "labels", LISTED_CLASSES + 1, I64)
        fixed(graph, "scores", LISTED_SCORES)
        graph.save(name, labels + 'background = "first"\n')

    # What only the names in the graph say: torchvision's detectors, and RF-DETR, whose queries are sure of the same objects.
    graph = start()
    fixed(graph, "boxes", LISTED)
    fixed(graph, "labels", LISTED_CLASSES + 1, I64)
    fixed(graph, "scores", LISTED_SCORES)
    graph.scoped(["transform", "backbone", "rpn", "roi_heads"])
    graph.save("says-torchvision", producer="pytorch")
    graph = start()
    corners = LISTED / np.float32(64)
    fixed(graph, "dets", [np.c_[(corners[:, :2] + corners[:, 2:]) / 2, corners[:, 2:] - corners[:, :2]]])
    logits = np.full((1, 2, 3), -5, np.float32)
    logits[0, [0, 1], LISTED_CLASSES] = [0, np.log(3)]
    fixed(graph, "labels", logits)
    graph.constant("one", np.float32(1))
    for i in range(2):
        graph.node("Mul", ["nothing", "one"], f"idle{i}")
    graph.scoped(["backbone", "transformer", "class_embed", "bbox_embed"])
    graph.save("says-rfdetr", producer="pytorch")
    graph = start()
    fixed(graph, "logits", [[0.0, 2.0, 1.0]])
    graph.constant("one", np.float32(1))
    for i in range(7):
        graph.node("Mul", ["nothing", "one"], f"idle{i}")
    graph.scoped(["conv1", "relu", "maxpool", "layer1", "layer2", "layer3", "layer4", "avgpool", "fc"])
    graph.save("says-resnet", producer="pytorch")

    # The same with a mask in each box, as Mask R-CNN writes them: growing to the right, and growing upwards. Between the two
    # is a box that is nothing.
    ramp = (np.arange(7, dtype=np.float32) + np.float32(0.5)) / np.float32(7)
    maps = np.ones((3, 1, 7, 7), np.float32)
    maps[0, 0], maps[2, 0] = ramp[None, :], 1 - ramp[:, None]
    graph = start()
    fixed(graph, "boxes", np.stack([LISTED[0], np.float32([0, 0, 9, 9]), LISTED[1]]))
    fixed(graph, "labels", [1, 2, 3], I64)
    fixed(graph, "scores", [LISTED_SCORES[0], 0.125, LISTED_SCORES[1]])
    fixed(graph, "masks", maps)
    graph.save("lists-masks", labels + 'background = "first"\n')
    # And with two points of each box beside it.
    graph = start()
    fixed(graph, "boxes", np.stack([LISTED[0], np.float32([0, 0, 9, 9]), LISTED[1]]))
    fixed(graph, "labels", [1, 2, 3], I64)
    fixed(graph, "scores", [LISTED_SCORES[0], 0.125, LISTED_SCORES[1]])
    fixed(graph, "masks", maps)
    fixed(graph, "keypoints", [[[32, 10, 1], [58, 38, 1]], [[0, 0, 0]] * 2, [[6, 8, 1], [18, 28, 1]]])
    graph.save("lists-posed-masks", labels + 'background = "first"\n[skeleton]\npoints = ["head", "tail"]\n')

    # RT-DETR and the like: boxes in the given size, width before height.
    graph = start()
    graph.input("orig_target_sizes", I64, [1, 2])
    graph.node("Cast", ["orig_target_sizes"], "size", to=F32)
    graph.node("Concat", ["size", "size"], "corners", axis=1)
    fixed(graph, "labels", [LISTED_CLASSES], I64)
    graph.node("Mul", [graph.constant("fractions", LISTED[None] / [np.float32(64)]), "corners"], "boxes")
    graph.output("boxes", F32, [1, 2, 4])
    fixed(graph, "scores", [LISTED_SCORES])
    graph.save("lists-rtdetr", labels)

    # MMDeploy, with a row of padding.
    graph = start()
    fixed(graph, "dets", [[*np.c_[LISTED, LISTED_SCORES], [0, 0, 0, 0, 0]]])
    fixed(graph, "labels", [[*LISTED_CLASSES, -1]], I64)
    graph.save("lists-mmdeploy", labels)

    # Keypoints beside the boxes: torchvision's Keypoint R-CNN, and RTMO as MMDeploy exports it, which has no labels.
    points = np.float32([[[32, 10, 1], [58, 38, 1]], [[6, 8, 1], [18, 28, 1]]])
    pose = '[input]\nresize = "stretch"\n[skeleton]\npoints = ["head", "tail"]\nedges = [["head", "tail"]]\n'
    graph = start()
    fixed(graph, "boxes", LISTED)
    fixed(graph, "labels", [1, 1], I64)
    fixed(graph, "scores", LISTED_SCORES)
    fixed(graph, "keypoints", points)
    fixed(graph, "keypoints_scores", [[7, 8], [9, 10]])
    graph.save("lists-keypoint-rcnn", pose + '[output]\nlabels = ["person"]\nbackground = "first"\n')
    graph = start()
    fixed(graph, "dets", [np.c_[LISTED, LISTED_SCORES]])
    fixed(graph, "keypoints", [points * np.float32([1, 1, 0.5])])
    graph.save("lists-rtmo", pose)

    # TensorFlow's Object Detection API.
    graph = start()
    fixed(graph, "detection_boxes", LISTED[None][..., [1, 0, 3, 2]] / np.float32(64))
    fixed(graph, "detection_classes", [LISTED_CLASSES + 1])
    fixed(graph, "detection_scores", [LISTED_SCORES])
    fixed(graph, "num_detections", [2])
    fixed(graph, "raw_detection_boxes", np.zeros((1, 9, 4)))
    graph.save("lists-tensorflow", labels)

    # EfficientNMS: the third row is left over.
    third = np.float32([[0, 0, 64, 64]])
    for name, count in [("lists-efficient", 2), ("lists-efficient-negative", -1)]:
        graph = start()
        fixed(graph, "num_dets", [[count]], I32)
        fixed(graph, "det_boxes", [np.concatenate([LISTED, third])])
        fixed(graph, "det_scores", [[*LISTED_SCORES, 0.9]])
        fixed(graph, "det_classes", [[*LISTED_CLASSES, 1]], I32)
        graph.save(name, labels)

    # An anchor that is of two classes.
    boxes, scores, colours = detector_tables()
    scores[1, 0] = 0.45
    graph = Graph(F32, [1, 3, 64, 64])
    mean_scores(graph, boxes, scores, colours)
    graph.output("detections", F32, [1, 6, 84])
    graph.save("two-labels", RED_AND_BLUE + "multi-label = true\n")

    # Two boxes that reach out of the picture, of which the same is left inside.
    graph = start()
    fixed(graph, "boxes", [[[-1, 0.25, 0.5, 0.75], [0, 0.25, 0.5, 0.75]]])
    fixed(graph, "scores", [[[0.75, 0.125], [0.5, 0.125]]])
    graph.save("beyond-frame", RED_AND_BLUE + "clip-before-nms = true\n")

    # PaddleDetection: boxes in pixels of a picture of this size, before it was scaled by these factors.
    rows = np.c_[LISTED_CLASSES, LISTED_SCORES, LISTED].astype(np.float32)
    graph = start()
    graph.input("im_shape", F32, [1, 2])
    graph.input("scale_factor", F32, [1, 2])
    graph.node("Div", ["im_shape", "scale_factor"], "origin")
    graph.node("Concat", [graph.constant("units", np.ones((1, 2), np.float32)), "origin", "origin"], "factors", axis=1)
    graph.node("Mul", [graph.constant("rows", rows / np.float32([1, 1, 64, 64, 64, 64])), "factors"], "multiclass_nms3_0.tmp_0")
    graph.output("multiclass_nms3_0.tmp_0", F32, [2, 6])
    fixed(graph, "multiclass_nms3_0.tmp_2", [2], I32)
    graph.save("lists-paddle", labels)
    graph = start()
    # Not two rows, as many as a pyramid of two levels has cells in so small an input.
    fixed(graph, "o", np.concatenate([rows, rows[:1]]))
    graph.save("rows-of-six", labels)

    # YOLOv7's end-to-end export, with as many rows as the picture is bright: one, two, or two and one of padding.
    graph = start()
    rows = np.c_[np.zeros(2), LISTED, LISTED_CLASSES, LISTED_SCORES].astype(np.float32)
    rows = np.concatenate([rows[1:], rows[:1], np.float32([[0, 0, 0, 9, 9, -1, 0.9]])])
    graph.node("Greater", ["mean_all", graph.constant("levels", np.float32([-1, 0.25, 0.75]))], "which")
    graph.node("Compress", [graph.constant("rows", rows), "which"], "output", axis=0)
    graph.output("output", F32, ["found", 7])
    graph.save("lists-yolov7", labels + 'row-format = "batch-box-class-score"\n')


def unsuppressed() -> None:
    """Rows of final boxes that nobody has suppressed, x1, y1, x2, y2, confidence, class: each of two objects is found several
    times. `rows-anchors` has a row for each anchor of 64x64, as DeepStream-Yolo exports; the number of `rows-repeated` tells nothing;
    `rows-unique` has suppressed them."""
    first = [[8 + i % 3, 8, 24 + i % 3, 24, 0.9 - 0.05 * i, 0] for i in range(6)]
    second = [[40, 40 + i % 3, 56, 60 + i % 3, 0.8 - 0.05 * i, 1] for i in range(6)]
    anchors = np.zeros((84, 6), np.float32)
    anchors[::7] = first + second
    unique = [[5 * i, 8, 5 * i + 12, 24, 0.9 - 0.05 * i, 0] for i in range(10)]
    for name, rows in [("anchors", anchors), ("repeated", first + second), ("unique", unique)]:
        graph = Graph(F32, ["batch", 3, 64, 64])
        constant_outputs(graph, {"output": np.array(rows, np.float32)})
        graph.save(f"rows-{name}", '[input]\nresize = "stretch"\n[output]\ndecoder = "end-to-end"\nlabels = ["a", "b"]\n')


def queries() -> None:
    """The same two objects, as the queries of transformers write them: two of four queries find one each."""
    input_size = 64
    corners = LISTED.astype(np.float32) / np.float32(input_size)
    centred = np.c_[(corners[:, :2] + corners[:, 2:]) / 2, corners[:, 2:] - corners[:, :2]]
    boxes = np.concatenate([centred, np.float32([[0.5, 0.5, 1, 1], [0.25, 0.25, 0.5, 0.5]])])[None]
    # Probabilities of a, b, c. Queries 2 and 3 find nothing.
    best = np.float32([[0.5, 0.125, 0.125], [0.0625, 0.125, 0.75], [0.0625, 0.125, 0.125], [0.125, 0.0625, 0.125]])
    # The first object is weakly a c as well.
    several = best + np.float32([[0, 0, 0.25], [0, 0, 0], [0, 0, 0], [0, 0, 0]])
    odds = np.log(several / (1 - several))[None]
    shares = np.log(np.c_[best, 1 - best.sum(axis=1)])[None] + np.float32(1)

    def save(name: str, outputs: dict[str, np.ndarray], sidecar: str = "", metadata: dict[str, str] | None = None) -> None:
        graph = Graph(F32, [1, 3, input_size, input_size])
        graph.nothing()
        for output, value in outputs.items():
            value = np.asarray(value, np.float32)
            graph.node("Add", [graph.constant(f"fixed_{output}", value), "nothing"], output)
            graph.output(output, F32, list(value.shape))
        graph.save(name, sidecar, metadata)

    stretch = '[input]\nresize = "stretch"\n'
    labels = stretch + '[output]\nlabels = ["a", "b", "c"]\n'
    save("queries-softmax", {"logits": shares, "pred_boxes": boxes}, labels)
    save("queries-sigmoid", {"logits": odds, "pred_boxes": boxes}, labels)
    # With a mask of the whole input for each query: logits that are pixels from column 20.8 on, and up from row 30.3 on.
    pixels = (np.arange(16, dtype=np.float32) + np.float32(0.5)) * 4
    maps = np.full((1, 4, 16, 16), -9, np.float32)
    maps[0, 0], maps[0, 1] = pixels[None, :] - np.float32(20.8), np.float32(30.3) - pixels[:, None]
    save("queries-masks", {"logits": shares, "pred_boxes": boxes, "pred_masks": maps}, labels)
    # A last column that is no class, and stronger than all others.
    nothing = np.full((1, 4, 1), 4.0, np.float32)
    save("queries-rfdetr", {"dets": boxes, "labels": np.concatenate([odds, nothing], axis=2)}, labels)
    # Nothing says what the scores are but a file beside it.
    save("queries-untold", {"logits": shares, "pred_boxes": boxes}, stretch)
    ultralytics = {"stride": "32", "task": "detect", "names": str(dict(enumerate("abc"))), "imgsz": "[64, 64]"}
    rows = np.concatenate([boxes, best[None]], axis=2)
    old = {"description": "Ultralytics rtdetr-l model", "version": "8.3.0", **ultralytics}
    save("queries-ultralytics", {"output0": rows}, metadata=old)
    ranked = np.c_[centred, LISTED_SCORES, LISTED_CLASSES][::-1][None]
    save("queries-ranked", {"output0": ranked}, metadata={"head": "RTDETRDecoder", "version": "8.4.190", **ultralytics})


def coloured(graph: Graph, fixed: np.ndarray, row: int, colours: np.ndarray) -> None:
    """`coloured` [batch, *fixed.shape]: the fixed numbers, and from `row` on each frame's mean colours added to them."""
    weights = np.zeros((3, *fixed.shape), np.float32)
    weights[:, row : row + len(colours)] = colours.transpose(2, 0, 1)
    graph.node("ReduceMean", ["images"], "colour", axes=[2, 3], keepdims=1)
    graph.node("Mul", ["colour", graph.constant("weights", weights)], "weighted")
    graph.node("ReduceSum", ["weighted", graph.constant("over", np.array([1], np.int64))], "summed", keepdims=0)
    graph.node("Add", ["summed", graph.constant("fixed", fixed)], "coloured")


# Where the heat-maps' peaks are, in cells (0 is the first cell's centre): channel, x, y.
PEAKS = [(0, 7.25, 11.5), (1, 20.0, 4.75)]


def heat_maps() -> None:
    """Two channels of 24x32 cells (height, width) for a 96x128 input, a peak in each; parabolas, which quadratic
    refinement finds exactly, and the same with NaN and infinity in two cells away from the peaks."""
    y, x = np.mgrid[0:24, 0:32].astype(np.float32)
    maps = np.zeros((1, 2, 24, 32), np.float32)
    for channel, px, py in PEAKS:
        maps[0, channel] = np.maximum(0, 0.9 - 0.02 * (x - px) ** 2 - 0.03 * (y - py) ** 2)
    sidecar = '[output]\nlabels = ["nose", "tail"]\n'
    for name, bad in [("heat-maps", False), ("heat-maps-not-finite", True)]:
        graph = Graph(F32, [1, 3, 96, 128])
        values = maps.copy()
        if bad:
            values[0, 0, 20, 20], values[0, 1, 20, 20] = np.nan, np.inf
        graph.node("Add", [graph.constant("maps", values), graph.nothing()], "heat")
        graph.output("heat", F32, [1, 2, 24, 32])
        graph.save(name, sidecar)
    # For several frames a run, and with the detector's input.
    for name, size in [("heat-maps-batch", [96, 128]), ("heat-maps-64", [64, 64])]:
        graph = Graph(F32, ["batch", 3, *size])
        graph.node("ReduceMean", ["images"], "mean", axes=[1, 2, 3], keepdims=1)
        graph.node("Mul", ["mean", graph.constant("zero", np.float32(0))], "zeros")
        graph.node("Add", ["zeros", graph.constant("maps", maps)], "heat")
        graph.output("heat", F32, ["batch", 2, 24, 32])
        graph.save(name, sidecar)


def classifiers() -> None:
    """Scores are ten times the picture's mean colours, 0..1; and the same with a score that is NaN."""
    sidecar = '[input]\nresize = "stretch"\n[output]\nlabels = ["red", "green", "blue"]\n[classify]\ntop-k = 2\n'
    for name, more in [("colours", [0, 0, 0]), ("colours-not-finite", [np.nan, 0, 0])]:
        graph = Graph(F32, ["batch", 3, 16, 16])
        graph.node("ReduceMean", ["images"], "mean", axes=[2, 3], keepdims=0)
        graph.node("Mul", ["mean", graph.constant("ten", np.float32(10))], "scaled")
        graph.node("Add", ["scaled", graph.constant("more", np.array(more, np.float32))], "scores")
        graph.output("scores", F32, ["batch", 3])
        graph.save(name, sidecar)
    # For one picture a run, of which nothing is said in the output.
    graph = Graph(F32, [1, 3, 16, 16])
    graph.node("ReduceMean", ["images"], "scores", axes=[0, 2, 3], keepdims=0)
    graph.output("scores", F32, [3])
    graph.save("colours-squeezed", sidecar)


def attributes() -> None:
    """Several outputs that follow from the picture's mean colours (r, g, b), 0..1: logits of its colour, ten times the means;
    probabilities of four traits; and a vector of two numbers. And the colours as probabilities, with and without a node that
    shows it."""
    stretch = '[input]\nresize = "stretch"\n'
    heads = (
        '[classify]\ntop-k = 2\n[classify.colour]\nlabels = ["red", "green", "blue"]\n'
        '[classify.traits]\nlabels = ["warm", "cold", "bright", "dark"]\ntop-k = 0\nthreshold = 0.5\n'
    )
    for name, sidecar in [
        ("attributes", heads + '[embed]\noutput = "vector"\n'),
        ("attributes-few-labels", heads.replace('"green", ', "")),
        ("attributes-other-head", heads.replace("classify.traits", "classify.trait")),
    ]:
        graph = Graph(F32, ["batch", 3, 16, 16])
        graph.node("ReduceMean", ["images"], "mean", axes=[2, 3], keepdims=0)
        graph.node("MatMul", ["mean", graph.constant("ten", 10 * np.eye(3, dtype=np.float32))], "colour")
        weights = np.array([[2, -2, 1, -1], [0, 0, 0, 0], [-2, 3, -1, 0.5]], np.float32)
        graph.node("MatMul", ["mean", graph.constant("weights", weights)], "logits")
        graph.node("Sigmoid", ["logits"], "traits")
        directions = np.array([[3, -4], [0, 0], [0, 2]], np.float32)
        graph.node("MatMul", ["mean", graph.constant("directions", directions)], "vector")
        graph.node("ReduceMean", ["images"], "rows", axes=[3], keepdims=0)
        for output, dims in [("colour", [3]), ("traits", [4]), ("vector", [2]), ("rows", [3, 16])]:
            graph.output(output, F32, ["batch", *dims])
        graph.save(name, stretch + sidecar)
    labels = '[output]\nlabels = ["red", "green", "blue"]\n[classify]\ntop-k = 3\n'
    for name, node in [("colours-softmax", True), ("colours-divided", False)]:
        graph = Graph(F32, ["batch", 3, 16, 16])
        graph.node("ReduceMean", ["images"], "mean", axes=[2, 3], keepdims=0)
        graph.node("Mul", ["mean", graph.constant("two", np.float32(2))], "scaled")
        if node:
            graph.node("Softmax", ["scaled"], "probabilities", axis=1)
            graph.node("Identity", ["probabilities"], "scores")
        else:
            graph.node("Exp", ["scaled"], "powers")
            graph.node("ReduceSum", ["powers", graph.constant("axis", np.array([1], np.int64))], "sum", keepdims=1)
            graph.node("Div", ["powers", "sum"], "scores")
        graph.output("scores", F32, ["batch", 3])
        graph.save(name, stretch + labels)


def text() -> None:
    """A map of text that is the greatest of a pixel's colours, and a reader of stripes. Of each eight columns it reads R, G, B
    or a space (white), or nothing where they are black or gray: its logits follow from the mean colours, -1..1 as PP-OCR has
    them, b, g, r."""
    for name, sidecar in [("text-map", 'decoder = "db"\nlabels = ["text"]\n'), ("text-map-unnamed", "")]:
        graph = Graph(F32, ["batch", 3, "height", "width"])
        graph.node("ReduceMax", ["images"], "map", axes=[1], keepdims=1)
        graph.output("map", F32, ["batch", 1, "height", "width"])
        graph.save(name, '[input]\nwidth = 320\nheight = 192\n[output]\n' + sidecar)
    own = '[input]\nwidth = 320\nheight = 48\nchannels = "bgr"\nmean = [0.5]\nstd = [0.5]\nresize = "letterbox-top-left"\n'
    labels = {
        "reader": "",
        "reader-sidecar": own + 'padding = 128\n[output]\nlabels = ["blank", "R", "G", "B", " "]\n[classify]\nmode = "text"\n',
        "reader-few": own + '[output]\nlabels = ["R", "G"]\n[classify]\nmode = "text"\n',
        "reader-unnamed": own + '[classify]\nmode = "text"\n',
    }
    # Blank, R, G, B, space; from b, g, r.
    weights = np.array([[0, -2, -2, 4, 4], [0, -2, 4, -2, 4], [0, 4, -2, -2, 4]], np.float32)
    for name, sidecar in labels.items():
        graph = Graph(F32, ["batch", 3, 48, "width"])
        graph.node("AveragePool", ["images"], "mean", kernel_shape=[48, 8], strides=[48, 8])
        graph.node("Squeeze", ["mean", graph.constant("rows", np.array([2], np.int64))], "columns")
        graph.node("Transpose", ["columns"], "steps", perm=[0, 2, 1])
        graph.node("MatMul", ["steps", graph.constant("weights", weights)], "products")
        graph.node("Add", ["products", graph.constant("bias", np.array([2, 0, 0, 0, -4], np.float32))], "logits")
        graph.node("Softmax", ["logits"], "text", axis=2)
        graph.output("text", F32, ["batch", "steps", 5])
        graph.save(name, sidecar, {"character": "R\nG\nB"} if name == "reader" else None)
    # As recurrent layers of PyTorch have it: the steps first, then the only line.
    graph = Graph(F32, [1, 3, 48, 320])
    graph.node("AveragePool", ["images"], "mean", kernel_shape=[48, 8], strides=[48, 8])
    graph.node("Squeeze", ["mean", graph.constant("rows", np.array([2], np.int64))], "columns")
    graph.node("Transpose", ["columns"], "steps", perm=[2, 0, 1])
    graph.node("MatMul", ["steps", graph.constant("weights", weights)], "products")
    graph.node("Add", ["products", graph.constant("bias", np.array([2, 0, 0, 0, -4], np.float32))], "text")
    graph.output("text", F32, [40, 1, 5])
    graph.save("reader-steps-first", labels["reader-sidecar"])


def class_maps() -> None:
    """The channel of each pixel's greatest colour, 24x16, in every type and shape; whether it is red; and other numbers."""
    sidecar = '[input]\nresize = "stretch"\n[output]\nlabels = ["red", "green", "blue"]\n[segment]\nbackground = -1\n'
    for name, kind, dims in [
        ("class-map-int64", I64, [1, 16, 24]),
        ("class-map-int32", TensorProto.INT32, [1, 1, 16, 24]),
        ("class-map-uint8", U8, [1, 16, 24, 1]),
        ("class-map-flat", U8, [16, 24]),
    ]:
        graph = Graph(F32, [1, 3, 16, 24])
        graph.node("ArgMax", ["images"], "greatest", axis=1, keepdims=0)
        graph.node("Reshape", ["greatest", graph.constant("shape", np.array(dims, np.int64))], "shaped")
        graph.node("Cast", ["shaped"], "classes", to=kind)
        graph.output("classes", kind, dims)
        graph.save(name, sidecar)
    graph = Graph(F32, [1, 3, 16, 24])
    graph.node("Gather", ["images", graph.constant("first", np.array([0], np.int64))], "red", axis=1)
    graph.node("Greater", ["red", graph.constant("half", np.float32(0.5))], "classes")
    graph.output("classes", TensorProto.BOOL, [1, 1, 16, 24])
    graph.save("class-map-bool", sidecar.replace('["red", "green", "blue"]', '["other", "red"]'))
    # -1 where it is red, 99 where it is green, 299 where it is blue.
    graph = Graph(F32, [1, 3, 16, 24])
    graph.node("ArgMax", ["images"], "greatest", axis=1, keepdims=0)
    graph.node("Gather", [graph.constant("numbers", np.array([-1, 99, 299], np.int64)), "greatest"], "classes", axis=0)
    graph.output("classes", I64, [1, 16, 24])
    graph.save("class-map-outside", sidecar)


def masks() -> None:
    """Models whose logits are the picture's colours, 24x16."""
    stretch = '[input]\nresize = "stretch"\n'
    names = '[output]\nlabels = ["red", "green", "blue"]\n'
    bad = np.zeros((1, 3, 16, 24), np.float32)
    bad[0, 0, 2, 3], bad[0, 1, 5, 7] = np.nan, np.inf
    for name, add, sidecar in [
        ("masks-colours", 0, stretch + names + "[segment]\nbackground = -1\n"),
        ("masks-smooth", 0, stretch + names + "[segment]\nbackground = 2\nsmoothing = 0.5\n"),
        ("masks-few-labels", 0, stretch + '[output]\nlabels = ["red", "green"]\n'),
        ("masks-not-finite", bad, stretch + names),
    ]:
        graph = Graph(F32, [1, 3, 16, 24])
        graph.node("Add", ["images", graph.constant("add", np.float32(add))], "logits")
        graph.output("logits", F32, [1, 3, 16, 24])
        graph.save(name, sidecar)
    # One channel: the red.
    graph = Graph(F32, [1, 3, 16, 24])
    graph.node("Gather", ["images", graph.constant("first", np.array([0], np.int64))], "red", axis=1)
    graph.output("red", F32, [1, 1, 16, 24])
    graph.save("mask-red", stretch + '[output]\nlabels = ["red"]\n[segment]\nthreshold = 0.75\n')


def maps() -> None:
    """Maps of numbers for pictures of 24x16: ten times the red, like metres of depth; what an anomaly detector has; and pictures."""
    stretch = '[input]\nresize = "stretch"\n'
    for name, kind, dims, sidecar in [
        ("map-depth", F32, [1, 16, 24], stretch + "[map]\nrange-min = 0.0\nrange-max = 10.0\n"),
        ("map-bare", F32, [1, 1, 16, 24], ""),
        ("map-half", F16, [16, 24], stretch + '[map]\nrange = "frame"\n'),
        ("map-last", F32, [1, 16, 24, 1], stretch),
    ]:
        graph = Graph(F32, [1, 3, 16, 24])
        graph.node("Gather", ["images", graph.constant("first", np.array([0], np.int64))], "red", axis=1)
        graph.node("Mul", ["red", graph.constant("ten", np.float32(10))], "metres")
        graph.node("Reshape", ["metres", graph.constant("shape", np.array(dims, np.int64))], "shaped")
        graph.node("Cast", ["shaped"], "depth", to=kind)
        graph.output("depth", kind, dims)
        graph.save(name, sidecar)
    # Constant, with NaN and infinity: two of the first kind, one of the second.
    bad = np.linspace(-2, 2, 384, dtype=np.float32).reshape(1, 16, 24)
    bad[0, 2, 3], bad[0, 5, 7], bad[0, 9, 1] = np.nan, np.inf, np.nan
    graph = Graph(F32, [1, 3, 16, 24])
    graph.node("Add", [graph.constant("bad", bad), graph.nothing()], "map")
    graph.output("map", F32, [1, 16, 24])
    graph.save("map-not-finite", stretch)
    # As Anomalib's: the score is the greatest value of the map, and whether that is more than a half.
    graph = Graph(F32, ["batch", 3, 16, 24])
    graph.node("ReduceMean", ["images"], "mean", axes=[1], keepdims=1)
    graph.node("Sigmoid", ["mean"], "anomaly_map")
    graph.node("ReduceMax", ["anomaly_map"], "pred_score", axes=[1, 2, 3], keepdims=0)
    half = graph.constant("half", np.float32(0.5))
    graph.node("Greater", ["pred_score", half], "pred_label")
    graph.node("Greater", ["anomaly_map", half], "pred_mask")
    graph.output("pred_score", F32, ["batch"])
    graph.output("pred_label", TensorProto.BOOL, ["batch"])
    graph.output("anomaly_map", F32, ["batch", 1, 16, 24])
    graph.output("pred_mask", TensorProto.BOOL, ["batch", 1, 16, 24])
    graph.save("map-anomaly", stretch)
    # Pictures: each pixel four times, from -1 to 1; the colours exchanged, of whole numbers; and too bright by half.
    graph = Graph(F32, [1, 3, 16, 24])
    graph.node("Resize", ["images", "", graph.constant("scales", np.array([1, 1, 2, 2], np.float32))], "large", mode="nearest",
               coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    graph.node("Mul", ["large", graph.constant("two", np.float32(2))], "doubled")
    graph.node("Sub", ["doubled", graph.constant("one", np.float32(1))], "picture")
    graph.output("picture", F32, [1, 3, 32, 48])
    graph.save("picture-twice", "[map]\nrange-min = -1.0\nrange-max = 1.0\n")
    graph = Graph(U8, [1, 16, 24, 3])
    graph.node("Identity", ["images"], "picture")
    graph.output("picture", U8, [1, 16, 24, 3])
    graph.save("picture-bytes", '[input]\nchannels = "bgr"\nscale = 1.0\nresize = "stretch"\n')
    graph = Graph(F32, [1, 3, 16, 24])
    graph.node("Mul", ["images", graph.constant("factor", np.float32(1.5))], "picture")
    graph.output("picture", F32, [1, 3, 16, 24])
    graph.save("picture-bright", stretch + "[map]\nrange-min = 0.0\nrange-max = 1.0\n")


# Points of two animals that cross, in input pixels: head, thorax, tail. The second one has no tail.
ANIMALS = [[(8, 8), (28, 28), (48, 48)], [(8, 48), (28, 20), None]]


def groups() -> None:
    """What says which points belong together, for a 64x64 input. Fields: SLEAP's, of head-thorax and thorax-tail, on
    every fourth pixel, maps on every second. Displacements: PoseNet's, from head to tail, on 5x5 cells of 65 pixels."""
    maps = np.zeros((1, 3, 32, 32), np.float32)
    fields = np.zeros((1, 4, 16, 16), np.float32)
    y, x = 4 * np.mgrid[0:16, 0:16].astype(np.float32)
    for animal in ANIMALS:
        for point, at in enumerate(animal):
            if at is not None:
                maps[0, point, at[1] // 2, at[0] // 2] = 0.9
        for edge, (a, b) in enumerate(zip(animal, animal[1:])):
            if b is None:
                continue
            way = np.array(b, np.float32) - a
            unit = way / np.linalg.norm(way)
            near = (np.abs((x - a[0]) * unit[1] - (y - a[1]) * unit[0]) <= 5) & (
                np.abs((x - a[0]) * unit[0] + (y - a[1]) * unit[1] - np.linalg.norm(way) / 2) <= np.linalg.norm(way) / 2 + 2
            )
            fields[0, 2 * edge : 2 * edge + 2] += unit[:, None, None] * near
    skeleton = '[skeleton]\npoints = ["head", "thorax", "tail"]\nedges = [["head", "thorax"], ["thorax", "tail"]]\n'
    peaks = '[peaks]\noutput = "maps"\ngrouping = "paf"\ngrid = "strided"\nmax-length = 1.0\nrefinement = "none"\n'
    for name, bad in [("bottom-up", False), ("bottom-up-not-finite", True)]:
        graph = Graph(F32, [1, 3, 64, 64])
        nothing = graph.nothing()
        broken = fields.copy()
        if bad:
            broken[:] = np.nan
        graph.node("Add", [graph.constant("some-maps", maps), nothing], "maps")
        graph.node("Add", [graph.constant("some-fields", broken), nothing], "pafs")
        graph.output("maps", F32, [1, 3, 32, 32])
        graph.output("pafs", F32, [1, 4, 16, 16])
        graph.save(name, skeleton + peaks)
    graph = Graph(F32, [1, 3, 65, 65])
    nothing = graph.nothing()
    heat = np.full((1, 5, 5, 2), -4, np.float32)
    heat[0, 1, 1, 0], heat[0, 3, 3, 1] = 3, 2
    offset = np.zeros((1, 5, 5, 4), np.float32)
    offset[0, 1, 1, [0, 2]] = 3, -2  # y and x of the head
    offset[0, 3, 3, [1, 3]] = -1, 4
    forward = np.full((1, 5, 5, 2), 30, np.float32)
    for name, values in [("heatmap", heat), ("offset", offset), ("displacement_fwd", forward), ("displacement_bwd", -forward)]:
        graph.node("Add", [graph.constant(f"some-{name}", values), nothing], name)
        graph.output(name, F32, list(values.shape))
    graph.save(
        "displacements",
        '[skeleton]\npoints = ["head", "tail"]\nedges = [["head", "tail"]]\n'
        '[peaks]\ngrouping = "displacements"\nactivation = "sigmoid"\nlayout = "nhwc"\ngrid = "corners"\nlabel = "worm"\n',
    )


def simcc_scores(cells: int, maxima: list[tuple[int, float]]) -> np.ndarray:
    """A vector of low scores a point, with the given cell and score of its maximum."""
    scores = np.full((1, len(maxima), cells), 0.02, np.float32)
    for point, (cell, score) in enumerate(maxima):
        scores[0, point, cell] = score
    return scores


def keypoints() -> None:
    """Networks that give keypoints without confidence maps: SimCC of two points for a 64x96 input (width, height), two
    cells a pixel; MoveNet's coordinates, whose scores are the picture's mean red, green and blue; coordinates in pixels."""
    along_x = simcc_scores(128, [(40, 0.9), (101, 0.6)])
    along_y = simcc_scores(192, [(100, 0.7), (31, 0.8)])
    third = simcc_scores(192, [(100, 0.7), (31, 0.8), (0, 0.5)])
    sidecar = '[input]\nresize = "stretch"\n[skeleton]\npoints = ["nose", "tail"]\nedges = [[0, 1]]\n'
    named = {"simcc_x": along_x, "simcc_y": along_y}
    square = {"first": simcc_scores(128, [(40, 0.9), (101, 0.6)]), "second": simcc_scores(128, [(20, 0.9), (31, 0.6)])}
    for name, outputs, height in [
        ("simcc", named, 96),
        ("simcc-unnamed", {"b": along_y, "a": along_x}, 96),
        ("simcc-square", square, 64),
        ("simcc-differ", {"simcc_x": along_x, "simcc_y": third}, 96),
        ("simcc-uneven", {"simcc_x": along_x, "simcc_y": simcc_scores(200, [(1, 0.7), (2, 0.8)])}, 96),
        ("simcc-three", {"simcc_x": simcc_scores(128, [(1, 0.9)] * 3), "simcc_y": third}, 96),
    ]:
        graph = Graph(F32, ["batch", 3, height, 64])
        graph.node("ReduceMean", ["images"], "mean", axes=[1, 2, 3], keepdims=0)
        graph.node("Mul", ["mean", graph.constant("zero", np.float32(0))], "flat")
        graph.node("Reshape", ["flat", graph.constant("shape", np.array([-1, 1, 1], np.int64))], "zeros")
        for output, values in outputs.items():
            graph.node("Add", ["zeros", graph.constant(f"some-{output}", values)], output)
            graph.output(output, F32, ["batch", *values.shape[1:]])
        graph.save(name, sidecar)
    # y, x and a score that is the mean of a channel, 0..1. Pixel values must arrive as they are.
    points = np.array([[0.25, 0.5, 0], [0.125, 0.75, 0], [1, 0, 0]], np.float32)
    person = [0.5, 0.25, 0.9, 0.75, 0.5, 0.1, 0.25, 0.125, 1, 0.625]
    people = np.array([person + [0.8], person + [0.1], [*(0.5 * np.array(person)), 0.9]], np.float32)
    stretch = '[input]\nresize = "stretch"\n'
    for suffix, kind in [("", I32), ("-uint8", U8)]:
        graph = Graph(kind, [1, 96, 64, 3], "input")
        graph.node("Cast", ["input"], "pixels", to=F32)
        graph.node("ReduceMean", ["pixels"], "mean", axes=[0, 1, 2], keepdims=0)
        graph.node("Div", ["mean", graph.constant("most", np.float32(255))], "scores")
        graph.node("Reshape", ["scores", graph.constant("shape", np.array([1, 1, 3, 1], np.int64))], "column")
        graph.node("Mul", ["column", graph.constant("last", np.array([0, 0, 1], np.float32))], "columns")
        graph.node("Add", ["columns", graph.constant("points", points[None, None])], "output_0")
        graph.output("output_0", F32, [1, 1, 3, 3])
        graph.save("movenet" + suffix, stretch)
    skeleton = '[skeleton]\npoints = ["nose", "tail"]\n'
    for name, values, more in [
        ("movenet-people", people[None], '[peaks]\nlabel = "person"\n' + skeleton),
        ("movenet-people-17", np.zeros((1, 6, 56), np.float32), ""),
        ("regressed", np.array([[[16, 24], [48, 12]]], np.float32), "[peaks]\nnormalized = false\n"),
    ]:
        graph = Graph(F32, [1, 3, 96, 64])
        graph.node("Add", [graph.constant("some", values), graph.nothing()], "output_0")
        graph.output("output_0", F32, list(values.shape))
        graph.save(name, stretch + more)
    # Two of the maps of tools/refinement_reference.py, for an input of 192x256.
    y, x = np.mgrid[0:64, 0:48].astype(np.float64)
    maps = np.zeros((1, 2, 64, 48), np.float32)
    for channel, (px, py, neighbour) in enumerate([(20.3, 31.7, 0.3), (10.5, 40.25, 0.6)]):
        gaussian = lambda dx, dy: np.exp(-(dx**2 + dy**2) / 8)
        values = 0.8 * gaussian(x - px, y - py) + neighbour * gaussian(x - px - 4, y - py + 3)
        maps[0, channel] = values + 0.01 * np.sin(1.7 * x + 0.9 * y)
    graph = Graph(F32, [1, 3, 256, 192])
    graph.node("Add", [graph.constant("maps", maps), graph.nothing()], "heat")
    graph.output("heat", F32, [1, 2, 64, 48])
    graph.save("heat-maps-udp", stretch + '[peaks]\nmode = "global"\nrefinement = "dark-udp"\ngrid = "udp"\n')


def region_head() -> None:
    """A network that ends as YOLOv2 does, for the decoders of examples/decoder: 5 anchors on a grid of 2x2 cells of 32 pixels,
    channels of an anchor tx, ty, tw, th, to and 20 classes. A person in the upper right cell is as sure as the picture is red, a
    car in the lower left cell as it is blue. The person is there twice, of anchors 0 and 1, and the car goes beyond the picture."""
    names = (
        "aeroplane bicycle bird boat bottle bus car cat chair cow diningtable dog horse motorbike person pottedplant sheep sofa "
        "train tvmonitor"
    ).split()
    fixed = np.zeros((5, 25, 2, 2), np.float32)
    fixed[:, 4] = -8
    colours = np.zeros((3, 5, 25, 2, 2), np.float32)
    for anchor, (y, x), box, objectness, colour, label in [
        (0, (0, 1), [0.5, 0.5, -0.5, -0.4], -4, 0, "person"),
        (1, (0, 1), [0.4, 0.4, -1.65, -1.7], -5, 0, "person"),
        (2, (1, 0), [-1, 1, -1.5, -2.5], -4, 2, "car"),
    ]:
        fixed[anchor, :4, y, x] = box
        fixed[anchor, 4, y, x] = objectness
        fixed[anchor, 5 + names.index(label), y, x] = 6
        colours[colour, anchor, 4, y, x] = 8
    graph = Graph(F32, ["batch", 3, 64, 64], "image")
    graph.node("ReduceMean", ["image"], "colour", axes=[2, 3], keepdims=1)
    graph.constant("column", np.array([-1, 3, 1, 1, 1], np.int64))
    graph.node("Reshape", ["colour", "column"], "columns")
    graph.node("Mul", ["columns", graph.constant("weights", colours.reshape(3, 125, 2, 2))], "weighted")
    graph.node("ReduceSum", ["weighted", graph.constant("over", np.array([1], np.int64))], "summed", keepdims=0)
    graph.node("Add", ["summed", graph.constant("fixed", fixed.reshape(125, 2, 2))], "grid")
    graph.output("grid", F32, ["batch", 125, 2, 2])
    sidecar = f'[input]\nresize = "stretch"\n[output]\nlabels = {names}\nconfidence = 0.3\n'
    graph.save("yolov2", sidecar.replace("'", '"'))


def others() -> None:
    """A model for GStreamer's own onnxinference and ssdobjectdetector: whatever the picture, one box of class 1, from 8, 16 to 32, 48."""
    graph = Graph(U8, [1, 64, 64, 3], "image")
    graph.node("Cast", ["image"], "pixels", to=F32)
    nothing = graph.node("Cast", [graph.nothing("pixels")], "none", to=I64)
    group = "ssd-mobilenet-v1-variant-1-out"
    info = f"[modelinfo]\nversion=1.0\ngroup-id={group}\n\n[image]\ndims=1,64,64,3\ndir=input\ntype=uint8\nranges=0.0,255.0\n"
    for name, value, dims, number in [
        ("detection_boxes", [[[0.25, 0.125, 0.75, 0.5]]], ["batch", "count", 4], f"{group}-boxes"),
        ("detection_classes", [[1.0]], ["batch", "count"], f"{group}-classes"),
        ("detection_scores", [[0.875]], ["batch", "count"], f"{group}-scores"),
        ("num_detections", [1.0], ["batch"], "generic-variant-1-out-count"),
    ]:
        value = np.array(value, np.float32)
        # Numbers that the decoder's caps want unknown, so they are calculated.
        shape = graph.constant(f"{name}_shape", np.array(value.shape, np.int64))
        shape = graph.node("Add", [shape, nothing], f"{name}_dims")
        graph.node("Expand", [graph.constant(f"{name}_fixed", value), shape], name)
        graph.output(name, F32, dims)
        open_dims = ",".join("-1" if isinstance(dim, str) else str(dim) for dim in dims)
        info += f"\n[{name}]\nid={number}\ngroup-id={group}\ndims={open_dims}\ndir=output\ntype=float32\n"
    graph.save("ssd-mobilenet")
    (FOLDER / "ssd-mobilenet.onnx.modelinfo").write_text(info)


def failing() -> None:
    """Models that load and then fail."""
    # At every size but 16x24.
    graph = Graph(F32, [1, 3, "height", "width"])
    graph.node("Reshape", ["images", graph.constant("shape", np.array([1, 3, 16, 24], np.int64))], "copy")
    graph.output("copy", F32, [1, 3, 16, 24])
    graph.save("fails-at-size")
    # On bright pictures: the index is 0 for black and 10 for white, and there are two rows.
    graph = Graph(F32, [1, 3, 16, 24])
    graph.node("ReduceMean", ["images"], "mean", keepdims=0)
    graph.node("Mul", ["mean", graph.constant("ten", np.float32(10))], "scaled")
    graph.node("Cast", ["scaled"], "index", to=I64)
    graph.node("Gather", [graph.constant("rows", np.zeros((2, 4), np.float32)), "index"], "row")
    graph.output("row", F32, [4])
    graph.save("fails-on-bright")
    # Takes long: about ten billion multiplications.
    graph = Graph(F32, [1, 3, 512, 512])
    value = graph.node("Mul", ["images", graph.constant("small", np.float32(1e-3))], "m0")
    for step in range(24):
        value = graph.node("MatMul", [value, "images"], f"p{step}")
        value = graph.node("Mul", [value, "small"], f"m{step + 1}")
    graph.node("ReduceMean", [value], "mean", axes=[2, 3], keepdims=0)
    graph.output("mean", F32, [1, 3])
    graph.save("slow")
    # Its runs have no end.
    body = helper.make_graph(
        [helper.make_node("Identity", ["go_in"], ["go_out"]), helper.make_node("Identity", ["value_in"], ["value_out"])],
        "body",
        [
            helper.make_tensor_value_info("iteration", I64, []),
            helper.make_tensor_value_info("go_in", TensorProto.BOOL, []),
            helper.make_tensor_value_info("value_in", F32, [1, 3, 16, 24]),
        ],
        [
            helper.make_tensor_value_info("go_out", TensorProto.BOOL, []),
            helper.make_tensor_value_info("value_out", F32, [1, 3, 16, 24]),
        ],
    )
    graph = Graph(F32, [1, 3, 16, 24])
    graph.node("Loop", ["", graph.constant("go", np.array(True)), "images"], "copy", body=body)
    graph.output("copy", F32, [1, 3, 16, 24])
    graph.save("run-without-end")
    # Its runs on bright pictures have no end: those on black ones are counted down from 0.
    graph = Graph(F32, [1, 3, 16, 24])
    graph.node("ReduceMax", ["images"], "most", keepdims=0)
    graph.node("Greater", ["most", graph.constant("half", np.float32(0.5))], "go")
    graph.node("Loop", ["", "go", "images"], "copy", body=body)
    graph.output("copy", F32, [1, 3, 16, 24])
    graph.save("run-without-end-on-bright")
    (FOLDER / "not-onnx.onnx").write_text("This is a text about models.\n" * 50)
    whole = (FOLDER / "many-candidates.onnx").read_bytes()
    (FOLDER / "truncated.onnx").write_bytes(whole[: len(whole) // 2])
    (FOLDER / "empty.onnx").write_bytes(b"")


def main() -> None:
    source = Path(__file__).read_bytes()
    if STAMP.is_file() and STAMP.read_bytes() == source:
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    for old in FOLDER.iterdir():
        old.unlink()
    first = (identities, several, detectors, batches, heads, extents, faces, priors, anchors, coverage, lists, queries)
    declarations = (declared, unsuppressed)
    second = (heat_maps, groups, classifiers, attributes, text, class_maps, masks, maps, keypoints, region_head, others, failing)
    makers = (*first, *declarations, *second)
    for make in makers:
        make()
    STAMP.write_bytes(source)


if __name__ == "__main__":
    sys.exit(main())
