"""Shows a pipeline's streams while it runs: one line for each, updated in place on a terminal, plain lines elsewhere.
Used by run.

Everything comes from /metrics of the tracer (docs/metrics.md), which the pipeline is started with.
"""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections import defaultdict
from dataclasses import dataclass, field
from typing import IO

from cudainfer_tools.pipeline import PipelineError

# Seconds between two looks; the first comes sooner.
INTERVAL = 1.0
FIRST = 0.2
CATEGORY = "cudainfer-tracer"
ADDRESS = re.compile(rf"{CATEGORY}.*metrics are at (http://\S+)")
SAMPLE = re.compile(r"(\w+)(?:\{(.*)\})? (\S+)")
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
ESCAPE = re.compile(r"\\(.)")


@dataclass
class Counts:
    """What a page tells of one stream."""

    # By the element where the stream ends: frames, and their latencies' sum in seconds.
    frames: dict[str, float] = field(default_factory=dict)
    latency: dict[str, float] = field(default_factory=dict)
    dropped: float = 0.0
    # By the element that found them.
    objects: dict[str, float] = field(default_factory=lambda: defaultdict(float))


def read(page: str) -> dict[tuple[str, str], Counts]:
    """The counts by pipeline and stream, of a page in Prometheus' text format. What is not made of frames is left out, unless
    there is nothing else."""
    handled: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    streams: dict[tuple[str, str], Counts] = defaultdict(Counts)
    for line in page.splitlines():
        match = SAMPLE.fullmatch(line)
        if line.startswith("#") or not match:
            continue
        labels = {name: ESCAPE.sub(lambda m: m[1].replace("n", "\n"), text) for name, text in LABEL.findall(match[2] or "")}
        if "stream" not in labels:
            continue
        counts, element, value = streams[labels["pipeline"], labels["stream"]], labels["element"], float(match[3])
        if match[1] == "cudainfer_latency_seconds_count":
            counts.frames[element] = value
        elif match[1] == "cudainfer_latency_seconds_sum":
            counts.latency[element] = value
        elif match[1] == "cudainfer_frames_total":
            handled[labels["pipeline"], labels["stream"]][element] = value
        elif match[1] == "cudainfer_frames_dropped_total":
            counts.dropped += value
        elif match[1] == "cudainfer_objects_total":
            counts.objects[element] += value
    timed = {key: counts for key, counts in streams.items() if reaches_sink(counts, handled[key])}
    if timed:
        return timed
    for key, frames in handled.items():
        streams[key].frames = frames
    return {key: counts for key, counts in streams.items() if counts.frames}


def reaches_sink(counts: Counts, handled: dict[str, float]) -> bool:
    """Whether the stream's frames arrive where it ends. A muxer makes others of them, of which only a few have a frame's time."""
    came = max(handled.values(), default=0.0) - counts.dropped
    return bool(counts.frames) and 10 * max(counts.frames.values()) >= came


def line(name: str, before: Counts, now: Counts, seconds: float) -> str:
    """What is shown of a stream: of its fastest sink, and of the element that found most objects, since `before`."""
    new = {sink: max(0.0, frames - before.frames.get(sink, 0.0)) for sink, frames in now.frames.items()}
    sink = max(new, key=lambda sink: new[sink])
    frames = new[sink]
    latency = now.latency.get(sink, 0.0) - before.latency.get(sink, 0.0)
    found = max((total - before.objects.get(element, 0.0) for element, total in now.objects.items()), default=None)
    text = f"{name:<24} {frames / seconds:>7.1f} frames/s"
    text += f" {1e3 * latency / frames:>9.1f} ms" if frames and sink in now.latency else f" {'-':>9} ms"
    text += f" {now.dropped:>7.0f} dropped"
    if found is not None and frames:
        text += f" {found / frames:>6.1f} objects"
    return text


