"""Measures what the tracer's metrics and traces cost: pipelines without them, with metrics, and with metrics and sampled
frames sent by OTLP, in turns, while a client scrapes as often as Prometheus would at its fastest. Started by
scripts/bench --metrics.

    python3 tools bench.metrics [--rounds N] [--video VIDEO] [--model MODEL]

Three pipelines: detect and track without an output; one in which nothing is done but handing frames on, which tells what each
call of an element costs; and detect and track on a slow live source, scraped as fast as it answers, which tells what a scrape
costs. The ratios are those of the rounds, because two runs one after the other suffer the same from what else the machine
does; where they scatter by more than the goal, the parts decide: calls and scrapes of a second, as a share of the CPU time.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from cudainfer_tools import pipeline
from cudainfer_tools.bench import results
from cudainfer_tools.repository import ROOT

ADDRESS = re.compile(r"metrics are at (http://\S+)")
# Seconds between two scrapes.
INTERVAL = 1.0
HANDED_ON = 100_000
ELEMENTS = 10
# Seconds of the live source.
LIVE = 5
GOAL = 0.01
# The tracer's options of each run of a turn; of the collector's port {}. One frame in 100 is sampled: the default.
SIDES = {
    "without": "",
    "with": "cudainfertracer(metrics=127.0.0.1:0)",
    "traced": "cudainfertracer(metrics=127.0.0.1:0,otlp=http://127.0.0.1:{})",
}


class Collector(BaseHTTPRequestHandler):
    """Takes all spans."""

    requests = 0

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        type(self).requests += 1
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def run(command: list[str], tracer: str, interval: float | None = INTERVAL) -> dict:
    """Seconds from PLAYING to the end by the clock, CPU seconds of the whole process, and scrapes, one in `interval` seconds."""
    environment = pipeline.environment() | {"LC_ALL": "C.UTF-8"}
    for name in ("GST_TRACERS", "GST_DEBUG", "GST_DEBUG_FILE"):
        environment.pop(name, None)
    if tracer:
        environment |= {"GST_TRACERS": tracer, "GST_DEBUG": "cudainfer-tracer:4"}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", env=environment
    )
    over, output, seconds, scrapes = threading.Event(), [], None, []

    def scrape(address: str) -> None:
        while interval is not None and not over.wait(interval):
            started = time.monotonic()
            try:
                with urllib.request.urlopen(address, timeout=5) as answer:
                    scrapes.append((len(answer.read()), time.monotonic() - started))
            except OSError:
                return  # the pipeline has just ended

    scraper = None
    assert process.stdout is not None
    for line in process.stdout:
        output.append(line)
        if match := ADDRESS.search(line):
            scraper = threading.Thread(target=scrape, args=(match[1],))
            scraper.start()
        elif (ended := pipeline.played(line)) is not None:
            seconds = ended
    over.set()
    if scraper:
        scraper.join()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0 or seconds is None or (tracer and not scraper):
        sys.exit("".join(output) + "bench: the pipeline failed, see above")
    return {"seconds": seconds, "cpu": usage.ru_utime + usage.ru_stime, "scrapes": len(scrapes)}


def cost(rounds: list[dict[str, dict]], what: str, side: str = "with") -> float:
    """By how much more of `what` (`seconds` or `cpu`) that side takes: the median of the rounds."""
    return statistics.median(turn[side][what] / turn["without"][what] for turn in rounds) - 1


def a_call(rounds: list[dict[str, dict]], calls: int, side: str = "with") -> float:
    """CPU seconds that this side adds to each call of an element: the median of the rounds."""
    return statistics.median(turn[side]["cpu"] - turn["without"]["cpu"] for turn in rounds) / calls


def a_scrape(rounds: list[dict[str, dict]]) -> float:
    """CPU seconds of a scrape: the median of the rounds."""
    return statistics.median((turn["scraped"]["cpu"] - turn["left alone"]["cpu"]) / turn["scraped"]["scrapes"] for turn in rounds)


def parts(turn: dict[str, dict], calls: int, call: float, scrape: float) -> float:
    """What calls and scrapes come to, as a share of the CPU time without them."""
    return (calls * call + turn["without"]["seconds"] / INTERVAL * scrape) / turn["without"]["cpu"]


def scatter(rounds: list[dict[str, dict]], what: str, side: str) -> list[float]:
    """The lowest and the highest of what the median of the rounds is taken of."""
    ratios = [turn[side][what] / turn["without"][what] - 1 for turn in rounds]
    return [min(ratios), max(ratios)]


def lost(rounds: list[dict[str, dict]], side: str) -> float:
    """The part of the frames per second that this side loses; below 0 it gains."""
    return 1 - 1 / (1 + cost(rounds, "seconds", side))


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/bench --metrics", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--video", default=str(ROOT / ".cache/video/vtest.avi"))
    parser.add_argument("--frames", type=int, default=795, help="how many the video has (default: vtest.avi's)")
    parser.add_argument("--model", default=str(ROOT / ".cache/models/nanodet.onnx"))
    given = parser.parse_args()

    line = pipeline.read("detect-track").arguments({"video": given.video, "model": given.model})
    line = line[: line.index("inferpublish")] + ["fakesink"]
    small = f"videotestsrc num-buffers={HANDED_ON} ! video/x-raw,width=16,height=16"
    handing = [*small.split(), *["!", "identity"] * (ELEMENTS - 1), "!", "fakesink"]
    collector = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    threading.Thread(target=collector.serve_forever, daemon=True).start()
    sides = {side: tracer.format(collector.server_port) for side, tracer in SIDES.items()}
    runs: dict[str, list[dict]] = {}
    for name, arguments in (("detect-track", line), ("handing-on", handing)):
        command = pipeline.command(arguments)
        print(pipeline.printable(command), flush=True)
        runs[name] = []
        for number in range(given.rounds):
            turn = {side: run(command, sides[side]) for side in results.turn(sides, number)}
            runs[name].append(turn)
            print(f"round {number + 1}: " + ", ".join(f"{side} {turn[side]['seconds']:.2f} s" for side in turn), flush=True)
    if not Collector.requests:
        sys.exit("bench: no span has come to the collector")

    camera = f"videotestsrc is-live=true num-buffers={10 * LIVE} ! video/x-raw,framerate=10/1 ! videoconvert ! fusedpreproc"
    live = [*camera.split(), "!", "trtinfer", f"model={given.model}", "!", "gpunms", "!", "tracker", "!", "fakesink", "sync=false"]
    command = pipeline.command(live)
    print(pipeline.printable(command), flush=True)
    runs["scraped"] = [
        {"left alone": run(command, sides["with"], None), "scraped": run(command, sides["with"], 0.0)} for _ in range(given.rounds)
    ]

    whole, calls = runs["detect-track"], HANDED_ON * ELEMENTS
    scrape = a_scrape(runs["scraped"])
    figures: dict = {"scrape_us": 1e6 * scrape}
    print(f"a scrape: {1e6 * scrape:.0f} us of CPU time")
    elements = line.count("!") + 1
    for side, name in (("with", "metrics"), ("traced", "metrics and traces")):
        call = a_call(runs["handing-on"], calls, side)
        share = statistics.median(parts(turn, given.frames * elements, call, scrape) for turn in whole)
        figures[side] = {
            "seconds": cost(whole, "seconds", side),
            "scatter": scatter(whole, "seconds", side),
            "cpu": cost(whole, "cpu", side),
            "call_ns": 1e9 * call,
            "parts": share,
        }
        low, high = figures[side]["scatter"]
        print(f"with {name}:")
        print(
            f"  frames/s  {-lost(whole, side):>+8.2%} (goal: less than {GOAL:.0%} lost); seconds of the rounds {low:+.1%} to {high:+.1%}"
        )
        print(f"  CPU time  {figures[side]['cpu']:>+8.2%}")
        print(f"  a call    {1e9 * call:>8.0f} ns of CPU time for each element and frame")
        print(f"  parts     {share:>+8.3%} of the CPU time: calls, and a scrape every {INTERVAL:.0f} s")

    results.write("cpu-metrics", {"load": os.getloadavg(), **figures, "runs": runs})


if __name__ == "__main__":
    pipeline.start("bench", main)
