"""Tests of zoo/speed: weights that are left out and made anew, pieces, the rows of several machines, and the table of frame rates."""

import io
import json
import tarfile
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

import numpy as np
import onnx
from onnx import helper, numpy_helper

from cudainfer_tools.test_models.graph import IR, OPSET
from cudainfer_tools.zoo.speed import gpu, hollow, pack, rows, table

H100 = {"date": "2026-11-28T10:00:00+00:00", "commit": "abc", "gpu": "H100", "processor": "Xeon", "cores": 16}
HERE = {"date": "2026-11-28T11:00:00+00:00", "commit": "abc", "processor": "EPYC", "cores": 2}


def model(size=("height", 32), batch=1):
    """A convolution with random weights, a table of a grid, and an image whose size may be open."""
    weights = np.random.default_rng(0).normal(0.1, 0.5, (64, 3, 5, 5)).astype(np.float32)
    grid = np.arange(4096, dtype=np.float32)
    image = helper.make_tensor_value_info("image", onnx.TensorProto.FLOAT, [batch, 3, *size])
    made = helper.make_tensor_value_info("out", onnx.TensorProto.FLOAT, None)
    arrays = [numpy_helper.from_array(weights, "weights"), numpy_helper.from_array(grid, "grid")]
    graph = helper.make_graph([helper.make_node("Conv", ["image", "weights"], ["out"])], "g", [image], [made], arrays)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR), weights, grid


def case(folder, **more):
    """The folder of a case with this model."""
    folder.mkdir()
    made, *arrays = model(**more)
    onnx.save(made, folder / "model.onnx")
    settings = {"preprocessing": "width=48 height=64", "size": [20, 10], "unread": "", "elements": "embed"}
    (folder / "case.json").write_text(json.dumps(settings))
    (folder / "frames.rgb").write_bytes(b"pixels")
    (folder / "texts.npy").write_bytes(b"numbers")
    (folder / "second.onnx").write_bytes(b"another model")
    return arrays


