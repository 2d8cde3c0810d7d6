"""Growth is found among samples of which some are far off, and nothing is made of too few."""

from __future__ import annotations

import unittest

from cudainfer_tools.soak import demo, service
from cudainfer_tools.soak.__main__ import judged
from cudainfer_tools.soak.growth import an_hour, theil_sen


def samples(growth: float, count: int = 200) -> list[dict]:
    """Samples of an hour, after a warm-up in its first half; every fifth is off by a hundred megabytes."""
    made = []
    for number in range(count):
        hour = number / count
        memory = 50_000 + 20_000 * min(hour, 0.4) + growth * hour + (100_000 if number % 5 == 0 else 0)
        made.append(
            {
                "process": "serve",
                "seconds": hour * 3600,
                "in_use_kb": memory,
                "resident_kb": 1,
                "threads": 9,
                "files": 7,
                "gpu_mb": None,
            }
        )
    return made


class Growth(unittest.TestCase):
    def test_the_slope_is_that_of_most_points(self) -> None:
        points = [(float(x), 3.0 * x if x % 5 else 1e9) for x in range(100)]
        self.assertAlmostEqual(theil_sen(points), 3.0, delta=0.5)
        with self.assertRaises(ValueError):
            theil_sen([(1.0, 2.0)])

    def test_only_the_second_half_counts(self) -> None:
        found = an_hour(samples(0), "in_use_kb")
        assert found is not None
        self.assertAlmostEqual(found, 0, delta=1)
        self.assertIsNone(an_hour(samples(0), "gpu_mb"))

    def test_what_grows_by_more_than_a_megabyte_an_hour_is_too_much(self) -> None:
        for growth, wanted in [(0, True), (800, True), (1500, False)]:
            lines, is_flat = judged(samples(growth))
            self.assertEqual(is_flat, wanted, lines)

    def test_descriptors_that_stay_open_are_too_much(self) -> None:
        leaking = [sample | {"files": 7 + sample["seconds"] / 60} for sample in samples(0)]
        self.assertFalse(judged(leaking)[1])

    def test_a_service_is_judged_at_rest(self) -> None:
        busy = samples(5000)
        resting = [{**sample, "in_use_kb": 60_000.0, "rest": True} for sample in busy[::20]]
        self.assertTrue(judged(busy + resting)[1])
        self.assertFalse(judged(busy + resting[:2])[1], "two samples have no slope")


class Programs(unittest.TestCase):
    def test_the_demos_pipeline_is_the_file_with_another_source_and_no_file_at_its_end(self) -> None:
        if not (demo.ROOT / ".cache/video/vtest.avi").is_file():
            self.skipTest("scripts/setup has not fetched the video")
        from pathlib import Path

        line = demo.line("%03d.jpg", Path("/tmp"))
        for part in ("multifilesrc", "tracker", "fakesink sync=true", "max-files=2"):
            self.assertIn(part, line)
        for part in ("{", "decodebin", "mp4mux"):
            self.assertNotIn(part, line)

    def test_the_service_has_sixteen_streams_of_both_kinds(self) -> None:
        if not (demo.ROOT / ".cache/video/vtest.avi").is_file():
            self.skipTest("scripts/setup has not fetched the video")
        import tomllib

        read = tomllib.loads(service.configuration(1))
        self.assertEqual(len(read["source"]), service.STREAMS)
        self.assertEqual({source["pipeline"] for source in read["source"]}, set(read["pipeline"]))


if __name__ == "__main__":
    unittest.main()
