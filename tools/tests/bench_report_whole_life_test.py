"""The sections about streams' whole life are made of their raw files, and of nothing else."""

from __future__ import annotations

import json
import tempfile
import unittest
from pathlib import Path

from cudainfer_tools.bench.report import reliability, whole_life


class Sections(unittest.TestCase):
    def test_the_unit_has_a_column_for_each_system_also_where_one_has_an_answer_less(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for name, said in [("a", "starts: yes, 1 s\nstops: yes, 2 s\n"), ("b", "starts: yes, 3 s\n")]:
                (Path(folder) / f"unit-{name}.txt").write_text(f"# tools/try-unit: system {name}\n{said}")
            lines = reliability.unit(Path(folder))
        for wanted in ("| promise | system a | system b |", "| starts | yes, 1 s | yes, 3 s |", "| stops | yes, 2 s |  |"):
            self.assertIn(wanted, lines)

    def test_a_walk_shows_what_is_held_after_each_part_of_it(self) -> None:
        raw = "# On a machine.\nCUDAINFER_WALK_SEED=7 CUDAINFER_WALK_OPERATIONS=20\nafter 1000 operations: 2048 KiB, 9 threads, 7 files\n"
        raw += "frames: 12 in, 10 out, 2 flushed, 0 dropped, 0 reported as dropped; 3 s\n"
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "walk-2026-01-01.txt").write_text(raw)
            lines = whole_life.walk(Path(folder))
        for wanted in ("On a machine.", "| 1,000 | 2.0 | 9 | 7 |", "- CUDAINFER_WALK_SEED=7 CUDAINFER_WALK_OPERATIONS=20"):
            self.assertIn(wanted, lines)

    def test_the_rate_of_the_others_is_compared_with_that_of_the_same_round_without_a_bad_stream(self) -> None:
        header = {"processor": "a CPU", "cores": 2, "commit": "1", "profile": "bench", "load": 0.5}
        rows: list[dict] = [header]
        for turn, alone in enumerate([10.0, 8.0]):
            for bad in ("Nothing", "Garbage", "Blocked", "Caps", "Crowd"):
                mean = alone * (0.96 if bad == "Crowd" else 1)
                rows.append({"what": "rate", "round": turn, "bad": bad, "wanted": 10, "mean": mean, "slowest": mean})
        rows.append(
            {"what": "overload", "sent": 9, "came_out": 2, "dropped": 7, "unaccounted": 0, "announced_ms": 30.0, "p50_ms": 20.0}
            | {"p99_ms": 29.0, "recovery_s": 0.25}
        )
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "isolation-2026-01-01.jsonl").write_text("\n".join(map(json.dumps, rows)))
            lines = whole_life.isolation(Path(folder))
        self.assertIn("| 10,000 objects in each frame | 8.64 | 96.0 % | 76.8 % |", lines)
        self.assertIn("| 9 | 2 | 7 | 0 | 30 | 20 | 29 | 0.25 |", lines)

    def test_a_soak_shows_the_end_and_what_an_hour_adds(self) -> None:
        header = {"processor": "a CPU", "cores": 2, "hours": 1.0, "seed": 1, "gpu": None}
        samples = [
            {
                "process": "serve",
                "seconds": 36 * n,
                "in_use_kb": 1024 * (50 + n / 100),
                "resident_kb": 1024,
                "threads": 9,
                "files": 7,
            }
            for n in range(101)
        ]
        with tempfile.TemporaryDirectory() as folder:
            text = "\n".join(map(json.dumps, [header, *samples, {"changes": {"restart": 3}}]))
            (Path(folder) / "soak-2026-01-01.jsonl").write_text(text)
            lines = whole_life.soak(Path(folder))
        self.assertIn("| serve | 51 (+1.00) | 1 (+0.00) |  | 9 (+0.00) | 7 (+0.00) |", lines)
        self.assertIn("3 restart", "\n".join(lines))


if __name__ == "__main__":
    unittest.main()
