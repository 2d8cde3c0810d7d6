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

F32, F16, U8, I8, I64 = (
    TensorProto.FLOAT,
    TensorProto.FLOAT16,
    TensorProto.UINT8,
    TensorProto.INT8,
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

    def save(self, name: str, sidecar: str = "", metadata: dict[str, str] | None = None) -> None:
        """Writes the model, and its sidecar where it has one. `metadata` goes into the model's file."""
        graph = helper.make_graph(self.nodes, name, self.inputs, self.outputs, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR)
        helper.set_model_props(model, metadata or {})
        onnx.checker.check_model(model)
        onnx.save(model, FOLDER / f"{name}.onnx")
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
        ("identity-1x1", F32, [1, 3, 1, 1], ""),
        ("identity-dynamic", F32, [1, 3, "height", "width"], ""),
        (
            "identity-stretch-bgr",
            F32,
            [1, 3, 16, 24],
            '[input]\nchannels = "bgr"\nscale = 1.0\nmean = [10.0, 20.0, 30.0]\nstd = [2.0, 4.0, 8.0]\nresize = "stretch"\n',
        ),
        # What trtinfer cannot feed.
        ("rank3", F32, [3, 16, 24], ""),
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
    # The only output is of a type that nobody behind could read.
    graph = Graph(F32, [1, 3, 16, 24])
    graph.node("IsNaN", ["images"], "bad")
    graph.output("bad", TensorProto.BOOL, [1, 3, 16, 24])
    graph.save("bool-output")


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

    # Shapes that cannot be told apart, and one that is none.
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
        ("says-obb", [third], 64, {"task": "obb", "names": str(two)}),
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
    for make in (identities, several, detectors, batches, heads, declared, heat_maps, groups, classifiers, masks, failing):
        make()
    STAMP.write_bytes(source)


if __name__ == "__main__":
    sys.exit(main())
