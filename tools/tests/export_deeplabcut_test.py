"""Tests of scripts/export deeplabcut: what is refused, what the sidecar has, and how graphs are joined."""

import copy
import subprocess
import sys
import tempfile
import tomllib
import unittest
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import yaml
from onnx import TensorProto, helper, numpy_helper

from cudainfer_tools import repository
from cudainfer_tools.export import common, deeplabcut, deeplabcut_config, onnx_file

CONFIG = """
data:
  colormode: RGB
  inference: {auto_padding: null, normalize_images: true, top_down_crop: null, resize: null}
metadata: {bodyparts: [snout, 'ear "left"', tail, paw], unique_bodyparts: [corner]}
method: bu
model:
  backbone: {type: ResNet, output_stride: 16}
  heads:
    bodypart:
      predictor: {type: HeatmapPredictor, apply_sigmoid: false, clip_scores: true, location_refinement: true, locref_std: 7.2801}
"""
PREDICTOR = {
    "type": "PartAffinityFieldPredictor",
    "num_animals": 3,
    "num_multibodyparts": 4,
    "num_uniquebodyparts": 0,
    "graph": [[0, 1], [0, 2], [1, 2], [2, 3]],
    "edges_to_keep": [1, 2, 3],
    "locref_stdev": 7.2801,
    "nms_radius": 5,
    "sigma": 1.0,
    "min_affinity": 0.05,
}


def config(predictor=None, **more):
    changed = yaml.safe_load(CONFIG)
    head = changed["model"]["heads"]["bodypart"]
    head["predictor"] = PREDICTOR | predictor if predictor is not None else head["predictor"]
    for path, value in more.items():
        *way, key = path.split("__")
        at = changed
        for name in way:
            at = at[name]
        at[key] = value
    return copy.deepcopy(changed)


def sidecar(changed, stride=8, head="bodypart"):
    return tomllib.loads(deeplabcut_config.sidecar(deeplabcut_config.facts(changed, head), stride, "of a test"))


class Facts(unittest.TestCase):
    def refused(self, changed, head="bodypart"):
        with self.assertRaises(common.ExportError) as caught:
            deeplabcut_config.facts(changed, head)
        return str(caught.exception)

    def test_the_edges_that_are_kept_stay_as_they_are_also_in_circles(self):
        fields = deeplabcut_config.facts(config({})).fields
        self.assertEqual((fields.edges, fields.channels), ([(0, 2), (1, 2), (2, 3)], [1, 2, 3]))
        fields = deeplabcut_config.facts(config({"edges_to_keep": [2, 0, 1, 0]})).fields
        self.assertEqual((fields.edges, fields.channels), ([(1, 2), (0, 1), (0, 2)], [2, 0, 1]))

    def test_what_is_not_exported_is_refused_in_a_sentence(self):
        self.assertIn(
            "what 'DEKRPredictor' finds is not exported: HeatmapPredictor and", self.refused(config({"type": "DEKRPredictor"}))
        )
        self.assertIn("method 'ctd' with HeatmapPredictor is not exported", self.refused(config(method="ctd")))
        self.assertIn("method 'td' with PartAffinity", self.refused(config({}, method="td")))
        self.assertIn("a head 'identity'", self.refused(config(model__heads__identity={})))
        self.assertIn("has no head 'tail': it has bodypart", self.refused(config(), "tail"))
        self.assertIn("num_uniquebodyparts above 0", self.refused(config({"num_uniquebodyparts": 2})))
        self.assertIn("num_multibodyparts: 3, but metadata.bodyparts names 4", self.refused(config({"num_multibodyparts": 3})))
        self.assertIn("are 0 edges of 4 points: there must be an edge", self.refused(config({"edges_to_keep": []})))
        for name in ("add_discarded", "force_fusion"):
            self.assertIn(f"the predictor has {name}", self.refused(config({name: True})))
        for edge in [0, 4], [1, 0], [1, 1]:
            self.assertIn("one of the 4 points", self.refused(config({"graph": [edge], "edges_to_keep": [0]})))
        self.assertIn("nms_radius: 4 odd", self.refused(config({"nms_radius": 4})))
        self.assertIn("data.inference.resize resizes", self.refused(config(data__inference__resize={"height": 3})))
        self.assertIn("no model.heads", self.refused({"model": {"heads": 3}}))
        self.assertIn("metadata.bodyparts must not be empty", self.refused(config(metadata__bodyparts=[])))
        for changed in config({"sigma": None}), config(metadata=None), config(method="td"):
            self.assertIn("lacks what a model with", self.refused(changed))
        crop = {"width": 256, "height": 192, "crop_with_context": False}
        self.assertIn("crop_with_context: false", self.refused(config(method="td", data__inference__top_down_crop=crop)))


