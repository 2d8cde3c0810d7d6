"""Encoders and promptable decoders, with the inputs and outputs of SAM, SAM 2 and EfficientSAM."""

from __future__ import annotations

import numpy as np

from cudainfer_tools.test_models.graph import F32, I64, Graph

# Of the input of 64x64 that the encoder sees.
CELLS = 16


def prompts() -> None:
    """What a prompt finds is the box, where the picture is red."""
    stretch = '[input]\nresize = "stretch"\n'
    for name, embedding, sidecar in [
        ("prompt-encoder", "image_embeddings", stretch),
        ("prompt-encoder-2", "image_embed", stretch),
        ("prompt-encoder-letterbox", "image_embeddings", '[input]\nresize = "letterbox-top-left"\n'),
        ("prompt-encoder-bright", "image_embeddings", stretch),
    ]:
        graph = Graph(F32, [1, 3, 64, 64])
        graph.node("AveragePool", ["images"], "pooled", kernel_shape=[4, 4], strides=[4, 4])
        # All is red to this one.
        brighter = np.float32(1 if "bright" in name else 0)
        graph.node("Add", ["pooled", graph.constant("brighter", brighter)], embedding)
        graph.output(embedding, F32, [1, 3, CELLS, CELLS])
        graph.node("AveragePool", ["images"], "high_res_feats_0", kernel_shape=[2, 2], strides=[2, 2])
        graph.output("high_res_feats_0", F32, [1, 3, 2 * CELLS, 2 * CELLS])
        graph.save(name, sidecar)
    sam()
    sam_2()
    efficient()


def sam() -> None:
    """SAM's decoder: four masks of a prompt."""
    for name, embedding, sidecar in [
        ("prompt-decoder", "image_embeddings", ""),
        ("prompt-decoder-points", "image_embeddings", '[prompts]\nbox = false\nkeypoints = ["head", "tail"]\n'),
        ("prompt-decoder-named", "features", '[prompts]\ntensors = { features = "image_embeddings" }\n'),
        ("prompt-decoder-wrong", "features", ""),
    ]:
        graph = Graph(F32, [1, 3, CELLS, CELLS], embedding)
        graph.input("point_coords", F32, [1, "points", 2])
        graph.input("point_labels", F32, [1, "points"])
        graph.input("mask_input", F32, [1, 1, CELLS, CELLS])
        graph.input("has_mask_input", F32, [1])
        graph.input("orig_im_size", F32, [2])
        decode(graph, embedding, "point_coords", "point_labels", 4)
        # The mask of before, which there is none of, and the size of a mask that is not read: both as they are by default.
        graph.node("ReduceSum", ["mask_input"], "before", keepdims=0)
        graph.node("ReduceSum", ["has_mask_input"], "has_before", keepdims=0)
        graph.node("ReduceSum", ["orig_im_size"], "size", keepdims=0)
        graph.node("Sub", ["size", graph.constant("usual", np.float32(512))], "other_size")
        graph.node("Add", ["before", "has_before"], "befores")
        graph.node("Add", ["befores", "other_size"], "wrong")
        graph.node("Sub", ["all_masks", "wrong"], "low_res_masks")
        graph.output("low_res_masks", F32, [1, 4, CELLS, CELLS])
        graph.output("iou_predictions", F32, [1, 4])
        graph.node("Identity", ["low_res_masks"], "masks")
        graph.output("masks", F32, [1, 4, CELLS, CELLS])
        graph.save(name, sidecar)


def sam_2() -> None:
    """SAM 2's decoder: further tensors of the encoder, and three masks of a prompt."""
    graph = Graph(F32, [1, 3, CELLS, CELLS], "image_embed")
    graph.input("high_res_feats_0", F32, [1, 3, 2 * CELLS, 2 * CELLS])
    graph.input("point_coords", F32, ["prompts", "points", 2])
    graph.input("point_labels", F32, ["prompts", "points"])
    graph.input("mask_input", F32, ["prompts", 1, CELLS, CELLS])
    graph.input("has_mask_input", F32, [1])
    graph.node("AveragePool", ["high_res_feats_0"], "half", kernel_shape=[2, 2], strides=[2, 2])
    # The same numbers twice.
    graph.node("Sub", ["half", "image_embed"], "none")
    graph.node("Add", ["image_embed", "none"], "both")
    decode(graph, "both", "point_coords", "point_labels", 3)
    graph.node("Identity", ["all_masks"], "masks")
    graph.output("masks", F32, ["prompts", 3, CELLS, CELLS])
    graph.output("iou_predictions", F32, ["prompts", 3])
    graph.save("prompt-decoder-2")


