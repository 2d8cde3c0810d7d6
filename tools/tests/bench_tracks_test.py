"""Tests of bench/tracks.py's judgement and crowd."""

import unittest

from cudainfer_tools.bench import tracks


class Judgement(unittest.TestCase):
    def test_goals_are_held_against_what_was_measured(self):
        lines = tracks.judged({10: {"sort": 19.0, "trackers": 900.0}, 100: {"sort": 251.0}}, {"sort": 79.0})
        self.assertEqual(
            lines,
            [
                "sort, 10 boxes: 19.0 us (goal: 20): met",
                "sort, 100 boxes: 251.0 us (goal: 250): MISSED",
                "sort, 64 streams of 50 boxes at 30 frames/s: 15.2 % of a core (goal: 15): MISSED",
            ],
        )

    def test_a_crowd_is_as_dense_whatever_its_size(self):
        def density(count: int) -> float:
            rows = tracks.walk(count)[0]
            return count / float((rows[:, :2].max(0) - rows[:, :2].min(0)).prod())

        self.assertAlmostEqual(density(5000) / density(1000), 1.0, delta=0.05)
        frames = tracks.walk(20)
        self.assertEqual((len(frames), frames[0].shape), (tracks.FRAMES, (20, 5)))


if __name__ == "__main__":
    unittest.main()
