"""The bench beside sleap-nn, with stand-ins for what it measures."""

from __future__ import annotations

import json
import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from cudainfer_tools import pipeline
from cudainfer_tools.bench.report.sleap import labelling
from cudainfer_tools.bench.sleap import __main__ as bench
from cudainfer_tools.bench.sleap import sides
from cudainfer_tools.bench.sleap.process import Run, run

FOLDERS = {name: Path(name) for name in ("checkpoints", "exports", "networks")}


def took(seconds: float, status: int = 0, log: str = "", others: float = 0.0) -> Run:
    samples = [(0.5, 0.0, 100.0), (seconds - 0.5, 80.0, 900.0)]
    return Run(status, seconds, 500.0, samples, 50.0, others, log)


class Figures(unittest.TestCase):
    def test_start_up_is_what_the_frames_do_not_take(self):
        # 3 s, and 100 frames a second.
        short, long = (took(4.0), sides.Found(100, 10)), (took(8.0, others=0.2), sides.Found(500, 50))
        row = bench.figures([short], [long])
        self.assertEqual((row["fps"], row["steady_fps"], row["start_s"]), (62.5, 100.0, 3.0))
        # Of the samples, the one before start-up has ended does not count.
        self.assertEqual((row["gpu_percent"], row["gpu_mib"], row["others"]), (80.0, 900, 0.2))

    def test_a_long_video_that_takes_no_longer_says_nothing_about_start_up(self):
        with self.assertRaisesRegex(pipeline.PipelineError, "more --copies"):
            bench.figures([(took(8.0), sides.Found(100, 10))], [(took(8.0), sides.Found(500, 50))])

    def test_the_fastest_batch_is_measured_and_a_failure_is_a_row_with_its_words(self):
        side = sides.Side("sleap-nn, PyTorch", lambda *_: [], lambda *_: sides.Found(1, 1), {})
        seconds = {(1, "short"): 9.0, (4, "short"): 4.0, (4, "long"): 8.0}
        found = {"short": sides.Found(100, 10), "long": sides.Found(500, 50)}
        measured = bench.Bench({}, "cpu", [1, 4], 1)
        with mock.patch.object(measured, "once", lambda _, length, batch: (took(seconds[batch, length]), found[length])):
            row = measured.row("bottomup", side)
        self.assertEqual((row["batch"], row["steady_fps"]), (4, 100.0))
        with mock.patch.object(measured, "once", side_effect=pipeline.PipelineError("no such network")):
            self.assertEqual(measured.row("bottomup", side)["failed"], "no such network")

    def test_a_run_on_the_cpu_is_none_on_the_gpu(self):
        side = sides.Side("sleap-nn, ONNX", lambda *_: [], lambda *_: sides.Found(1, 1), {})
        said = took(1.0, log="[W] Failed to create CUDAExecutionProvider. Require cuDNN")
        with (
            tempfile.TemporaryDirectory() as folder,
            mock.patch.object(bench, "OUT", Path(folder)),
            mock.patch.object(bench, "run", return_value=said),
            self.assertRaisesRegex(pipeline.PipelineError, "ran on the CPU"),
        ):
            bench.Bench({"short": Path("x.mp4")}, "cuda", [1], 1).once(side, "short", 1)

    def test_ours_may_not_go_on_with_another_device(self):
        videos, out, models = [Path("a.mp4"), Path("b.mp4")], Path("out"), [Path("centroid"), Path("centered")]
        words = sides.line(videos, out, models, sides.settings(4, "cuda"))
        self.assertEqual((words.count("device=cuda"), words.count("provider=cuda"), words.count("batch-size=4")), (2, 2, 2))
        with mock.patch.object(pipeline, "environment", return_value={}):
            all_sides = sides.sides("topdown", FOLDERS, Path("python"), "cuda", 8)
        (rounded,) = (side for side in all_sides if side.who.endswith("TF32"))
        self.assertLessEqual({"precision=tf32", "provider=cuda", "batch-size=16"}, set(rounded.command(videos, 16, out)))
        words = sides.many(videos, 4, out, models, "cuda")
        self.assertLessEqual({"trtinfer.device=cuda", "trtinfer.provider=cuda", "trtinfer.batch-size=4"}, set(words))


