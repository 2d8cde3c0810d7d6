"""Tests of evaluate/pose.py's comparison and of reference/posenet.py's decoding."""

import math
import unittest

import numpy as np

from cudainfer_tools.evaluate import pose
from cudainfer_tools.reference import posenet

NAN = [math.nan] * 3


def flies(*instances):
    return np.array(instances, float).reshape(-1, 2, 3)


class Instances(unittest.TestCase):
    def test_points_are_in_the_order_of_their_names_half_a_pixel_lower_and_missing_ones_are_nan(self):
        point = {"name": "B", "x": 10.5, "y": 20.25, "score": 0.5}
        record = {"objects": [{"keypoints": [point]}, {"label": "car"}, {"keypoints": [{**point, "name": "centroid"}]}]}
        found = pose.instances(record, ["A", "B"])
        self.assertEqual(found.shape, (1, 2, 3))
        self.assertTrue(np.isnan(found[0, 0]).all())
        self.assertEqual(found[0, 1].tolist(), [10.0, 19.75, 0.5])


class Distances(unittest.TestCase):
    def setUp(self):
        self.one, self.two = [[0, 0, 1], [10, 0, 1]], [[50, 0, 1], NAN]

    def test_instances_are_paired_by_place_not_by_order(self):
        moved = [[50.3, 0.4, 1], NAN]
        apart = pose.distances(flies(moved, self.one), flies(self.one, self.two))
        self.assertTrue(np.allclose(apart, [0.5, 0, 0]))
        self.assertEqual(pose.distances(flies(), flies()).tolist(), [])

    def test_another_number_other_points_or_another_place_are_not_the_same(self):
        for mine in (
            flies(self.one),
            flies(self.one, [[50, 0, 1], [55, 0, 1]]),
            flies(self.one, [[50, 5.1, 1], NAN]),
            flies(self.one, [NAN, [50, 0, 1]]),
        ):
            self.assertIsNone(pose.distances(mine, flies(self.one, self.two)))

    def test_shares_are_of_stable_frames_and_goals_are_judged(self):
        theirs = [flies(self.one), flies(self.one), flies(self.two)]
        ours = [flies(self.one), flies(), flies([[50, 0.2, 1], NAN])]
        text = "\n".join(pose.compare("way", ours, theirs, [True, False, True]))
        self.assertIn("in 2 of the 2 frames where the reference is stable (100.0%, goal 99%: met), in 2 of all", text)
        self.assertIn("3 points in these are apart by 0.0000 pixels (median)", text)
        self.assertIn("0.2000 (most); goal 0.1: met by the median", text)
        self.assertIn("MISSED", pose.compare("way", ours, theirs, [True] * 3)[1])


class Posenet(unittest.TestCase):
    def test_two_people_are_decoded_from_the_maps_that_were_drawn_of_them(self):
        """Two people of 17 points each; offsets and displacements say exactly where the points are."""
        cells, stride = 25, posenet.STRIDE
        random = np.random.default_rng(5)
        people = [np.array([100.0, 90.0]) + 7 * random.uniform(-6, 6, (17, 2)), None]
        people[1] = people[0] + [120, 180]
        scores = np.full((cells, cells, 17), 0.01)
        offsets, forward, backward = (np.zeros((cells, cells, 2, n)) for n in (17, 16, 16))
        at = np.stack(np.meshgrid(*[np.arange(cells) * stride] * 2, indexing="ij"), -1)
        apart = [np.linalg.norm(at[:, :, None] - person, axis=-1) for person in people]
        nearest = np.where((apart[0] < apart[1])[..., None], *people)
        offsets[:] = np.moveaxis(nearest - at[:, :, None], 2, 3)
        for edge, (parent, child) in enumerate(posenet.TREE):
            for person in people:
                for maps, start, end in ((forward, parent, child), (backward, child, parent)):
                    row, column = np.round(person[start] / stride).astype(int)
                    maps[row, column, :, edge] = person[end] - person[start]
        for score, person in zip((0.9, 0.8), people, strict=True):
            for part, point in enumerate(person):
                row, column = np.round(point / stride).astype(int)
                scores[row, column, part] = score
        poses = posenet.decode(posenet.Maps(scores, offsets, forward, backward), 10)
        self.assertEqual(len(poses), 2)
        for found, person in zip(poses, people, strict=True):
            self.assertTrue(np.allclose(found[:, :2], person, atol=1e-9), found[:, :2] - person)
        self.assertTrue(np.allclose(poses[0][:, 2], 0.9) and np.allclose(poses[1][:, 2], 0.8))


if __name__ == "__main__":
    unittest.main()
