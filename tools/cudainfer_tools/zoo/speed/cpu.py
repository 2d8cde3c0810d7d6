"""How many frames a second the cases' pipelines take on this machine's CPU."""

from __future__ import annotations

import datetime
import json
import os
import statistics
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from cudainfer_tools import pipeline, repository
from cudainfer_tools.machine import commit, processor
from cudainfer_tools.zoo import objects, ours
from cudainfer_tools.zoo.speed import rows

# A case that takes longer has no figure.
LONGEST = 180


def machine() -> dict:
    """What the figures are of."""
    today = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    return {"date": today, "commit": commit(), "processor": processor(), "cores": os.cpu_count()}


def row(folder: Path) -> dict:
    """The frame rate of the case in a folder: the median of three windows."""
    case = json.loads((folder / "case.json").read_text())
    one = {"case": folder.name, "column": "cpu"}
    if case["unread"]:
        return one | {"why": "no element reads it"}
    line = [*ours.network_of(folder, case), *ours.elements_of(folder, case)]
    arguments = (folder / "frames.rgb", *case["size"], *line)
    command = repository.command("zoo.speed.counted", *arguments, python=objects.python_with_gstreamer())
    try:
        done = subprocess.run(
            command, env=pipeline.environment(), capture_output=True, text=True, check=False, timeout=LONGEST, errors="replace"
        )
    except subprocess.TimeoutExpired:
        return one | {"why": f"no figure within {LONGEST} s"}
    if done.returncode != 0:
        error = pipeline.ERROR.search(done.stderr)
        return one | {"why": error[3] if error else (done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"])[-1]}
    rates = json.loads(done.stdout.splitlines()[-1])
    return one | {"fps": round(statistics.median(rates), 2), "windows": [round(rate, 2) for rate in rates]}


def measure(out: Path, words: Sequence[str], see: Callable[[dict], None]) -> None:
    """Measures the cases in a folder, or those whose names contain one of the words. Each row goes to the results file as it comes, and
    to `see`."""
    runs, here = rows.read(), machine()
    for folder in sorted(file.parent for file in out.glob("*/case.json")):
        if words and not any(word in folder.name for word in words):
            continue
        one = row(folder)
        rows.add(runs, here, one)
        rows.write(runs)
        see(one)
