"""Starts with a stand-in for gst-launch-1.0."""

from __future__ import annotations

import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from cudainfer_tools.bench import starts

# Says what GStreamer would log, and leaves something in the cache; slower without it.
LAUNCH = """#!/bin/sh
for word; do case $word in engine-cache=*) cache=${word#*=} ;; esac; done
case "$*" in *broken*) echo "no such model" >&2; exit 1 ;; esac
[ -d "$cache" ] && search=20 || search=5000
mkdir -p "$cache"
echo "a frame"
echo "the start took: library 3 ms, session 100 ms, search $search ms, warm-up 7 ms" >"$GST_DEBUG_FILE"
exec sleep 60
"""


class Starts(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        launch = Path(folder.name) / "gst-launch-1.0"
        launch.write_text(LAUNCH)
        launch.chmod(0o755)
        changed = {"PATH": f"{folder.name}:{os.environ['PATH']}", "GST_PLUGIN_PATH": folder.name}
        patched = mock.patch.dict(os.environ, changed)
        patched.start()
        self.addCleanup(patched.stop)

    def test_each_round_begins_with_an_empty_cache(self):
        rows = starts.measure([Path("/yolo.onnx")], "cuda", 2)
        self.assertEqual(
            [(row["row"], row["device"], row["cache"]) for row in rows], [("yolo", "cuda", "empty"), ("yolo", "cuda", "filled")]
        )
        self.assertEqual([row["parts"]["search"] for row in rows], [5000, 20])
        table = starts.table([*rows, {"row": "another", "fps": 1}])
        self.assertEqual(
            table[1], "| model | device | engine cache | first result, s | library, s | session, s | search, s | warm-up, s |"
        )
        self.assertRegex(table[4], r"^\| yolo \| cuda \| filled \| [0-9.]+ \| 0\.00 \| 0\.10 \| 0\.02 \| 0\.01 \|$")

    def test_a_pipeline_that_does_not_start_ends_the_bench_with_its_words(self):
        with self.assertRaisesRegex(SystemExit, "no such model"):
            starts.measure([Path("/broken.onnx")], "cpu", 1)

    def test_no_starts_no_table(self):
        self.assertEqual(starts.table([{"row": "yolo", "fps": 100.0}]), [])


if __name__ == "__main__":
    unittest.main()
