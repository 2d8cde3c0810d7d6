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
from pathlib import Path

import onnx

from cudainfer_tools.models.tfjs2onnx.convert import convert
from cudainfer_tools.models.tfjs2onnx.graph import ConversionError, read_graph


def main() -> int:
    parser = argparse.ArgumentParser(prog="tfjs2onnx", description=__doc__.splitlines()[0])
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
