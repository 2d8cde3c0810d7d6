"""Tests of scripts/export: what is refused, what the sidecar has, and what is done to the graph."""

import subprocess
import sys
import tempfile
import tomllib
import unittest
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from cudainfer_tools import repository
from cudainfer_tools.export import common, onnx_file, sleap, training

CONFIG = """
data_config:
  preprocessing: {scale: 0.5, crop_size: 100, max_height: 320, max_width: 561, ensure_grayscale: GRAY}
  skeletons:
  - nodes: [{name: head}, {name: 'wing "left"'}, {name: wing right}]
    edges: [{source: {name: head}, destination: {name: wing right}}]
    symmetries: [[{name: 'wing "left"'}, {name: wing right}]]
model_config:
  backbone_config: {convnext: null, unet: {in_channels: 3, max_stride: 16}}
  head_configs: {other: null, KIND: {confmaps: {output_stride: 4, part_names: PARTS}, pafs: {edges: EDGES}}}
"""


def config(kind="single_instance", gray="false", parts="null", edges="null"):
    text = CONFIG.replace("KIND", kind).replace("GRAY", gray).replace("PARTS", parts).replace("EDGES", edges)
    import yaml

    return yaml.safe_load(text)


class Facts(unittest.TestCase):
    def test_skeleton_strides_and_scale_are_those_of_the_training(self):
        facts = training.facts(config())
        self.assertEqual(facts.points, ["head", 'wing "left"', "wing right"])
        self.assertEqual((facts.edges, facts.symmetric), ([("head", "wing right")], [('wing "left"', "wing right")]))
        self.assertEqual((facts.channels, facts.scale, facts.max_stride, facts.output_stride), (3, 0.5, 16, 4))
        self.assertEqual(training.facts(config(gray="true")).channels, 1)
        self.assertEqual(training.facts(config(parts="[a, b, c]")).points, ["a", "b", "c"])

    def test_edges_of_fields_are_in_the_order_of_the_head(self):
        facts = training.facts(config("bottomup", edges="[[wing right, head], [head, 'wing \"left\"']]"))
        self.assertEqual(facts.edges, [("wing right", "head"), ("head", 'wing "left"')])

    def test_a_network_with_a_scale_takes_every_size_and_says_how_far_cells_are_apart(self):
        for scale, multiple, stride in ((1.0, 16, None), (0.5, 1, 8.0), (0.3, 1, 13.3333333)):
            changed = config()
            changed["data_config"]["preprocessing"]["scale"] = scale
            words = tomllib.loads(training.sidecar(training.facts(changed), 0.2, "made"))
            self.assertEqual((words["input"]["size-multiple"], words["peaks"].get("stride")), (multiple, stride))

    def test_what_cannot_be_exported_is_refused_in_a_sentence(self):
        def refused(changed):
            with self.assertRaises(common.ExportError) as caught:
                training.facts(changed)
            return str(caught.exception)

        self.assertIn("a 'multi_class_topdown' model is not exported: classes", refused(config("multi_class_topdown")))
        self.assertIn(
            "'embedding' model is not exported; single_instance, centered_instance, centroid and bottomup are",
            refused(config("embedding")),
        )
        self.assertIn("names no head_configs", refused({}))
        self.assertIn("has no edges", refused(config("bottomup") | {"data_config": {"skeletons": [{"nodes": [{"name": "a"}]}]}}))
        for key, value, words in (
            ("crop_size", None, "has no crop_size"),
            ("crop_mode", "bbox", "crop_mode: bbox"),
            ("tiling", {"enabled": True}, "trained on tiles"),
            ("scale", 0.0001, "the scale 0.0001 is none"),
        ):
            changed = config("centered_instance")
            changed["data_config"]["preprocessing"][key] = value
            self.assertIn(words, refused(changed))
        changed = config()
        del changed["model_config"]["backbone_config"]["unet"]["max_stride"]
        self.assertIn("lacks what a 'single_instance' model has", refused(changed))


class Sidecar(unittest.TestCase):
    def sidecar(self, kind, **more):
        return tomllib.loads(training.sidecar(training.facts(config(kind, **more)), 0.25, "of a test"))

    def test_frames_are_padded_and_names_are_quoted(self):
        words = self.sidecar("single_instance")
        self.assertEqual(words["input"], {"channels": "rgb", "resize": "pad", "padding": 0, "size-multiple": 1})
        self.assertEqual(words["skeleton"]["points"][1], 'wing "left"')
        self.assertEqual(words["skeleton"]["symmetric"], [['wing "left"', "wing right"]])
        self.assertEqual(words["peaks"]["output"], "SingleInstanceConfmapsHead")
        self.assertEqual((words["peaks"]["mode"], words["peaks"]["refinement"]), ("global", "integral"))
        self.assertEqual((words["peaks"]["grid"], words["peaks"]["threshold"]), ("strided", 0.25))

    def test_each_type_says_how_its_points_are_grouped(self):
        words = self.sidecar("centroid")
        self.assertEqual((words["output"], words["peaks"]["grouping"]), ({"labels": ["centroid"]}, "each"))
        self.assertNotIn("skeleton", words)
        words = self.sidecar("bottomup", edges="[[head, wing right]]")
        self.assertEqual((words["peaks"]["grouping"], words["peaks"]["pafs"]), ("paf", "PartAffinityFieldsHead"))
        words = self.sidecar("centered_instance", gray="true")
        self.assertEqual(words["input"], {"channels": "gray", "padding": 0, "roi-size": 100, "roi-crop": "sleap"})

    def test_crops_that_the_stride_does_not_divide_are_padded_in_the_graph(self):
        facts = training.facts(config("centered_instance"))
        self.assertEqual((sleap.size(facts), sleap.sides(facts), facts.prepares), (((64, 64), False), (100, 100), True))
        facts = training.facts(config())
        self.assertEqual((sleap.size(facts), facts.prepares), (((64, 96), True), True))


