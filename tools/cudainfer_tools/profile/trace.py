"""What the tracer wrote: elements.json (one row for each element) and trace.json (calls, runs, work on the GPU, memory)."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path


class TraceError(Exception):
    """The files are not what the tracer writes; the message says what to do."""


@dataclass
class Call:
    """A call of an element's chain function. Times in seconds since the first event."""

    element: str
    thread: int
    start: float
    took: float
    # CPU time of the thread in the call, elements downstream included.
    cpu: float
    buffers: int
    pts: int | None
    # Of `took` and `cpu`, what is the element's own: without the calls nested in this one.
    own: float = 0.0
    own_cpu: float = 0.0
    # Whether it is called by no other element in its thread.
    outermost: bool = True

    @property
    def end(self) -> float:
        return self.start + self.took


@dataclass
class Span:
    """A run of the network in a worker, or work on the GPU: `frames` in it."""

    name: str
    thread: int
    start: float
    took: float
    frames: int

    @property
    def end(self) -> float:
        return self.start + self.took


@dataclass
class Trace:
    """Everything about one run of one pipeline."""

    elements: list[dict]
    ended: str
    seconds: float
    calls: list[Call]
    runs: list[Span]
    gpu: list[Span]
    # Of the device: seconds, and bytes used by all processes.
    memory: list[tuple[float, float]]
    threads: dict[int, str]
    # Elements by what they feed.
    links: dict[str, list[str]] = field(default_factory=dict)
    # From when to when frames flow: after loading, warming up and the first frame, for which each sink waits.
    flow: tuple[float, float] = (0.0, 0.0)

    @property
    def flowing(self) -> float:
        """Seconds in which frames flow."""
        return self.flow[1] - self.flow[0]

    def row(self, name: str) -> dict | None:
        """The tracer's row for the element called `name`."""
        return next((row for row in self.elements if row["name"] == name), None)

    def factory(self, name: str) -> str:
        """The kind of the element called `name`; its name where the tracer does not know it."""
        return (self.row(name) or {}).get("factory") or name

    def streams(self) -> list[set[str]]:
        """The elements of each stream: those that links connect."""
        left, found = {row["name"] for row in self.elements}, []
        neighbours = defaultdict(set)
        for name, others in self.links.items():
            for other in others:
                neighbours[name].add(other)
                neighbours[other].add(name)
        while left:
            stream, edge = set(), {min(left)}
            while edge:
                name = edge.pop()
                stream.add(name)
                edge |= neighbours[name] - stream
            found.append(stream)
            left -= stream
        # By the order in which the first buffers arrived.
        order = {row["name"]: place for place, row in enumerate(self.elements)}
        return sorted(found, key=lambda stream: min(order.get(name, len(order)) for name in stream))


def nest(calls: list[Call]) -> None:
    """Fills in what is a call's own: in one thread, calls lie inside of each other or apart."""
    by_thread = defaultdict(list)
    for call in calls:
        by_thread[call.thread].append(call)
    for mine in by_thread.values():
        mine.sort(key=lambda call: (call.start, -call.took))
        open_calls: list[Call] = []
        for call in mine:
            call.own, call.own_cpu = call.took, call.cpu
            while open_calls and open_calls[-1].end <= call.start:
                open_calls.pop()
            if open_calls:
                call.outermost = False
                open_calls[-1].own -= call.took
                open_calls[-1].own_cpu -= call.cpu
            open_calls.append(call)


def flow(calls: list[Call], links: dict[str, list[str]], seconds: float) -> tuple[float, float]:
    """From the end of the sinks' first calls to the end of the last call; of the first of them where a sink gets most of its
    buffers at the end, as after a muxer; all the time where no sink has a second call."""
    at_sinks = defaultdict(list)
    for call in calls:
        if call.buffers and not links.get(call.element):
            at_sinks[call.element].append(call)
    begins = [min(call.end for call in mine) for mine in at_sinks.values() if len(mine) > 1]
    ends = max((call.end for call in calls), default=0.0)
    for begin in (max(begins), min(begins)) if begins else ():
        if sum(call.start >= begin for call in calls) > len(calls) / 2:
            return begin, ends
    return 0.0, seconds


def load(folder: Path) -> Trace:
    """Reads the two files of a folder."""
    texts = []
    for name in ("elements.json", "trace.json"):
        try:
            texts.append(json.loads((folder / name).read_text()))
        except FileNotFoundError:
            raise TraceError(
                f"there is no '{folder / name}': the pipeline did not run under the tracer, or no frame flowed. Start it with "
                f"GST_TRACERS as scripts/profile --environment {folder} prints it"
            ) from None
        except ValueError as error:
            raise TraceError(f"'{folder / name}' is not what the tracer writes ({error}). Profile the pipeline again") from None
    report, events = texts
    try:
        return read(report, events)
    except (KeyError, TypeError, AttributeError) as error:
        raise TraceError(
            f"the files in '{folder}' are of another version of the plugin ({error!r}). Profile the pipeline again"
        ) from None


def read(report: dict, events: list[dict]) -> Trace:
    """The trace of a report and its events."""
    first = min((event["ts"] for event in events if "ts" in event), default=0.0)
    runs: list[Span] = []
    gpu: list[Span] = []
    calls, memory, threads = [], [], {}
    for event in events:
        kind, args = event["ph"], event.get("args", {})
        if kind == "M":
            # The GPU is a process of its own, number 0, whose threads are its streams.
            if event["pid"] != 0:
                threads[event["tid"]] = args["name"]
            continue
        start = (event["ts"] - first) / 1e6
        if kind == "C":
            memory.append((start, args["used"]))
            continue
        took = event["dur"] / 1e6
        if event.get("cat") in ("run", "gpu"):
            spans = runs if event["cat"] == "run" else gpu
            spans.append(Span(event["name"], event["tid"], start, took, args.get("frames", 0)))
        else:
            cpu = event.get("tdur", 0.0) / 1e6
            calls.append(Call(event["name"], event["tid"], start, took, cpu, args["buffers"], args["pts"]))
    nest(calls)
    elements = report["elements"]
    links = {row["name"]: row.get("feeds", []) for row in elements}
    seconds = report["seconds"]
    return Trace(elements, report["end"], seconds, calls, runs, gpu, memory, threads, links, flow(calls, links, seconds))
