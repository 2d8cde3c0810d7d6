"""Small networks with random weights for libraries that need no torch."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import helper

from cudainfer_tools.test_models.graph import F32, IR, OPSET, Dims, Graph


class Network(Graph):
    """A graph whose layers have random weights: features neither vanish nor explode in it."""

    def __init__(self, dims: Dims, image: str = "input", kind: int = F32) -> None:
        super().__init__(kind, dims, image)
        self.random = np.random.default_rng(0)

    def weights(self, name: str, *shape: int) -> str:
        """Random numbers for a layer; all dimensions but the first are what it reads."""
        deviation = np.sqrt(2 / np.prod(shape[1:]))
        return self.constant(f"{name}.weight", self.random.normal(0, deviation, shape).astype(np.float32))

    def convolution(self, value: str, name: str, read: int, written: int, size: int = 1, stride: int = 1) -> str:
        """A convolution; one of 3x3 cells keeps the size, or halves it with the stride 2."""
        weights = self.weights(name, written, read, size, size)
        return self.node("Conv", [value, weights], name, strides=[stride, stride], pads=[size // 2] * 4)

    def trunk(self, value: str, channels: Sequence[int]) -> list[str]:
        """The levels of a network, each of half the size of the one before."""
        levels = []
        for i, (read, written) in enumerate(itertools.pairwise(channels)):
            value = self.node("Relu", [self.convolution(value, f"level{i}", read, written, 3, 2)], f"level{i}.out")
            levels.append(value)
        return levels

    def write(self, file: Path) -> None:
        """Writes the model."""
        graph = helper.make_graph(self.nodes, file.stem, self.inputs, self.outputs, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR)
        onnx.checker.check_model(model)
        onnx.save(model, file)
