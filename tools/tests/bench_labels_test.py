"""The runs that bench/labels.py makes up and what it measures, and the table of its figures."""

import json
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import sleap_io

from cudainfer_tools.bench import labels
from cudainfer_tools.bench.report import costs


class Runs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_records_and_table_have_that_number_of_the_same_instances_with_gaps(self):
        for ending in (".csv", ".jsonl"):
            labels.write_run(self.folder / f"run{ending}", 101)
            made = [
                sys.executable,
                "-m",
                "cudainfer.labels",
                str(self.folder / f"run{ending}"),
                "-o",
                str(self.folder / f"{ending[1:]}.slp"),
            ]
            self.assertGreater(labels.measure(made)["peak_mb"], 10)
        table, records = (sleap_io.load_file(str(self.folder / f"{name}.slp")) for name in ("csv", "jsonl"))
        for found in (table, records):
            self.assertEqual(sum(len(frame) for frame in found), 101)
            self.assertEqual([frame.frame_idx for frame in found[:4]], [0, 1, 2, 4])
            self.assertEqual([track.name for track in found.tracks], ["track_1", "track_2"])
        missing = 0
        for one, other in zip(table, records, strict=True):
            for of_table, of_records in zip(one, other, strict=True):
                self.assertAlmostEqual(of_table.score, of_records.score, 5)
                self.assertEqual(str(of_table.numpy().round(4)), str(of_records.numpy().round(4)))
                missing += int((~of_table.points["visible"]).sum())
        self.assertGreater(missing, 5)

    def test_sleap_ios_own_way_is_measured_up_to_its_limit(self):
        with mock.patch.object(labels, "measure", side_effect=self.touched):
            found = [(row["by"], row["from"], row["to"], row["instances"]) for row in labels.rows(self.folder, 100_000, 10_000)]
        self.assertEqual(len(found), 4 + 2 + 4)
        self.assertEqual(
            [row for row in found if row[0] == "sleap-io"], [("sleap-io", ".csv", ending, 10_000) for ending in (".slp", ".h5")]
        )
        self.assertEqual([path.name for path in self.folder.iterdir()], ["run.json"])

    def touched(self, command):
        Path(next(word for word in command if "/out." in word)).touch()
        return {"seconds": 1.0, "peak_mb": 1.0}


class Report(unittest.TestCase):
    def test_a_row_has_memory_and_time_of_each_number_of_instances(self):
        row = {"by": "cudainfer-labels", "from": ".csv", "to": ".slp", "instances": 10, "seconds": 1.25, "peak_mb": 155.6}
        rows = [row, row | {"instances": 1000, "seconds": 9}, row | {"by": "sleap-io", "peak_mb": 200}]
        reported = {"sleap_io": "1", "imports_mb": 99.6, "nodes": 2, "animals": 2, "processor": "P", "cores": 2, "rows": rows}
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(costs.labels(Path(folder)), [])
            Path(folder, "cpu-labels-2026-01-01.json").write_text(json.dumps(reported))
            lines = costs.labels(Path(folder))
        self.assertIn("| by | from | to | 10 | 1,000 |", lines)
        self.assertIn("| cudainfer-labels | `.csv` | `.slp` | 156 MB, 1.2 s | 156 MB, 9.0 s |", lines)
        self.assertIn("| sleap-io | `.csv` | `.slp` | 200 MB, 1.2 s |  |", lines)


if __name__ == "__main__":
    unittest.main()
