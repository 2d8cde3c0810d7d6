"""Samples as curves: memory, threads and open files of each process over the minutes.

python3 tools soak.plot FILE      draws what scripts/soak has measured on a machine without matplotlib, beside it
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

FIELDS = {
    "in_use_kb": "memory in use, MB",
    "resident_kb": "resident memory, MB",
    "gpu_mb": "device memory, MB",
    "threads": "threads",
    "files": "open files",
}


def plot(samples: list[dict], path: Path) -> None:
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    fields = [field for field in FIELDS if any(sample.get(field) is not None for sample in samples)]
    figure, all_axes = pyplot.subplots(len(fields), 1, figsize=(8, 2 * len(fields)), sharex=True, squeeze=False)
    for axes, field in zip(all_axes[:, 0], fields, strict=True):
        for process in dict.fromkeys(sample["process"] for sample in samples):
            own = [sample for sample in samples if sample["process"] == process and sample.get(field) is not None]
            unit = 1024 if field.endswith("_kb") else 1
            axes.plot([s["seconds"] / 60 for s in own], [s[field] / unit for s in own], label=process, linewidth=1)
        axes.set_ylabel(FIELDS[field])
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
        axes.legend(loc="lower right")
    all_axes[-1, 0].set_xlabel("minutes")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    [measured] = map(Path, sys.argv[1:])
    rows = map(json.loads, measured.read_text().splitlines())
    plot([row for row in rows if "process" in row], measured.with_suffix(".svg"))
