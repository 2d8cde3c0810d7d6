"""docs/benchmarks.md is what bench/report makes of benches/results."""

from __future__ import annotations

import csv
import json
import re
import tempfile
import unittest
from pathlib import Path

from cudainfer_tools.bench.report import accuracy, costs, gpu, runtimes
from cudainfer_tools.bench.report.page import page
from cudainfer_tools.bench.report.reliability import reliability
from cudainfer_tools.bench.report.scenarios import with_scenarios
from cudainfer_tools.repository import ROOT

RESULTS = ROOT / "benches" / "results"
PAGE = ROOT / "docs" / "benchmarks.md"
PROFILING = PAGE.with_name("profiling.md")
SCALING = PAGE.with_name("scaling.md")
RELIABILITY = PAGE.with_name("reliability.md")


class Report(unittest.TestCase):
    maxDiff = None

    def test_the_page_is_what_the_script_writes(self):
        self.assertEqual(PAGE.read_text(), page(RESULTS), "run scripts/bench --report")
        self.assertEqual(RELIABILITY.read_text(), reliability(RESULTS), "run scripts/bench --report")

    def test_every_raw_file_is_named_and_every_named_file_is_there(self):
        pages = "".join(page.read_text() for page in (PAGE, PROFILING, SCALING, RELIABILITY))
        named = set(re.findall(r"benches/results/([\w.-]+)", pages))
        self.assertEqual({file.name for file in RESULTS.iterdir()}, named)

    def test_the_scenarios_tables_are_what_the_script_writes(self):
        text = PROFILING.read_text()
        self.assertEqual(text, with_scenarios(text, RESULTS), "run scripts/bench --report")
        side = {"frames_per_second": 10.0, "what": "It waits."}
        row = {"before": side, "after": side | {"frames_per_second": 25.0}, "gain": 2.5}
        reported = {
            "gpu": None,
            "processor": "P",
            "cores": 2,
            "rounds": 3,
            "values": {"video": "a/b.mp4"},
            "scenarios": {"batches": row},
        }
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "scenarios-p.json").write_text(json.dumps(reported))
            made = with_scenarios(text, Path(folder))
        self.assertIn("| batches | 10.0 | 25.0 | 2.50 | It waits. |", made)
        self.assertIn("scripts/profile --scenarios FOLDER video=b.mp4", made)

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
            self.assertIn("| `auto` | 99.9 |", page(copy))

    def test_tiles_have_a_table_once_they_were_measured_and_what_is_not_a_row_is_an_error(self):
        reported = "scripts/evaluate tiles, commit 1, a CPU, 2 cores\nvtest.avi\n"
        row = "SAHI (NMS, IOS 0.5): 9 boxes, cudainfer 8, in common 7, apart by at most 0.010 px and 0.00005 of confidence; "
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(accuracy.tiles(Path(folder)), [])
            file = Path(folder) / "tiles.txt"
            file.write_text(f"{reported}{row}1.25 frames/s, cudainfer 2.50\n")
            wanted = "| SAHI (NMS, IOS 0.5) | 9 | 8 | 7 | 0.010 | 0.00005 | 1.25 | 2.50 |"
            self.assertIn(wanted, accuracy.tiles(Path(folder)))
            exact = file.with_name("tiles-exact.txt")
            exact.write_text(f"{reported}{row}1.25 frames/s, cudainfer 2.50\n")
            self.assertIn("9 boxes, 8 of cudainfer,\n7 in common", "\n".join(accuracy.tiles(Path(folder))))
            exact.write_text(f"{reported}{row}no frames\n")
            with self.assertRaisesRegex(ValueError, "not as scripts/evaluate tiles --exact writes it"):
                accuracy.tiles(Path(folder))
            exact.unlink()
            file.write_text(f"{reported}{row}no frames\n")
            with self.assertRaisesRegex(ValueError, "not as scripts/evaluate tiles writes it"):
                accuracy.tiles(Path(folder))

    def test_identities_have_a_table_a_video_once_they_were_measured(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(accuracy.identities(Path(folder)), [])
            made = {"identities": 2, "switches": 3, "right": 0.98765, "without": 0.0125, "wrong": 4}
            made["repaired"] = made | {"switches": 1, "right": 0.995}
            flies = {"identities": 2, "swaps": 0, "breaks": 5, "without": 61}
            videos = [
                {"name": name, "what": "two animals", "frames": 9, "trackers": {"auto, oks": figures}}
                for name, figures in (("crossing", made), ("flies", flies))
            ]
            (Path(folder) / "identities.json").write_text(json.dumps({"sleap-nn": "1.2.3", "videos": videos}))
            lines = accuracy.identities(Path(folder))
        self.assertIn("#### Crossing: two animals (9 frames)", lines)
        self.assertIn("| auto, oks | 2 | 3 | 98.77 | 1.25 % | 4 | 1 | 99.50 |", lines)
        self.assertIn("| auto, oks | 2 | 0 | 5 | 61 | – |", lines)
        self.assertIn("sleap-nn 1.2.3", "\n".join(lines))

    def test_metrics_have_a_table_once_they_were_measured(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(costs.metrics(Path(folder)), [])
            reported = {"with": {"seconds": 0.25, "cpu": 0.004, "call_ns": 312.4}, "processor": "a CPU", "cores": 2}
            reported["traced"] = {"seconds": 1.0, "cpu": 0.005, "call_ns": 400.0}
            (Path(folder) / "cpu-metrics-2026-01-01.json").write_text(json.dumps(reported))
            lines = costs.metrics(Path(folder))
            self.assertIn("| frames per second lost, detect and track | 20.00% | 50.00% |", lines)
            self.assertIn("| CPU time of each call of an element | 312 ns | 400 ns |", lines)

    def test_publishing_has_a_table_once_it_was_measured(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(costs.publishing(Path(folder)), [])
            row = {"destination": "mqtt", "fps": 0.995, "least": 0.98, "most": 1.01, "cpu": 1.02, "frames": 300}
            row |= {"written": 300, "acknowledged": 299, "dropped": 0, "failed": 1}
            reported = {"rows": [row], "frames": 100, "processor": "a CPU", "cores": 2}
            (Path(folder) / "cpu-publishing-2026-01-01.json").write_text(json.dumps(reported))
            lines = costs.publishing(Path(folder))
            self.assertIn("| mqtt | 99.5% | 98.0% to 101.0% | 102.0% | 300 | 299 | 0 | 1 |", lines)

    def test_the_service_has_a_table_of_some_of_its_cycles(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(costs.service(Path(folder)), [])
            reported = "source,cycles,resident_kb,descriptors,threads,seconds\ntest,1000,51200,15,12,7\ntest,1500,51712,15,12,20\n"
            (Path(folder) / "cpu-serve-cycles-2026-01-01.csv").write_text(reported)
            lines = costs.service(Path(folder))
            self.assertIn("| test | 1000 | 50.0 MB | 15 | 12 |", lines)
            self.assertEqual(sum("MB" in line for line in lines), 1)

    def test_operations_that_were_measured_alone_say_on_which_gpu_and_whether_they_met_their_goals(self):
        row = {"row": "decode", "who": "cudainfer", "median_us": 12.5, "p95_us": 13.0, "bytes": 1, "launches": 1, "goal_us": 12}
        other = row | {"row": "decode a batch", "median_us": 2.0}
        lines = [
            {"machine": "NVIDIA A1 80GB", "commit": "1", "program": "gpu detect"},
            row,
            other,
            row | {"row": "free", "goal_us": None},
        ]
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "operations-alone-2026-01-01.jsonl").write_text("\n".join(map(json.dumps, lines)))
            found = gpu.alone(Path(folder))
        self.assertIn("| decode | A1 | 1 | 12.50 (13.00) | ≤ 12: **missed** |", found)
        self.assertIn("| decode a batch | A1 | 1 | 2.00 (13.00) | ≤ 12: met |", found)
        self.assertIn("| free | A1 | 1 | 12.50 (13.00) |  |", found)

    def test_networks_have_a_table_once_they_were_profiled(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(gpu.networks(Path(folder)), [])
            reported = {"title": "Runs", "machines": ["a GPU"], "head": ["run", "frames a second"], "rows": [["net-single", "9.0"]]}
            (Path(folder) / "networks-gpu.json").write_text(json.dumps(reported))
            lines = gpu.networks(Path(folder))
        self.assertIn("a GPU.", lines)
        self.assertIn("| net-single | 9.0 |", lines)

    def test_a_network_is_compared_with_the_fastest_that_ran_it_as_often(self):
        loop, compiled = "session loop, CUDA graph", "torch.compile, default, CUDA graph"
        rows = [
            {
                "row": "net-64-float16-batch4",
                "batch": 4,
                "who": loop,
                "provider": "cuda",
                "variant": "nhwc",
                "fps": 500.0,
                "device_mb": 300,
            },
            {
                "row": "net-64-float16-batch4",
                "batch": 4,
                "who": loop,
                "provider": "fused",
                "variant": "fused",
                "fps": 1500.0,
                "device_mb": 90,
            },
            {"row": "net-64-float16", "batch": 4, "who": compiled, "median_us": 4000.0},
            {"row": "net-64-float16", "batch": 1, "who": compiled, "median_us": 10.0},
        ]
        machine = {"date": "2026-01-01", "commit": "1", "gpu": "NVIDIA A1 80GB", "driver": "1", "versions": {"torch": "2"}}
        # What another GPU did is no comparison.
        other = {"row": "net-64-float16", "batch": 4, "who": "torch, CUDA graph", "median_us": 1.0}
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "network-speed-2026-01-01.json").write_text(json.dumps({"machine": machine, "rows": rows}))
            elsewhere = {"machine": machine | {"gpu": "NVIDIA B2", "date": "2026-01-02"}, "rows": [other]}
            (Path(folder) / "network-speed-2026-01-02.json").write_text(json.dumps(elsewhere))
            lines = runtimes.networks(Path(folder))
        self.assertEqual(
            [line for line in lines if line.startswith("| net-")],
            ["| net-64-float16 | 4 | A1 | 500 (nhwc) | – | 1,000 | 1,500 | 1.50 | 300 | 90 |"],
        )

    def test_the_steps_of_two_types_are_added_up_by_what_they_are(self):
        first = "convolution {} [16, 3, 3, 3] [3, 3]"
        halves = ["TIME 8.0 us: 0 " + first.format("float16"), "TIME 5.5 us: 1 convolution float16 [32, 16, 3, 3]"]
        bytes_ = [
            "TIME 2.0 us: 0 map [1]",
            "TIME 7.0 us: 1 " + first.format("int8"),
            "TIME 3.0 us: 2 convolution int8 [32, 16, 3, 3]",
        ]
        bytes_ += ["TIME 1.5 us: 3 convolution float32 [8, 8, 1, 1]", "TIME 4.0 us: 4 softmax [1]"]
        ended = "RES y.onnx batch 16: 10.0 us a run, {} frames/s"
        text = "\n".join(["What ran.", "", "== half", *halves, ended.format(2000), "", "== byte", *bytes_, ended.format(1500)])
        names = ["Kernel Name", "gpu__time_duration.sum", *runtimes.COUNTERS.values()]
        kernels = [
            ["convolution_matrix_1", "13,000"],
            ["convolution_groups_2", "99,000"],
            ["convolution_matrix_3", "11,000"],
            ["map_4", "20,000"],
        ]
        counted = [[*kernel, *[str(10.0 * index)] * len(runtimes.COUNTERS)] for index, kernel in enumerate(kernels)]
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "fused-steps-2026-01-01.txt").write_text(text)
            with (Path(folder) / "fused-counters-2026-01-01.csv").open("w", newline="") as file:
                csv.writer(file).writerows([names, [""] * len(names), *counted])
            lines = runtimes.steps(Path(folder))
        self.assertIn("| microseconds | half | byte |", lines)
        self.assertIn("| the first convolution, of three channels | 8.0 | 7.0 |", lines)
        self.assertIn("| other convolutions of float16 or integers | 5.5 | 3.0 |", lines)
        self.assertIn("| all, one after another | 13.5 | 17.5 |", lines)
        self.assertIn("| frames/s | 2,000 | 1,500 |", lines)
        self.assertIn("| warps, % of the most | 5.0 |", lines, "the median of the two that are large enough")

    def test_a_figure_that_was_only_cited_is_left_out(self):
        self.assertFalse(gpu.measured_here({"row": "poses", "who": "somebody's", "fps": 23.3}))
        self.assertTrue(gpu.measured_here({"row": "poses", "who": "cudainfer", "fps": 23.3, "p95_ms": 50.0}))


if __name__ == "__main__":
    unittest.main()