class Processes(unittest.TestCase):
    def test_a_failed_command_keeps_the_line_that_tells_why(self):
        with tempfile.TemporaryDirectory() as folder:
            measured = run(["sh", "-c", "echo ValueError: three channels; echo bye; exit 3"], dict(os.environ), Path(folder), 60)
        self.assertEqual((measured.status, measured.last_words()), (3, "ValueError: three channels"))

    def test_a_pipeline_that_fails_keeps_the_elements_sentence(self):
        log = "ERROR: from element /p/GstCudaInferTrtInfer:trtinfer0: trtinfer0: no CUDA driver\nERROR: pipeline doesn't want to preroll.\n"
        self.assertEqual(took(1.0, 1, log).last_words(), "trtinfer0: no CUDA driver")

    def test_a_command_that_does_not_end_is_killed_and_says_so(self):
        with tempfile.TemporaryDirectory() as folder:
            measured = run(["sleep", "60"], dict(os.environ), Path(folder), 0.2)
        self.assertNotEqual(measured.status, 0)
        self.assertIn("did not end in 0 s", measured.last_words())

    def test_tables_are_counted_over_all_files(self):
        with tempfile.TemporaryDirectory() as name:
            for number in (1, 2):
                table = Path(name) / f"{number}.csv"
                table.write_text("head\n" + "row\n" * number)
                shape = {"backend_metadata": {"shape": [10, 4, 4, 3]}}
                table.with_suffix(".json").write_text(json.dumps({"videos": [shape]}))
            self.assertEqual(sides.labelled(Path(name)), sides.Found(20, 3))
        with tempfile.TemporaryDirectory() as name, self.assertRaisesRegex(pipeline.PipelineError, "no table"):
            sides.labelled(Path(name))


class Report(unittest.TestCase):
    def test_ratios_are_of_the_faster_setting_of_sleap_nn_and_failures_are_named(self):
        both = {
            "batch": 4,
            "frames": 100,
            "instances": 200,
            "start_s": 1.0,
            "peak_mb": 1000.0,
            "gpu_mib": None,
            "gpu_percent": None,
        }
        both |= {"row": "bottomup", "device": "cpu", "others": 0.02}
        rows = [
            both | {"who": sides.PYTORCH, "fps": 20.0, "steady_fps": 25.0},
            both | {"who": f"{sides.PYTORCH}, OMP_WAIT_POLICY=PASSIVE", "fps": 10.0, "steady_fps": 11.0},
            {"row": "bottomup", "who": sides.ONNX, "device": "cpu", "batch": 1, "failed": "three channels"},
            both | {"who": "cudainfer, float32", "fps": 50.0, "steady_fps": 100.0},
        ]
        reported = {"rows": rows, "batches": [1, 4], "copies": 5, "rounds": 3, "processor": "a CPU", "cores": 2}
        reported["sleap"] = {"sleap-nn": "1", "torch": "2", "onnxruntime": "3", "python": "3.11"}
        reported["cudainfer"] = {"gstreamer": "1.22", "onnxruntime": "lib", "decoder": "avdec_h264"}
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(labelling(Path(folder), "cpu"), [])
            (Path(folder) / "cpu-sleap-2026-01-01.json").write_text(json.dumps(reported))
            lines = labelling(Path(folder), "cpu")
            self.assertEqual(labelling(Path(folder), "cuda"), [])
        self.assertIn("| bottomup | cudainfer, float32 | 4 | 50.0 | 2.5 | 100.0 | 4.0 | 1.0 | 1,000 | 2.000 |", lines)
        self.assertIn("- bottomup, sleap-nn, ONNX: failed. three channels", lines)


if __name__ == "__main__":
    unittest.main()
