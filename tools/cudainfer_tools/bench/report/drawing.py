"""How long the drawing of boxes and skeletons takes on the GPU."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median

from cudainfer_tools.bench.report.markdown import newest, source, table

DEVICE, HOST = ": on the device", ": host"


def drawing(results: Path) -> list[str]:
    """The rows of the program's argument draw, each the median of its runs: on the device by events, and what a host's thread spends."""
    file = newest(results, "draw-*.jsonl")
    where, *rows = map(json.loads, file.read_text().splitlines())

    def of(row: str, key: str) -> float:
        return median(found[key] for found in rows if found["row"] == row)

    names = dict.fromkeys(row["row"].removesuffix(DEVICE) for row in rows if row["row"].endswith(DEVICE))
    lines = [
        [
            name,
            f"{of(name + DEVICE, 'median_us'):.1f}",
            f"{of(name + HOST, 'enqueue_us'):.1f}",
            f"{of(name + HOST, 'command_bytes') / 1000:.0f}",
            f"{of(name + HOST, 'cpu_twin_us'):,.0f}",
        ]
        for name in names
    ]
    return [
        "### Drawing",
        "",
        "On the device by events, with the copy of what is drawn; enqueuing is the time of the host's thread, and the CPU one core of that host.",
        "",
        f"{where['date']}, commit {where['commit']}, {where['machine']}.",
        source(file, script="cargo bench -p cudainfer-benches --bench gpu -- draw"),
        "",
        *table(["what", "device, µs", "enqueuing, µs", "copied, KB", "on the CPU, µs"], lines),
        "",
    ]
