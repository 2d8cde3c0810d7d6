"""benches/results/zoo-speed.json: who measured what. A run is a machine and its rows; a row is of a case and a column."""

from __future__ import annotations

import json
from pathlib import Path

from cudainfer_tools.repository import ROOT

RESULTS = ROOT / "benches" / "results" / "zoo-speed.json"
# The columns of the page, by what rows call them.
COLUMNS = {"cpu": "CPU", "cuda": "GPU: ONNX Runtime", "fused": "GPU: fused"}
# What tells two machines apart, or two versions of what ran there.
MACHINE = ("commit", "gpu", "processor", "cores")

# What the file has: `{"machine": ..., "rows": [...]}` each.
Runs = list[dict]


def read(file: Path = RESULTS) -> Runs:
    """The runs in a file; none where there is no such file."""
    return json.loads(file.read_text()) if file.exists() else []


def write(runs: Runs, file: Path = RESULTS) -> None:
    """Writes the runs; whoever reads the file meanwhile sees all of the old ones or all of these."""
    pending = file.with_suffix(".pending")
    pending.write_text(json.dumps(runs, indent=1) + "\n")
    pending.replace(file)


def key(row: dict) -> tuple[str, str]:
    """What a row is of."""
    return row["case"], row["column"]


def of_machine(runs: Runs, machine: dict) -> Runs:
    """The runs of this machine and version."""
    return [run for run in runs if all(run["machine"].get(name) == machine.get(name) for name in MACHINE)]


def add(runs: Runs, machine: dict, row: dict) -> None:
    """Adds a row in the place of any other of its case and column. Runs without rows go."""
    for run in runs:
        run["rows"] = [other for other in run["rows"] if key(other) != key(row)]
    same = of_machine(runs, machine)
    if not same:
        same = [{"machine": machine, "rows": []}]
        runs += same
    same[0]["rows"].append(row)
    runs[:] = [run for run in runs if run["rows"]]


def take(runs: Runs, others: Runs) -> None:
    """Adds the rows of another file."""
    for other in others:
        for row in other["rows"]:
            add(runs, other["machine"], row)


def measured(runs: Runs, machine: dict) -> set[tuple[str, str]]:
    """What rows of this machine are of."""
    return {key(row) for run in of_machine(runs, machine) for row in run["rows"]}