class Sidecar(unittest.TestCase):
    def test_a_network_of_one_animal_has_maps_with_offsets(self):
        words = sidecar(config())
        self.assertEqual(words["input"]["mean"], [0.485, 0.456, 0.406])
        self.assertEqual((words["input"]["resize"], words["input"]["padding"], words["input"]["size-multiple"]), ("pad", "mean", 1))
        self.assertEqual(words["skeleton"], {"points": ["snout", 'ear "left"', "tail", "paw"]})
        wanted = {"output": "heatmap", "mode": "global", "grid": "strided-half", "stride": 8, "threshold": 0.0}
        self.assertEqual(words["peaks"], wanted | {"refinement": "offsets", "offsets": "locref", "offset-scale": 7.2801})
        predictor = {"type": "HeatmapPredictor", "apply_sigmoid": True, "location_refinement": False}
        words = sidecar(config(model__heads__bodypart__predictor=predictor))
        self.assertEqual(words["peaks"], wanted | {"activation": "sigmoid", "refinement": "none"})

    def test_the_input_is_that_of_the_configuration(self):
        words = sidecar(config(data__colormode="BGR", data__inference={"scale_to_unit_range": True}))
        self.assertEqual(words["input"], {"channels": "bgr", "resize": "pad", "padding": "mean", "size-multiple": 1})
        self.assertEqual(sidecar(config(data__inference={}))["input"]["scale"], 1.0)
        padding = {"pad_width_divisor": 32, "pad_height_divisor": 16}
        self.assertEqual(sidecar(config(data__inference__auto_padding=padding))["input"]["size-multiple"], 32)

    def test_crops_are_those_around_boxes_with_black_beyond_the_frame(self):
        words = sidecar(config(method="TD", data__inference__top_down_crop={"width": 256, "height": 192}))
        self.assertEqual((words["input"]["resize"], words["input"]["padding"]), ("letterbox", 0))
        self.assertEqual(words["input"]["roi-crop"], "deeplabcut")
        self.assertNotIn("size-multiple", words["input"])

    def test_several_animals_have_peaks_and_lines_as_the_assembler_takes_them(self):
        words = sidecar(config({}))
        self.assertEqual(words["input"]["size-multiple"], 1)
        self.assertEqual(words["skeleton"]["edges"], [["snout", "tail"], ['ear "left"', "tail"], ["tail", "paw"]])
        peaks = words["peaks"]
        self.assertEqual((peaks["encoding"], peaks["valid"], peaks["line-scores"]), ("candidates", "peak_mask", "line_scores"))
        self.assertEqual((peaks["threshold"], peaks["min-line-score"]), (0.1, 0.05))
        self.assertEqual((peaks["paf-layout"], peaks["max-poses"]), ("deeplabcut", 3))
        self.assertEqual((peaks["normalized"], peaks["pixel-origin"]), (False, "center"))
        peaks = sidecar(config({"num_animals": 1}))["peaks"]
        self.assertEqual((peaks["encoding"], peaks["threshold"]), ("points", 0.01))

    def test_points_of_a_head_of_their_own_are_the_unique_ones(self):
        changed = config({})
        changed["model"]["heads"]["unique_bodypart"] = config()["model"]["heads"]["bodypart"]
        self.assertEqual(sidecar(changed, head="unique_bodypart")["skeleton"]["points"], ["corner"])


