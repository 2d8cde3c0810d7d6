"""Tests of evaluate/left_out.py: what is chosen without a sequence, and what is said of differences."""

from __future__ import annotations

import unittest
from types import SimpleNamespace

from cudainfer_tools.evaluate import left_out
from cudainfer_tools.tune_tracker.search import setting


class LeftOut(unittest.TestCase):
    def test_the_interval_holds_the_mean_and_is_as_wide_as_the_sequences_differ(self):
        low, high = left_out.interval([1.0, 1.0, 1.0])
        self.assertEqual((low, high), (1.0, 1.0))
        low, high = left_out.interval([-4.0, 2.0, 3.0, 5.0, 9.0])
        self.assertTrue(-4.0 < low < 0.0 < 3.0 < high < 9.0, (low, high))
        # The mean of 1000 differences of deviation 1 lies within two 31st of theirs, by the central limit theorem.
        low, high = left_out.interval([1.0, 3.0] * 500)
        self.assertAlmostEqual(low, 2 - 1.96 / 1000**0.5, delta=0.01)
        self.assertAlmostEqual(high, 2 + 1.96 / 1000**0.5, delta=0.01)

    def test_parameters_are_chosen_without_the_sequence_that_they_are_tried_on(self):
        # Each sequence likes its own max-lost best, and two of them the same.
        liked = ["60", "60", "90"]

        def by(*clips):
            def score(tried):
                return [sum(10.0 * (dict(one).get("max-lost") == liked[clip]) for clip in clips) for one in tried]

            return score

        trials = SimpleNamespace(clips=(None, None, None), by=by)
        chosen = [dict(one).get("max-lost") for one in left_out.choices(trials)]
        self.assertEqual(chosen[2], "60", "not what it likes itself")
        self.assertEqual(
            left_out.choices(SimpleNamespace(clips=(None,) * 3, by=lambda *_: lambda tried: [1.0] * len(tried)))[0],
            setting({"algorithm": "auto"}),
        )

    def test_differences_are_paired_by_sequence(self):
        def row(auto, sort):
            return {"figures": {"auto": {"HOTA": auto, "IDF1": 50.0}, "SORTTracker": {"HOTA": sort, "IDF1": 50.0}}}

        made = left_out.summary([row(40.0, 38.0), row(60.0, 58.5), row(50.0, 48.0)])
        theirs = made["SORTTracker"]["HOTA"]
        self.assertEqual((theirs["mean"], theirs["auto above"]), (48.17, 1.83))
        self.assertTrue(1.5 <= theirs["low"] < 1.83 < theirs["high"] <= 2.0, theirs)
        self.assertEqual(made["auto"]["HOTA"], {"mean": 50.0, "auto above": 0.0, "low": 0.0, "high": 0.0})
        printed = left_out.lines({"summary": made})
        self.assertEqual(
            printed[2].split(), ["SORTTracker", "48.2", "+1.8", "(+1.5", "to", "+2.0)", "50.0", "+0.0", "(+0.0", "to", "+0.0)"]
        )


if __name__ == "__main__":
    unittest.main()
