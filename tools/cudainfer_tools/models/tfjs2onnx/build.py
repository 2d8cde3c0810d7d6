"""The ONNX graph while it is being built, and how a tensor of it stands for one of TensorFlow's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import helper, numpy_helper

from cudainfer_tools.models.tfjs2onnx.graph import ConversionError, canonical

NHWC_TO_NCHW = (0, 3, 1, 2)
NCHW_TO_NHWC = (0, 2, 3, 1)

# What an attribute of an ONNX node holds here.
Attribute = str | int | float | Sequence[int]


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

    def order(self) -> tuple[int, ...]:
        """TensorFlow's axes in the order in which they are stored."""
        return tuple(int(axis) for axis in np.argsort(self.perm))


@dataclass
class Onnx:
    """The ONNX graph while it is being built."""

    nodes: list[onnx.NodeProto] = field(default_factory=list)
    initializers: dict[str, onnx.TensorProto] = field(default_factory=dict)
    values: dict[str, Stored | np.ndarray] = field(default_factory=dict)

    def emit(self, op: str, inputs: list[str], outputs: list[str], **attributes: Attribute) -> str:
        node = helper.make_node(op, inputs, outputs, name=outputs[0])
        node.attribute.extend(helper.make_attribute(name, value) for name, value in sorted(attributes.items()))
        self.nodes.append(node)
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

    def waiting(self, name: str) -> Stored:
        """A tensor whose padding, if it has one, is not emitted yet."""
        value = self.values[canonical(name)]
        if isinstance(value, np.ndarray):
            return Stored(self.constant(canonical(name), value), tuple(range(value.ndim)))
        return value

    def stored(self, name: str) -> Stored:
        """A computed tensor; its padding, if one is waiting, is emitted now."""
        value = self.waiting(name)
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
