"""Models that take several images at once."""

from __future__ import annotations

import numpy as np

from cudainfer_tools.test_models.graph import F32, I64, RED_AND_BLUE, Graph, detector_tables


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
    crowd()
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


def crowd() -> None:
    """The red box whose score is the picture's mean red, and 10,000 small blue ones, whose scores are how much bluer than red it is: none
    in a gray picture, all in a blue one."""
    boxes, _, _ = detector_tables()
    count = 10_000
    row, column = np.divmod(np.arange(count, dtype=np.float32), 100)
    small = np.stack([0.64 * column + 0.32, 0.64 * row + 0.32, np.full(count, 0.5), np.full(count, 0.5)]).astype(np.float32)
    weights = np.zeros((3, 6, 1 + count), np.float32)
    weights[0, 4, 0] = 1
    weights[2, 5, 1:], weights[0, 5, 1:] = 0.9, -0.9
    fixed = np.zeros((6, 1 + count), np.float32)
    fixed[:4, 0], fixed[:4, 1:] = boxes[:, 0], small
    graph = Graph(F32, ["batch", 3, 64, 64])
    graph.node("ReduceMean", ["images"], "colour", axes=[2, 3], keepdims=1)
    graph.node("Mul", ["colour", graph.constant("weights", weights)], "weighted")
    graph.node("ReduceSum", ["weighted", graph.constant("over", np.array([1], np.int64))], "summed", keepdims=0)
    graph.node("Add", ["summed", graph.constant("fixed", fixed)], "detections")
    graph.output("detections", F32, ["batch", 6, 1 + count])
    graph.save("crowd-of-blue", RED_AND_BLUE + 'decoder = "yolov8"\n')


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
