"""Converts a TensorFlow.js GraphModel (model.json + weight shards) to ONNX, with numpy and onnx alone.

    python3 tools models.tfjs2onnx model.json model.onnx

TensorFlow computes convolutions on NHWC tensors, ONNX on NCHW ones, and a model that was itself exported from PyTorch
holds a Transpose before and after every convolution. The converter therefore never emits a Transpose when it meets
one: it keeps each tensor as it is stored, together with the permutation that would give TensorFlow's axis order
(`Stored`), lets operations that do not care about the order work on the stored tensor, and emits a Transpose only
where an operation, or an output of the model, needs another order. In the same way a padding waits until it is known
whether a convolution or a pooling can take it as its own `pads`, which keeps ONNX Runtime's blocked layout from being
undone before each convolution. Constants are folded while converting.

Names of inputs and outputs are TensorFlow's without ":0". Shapes are the signature's, types float32.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from cudainfer_tools.models.tfjs_graph import ConversionError, Graph, Node, canonical, read_graph

OPSET = 18
IR_VERSION = 8
NHWC_TO_NCHW = (0, 3, 1, 2)
NCHW_TO_NHWC = (0, 2, 3, 1)


@dataclass(frozen=True)
class Stored:
    """A tensor of the ONNX graph that stands for a TensorFlow tensor.

    TensorFlow's tensor is `Transpose(name, perm)`, padded with `fill` by `pads` ((before, after) per TensorFlow axis;
    empty for none).
    """

    name: str
    perm: tuple[int, ...]
    pads: tuple[tuple[int, int], ...] = ()
    fill: float = 0.0

    def axis(self, axis: int) -> int:
        """The stored tensor's axis that is TensorFlow's `axis`."""
        return self.perm[axis]


@dataclass
class Onnx:
    """The ONNX graph while it is being built."""

    nodes: list[onnx.NodeProto] = field(default_factory=list)
    initializers: dict[str, onnx.TensorProto] = field(default_factory=dict)
    values: dict[str, Stored | np.ndarray] = field(default_factory=dict)

    def emit(self, op: str, inputs: list[str], outputs: list[str], **attributes) -> str:
        self.nodes.append(helper.make_node(op, inputs, outputs, name=outputs[0], **attributes))
        return outputs[0]

    def constant(self, name: str, array: np.ndarray) -> str:
        self.initializers[name] = numpy_helper.from_array(np.ascontiguousarray(array), name)
        return name

    def rename(self, name: str, new: str) -> None:
        """Gives a tensor and the node it comes from another name, where there is one called `name`."""
        for node in self.nodes:
            node.name = new if node.name == name else node.name
            for names in (node.input, node.output):
                for at, present in enumerate(names):
                    if present == name:
                        names[at] = new

    def array(self, name: str) -> np.ndarray:
        """The value of a constant input."""
        value = self.values[canonical(name)]
        if not isinstance(value, np.ndarray):
            raise ConversionError(f"'{name}' must be a constant, but is computed from the model's input")
        return value

    def stored(self, name: str) -> Stored:
        """A computed tensor; its padding, if one is waiting, is emitted now."""
        value = self.values[canonical(name)]
        if isinstance(value, np.ndarray):
            return Stored(self.constant(canonical(name), value), tuple(range(value.ndim)))
        if not value.pads:
            return value
        by_axis = sorted(zip(value.perm, value.pads, strict=True))
        pads = [before for _, (before, _) in by_axis] + [after for _, (_, after) in by_axis]
        name = f"{value.name}/pad{len(self.nodes)}"
        amount = self.constant(f"{name}/pads", np.array(pads, np.int64))
        filler = self.constant(f"{name}/value", np.array(value.fill, np.float32))
        return Stored(self.emit("Pad", [value.name, amount, filler], [name]), value.perm)

    def ordered(self, value: Stored, order: tuple[int, ...]) -> str:
        """The name of `value` with its axes stored as TensorFlow's axes `order`, transposed if it is not so already."""
        perm = tuple(value.perm[axis] for axis in order)
        if perm == tuple(range(len(perm))):
            return value.name
        return self.emit("Transpose", [value.name], [f"{value.name}/transpose{len(self.nodes)}"], perm=perm)


