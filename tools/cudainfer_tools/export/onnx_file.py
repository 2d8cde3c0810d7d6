"""What is done to an ONNX graph after PyTorch has written it: frames are scaled in it, and numbers become float16."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from onnx import ModelProto


def scaled(model: ModelProto, scale: float) -> None:
    """Puts in front of the graph what sleap-nn does to frames of a training with `scale`: torchvision's resize of 8-bit
    pixels, which is antialiased, and rounds."""
    from onnx import helper, numpy_helper

    graph = model.graph
    name = graph.input[0].name
    for node in graph.node:
        node.input[:] = ["scaled_pixels" if each == name else each for each in node.input]
    # Sides are whole numbers there (the sidecar's size-multiple), which must not be missed by rounding.
    factors = np.array([1, 1, scale * (1 + 1e-6), scale * (1 + 1e-6)], np.float32)
    constants = {"frame_factors": factors, "frame_levels": np.float32(255)}
    graph.initializer.extend(numpy_helper.from_array(np.asarray(value), key) for key, value in constants.items())
    nodes = [
        helper.make_node("Mul", [name, "frame_levels"], ["frame_pixels"]),
        helper.make_node(
            "Resize",
            ["frame_pixels", "", "frame_factors"],
            ["frame_between"],
            mode="linear",
            coordinate_transformation_mode="half_pixel",
            antialias=1,
        ),
        helper.make_node("Round", ["frame_between"], ["frame_rounded"]),
        helper.make_node("Div", ["frame_rounded", "frame_levels"], ["scaled_pixels"]),
    ]
    for at, node in enumerate(nodes):
        graph.node.insert(at, node)
    # Shapes that were inferred before are those without the scale.
    del graph.value_info[:]


def in_float16(model: ModelProto) -> ModelProto:
    """A copy whose inputs, outputs, weights and calculations are in float16."""
    from onnx import ModelProto, TensorProto, numpy_helper

    half = ModelProto()
    half.CopyFrom(model)
    graph = half.graph
    # Factors of a resize are float32 whatever is resized.
    factors = {name for node in graph.node if node.op_type == "Resize" for name in list(node.input)[1:3] if name}

    def rounded(tensor: TensorProto) -> None:
        if tensor.data_type == TensorProto.FLOAT:
            values = np.clip(numpy_helper.to_array(tensor), -65504, 65504).astype(np.float16)
            tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))

    for initializer in graph.initializer:
        if initializer.name not in factors:
            rounded(initializer)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.name == "to" and node.op_type == "Cast" and attribute.i == TensorProto.FLOAT:
                attribute.i = TensorProto.FLOAT16
            if attribute.HasField("t") and not factors & set(node.output):
                rounded(attribute.t)
    for each in [*graph.input, *graph.output]:
        if each.type.tensor_type.elem_type == TensorProto.FLOAT:
            each.type.tensor_type.elem_type = TensorProto.FLOAT16
    del graph.value_info[:]
    return half
