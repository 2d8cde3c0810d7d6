"""Networks as sleap-nn exports them: they take uint8 pictures of any size, and find the points themselves."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
from onnx import TensorProto

from cudainfer_tools.test_models.graph import F32, U8, Graph
from cudainfer_tools.test_models.points import ANIMALS

NODES = ["head", "thorax", "tail"]
EDGES = [[0, 1], [1, 2]]
TRAINING = """\
data_config:
  preprocessing:
    scale: {scale}
    crop_size: null
model_config:
  backbone_config:
    convnext: null
    unet:
      max_stride: 16
"""


def network() -> Graph:
    """With a float32 scalar for each picture of the batch, `zeros`, that is 0 but depends on the picture."""
    graph = Graph(U8, ["batch", 1, "height", "width"], "image")
    graph.node("Cast", ["image"], "pixels", to=F32)
    graph.node("ReduceMean", ["pixels"], "mean", axes=[1, 2, 3], keepdims=0)
    graph.node("Mul", ["mean", graph.constant("none", np.float32(0))], "zeros")
    return graph


def output(graph: Graph, name: str, values: np.ndarray) -> None:
    """An output that is the same for every picture: of booleans if `values` are."""
    is_bool = values.dtype == bool
    rows = graph.constant(f"rows_of_{name}", np.array([-1] + [1] * values.ndim, np.int64))
    graph.node("Reshape", ["zeros", rows], f"zeros_of_{name}")
    fixed = graph.constant(f"fixed_{name}", values[None].astype(np.float32))
    graph.node("Add", [f"zeros_of_{name}", fixed], f"number_{name}" if is_bool else name)
    if is_bool:
        graph.node("Greater", [f"number_{name}", graph.constant(f"half_{name}", np.float32(0.5))], name)
    graph.output(name, TensorProto.BOOL if is_bool else F32, ["batch", *values.shape])


def save(graph: Graph, name: str, kind: str, scale: float = 1.0, **more: object) -> None:
    """With the metadata of an export."""
    words: dict[str, object] = {"sleap_nn_version": "0.3.5", "export_format": "onnx", "model_type": kind, "node_names": NODES}
    words |= {"edge_inds": EDGES, "input_scale": scale, "input_channels": 1, "input_dtype": "uint8"}
    words |= {"normalization": "0_to_1", "peak_threshold": 0.2, **more}
    training = TRAINING.format(scale=scale)
    both = kind in ("topdown", "multi_class_topdown_combined")
    text = json.dumps({"centroid": training, "centered_instance": "none"}) if both else training
    graph.save(name, metadata={"sleap_nn_metadata": json.dumps(words), "training_config": text})


def exports() -> None:
    """A model of each type. The thorax of the single instance is the picture's last pixel, and it has no tail."""
    graph = network()
    graph.node("Shape", ["image"], "shape")
    graph.node("Gather", ["shape", graph.constant("sides", np.array([3, 2], np.int64))], "size")
    graph.node("Cast", ["size"], "size_float", to=F32)
    graph.node("Sub", ["size_float", graph.constant("one", np.float32(1))], "last")
    # Beside a head that is at 10, 20, and a tail that is not there.
    weights = np.array([[[0, 0], [1, 1], [0, 0]]], np.float32)
    graph.node("Mul", ["last", graph.constant("weights", weights)], "corner")
    fixed = np.array([[[10, 20], [0, 0], [np.nan, np.nan]]], np.float32)
    graph.node("Add", ["corner", graph.constant("fixed", fixed)], "one_row")
    graph.node("Reshape", ["zeros", graph.constant("rows", np.array([-1, 1, 1], np.int64))], "zero_rows")
    graph.node("Add", ["one_row", "zero_rows"], "peaks")
    graph.output("peaks", F32, ["batch", 3, 2])
    output(graph, "peak_vals", np.array([0.9, 0.25, 0], np.float32))
    save(graph, "sleap-single", "single_instance")

    graph = network()
    output(graph, "centroids", np.array([[16, 20], [40, 24], [0, 0]], np.float32))
    output(graph, "centroid_vals", np.array([0.75, 0.5, -1e9], np.float32))
    output(graph, "instance_valid", np.array([True, True, False]))
    save(graph, "sleap-centroid", "centroid", max_instances=3)

    # What lies in the middle of a crop is where the centroid is.
    graph = network()
    output(graph, "peaks", np.array([[7.5, 7.5], [3, 7.5], [np.nan, np.nan]], np.float32))
    output(graph, "peak_vals", np.array([0.9, 0.8, 0], np.float32))
    save(graph, "sleap-crop", "centered_instance", crop_size=[16, 16])

    graph = network()
    output(graph, "centroids", np.array([[0, 0], [16, 20], [40, 24]], np.float32))
    output(graph, "centroid_vals", np.array([0, 0.5, 0.75], np.float32))
    poses = [[[0, 0]] * 3, [[16, 20], [18, 20], [np.nan, np.nan]], [[40, 24], [42, 24], [44, 24]]]
    output(graph, "peaks", np.array(poses, np.float32))
    output(graph, "peak_vals", np.array([[0, 0, 0], [0.9, 0.8, 0], [0.9, 0.8, 0.7]], np.float32))
    output(graph, "instance_valid", np.array([False, True, True]))
    save(graph, "sleap-topdown", "topdown", max_instances=3, crop_size=[16, 16], edge_inds=[])

    # Of pixels half as many. The second place of a tail is empty.
    graph = network()
    places = np.zeros((3, 2, 2), np.float32)
    scores = np.full((3, 2), -1e9, np.float32)
    for place, animal in enumerate(ANIMALS):
        for point, at in enumerate(animal):
            if at is not None:
                places[point, place], scores[point, place] = np.array(at) / 2, 0.9
    lines = np.full((2, 4), -2, np.float32)
    for edge, (a, b) in enumerate(EDGES):
        for row, column in itertools.product(range(2), range(2)):
            if scores[a, row] > 0 and scores[b, column] > 0:
                lines[edge, 2 * row + column] = 0.9 if row == column else 0.3
    output(graph, "peaks", places)
    output(graph, "peak_vals", scores)
    output(graph, "peak_mask", scores > 0)
    output(graph, "line_scores", lines)
    output(graph, "candidate_mask", lines > -2)
    save(graph, "sleap-bottom-up", "bottomup", scale=0.5, max_peaks_per_node=2)

    multi_class()

    graph = network()
    output(graph, "embeddings", np.zeros(8, np.float32))
    save(graph, "sleap-embedding", "embedding")


