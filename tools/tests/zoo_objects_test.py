"""Tests of zoo/objects.py: where masks lie on the frame, and how two of them agree."""

import tempfile
import unittest
from pathlib import Path

import numpy as np

from cudainfer_tools.zoo import objects
from cudainfer_tools.zoo.cases import object_masks
from cudainfer_tools.zoo.objects import Masks


def square(x: int, y: int, side: int = 4) -> np.ndarray:
    canvas = np.zeros((8, 10), bool)
    canvas[y : y + side, x : x + side] = True
    return canvas


NOTHING_TIED = np.zeros((8, 10), bool)


class Agreement(unittest.TestCase):
    def test_the_least_overlap_and_all_samples_that_differ_are_told(self):
        masks = Masks()
        masks.see(square(0, 0), square(0, 0), NOTHING_TIED)
        masks.see(square(1, 0), square(0, 0), NOTHING_TIED)
        self.assertEqual((masks.other, masks.samples, masks.compared), (8, 16 + 20, 2))
        self.assertAlmostEqual(masks.lowest, 12 / 20)

    def test_what_rounding_decides_agrees_and_two_empty_masks_do(self):
        masks = Masks()
        masks.see(square(1, 0), square(0, 0), square(0, 0) != square(1, 0))
        masks.see(NOTHING_TIED, NOTHING_TIED, NOTHING_TIED)
        self.assertEqual((masks.lowest, masks.other), (1.0, 0))

    def test_an_object_without_a_mask_agrees_with_an_empty_one_only(self):
        with tempfile.TemporaryDirectory() as folder:
            wanted = [np.stack([square(0, 0), NOTHING_TIED]), np.zeros((0, 8, 10), bool), square(2, 2)[None]]
            object_masks.write(Path(folder), wanted, [np.zeros_like(frame) for frame in wanted])
            found = [{7: square(0, 0)}, {}, {0: square(2, 2)}]
            same = objects.compare(Path(folder), found, [[(0, 7), (1, 8)], [], [(0, 0)]])
            self.assertEqual((same.lowest, same.compared, same.samples), (1.0, 3, 32))
            missing = objects.compare(Path(folder), [{}, {}, {}], [[(0, 7)], [], []])
            self.assertEqual((missing.lowest, missing.other), (0.0, 16))


class Placed(unittest.TestCase):
    def test_masks_lie_where_their_rectangle_is_and_are_cut_at_the_frame(self):
        ones = np.ones((4, 4), bool)
        place = {"x": 4.0, "y": 2.0, "w": 8.0, "h": 8.0}
        self.assertTrue((objects.placed(ones, place, (2.0, 2.0), (8, 10)) == square(2, 1)).all())
        beyond = objects.placed(ones, place | {"x": -4.0}, (2.0, 2.0), (8, 10))
        self.assertEqual(beyond.sum(), 8)
        with self.assertRaises(ValueError):
            objects.placed(ones, place | {"x": 4.5}, (2.0, 2.0), (8, 10))

    def test_values_at_the_threshold_are_ties(self):
        values = np.array([[[2.0, 1e-6], [-1e-6, -0.1]], [[0.5, 0.0], [0.2, 0.1]]])
        self.assertEqual(object_masks.near(values).sum((1, 2)).tolist(), [2, 1])


if __name__ == "__main__":
    unittest.main()
