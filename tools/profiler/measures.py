"""Figures of a trace: by element, by thread, of frames on their way, of batches."""

from __future__ import annotations

import statistics
from collections import defaultdict
from dataclasses import dataclass

from profiler.trace import Trace


def quantile(values: list[float], share: float) -> float:
    """The value below which this share of `values` lies (nearest rank)."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


@dataclass
class Element:
    """Times of an element a buffer, in ms, without the elements downstream."""

    name: str
    factory: str
    buffers: int
    # By the clock.
    p50: float
    p95: float
    p99: float
    mean: float
    # Of `mean`: what its thread computed, and what it waited.
    cpu: float
    waiting: float
    # Shares of the whole time: by the clock, and on the CPU.
    busy: float
    computing: float


@dataclass
class Thread:
    """A thread that calls elements: which ones, and the share of the time that it computes."""

    number: int
    name: str
    elements: list[str]
    computing: float


@dataclass
class Worker:
    """An element that runs a network: the share of the time that its threads are in runs, and what a run is."""

    element: str
    runs: int
    busy: float
    p50: float
    p99: float
    # Frames a run.
    batch: float
    # What it may be at most.
    limit: int


@dataclass
class Frame:
    """A frame on its way, from its first call to the end of its last one. Seconds; `stream` counts from 0."""

    stream: int
    pts: int
    entered: float
    left: float


def elements(trace: Trace) -> list[Element]:
    """In the order of the stream."""
    calls = defaultdict(list)
    for call in trace.calls:
        if call.buffers:
            calls[call.element].append(call)
    found = []
    for row in trace.elements:
        mine = calls.get(row["name"])
        if not mine:
            continue
        buffers = sum(call.buffers for call in mine)
        times = [1e3 * max(call.own, 0.0) / call.buffers for call in mine for _ in range(call.buffers)]
        own, cpu = sum(max(call.own, 0.0) for call in mine), sum(max(call.own_cpu, 0.0) for call in mine)
        found.append(
            Element(
                row["name"],
                row["factory"],
                buffers,
                quantile(times, 0.5),
                quantile(times, 0.95),
                quantile(times, 0.99),
                1e3 * own / buffers,
                1e3 * cpu / buffers,
                1e3 * max(own - cpu, 0.0) / buffers,
                own / trace.seconds if trace.seconds else 0.0,
                cpu / trace.seconds if trace.seconds else 0.0,
            )
        )
    return found


def threads(trace: Trace) -> list[Thread]:
    """The busiest first."""
    cpu, names = defaultdict(float), defaultdict(list)
    for call in trace.calls:
        if call.outermost:
            cpu[call.thread] += call.cpu
        if call.element not in names[call.thread]:
            names[call.thread].append(call.element)
    found = [
        Thread(number, trace.threads.get(number, ""), names[number], cpu[number] / trace.seconds if trace.seconds else 0.0)
        for number in names
    ]
    return sorted(found, key=lambda thread: -thread.computing)


def workers(trace: Trace) -> list[Worker]:
    """The elements that run networks; with a shared instance each of them has its frames' part."""
    runs = defaultdict(list)
    for run in trace.runs:
        runs[run.name].append(run)
    found = []
    for row in trace.elements:
        stats = row.get("stats", {})
        if "busy-ns" not in stats:
            continue
        mine = runs.get(row["name"], [])
        times = [1e3 * run.took for run in mine]
        busy = stats["busy-ns"] / 1e9 / trace.seconds if trace.seconds else 0.0
        batch = stats.get("batched-frames", 0) / max(stats.get("batches", 0), 1)
        found.append(
            Worker(
                row["name"], stats.get("batches", 0), busy, quantile(times, 0.5), quantile(times, 0.99), batch,
                max(stats.get("batch-limit", 1), 1),
            )
        )
    return found


def frames(trace: Trace) -> list[Frame]:
    """Frames of each stream, known by their presentation time, in the order in which they entered."""
    stream_of = {name: number for number, stream in enumerate(trace.streams()) for name in stream}
    seen: dict[tuple[int, int], list[float]] = {}
    for call in trace.calls:
        if call.pts is None or call.element not in stream_of:
            continue
        key = (stream_of[call.element], call.pts)
        times = seen.setdefault(key, [call.start, call.end])
        times[0], times[1] = min(times[0], call.start), max(times[1], call.end)
    found = [Frame(stream, pts, entered, left) for (stream, pts), (entered, left) in seen.items()]
    return sorted(found, key=lambda frame: frame.entered)


def in_flight(found: list[Frame]) -> tuple[list[float], list[int]]:
    """How many frames are on their way: times in seconds, and numbers from then on."""
    changes = sorted([(frame.entered, 1) for frame in found] + [(frame.left, -1) for frame in found])
    times, numbers, now = [], [], 0
    for at, change in changes:
        now += change
        times.append(at)
        numbers.append(now)
    return times, numbers


def rate(trace: Trace) -> float:
    """Buffers a second at the sinks, all streams together, from each sink's first one on: loading a model and warming it up
    come before."""
    arrived = defaultdict(list)
    for call in trace.calls:
        if call.buffers and not trace.links.get(call.element):
            arrived[call.element].append(call)
    rates = []
    for mine in arrived.values():
        first, last = min(call.start for call in mine), max(call.start for call in mine)
        buffers = sum(call.buffers for call in mine)
        if last > first:
            rates.append((buffers - 1) / (last - first))
    return sum(rates)


def latency(found: list[Frame]) -> dict[str, float]:
    """From a frame's first call to the end of its last one, in ms."""
    times = [1e3 * (frame.left - frame.entered) for frame in found]
    if not times:
        return {}
    return {
        "p50": quantile(times, 0.5), "p95": quantile(times, 0.95), "p99": quantile(times, 0.99), "mean": statistics.fmean(times)
    }
