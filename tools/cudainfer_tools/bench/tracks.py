"""Times tracking on the CPU by the number of boxes a frame, against ByteTrack of the Python package `trackers` and of the crate
`trackforge`, on the same boxes. Started by scripts/bench --tracks.

    python3 tools bench.tracks MOT TRACKFORGE [--most N]

MOT is kernels/examples/mot.rs and TRACKFORGE benches/trackforge, both built. People of 40 x 90 pixels walk through a frame of
1920 x 1080 (from 400 on it grows with them, so that a crowd is as dense), seen by a detector whose boxes tremble by 2 pixels; a
fifth of them weakly. The table, as JSON, and the curve, as a plot, go to benches/results.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import json
import math
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from cudainfer_tools.evaluate.tracks import ALGORITHMS
from cudainfer_tools.machine import processor
from cudainfer_tools.repository import ROOT

COUNTS = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
FRAMES = 128
SECONDS = 2.0
# Of a tracker, in microseconds a frame on one core, by number of boxes.
GOALS = {10: 20.0, 100: 250.0, 1000: 8000.0}
# Of that many streams with that many boxes at this rate, in parts of a core.
STREAMS, BOXES, RATE, CORE = 64, 50, 30, 0.15
# From here on the frame grows with the crowd.
CROWD = 400


def walk(count: int) -> list[np.ndarray]:
    """For each frame `[count, 5]`: x, y, width, height and confidence. There and back, so that it can be repeated."""
    random = np.random.default_rng(count)
    side = math.sqrt(max(count / CROWD, 1.0))
    start = random.random((count, 2)) * (1880 * side, 990 * side)
    speed = (random.random((count, 2)) - 0.5) * (6, 2)
    frames = []
    for t in range(FRAMES):
        tremble = 4 * random.random((count, 4)) - 2
        place = start + speed * min(t, FRAMES - 1 - t)
        confidence = 0.5 + 0.5 * random.random((count, 1))
        frames.append(np.hstack([place + tremble[:, :2], np.array([40, 90]) + tremble[:, 2:], confidence]))
    return frames


def written(frames: list[np.ndarray], path: Path) -> Path:
    rows = (f"{t},-1,{x:.3f},{y:.3f},{w:.3f},{h:.3f},{c:.4f},-1,-1,-1\n" for t, f in enumerate(frames, 1) for x, y, w, h, c in f)
    path.write_text("".join(rows))
    return path


def reported(*command: object) -> float:
    return float(subprocess.run(list(map(str, command)), check=True, stdout=subprocess.PIPE, text=True).stdout)


def by_trackers(frames: list[np.ndarray]) -> float:
    """Median microseconds of an update of `trackers`' ByteTrack."""
    import supervision
    import trackers

    def detections(rows: np.ndarray) -> supervision.Detections:
        boxes = np.hstack([rows[:, :2], rows[:, :2] + rows[:, 2:4]])
        return supervision.Detections(xyxy=boxes, confidence=rows[:, 4], class_id=np.zeros(len(rows), int))

    times: list[float] = []
    tracker, end = trackers.ByteTrackTracker(), time.perf_counter() + SECONDS
    seen = [detections(rows) for rows in frames]
    while len(times) < 10 or time.perf_counter() < end:
        one = seen[len(times) % len(seen)]
        start = time.perf_counter()
        tracker.update(one)
        times.append((time.perf_counter() - start) * 1e6)
    return float(np.median(times[3:]))


def judged(found: dict[int, dict[str, float]], streams: dict[str, float]) -> list[str]:
    """Whether the goals are met."""
    lines = []
    for count, goal in GOALS.items():
        for who in ALGORITHMS:
            if who in found.get(count, {}):
                us = found[count][who]
                lines.append(f"{who}, {count} boxes: {us:.1f} us (goal: {goal:.0f}): {'met' if us <= goal else 'MISSED'}")
    for who, us in streams.items():
        core = us * STREAMS * RATE * 1e-6
        met = "met" if core <= CORE else "MISSED"
        lines.append(
            f"{who}, {STREAMS} streams of {BOXES} boxes at {RATE} frames/s: {100 * core:.1f} % of a core (goal: {100 * CORE:.0f}): {met}"
        )
    return lines


def plot(found: dict[int, dict[str, float]], path: Path) -> None:
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 5))
    for who in next(iter(found.values())):
        counts = [count for count, row in found.items() if who in row]
        axes.loglog(counts, [found[count][who] for count in counts], "o-" if who in ALGORITHMS else "s--", label=who)
    boxes = np.array(list(found))
    scale = found[boxes[0]][ALGORITHMS[0]] / (boxes[0] * np.log2(boxes[0]))
    axes.loglog(boxes, scale * boxes * np.log2(boxes), ":", color="gray", label="n log n")
    axes.set(xlabel="boxes a frame", ylabel="microseconds a frame, one core")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, metadata={"Date": None})


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench --tracks", description=__doc__.splitlines()[0])
    parser.add_argument("mot", type=Path)
    parser.add_argument("trackforge", type=Path)
    parser.add_argument("--most", type=int, default=max(COUNTS))
    given = parser.parse_args()
    found: dict[int, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "det.txt"
        for count in (count for count in COUNTS if count <= given.most):
            frames = walk(count)
            written(frames, file)
            row = {who: reported(given.mot, "--algorithm", who, "--time", 1, file) for who in ALGORITHMS}
            # Beyond, an update takes them seconds.
            if count <= 1000:
                row["trackers"] = by_trackers(frames)
                row["trackforge"] = reported(given.trackforge, file)
            found[count] = row
            print(f"{count:>6}" + "".join(f"  {who} {us:.1f}" for who, us in row.items()), flush=True)
        written(walk(BOXES), file)
        streams = {who: reported(given.mot, "--algorithm", who, "--time", STREAMS, file) for who in ALGORITHMS}
    lines = judged(found, streams)
    print("\n".join(lines))
    results, date = ROOT / "benches" / "results", datetime.date.today().isoformat()
    plot(found, results / "track-speed.svg")
    versions = {"trackers": importlib.metadata.version("trackers"), "trackforge": "0.5.1"}
    made = {"machine": processor(), "versions": versions, "us": found, "us of 64 streams": streams, "goals": lines}
    (results / f"cpu-tracks-{date}.json").write_text(json.dumps(made, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
