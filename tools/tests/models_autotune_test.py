"""Tests of models/autotune.py."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path
from unittest import mock

import onnx
from onnx import TensorProto, helper

from cudainfer_tools import pipeline
from cudainfer_tools.models import autotune
from cudainfer_tools.models.autotune import Row, Setting


def saved(folder: str, dims: list) -> Path:
    image = helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)
    out = helper.make_tensor_value_info("y", TensorProto.FLOAT, dims)
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "test", [image], [out])
    file = Path(folder) / "m.onnx"
    onnx.save(helper.make_model(graph), file)
    return file


class Settings(unittest.TestCase):
    def test_the_properties_are_those_that_count(self):
        self.assertEqual(Setting("cuda").properties(), {"provider": "cuda"})
        setting = Setting("cpu", 4, 2, 2, 1)
        found = {"provider": "cpu", "batch-size": 4, "batch-timeout": 2_000_000, "workers": 2, "intra-threads": 1}
        self.assertEqual(setting.properties(), found)

    def test_a_precision_is_a_property_where_it_is_not_the_models(self):
        setting = Setting("openvino", precision="bfloat16")
        self.assertEqual(setting.properties(), {"provider": "openvino", "precision": "bfloat16"})
        tried = autotune.grid("openvino", [1], 2)
        self.assertEqual({setting.precision for setting in tried}, {"model", "bfloat16"})
        self.assertEqual({setting.precision for setting in autotune.grid("cpu", [1], 2)}, {"model"})

    def test_streams_are_told_to_share(self):
        row = Row(Setting("cuda", 4), 1.0)
        self.assertTrue(autotune.paste(row, streams=2).endswith(" instance=shared"))
        self.assertNotIn("instance", autotune.paste(row, streams=1))

    def test_sessions_and_threads_use_the_cores_and_no_more(self):
        self.assertEqual(autotune.shapes(1), [(1, 1)])
        self.assertEqual(autotune.shapes(2), [(1, 2), (2, 1)])
        for cores in (4, 6, 16, 64):
            self.assertTrue(all(0 < workers * threads <= cores for workers, threads in autotune.shapes(cores)), cores)


class Batches(unittest.TestCase):
    def of(self, dims: list, streams: int = 1) -> list[int]:
        with tempfile.TemporaryDirectory() as folder:
            return autotune.batches(saved(folder, dims), streams)

    def test_a_fixed_batch_is_the_only_one(self):
        self.assertEqual(self.of([4, 3, 8, 8]), [4])
        self.assertEqual(self.of([1, 3, 8, 8]), [1])

    def test_an_open_one_is_tried_as_far_as_the_streams_can_fill_it(self):
        self.assertEqual(self.of(["n", 3, 8, 8]), [1, 2, 4])
        self.assertEqual(self.of(["n", 3, 8, 8], streams=8), [1, 2, 4, 8, 16])


class Choice(unittest.TestCase):
    def test_finalists_are_the_fastest_with_timeouts_and_the_fastest_of_batch_one(self):
        rows = [Row(Setting("cuda", batch), fps) for batch, fps in ((1, 10.0), (2, 20.0), (4, 30.0), (8, 40.0))]
        chosen = autotune.finalists(rows)
        self.assertEqual({setting.batch for setting in chosen}, {1, 2, 4, 8})
        self.assertEqual([s.timeout_ms for s in chosen if s.batch == 8], list(autotune.TIMEOUTS))
        self.assertEqual([s.timeout_ms for s in chosen if s.batch == 1], [0])
        self.assertEqual(len(chosen), len(set(chosen)))

    def test_the_balance_is_the_shortest_delay_near_the_top(self):
        rows = [
            Row(Setting("cuda", 16), 100.0, None, 20.0, 30.0),
            Row(Setting("cuda", 8), 95.0, None, 10.0, 12.0),
            Row(Setting("cuda", 1), 50.0, None, 2.0, 3.0),
            Row(Setting("cuda", 2), 99.0),
        ]
        chosen = {name: row.setting.batch for name, row in autotune.choose(rows).items()}
        self.assertEqual(chosen, {"most frames a second": 16, "shortest delay": 1, "balance": 8})


class Tuning(unittest.TestCase):
    def tuner(self, failing: str) -> mock.Mock:
        def throughput(setting: Setting) -> Row:
            if setting.provider == failing:
                raise pipeline.PipelineError("no driver")
            return Row(setting, 10.0 * setting.batch)

        tuner = mock.Mock()
        tuner.throughput.side_effect = throughput
        tuner.delay.side_effect = lambda setting, fps: Row(setting, fps, None, 1.0, 2.0)
        return tuner

    @mock.patch("builtins.print")
    def test_a_gpu_provider_that_fails_is_left_out_after_one_try(self, _print: mock.Mock):
        tuner = self.tuner("cuda")
        rows = autotune.tune(tuner, ["cuda", "cpu"], [1, 2], 2, required=False)
        self.assertEqual({row.setting.provider for row in rows}, {"cpu"})
        tried = [call.args[0].provider for call in tuner.throughput.call_args_list]
        self.assertEqual(tried.count("cuda"), 1)

    @mock.patch("builtins.print")
    def test_a_precision_that_fails_is_left_out_and_the_provider_is_not(self, _print: mock.Mock):
        tuner = self.tuner("none")
        right = tuner.throughput.side_effect

        def throughput(setting: Setting) -> Row:
            if setting.precision == "bfloat16":
                raise pipeline.PipelineError("this processor has none")
            return right(setting)

        tuner.throughput.side_effect = throughput
        rows = autotune.tune(tuner, ["openvino"], [1], 2, required=True)
        self.assertEqual({row.setting.precision for row in rows}, {"model"})

    @mock.patch("builtins.print")
    def test_the_one_that_was_asked_for_must_work(self, _print: mock.Mock):
        with self.assertRaisesRegex(pipeline.PipelineError, "no driver"):
            autotune.tune(self.tuner("cuda"), ["cuda"], [1], 2, required=True)

    @mock.patch("builtins.print")
    def test_the_load_is_taken_of_what_the_setting_reached_without_a_timeout(self, _print: mock.Mock):
        tuner = self.tuner("none")
        autotune.tune(tuner, ["cuda"], [1, 4], 2, required=True)
        for call in tuner.delay.call_args_list:
            self.assertEqual(call.args[1], 10.0 * call.args[0].batch)


class Losses(unittest.TestCase):
    ROWS = (Row(Setting("cpu"), 1.0), Row(Setting("cpu", 2), 1.0), Row(Setting("openvino", precision="bfloat16"), 2.0))

    def test_each_precision_is_compared_once_with_the_reference(self):
        item = {"label": "person", "confidence": 0.5, "box": {"x": 0, "y": 0, "w": 4, "h": 4}}
        other = item | {"confidence": 0.4}

        def detect(*properties: str) -> list[list[dict]]:
            return [[other], []] if "precision=bfloat16" in properties else [[item], [item]]

        found = autotune.losses(list(self.ROWS), detect)
        self.assertEqual(
            found,
            {
                "provider=cpu precision=model": "F1 1.000 of 2 objects, mean IoU 1.000, confidence 0.0000 off",
                "provider=openvino precision=bfloat16": "F1 0.667 of 2 objects, mean IoU 1.000, confidence 0.1000 off",
            },
        )

    def test_a_model_that_is_no_detector_is_not_compared_and_says_why(self):
        detect = mock.Mock(side_effect=pipeline.PipelineError("gpunms0: no decoder reads these"))
        found = autotune.losses(list(self.ROWS), detect)
        self.assertEqual(set(found.values()), {"not compared: gpunms0: no decoder reads these"})
        self.assertEqual(detect.call_count, 1)


if __name__ == "__main__":
    unittest.main()
