"""Tests of pipeline.py, on the project's own launch files and on small ones."""

import signal
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from cudainfer_tools import pipeline


class LaunchFiles(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        patch = mock.patch.object(pipeline, "PIPELINES", Path(folder.name))
        patch.start()
        self.addCleanup(patch.stop)
        self.folder = Path(folder.name)

    def write(self, text: str) -> pipeline.Pipeline:
        (self.folder / "x.launch").write_text(text)
        return pipeline.read("x")

    def test_values_and_defaults_fill_the_placeholders(self):
        read = self.write("# Does x\n# a=1  first\n# b=  second\nsrc p={a}\n  ! sink q={b}\n")
        self.assertEqual(read.summary, "Does x")
        self.assertEqual(read.arguments({"b": "2"}), ["src", "p=1", "!", "sink", "q=2"])

    def test_a_value_with_spaces_and_quotes_stays_one_argument(self):
        read = self.write("# X\n# a=  first\nsrc location={a} ! sink\n")
        arguments = read.arguments({"a": 'my "video\'s" file.mp4'})
        self.assertEqual(arguments, ["src", 'location=my "video\'s" file.mp4', "!", "sink"])
        self.assertIn("'location=my \"video'\"'\"'s\" file.mp4'", pipeline.printable(arguments))

    def test_backslashes_survive_gst_launch(self):
        read = self.write("# X\n# a=  first\nsrc location={a}\n")
        self.assertEqual(read.arguments({"a": "a\\b"})[1], "location=a\\\\b")

    def test_an_empty_value_is_one_for_gst_launch_too(self):
        read = self.write("# X\n# a=1  first\nsrc p={a} q=2\n")
        self.assertEqual(read.arguments({"a": ""}), ["src", 'p=""', "q=2"])

    def test_braces_of_caps_are_left_alone(self):
        read = self.write("# X\nsrc ! 'video/x-raw,format={ NV12, I420 }' ! sink\n")
        self.assertEqual(read.arguments({})[2], "video/x-raw,format={ NV12, I420 }")

    def test_missing_unknown_and_undeclared_keys_are_named(self):
        read = self.write("# X\n# a=  the first\nsrc p={a}\n")
        with self.assertRaisesRegex(pipeline.PipelineError, "needs a=.*the first"):
            read.arguments({})
        with self.assertRaisesRegex(pipeline.PipelineError, "no key 'z'; its keys are: a"):
            read.arguments({"a": "1", "z": "2"})
        with self.assertRaisesRegex(pipeline.PipelineError, "# b=default"):
            self.write("# X\nsrc p={b}\n")
        with self.assertRaisesRegex(pipeline.PipelineError, "no pipeline 'y'; there are: x"):
            pipeline.read("y")


class Installed(LaunchFiles):
    """Away from the repository, where there are no models and no folder out."""

    def setUp(self):
        super().setUp()
        patch = mock.patch.object(pipeline, "INSTALLED", True)
        patch.start()
        self.addCleanup(patch.stop)

    def test_outputs_go_to_the_working_directory_and_inputs_must_be_given(self):
        read = self.write(
            "# X\n# model=./.cache/models/m.onnx  the model\n# json=./out/x.jsonl  the results\nsrc p={model} q={json}\n"
        )
        self.assertEqual(read.arguments({"model": "a.onnx"}), ["src", "p=a.onnx", "q=./x.jsonl"])
        with self.assertRaisesRegex(pipeline.PipelineError, "needs model=.*the model"):
            read.arguments({})

    def test_gstreamer_finds_the_plugin_by_itself(self):
        with mock.patch.dict(pipeline.os.environ, clear=True):
            self.assertNotIn("GST_PLUGIN_PATH", pipeline.environment())


class OwnPipelines(unittest.TestCase):
    def test_every_pipeline_has_a_summary_and_runs_without_keys(self):
        self.assertTrue({"detect", "detect-track", "pose-bottomup", "pose-topdown"} <= set(pipeline.names()))
        for name in pipeline.names():
            read = pipeline.read(name)
            self.assertTrue(read.summary, name)
            self.assertNotRegex(" ".join(read.arguments({})), pipeline.PLACEHOLDER, name)


class Errors(unittest.TestCase):
    def reported(self, output: str) -> str:
        done = mock.Mock(returncode=1, stdout="", stderr=output)
        with (
            mock.patch.object(pipeline, "launched", return_value=done),
            self.assertRaises(pipeline.PipelineError) as caught,
        ):
            pipeline.run(["fakesrc", "!", "fakesink"])
        return str(caught.exception)

    def test_an_elements_sentence_is_told_and_begins_with_its_name_once(self):
        ours = "ERROR: from element /GstPipeline:pipeline0/GstCudaInferTrtInfer:trtinfer0: trtinfer0: the model is none\nMore:\n"
        self.assertEqual(self.reported(ours), "trtinfer0: the model is none")
        other = "ERROR: from element /GstPipeline:pipeline0/GstTypeFindElement:typefind: This is text\n" + ours
        self.assertEqual(self.reported(other), "typefind: This is text")

    def test_a_line_that_cannot_be_parsed_and_one_that_dies_are_told(self):
        self.assertIn('no element "x"', self.reported('WARNING: erroneous pipeline: no element "x"\n'))
        self.assertIn("fakesrc", self.reported(""))

    def test_a_gst_launch_that_an_error_does_not_end_is_killed(self):
        error = "ERROR: from element /GstPipeline:pipeline0/GstTypeFindElement:typefind: This is text"
        waits = ["sh", "-c", f"echo '{error}' >&2; exec sleep 1000"]
        with (
            mock.patch.object(pipeline, "command", return_value=waits),
            mock.patch.object(pipeline, "environment", return_value={}),
            mock.patch.object(pipeline, "PATIENCE_S", 0.1),
            self.assertRaisesRegex(pipeline.PipelineError, "typefind: This is text"),
        ):
            pipeline.run(["fakesrc", "!", "fakesink"])

    def test_a_gst_launch_that_does_not_end_within_the_limit_is_killed(self):
        with (
            mock.patch.object(pipeline, "command", return_value=["sleep", "1000"]),
            mock.patch.object(pipeline, "environment", return_value={}),
        ):
            self.assertEqual(pipeline.launched([], limit_s=0.1).returncode, -signal.SIGKILL)


if __name__ == "__main__":
    unittest.main()
