"""A graph of TensorFlow's operations as an ONNX model."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
from onnx import TensorProto, helper

from cudainfer_tools.models.tfjs2onnx import axes, elementwise, windows
from cudainfer_tools.models.tfjs2onnx.build import Onnx, Stored
from cudainfer_tools.models.tfjs2onnx.folding import FOLD
from cudainfer_tools.models.tfjs2onnx.graph import ConversionError, Graph, Node, canonical

OPSET = 18
IR_VERSION = 8

CONVERT: dict[str, Callable[[Onnx, Node], Stored | list[Stored]]] = {
    "Add": elementwise.binary,
    "AddV2": elementwise.binary,
    "Sub": elementwise.binary,
    "Mul": elementwise.binary,
    "AddN": elementwise.total,
    "AvgPool": windows.average_pool,
    "ConcatV2": axes.concat,
    "Conv2D": windows.convolution,
    "Conv2DBackpropInput": windows.transposed_convolution,
    "DepthwiseConv2dNative": windows.convolution,
    "_FusedConv2D": windows.convolution,
    "FusedDepthwiseConv2dNative": windows.convolution,
    "Identity": axes.identity,
    "LeakyRelu": elementwise.activation,
    "MaxPool": windows.max_pool,
    "Pad": axes.pad,
    "PadV2": axes.pad,
    "Relu": elementwise.activation,
    "Relu6": elementwise.activation,
    "Reshape": axes.reshape,
    "ResizeBilinear": windows.resize_bilinear,
    "Sigmoid": elementwise.activation,
    "SplitV": axes.split,
    "Transpose": axes.transpose,
}


def convert(graph: Graph) -> onnx.ModelProto:
    """The ONNX model of a graph; raises ConversionError for what it cannot express."""
    unsupported = {n.op for n in graph.nodes} - CONVERT.keys() - FOLD.keys() - {"Const", "Placeholder"}
    if unsupported:
        raise ConversionError(f"unsupported operations: {', '.join(sorted(unsupported))}; add them to CONVERT in {__file__}")
    out = Onnx()
    for node in graph.nodes:
        add(out, graph, node)
    for name, shape in graph.outputs.items():
        name_output(out, graph, name, len(shape))
    inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in graph.inputs.items()]
    outputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in sorted(graph.outputs.items())]
    body = helper.make_graph(out.nodes, "graph", inputs, outputs, list(out.initializers.values()))
    model = helper.make_model(
        body, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION, producer_name="tfjs2onnx"
    )
    onnx.checker.check_model(model, full_check=True)
    return model


def add(out: Onnx, graph: Graph, node: Node) -> None:
    """Adds what an operation gives to the values: computed now, or by nodes that are emitted."""
    values = [out.values[canonical(i)] for i in node.inputs]
    constants = [value for value in values if isinstance(value, np.ndarray)]
    if node.op == "Const":
        out.values[node.name] = graph.weights[node.name]
    elif node.op == "Placeholder":
        out.values[node.name] = Stored(node.name, tuple(range(len(graph.inputs[node.name]))))
    elif node.op in FOLD and len(constants) == len(values):
        out.values[node.name] = np.asarray(FOLD[node.op](*constants))
    elif node.op in CONVERT:
        made = CONVERT[node.op](out, node)
        for index, value in enumerate(made if isinstance(made, list) else [made]):
            out.values[canonical(f"{node.name}:{index}")] = value
    else:
        raise ConversionError(f"'{node.name}': {node.op} is supported on constants only")


def name_output(out: Onnx, graph: Graph, name: str, rank: int) -> None:
    """Gives an output of the model its own name: what is emitted is named freely."""
    source = out.ordered(out.stored(name), tuple(range(rank)))
    if source == name:
        return
    out.rename(name, f"{name}/stored")
    last = next((n for n in reversed(out.nodes) if source in n.output), None)
    readers = sum(source in n.input for n in out.nodes)
    if last is not None and readers == 0 and source not in graph.outputs:
        last.output[list(last.output).index(source)] = name
        last.name = name
    else:
        out.emit("Identity", [source], [name])
