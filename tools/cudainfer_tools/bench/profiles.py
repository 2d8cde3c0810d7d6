"""Measures trtinfer's profiles on the CPU, in turns: frames a second from a file, how long trtinfer has each of these frames, and
how long it has a frame of a live source that leaves it time. Started by scripts/bench --profiles.

    python3 tools bench.profiles [--rounds N] [--frames N] [--video VIDEO] [--model MODEL]
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys

from cudainfer_tools import pipeline
from cudainfer_tools.bench import results
from cudainfer_tools.repository import ROOT

PROFILES = ("throughput", "balanced", "latency")
# What GStreamer's own tracer says of each frame that leaves the element.
LATENCY = re.compile(r"element-latency,.* element=\(string\)infer,.* time=\(guint64\)(\d+)")
TRACED = {"GST_TRACERS": "latency(flags=element)", "GST_DEBUG": "GST_TRACER:7", "GST_DEBUG_NO_COLOR": "1", "LC_ALL": "C.UTF-8"}
# Of the live source.
FRAMES_A_SECOND, SECONDS = 4, 10


def run(source: str, profile: str, model: str) -> dict:
    """Seconds from PLAYING to the end, and milliseconds that each frame was in trtinfer."""
    line = f"{source} ! videoconvert ! fusedpreproc device=cpu ! trtinfer name=infer device=cpu profile={profile}".split()
    line += [f"model={model}", *"! gpunms ! tracker ! fakesink sync=false".split()]
    environment = {**pipeline.environment(), **TRACED}
    done = subprocess.run(
        pipeline.command(line),
        env=environment,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    seconds, times = pipeline.played(done.stdout), [int(ns) / 1e6 for ns in LATENCY.findall(done.stdout)]
    if done.returncode != 0 or seconds is None or not times:
        sys.exit(done.stdout[-2000:] + "bench: the pipeline failed, see above")
    return {"seconds": seconds, "frames": len(times), "ms": times}


def speed(turn: dict[str, dict[str, dict]], profile: str) -> float:
    """Frames a second from the file."""
    return turn[profile]["file"]["frames"] / turn[profile]["file"]["seconds"]


def median_ms(rounds: list[dict[str, dict[str, dict]]], profile: str, what: str) -> float:
    """The median of the rounds' medians of how long trtinfer has a frame."""
    return statistics.median(statistics.median(turn[profile][what]["ms"]) for turn in rounds)


def summary(rounds: list[dict[str, dict[str, dict]]]) -> list[dict]:
    """A row for each profile: medians of the rounds; the frames a second also as a part of those of the first profile."""
    rows = []
    for profile in PROFILES:
        rows.append(
            {
                "profile": profile,
                "fps": statistics.median(speed(turn, profile) for turn in rounds),
                "ratio": statistics.median(speed(turn, profile) / speed(turn, PROFILES[0]) for turn in rounds),
                "file_ms": median_ms(rounds, profile, "file"),
                "live_ms": median_ms(rounds, profile, "live"),
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/bench --profiles", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--frames", type=int, default=200)
    parser.add_argument("--video", default=str(ROOT / ".cache/video/vtest.avi"))
    parser.add_argument("--model", default=str(ROOT / ".cache/models/nanodet.onnx"))
    given = parser.parse_args()
    sources = {
        "file": f"filesrc location={given.video} ! decodebin ! identity eos-after={given.frames + 1}",
        "live": f"videotestsrc is-live=true num-buffers={FRAMES_A_SECOND * SECONDS} ! video/x-raw,width=640,height=480,"
        f"framerate={FRAMES_A_SECOND}/1",
    }
    rounds = []
    for number in range(given.rounds):
        order = results.turn(PROFILES, number)
        rounds.append({profile: {name: run(source, profile, given.model) for name, source in sources.items()} for profile in order})
        print(f"round {number + 1} of {given.rounds}", flush=True)
    rows = summary(rounds)
    for row in rows:
        print(
            f"{row['profile']:<12}{row['fps']:>7.1f} frames/s ({row['ratio']:.0%}), from a file {row['file_ms']:.0f} ms, live {row['live_ms']:.0f} ms"
        )
    kept = [
        {
            profile: {name: {**reported, "ms": [round(ms, 2) for ms in reported["ms"]]} for name, reported in sides.items()}
            for profile, sides in turn.items()
        }
        for turn in rounds
    ]
    results.write("cpu-profiles", {"load": os.getloadavg(), "live_fps": FRAMES_A_SECOND, "rows": rows, "runs": kept})


if __name__ == "__main__":
    pipeline.start("bench", main)
