"""Tests of bench/providers.py."""

from __future__ import annotations

import unittest

from cudainfer_tools.bench import providers


class Ratios(unittest.TestCase):
    def test_ratios_are_those_of_the_rounds_and_not_of_the_medians(self):
        rounds = [{"a": 10.0, "b": 20.0}, {"a": 20.0, "b": 20.0}, {"a": 5.0, "b": 15.0}]
        found = providers.ratios(rounds, "a")
        self.assertEqual(found, {"a": {"fps": 10.0, "ratio": 1.0}, "b": {"fps": 20.0, "ratio": 2.0}})
        self.assertIn("b", providers.table("nanodet", found))


if __name__ == "__main__":
    unittest.main()
