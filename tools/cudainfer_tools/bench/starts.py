"""Measures how long a pipeline takes from the start of its process to its first result, with an empty engine cache and with what that
start has left in it. Started by scripts/bench --starts, and by scripts/bench --gpu for CUDA.

    python3 tools bench.starts [--device cpu|cuda] [--rounds N] [--rows] MODEL...

A row is {"row", "device", "cache", "result_ms", "parts"}: medians of the rounds; `cache` is "empty" or "filled", `result_ms` the time to
the first frame after gpunms, and `parts` what trtinfer says that its start took, in milliseconds. --rows prints rows as JSON, one a
line, instead of writing them to benches/results.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import select
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from cudainfer_tools import pipeline
from cudainfer_tools.bench import results
from cudainfer_tools.repository import ROOT

TOOK = re.compile(r"the start took: (.*)")
PART = re.compile(r"([a-z-]+) (\d+) ms")
CACHES = ("empty", "filled")
# More than warming up takes beside the frames, at 30 a second.
FRAMES = 600
LIMIT_S = 120
PAUSE_S = 0.02


def start(model: Path, device: str, cache: Path, log: Path) -> dict:
    """One start: milliseconds to the first result, and to the parts of the model's start."""
    line = f"videotestsrc is-live=true num-buffers={FRAMES} ! video/x-raw,width=640,height=480,framerate=30/1 ! videoconvert"
    line += " ! cudainferupload" if device == "cuda" else ""
    line += f" ! fusedpreproc device={device} ! trtinfer device={device} model={model} engine-cache={cache} ! gpunms ! fdsink sync=false"
    environment = {
        **pipeline.environment(),
        "GST_DEBUG": "cudainfer-engine:4",
        "GST_DEBUG_NO_COLOR": "1",
        "GST_DEBUG_FILE": str(log),
    }
    # A driver keeps what it has compiled.
    environment["CUDA_CACHE_PATH"] = str(cache.with_name(f"{cache.name}-cuda"))
    log.write_text("")
    began = time.monotonic()
    process = subprocess.Popen(
        ["gst-launch-1.0", "-q", *line.split()], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout
    first = os.read(process.stdout.fileno(), 1)
    result = (time.monotonic() - began) * 1e3
    said = ""
    if first:
        # It says what the start took when it has warmed up, which may be beside the frames.
        while process.poll() is None and not (said := "".join(TOOK.findall(log.read_text(errors="replace"))[-1:])):
            if time.monotonic() - began > LIMIT_S:
                break
            if select.select([process.stdout], [], [], PAUSE_S)[0]:
                os.read(process.stdout.fileno(), 1 << 20)
    process.terminate()
    _, complained = process.communicate()
    if not first or not said:
        sys.exit(f"{complained.decode(errors='replace')[-2000:]}bench: {model} has not started in {LIMIT_S} s, see above")
    return {"result_ms": result, "parts": {name: float(ms) for name, ms in PART.findall(said)}}


def measure(models: list[Path], device: str, rounds: int) -> list[dict]:
    """A row for each model and cache."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for model in models:
            reported: dict[str, list[dict]] = {cache: [] for cache in CACHES}
            for number in range(rounds):
                # A name for each, so that the first start of each round finds nothing.
                cache = Path(folder) / f"{model.stem}-{number}"
                for turn in reported.values():
                    turn.append(start(model, device, cache, Path(folder) / "log"))
            for left, turns in reported.items():
                parts = {name: statistics.median(turn["parts"][name] for turn in turns) for name in turns[0]["parts"]}
                result = statistics.median(turn["result_ms"] for turn in turns)
                rows.append({"row": model.stem, "device": device, "cache": left, "result_ms": round(result), "parts": parts})
    return rows


def table(rows: list[dict]) -> list[str]:
    """The rows for docs/benchmarks.md; none if there are none."""
    rows = [row for row in rows if "result_ms" in row]
    if not rows:
        return []
    names = list(rows[0]["parts"])
    lines = ["", f"| model | device | engine cache | first result, s | {' | '.join(f'{name}, s' for name in names)} |"]
    lines.append("|---" * (4 + len(names)) + "|")
    for row in rows:
        times = [row["result_ms"], *(row["parts"][name] for name in names)]
        lines.append(f"| {row['row']} | {row['device']} | {row['cache']} | {' | '.join(f'{ms / 1e3:.2f}' for ms in times)} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/bench --starts", description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", action="store_true", help="print rows as JSON")
    parser.add_argument("models", type=Path, nargs="*", metavar="MODEL", default=[ROOT / ".cache/models/nanodet.onnx"])
    given = parser.parse_args()
    rows = measure([model.absolute() for model in given.models], given.device, given.rounds)
    if given.rows:
        print("\n".join(map(json.dumps, rows)))
    else:
        print("\n".join(table(rows)))
        results.write(f"{given.device}-starts", {"load": os.getloadavg(), "rows": rows})


if __name__ == "__main__":
    try:
        main()
    except pipeline.PipelineError as error:
        sys.exit(f"bench: {error}")
