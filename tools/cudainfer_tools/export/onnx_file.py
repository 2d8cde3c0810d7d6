"""What is done to an ONNX graph after PyTorch has written it: frames are scaled in it, and numbers become float16."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from onnx import ModelProto


def scaled(model: ModelProto, scale: float) -> None:
    """Puts in front of the graph what sleap-nn does to frames of a training with `scale`: torchvision's antialiased resize of
    8-bit pixels. That is Pillow's: first the rows, then the columns, each rounded to whole levels, a half upwards."""
    from onnx import helper, numpy_helper

    graph = model.graph
    name = graph.input[0].name
    for node in graph.node:
        node.input[:] = ["scaled_pixels" if each == name else each for each in node.input]
    factor = np.float32(scale)
    if float(factor) < scale:
        # A scaled side is a whole number (the sidecar's size-multiple), which must not be missed by rounding.
        factor = np.nextafter(factor, np.float32(np.inf))
    constants = {"frame_levels": np.array(255, np.float32), "frame_half": np.array(0.5, np.float32)}
    nodes = [
        helper.make_node("Mul", [name, "frame_levels"], ["frame_unrounded"]),
        helper.make_node("Round", ["frame_unrounded"], ["frame_pixels"]),
    ]
    pixels = "frame_pixels"
    for axis, factors in ("across", [1, 1, 1, factor]), ("down", [1, 1, factor, 1]):
        constants[f"frame_{axis}"] = np.array(factors, np.float32)
        nodes += [
            helper.make_node(
                "Resize",
                [pixels, "", f"frame_{axis}"],
                [f"{axis}_between"],
                mode="linear",
                coordinate_transformation_mode="half_pixel",
                antialias=1,
                exclude_outside=1,
            ),
            helper.make_node("Add", [f"{axis}_between", "frame_half"], [f"{axis}_moved"]),
            helper.make_node("Floor", [f"{axis}_moved"], [f"{axis}_pixels"]),
        ]
        pixels = f"{axis}_pixels"
    nodes.append(helper.make_node("Div", [pixels, "frame_levels"], ["scaled_pixels"]))
    graph.initializer.extend(numpy_helper.from_array(value, key) for key, value in constants.items())
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
    factors = {name for node in graph.node if node.op_type == "Resize" for name in node.input[1:3] if name}

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


def joined(first: ModelProto, then: ModelProto) -> ModelProto:
    """The graph whose inputs are `first`'s and whose outputs are `then`'s, which takes the outputs of `first` by their names; in
    its own types, whatever `first` calculates in."""
    from onnx import ModelProto, compose, helper

    after = ModelProto()
    after.CopyFrom(then)
    after = compose.add_prefix(after, "predictor/", rename_inputs=False, rename_outputs=False)
    types = {each.name: each.type.tensor_type.elem_type for each in first.graph.output}
    for each in after.graph.input:
        wanted, name = each.type.tensor_type.elem_type, each.name
        if types[name] != wanted:
            for node in after.graph.node:
                node.input[:] = [f"predictor/{name}" if given == name else given for given in node.input]
            after.graph.node.insert(0, helper.make_node("Cast", [name], [f"predictor/{name}"], to=wanted))
            each.type.tensor_type.elem_type = types[name]
    del after.graph.value_info[:]
    return compose.merge_models(first, after, [(each.name, each.name) for each in after.graph.input])