# --- Constant folding --------------------------------------------------------------------------------------------


def sparse_to_dense(indices, shape, values, default):
    dense = np.full(shape, default, np.asarray(values).dtype)
    indices = np.asarray(indices)
    if indices.size:
        dense[tuple(indices.T) if indices.ndim > 1 else indices] = values
    return dense


FOLD: dict[str, Callable[..., np.ndarray]] = {
    "Add": np.add,
    "AddV2": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Identity": lambda x: x,
    "Reshape": lambda x, shape: x.reshape(shape),
    "Transpose": lambda x, perm: x.transpose(perm),
    "SparseToDense": sparse_to_dense,
}


# --- One function an operation -----------------------------------------------------------------------------------


def transpose(out: Onnx, node: Node) -> Stored:
    value = out.values[canonical(node.inputs[0])]
    axes = [int(a) for a in out.array(node.inputs[1])]
    return Stored(value.name, tuple(value.axis(a) for a in axes), tuple(value.pads[a] for a in axes if value.pads), value.fill)


def pad(out: Onnx, node: Node) -> Stored:
    value = out.stored(node.inputs[0])
    pads = tuple((int(before), int(after)) for before, after in out.array(node.inputs[1]))
    fill = float(out.array(node.inputs[2])) if node.op == "PadV2" else 0.0
    return replace(value, pads=pads, fill=fill)


def window(node: Node) -> dict:
    """Strides and automatic padding of a convolution or pooling as ONNX attributes."""
    if node.text("data_format", "NHWC") != "NHWC":
        raise ConversionError(f"'{node.name}': the data format {node.text('data_format')} is not supported, only NHWC")
    padding = node.text("padding")
    if padding not in ("SAME", "VALID"):
        raise ConversionError(f"'{node.name}': the padding {padding} is not supported, only SAME and VALID")
    return {
        "strides": node.ints("strides")[1:3],
        "auto_pad": "SAME_UPPER" if padding == "SAME" else "VALID",
    }


def padded_window(out: Onnx, node: Node, neutral: Callable[[float], bool]) -> tuple[str, dict]:
    """The NCHW input and the attributes of a convolution or pooling.

    A waiting padding becomes the operation's own if it pads as the operation does, with a `neutral` value.
    """
    attributes = window(node)
    value = out.values[canonical(node.inputs[0])]
    if attributes["auto_pad"] == "VALID" and value.pads and neutral(value.fill):
        (batch, height, width, channels) = value.pads
        if batch == channels == (0, 0):
            attributes |= {"auto_pad": "NOTSET", "pads": [height[0], width[0], height[1], width[1]]}
            return out.ordered(replace(value, pads=()), NHWC_TO_NCHW), attributes
    return out.ordered(out.stored(node.inputs[0]), NHWC_TO_NCHW), attributes


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


def activate(out: Onnx, node: Node, activation: str, source: str, name: str) -> str:
    if activation == "Relu6":
        bounds = [out.constant(f"relu6/{k}", np.array(k, np.float32)) for k in (0, 6)]
        return out.emit("Clip", [source, *bounds], [name])
    if activation == "LeakyRelu":
        alpha = node.number("alpha", node.number("leakyrelu_alpha", 0.2))
        return out.emit("LeakyRelu", [source], [name], alpha=alpha)
    if activation in ("Relu", "Sigmoid"):
        return out.emit(activation, [source], [name])
    raise ConversionError(f"'{node.name}': the activation {activation} is not supported")


def activation(out: Onnx, node: Node) -> Stored:
    value = out.stored(node.inputs[0])
    return Stored(activate(out, node, node.op, value.name, node.name), value.perm)


def max_pool(out: Onnx, node: Node) -> Stored:
    lowest = float(np.finfo(np.float32).min)
    source, attributes = padded_window(out, node, lambda fill: fill <= lowest)
    attributes["kernel_shape"] = node.ints("ksize")[1:3]
    name = out.emit("MaxPool", [source], [f"{node.name}/nchw"], **attributes)
    return Stored(name, NCHW_TO_NHWC)


