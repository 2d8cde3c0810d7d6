"""Writes src/reference/resized.txt: what ONNX Runtime's Resize makes of a few numbers, for every mode and all coordinates.

    .venv/bin/python fused/tests/resize.py > fused/src/reference/resized.txt
"""

import itertools

import numpy as np
import onnx
import onnxruntime

SAMPLES = np.array([1, -2, 3.5, 4, 0.25, 6, -7, 8, 2, -1, 5, 3], np.float32).reshape(1, 1, 3, 4)
COORDINATES = ["half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"]
ROUNDINGS = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]
SCALES = [(2.0, 2.0), (1.0, 2.5), (0.5, 1.5), (0.34, 0.75), (3.0, 0.25)]


def resized(mode: str, coordinates: str, rounding: str, scales: tuple[float, float]) -> np.ndarray:
    node = onnx.helper.make_node(
        "Resize",
        ["x", "", "scales"],
        ["y"],
        mode=mode,
        coordinate_transformation_mode=coordinates,
        nearest_mode=rounding,
    )
    value = onnx.helper.make_tensor_value_info
    constant = onnx.helper.make_tensor("scales", onnx.TensorProto.FLOAT, [4], [1.0, 1.0, *scales])
    graph = onnx.helper.make_graph(
        [node],
        "resize",
        [value("x", onnx.TensorProto.FLOAT, SAMPLES.shape)],
        [value("y", onnx.TensorProto.FLOAT, None)],
        [constant],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {"x": SAMPLES})[0]


for mode, coordinates in itertools.product(["nearest", "linear", "cubic"], COORDINATES):
    for rounding in ROUNDINGS if mode == "nearest" else ["-"]:
        for scales in SCALES:
            name = rounding if mode == "nearest" else "floor"
            values = " ".join(repr(float(value)) for value in resized(mode, coordinates, name, scales).ravel())
            print(f"{mode} {coordinates} {rounding} {scales[0]} {scales[1]}: {values}")