def multi_class() -> None:
    """Models that tell individuals apart: of both, all say `male`, and the second animal the more surely."""
    names: dict[str, Any] = {"n_classes": 2, "class_names": ["female", "male"]}
    # What lies in the middle of a crop is where the centroid is. The mean of the pixels decides who it is: a dark crop is the male.
    graph = network()
    output(graph, "peaks", np.array([[7.5, 7.5], [3, 7.5], [np.nan, np.nan]], np.float32))
    output(graph, "peak_vals", np.array([0.9, 0.8, 0], np.float32))
    graph.node("Reshape", ["mean", graph.constant("column", np.array([-1, 1], np.int64))], "means")
    graph.node("Mul", ["means", graph.constant("apart", np.array([[0.01, 0.0]], np.float32))], "class_logits")
    graph.output("class_logits", F32, ["batch", 2])
    save(graph, "sleap-multi-crop", "multi_class_topdown", crop_size=[16, 16], **names)

    graph = network()
    output(graph, "centroids", np.array([[0, 0], [16, 20], [40, 24]], np.float32))
    output(graph, "centroid_vals", np.array([0, 0.75, 0.5], np.float32))
    poses = [[[0, 0]] * 3, [[16, 20], [18, 20], [np.nan, np.nan]], [[40, 24], [42, 24], [44, 24]]]
    output(graph, "peaks", np.array(poses, np.float32))
    output(graph, "peak_vals", np.array([[0, 0, 0], [0.9, 0.8, 0], [0.9, 0.8, 0.7]], np.float32))
    output(graph, "class_logits", np.array([[9, 0], [0, 1], [0, 3]], np.float32))
    output(graph, "instance_valid", np.array([False, True, True]))
    save(graph, "sleap-multi-topdown", "multi_class_topdown_combined", max_instances=3, crop_size=[16, 16], **names)

    # The first animal's thorax is nobody's: it looks most like the male, who has another.
    graph = network()
    places = np.zeros((3, 2, 2), np.float32)
    scores = np.full((3, 2), -1e9, np.float32)
    classes = np.zeros((3, 2, 2), np.float32)
    for place, animal in enumerate(ANIMALS):
        for point, at in enumerate(animal):
            if at is not None:
                places[point, place], scores[point, place] = at, 0.9
                classes[point, place] = [0.8, 0.2] if place == 0 else [0.25, 0.75]
    classes[1, 0] = [0.3, 0.4]
    output(graph, "peaks", places)
    output(graph, "peak_vals", scores)
    output(graph, "peak_mask", scores > 0)
    output(graph, "class_probs", classes)
    save(graph, "sleap-multi-bottom-up", "multi_class_bottomup", scale=0.5, max_peaks_per_node=2, **names)
