"""Tests of evaluate/sleap.py's comparison."""

import math
import tempfile
import unittest
from pathlib import Path

import numpy as np

from cudainfer_tools.evaluate import sleap

NAN = [math.nan] * 3


def flies(*instances):
    return np.array(instances, float).reshape(-1, 2, 3)


class Comparison(unittest.TestCase):
    def test_twins_are_the_nearest_and_all_else_is_counted(self):
        comparison = sleap.Comparison()
        one, two = [[0, 0, 1], [10, 0, 1]], [[50, 0, 1], NAN]
        comparison.add(flies([[50.03, 0.04, 1], [55, 0, 1]], one), flies(one, two))
        self.assertEqual((comparison.theirs, comparison.ours, comparison.missing, comparison.more), (2, 2, 0, 0))
        self.assertEqual(comparison.lonely, 1)
        self.assertTrue(np.allclose(sorted(comparison.distances), [0, 0, 0.05]))
        self.assertIn("MISSED", comparison.line("way", 1))
        comparison.add(flies([[90, 90, 1], NAN]), flies(one, two))
        self.assertEqual((comparison.missing, comparison.more), (2, 1))

    def test_the_goal_is_met_by_the_same_instances_that_are_near(self):
        comparison = sleap.Comparison()
        comparison.add(flies([[0, 0.04, 1], NAN]), flies([[0, 0, 1], NAN]))
        self.assertTrue(comparison.line("way", 1).endswith("apart by 0.0400 px (mean), 0.0400 (most): met"))
        comparison.add(flies([[0, 0.06, 1], NAN]), flies([[0, 0, 1], NAN]))
        self.assertTrue(comparison.line("way", 2).endswith("0.0500 px (mean), 0.0600 (most): MISSED"))

    def test_a_cut_has_the_pixels_from_its_corner_on(self):
        with tempfile.TemporaryDirectory() as name:
            frames, part = Path(name) / "frames", Path(name) / "part"
            pixels = np.random.default_rng(1).integers(0, 256, (2, 384, 384), np.uint8)
            pixels.tofile(frames)
            sleap.cut(frames, (384, 384), part)
            (width, height), (x, y) = sleap.OTHER, sleap.CORNER
            found = np.fromfile(part, np.uint8).reshape(2, height, width)
            self.assertTrue((found == pixels[:, y : y + height, x : x + width]).all())
            self.assertTrue(width % 8 and height % 8, "no stride divides them")
            self.assertEqual(width % 4, 0, "GStreamer pads rows to 4 bytes")


if __name__ == "__main__":
    unittest.main()
