"""Runs the demo's pipeline and the service with sixteen streams for hours, samples what both hold, and says by how much they grow.

    scripts/soak HOURS [--seed N] [--results FOLDER]

HOURS may have a fraction. Every sample is a line of benches/results/soak-DATE.jsonl, after one that says what was measured where; a plot
is beside it, where there is matplotlib. Every two minutes all streams are removed and the service is sampled at rest, without the frames that
are on their way at other times, before they are added again. Growth is the median slope of all pairs of samples (Theil-Sen) of the second
half, of the service at rest. It is 1 if something grows by more than a megabyte, ten threads or ten descriptors an hour.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import sys
import tempfile
import time
from pathlib import Path

from cudainfer_tools import pipeline
from cudainfer_tools.machine import commit, gpu, processor
from cudainfer_tools.repository import ROOT
from cudainfer_tools.soak import demo
from cudainfer_tools.soak.growth import an_hour, at_rest
from cudainfer_tools.soak.plot import plot
from cudainfer_tools.soak.process import Watched
from cudainfer_tools.soak.service import PATIENCE_S, STREAMS, Service

SAMPLE_S = 5
CHANGE_S = 5
REST_S = 120
PORT = 18754
# What may grow in an hour, after the first half of the run.
GOAL_KB = 1024
GOAL_COUNT = 10


def wait_until_it_plays(service: Service) -> None:
    give_up = time.monotonic() + PATIENCE_S
    while time.monotonic() < give_up:
        service.watched.sample()
        try:
            if service.states().get("playing") == STREAMS:
                return
        except OSError:
            pass  # It does not listen yet.
        time.sleep(0.5)
    sys.exit(f"after {PATIENCE_S} s not all streams play: {service.states()}; its log is {service.watched.log}")


def judged(samples: list[dict]) -> tuple[list[str], bool]:
    """A sentence about each process, and whether nothing grows too fast."""
    lines, is_flat = [], True
    for process in dict.fromkeys(sample["process"] for sample in samples):
        own = at_rest([sample for sample in samples if sample["process"] == process])
        growth = {field: an_hour(own, field) for field in ("in_use_kb", "resident_kb", "gpu_mb", "threads", "files")}
        # Where the allocator does not report, resident memory has to do.
        memory = growth["in_use_kb"] if growth["in_use_kb"] is not None else growth["resident_kb"]
        device = growth["gpu_mb"]
        is_flat &= memory is not None and memory <= GOAL_KB and (device is None or device * 1024 <= GOAL_KB)
        is_flat &= all((growth[field] or 0) <= GOAL_COUNT for field in ("threads", "files"))
        said = ", ".join(f"{field} {value:+.1f}" for field, value in growth.items() if value is not None)
        lines.append(f"{process}: an hour brings {said}")
    return lines, is_flat


def run(hours: float, folder: Path, seed: int, out: Path) -> list[dict]:
    environment = {**pipeline.environment(), "GST_REGISTRY": str(folder / "registry.bin")}
    # Both programs run in a folder of their own, from which ONNX Runtime's is not found.
    environment.setdefault("VIRTUAL_ENV", str(ROOT / ".venv"))
    service = Service(folder / "serve", environment, PORT, seed)
    playing = demo.start(folder, environment)
    samples: list[dict] = []
    try:
        wait_until_it_plays(service)
        started = time.monotonic()
        header = {
            "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "processor": processor(),
            "cores": os.cpu_count(),
            "commit": commit(),
            "hours": hours,
            "seed": seed,
            **gpu(),
        }
        with out.open("w") as lines:
            print(json.dumps(header), file=lines, flush=True)

            def note(watched: Watched, **more: object) -> None:
                samples.append({"process": watched.name, "seconds": round(now, 1), **watched.sample(), **more})
                print(json.dumps(samples[-1]), file=lines, flush=True)

            sampled, changed, rested = 0.0, 0.0, float(REST_S)
            while (now := time.monotonic() - started) < hours * 3600:
                if now >= sampled:
                    sampled = now + SAMPLE_S
                    note(playing)
                    note(service.watched, **service.status(), changes=sum(service.done.values()))
                if now >= rested:
                    rested = now + REST_S
                    service.rest()
                    note(service.watched, rest=True)
                    service.begin_again()
                if now >= changed:
                    changed = now + CHANGE_S
                    service.change()
                time.sleep(0.2)
            print(json.dumps({"changes": service.done}), file=lines)
    finally:
        playing.stop()
        service.watched.stop()
    return samples


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/soak", description=__doc__.splitlines()[0])
    parser.add_argument("hours", type=float)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--results", type=Path, default=ROOT / "benches" / "results")
    given = parser.parse_args()
    given.results.mkdir(parents=True, exist_ok=True)
    kind = "soak-gpu" if gpu()["gpu"] else "soak"
    out = given.results / f"{kind}-{datetime.date.today().isoformat()}.jsonl"
    with tempfile.TemporaryDirectory(prefix="cudainfer-soak-") as folder:
        samples = run(given.hours, Path(folder), given.seed, out)
    try:
        plot(samples, out.with_suffix(".svg"))
    except ModuleNotFoundError as error:
        print(f"soak: there is no plot, because there is no {error.name}: python3 tools soak.plot {out} draws it elsewhere")
    lines, is_flat = judged(samples)
    print("\n".join([*lines, str(out)]))
    return 0 if is_flat else 1


if __name__ == "__main__":
    pipeline.start("soak", main)
