"""Operations that compute each number of their output from the numbers at the same place."""

from __future__ import annotations

import numpy as np

from cudainfer_tools.models.tfjs2onnx.build import Onnx, Stored
from cudainfer_tools.models.tfjs2onnx.graph import ConversionError, Node, canonical


def activate(out: Onnx, node: Node, activation: str, source: str, name: str) -> str:
    """Emits the function of that name, alone or fused into the convolution `node`."""
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


def binary(out: Onnx, node: Node) -> Stored:
    """Add, Sub and Mul: the second operand follows the order in which the first is stored."""
    first, second = node.inputs
    swap = isinstance(out.values[canonical(first)], np.ndarray)
    value = out.stored(second if swap else first)
    other = out.values[canonical(first if swap else second)]
    rank = len(value.perm)
    if isinstance(other, np.ndarray):
        if other.ndim > rank:
            raise ConversionError(f"'{node.name}': a constant of more dimensions than its operand is not supported")
        other = other.reshape((1,) * (rank - other.ndim) + other.shape).transpose(value.order())
        operand = out.constant(f"{node.name}/constant", other)
    else:
        other = out.stored(second)
        if len(other.perm) != rank:
            raise ConversionError(f"'{node.name}': operands of {rank} and {len(other.perm)} dimensions are not supported")
        operand = out.ordered(other, value.order())
    op = node.op.removesuffix("V2")
    return Stored(out.emit(op, [operand, value.name] if swap else [value.name, operand], [node.name]), value.perm)


def total(out: Onnx, node: Node) -> Stored:
    """AddN: the other tensors follow the order in which the first is stored."""
    values = [out.stored(i) for i in node.inputs]
    first = values[0]
    return Stored(out.emit("Sum", [out.ordered(value, first.order()) for value in values], [node.name]), first.perm)
