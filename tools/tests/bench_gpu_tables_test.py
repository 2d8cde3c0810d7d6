"""What bench/gpu makes of rows."""

from __future__ import annotations

import unittest

from cudainfer_tools.bench.gpu import tables

FLOORS = [
    {
        "row": "floor: copy on the device",
        "who": "cudainfer",
        "median_us": 500.0,
        "p95_us": 501.0,
        "bytes": 2_000_000_000,
    },
    {"row": "floor: copy over the bus", "who": "cudainfer", "median_us": 600.0, "p95_us": 601.0, "bytes": 30_000_000},
    {"row": "floor: launch", "who": "cudainfer", "median_us": 1.5, "p95_us": 1.6, "bytes": 1},
    {"row": "floor: launch in a graph", "who": "cudainfer", "median_us": 1.0, "p95_us": 1.1, "bytes": 1},
]


def table(*rows: dict) -> list[str]:
    return tables.operations([*FLOORS, *rows])[4:]


class Operations(unittest.TestCase):
    def test_the_floor_is_bytes_and_launches_at_the_measured_speeds(self):
        row = {"row": "preproc", "who": "cudainfer", "median_us": 4.0, "p95_us": 5.0, "bytes": 4_000_000, "launches": 1}
        self.assertEqual(table(row), ["| preproc | 4.00 (5.00) | 2.00 | 50% |  |  |  |"])

    def test_an_upload_is_held_against_the_bus(self):
        row = {
            "row": "upload",
            "who": "cudainfer",
            "median_us": 120.0,
            "p95_us": 121.0,
            "bytes": 3_000_000,
            "launches": 0,
        }
        self.assertIn("| 60.00 | 50% |", table(row)[0])

    def test_peers_join_the_row_of_that_name_with_their_ratio(self):
        ours = {"row": "draw on Nv12", "who": "cudainfer", "median_us": 4.0, "p95_us": 5.0, "goal_us": 3.0}
        theirs = {"row": "draw on NV12", "who": "torch", "median_us": 40.0, "p95_us": 41.0}
        (line,) = table(theirs, ours)
        self.assertIn("torch: 40.00 (41.00) | 10.0 | ≤ 3: **missed** |", line)

    def test_a_peer_without_a_row_of_ours_is_shown_alone(self):
        self.assertEqual(
            table({"row": "network", "who": "torch", "median_us": 2.0, "p95_us": 3.0}),
            ["| network |  |  |  | torch: 2.00 (3.00) |  |  |"],
        )


class Lines(unittest.TestCase):
    def test_others_are_compared_with_ours_and_ours_with_the_goal(self):
        rows = [
            {"row": "yolo", "who": "loop", "fps": 100.0, "p95_ms": 7.0},
            {
                "row": "yolo",
                "who": "cudainfer",
                "fps": 500.0,
                "goal": 400,
                "per_frame": {"device-to-host-bytes": 7216.0, "host-waits": 1.0, "launches": 3.0},
            },
        ]
        self.assertEqual(
            tables.lines(rows)[3:],
            ["| yolo | loop | 100 | 7 |  |  |  | 5.00 |  |", "| yolo | cudainfer | 500 |  | 7216 | 1 | 3 |  | ≥ 400: met |"],
        )

    def test_no_lines_no_table(self):
        self.assertEqual(tables.lines([]), [])


class Streams(unittest.TestCase):
    ROWS = (
        {"row": "yolo", "batch": 16, "who": "session loop", "fps": 3000.0, "median_ms": 5.3, "p95_ms": 5.4},
        {
            "row": "yolo",
            "who": "cudainfer",
            "source": "decoded before",
            "streams": 64,
            "batch": 16,
            "objects": 8,
            "fps": 2910.0,
            "of_bare": 0.97,
            "p50_ms": 20.0,
            "p99_ms": 25.0,
            "cpu_ms_per_frame": 0.4,
            "mean_batch": 15.9,
            "goals": [{"goal": "a", "met": True}, {"goal": "b", "met": False}],
        },
    )

    def test_they_have_a_table_of_their_own_with_the_bare_loop(self):
        self.assertEqual(
            tables.streams(list(self.ROWS))[3:],
            [
                "| yolo | session loop |  | 16 |  | 3000 |  |  |  |  |  |  |",
                "| yolo | decoded before | 64 | 16 | 8 | 2910 | 97% | 20 | 25 | 0.4 | 15.9 | a: met<br>b: **missed** |",
            ],
        )
        self.assertEqual(tables.lines(list(self.ROWS)), [])

    def test_lines_of_one_stream_are_not_among_them(self):
        self.assertEqual(tables.streams([{"row": "yolo", "who": "loop", "fps": 100.0}]), [])


if __name__ == "__main__":
    unittest.main()
