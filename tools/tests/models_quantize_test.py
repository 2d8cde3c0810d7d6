"""Tests of models/quantize.py."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

from cudainfer_tools import pipeline
from cudainfer_tools.models import quantize


def model(*nodes: onnx.NodeProto, inputs: tuple[str, ...] = ("x",), outputs: tuple[str, ...] = ("y",)) -> onnx.ModelProto:
    """Nodes as a model; its tensors have no shape that matters here."""
    taken, given = ([helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in names] for names in (inputs, outputs))
    return helper.make_model(helper.make_graph(list(nodes), "test", taken, given))


def node(kind: str, name: str, given: list[str], makes: str) -> onnx.NodeProto:
    return helper.make_node(kind, given, [makes], name=name)


class Head(unittest.TestCase):
    def test_it_reaches_back_to_the_last_convolution_of_each_branch(self):
        graph = model(
            node("Conv", "stem", ["x", "w"], "a"),
            node("Conv", "boxes", ["a", "w"], "b"),
            node("Conv", "scores", ["a", "w"], "c"),
            node("Sigmoid", "sure", ["c"], "d"),
            node("Concat", "both", ["b", "d"], "y"),
        ).graph
        self.assertEqual(quantize.head(graph), ["both", "boxes", "scores", "sure"])

    def test_every_output_has_one(self):
        graph = model(
            node("Conv", "first", ["x", "w"], "y"),
            node("Relu", "between", ["y"], "a"),
            node("MatMul", "second", ["a", "w"], "z"),
            outputs=("y", "z"),
        ).graph
        self.assertEqual(quantize.head(graph), ["first", "second"])


class Check(unittest.TestCase):
    def refused(self, content: bytes) -> str:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "m.onnx"
            file.write_bytes(content)
            with self.assertRaises(pipeline.PipelineError) as caught:
                quantize.check(file)
        return str(caught.exception)

    def test_what_cannot_be_quantised_is_refused_with_the_reason(self):
        self.assertIn("is no ONNX model", self.refused(b"\xff nothing"))
        two = model(node("Add", "sum", ["x", "z"], "y"), inputs=("x", "z"))
        self.assertIn("has the inputs x, z", self.refused(two.SerializeToString()))
        done = model(node("QuantizeLinear", "q", ["x", "s"], "y"))
        self.assertIn("is quantised already", self.refused(done.SerializeToString()))


class Calibration(unittest.TestCase):
    def test_it_gives_each_file_once_and_a_range_anew(self):
        with tempfile.TemporaryDirectory() as folder:
            files = []
            for n in range(3):
                files.append(Path(folder) / f"{n}.raw")
                np.full(4, n, np.float32).tofile(files[-1])
            feeds = quantize.Calibration(files, "x", [1, 1, 2, 2])
            values = [feeds.get_next()["x"] for _ in files]
            self.assertEqual([value.shape for value in values], [(1, 1, 2, 2)] * 3)
            self.assertEqual([value[0, 0, 0, 0] for value in values], [0, 1, 2])
            self.assertIsNone(feeds.get_next())
            feeds.set_range(start_index=1, end_index=2)
            self.assertEqual(feeds.get_next()["x"][0, 0, 1, 1], 1)
            self.assertIsNone(feeds.get_next())


if __name__ == "__main__":
    unittest.main()
