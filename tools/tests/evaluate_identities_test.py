"""Tests of evaluate/identities.py, its made videos and its scores."""

import dataclasses
import itertools
import json
import math
import tempfile
import unittest
from pathlib import Path

from cudainfer_tools.evaluate import identities
from cudainfer_tools.evaluate.identity_repairs import repaired
from cudainfer_tools.evaluate.identity_scenes import ARENA, NAN, SCENES, Instance, make
from cudainfer_tools.evaluate.identity_scores import apart, scores, unaided


def at(x, animal=0, y=0.0):
    return Instance(((x, y), (x + 10.0, y)), 0.9, animal)


class Scenes(unittest.TestCase):
    def test_a_seed_makes_the_same_video_and_another_one_another(self):
        scene = dataclasses.replace(SCENES[0], frames=20)
        self.assertEqual(repr(make(scene)), repr(make(scene)))
        self.assertNotEqual(repr(make(scene)), repr(make(dataclasses.replace(scene, seed=99))))

    def test_what_happens_is_what_the_scene_says(self):
        for scene in SCENES:
            frames = make(scene)
            self.assertEqual(len(frames), scene.frames)
            everything = [instance for frame in frames for instance in frame]
            self.assertEqual({one.animal for one in everything} - {0}, set(range(1, scene.animals + 1)))
            for frame in frames:
                known = [one.animal for one in frame if one.animal > 0]
                self.assertEqual(len(known), len(set(known)), "an animal twice")
            false = any(one.animal == 0 for one in everything)
            self.assertEqual(false, scene.false > 0 or scene.double > 0, scene.name)
            missing = sum(one.animal > 0 for one in everything) < scene.animals * scene.frames
            self.assertEqual(missing, scene.missing > 0 or scene.hiding > 0 or scene.occluding, scene.name)
            there = [p for one in everything if one.animal for p in one.points if not math.isnan(p[0])]
            self.assertTrue(all(-40 < x < ARENA[0] + 40 and -40 < y < ARENA[1] + 40 for x, y in there))

    def test_animals_meet(self):
        frames = make(SCENES[0])
        pairs = [apart(*frame) for frame in frames if len(frame) == 2]
        self.assertGreater(sum(now < 24 <= before for before, now in itertools.pairwise(pairs)), 5)


class Scores(unittest.TestCase):
    def test_a_switch_is_another_identity_than_before_and_right_is_by_the_best_choice(self):
        frames = [[at(0, 1), at(50, 2), at(90)]] * 4 + [[at(50, 2)]]
        found = scores(frames, [[2, 1, 0], [2, 1, 3], [1, 2, 0], [0, 2, 0], [2]], 2)
        # Animal 1: 2 2 1 -; animal 2: 1 1 2 2 2.
        self.assertEqual((found.identities, found.switches, found.wrong), (3, 2, 1))
        self.assertAlmostEqual(found.without, 1 / 9)
        self.assertAlmostEqual(found.right, 4 / 9)

    def test_nothing_is_nothing(self):
        self.assertEqual(vars(scores([[], []], [[], []], 2)) | {"right": 0}, dict.fromkeys(vars(scores([], [], 2)), 0))
        self.assertEqual(scores([[at(0, 1)]], [[0]], 2).without, 1)

    def test_an_animal_that_nothing_was_given_for_long_still_has_its_switch(self):
        frames = [[at(0, 1)]] * 3
        self.assertEqual(scores(frames, [[1], [0], [2]], 1).switches, 1)
        self.assertEqual(scores(frames, [[1], [0], [1]], 1).switches, 0)

    def test_a_swap_is_what_the_nearest_motion_speaks_against(self):
        frames = [[at(0), at(50)], [at(2), at(52)], [at(4)], [at(6), at(56)]]
        kept = unaided(frames, [[1, 2], [1, 2], [1], [1, 2]], 2)
        self.assertEqual(vars(kept), {"identities": 2, "swaps": 0, "breaks": 0, "without": 0})
        swapped = unaided(frames, [[1, 2], [2, 1], [2], [2, 0]], 2)
        self.assertEqual(vars(swapped), {"identities": 2, "swaps": 1, "breaks": 1, "without": 1})

    def test_the_distance_is_of_common_points_else_of_the_middles(self):
        one, other = Instance(((0, 0), NAN), 1), Instance(((3, 4), (9, 9)), 1)
        self.assertEqual(apart(one, other), 5)
        self.assertEqual(apart(one, Instance((NAN, (0, 7)), 1)), 7)


class Instances(unittest.TestCase):
    def test_the_box_is_the_elements(self):
        self.assertEqual(identities.box(((8, 5), (28, 5))), (8, 2.5, 20, 5))
        self.assertEqual(identities.box(((5, 8), NAN, (5, 28))), (2.5, 8, 5, 20))
        self.assertEqual(identities.box(((5, 8),)), (4.5, 7.5, 1, 1))

    def test_a_record_gives_poses_and_identities(self):
        point = {"name": "B", "x": 1.5, "y": 2.0, "score": 0.5}
        record = {
            "objects": [
                {"keypoints": [point], "confidence": 0.7, "track": {"id": 2}},
                {"label": "fly", "track": {"id": 3}},
                {"keypoints": [point | {"name": "A"}]},
            ]
        }
        instances, given = identities.published(record)
        self.assertEqual(given, [2, 0])
        self.assertTrue(math.isnan(instances[0].points[0][0]))
        self.assertEqual((instances[0].points[1], instances[0].score), ((1.5, 2.0), 0.7))


class Repaired(unittest.TestCase):
    def test_the_program_gives_back_what_was_exchanged_and_keeps_the_order(self):
        frames = make(dataclasses.replace(SCENES[0], frames=400))
        right = [[one.animal for one in frame] for frame in frames]
        wrong = [[3 - animal for animal in frame] if number >= 100 else frame for number, frame in enumerate(right)]
        with tempfile.TemporaryDirectory() as folder:
            self.assertTrue(repaired(frames, wrong, Path(folder)) == right)
            without = [[0] * len(frame) for frame in frames[:-1]] + [right[-1]]
            self.assertTrue(repaired(frames, without, Path(folder)) == without)

    def test_without_a_python_sleaps_rows_stay(self):
        with tempfile.TemporaryDirectory() as folder:
            results = Path(folder, "identities.json")
            trackers = {"SLEAP, OKS": {"switches": 7}, "auto, oks": {"switches": 2}}
            results.write_text(json.dumps({"sleap-nn": "0.3.5", "videos": [{"name": "crossing", "trackers": trackers}]}))
            reference = identities.Reference(None, results)
        self.assertEqual(reference.version, "0.3.5")
        self.assertEqual(reference.identities("crossing", [], 2), ({}, {"SLEAP, OKS": {"switches": 7}}))
        self.assertEqual(reference.identities("new", [], 2), ({}, {}))


class Boxes(unittest.TestCase):
    def test_a_lone_point_has_half_the_size_of_the_poses_before_it_as_in_the_element(self):
        usual = identities.UsualSize()
        point, nan = (100.0, 50.0), (math.nan, math.nan)
        self.assertEqual(usual.box((point, nan)), (99.5, 49.5, 1.0, 1.0))
        self.assertEqual(usual.box(((10.0, 30.0), (90.0, 30.0))), (10.0, 20.0, 80.0, 20.0))
        self.assertEqual(usual.box((point, nan))[2:], (20.0, 20.0))
        middle = usual.box((nan, point))
        self.assertEqual((middle[0] + middle[2] / 2, middle[1] + middle[3] / 2), point)


if __name__ == "__main__":
    unittest.main()
