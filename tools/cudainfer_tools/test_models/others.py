"""Models for other elements than ours, and models that fail."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from onnx import TensorProto, helper

from cudainfer_tools.test_models.graph import F32, FOLDER, I64, U8, Dims, Graph


def others() -> None:
    """A model for GStreamer's own onnxinference and ssdobjectdetector: whatever the picture, one box of class 1, from 8, 16 to 32, 48."""
    graph = Graph(U8, [1, 64, 64, 3], "image")
    graph.node("Cast", ["image"], "pixels", to=F32)
    nothing = graph.node("Cast", [graph.nothing("pixels")], "none", to=I64)
    group = "ssd-mobilenet-v1-variant-1-out"
    info = f"[modelinfo]\nversion=1.0\ngroup-id={group}\n\n[image]\ndims=1,64,64,3\ndir=input\ntype=uint8\nranges=0.0,255.0\n"
    outputs: list[tuple[str, npt.ArrayLike, Dims, str]] = [
        ("detection_boxes", [[[0.25, 0.125, 0.75, 0.5]]], ["batch", "count", 4], f"{group}-boxes"),
        ("detection_classes", [[1.0]], ["batch", "count"], f"{group}-classes"),
        ("detection_scores", [[0.875]], ["batch", "count"], f"{group}-scores"),
        ("num_detections", [1.0], ["batch"], "generic-variant-1-out-count"),
    ]
    for name, given, dims, number in outputs:
        value = np.array(given, np.float32)
        # Numbers that the decoder's caps want unknown, so they are calculated.
        shape = graph.constant(f"{name}_shape", np.array(value.shape, np.int64))
        shape = graph.node("Add", [shape, nothing], f"{name}_dims")
        graph.node("Expand", [graph.constant(f"{name}_fixed", value), shape], name)
        graph.output(name, F32, dims)
        open_dims = ",".join("-1" if isinstance(dim, str) else str(dim) for dim in dims)
        info += f"\n[{name}]\nid={number}\ngroup-id={group}\ndims={open_dims}\ndir=output\ntype=float32\n"
    graph.save("ssd-mobilenet")
    (FOLDER / "ssd-mobilenet.onnx.modelinfo").write_text(info)


def failing() -> None:
    """Models that load and then fail."""
    # At every size but 16x24.
    graph = Graph(F32, [1, 3, "height", "width"])
    graph.node("Reshape", ["images", graph.constant("shape", np.array([1, 3, 16, 24], np.int64))], "copy")
    graph.output("copy", F32, [1, 3, 16, 24])
    graph.save("fails-at-size")
    # On bright pictures: the index is 0 for black and 10 for white, and there are two rows.
    graph = Graph(F32, [1, 3, 16, 24])
    graph.node("ReduceMean", ["images"], "mean", keepdims=0)
    graph.node("Mul", ["mean", graph.constant("ten", np.float32(10))], "scaled")
    graph.node("Cast", ["scaled"], "index", to=I64)
    graph.node("Gather", [graph.constant("rows", np.zeros((2, 4), np.float32)), "index"], "row")
    graph.output("row", F32, [4])
    graph.save("fails-on-bright")
    # Takes long: about ten billion multiplications.
    graph = Graph(F32, [1, 3, 512, 512])
    value = graph.node("Mul", ["images", graph.constant("small", np.float32(1e-3))], "m0")
    for step in range(24):
        value = graph.node("MatMul", [value, "images"], f"p{step}")
        value = graph.node("Mul", [value, "small"], f"m{step + 1}")
    graph.node("ReduceMean", [value], "mean", axes=[2, 3], keepdims=0)
    graph.output("mean", F32, [1, 3])
    graph.save("slow")
    # Its runs have no end.
    body = helper.make_graph(
        [helper.make_node("Identity", ["go_in"], ["go_out"]), helper.make_node("Identity", ["value_in"], ["value_out"])],
        "body",
        [
            helper.make_tensor_value_info("iteration", I64, []),
            helper.make_tensor_value_info("go_in", TensorProto.BOOL, []),
            helper.make_tensor_value_info("value_in", F32, [1, 3, 16, 24]),
        ],
        [
            helper.make_tensor_value_info("go_out", TensorProto.BOOL, []),
            helper.make_tensor_value_info("value_out", F32, [1, 3, 16, 24]),
        ],
    )
    graph = Graph(F32, [1, 3, 16, 24])
    graph.node("Loop", ["", graph.constant("go", np.array(True)), "images"], "copy", body=body)
    graph.output("copy", F32, [1, 3, 16, 24])
    graph.save("run-without-end")
    # Its runs on bright pictures have no end: those on black ones are counted down from 0.
    graph = Graph(F32, [1, 3, 16, 24])
    graph.node("ReduceMax", ["images"], "most", keepdims=0)
    graph.node("Greater", ["most", graph.constant("half", np.float32(0.5))], "go")
    graph.node("Loop", ["", "go", "images"], "copy", body=body)
    graph.output("copy", F32, [1, 3, 16, 24])
    graph.save("run-without-end-on-bright")
    (FOLDER / "not-onnx.onnx").write_text("This is a text about models.\n" * 50)
    whole = (FOLDER / "many-candidates.onnx").read_bytes()
    (FOLDER / "truncated.onnx").write_bytes(whole[: len(whole) // 2])
    (FOLDER / "empty.onnx").write_bytes(b"")
