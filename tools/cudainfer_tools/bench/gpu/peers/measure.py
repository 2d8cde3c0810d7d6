"""How a row is measured: the same way as in measure.rs."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch

Input = TypeVar("Input")

CALLS = 20
RUNS = 200
# Slow work gets fewer runs: this many seconds are enough for a median, and this many runs are the least.
SECONDS = 4.0
FEWEST_RUNS = 20


@dataclass(frozen=True)
class Times:
    """Microseconds a call on the device, over `runs` runs of `calls` calls."""

    median: float
    p95: float
    runs: int
    calls: int

    def __truediv__(self, n: int) -> Times:
        """Of one of `n` frames that a call works on."""
        return Times(self.median / n, self.p95 / n, self.runs, self.calls)


def measure(work: Callable[[int], object]) -> Times:
    """Times `work(i)`, which enqueues one call on input number `i` in the current stream."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    call = 0

    def run(n: int) -> float:
        nonlocal call
        start.record()
        for _ in range(n):
            work(call)
            call += 1
        end.record()
        end.synchronize()
        return start.elapsed_time(end) * 1e3 / n

    run(CALLS)
    warm = run(CALLS)
    calls = CALLS if warm * CALLS < 1e5 else 1
    run(3 * calls)
    runs = max(FEWEST_RUNS, min(RUNS, int(SECONDS * 1e6 / (warm * calls))))
    times = sorted(run(calls) for _ in range(runs))
    return Times(times[runs // 2], times[runs * 95 // 100], runs, calls)


def in_turn(work: Callable[[Input], object], inputs: Sequence[Input]) -> Callable[[int], object]:
    """`work` as `measure` calls it: on one of these inputs after the other."""
    return lambda call: work(inputs[call % len(inputs)])


def row(name: str, who: str, times: Times, **more: object) -> None:
    """Prints a row: one JSON object, as measure.rs does."""
    print(
        json.dumps(
            {
                "row": name,
                "who": who,
                "median_us": round(times.median, 3),
                "p95_us": round(times.p95, 3),
                "runs": times.runs,
                "calls": times.calls,
                **more,
            }
        ),
        flush=True,
    )


def graph_of(work: Callable[[], object]) -> torch.cuda.CUDAGraph:
    """`work`, recorded; it must not wait for the device."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):  # PyTorch wants a warm-up beside the current stream
        for _ in range(3):
            work()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph
