"""Tests of evaluate/mot.py's table."""

import unittest

from cudainfer_tools.evaluate import mot


class Table(unittest.TestCase):
    def test_each_of_ours_is_held_against_its_reference(self):
        figures = {"HOTA": 40.0, "switches": 12.0}
        found = {"sort": figures, "SORTTracker": figures | {"HOTA": 40.2}}
        found |= {"ocsort": figures, "OCSORTTracker": figures | {"HOTA": 40.4}}
        lines = mot.table(found)
        self.assertEqual(lines[0].split(), ["HOTA", "switches"])
        self.assertEqual(lines[1].split(), ["sort", "40.0", "12"])
        self.assertIn("sort: HOTA -0.2 against SORTTracker (goal: at least -0.3): met", lines)
        self.assertIn("ocsort: HOTA -0.4 against OCSORTTracker (goal: at least -0.3): MISSED", lines)

    def test_the_default_is_held_against_the_best_reference(self):
        references = {"SORTTracker": {"HOTA": 40.0, "IDF1": 55.0}, "OCSORTTracker": {"HOTA": 41.0, "IDF1": 50.0}}
        found = {"auto": {"HOTA": 43.1, "IDF1": 57.9}, **references}
        found |= {"sort": references["SORTTracker"], "ocsort": references["OCSORTTracker"]}
        lines = mot.table(found)
        self.assertIn("auto: HOTA +2.1 against the best of them (goal: at least +2.0): met", lines)
        self.assertIn("auto: IDF1 +2.9 against the best of them (goal: at least +3.0): MISSED", lines)


if __name__ == "__main__":
    unittest.main()
