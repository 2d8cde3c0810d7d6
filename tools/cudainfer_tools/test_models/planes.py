"""Networks whose output is an image: classes of pixels, masks, maps."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from cudainfer_tools.test_models.graph import F16, F32, I64, U8, Graph, constant_outputs


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
    nothing = np.array(0, np.float32)
    for name, add, sidecar in [
        ("masks-colours", nothing, stretch + names + "[segment]\nbackground = -1\n"),
        ("masks-smooth", nothing, stretch + names + "[segment]\nbackground = 2\nsmoothing = 0.5\n"),
        ("masks-few-labels", nothing, stretch + '[output]\nlabels = ["red", "green"]\n'),
        ("masks-not-finite", bad, stretch + names),
    ]:
        graph = Graph(F32, [1, 3, 16, 24])
        graph.node("Add", ["images", graph.constant("add", add)], "logits")
        graph.output("logits", F32, [1, 3, 16, 24])
        graph.save(name, sidecar)
    # Queries with classes and masks, as Mask2Former's: sky where it is red, road where it is blue, and one that is nothing.
    graph = Graph(F32, [1, 3, 16, 24])
    classes = np.array([[6, 0, 0], [0, 6, 0], [0, 0, 6]], np.float32)[None]
    graph.node("Add", [graph.constant("fixed", classes), graph.nothing()], "class_queries_logits")
    graph.output("class_queries_logits", F32, [1, 3, 3])
    graph.node("Gather", ["images", graph.constant("order", np.array([0, 2, 1], np.int64))], "ordered", axis=1)
    graph.node("Mul", ["ordered", graph.constant("ten", np.float32(10))], "tenfold")
    graph.node("Sub", ["tenfold", graph.constant("five", np.float32(5))], "masks_queries_logits")
    graph.output("masks_queries_logits", F32, [1, 3, 16, 24])
    graph.save("masks-of-queries", stretch + '[output]\nlabels = ["sky", "road"]\n')
    graph.save("masks-of-queries-surely", stretch + "[output]\nconfidence = 0.999\n")
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
    # A density of half a thing a cell, in cells of 2x2 pixels, whatever the picture.
    graph = Graph(F32, [1, 3, 16, 24])
    graph.node("Add", [graph.constant("halves", np.full((1, 1, 8, 12), 0.5, np.float32)), graph.nothing()], "density")
    graph.output("density", F32, [1, 1, 8, 12])
    graph.save("map-density", '[input]\nresize = "letterbox"\n[map]\ncounts = "people"\n')
    # Optical flow: where it is red to the left, where it is blue up, four pixels; and normals.
    graph = Graph(F32, [1, 3, 16, 24])
    graph.node("Gather", ["images", graph.constant("ends", np.array([0, 2], np.int64))], "ends_only", axis=1)
    graph.node("Mul", ["ends_only", graph.constant("factor", np.float32(-4))], "flow")
    graph.output("flow", F32, [1, 2, 16, 24])
    graph.save("map-flow", stretch)
    graph = Graph(F32, [1, 3, 16, 24])
    graph.node("Mul", ["images", graph.constant("twice", np.float32(2))], "doubled")
    graph.node("Sub", ["doubled", graph.constant("one", np.float32(1))], "signed")
    graph.node("Transpose", ["signed"], "normals", perm=[0, 2, 3, 1])
    graph.output("normals", F32, [1, 16, 24, 3])
    graph.save("map-normals", stretch + "[map]\nrange-min = -1.0\nrange-max = 1.0\n")
    # Pictures: each pixel four times, from -1 to 1; the colours exchanged, of whole numbers; and too bright by half.
    graph = Graph(F32, [1, 3, 16, 24])
    graph.node(
        "Resize",
        ["images", "", graph.constant("scales", np.array([1, 1, 2, 2], np.float32))],
        "large",
        mode="nearest",
        coordinate_transformation_mode="asymmetric",
        nearest_mode="floor",
    )
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


def tasks() -> None:
    """Several tasks at once, 64x64, as YOLOP: two boxes as YOLOv5 gives them, a mask of the red, one of the blue; besides the mean
    colours as scores, two confidence maps and ten times the red."""
    graph = Graph(F32, ["batch", 3, 64, 64])
    boxes = np.zeros((252, 6), np.float32)
    boxes[7], boxes[100] = [16, 32, 8, 16, 0.9, 1], [48, 24, 12, 8, 0.8, 1]
    heat = np.zeros((2, 16, 16), np.float32)
    heat[0, 4, 4], heat[1, 8, 12] = 0.75, 0.5
    constant_outputs(graph, {"det_out": boxes, "heat": heat})
    half = graph.constant("half", np.full((1, 1, 64, 64), 0.5, np.float32))
    for name, channel in [("drive", 0), ("lane", 2)]:
        one = graph.constant(f"channel_{name}", np.array([channel], np.int64))
        graph.node("Gather", ["images", one], f"colour_{name}", axis=1)
        # The same half for each frame of a batch.
        graph.node("Mul", [f"colour_{name}", graph.constant(f"not_{name}", np.float32(0))], f"none_{name}")
        graph.node("Add", [f"none_{name}", half], f"half_{name}")
        graph.node("Concat", [f"half_{name}", f"colour_{name}"], name, axis=1)
        graph.output(name, F32, ["batch", 2, 64, 64])
    graph.node("ReduceMean", ["images"], "scene", axes=[2, 3], keepdims=0)
    graph.output("scene", F32, ["batch", 3])
    graph.node("Mul", ["colour_drive", graph.constant("ten", np.float32(10))], "depth")
    graph.output("depth", F32, ["batch", 1, 64, 64])
    labels = '[classify.scene]\nlabels = ["red", "green", "blue"]\nactivation = "softmax"\n'
    graph.save("tasks", '[input]\nresize = "stretch"\n[output]\ndecoder = "yolov5"\n' + labels)
