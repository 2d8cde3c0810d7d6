"""What is done to an ONNX graph after PyTorch has written it: frames are scaled in it, and numbers become float16."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from onnx import ModelProto


def prepared(model: ModelProto, scale: float, stride: int, sides: tuple[int, int] | None) -> None:
    """Puts in front of the graph what sleap-nn does to frames: torchvision's antialiased resize of 8-bit pixels by `scale` to whole
    numbers of them, rounded down, then zeros below and on the right to a multiple of `stride`. The resize is Pillow's: first the
    rows, then the columns, each rounded to whole levels, a half upwards. `sides` are height and width of frames where the network
    takes no others."""
    from onnx import TensorProto, helper, numpy_helper

    graph = model.graph
    name = graph.input[0].name
    for node in graph.node:
        node.input[:] = ["prepared_pixels" if each == name else each for each in node.input]
    constants: dict[str, np.ndarray] = {
        "frame_scale": np.array([scale], np.float64),
        "frame_stride": np.array([stride], np.int64),
        "no_padding": np.zeros(6, np.int64),
    }
    nodes = [helper.make_node("Shape", [name], ["frame_planes"], end=2)]
    for at, side in enumerate(["rows", "columns"], start=2):
        nodes += [
            helper.make_node("Shape", [name], [f"frame_{side}"], start=at, end=at + 1),
            helper.make_node("Cast", [f"frame_{side}"], [f"{side}_exact"], to=TensorProto.DOUBLE),
            helper.make_node("Mul", [f"{side}_exact", "frame_scale"], [f"{side}_unrounded"]),
            # A product that is positive: the cast rounds it down.
            helper.make_node("Cast", [f"{side}_unrounded"], [f"scaled_{side}"], to=TensorProto.INT64),
            helper.make_node("Neg", [f"scaled_{side}"], [f"{side}_beyond"]),
            helper.make_node("Mod", [f"{side}_beyond", "frame_stride"], [f"more_{side}"]),
        ]
    unpadded = name
    if scale != 1:
        constants |= {"frame_levels": np.array(255, np.float32), "frame_half": np.array(0.5, np.float32)}
        nodes += [
            helper.make_node("Mul", [name, "frame_levels"], ["frame_unrounded"]),
            helper.make_node("Round", ["frame_unrounded"], ["frame_pixels"]),
        ]
        pixels = "frame_pixels"
        for axis, ends in ("across", ["frame_rows", "scaled_columns"]), ("down", ["scaled_rows", "scaled_columns"]):
            nodes += [
                helper.make_node("Concat", ["frame_planes", *ends], [f"size_{axis}"], axis=0),
                helper.make_node(
                    "Resize",
                    [pixels, "", "", f"size_{axis}"],
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
        unpadded = "unpadded_pixels"
        nodes.append(helper.make_node("Div", [pixels, "frame_levels"], [unpadded]))
    nodes += [
        helper.make_node("Concat", ["no_padding", "more_rows", "more_columns"], ["frame_padding"], axis=0),
        helper.make_node("Pad", [unpadded, "frame_padding"], ["prepared_pixels"]),
    ]
    graph.initializer.extend(numpy_helper.from_array(value, key) for key, value in constants.items())
    for at, node in enumerate(nodes):
        graph.node.insert(at, node)
    for at, pixels_of_side in enumerate(sides or (), start=2):
        graph.input[0].type.tensor_type.shape.dim[at].dim_value = pixels_of_side
    # Shapes that were inferred before are those of prepared frames.
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
