"""Tests of evaluate/tiles.py's comparison."""

import unittest

from cudainfer_tools import pipeline
from cudainfer_tools.evaluate import tiles

ONE, TWO = [0, 0.75, 10, 20, 30, 60], [2, 0.5, 100, 20, 130, 60]


class Compare(unittest.TestCase):
    def test_boxes_are_paired_with_the_nearest_of_their_class_in_any_order(self):
        near, nearer = [0, 0.25, 11.5, 20, 30, 60], [0, 0.625, 10, 20, 30, 60.5]
        verdict = tiles.compare([[ONE, TWO], []], [[TWO, near, nearer], [ONE]])
        self.assertEqual((verdict.theirs, verdict.ours, verdict.common), (2, 4, 2))
        self.assertEqual((verdict.pixels, verdict.scores), (0.5, 0.125))

    def test_a_box_of_another_class_or_place_is_not_the_same_and_none_is_taken_twice(self):
        moved, other = [0, 0.75, 12.1, 20, 30, 60], [1, *ONE[1:]]
        self.assertEqual(tiles.compare([[ONE]], [[moved, other]]).common, 0)
        self.assertEqual(tiles.compare([[ONE, ONE]], [[ONE]]).common, 1)

    def test_another_number_of_frames_is_an_error(self):
        with self.assertRaisesRegex(pipeline.PipelineError, "1 frames of ours, 2 of the reference"):
            tiles.compare([[], []], [[]])


class Boxes(unittest.TestCase):
    def test_records_have_corners(self):
        item = {"label_id": 3, "confidence": 0.5, "box": {"x": 1.5, "y": 2, "w": 4, "h": 8}}
        self.assertEqual(tiles.boxes({"objects": [item]}), [[3, 0.5, 1.5, 2, 5.5, 10]])
