"""CPU time is counted with that of children, and the wall's table has the middle of the rounds."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from cudainfer_tools.bench.page import cpu_seconds
from cudainfer_tools.bench.report import costs


class Page(unittest.TestCase):
    def test_the_time_of_children_that_run_and_that_have_ended_counts(self) -> None:
        busy = "import time\nwhile time.process_time() < 0.5: pass"
        parent = f"""
import subprocess, sys
subprocess.run([sys.executable, "-c", {busy!r}])
subprocess.Popen([sys.executable, "-c", {busy!r} + "\\nprint(1, flush=True)\\ninput()"], stdin=sys.stdin)
input()
"""
        process = subprocess.Popen(
            [sys.executable, "-c", parent], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        try:
            assert process.stdout is not None
            process.stdout.readline()
            self.assertGreaterEqual(cpu_seconds(process.pid), 0.95)
        finally:
            process.communicate(b"\n\n")

    def test_the_table_has_the_middle_and_each_round(self) -> None:
        header = {"processor": "a CPU", "cores": 2, "browser": "Chromium 1", "streams": 16, "seconds": 60}
        rounds = [
            {"page_in_browser_percent": own, "empty_browser_percent": 1, "page_in_service_percent": 0.5, "service_alone_percent": 9}
            | {"pictures_per_second_each": 1.1}
            for own in (3.0, 5.0, 4.0)
        ]
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "page-2026-01-01.jsonl").write_text("\n".join(map(json.dumps, [header, *rounds])))
            lines = costs.wall(Path(folder))
        self.assertIn("| the browser, more than with an empty page | 4.0 % | 3.0, 4.0, 5.0 |", lines)


if __name__ == "__main__":
    unittest.main()