def doubling():
    """A network that doubles its input, twice: by a weight and by a constant of a node."""
    graph = helper.make_graph(
        [
            helper.make_node("Constant", [], ["two"], value=numpy_helper.from_array(np.float32(2))),
            helper.make_node("Mul", ["image", "two"], ["twice"]),
            helper.make_node("Mul", ["twice", "weight"], ["maps"]),
        ],
        "doubling",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 1, "height", "width"])],
        [helper.make_tensor_value_info("maps", TensorProto.FLOAT, ["batch", 1, "rows", "columns"])],
        [numpy_helper.from_array(np.float32(2), "weight")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def session(model):
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


class Graphs(unittest.TestCase):
    def test_frames_are_scaled_as_torchvision_scales_bytes(self):
        model = doubling()
        onnx_file.prepared(model, 0.5, 1, None)
        onnx.checker.check_model(model, full_check=True)
        frame = np.random.default_rng(3).integers(0, 256, (1, 1, 8, 12)).astype(np.float32)
        (found,) = session(model).run(None, {"image": frame / 255})

        # Antialiased by 2, a pixel has the weights 1, 3, 3, 1, fewer at the edges.
        def halved(rows):
            padded, inside = np.pad(rows, ((1, 1), (0, 0))), np.pad(np.ones(len(rows)), 1)
            taps = np.array([1, 3, 3, 1])
            sums = [(taps @ padded[i : i + 4]) / (taps @ inside[i : i + 4]) for i in range(0, len(rows), 2)]
            return np.floor(np.array(sums) + 0.5)

        # As Pillow: across, then down. The two weights of the network multiply by 4.
        wanted = halved(halved(frame[0, 0].T).T)
        self.assertEqual(found.shape, (1, 1, 4, 6))
        self.assertTrue(np.allclose(found[0, 0] / 4 * 255, wanted, atol=1e-3))

    def test_frames_are_padded_after_the_scale(self):
        for scale, sides, padded in ((1, (7, 12), (8, 12)), (0.5, (13, 11), (8, 8)), (0.3, (10, 20), (4, 8))):
            model = doubling()
            onnx_file.prepared(model, scale, 4, sides)
            onnx.checker.check_model(model, full_check=True)
            dims = [each.dim_value for each in model.graph.input[0].type.tensor_type.shape.dim]
            self.assertEqual(dims[2:], list(sides))
            (found,) = session(model).run(None, {"image": np.ones((1, 1, *sides), np.float32)})
            rows, columns = (int(side * scale) for side in sides)
            self.assertEqual(found.shape[2:], padded)
            self.assertTrue((found[0, 0, :rows, :columns] == 4).all())
            self.assertEqual(found.sum(), 4 * rows * columns, "zeros below and on the right")

    def test_float16_is_that_of_inputs_outputs_weights_and_constants(self):
        model = doubling()
        onnx_file.prepared(model, 0.5, 16, None)
        half = onnx_file.in_float16(model)
        onnx.checker.check_model(half, full_check=True)
        types = {each.type.tensor_type.elem_type for each in [*half.graph.input, *half.graph.output]}
        self.assertEqual(types, {TensorProto.FLOAT16})
        kept = {each.name for each in half.graph.initializer if each.data_type == TensorProto.FLOAT}
        self.assertEqual(kept, set())
        self.assertEqual(model.graph.input[0].type.tensor_type.elem_type, TensorProto.FLOAT, "the other stays as it was")


class Command(unittest.TestCase):
    def run_export(self, *arguments):
        command = repository.command("export.sleap", *arguments, python=sys.executable)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stderr

    def test_folders_that_are_no_model_and_missing_packages_are_named_in_a_sentence(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            self.assertEqual(self.run_export(folder / "none")[0], 1)
            self.assertIn("none' is no folder", self.run_export(folder / "none")[1])
            self.assertIn("has no best.ckpt", self.run_export(folder)[1])
            (folder / "best_model.h5").touch()
            self.assertIn("SLEAP 1.4 and older", self.run_export(folder)[1])
            (folder / "best.ckpt").touch()
            self.assertIn("has no training_config.yaml", self.run_export(folder)[1])
            (folder / "training_config.yaml").write_text("a: [")
            with self.assertRaisesRegex(common.ExportError, "cannot be read"):
                training.read(folder)
            (folder / "training_config.yaml").write_text("3")
            with self.assertRaisesRegex(common.ExportError, "is no configuration"):
                training.read(folder)
            # The Python that runs the tests has no sleap-nn.
            code, error = self.run_export(folder)
            self.assertEqual((code, error.count("\n")), (1, 1), error)
            self.assertRegex(error, "has not what an export needs: .*sleap_nn")

    def test_another_program_is_no_known_one(self):
        done = subprocess.run([repository.ROOT / "scripts" / "export", "dannce"], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1))
        self.assertIn("'dannce' is no program whose models are exported", done.stderr)


if __name__ == "__main__":
    unittest.main()