class Screen:
    """Lines that replace each other on a terminal, and follow each other elsewhere. Others may be printed meanwhile."""

    def __init__(self, out: IO[str]):
        self.out = out
        self.terminal = out.isatty()
        self.shown: list[str] = []
        self.lock = threading.Lock()

    def _clear(self) -> None:
        if self.terminal and self.shown:
            # Up to the first of them, and everything below away.
            self.out.write(f"\x1b[{len(self.shown)}A\x1b[J")

    def _draw(self) -> None:
        width = shutil.get_terminal_size().columns
        for text in self.shown:
            self.out.write((text[: width - 1] if self.terminal else text) + "\n")
        self.out.flush()

    def show(self, lines: list[str]) -> None:
        """Shows these lines."""
        with self.lock:
            self._clear()
            self.shown = lines
            self._draw()

    def hand_on(self, text: str, to: IO[str]) -> None:
        """Prints a line of the pipeline's own, above those that are shown where both are on the terminal."""
        with self.lock:
            if not self.terminal:
                to.write(text)
                to.flush()
                return
            self._clear()
            self.out.flush()
            to.write(text)
            to.flush()
            self._draw()


class Watch:
    """Asks for the metrics again and again."""

    def __init__(self, screen: Screen):
        self.screen = screen
        self.address: str | None = None
        self.before: dict[tuple[str, str], Counts] = {}
        self.asked = 0.0

    def look(self) -> None:
        """Asks once, and shows what is new."""
        if self.address is None:
            return
        try:
            with urllib.request.urlopen(self.address, timeout=5) as answer:
                streams = read(answer.read().decode())
        except (OSError, urllib.error.URLError):
            return  # the pipeline has just ended
        now = time.monotonic()
        if streams and self.before:
            pipelines = {pipeline for pipeline, _ in streams}
            lines = []
            for (owner, stream), counts in sorted(streams.items()):
                name = stream or "-"
                name = f"{owner}:{name}" if len(pipelines) > 1 else name
                lines.append(line(name, self.before.get((owner, stream), Counts()), counts, now - self.asked))
            self.screen.show(lines)
        self.before, self.asked = streams, now


def with_tracer(environment: dict[str, str]) -> dict[str, str]:
    """The environment with the tracer on a port that the system chooses, which its log tells."""
    tracers = environment.get("GST_TRACERS", "")
    if "cudainfer" in tracers:
        raise PipelineError(f"--watch starts the tracer itself: leave cudainfertracer out of GST_TRACERS={tracers}")
    mine = {
        "GST_TRACERS": ";".join(filter(None, [tracers, "cudainfertracer(metrics=127.0.0.1:0)"])),
        "GST_DEBUG": ",".join(filter(None, [environment.get("GST_DEBUG"), f"{CATEGORY}:4"])),
        "GST_DEBUG_NO_COLOR": "1",
    }
    # Else the log goes there, and the address with it.
    return {name: value for name, value in environment.items() if name != "GST_DEBUG_FILE"} | mine


def run(command: list[str], environment: dict[str, str]) -> int:
    """Runs the command and shows its streams until it ends; returns its exit status."""
    screen = Screen(sys.stdout)
    watch = Watch(screen)
    # Ctrl-C is the pipeline's: with -e it ends its streams first.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    process = subprocess.Popen(
        command,
        env=with_tracer(environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )

    def hand_on(source: IO[str], to: IO[str]) -> None:
        for text in source:
            if match := ADDRESS.search(text):
                watch.address = match[1]
            elif f" {CATEGORY} " not in text:
                screen.hand_on(text, to)

    threads = [
        threading.Thread(target=hand_on, args=(process.stdout, sys.stdout)),
        threading.Thread(target=hand_on, args=(process.stderr, sys.stderr)),
    ]
    for thread in threads:
        thread.start()
    wait = FIRST
    while True:
        try:
            process.wait(wait)
            break
        except subprocess.TimeoutExpired:
            watch.look()
            wait = INTERVAL if watch.before else FIRST
    for thread in threads:
        thread.join()
    if watch.address is None:
        print("run: the pipeline reported no metrics: --watch needs the plugin's tracer (cargo build --release)", file=sys.stderr)
    return process.returncode if process.returncode >= 0 else 128 - process.returncode
