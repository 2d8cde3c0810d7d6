"""Rows of bench/gpu/streams.py that need another context or two GPUs, with stand-ins for the program that measures."""

from __future__ import annotations

import contextlib
import io
import json
import os
import tempfile
import unittest
from argparse import Namespace
from pathlib import Path
from unittest import mock

from cudainfer_tools.bench.gpu import streams

# Prints the frames a second of the devices that it was given, and what it was started with to a file.
LOAD = """#!/bin/sh
echo "$*" >>"$(dirname "$0")/started"
case "$*" in
    *cuda:0,cuda:1*) fps=190 ;;
    *"--each cuda:1"*) fps=50 ;;
    *) fps=100 ;;
esac
echo '{"fps": '$fps', "p50_ms": 1.0, "p99_ms": 2.0, "cpu_ms_per_frame": 0.5, "batches": 2, "batched_frames": 30}'
"""


class Rows(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        load = self.folder / "load"
        load.write_text(LOAD)
        load.chmod(0o755)
        self.bench = streams.Bench(Namespace(load=str(load), session=None, video="clip.mp4"))

    def rows(self, measure: str, visible: str) -> list[dict]:
        printed = io.StringIO()
        with (
            mock.patch.dict(os.environ, CUDA_VISIBLE_DEVICES=visible),
            contextlib.redirect_stdout(printed),
            contextlib.redirect_stderr(io.StringIO()),
        ):
            getattr(self.bench, measure)(Path("yolo.onnx"))
        self.assertFalse(self.bench.failed)
        return [json.loads(line) for line in printed.getvalue().splitlines()]

    def started(self) -> list[str]:
        return (self.folder / "started").read_text().splitlines()

    def test_one_gpu_alone_is_not_compared_with_another(self):
        self.assertEqual(self.rows("gpus", "0"), [])
        self.assertEqual(self.rows("gpus", ""), [])

    def test_two_gpus_are_compared_with_the_first(self):
        rows = self.rows("gpus", "0,1")
        self.assertEqual([row["fps"] for row in rows], [100, 50, 190, 150])
        goals = [[(goal["goal"], goal["met"]) for goal in row["goals"]] for row in rows]
        self.assertEqual(
            goals,
            [
                [],
                [("≥ 95% of cuda:0 (50%)", False)],
                [("≥ 95% of twice cuda:0 (95%)", True)],
                [("≥ 95% of twice cuda:0 (75%)", False)],
            ],
        )
        self.assertEqual([row["streams"] for row in rows], [16, 16, 32, 32])
        started = self.started()
        self.assertEqual(len(started), 5)
        self.assertIn("--streams 32 --each cuda:0,cuda:1", started[2])
        for command in started:
            for part in ("cudainferupload device={each} !", "fusedpreproc device={each} !", "instance=bench-{each} "):
                self.assertIn(part, command)

    def test_another_context_is_compared_with_the_shared_one(self):
        self.bench.rates[streams.ELSEWHERE] = 110.0
        [row] = self.rows("elsewhere", "0")
        self.assertEqual(row["source"], "another CUDA context")
        self.assertEqual(row["goals"], [{"goal": "≥ 90% of the shared context's (91%)", "met": True}])
        self.assertIn(" ! cudaupload ! ", self.started()[0])


if __name__ == "__main__":
    unittest.main()
