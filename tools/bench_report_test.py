"""docs/benchmarks.md is what bench_report.py makes of benches/results."""

from __future__ import annotations

import re
import tempfile
import unittest
from pathlib import Path

import bench_report

RESULTS = bench_report.ROOT / "benches" / "results"
PAGE = bench_report.ROOT / "docs" / "benchmarks.md"


class Report(unittest.TestCase):
    maxDiff = None

    def test_the_page_is_what_the_script_writes(self):
        self.assertEqual(PAGE.read_text(), bench_report.page(RESULTS), "run scripts/bench --report")

    def test_every_raw_file_is_named_and_every_named_file_is_there(self):
        named = set(re.findall(r"benches/results/([\w.-]+)", PAGE.read_text()))
        self.assertEqual({file.name for file in RESULTS.iterdir()}, named)

    def test_every_row_of_a_table_has_the_heads_cells(self):
        lines = PAGE.read_text().splitlines()
        cells = 0
        for before, line in zip(["", *lines], lines, strict=False):
            if line.startswith("|"):
                cells = cells if before.startswith("|") else line.count("|")
                self.assertEqual(line.count("|"), cells, line)

    def test_a_changed_figure_changes_the_page(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder)
            for file in RESULTS.iterdir():
                (copy / file.name).write_bytes(file.read_bytes())
            changed = copy / "mot-vtest.txt"
            changed.write_text(changed.read_text().replace("55.1", "99.9", 1))
            self.assertIn("| `auto` | 99.9 |", bench_report.page(copy))

    def test_a_figure_that_was_only_cited_is_left_out(self):
        self.assertFalse(bench_report.measured_here({"row": "poses", "who": "somebody's", "fps": 23.3}))
        self.assertTrue(bench_report.measured_here({"row": "poses", "who": "cudainfer", "fps": 23.3, "p95_ms": 50.0}))


if __name__ == "__main__":
    unittest.main()
