"""Tests of what bench/peaks.py compares with."""

import unittest

import numpy as np

from cudainfer_tools.bench import peaks


class Peers(unittest.TestCase):
    def test_the_centre_of_a_symmetric_peak_is_found_in_its_channel_and_weak_ones_are_not(self):
        maps = np.zeros((2, 9, 12), np.float32)
        maps[1, 3:6, 6:9] = [[0.1, 0.2, 0.1], [0.4, 0.8, 0.4], [0.1, 0.2, 0.1]]
        maps[0, 4, 4] = peaks.THRESHOLD - 0.01
        self.assertEqual(peaks.by_numpy(maps)().round(5).tolist(), [[1, 7, 4]])

    def test_peaks_agree_in_any_order_and_not_if_one_differs(self):
        found = np.array([[0, 1.0, 2.0], [1, 3.0, 4.0]])
        self.assertTrue(peaks.agree(found, found[::-1] + 1e-4))
        self.assertFalse(peaks.agree(found, found[:1]))
        self.assertFalse(peaks.agree(found, found + [[0, 0, 0], [0, 0.01, 0]]))


if __name__ == "__main__":
    unittest.main()