def binary(out: Onnx, node: Node) -> Stored:
    """Add, Sub and Mul: the second operand follows the order in which the first is stored."""
    first, second = node.inputs
    swap = isinstance(out.values[canonical(first)], np.ndarray)
    value = out.stored(second if swap else first)
    other = out.values[canonical(first if swap else second)]
    rank = len(value.perm)
    order = tuple(int(i) for i in np.argsort(value.perm))
    if isinstance(other, np.ndarray):
        if other.ndim > rank:
            raise ConversionError(f"'{node.name}': a constant of more dimensions than its operand is not supported")
        other = other.reshape((1,) * (rank - other.ndim) + other.shape).transpose(order)
        operand = out.constant(f"{node.name}/constant", other)
    else:
        other = out.stored(second)
        if len(other.perm) != rank:
            raise ConversionError(f"'{node.name}': operands of {rank} and {len(other.perm)} dimensions are not supported")
        operand = out.ordered(other, order)
    op = node.op.removesuffix("V2")
    return Stored(out.emit(op, [operand, value.name] if swap else [value.name, operand], [node.name]), value.perm)


def average_pool(out: Onnx, node: Node) -> Stored:
    # What is padded does not count in either, so a waiting padding cannot become the operation's own.
    source, attributes = padded_window(out, node, lambda fill: False)
    attributes["kernel_shape"] = node.ints("ksize")[1:3]
    name = out.emit("AveragePool", [source], [f"{node.name}/nchw"], **attributes)
    return Stored(name, NCHW_TO_NHWC)


