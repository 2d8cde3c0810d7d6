"""Figures of a trace: by element, by thread, of frames on their way, of batches."""

from __future__ import annotations

import statistics
from collections import defaultdict
from dataclasses import dataclass

from cudainfer_tools.profile.trace import Trace


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
    # Shares of the time in which frames flow: by the clock, and on the CPU.
    busy: float
    computing: float


@dataclass
class Thread:
    """A thread that calls elements: which ones, and the share of the time in which frames flow that it computes."""

    number: int
    name: str
    elements: list[str]
    computing: float


@dataclass
class Worker:
    """What runs a network, for one element or for all that share an instance: the share of the time in which frames flow that
    each of its threads is in runs, and what a run is."""

    elements: list[str]
    runs: int
    busy: float
    p50: float
    p99: float
    # Frames a run.
    batch: float
    # What it may be at most.
    limit: int
    # The share of the time that the GPU works on it, and ms of a run at the median; 0 without a GPU.
    gpu: float = 0.0
    gpu_p50: float = 0.0

    @property
    def element(self) -> str:
        """The first of its elements."""
        return self.elements[0]

    @property
    def taken(self) -> float:
        """The share of the time of whichever has less left: its threads, or the GPU."""
        return max(self.busy, self.gpu)

    @property
    def called(self) -> str:
        """Its elements, in short."""
        others = len(self.elements) - 1
        return self.element if not others else f"{self.element}, with {others} that share{'s' if others == 1 else ''} its instance,"


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
        flowing = [call for call in mine if call.start >= trace.flow[0]]
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
                share(sum(max(call.own, 0.0) for call in flowing), trace),
                share(sum(max(call.own_cpu, 0.0) for call in flowing), trace),
            )
        )
    return found


def threads(trace: Trace) -> list[Thread]:
    """The busiest first."""
    cpu: defaultdict[int, float] = defaultdict(float)
    names: defaultdict[int, list[str]] = defaultdict(list)
    for call in trace.calls:
        if call.outermost and call.start >= trace.flow[0]:
            cpu[call.thread] += call.cpu
        if call.element not in names[call.thread]:
            names[call.thread].append(call.element)
    found = [Thread(number, trace.threads.get(number, ""), names[number], share(cpu[number], trace)) for number in names]
    return sorted(found, key=lambda thread: -thread.computing)


def share(seconds: float, trace: Trace) -> float:
    """Seconds as a part of the time in which frames flow."""
    return seconds / trace.flowing if trace.flowing > 0 else 0.0


def instances(trace: Trace) -> list[list[str]]:
    """The elements that run networks; those together whose runs the same threads make."""
    names = [row["name"] for row in trace.elements if "busy-ns" in row.get("stats", {})]
    by_thread = defaultdict(set)
    for run in trace.runs:
        by_thread[run.thread].add(run.name)
    found: list[set[str]] = [{name} for name in names]
    for together in by_thread.values():
        touched = [group for group in found if group & together]
        found = [group for group in found if not group & together] + ([set().union(*touched)] if touched else [])
    order = {name: place for place, name in enumerate(names)}
    return sorted((sorted(group, key=order.__getitem__) for group in found), key=lambda group: order[group[0]])


def workers(trace: Trace) -> list[Worker]:
    """What runs the networks: one for each instance."""
    found = []
    for group in instances(trace):
        mine = [run for run in trace.runs if run.name in group]
        stats = [(trace.row(name) or {}).get("stats", {}) for name in group]
        flowing = [run for run in mine if run.end > trace.flow[0]]
        threads = max(len({run.thread for run in mine}), 1)
        gpu = [span.took for span in trace.gpu if span.name in group and span.end > trace.flow[0]]
        times = [1e3 * run.took for run in mine]
        runs, frames_in = len(mine), sum(run.frames for run in mine)
        if len(group) == 1:
            # Of several elements each counts the batches that they had together; the trace may lack the last runs.
            runs, frames_in = stats[0].get("batches", runs), stats[0].get("batched-frames", frames_in)
        found.append(
            Worker(
                group,
                runs,
                share(sum(run.took for run in flowing), trace) / threads,
                quantile(times, 0.5),
                quantile(times, 0.99),
                frames_in / max(runs, 1),
                max(one.get("batch-limit", 1) for one in stats) or 1,
                share(sum(gpu), trace),
                1e3 * quantile(gpu, 0.5),
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
        "p50": quantile(times, 0.5),
        "p95": quantile(times, 0.95),
        "p99": quantile(times, 0.99),
        "mean": statistics.fmean(times),
    }
