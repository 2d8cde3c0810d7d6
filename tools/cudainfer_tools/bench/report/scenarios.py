"""The table of docs/profiling.md: what was gained in each scenario."""

from __future__ import annotations

import json
from pathlib import Path

from cudainfer_tools.bench.report.markdown import source, table

# What docs/profiling.md says of each scenario's kind of fault: the headings are those of its own table.
SCENARIOS = ("copies", "launches", "batches", "decoder", "threads")

MARKS = ("<!-- scenarios -->", "<!-- /scenarios -->")


def scenarios(results: Path) -> list[str]:
    """What was gained in each scenario, a table for each machine, and what the profiles said."""
    lines = ["<!-- Written by `scripts/bench --report` from benches/results. Do not edit. -->", ""]
    for file in sorted(results.glob("scenarios-*.json")):
        reported = json.loads(file.read_text())
        name = reported["gpu"] or f"{reported['processor']}, {reported['cores']} cores, no GPU"
        lines += [f"### {name}", ""]
        rows = []
        for scenario in SCENARIOS:
            row = reported["scenarios"].get(scenario)
            if row:
                rates = [f"{row[which]['frames_per_second']:,.1f}" for which in ("before", "after")]
                rows.append([scenario, *rates, f"{row['gain']:.2f}", row["before"].get("what", "–")])
        lines += table(["fault", "frames a second", "mended", "times", "what its profile says"], rows)
        keys = " ".join(f"{key}={Path(value).name}" for key, value in reported["values"].items())
        lines += [
            "",
            f"Medians of {reported['rounds']} rounds in turns. {source(file, script=f'scripts/profile --scenarios FOLDER {keys}'.strip())}",
            "",
        ]
    return lines


def with_scenarios(text: str, results: Path) -> str:
    """docs/profiling.md with the tables between its marks."""
    head, rest = text.split(MARKS[0])
    _, tail = rest.split(MARKS[1])
    return "\n".join([head + MARKS[0], *scenarios(results), MARKS[1] + tail])