def transposed_convolution(out: Onnx, node: Node) -> Stored:
    """Conv2DBackpropInput: what lies beyond the size that the node asks for is cut off, what is missing stays 0."""
    attributes = window(node)
    same = attributes.pop("auto_pad") == "SAME_UPPER"
    size = [int(side) for side in out.array(node.inputs[0])[1:3]]
    weights = out.array(node.inputs[1])
    kernel = weights.shape[:2]
    if node.ints("dilations", [1] * 4) != [1] * 4:
        raise ConversionError(f"'{node.name}': dilations are not supported in {node.op}")
    before, after, missing = [], [], []
    for side, width, stride in zip(size, kernel, attributes["strides"], strict=True):
        cells = -(-(side if same else side - width + 1) // stride)
        reach = (cells - 1) * stride + width
        beyond = max(reach - side, 0)
        before.append(beyond // 2)
        after.append(beyond - beyond // 2)
        missing.append(max(side - reach, 0))
    source = out.ordered(out.stored(node.inputs[2]), NHWC_TO_NCHW)
    name = out.emit(
        "ConvTranspose", [source, out.constant(f"{node.name}/weights", weights.transpose(3, 2, 0, 1))],
        [f"{node.name}/nchw"], kernel_shape=list(kernel), pads=before + after, output_padding=missing, **attributes,
    )  # fmt: skip
    return Stored(name, NCHW_TO_NHWC)


def total(out: Onnx, node: Node) -> Stored:
    """AddN: the other tensors follow the order in which the first is stored."""
    values = [out.stored(i) for i in node.inputs]
    order = tuple(int(i) for i in np.argsort(values[0].perm))
    return Stored(out.emit("Sum", [out.ordered(v, order) for v in values], [node.name]), values[0].perm)


def concat(out: Onnx, node: Node) -> Stored:
    """The other tensors follow the order in which the first is stored."""
    values = [out.stored(i) for i in node.inputs[:-1]]
    perm = values[0].perm
    order = tuple(int(i) for i in np.argsort(perm))
    axis = int(out.array(node.inputs[-1])) % len(perm)
    names = [out.ordered(v, order) for v in values]
    return Stored(out.emit("Concat", names, [node.name], axis=perm[axis]), perm)


def split(out: Onnx, node: Node) -> list[Stored]:
    value = out.stored(node.inputs[0])
    sizes = out.array(node.inputs[1]).astype(np.int64)
    axis = value.axis(int(out.array(node.inputs[2])) % len(value.perm))
    names = [node.name, *(f"{node.name}:{i}" for i in range(1, len(sizes)))]
    out.emit("Split", [value.name, out.constant(f"{node.name}/sizes", sizes)], names, axis=axis)
    return [Stored(name, value.perm) for name in names]


def reshape(out: Onnx, node: Node) -> Stored:
    value = out.stored(node.inputs[0])
    shape = out.array(node.inputs[1]).astype(np.int64)
    source = out.ordered(value, tuple(range(len(value.perm))))
    name = out.emit("Reshape", [source, out.constant(f"{node.name}/shape", shape)], [node.name])
    return Stored(name, tuple(range(len(shape))))


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


CONVERT: dict[str, Callable[[Onnx, Node], Stored | list[Stored]]] = {
    "Add": binary,
    "AddV2": binary,
    "Sub": binary,
    "Mul": binary,
    "AddN": total,
    "AvgPool": average_pool,
    "ConcatV2": concat,
    "Conv2D": convolution,
    "Conv2DBackpropInput": transposed_convolution,
    "DepthwiseConv2dNative": convolution,
    "_FusedConv2D": convolution,
    "FusedDepthwiseConv2dNative": convolution,
    "Identity": lambda out, node: out.stored(node.inputs[0]),
    "LeakyRelu": activation,
    "MaxPool": max_pool,
    "Pad": pad,
    "PadV2": pad,
    "Relu": activation,
    "Relu6": activation,
    "Reshape": reshape,
    "ResizeBilinear": resize_bilinear,
    "Sigmoid": activation,
    "SplitV": split,
    "Transpose": transpose,
}


# --- Putting it together -----------------------------------------------------------------------------------------


def convert(graph: Graph) -> onnx.ModelProto:
    """The ONNX model of a graph; raises ConversionError for what it cannot express."""
    unsupported = {n.op for n in graph.nodes} - CONVERT.keys() - FOLD.keys() - {"Const", "Placeholder"}
    if unsupported:
        raise ConversionError(f"unsupported operations: {', '.join(sorted(unsupported))}; add them to CONVERT in {__file__}")
    out = Onnx()
    for node in graph.nodes:
        inputs = [canonical(i) for i in node.inputs]
        if node.op == "Const":
            out.values[node.name] = graph.weights[node.name]
        elif node.op == "Placeholder":
            out.values[node.name] = Stored(node.name, tuple(range(len(graph.inputs[node.name]))))
        elif node.op in FOLD and all(isinstance(out.values[i], np.ndarray) for i in inputs):
            out.values[node.name] = np.asarray(FOLD[node.op](*(out.values[i] for i in inputs)))
        elif node.op in CONVERT:
            made = CONVERT[node.op](out, node)
            for index, value in enumerate(made if isinstance(made, list) else [made]):
                out.values[canonical(f"{node.name}:{index}")] = value
        else:
            raise ConversionError(f"'{node.name}': {node.op} is supported on constants only")
    # What is emitted is named freely; the model's outputs get their own names here.
    for name, shape in graph.outputs.items():
        value = out.stored(name)
        source = out.ordered(value, tuple(range(len(shape))))
        if source != name:
            out.rename(name, f"{name}/stored")
            last = next((n for n in reversed(out.nodes) if source in n.output), None)
            readers = sum(source in n.input for n in out.nodes)
            if last is not None and readers == 0 and source not in graph.outputs:
                last.output[list(last.output).index(source)] = name
                last.name = name
            else:
                out.emit("Identity", [source], [name])
    inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in graph.inputs.items()]
    outputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in sorted(graph.outputs.items())]
    body = helper.make_graph(out.nodes, "graph", inputs, outputs, list(out.initializers.values()))
    model = helper.make_model(
        body, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION, producer_name="tfjs2onnx"
    )
    onnx.checker.check_model(model, full_check=True)
    return model


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path, help="the GraphModel's .json file; its weight files lie beside it")
    parser.add_argument("onnx", type=Path, help="the ONNX file to write")
    arguments = parser.parse_args()
    try:
        model = convert(read_graph(arguments.model))
    except (ConversionError, OSError) as error:
        print(f"tfjs2onnx: {arguments.model}: {error}", file=sys.stderr)
        return 1
    onnx.save(model, arguments.onnx)
    return 0


if __name__ == "__main__":
    sys.exit(main())