class Folder(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.folder = Path(made.name)


class Hollow(Folder):
    def test_random_weights_are_made_anew_with_their_distribution_and_what_compresses_stays(self):
        weights, grid = case(self.folder / "a")
        file = self.folder / "a" / "model.onnx"
        found = hollow.holes(file)
        self.assertEqual([(one.file, one.count) for one in found], [("model.onnx", weights.size)])
        size = file.stat().st_size
        hollow.empty(file.parent, found)
        self.assertEqual(numpy_helper.to_array(onnx.load(file).graph.initializer[0]).max(), 0)
        hollow.fill(file.parent, found)
        other, kept = map(numpy_helper.to_array, onnx.load(file).graph.initializer)
        self.assertEqual(file.stat().st_size, size)
        self.assertTrue((kept == grid).all())
        self.assertFalse(np.array_equal(other, weights))
        self.assertAlmostEqual(float(other.std()), float(weights.std()), delta=0.02)
        self.assertGreaterEqual(other.min(), weights.min())

    def test_weights_in_a_file_of_their_own_are_found_there(self):
        made, weights, _ = model()
        file = self.folder / "model.onnx"
        onnx.save(made, file, save_as_external_data=True, location="model.data", size_threshold=1024)
        found = hollow.holes(file)
        self.assertEqual([one.file for one in found], ["model.data"])
        content = (self.folder / "model.data").read_bytes()
        self.assertEqual(content[found[0].offset :][: weights.nbytes], weights.tobytes())

    def test_integers_and_small_arrays(self):
        integers = np.random.default_rng(0).integers(-128, 128, 8192).astype(np.int8)
        numbers = hollow.hole(integers, "m", 7).numbers()
        self.assertEqual((numbers.dtype, numbers.size), (np.dtype(np.int8), 8192))
        self.assertIsNone(hollow.hole(integers[:100], "m", 7))
        self.assertIsNone(hollow.hole(np.full(8192, np.nan, np.float32), "m", 7))


class Pack(Folder):
    def test_weights_are_left_out(self):
        weights, _ = case(self.folder / "a")
        self.assertLess(len(pack.packed(self.folder / "a")), weights.nbytes / 4)

    def test_other_numbers_are_drawn_until_the_model_runs_and_else_its_own_stay(self):
        weights, _ = case(self.folder / "a")
        file = self.folder / "a" / "model.onnx"
        found = hollow.holes(file)
        with mock.patch.object(pack, "runs", side_effect=[False, True]):
            self.assertEqual([one.seed for one in pack.usable(file, found)], [1])
        self.assertNotEqual(list(found[0].numbers()), list(pack.replace(found[0], seed=1).numbers()))
        hollow.write(file.parent, found[0], weights.tobytes())
        with mock.patch.object(pack, "runs", return_value=False):
            self.assertEqual(pack.usable(file, found), [])
        self.assertTrue((numpy_helper.to_array(onnx.load(file).graph.initializer[0]) == weights).all())

    def test_pieces_are_full_of_the_small_ones_first(self):
        archives = {"large": bytes(60_000), "small": bytes(10), "middle": bytes(30_000), "huge": bytes(200_000)}
        made, left_out = pack.pieces(archives, 80_000)
        self.assertEqual((made, left_out), ([["small", "middle"], ["large"]], ["huge"]))

    def test_open_sizes_are_those_that_the_pipeline_has(self):
        case(self.folder / "a", size=("height", "width"))
        pack.staged(self.folder / "a", self.folder / "staged")
        dims = onnx.load(self.folder / "staged" / "model.onnx").graph.input[0].type.tensor_type.shape.dim
        self.assertEqual([dim.dim_value for dim in dims], [1, 3, 64, 48])


class Rows(Folder):
    def test_a_row_takes_the_place_of_any_other_of_its_case_and_column(self):
        runs = []
        rows.add(runs, H100, {"case": "a", "column": "cuda", "fps": 1.0})
        rows.add(runs, H100, {"case": "a", "column": "fused", "fps": 2.0})
        rows.add(runs, H100 | {"commit": "def"}, {"case": "a", "column": "cuda", "fps": 3.0})
        self.assertEqual([[row["fps"] for row in run["rows"]] for run in runs], [[2.0], [3.0]])
        rows.add(runs, H100 | {"commit": "def"}, {"case": "a", "column": "fused", "fps": 4.0})
        self.assertEqual([[row["fps"] for row in run["rows"]] for run in runs], [[3.0, 4.0]])

    def test_rows_of_another_file_are_added(self):
        here, there = [], []
        rows.add(here, HERE, {"case": "a", "column": "cpu", "fps": 1.0})
        rows.add(there, H100, {"case": "a", "column": "cuda", "fps": 9.0})
        rows.take(here, there)
        rows.write(here, self.folder / "speed.json")
        self.assertEqual(rows.read(self.folder / "speed.json"), here)
        self.assertEqual(rows.measured(here, H100), {("a", "cuda")})
        self.assertEqual(rows.read(self.folder / "none.json"), [])


SESSION = """#!/bin/sh
case "$*" in
    *cuda*) echo '{"fps": 120.5, "median_ms": 8.1, "variant": "nhwc", "who": "graph"}'; sleep 60 ;;
    *) echo "thread 'main' (1) panicked at session.rs:1:2:" >&2
       echo 'called `Result::unwrap()` on an `Err` value: Refused("NonZero")' >&2; exit 101 ;;
esac
"""


class OnTheGpu(Folder):
    def setUp(self):
        super().setUp()
        case(self.folder / "a")
        (self.folder / "pieces").mkdir()
        content = pack.packed(self.folder / "a")
        with tarfile.open(self.folder / "pieces" / "zoo.00.tar", "w") as archive:
            entry = tarfile.TarInfo("a.tar.xz")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
        self.program = self.folder / "session"
        self.program.write_text(SESSION)
        self.program.chmod(0o755)

    def test_each_model_gives_a_figure_or_the_reason_as_they_come(self):
        (self.folder / "models").mkdir()
        models = gpu.unpack(self.folder / "pieces", self.folder / "models")
        self.assertEqual([one.name for one in models], ["a"])
        self.assertEqual(sorted(file.name for file in models[0].iterdir()), ["holes.json", "model.onnx", "texts.npy"])
        self.assertGreater(numpy_helper.to_array(onnx.load(models[0] / "model.onnx").graph.initializer[0]).std(), 0)
        file = self.folder / "speed.json"
        wanted = [(models[0], provider) for provider in gpu.PROVIDERS]
        with mock.patch.object(gpu, "gpus", return_value=1), mock.patch("builtins.print"):
            left = gpu.measure(wanted, self.program, file, H100, time.monotonic() + 30, 10)
        self.assertEqual(left, 0)
        found = {row["column"]: row for row in rows.read(file)[0]["rows"]}
        self.assertEqual((found["cuda"]["fps"], found["cuda"]["variant"]), (120.5, "nhwc"))
        self.assertEqual(found["fused"]["why"], 'Refused("NonZero")')

    def test_what_takes_too_long_and_what_is_too_late_have_no_figure(self):
        self.program.write_text("#!/bin/sh\nexec sleep 60\n")
        late = gpu.figure(self.program, self.folder / "a", "cuda", 0, 0.2)
        self.assertEqual(late, {"why": "no figure within 0.2 s"})
        with mock.patch.object(gpu, "gpus", return_value=1):
            left = gpu.measure([(self.folder / "a", "cuda")], self.program, self.folder / "speed.json", H100, 0, 1)
        self.assertEqual(left, 1)


class Table(unittest.TestCase):
    def test_figures_and_reasons(self):
        runs = []
        rows.add(runs, HERE, {"case": "a", "column": "cpu", "fps": 12.34})
        rows.add(runs, H100, {"case": "a", "column": "cuda", "fps": 1234.5})
        rows.add(runs, H100, {"case": "a", "column": "fused", "why": "Refused"})
        rows.add(runs, H100, {"case": "b", "column": "cuda", "why": "no figure within 60 s"})
        lines = table.section(runs, ["a"])
        self.assertIn("| a | 12.3 | 1234 | – |", lines)
        self.assertIn("| b | – | – | – |", lines)
        self.assertIn("- b, GPU: ONNX Runtime: no figure within 60 s", lines)
        self.assertNotIn("- a, GPU: fused: Refused", lines)
        self.assertIn("EPYC, 2 cores (commit abc, 2026-11-28)", "\n".join(lines))
        self.assertIn("H100 (commit abc, 2026-11-28)", "\n".join(lines))


if __name__ == "__main__":
    unittest.main()
