"""How a test model is built and written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from cudainfer_tools.repository import ROOT

FOLDER = ROOT / ".cache" / "test-models"

# What ONNX Runtime 1.17, the oldest that the plugin takes, can read.
OPSET = 17
IR = 8

F32, F16, U8, I8, I32, I64 = (
    TensorProto.FLOAT,
    TensorProto.FLOAT16,
    TensorProto.UINT8,
    TensorProto.INT8,
    TensorProto.INT32,
    TensorProto.INT64,
)


# Dimensions of a tensor; those that are open have names.
Dims = Sequence[int | str]


class Graph:
    """A graph under construction; nodes are named after their output."""

    def __init__(self, image_type: int = F32, image_dims: Dims = (), image: str = "images") -> None:
        self.inputs = [helper.make_tensor_value_info(image, image_type, list(image_dims))]
        self.outputs: list[onnx.ValueInfoProto] = []
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def input(self, name: str, kind: int, dims: Dims) -> str:
        """Adds an input."""
        self.inputs.append(helper.make_tensor_value_info(name, kind, dims))
        return name

    def constant(self, name: str, value: npt.ArrayLike) -> str:
        """Adds a constant."""
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def node(self, op: str, inputs: list[str], name: str, **attributes: Any) -> str:
        """Adds a node with one output."""
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        return name

    def output(self, name: str, kind: int, dims: Dims) -> None:
        """Makes a value an output."""
        self.outputs.append(helper.make_tensor_value_info(name, kind, dims))

    def nothing(self, image: str = "images") -> str:
        """A float32 scalar that is 0 but depends on the image."""
        self.node("ReduceMean", [image], "mean_all", keepdims=0)
        self.constant("zero", np.float32(0))
        return self.node("Mul", ["mean_all", "zero"], "nothing")

    def scoped(self, modules: list[str]) -> None:
        """Names the first nodes as PyTorch's exporter does: after the modules that they are in."""
        for module, node in zip(modules, self.nodes, strict=False):
            node.name = f"/{module}/{node.op_type}"

    def save(self, name: str, sidecar: str = "", metadata: dict[str, str] | None = None, producer: str = "") -> None:
        """Writes the model, and its sidecar where it has one. `metadata` goes into the model's file."""
        graph = helper.make_graph(self.nodes, name, self.inputs, self.outputs, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR)
        helper.set_model_props(model, metadata or {})
        model.producer_name = producer
        onnx.checker.check_model(model)
        path = FOLDER / f"{name}.onnx"
        assert not path.exists(), f"there are two models of the name {name}"
        onnx.save(model, path)
        if sidecar:
            (FOLDER / f"{name}.toml").write_text(sidecar)


def constant_outputs(graph: Graph, tables: dict[str, np.ndarray], image: str = "images") -> None:
    """Outputs that are the same for each frame of a batch."""
    graph.node("ReduceMean", [image], "mean", axes=[1, 2, 3], keepdims=0)
    graph.node("Mul", ["mean", graph.constant("none", np.float32(0))], "zeros")
    for rank in {table.ndim for table in tables.values()}:
        rows = graph.constant(f"rows_{rank}", np.array([-1] + [1] * rank, np.int64))
        graph.node("Reshape", ["zeros", rows], f"zero_rows_{rank}")
    for name, table in tables.items():
        graph.node("Add", [f"zero_rows_{table.ndim}", graph.constant(f"fixed_{name}", table[None])], name)
        graph.output(name, F32, ["batch", *table.shape])


def coloured(graph: Graph, fixed: np.ndarray, row: int, colours: np.ndarray) -> None:
    """`coloured` [batch, *fixed.shape]: the fixed numbers, and from `row` on each frame's mean colours added to them."""
    weights = np.zeros((3, *fixed.shape), np.float32)
    weights[:, row : row + len(colours)] = colours.transpose(2, 0, 1)
    graph.node("ReduceMean", ["images"], "colour", axes=[2, 3], keepdims=1)
    graph.node("Mul", ["colour", graph.constant("weights", weights)], "weighted")
    graph.node("ReduceSum", ["weighted", graph.constant("over", np.array([1], np.int64))], "summed", keepdims=0)
    graph.node("Add", ["summed", graph.constant("fixed", fixed)], "coloured")


def mean_scores(graph: Graph, boxes: np.ndarray, scores: np.ndarray, colours: np.ndarray) -> None:
    """`detections`: the boxes over the fixed scores plus the mean colours."""
    graph.node("ReduceMean", ["images"], "mean", axes=[0, 2, 3], keepdims=0)
    graph.constant("means", np.array([3, 1], np.int64))
    graph.node("Reshape", ["mean", "means"], "mean_column")
    graph.node("MatMul", [graph.constant("colours", colours), "mean_column"], "coloured")
    graph.constant("table", np.array([2, 84], np.int64))
    graph.node("Reshape", ["coloured", "table"], "by_colour")
    graph.node("Add", ["by_colour", graph.constant("fixed", scores)], "scores")
    graph.node("Concat", [graph.constant("boxes", boxes), "scores"], "both", axis=0)
    graph.constant("shape", np.array([1, 6, 84], np.int64))
    graph.node("Reshape", ["both", "shape"], "detections")


RED_AND_BLUE = '[input]\nresize = "stretch"\n[output]\nlabels = ["red", "blue"]\nconfidence = 0.4\n'


def detector_tables() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Boxes [4, 84] (centre and size), fixed scores [2, 84], and which mean colour is added where [2, 84, 3]."""
    boxes, scores, colours = np.zeros((4, 84), np.float32), np.zeros((2, 84), np.float32), np.zeros((2, 84, 3), np.float32)
    boxes[:, 0] = [16, 16, 16, 24]
    colours[0, 0, 0] = 1
    boxes[:, 5] = [48, 40, 8, 16]
    colours[1, 5, 2] = 1
    # Overlaps the first and is weaker by a tenth: suppressed.
    boxes[:, 1] = [17, 16, 16, 24]
    colours[0, 1, 0] = 0.9
    return boxes, scores, colours