class Maps(unittest.TestCase):
    def test_maps_of_other_points_and_edges_are_refused(self):
        facts = deeplabcut_config.facts(config({}))
        fit = {"heatmap": (1, 4, 9, 9), "locref": (1, 8, 9, 9), "paf": (1, 8, 9, 9)}
        deeplabcut.check_maps(facts, fit)
        for name, channels, words in (
            ("heatmap", 5, "maps of 5 points, but its pytorch_config.yaml names 4"),
            ("locref", 4, "4 maps of offsets, 8 were expected"),
            ("paf", 6, "6 maps of fields, fewer than"),
        ):
            with self.assertRaisesRegex(common.ExportError, words):
                deeplabcut.check_maps(facts, fit | {name: (1, channels, 9, 9)})


def multiplied(name, source, factor):
    """A graph that multiplies, whose inner names are the same in all of them."""
    graph = helper.make_graph(
        [helper.make_node("Mul", [source, "factor"], ["inner"]), helper.make_node("Identity", ["inner"], [name])],
        name,
        [helper.make_tensor_value_info(source, TensorProto.FLOAT, ["batch", 3])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", 3])],
        [numpy_helper.from_array(np.float32(factor), "factor")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)


class Joined(unittest.TestCase):
    def test_the_second_graph_calculates_in_float32_whatever_the_first_does(self):
        # Beyond float16, and finer than its steps.
        first, then = multiplied("maps", "image", 2.0), multiplied("peaks", "maps", 1000.001)
        for model, kind in (first, np.float32), (onnx_file.in_float16(first), np.float16):
            joined = onnx_file.joined(model, then)
            onnx.checker.check_model(joined, full_check=True)
            session = onnxruntime.InferenceSession(joined.SerializeToString(), providers=["CPUExecutionProvider"])
            (found,) = session.run(None, {"image": np.array([[1, 2, 100]], kind)})
            self.assertEqual(found.dtype, np.float32)
            self.assertTrue(np.allclose(found, [[2000.002, 4000.004, 200000.2]], rtol=1e-6), found)


class Command(unittest.TestCase):
    def run_export(self, *arguments):
        command = repository.command("export.deeplabcut", *arguments, python=sys.executable)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stderr

    def test_folders_without_a_model_are_named_in_a_sentence(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for make, words in (
                (None, "has no pytorch_config.yaml"),
                ("pose_cfg.yaml", "DeepLabCut 2 (pose_cfg.yaml) are not read"),
                ("pytorch_config.yaml", "has no snapshot-*.pt"),
            ):
                if make:
                    (folder / make).touch()
                code, error = self.run_export(folder)
                self.assertEqual((code, error.count("\n")), (1, 1), error)
                self.assertIn(words, error)
            self.assertIn("none' is no folder", self.run_export(folder / "none")[1])
            self.assertIn("is no file: --snapshot names", self.run_export(folder, "--snapshot", "other.pt")[1])

    def test_the_best_snapshot_is_taken_then_the_last(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for file in ("pytorch_config.yaml", "snapshot-25.pt", "snapshot-200.pt", "snapshot-detector-best-300.pt"):
                (folder / file).touch()
            self.assertEqual(deeplabcut.found(folder, None).name, "snapshot-200.pt")
            (folder / "snapshot-best-50.pt").touch()
            self.assertEqual(deeplabcut.found(folder, None).name, "snapshot-best-50.pt")
            self.assertEqual(deeplabcut.found(folder, Path("snapshot-25.pt")).name, "snapshot-25.pt")


if __name__ == "__main__":
    unittest.main()
