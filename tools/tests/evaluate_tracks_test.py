"""Tests of evaluate/tracks.py's conversion to MOTChallenge text."""

import json
import unittest
from pathlib import Path

from cudainfer_tools.evaluate import tracks
from cudainfer_tools.pipeline import PipelineError


class MotLines(unittest.TestCase):
    def test_frames_count_from_one_boxes_are_the_tracks_and_untracked_objects_are_left_out(self):
        box = {"x": 1.005, "y": 2.0, "w": 30.25, "h": 40.5}
        track = {"id": 7, "age": 3, "state": "tracked", "box": box}
        tracked = {"label": "person", "confidence": 0.5, "box": {**box, "x": 9.0}, "track": track}
        loose = {"label": "person", "confidence": 0.9, "box": box}
        lines = [json.dumps({"frame": f, "objects": o}) for f, o in ((0, [loose]), (1, [tracked, loose]), (2, []))]
        self.assertEqual(tracks.mot_lines(lines), ["2,7,1.00,2.00,30.25,40.50,0.5000,-1,-1,-1\n"])


class TrackingLine(unittest.TestCase):
    def test_it_ends_at_the_records_and_has_the_values_and_the_trackers_properties(self):
        line = tracks.tracking_line(Path("a.mp4"), Path("out.jsonl"), "max-lost=60", {"model": "m.onnx", "classes": "car"})
        for word in ("model=m.onnx", "classes=car", "location=a.mp4", "location=out.jsonl"):
            self.assertIn(word, line)
        self.assertEqual(line[line.index("tracker") + 1], "max-lost=60")
        self.assertEqual(line[-2:], ["!", "fakesink"])
        with self.assertRaisesRegex(PipelineError, "no key 'modell'"):
            tracks.tracking_line(Path("a.mp4"), Path("out.jsonl"), "", {"modell": "m.onnx"})


if __name__ == "__main__":
    unittest.main()
