"""Times detect-track against bench/loop.py, in turns, then several files at once (bench/streams.py). Started by
scripts/bench.

Both sides decode, detect and track and throw the frames away. Both clocks start with everything loaded and end with the
last frame: the pipeline's is gst-launch's own, from PLAYING to the end of the stream.

The CPU time outside ONNX Runtime is read from the pipeline's threads while it plays. ONNX Runtime's are trtinfer's
workers (trtinfer:0, trtinfer:1, ...), which run the model, and those that carry the process's own name: threads of a
session inherit the name of the one that made them, all others of GStreamer are named after a pad or an element.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import threading
from pathlib import Path

import onnxruntime

from cudainfer_tools import pipeline, repository
from cudainfer_tools.bench import results, streams
from cudainfer_tools.repository import ROOT

TICK = os.sysconf("SC_CLK_TCK")
WORKER = re.compile(r"trtinfer:\d+")
GOALS = {"ratio": 1.3, "outside": 0.10}


def thread_times(pid: int) -> dict[int, tuple[str, float]]:
    """Name and CPU seconds of each living thread of a process, by thread id."""
    times = {}
    for stat in Path(f"/proc/{pid}/task").glob("*/stat"):
        try:
            text = stat.read_text()
        except OSError:  # the thread has just ended
            continue
        fields = text[text.rindex(")") + 2 :].split()
        name = text[text.index("(") + 1 : text.rindex(")")]
        times[int(stat.parent.name)] = (name, (int(fields[11]) + int(fields[12])) / TICK)
    return times


class Sampler(threading.Thread):
    """Follows the threads of a process from `begin` on: what each has spent since, also after it has ended."""

    def __init__(self, pid: int):
        super().__init__(daemon=True)
        self.pid = pid
        self.first: dict[int, float] = {}
        self.last: dict[int, tuple[str, float]] = {}
        self.done = threading.Event()

    def begin(self) -> None:
        self.first = {tid: spent for tid, (_, spent) in thread_times(self.pid).items()}
        self.start()

    def run(self) -> None:
        while not self.done.wait(0.05):
            self.last |= thread_times(self.pid)

    def seconds(self) -> dict[str, float]:
        """CPU seconds by thread name; ONNX Runtime's are summed up under its name."""
        total: dict[str, float] = {}
        for tid, (name, spent) in self.last.items():
            session = name.startswith("gst-launch") and tid != self.pid
            name = "ONNX Runtime" if session or WORKER.fullmatch(name) else name
            total[name] = total.get(name, 0.0) + spent - self.first.get(tid, 0.0)
        return {name: round(spent, 3) for name, spent in sorted(total.items(), key=lambda item: -item[1])}


def run_pipeline(command: list[str]) -> dict:
    """Seconds from PLAYING to the end, and CPU seconds by thread in between."""
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=pipeline.environment() | {"LC_ALL": "C.UTF-8"},
    )
    sampler, output, seconds = Sampler(process.pid), [], None
    assert process.stdout is not None
    for line in process.stdout:
        output.append(line)
        if line.startswith("Setting pipeline to PLAYING"):
            sampler.begin()
        elif line.startswith("Got EOS"):
            sampler.done.set()
        elif (ended := pipeline.played(line)) is not None:
            seconds = ended
    if process.wait() != 0 or seconds is None:
        sys.exit("".join(output) + "bench: the pipeline failed, see above")
    return {"seconds": seconds, "cpu": sampler.seconds()}


def run_loop(arguments: list[str]) -> dict:
    loop = repository.command("bench.loop", *arguments)
    return json.loads(subprocess.run(loop, check=True, stdout=subprocess.PIPE, text=True).stdout)


def numbers(text: str) -> list[int]:
    """Numbers from 1 on, with commas between them; none of an empty text."""
    found = [int(word) for word in text.split(",") if word]
    if min(found, default=1) < 1:
        raise ValueError(text)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--video", default=str(ROOT / ".cache/video/vtest.avi"))
    parser.add_argument("--model", default=str(ROOT / ".cache/models/nanodet.onnx"))
    parser.add_argument("--streams", type=numbers, default=[1, 4], metavar="N,N...", help="files at once (default: 1,4)")
    parser.add_argument("--batch", type=int, default=1, help="frames of the streams in one run (default: 1)")
    parser.add_argument("--workers", type=int, help="sessions at once (default: one a thread, at most 4)")
    parser.add_argument("--rounds-of-streams", type=int, default=3, metavar="N")
    given = parser.parse_args()
    given.workers = given.workers or min(given.threads, 4)

    line = pipeline.read("detect-track").arguments({"video": given.video, "model": given.model})
    line = line[: line.index("inferpublish")] + ["fakesink"]
    at = line.index("trtinfer") + 1
    line[at:at] = [f"workers={given.workers}", f"intra-threads={max(1, given.threads // given.workers)}"]
    command = pipeline.command(line)
    print(pipeline.printable(command), flush=True)

    runs: dict[str, list[dict]] = {"pipeline": [], "loop": []}
    for turn in range(given.rounds):
        # The loop goes first: it counts the frames.
        runs["loop"].append(run_loop([given.video, given.model, str(given.threads)]))
        frames = runs["loop"][0]["frames"]
        runs["pipeline"].append(run_pipeline(command) | {"frames": frames})
        speeds = [runs[side][-1]["frames"] / runs[side][-1]["seconds"] for side in ("pipeline", "loop")]
        print(f"round {turn + 1}: pipeline {speeds[0]:.1f}, loop {speeds[1]:.1f} frames/s", flush=True)

    speed = {side: [run["frames"] / run["seconds"] for run in each] for side, each in runs.items()}
    # Of the rounds' own ratios: two runs one after the other suffer the same from what else the machine does.
    ratio = statistics.median(mine / theirs for mine, theirs in zip(speed["pipeline"], speed["loop"], strict=True))
    outside = statistics.median(1 - run["cpu"].get("ONNX Runtime", 0.0) / sum(run["cpu"].values()) for run in runs["pipeline"])
    for side, values in speed.items():
        print(f"{side:<10}{statistics.median(values):>7.1f} frames/s ({min(values):.1f} to {max(values):.1f})")
    print(f"ratio     {ratio:>7.2f} (goal: {GOALS['ratio']} or more)")
    print(f"outside   {outside:>7.1%} of the pipeline's CPU time is not ONNX Runtime's (goal: less than {GOALS['outside']:.0%})")

    rows = streams.run(given) if given.streams else []

    figures = {
        "threads": given.threads,
        "onnxruntime": onnxruntime.__version__,
        "command": pipeline.printable(command),
        "ratio": round(ratio, 3),
        "outside": round(outside, 4),
        "runs": runs,
        "streams": rows,
    }
    results.write("cpu", figures)


if __name__ == "__main__":
    pipeline.start("bench", main)
