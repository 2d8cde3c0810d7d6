"""The figures that bench_metrics.py makes of its rounds."""

import unittest

import bench_metrics


def turn(without: tuple[float, float], with_metrics: tuple[float, float]) -> dict:
    sides = {"without": without, "with": with_metrics}
    return {side: {"seconds": seconds, "cpu": cpu} for side, (seconds, cpu) in sides.items()}


class Figures(unittest.TestCase):
    def test_the_cost_is_the_median_of_the_rounds_own_ratios(self):
        rounds = [turn((10, 20), (10.1, 20.1)), turn((20, 20), (20.2, 20.2)), turn((10, 20), (15, 30))]
        self.assertAlmostEqual(bench_metrics.cost(rounds, "seconds"), 0.01)
        self.assertAlmostEqual(bench_metrics.cost(rounds, "cpu"), 0.01)

    def test_frames_lost_are_a_part_of_those_without(self):
        rounds = [{"without": {"seconds": 10, "cpu": 1}, "traced": {"seconds": 12.5, "cpu": 1}}]
        self.assertAlmostEqual(bench_metrics.lost(rounds, "traced"), 0.2)

    def test_a_call_costs_what_is_added_divided_by_the_calls(self):
        rounds = [turn((1, 2.0), (1, 2.5)), turn((1, 2.0), (1, 2.4)), turn((1, 2.0), (1, 9.0))]
        self.assertAlmostEqual(bench_metrics.a_call(rounds, 1_000_000), 0.5e-6)


if __name__ == "__main__":
    unittest.main()
