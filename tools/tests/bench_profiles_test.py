"""The summary of trtinfer's profiles."""

import unittest

from cudainfer_tools.bench import profiles


class Summary(unittest.TestCase):
    def test_ratios_are_those_of_the_same_round(self):
        def turn(seconds, ms):
            return {
                profile: {"file": {"seconds": s, "frames": 10, "ms": [m]}, "live": {"ms": [m / 2]}}
                for profile, s, m in zip(profiles.PROFILES, seconds, ms, strict=True)
            }

        rows = profiles.summary([turn((1, 2, 4), (90, 60, 30)), turn((2, 4, 8), (90, 60, 30)), turn((1, 2, 4), (90, 60, 30))])
        self.assertEqual([row["ratio"] for row in rows], [1, 0.5, 0.25])
        self.assertEqual([row["fps"] for row in rows], [10, 5, 2.5])
        self.assertEqual([(row["file_ms"], row["live_ms"]) for row in rows], [(90, 45), (60, 30), (30, 15)])

    def test_a_frame_s_time_is_read_from_the_tracer_s_line(self):
        line = (
            "TRACE GST_TRACER :0:: element-latency, element-id=(string)0x55, element=(string)infer, src=(string)src, "
            "time=(guint64)230985748, ts=(guint64)6641427026;"
        )
        self.assertEqual(profiles.LATENCY.findall(line), ["230985748"])
        self.assertEqual(profiles.LATENCY.findall(line.replace("infer", "gpunms0")), [])


if __name__ == "__main__":
    unittest.main()
