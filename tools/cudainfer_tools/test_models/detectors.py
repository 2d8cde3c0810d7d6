"""Detectors of boxes: the layouts of their outputs, extents, and what their files say."""

from __future__ import annotations

import numpy as np

from cudainfer_tools.test_models.graph import F32, RED_AND_BLUE, Graph, coloured, constant_outputs, detector_tables, mean_scores
from cudainfer_tools.test_models.points import SKELETON


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
    # Points as a model has them that counts them in another unit.
    graph = Graph(F32, ["batch", 3, 64, 64])
    coloured(graph, np.concatenate([boxes, scores, points * 64]), 4, colours)
    graph.output("coloured", F32, ["batch", 15, 84])
    graph.save("pose-far", RED_AND_BLUE + SKELETON)

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
    table = np.array([[32, 32, 24, 8, 1, 0, np.pi / 6], [60, 6, 16, 8, 0.75, 1, 2], [0, 0, 0, 0, 0, 0, 0]], np.float32)
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
    corners: dict[tuple[str, int], str] = {}
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


def declared() -> None:
    """The detector's boxes, without a sidecar: what it lacks is in the file's metadata, as Ultralytics writes it."""
    boxes, scores, colours = detector_tables()
    points = np.zeros((9, 84), np.float32)
    points[:, 0] = [12, 8, 0.875, 20, 8, 0.75, 16, 70, 0.25]
    points[:, 5] = [46, 34, 0.5, 50, 34, 0.625, 48, 46, 1]
    third = np.zeros((1, 84), np.float32)
    two = {0: "red", 1: "blue"}
    common = {"author": "Ultralytics", "stride": "32", "imgsz": "[64, 64]", "end2end": "False", "args": "{'nms': False}"}
    cases: list[tuple[str, np.ndarray, int | str, dict[str, str]]] = [
        ("says-names", third, 64, {"task": "detect", "names": str({**two, 2: "it's none"})}),
        # Without the names, 15 columns are those of eleven classes.
        ("says-pose", points, 64, {"task": "pose", "names": str(two), "kpt_shape": "[3, 3]"}),
        ("says-size", third, "side", {"task": "detect", "names": str({**two, 2: "none"})}),
        # Lies: about the size, the number of classes, the keypoints, the layout.
        ("lies-size", third, 64, {"task": "detect", "names": str({**two, 2: "none"}), "imgsz": "[320, 640]"}),
        ("lies-names", third, 64, {"task": "detect", "names": str({**two, 2: "none", 3: "more", 4: "most"})}),
        ("lies-pose", points, 64, {"task": "pose", "names": str(two), "kpt_shape": "[4, 3]"}),
        ("lies-task", third, 64, {"task": "segment", "names": str({**two, 2: "none"})}),
        ("says-depth", third, 64, {"task": "depth", "names": str(two)}),
        # What nobody's exporter writes.
        (
            "says-nonsense",
            third,
            64,
            {"task": "\0" * 70000, "names": "{" * 70000, "imgsz": "[-1, 1e999]", "kpt_shape": "[[" * 500},
        ),
    ]
    for name, table, side, words in cases:
        graph = Graph(F32, ["batch", 3, side, side])
        coloured(graph, np.concatenate([boxes, scores, table]), 4, colours)
        graph.output("coloured", F32, ["batch", 6 + len(table), 84])
        graph.save(name, metadata={**common, **words})
    # A classifier: its scores are probabilities already.
    graph = Graph(F32, ["batch", 3, 16, 16])
    graph.node("ReduceMean", ["images"], "scores", axes=[2, 3], keepdims=0)
    graph.output("scores", F32, ["batch", 3])
    names = str({0: "red", 1: "green", 2: "blue"})
    graph.save("says-colours", metadata={**common, "task": "classify", "imgsz": "[16, 16]", "names": names})


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