def efficient() -> None:
    """EfficientSAM's decoder: any number of pictures and of prompts, points in pixels of a stated size."""
    for name, sidecar in [
        ("prompt-decoder-efficient", ""),
        ("prompt-decoder-other-size", "[constants]\norig_im_size = [32, 32]\n"),
    ]:
        graph = Graph(F32, ["batch", 3, CELLS, CELLS], "image_embeddings")
        graph.input("batched_point_coords", F32, ["batch", "queries", "points", 2])
        graph.input("batched_point_labels", F32, ["batch", "queries", "points"])
        graph.input("orig_im_size", I64, [2])
        graph.constant("first", np.array([1], np.int64))
        graph.node("Squeeze", ["batched_point_coords", "first"], "stated_points")
        graph.node("Squeeze", ["batched_point_labels", "first"], "point_labels")
        graph.node("Cast", ["orig_im_size"], "size", to=F32)
        graph.node("Div", [graph.constant("pixels", np.array([64, 64], np.float32)), "size"], "larger")
        graph.node("Mul", ["stated_points", "larger"], "point_coords")
        decode(graph, "image_embeddings", "point_coords", "point_labels", 3, "scores")
        graph.node("Unsqueeze", ["all_masks", "first"], "output_masks")
        graph.output("output_masks", F32, ["batch", 1, 3, CELLS, CELLS])
        graph.node("Unsqueeze", ["scores", "first"], "iou_predictions")
        graph.output("iou_predictions", F32, ["batch", 1, 3])
        graph.save(name, sidecar)


def decode(graph: Graph, embedding: str, points: str, labels: str, masks: int, scores: str = "iou_predictions") -> None:
    """`all_masks` [batch, masks, 16, 16] and their scores [batch, masks]. The first mask is positive inside the box whose corners
    have the labels 2 and 3, or within 8 pixels of a point of label 1, where the picture is red; the second is the contrary and has
    the highest score; the others are full."""
    axis = graph.constant("over_points", np.array([1], np.int64))
    last = graph.constant("last", np.array([2], np.int64))
    for corner, label in [("first_corner", 2), ("last_corner", 3)]:
        graph.node("Equal", [labels, graph.constant(f"{corner}_label", np.float32(label))], f"is_{corner}")
        graph.node("Cast", [f"is_{corner}"], f"weight_{corner}", to=F32)
        graph.node("Unsqueeze", [f"weight_{corner}", last], f"column_{corner}")
        graph.node("Mul", [points, f"column_{corner}"], f"weighted_{corner}")
        graph.node("ReduceSum", [f"weighted_{corner}", axis], corner, keepdims=0)
    # The centres of cells, [2, 16, 16].
    centres = np.arange(CELLS, dtype=np.float32) * 4 + 2
    grid = np.stack(np.meshgrid(centres, centres))
    graph.constant("grid", grid[None])
    graph.constant("planes", np.array([2, 3], np.int64))
    graph.node("Unsqueeze", ["first_corner", "planes"], "from")
    graph.node("Unsqueeze", ["last_corner", "planes"], "to")
    graph.node("Sub", ["grid", "from"], "after")
    graph.node("Sub", ["to", "grid"], "ahead")
    graph.node("Min", ["after", "ahead"], "within")
    graph.node("ReduceMin", ["within"], "in_box", axes=[1], keepdims=1)
    # Points: 8 less the distance of the nearest, along the farther axis.
    graph.node("Equal", [labels, graph.constant("foreground", np.float32(1))], "is_point")
    graph.node("Cast", ["is_point"], "weight_point", to=F32)
    graph.node("Sub", ["weight_point", graph.constant("certain", np.float32(1))], "no_point")
    graph.node("Mul", ["no_point", graph.constant("far", np.float32(1000))], "far_away")
    graph.constant("of_points", np.array([3, 4], np.int64))
    graph.node("Unsqueeze", [points, "of_points"], "places")
    graph.node("Sub", [graph.constant("grids", grid[None, None]), "places"], "way")
    graph.node("Abs", ["way"], "distance")
    graph.node("ReduceMax", ["distance"], "farther", axes=[2], keepdims=0)
    graph.node("Sub", [graph.constant("near", np.float32(8)), "farther"], "nearness")
    graph.node("Unsqueeze", ["far_away", graph.constant("cells", np.array([2, 3], np.int64))], "penalty")
    graph.node("Add", ["nearness", "penalty"], "reached")
    graph.node("ReduceMax", ["reached"], "at_point", axes=[1], keepdims=1)
    graph.node("Max", ["in_box", "at_point"], "asked")
    graph.node("Slice", [embedding, graph.constant("zeroth", np.array([0], np.int64)), "over_points", "over_points"], "red")
    graph.node("Sub", ["red", graph.constant("half_red", np.float32(0.5))], "reddish")
    graph.node("Mul", ["reddish", "far"], "is_red")
    graph.node("Min", ["asked", "is_red"], "found")
    graph.node("Neg", ["found"], "contrary")
    graph.node("Mul", ["found", graph.constant("nothing_of", np.float32(0))], "zeros")
    graph.node("Add", ["zeros", "certain"], "full")
    graph.node("Concat", ["found", "contrary", *["full"] * (masks - 2)], "all_masks", axis=1)
    graph.node("ReduceMax", ["zeros"], "zero_rows", axes=[2, 3], keepdims=0)
    fixed = np.array([[0.5, 0.9, 0.1, 0.2][:masks]], np.float32)
    graph.node("Add", ["zero_rows", graph.constant("fixed_scores", fixed)], scores)
