"""Measures what publishing costs: benches/publishing.rs, with a table of what it prints. Started by scripts/bench --publishing.

    python3 tools bench.publishing [--rounds N] [--seconds N]

With 3 rounds of runs of 5 seconds it takes about 6 minutes. The ratio of a run is that to the mean of the runs without
inferpublish before and after it, which suffer the same from what else the machine does.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys

from cudainfer_tools.bench import results
from cudainfer_tools.repository import ROOT

GOAL = 0.98
NONE = "none"


def ratios(runs: list[dict], what: str) -> dict[str, list[float]]:
    """For each destination the ratio of each of its runs to its neighbours without one, in the order of the runs."""
    found: dict[str, list[float]] = {}
    for place, run in enumerate(runs):
        if run["destination"] == NONE:
            continue
        before = next(other for other in reversed(runs[:place]) if other["destination"] == NONE)
        after = next(other for other in runs[place:] if other["destination"] == NONE)
        found.setdefault(run["destination"], []).append(2 * run[what] / (before[what] + after[what]))
    return found


def summary(runs: list[dict]) -> list[dict]:
    """A row for each destination."""
    speed, cpu = ratios(runs, "fps"), ratios(runs, "cpu_ms")
    rows = []
    for name, values in speed.items():
        own = [run for run in runs if run["destination"] == name]
        counts = {field: sum(run[field] for run in own) for field in ("frames", "written", "acknowledged", "dropped", "failed")}
        row = {"destination": name, "fps": statistics.median(values), "cpu": statistics.median(cpu[name])}
        rows.append(row | {"least": min(values), "most": max(values), **counts})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/bench --publishing", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5)
    given = parser.parse_args()
    command = ["cargo", "bench", "--locked", "-p", "cudainfer-benches", "--bench", "publishing", "--"]
    command += [str(given.rounds), str(given.seconds)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    reported = []
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("{"):
            reported.append(json.loads(line))
            if "fps" in reported[-1]:
                print(f"{reported[-1]['destination']}: {reported[-1]['fps']:.1f} frames/s", flush=True)
    if process.wait() != 0 or len(reported) < 2:
        sys.exit("bench: the benchmark failed, see above")
    setting, *runs = reported
    rows = summary(runs)
    print(f"{'':<14}{'frames/s':>10}{'least':>9}{'most':>9}{'CPU time':>10}  (goal: at least {GOAL:.0%})")
    for row in rows:
        print(f"{row['destination']:<14}{row['fps']:>10.1%}{row['least']:>9.1%}{row['most']:>9.1%}{row['cpu']:>10.1%}")
    results.write("cpu-publishing", {"load": os.getloadavg(), **setting, "rows": rows, "runs": runs})


if __name__ == "__main__":
    os.chdir(ROOT)
    main()
