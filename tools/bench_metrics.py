"""Measures what the tracer's metrics cost: pipelines with and without them, in turns, while a client scrapes as often as
Prometheus would at its fastest. Started by scripts/bench --metrics.

    bench_metrics.py [--rounds N] [--video VIDEO] [--model MODEL]

Two pipelines: detect and track without an output, and one in which nothing is done but handing frames on, which tells
what each call of an element costs. The ratios are those of the rounds, because two runs one after the other suffer the same
from what else the machine does. CPU time is compared besides: it suffers less.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import statistics
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import pipeline
from machine import processor

ENDED = re.compile(r"Execution ended after (\d+):(\d+):([\d.]+)")
ADDRESS = re.compile(r"metrics are at (http://\S+)")
# Seconds between two scrapes.
INTERVAL = 1.0
HANDED_ON = 100_000
ELEMENTS = 10
GOAL = 0.01


def run(command: list[str], metrics: bool) -> dict:
    """Seconds from PLAYING to the end by the clock, and CPU seconds of the whole process."""
    environment = pipeline.environment() | {"LC_ALL": "C.UTF-8"}
    for name in ("GST_TRACERS", "GST_DEBUG", "GST_DEBUG_FILE"):
        environment.pop(name, None)
    if metrics:
        environment |= {"GST_TRACERS": "cudainfer(metrics=127.0.0.1:0)", "GST_DEBUG": "cudainfer-tracer:4"}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", env=environment
    )
    over, output, seconds, scrapes = threading.Event(), [], None, []

    def scrape(address: str) -> None:
        while not over.wait(INTERVAL):
            started = time.monotonic()
            try:
                with urllib.request.urlopen(address, timeout=5) as answer:
                    scrapes.append((len(answer.read()), time.monotonic() - started))
            except OSError:
                return  # the pipeline has just ended

    scraper = None
    for line in process.stdout:
        output.append(line)
        if match := ADDRESS.search(line):
            scraper = threading.Thread(target=scrape, args=(match[1],))
            scraper.start()
        elif match := ENDED.match(line):
            seconds = int(match[1]) * 3600 + int(match[2]) * 60 + float(match[3])
    over.set()
    if scraper:
        scraper.join()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0 or seconds is None or (metrics and not scraper):
        sys.exit("".join(output) + "bench: the pipeline failed, see above")
    return {"seconds": seconds, "cpu": usage.ru_utime + usage.ru_stime, "scrapes": len(scrapes)}


def cost(rounds: list[dict[str, dict]], what: str) -> float:
    """By how much more of `what` (`seconds` or `cpu`) it takes with metrics: the median of the rounds."""
    return statistics.median(turn["with"][what] / turn["without"][what] for turn in rounds) - 1


def a_call(rounds: list[dict[str, dict]], calls: int) -> float:
    """CPU seconds that metrics add to each call of an element: the median of the rounds."""
    return statistics.median(turn["with"]["cpu"] - turn["without"]["cpu"] for turn in rounds) / calls


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/bench --metrics", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--video", default=str(pipeline.ROOT / ".cache/video/vtest.avi"))
    parser.add_argument("--model", default=str(pipeline.ROOT / ".cache/models/nanodet.onnx"))
    given = parser.parse_args()

    line = pipeline.read("detect-track").arguments({"video": given.video, "model": given.model})
    line = line[: line.index("inferpublish")] + ["fakesink"]
    handing = f"videotestsrc num-buffers={HANDED_ON} ! video/x-raw,width=16,height=16"
    handing = [*handing.split(), *["!", "identity"] * (ELEMENTS - 1), "!", "fakesink"]
    runs: dict[str, list[dict]] = {}
    for name, arguments in (("detect-track", line), ("handing-on", handing)):
        command = pipeline.command(arguments)
        print(pipeline.printable(command), flush=True)
        runs[name] = []
        for number in range(given.rounds):
            # Who goes first changes.
            order = (("without", False), ("with", True))[:: -1 if number % 2 else 1]
            turn = {side: run(command, metrics) for side, metrics in order}
            runs[name].append(turn)
            print(f"round {number + 1}: " + ", ".join(f"{side} {turn[side]['seconds']:.2f} s" for side in turn), flush=True)

    whole, call = runs["detect-track"], a_call(runs["handing-on"], HANDED_ON * ELEMENTS)
    print(f"frames/s  {-cost(whole, 'seconds') / (1 + cost(whole, 'seconds')):>+8.2%} with metrics (goal: less than {GOAL:.0%} lost)")
    print(f"CPU time  {cost(whole, 'cpu'):>+8.2%}")
    print(f"a call    {1e9 * call:>8.0f} ns of CPU time for each element and frame")

    now = datetime.datetime.now(datetime.UTC)
    result = {
        "date": now.isoformat(timespec="seconds"),
        "processor": processor(),
        "cores": os.cpu_count(),
        "load": os.getloadavg(),
        "seconds": cost(whole, "seconds"),
        "cpu": cost(whole, "cpu"),
        "call_ns": 1e9 * call,
        "runs": runs,
    }
    file = pipeline.ROOT / "benches" / "results" / f"cpu-metrics-{now:%Y-%m-%d}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(result, indent=1) + "\n")
    print(Path(file).relative_to(pipeline.ROOT))


if __name__ == "__main__":
    os.chdir(pipeline.ROOT)
    try:
        main()
    except pipeline.PipelineError as error:
        sys.exit(f"bench: {error}")
