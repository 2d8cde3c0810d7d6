"""What bench/report says of tracking on sequences that took no part in choosing parameters."""

from __future__ import annotations

import json
import tempfile
import unittest
from pathlib import Path

from cudainfer_tools.bench.report.left_out import goals, ideas


def tracker(hota: float, above: float) -> dict:
    return {
        "HOTA": {"mean": hota, "auto above": above, "low": above - 1, "high": above + 1},
        "IDF1": {"mean": 60.0, "auto above": 4.0, "low": 3.0, "high": 5.0},
    }


def sequence(name: str, auto: float, other: float) -> dict:
    return {"name": name, "figures": {"auto": {"HOTA": auto}, "OtherTracker": {"HOTA": other}, "WorseTracker": {"HOTA": 99.0}}}


class LeftOut(unittest.TestCase):
    def test_goals_are_those_against_the_best_tracker_of_another_package(self):
        found = {
            "summary": {
                "auto": tracker(45.0, 0.0),
                "cbiou": tracker(44.9, 0.1),
                "OtherTracker": tracker(43.6, 1.4),
                "WorseTracker": tracker(40.0, 5.0),
            },
            "sequences": [sequence("street", 40.0, 40.5), sequence("square", 40.0, 41.2)],
        }
        hota, idf1, single = goals(found)
        self.assertIn("HOTA +1.4 against `OtherTracker`", hota)
        self.assertTrue(hota.endswith("**missed**"), hota)
        self.assertTrue(idf1.endswith("met"), idf1)
        self.assertIn("below on square -1.2: **missed**", single)
        found["sequences"] = found["sequences"][:1]
        self.assertTrue(goals(found)[2].endswith("met"))

    def test_an_idea_gains_where_its_interval_is_above_zero(self):
        def idea(name: str, mean: float, low: float) -> dict:
            of = {which: {"mean": mean, "low": low, "high": mean + 1} for which in ("as published", "disturbed")}
            return {"idea": name, "paper": "a paper", "numbers": "x=1", "HOTA": of, "IDF1": of}

        with tempfile.TemporaryDirectory() as folder:

            def page(*tried: dict) -> str:
                found = {"commit": "abc", "auto": {"HOTA": [45.0, 43.0, 44.0]}, "ideas": tried}
                (Path(folder) / "tracker-ideas.json").write_text(json.dumps(found))
                return "\n".join(ideas(Path(folder)))

            self.assertIn("On the copies, none is above `auto`", page(idea("wider boxes", -0.5, -1.0)))
            both = page(idea("wider boxes", -0.5, -1.0), idea("taller boxes", 0.5, 0.1))
            self.assertIn("On the copies, 1 are above `auto` by an interval without zero, by +0.5 at most", both)
            self.assertIn("HOTA 45.0 on the published boxes, and 43.5 on the copies", both)
            self.assertIn("| wider boxes | a paper | -0.5 (-1.0 to +0.5) |", both)
        self.assertEqual(ideas(Path("/nowhere")), [])


if __name__ == "__main__":
    unittest.main()
