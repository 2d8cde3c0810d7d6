"""report.json and summary.txt of a folder that a pipeline was profiled into."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean

from cudainfer_tools.profile import bound, measures, trace


@dataclass
class Profile:
    """A profiled run: the trace, and everything that was found in it."""

    folder: Path
    run: dict
    trace: trace.Trace
    facts: bound.Facts
    bound: bound.Bound
    notes: list[str]
    frames: list[measures.Frame]

    @property
    def name(self) -> str:
        return self.folder.name


def read(folder: Path) -> Profile:
    """Reads the tracer's files, and what launch noted where the pipeline was started by it."""
    found = trace.load(folder)
    file = folder / "run.json"
    run = json.loads(file.read_text()) if file.is_file() else {}
    facts = bound.Facts.of(
        found,
        run.get("cpu_seconds"),
        run.get("cores") or os.cpu_count() or 1,
        run.get("load_before"),
        has_gpu=run.get("has_gpu", True),
    )
    return Profile(folder, run, found, facts, bound.of(facts), bound.notes(facts), measures.frames(found))


def gpu_figures(profile: Profile) -> dict[str, float]:
    """Of nvidia-smi: the most memory in MiB, and the mean utilisation in % and power in W while the pipeline ran."""
    columns, samples = profile.run.get("gpu_columns", []), profile.run.get("gpu_samples", [])
    figures = {}
    for name, key, reduce in (
        ("memory_mib", "memory.used", max),
        ("utilization_percent", "utilization.gpu", fmean),
        ("power_w", "power.draw", fmean),
    ):
        if key in columns:
            values = [row[columns.index(key)] for row in samples if row[columns.index(key)] is not None]
            if values:
                figures[name] = reduce(values)
    return figures


def report(profile: Profile) -> dict:
    """What report.json holds. Times in ms, shares of 1, rates in 1/s."""
    facts = profile.facts
    return {
        "command": profile.run.get("command"),
        "status": profile.run.get("status"),
        "ended": profile.trace.ended,
        "machine": {key: profile.run.get(key) for key in ("processor", "cores", "gpu")},
        "seconds": profile.trace.seconds,
        "flowing_seconds": profile.trace.flowing,
        "streams": len(profile.trace.streams()),
        "frames_per_second": facts.rate,
        "latency_ms": measures.latency(profile.frames),
        "cores_used": facts.cores_used,
        "memory_bytes": profile.run.get("memory_bytes"),
        "gpu": gpu_figures(profile),
        "bound": asdict(profile.bound),
        "notes": profile.notes,
        "elements": [
            asdict(element) | {"stats": (profile.trace.row(element.name) or {}).get("stats", {})} for element in facts.elements
        ],
        "threads": [asdict(thread) for thread in facts.threads],
        "workers": [asdict(worker) for worker in facts.workers],
    }


def text(profile: Profile) -> str:
    """What summary.txt says."""
    facts, lines = profile.facts, []
    lines += [f"{profile.bound.what} {profile.bound.remedy}", ""]
    if profile.notes:
        lines += [f"Also: {note}" for note in profile.notes] + [""]
    latency = measures.latency(profile.frames)
    lines.append(
        f"{facts.rate:.1f} frames a second, {profile.trace.seconds:.2f} s, {count(len(profile.trace.streams()), 'stream')}"
        + (f"; {facts.cores_used:.1f} of {facts.cores} cores used" if facts.cores_used is not None else "")
    )
    if latency:
        lines.append(f"latency p50 {latency['p50']:.1f} ms, p95 {latency['p95']:.1f} ms, p99 {latency['p99']:.1f} ms")
    width = max([len(element.name) for element in facts.elements] + [7])
    lines += [
        "",
        f"{'element':<{width}}  {'frames':>7}  {'p50 ms':>8}  {'p95 ms':>8}  {'p99 ms':>8}  {'CPU ms':>8}  {'waits ms':>8}  {'share':>6}",
    ]
    for one in facts.elements:
        lines.append(
            f"{one.name:<{width}}  {one.buffers:>7}  {one.p50:>8.3f}  {one.p95:>8.3f}  {one.p99:>8.3f}  {one.cpu:>8.3f}  "
            f"{one.waiting:>8.3f}  {100 * one.computing:>4.0f} %"
        )
    for worker in facts.workers:
        lines.append(
            f"{', '.join(worker.elements)}: {count(worker.runs, 'run')} of {worker.batch:.2f} frames (at most {worker.limit}), p50 {worker.p50:.3f} ms, "
            f"p99 {worker.p99:.3f} ms, {100 * worker.busy:.0f} % of the time"
            + (f"; on the GPU {worker.gpu_p50:.3f} ms, {100 * worker.gpu:.0f} %" if worker.gpu else "")
        )
    lines += [
        "",
        "Times by the clock, a buffer, without the elements downstream; share: of the time in which frames flow, on the CPU.",
    ]
    return "\n".join(lines) + "\n"


def count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def write(profile: Profile) -> None:
    """Writes both files into the folder."""
    (profile.folder / "report.json").write_text(json.dumps(report(profile), indent=1) + "\n")
    (profile.folder / "summary.txt").write_text(text(profile))
