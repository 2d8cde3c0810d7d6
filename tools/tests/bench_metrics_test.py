"""The figures that bench/metrics.py makes of its rounds."""

import unittest

from cudainfer_tools.bench import metrics


def turn(without: tuple[float, float], with_metrics: tuple[float, float]) -> dict:
    sides = {"without": without, "with": with_metrics}
    return {side: {"seconds": seconds, "cpu": cpu} for side, (seconds, cpu) in sides.items()}


class Figures(unittest.TestCase):
    def test_the_cost_is_the_median_of_the_rounds_own_ratios(self):
        rounds = [turn((10, 20), (10.1, 20.1)), turn((20, 20), (20.2, 20.2)), turn((10, 20), (15, 30))]
        self.assertAlmostEqual(metrics.cost(rounds, "seconds"), 0.01)
        self.assertAlmostEqual(metrics.cost(rounds, "cpu"), 0.01)

    def test_frames_lost_are_a_part_of_those_without(self):
        rounds = [{"without": {"seconds": 10, "cpu": 1}, "traced": {"seconds": 12.5, "cpu": 1}}]
        self.assertAlmostEqual(metrics.lost(rounds, "traced"), 0.2)

    def test_a_call_costs_what_is_added_divided_by_the_calls(self):
        rounds = [turn((1, 2.0), (1, 2.5)), turn((1, 2.0), (1, 2.4)), turn((1, 2.0), (1, 9.0))]
        self.assertAlmostEqual(metrics.a_call(rounds, 1_000_000), 0.5e-6)

    def test_a_scrape_costs_what_those_of_a_run_add(self):
        rounds = [{"left alone": {"cpu": 1.0}, "scraped": {"cpu": cpu, "scrapes": 100}} for cpu in (1.1, 1.2, 9.0)]
        self.assertAlmostEqual(metrics.a_scrape(rounds), 0.002)

    def test_parts_are_calls_and_a_scrape_a_second(self):
        # 1,000 calls of 1 us and 10 scrapes of 1 ms in 20 s of CPU time.
        self.assertAlmostEqual(metrics.parts(turn((10, 20), (1, 1)), 1000, 1e-6, 1e-3), 0.011 / 20)

    def test_the_scatter_is_that_of_the_rounds(self):
        rounds = [turn((10, 20), (10.1, 20)), turn((10, 20), (9, 20))]
        low, high = metrics.scatter(rounds, "seconds", "with")
        self.assertAlmostEqual(low, -0.1)
        self.assertAlmostEqual(high, 0.01)


if __name__ == "__main__":
    unittest.main()
