"""The figures that bench/publishing.py makes of its runs."""

import unittest

from cudainfer_tools.bench import publishing


def run(destination: str, fps: float, cpu: float = 1.0) -> dict:
    counts = dict.fromkeys(("frames", "written", "acknowledged", "dropped", "failed"), 2)
    return {"destination": destination, "fps": fps, "cpu_ms": cpu} | counts


class Figures(unittest.TestCase):
    def test_a_run_is_compared_with_those_without_a_destination_on_both_sides(self):
        runs = [run("none", 10), run("file", 9), run("mqtt", 12), run("none", 20, 3), run("file", 20), run("none", 20)]
        self.assertEqual(publishing.ratios(runs, "fps"), {"file": [0.6, 1.0], "mqtt": [0.8]})
        file, mqtt = publishing.summary(runs)
        self.assertEqual((file["destination"], file["fps"], file["least"], file["most"]), ("file", 0.8, 0.6, 1.0))
        self.assertEqual((mqtt["cpu"], mqtt["frames"], file["frames"]), (0.5, 2, 4))


if __name__ == "__main__":
    unittest.main()
