"""Whole lines from NVDEC to results, against the bare session loop and against the same with system memory in between.

python3 tools bench.gpu.lines --video FILE [--frames SHORT,LONG] [--session PROGRAM] [--runs N] MODEL.onnx...

Prints one JSON object a row and way. Frames a second are those of a steady line: each way is run for few and for many
frames, and the difference counts, so that start-up does not. What goes through the bus is summed over the elements'
`stats`, likewise as a difference.

What follows the model goes by its name: nothing after deeplab's, peakfind after those with `bottomup` or `pose` in it,
which group points, and detection and tracking after all others.
"""

import argparse
import itertools
import json
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

FRAMES = "190,1490"
COUNTS = (
    "device-to-host-bytes",
    "host-to-device-bytes",
    "device-to-device-bytes",
    "host-waits",
    "launches",
    "allocations",
)
BARE = "session loop, IO binding"
LOOKS = "cudainfer, appearance=histogram"
# After the decoder; {after} is what follows the model. The last is measured once.
WAYS = {
    "cudainfer": "! fusedpreproc ! trtinfer model={model} provider=cuda warm-up=complete {after} ! fakesink sync=false",
    LOOKS: "! fusedpreproc ! trtinfer model={model} provider=cuda warm-up=complete {after} appearance=histogram ! fakesink sync=false",
    "cudainfer, no CUDA graph": "! fusedpreproc ! trtinfer model={model} provider=cuda warm-up=complete cuda-graphs=false {after}"
    " ! fakesink sync=false",
    "system memory between the stages": "! cudadownload ! video/x-raw ! fusedpreproc device=cpu"
    " ! trtinfer model={model} provider=cuda warm-up=complete {after_cpu} ! fakesink sync=false",
    "the decoder alone": "! fakesink sync=false",
}
# What the documents this project came from measured of a pose pipeline, for one video. How many frames that had is not
# known, so neither is how many of the 1,024,127 waits for a stream and 7.5 million launches were a frame's.
DOCUMENTS_FPS = 23.3
DOCUMENTS = {"who": "the documents' pose pipeline: 1,024,127 waits and 7.5 million launches in a video", "fps": DOCUMENTS_FPS}
FASTER = 20


def after(model: str) -> tuple[str, str, float]:
    """What follows the model, the same with the stages on the CPU, and how much of the bare session loop is the goal."""
    name = Path(model).stem
    if "deeplab" in name:
        return "", "", 0.95
    if "bottomup" in name or "pose" in name:
        return "! peakfind", "! peakfind device=cpu", 0.95
    return "! gpunms ! tracker", "! gpunms device=cpu ! tracker", 0.9


def run(way: str, video: str, model: str, frames: int, trace: str = "") -> tuple[float, dict[str, int]]:
    """Seconds and counts of a pipeline of that many frames; `trace` is a file for its trace."""
    downstream, behind_cpu, _ = after(model)
    line = WAYS[way].format(model=model, after=downstream, after_cpu=behind_cpu)
    source = f"filesrc location={video} ! qtdemux ! h264parse ! nvh264dec ! identity eos-after={frames} silent=true"
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        environment = os.environ | {
            "GST_TRACERS": f"cudainfertracer(json={report.name}{trace and f',trace={trace}'})",
            "GST_DEBUG": "1",
        }
        done = subprocess.run(
            ["gst-launch-1.0", "--no-fault", "-q", *f"{source} {line}".split()],
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"{way}: {done.stdout}\n{done.stderr}")
        reported = json.loads(Path(report.name).read_text())
    counts = dict.fromkeys(COUNTS, 0)
    for element in reported["elements"]:
        for name in COUNTS:
            counts[name] += (element.get("stats") or {}).get(name, 0)
    return reported["seconds"], counts


def intervals(trace: str, skip: int) -> list[float]:
    """Milliseconds from frame to frame at the sink, the shortest first, without those of the start."""
    at = [event["ts"] for event in json.loads(Path(trace).read_text()) if event["name"] == "fakesink0" and "ts" in event]
    return sorted((after - before) / 1e3 for before, after in itertools.pairwise(at[skip:]))


def measure(way: str, video: str, model: str, runs: int, few: int, many: int) -> dict:
    # The first may time the ways to run its model, which the engine cache keeps.
    run(way, video, model, few)
    rates, counts = [], {}
    for _ in range(runs):
        short, before = run(way, video, model, few)
        long, after_many = run(way, video, model, many)
        rates.append((many - few) / (long - short))
        counts = {name: round((after_many[name] - before[name]) / (many - few), 2) for name in COUNTS}
    # A run of its own, because writing the trace takes time.
    with tempfile.NamedTemporaryFile(suffix=".trace") as trace:
        run(way, video, model, many, trace.name)
        between = intervals(trace.name, few)
    times = {"median_ms": statistics.median(between), "p95_ms": between[len(between) * 95 // 100]}
    times = {name: round(time, 3) for name, time in times.items()}
    return times | {"fps": round(statistics.median(rates), 1), "fps_runs": [round(rate, 1) for rate in rates], "per_frame": counts}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--video", required=True, help="H.264 in MP4")
    options.add_argument("--frames", default=FRAMES, help=f"of the short and the long run; the video has as many ({FRAMES})")
    options.add_argument("--session", help="the bare session loop's program")
    options.add_argument("--runs", type=int, default=3)
    options.add_argument("models", nargs="+")
    args = options.parse_args()
    few, many = map(int, args.frames.split(","))
    # What no line can be faster than.
    alone = measure("the decoder alone", args.video, "", args.runs, few, many)
    print(json.dumps({"row": f"nvh264dec, {Path(args.video).stem}", "who": "the decoder alone"} | alone), flush=True)
    for model in args.models:
        name, (downstream, _, share) = Path(model).stem, after(model)
        goal = None
        if args.session:
            reported = subprocess.run([args.session, model], check=True, stdout=subprocess.PIPE, text=True).stdout
            print(reported, end="", flush=True)
            bare = [row for row in map(json.loads, reported.splitlines()) if row["who"] == BARE]
            # Of the network alone: nothing but the preprocessing comes on top.
            goal = round(share * bare[0]["fps"], 1) if bare else None
        if "peakfind" in downstream:
            print(json.dumps({"row": name} | DOCUMENTS), flush=True)
            goal = max(goal or 0, FASTER * DOCUMENTS_FPS)
        for way in list(WAYS)[:-1]:
            if way == LOOKS and not downstream.endswith("tracker"):
                continue
            row = {"row": name, "who": way} | measure(way, args.video, model, args.runs, few, many)
            if way == "cudainfer" and goal:
                row["goal"] = goal
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
