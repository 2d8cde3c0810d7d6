"""Tests of bench/serving.py."""

import json
import unittest
from pathlib import Path
from unittest import mock

from cudainfer_tools import pipeline
from cudainfer_tools.bench import serving


class Lines(unittest.TestCase):
    def test_an_element_has_its_properties(self):
        self.assertEqual(serving.element("a b.onnx", {"workers": 2}), 'trtinfer model="a b.onnx" workers=2')


class Load(unittest.TestCase):
    def run_with(self, **done: object) -> dict:
        finished = mock.Mock(**{"returncode": 0, "stdout": "", "stderr": "", **done})
        with (
            mock.patch.object(serving.subprocess, "run", return_value=finished) as run,
            mock.patch.object(pipeline, "built", return_value=Path("/built")),
        ):
            reported = serving.load("source", "line", warm_up=0.5, streams=4)
        self.assertEqual(run.call_args.args[0], ["/built/load", "--warm-up", "0.5", "--streams", "4", "source", "line"])
        return reported

    def test_options_go_before_the_lines_and_json_comes_back(self):
        self.assertEqual(self.run_with(stdout="noise\n" + json.dumps({"fps": 3})), {"fps": 3})

    def test_a_failure_is_told_in_its_words(self):
        with self.assertRaisesRegex(pipeline.PipelineError, "^the model is none$"):
            self.run_with(returncode=1, stderr="the model is none\n")

    def test_the_mean_batch_is_of_the_counted_frames(self):
        self.assertEqual(serving.mean_batch({"batches": 4, "batched_frames": 10}), 2.5)
        self.assertIsNone(serving.mean_batch({"batches": None, "batched_frames": None}))
        self.assertIsNone(serving.mean_batch({"batches": 0, "batched_frames": 0}))


if __name__ == "__main__":
    unittest.main()
