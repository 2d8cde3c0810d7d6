"""Operations on the rows and columns of images: convolutions, poolings and scaling. ONNX wants NCHW tensors of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from cudainfer_tools.models.tfjs2onnx.build import NCHW_TO_NHWC, NHWC_TO_NCHW, Attribute, Onnx, Stored
from cudainfer_tools.models.tfjs2onnx.elementwise import activate
from cudainfer_tools.models.tfjs2onnx.graph import ConversionError, Node


@dataclass(frozen=True)
class Window:
    """How a convolution or pooling goes over rows and columns; `same`: it pads so that a stride of 1 keeps the size."""

    strides: list[int]
    same: bool


def window(node: Node) -> Window:
    if node.text("data_format", "NHWC") != "NHWC":
        raise ConversionError(f"'{node.name}': the data format {node.text('data_format')} is not supported, only NHWC")
    padding = node.text("padding")
    if padding not in ("SAME", "VALID"):
        raise ConversionError(f"'{node.name}': the padding {padding} is not supported, only SAME and VALID")
    return Window(node.ints("strides")[1:3], padding == "SAME")


def padded_window(out: Onnx, node: Node, neutral: Callable[[float], bool]) -> tuple[str, dict[str, Attribute]]:
    """The NCHW input and the attributes of a convolution or pooling.

    A waiting padding becomes the operation's own if it pads as the operation does, with a `neutral` value.
    """
    over = window(node)
    value = out.waiting(node.inputs[0])
    if not over.same and value.pads and neutral(value.fill):
        (batch, height, width, channels) = value.pads
        if batch == channels == (0, 0):
            pads = [height[0], width[0], height[1], width[1]]
            source = out.ordered(replace(value, pads=()), NHWC_TO_NCHW)
            return source, {"strides": over.strides, "auto_pad": "NOTSET", "pads": pads}
    source = out.ordered(out.stored(node.inputs[0]), NHWC_TO_NCHW)
    return source, {"strides": over.strides, "auto_pad": "SAME_UPPER" if over.same else "VALID"}


def convolution(out: Onnx, node: Node) -> Stored:
    """Conv2D and DepthwiseConv2dNative, plain or fused with a bias and an activation."""
    source, attributes = padded_window(out, node, lambda fill: fill == 0.0)
    weights = out.array(node.inputs[1])
    groups = 1
    if "Depthwise" in node.op:
        height, width, groups, multiplier = weights.shape
        weights = weights.reshape(height, width, 1, groups * multiplier)
    attributes |= {
        "kernel_shape": list(weights.shape[:2]),
        "dilations": node.ints("dilations", [1] * 4)[1:3],
        "group": groups,
    }
    inputs = [source, out.constant(f"{node.name}/weights", weights.transpose(3, 2, 0, 1))]
    activations = node.texts("fused_ops")
    if activations[:1] == ["BiasAdd"]:
        inputs.append(out.constant(f"{node.name}/bias", out.array(node.inputs[2])))
        activations = activations[1:]
    name = out.emit("Conv", inputs, [f"{node.name}/nchw"], **attributes)
    for index, activation in enumerate(activations):
        name = activate(out, node, activation, name, f"{node.name}/{activation}{index}")
    return Stored(name, NCHW_TO_NHWC)


def transposed_convolution(out: Onnx, node: Node) -> Stored:
    """Conv2DBackpropInput: what lies beyond the size that the node asks for is cut off, what is missing stays 0."""
    over = window(node)
    size = [int(side) for side in out.array(node.inputs[0])[1:3]]
    weights = out.array(node.inputs[1])
    kernel = weights.shape[:2]
    if node.ints("dilations", [1] * 4) != [1] * 4:
        raise ConversionError(f"'{node.name}': dilations are not supported in {node.op}")
    before, after, missing = [], [], []
    for side, width, stride in zip(size, kernel, over.strides, strict=True):
        cells = -(-(side if over.same else side - width + 1) // stride)
        reach = (cells - 1) * stride + width
        beyond = max(reach - side, 0)
        before.append(beyond // 2)
        after.append(beyond - beyond // 2)
        missing.append(max(side - reach, 0))
    source = out.ordered(out.stored(node.inputs[2]), NHWC_TO_NCHW)
    name = out.emit(
        "ConvTranspose", [source, out.constant(f"{node.name}/weights", weights.transpose(3, 2, 0, 1))], [f"{node.name}/nchw"],
        kernel_shape=list(kernel), pads=before + after, output_padding=missing, strides=over.strides,
    )  # fmt: skip
    return Stored(name, NCHW_TO_NHWC)


def pooling(out: Onnx, node: Node, op: str, neutral: Callable[[float], bool]) -> Stored:
    source, attributes = padded_window(out, node, neutral)
    attributes["kernel_shape"] = node.ints("ksize")[1:3]
    return Stored(out.emit(op, [source], [f"{node.name}/nchw"], **attributes), NCHW_TO_NHWC)


def max_pool(out: Onnx, node: Node) -> Stored:
    lowest = float(np.finfo(np.float32).min)
    return pooling(out, node, "MaxPool", lambda fill: fill <= lowest)


def average_pool(out: Onnx, node: Node) -> Stored:
    # What is padded does not count in either, so a waiting padding cannot become the operation's own.
    return pooling(out, node, "AveragePool", lambda fill: False)


def resize_bilinear(out: Onnx, node: Node) -> Stored:
    source = out.ordered(out.stored(node.inputs[0]), NHWC_TO_NCHW)
    size = out.constant(f"{node.name}/size", out.array(node.inputs[1]).astype(np.int64))
    mode = "asymmetric"
    if node.flag("half_pixel_centers"):
        mode = "half_pixel"
    elif node.flag("align_corners"):
        mode = "align_corners"
    name = out.emit(
        "Resize", [source, "", "", size], [f"{node.name}/nchw"],
        mode="linear", coordinate_transformation_mode=mode, axes=[2, 3],
    )  # fmt: skip
    return Stored(name, NCHW_TO_NHWC)
