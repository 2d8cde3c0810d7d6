"""Operations that rearrange a tensor: paddings, permutations, and what joins, cuts and reshapes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cudainfer_tools.models.tfjs2onnx.build import Onnx, Stored
from cudainfer_tools.models.tfjs2onnx.graph import Node


def identity(out: Onnx, node: Node) -> Stored:
    return out.stored(node.inputs[0])


def transpose(out: Onnx, node: Node) -> Stored:
    axes = [int(a) for a in out.array(node.inputs[1])]
    value = out.waiting(node.inputs[0])
    return Stored(value.name, tuple(value.axis(a) for a in axes), tuple(value.pads[a] for a in axes if value.pads), value.fill)


def pad(out: Onnx, node: Node) -> Stored:
    value = out.stored(node.inputs[0])
    pads = tuple((int(before), int(after)) for before, after in out.array(node.inputs[1]))
    fill = float(out.array(node.inputs[2])) if node.op == "PadV2" else 0.0
    return replace(value, pads=pads, fill=fill)


def concat(out: Onnx, node: Node) -> Stored:
    """The other tensors follow the order in which the first is stored."""
    values = [out.stored(i) for i in node.inputs[:-1]]
    first = values[0]
    axis = int(out.array(node.inputs[-1])) % len(first.perm)
    names = [out.ordered(value, first.order()) for value in values]
    return Stored(out.emit("Concat", names, [node.name], axis=first.axis(axis)), first.perm)


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
