"""Writes docs/benchmarks.md from the raw files in benches/results, measuring nothing. Started by scripts/bench --report.

    bench_report.py [--results FOLDER] [--output FILE]

Every figure in the page comes from a raw file, except those of UNCOMMITTED, which the page marks as such.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import statistics
import sys
from pathlib import Path

import bench_starts
import gpu_bench

ROOT = Path(__file__).resolve().parent.parent
# Of a run without raw output in benches/results: what was measured, the figure, and the script that prints it.
UNCOMMITTED = [
    (
        "People tracked in vtest.avi with `appearance=histogram`",
        "HOTA 60.1, IDF1 84.9, 9 identity switches",
        "scripts/evaluate --ground-truth PETS09-S2L1 --tracker appearance=histogram",
    ),
    (
        "People tracked in vtest.avi with `algorithm=sort max-lost=30` (the default of `sort` is 1)",
        "HOTA 49.1",
        'scripts/evaluate --ground-truth PETS09-S2L1 --tracker "algorithm=sort max-lost=30"',
    ),
    (
        "`algorithm=sort` on the published detections of TUD-Campus (MOT15), where its authors published MOTA 62.7",
        "MOTA 62.7",
        "scripts/evaluate --algorithm sort --detections TUD-Campus/det/det.txt --ground-truth TUD-Campus",
    ),
    (
        "NanoDet quantised to INT8 against itself in float32 on vtest.avi, boxes matched at IoU 0.5",
        "F1 0.941 (precision 0.945, recall 0.937), mean IoU 0.957; 4.1 MB instead of 15.2 MB; no faster on that CPU",
        "scripts/quantize .cache/models/nanodet.onnx .cache/video/vtest.avi",
    ),
    (
        "Loading NanoDet with two workers on the CPU, from the engine cache against without it",
        "26 ms against 56 ms",
        "scripts/prebuild .cache/models/nanodet.onnx",
    ),
]


def newest(results: Path, pattern: str) -> Path:
    """The file of that pattern with the latest date in its name."""
    found = sorted(results.glob(pattern))
    if not found:
        raise FileNotFoundError(f"there is no '{pattern}' in {results}")
    return found[-1]


def table(head: list[str], rows: list[list[object]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return [f"| {' | '.join(map(str, cells))} |" for cells in lines]


def source(*files: Path, script: str) -> str:
    raw = ", ".join(f"[{file.name}](../benches/results/{file.name})" for file in files)
    return f"Raw output: {raw}. Script: `{script}`."


# --- Accuracy ----------------------------------------------------------------------------------------------------

SCORES = ["HOTA", "DetA", "AssA", "MOTA", "IDF1", "identity switches", "false positives", "misses"]


def scores(file: Path) -> list[str]:
    """The tables of scripts/evaluate mot: a heading a group of sequences, and a row a tracker."""
    lines, rows = [], []
    for line in [*file.read_text().splitlines()[1:], ""]:
        if ": all together" in line:
            names, _, note = line.partition(": all together")
            lines += ["", names + note + ":", ""]
        elif numbers := re.fullmatch(r" *(\w+)((?: +-?[\d.]+){8})", line):
            rows.append([f"`{numbers[1]}`", *numbers[2].split()])
        elif rows:
            lines += table(["tracker", *SCORES], rows)
            rows = []
        if goal := re.fullmatch(r"(\w+): (\w+) ([+-][\d.]+) against (.+) \(goal: at least (\S+)\): (\w+)", line):
            met = "met" if goal[6] == "met" else "**missed**"
            lines += [""] if lines[-1].startswith("|") else []
            lines.append(f"- `{goal[1]}`: {goal[2]} {goal[3]} against {goal[4]} (goal: at least {goal[5]}): {met}")
    return lines


def tracking(results: Path) -> list[str]:
    public, own = results / "mot-mot15.txt", results / "mot-vtest.txt"
    versions = public.read_text().splitlines()[0].split(", ", 1)[1]
    return [
        "### Tracking accuracy",
        "",
        f"Scored by TrackEval, beside the Python package `trackers` on the same detections ({versions}). Rows whose name ends",
        "in `Tracker` are of that package. MOT15 has no frames here, so that `botsort` sees no camera motion.",
        "",
        "#### The published detections of MOT15",
        *scores(public),
        "",
        source(public, script="scripts/evaluate mot mot15"),
        "",
        "#### NanoDet on vtest.avi",
        "",
        "vtest.avi is, frame for frame, the sequence PETS09-S2L1. The defaults of `iou` were chosen on this video.",
        *scores(own),
        "",
        source(own, script="scripts/evaluate mot mot15 --video PETS09-S2L1=vtest.avi"),
    ]


def models(results: Path) -> list[str]:
    file = results / "zoo.json"
    rows = json.loads(file.read_text())
    equal = sum(row["holds"] for row in rows)
    libraries = ", ".join(dict.fromkeys(row["library"] for row in rows))
    return [
        "### Models of other libraries",
        "",
        f"{equal} of {len(rows)} models are read as their own libraries read them ({libraries}): [models.md](models.md) has each.",
        "",
        source(file, script="scripts/evaluate zoo --reference PYTHON"),
    ]


def poses(results: Path) -> list[str]:
    file = results / "pose-accuracy.txt"
    text, rows, what = file.read_text(), [], ""
    for line in text.splitlines()[1:]:
        if first := re.fullmatch(r"(.+): (\d+) frames, (\d+) instances of the reference, (\d+) of ours", line):
            what, rows = first[1], [*rows, [first[1], first[2], first[3], first[4]]]
        elif same := re.search(r"in (\d+) of the (\d+) frames .* \(([\d.]+)%, goal (\S+): (\w+)\)", line):
            rows[-1] += [f"{same[1]} of {same[2]} ({same[3]} %)"]
        elif apart := re.search(r"by ([\d.]+) pixels \(median\), ([\d.]+) .*, ([\d.]+) \(most\)", line):
            rows[-1] += [apart[1], apart[2], apart[3]]
    if not what or any(len(row) != 8 for row in rows):
        raise ValueError(f"{file} is not as scripts/evaluate pose writes it")
    head = ["network and crops", "frames", "instances of the reference", "instances of cudainfer"]
    head += ["frames with the same instances, of those where the reference is stable"]
    head += ["distance of points, px: median", "99 of 100", "largest"]
    return [
        "### Pose accuracy",
        "",
        "Each point is compared with the reference's: sleap-nn's own functions for two flies (384x384), a NumPy version of the",
        "published algorithm for PoseNet (vtest.avi). A frame is stable where the reference finds the same instances with maps",
        "rounded to float16 and with thresholds changed by a twentieth. sleap-nn cuts crops at whole pixels, cudainfer where they",
        "are asked for: hence the distances in the rows with sleap-nn's crops.",
        "",
        *table(head, rows),
        "",
        source(file, script="scripts/evaluate pose --models sleap --video flies.mp4 --reference python"),
    ]


def tiles(results: Path) -> list[str]:
    file = results / "tiles.txt"
    if not file.exists():
        # Only its boxes are known, see UNCOMMITTED.
        return []
    told, what, *lines = file.read_text().splitlines()
    number = r"([\d.]+)"
    form = (
        r"(.+): (\d+) boxes, cudainfer (\d+), in common (\d+), apart by at most "
        rf"{number} px and {number} of confidence; {number} frames/s, cudainfer {number}"
    )
    rows = [found.groups() for line in lines if (found := re.fullmatch(form, line))]
    if not rows or len(rows) != len(lines):
        raise ValueError(f"{file} is not as scripts/evaluate tiles writes it")
    exact = results / "tiles-exact.txt"
    same = []
    if exact.exists():
        found = re.fullmatch(form, exact.read_text().splitlines()[-1])
        if not found:
            raise ValueError(f"{exact} is not as scripts/evaluate tiles --exact writes it")
        _, theirs, ours, common, pixels, scores, *_ = found.groups()
        same = [
            f"If the reference resizes it in float64 instead, nothing is left of that difference: {theirs} boxes, {ours} of cudainfer,",
            f"{common} in common, at most {pixels} px and {scores} of confidence apart ([tiles-exact.txt](../benches/results/tiles-exact.txt),",
            "`scripts/evaluate tiles --exact`). So it is the samples, not the merging, that decide about boxes near a threshold.",
            "",
        ]
    return [
        "### Tiles",
        "",
        "`fusedpreproc roi=tiles` and gpunms beside SAHI and supervision's InferenceSlicer, with the same ONNX file, frames, tiles and",
        f"merging, on the CPU, in turns ({what}). {told.split(', ', 2)[2]}. JSON has two decimals. With the whole frame as one more",
        "region, OpenCV resizes it with weights of 11 bits and rounds to 8.",
        "",
        *table(
            [
                "beside",
                "its boxes",
                "boxes of cudainfer",
                "in common",
                "largest distance, px",
                "of confidence",
                "its frames/s",
                "frames/s of cudainfer",
            ],
            [list(row) for row in rows],
        ),
        "",
        *same,
        source(file, script="scripts/evaluate tiles --reference python"),
        "",
    ]


def parity(results: Path) -> list[str]:
    file = results / "gpu-parity-h200.txt"
    found = re.findall(r"provider=(\w+)\n(\d+) and \d+ frames; .*\n(\d+) boxes, at most ([\d.]+) px apart", file.read_text())
    if not found:
        raise ValueError(f"{file} is not as scripts/compare writes it")
    return [
        "### The GPU against the CPU",
        "",
        "NanoDet on bikes.mp4, on an H200 (NVDEC, CUDA provider) against `provider=cpu` on a Xeon. JSON has two decimals.",
        "",
        *table(["`provider`", "frames", "boxes", "largest distance, px"], [list(row) for row in found]),
        "",
        source(file, script="scripts/compare cpu.jsonl cuda.jsonl"),
    ]


# --- Speed on the CPU --------------------------------------------------------------------------------------------


def of_rounds(told: dict) -> dict[str, list[float]]:
    """Frames a second of each round, by side."""
    return {side: [run["frames"] / run["seconds"] for run in runs] for side, runs in told["runs"].items()}


def pipeline(results: Path) -> list[str]:
    file = newest(results, "cpu-20??-??-??.json")
    told = json.loads(file.read_text())
    speed = of_rounds(told)
    ratios = [mine / theirs for mine, theirs in zip(speed["pipeline"], speed["loop"], strict=True)]
    names = {"pipeline": "cudainfer", "loop": "Python: onnxruntime, OpenCV, `trackers`"}
    rows = [
        [names[side], *(f"{value:.1f}" for value in (statistics.median(each), min(each), max(each)))]
        for side, each in speed.items()
    ]
    rows.append(["ratio of a round", *(f"{value:.2f}" for value in (statistics.median(ratios), min(ratios), max(ratios)))])
    many = [
        [
            row["streams"],
            len(row["turns"]),
            *(f"{statistics.median(turn[name] for turn in row['turns']):.1f}" for name in ("fps", "bare", "beside")),
            f"{row['share_of_bare']:.0%}",
            f"{row['share_of_beside']:.0%}",
            *(f"{statistics.median(turn[name] for turn in row['turns']):.0f}" for name in ("p50_ms", "p99_ms")),
        ]
        for row in told["streams"]
    ]
    network = max(statistics.median(turn["bare"] for turn in row["turns"]) for row in told["streams"])
    bound = network / statistics.median(speed["loop"])
    head = ["streams", "rounds", "frames/s", "session loop, frames/s", "session loop beside decoding, frames/s"]
    head += ["share of the loop", "share of the loop beside decoding", "latency p50, ms", "p99, ms"]
    return [
        "### Detect and track, against a Python loop",
        "",
        f"{told['date'][:10]}, {told['processor']}, {told['cores']} shared virtual cores, {told['threads']} threads, ONNX Runtime",
        f"{told['onnxruntime']}; NanoDet on vtest.avi, {len(ratios)} rounds in turns. Both sides decode, detect and track.",
        "",
        *table(["frames per second", "median", "lowest", "highest"], rows),
        "",
        f"{100 * told['outside']:.1f} % of the pipeline's CPU time is spent outside ONNX Runtime (goal: less than 10 %). The network",
        f"alone makes {network:.1f} frames per second on this machine, {bound:.2f} times what the Python loop makes with everything: no",
        "pipeline around this network can have a higher ratio (goal: 1.35).",
        "",
        "Several files through one shared model (`instance`), against a loop that only runs the model:",
        "",
        *table(head, many),
        "",
        source(file, script=f"scripts/bench --rounds {len(ratios)}"),
    ]


def tracker_speed(results: Path) -> list[str]:
    file = newest(results, "cpu-tracks-*.json")
    told = json.loads(file.read_text())
    columns = list(next(iter(told["us"].values())))
    foreign = [name for name in columns if name in told["versions"]]
    head = ["boxes a frame"] + [
        f"{name} {told['versions'][name]} (ByteTrack)" if name in foreign else f"`{name}`" for name in columns
    ]
    rows = [[count] + [f"{row[name]:,.1f}" if name in row else "" for name in columns] for count, row in told["us"].items()]
    return [
        "### Tracking speed",
        "",
        f"Microseconds a frame on one core of {told['machine']}. [Plot](../benches/results/track-speed.svg).",
        "",
        *table(head, rows),
        "",
        *(f"- {line.replace('MISSED', '**missed**')}" for line in told["goals"] if "streams" in line),
        "",
        source(file, script="scripts/bench --tracks"),
    ]


def peaks(results: Path) -> list[str]:
    file, other = newest(results, "cpu-peaks-20*.json"), results / "cpu-peaks-h200-host.txt"
    told, rows = json.loads(file.read_text()), []
    for row in told["rows"]:
        ours = statistics.median(row["us"])
        for name, peer in row["peers"].items():
            rows.append(
                [row["row"], f"{told['processor']}, {told['cores']} cores", f"{ours:.0f}", name]
                + [f"{statistics.median(peer['us']):.0f}", f"{peer['ratio']:.1f}"]
            )
    what, ours = "", ""
    for line in other.read_text().splitlines():
        if first := re.fullmatch(r"(.+), \d+ peaks: ([\d.]+) µs", line):
            what, ours = first[1], f"{float(first[2]):.0f}"
        elif peer := re.fullmatch(r"  (\S.*?) +([\d.]+) µs, ([\d.]+) x .*", line):
            rows.append([what, "host of the H200, 2 cores", ours, peer[1], f"{float(peer[2]):.0f}", peer[3]])
    head = ["operation", "machine", "cudainfer, µs", "alternative", "its time, µs", "ratio"]
    return [
        "### Peak search",
        "",
        "Medians; ratios are of times measured in turns.",
        "",
        *table(head, rows),
        "",
        source(file, other, script="scripts/bench --peaks"),
    ]


def metrics(results: Path) -> list[str]:
    found = sorted(results.glob("cpu-metrics-20*.json"))
    if not found:
        # Not measured on a quiet machine yet.
        return []
    told = json.loads(found[-1].read_text())
    sides = [told["with"], told["traced"]]
    lost = [1 - 1 / (1 + side["seconds"]) for side in sides]
    rows = [
        ["frames per second lost, detect and track", *(f"{part:.2%}" for part in lost)],
        ["more CPU time, detect and track", *(f"{side['cpu']:.2%}" for side in sides)],
        ["CPU time of each call of an element", *(f"{side['call_ns']:.0f} ns" for side in sides)],
    ]
    text = []
    if "scrape_us" in told:
        scatters = (f"{side['scatter'][0]:+.1%} to {side['scatter'][1]:+.1%}" for side in sides)
        rows.insert(1, ["its rounds: more time by the clock", *scatters])
        rows.append(["calls, and a scrape every second, as a part of the CPU time", *(f"{side['parts']:.3%}" for side in sides)])
        text = [
            "",
            f"A scrape takes {told['scrape_us']:.0f} µs of CPU time. Where the rounds scatter by more than the goal, 1 %, the parts tell more.",
        ]
    return [
        "### Metrics",
        "",
        "What `GST_TRACERS=cudainfertracer(metrics=...)` costs while it is scraped every second, and what it costs with `otlp=` besides,",
        "which sends one frame in 100 as a trace; measured in turns with a pipeline without it.",
        f"{told['processor']}, {told['cores']} cores.",
        "",
        *table(["what", "metrics", "metrics and traces"], rows),
        *text,
        "",
        source(found[-1], script="scripts/bench --metrics"),
        "",
    ]


def profiles(results: Path) -> list[str]:
    found = sorted(results.glob("cpu-profiles-20*.json"))
    if not found:
        return []
    told = json.loads(found[-1].read_text())
    rows = [
        [f"`{row['profile']}`", f"{row['fps']:.1f}", f"{row['ratio']:.0%}", f"{row['file_ms']:.0f} ms", f"{row['live_ms']:.0f} ms"]
        for row in told["rows"]
    ]
    head = [
        "`profile`",
        "frames/s from a file",
        "of `throughput`",
        "in trtinfer, from a file",
        f"in trtinfer, live, {told['live_fps']} frames/s",
    ]
    return [
        "### Profiles of trtinfer",
        "",
        "Detect and track with each `profile`, in turns: from a file as fast as it goes, and behind a live source that leaves the model",
        "time. How long trtinfer has a frame is what GStreamer's latency tracer says, the median of the rounds' medians.",
        f"{told['processor']}, {told['cores']} cores; load of the machine at the end {told['load'][0]:.1f}, so compare the rows rather than",
        "other tables.",
        "",
        *table(head, rows),
        "",
        source(found[-1], script="scripts/bench --profiles"),
        "",
    ]


def metadata(results: Path) -> list[str]:
    found = sorted(results.glob("cpu-metadata-20*.json"))
    if not found:
        return []
    told = json.loads(found[-1].read_text())
    alike = [[turn["roi"] for turn in rounds] for rounds in told["turns"].values()]
    scatter = 1e6 * max(max(rounds) - min(rounds) for rounds in alike)
    rows = [
        [str(row["objects"]), f"{row['roi']:.0f} us", f"{row['analytics_more']:+.0f} us", f"{row['both_more']:+.0f} us"]
        for row in told["rows"]
    ]
    return [
        "### Forms of metadata",
        "",
        "CPU time a frame of a whole pipeline whose model always finds the same objects, with what gpunms and tracker write by `metadata`:",
        "regions of interest, GStreamer's analytics metadata, or both, which is the default where GStreamer has them. Without what starting",
        f"takes; medians of {len(alike[0])} rounds in turns, in which the same differed by up to {scatter:.0f} us. GStreamer {told['gstreamer']},",
        f"{told['processor']}, {told['cores']} cores.",
        "",
        *table(["objects a frame", "`roi`", "`analytics`, more", "`both`, more"], rows),
        "",
        source(found[-1], script="scripts/bench --metadata"),
        "",
    ]


def starts(results: Path) -> list[str]:
    """How long a start takes: on the CPU, and on the GPU, whose rows are among the others of its bench."""
    parts = []
    for pattern, script in (("cpu-starts-20*.json", "scripts/bench --starts"), ("gpu-lines-20*.json", "scripts/bench --gpu")):
        for file in sorted(results.glob(pattern))[-1:]:
            told = json.loads(file.read_text())
            if rows := bench_starts.table(told["rows"]):
                where = told.get("gpu", told["processor"])
                parts += ["", f"{where}, {told['cores']} cores:", *rows, "", source(file, script=script)]
    if not parts:
        return []
    return [
        "### Start-up",
        "",
        "From the start of gst-launch-1.0 to the first frame behind gpunms, with an empty engine cache and with what that start left in",
        "it; medians. The parts are those of trtinfer's `stats`: searching and warming up of other sizes go on beside the frames.",
        *parts,
        "",
    ]


def publishing(results: Path) -> list[str]:
    found = sorted(results.glob("cpu-publishing-20*.json"))
    if not found:
        # Not measured on a quiet machine yet.
        return []
    told = json.loads(found[-1].read_text())
    counts = ("written", "acknowledged", "dropped", "failed")
    rows = [
        [row["destination"], f"{row['fps']:.1%}", f"{row['least']:.1%} to {row['most']:.1%}", f"{row['cpu']:.1%}"]
        + [row[count] for count in counts]
        for row in told["rows"]
    ]
    return [
        "### Publishing",
        "",
        "Frames per second and CPU time of a frame with inferpublish, against the same pipeline (detect and track) without it: the",
        f"median, and the range, of the rounds' ratios; {told['frames']} frames a run. The brokers are on the same machine; Kafka is",
        f"librdkafka's mock of a cluster. The last columns are what became of the records. {told['processor']}, {told['cores']} cores.",
        "",
        *table(["destination", "frames per second", "range", "CPU time", *counts], rows),
        "",
        source(found[-1], script="scripts/bench --publishing"),
        "",
    ]


def service(results: Path) -> list[str]:
    """What cudainfer-serve's process has while streams are added and removed: some of the rows that its test prints."""
    found = sorted(results.glob("cpu-serve-cycles-20*.csv"))
    if not found:
        return []
    with found[-1].open(newline="") as file:
        told = [row for row in csv.DictReader(file) if int(row["cycles"]) in (0, 1000, 2000, 5000, 7500, 10000)]
    rows = [
        [row["source"], row["cycles"], f"{int(row['resident_kb']) / 1024:.1f} MB", row["descriptors"], row["threads"]]
        for row in told
    ]
    return [
        "### Streams that come and go in cudainfer-serve",
        "",
        "A stream is added, gives a frame and is removed, beside one that stays; all have a detector and a tracker. `test` is a test",
        "picture, `file` H.264 that is taken apart, parsed and decoded. 200 cycles came before. Resident memory of the process; built",
        "without optimisation, on the CPU. With decoders, the allocator's arenas fill up over some thousand cycles, and no further.",
        "",
        *table(["source", "cycles", "memory", "descriptors", "threads"], rows),
        "",
        source(found[-1], script="cargo test -p cudainfer-serve --test cycles -- --ignored --nocapture"),
        "",
    ]


# --- Speed on the GPU --------------------------------------------------------------------------------------------


def measured_here(row: dict) -> bool:
    """Leaves out what a row only cites: it has a rate and no times."""
    return "fps" not in row or any(name in row for name in ("median_ms", "p50_ms", "p95_ms"))


def compared(rows: list[dict]) -> list[dict]:
    """Operations that have a goal or are compared with somebody else's; of ours, the kernel that is used."""
    groups = gpu_bench.by_row([row for row in rows if "median_us" in row]).values()
    shown = [group for group in groups if any(map(gpu_bench.notable, group))]
    return [row for group in shown for row in group if row["who"] == gpu_bench.OURS or not row["who"].startswith(gpu_bench.OURS)]


def crossover(rows: list[dict]) -> list[str]:
    """Where the GPU is faster than the CPU, by the clock."""
    both = [
        (group[0]["row"].removesuffix(", wall clock"), {row["who"].removeprefix(gpu_bench.OURS): row["median_us"] for row in group})
        for group in gpu_bench.by_row([row for row in rows if row["row"].endswith("wall clock")]).values()
    ]
    lines = [
        [name, f"{time['']:.1f}", f"{time[' on the CPU']:.1f}", f"{time[' on the CPU'] / time['']:.1f}"] for name, time in both
    ]
    return table(["operation", "GPU, µs", "CPU, µs", "ratio"], lines)


def networks(results: Path) -> list[str]:
    """What scripts/report made of the profiles of each network."""
    lines = []
    for file in sorted(results.glob("networks-*.json")):
        told = json.loads(file.read_text())
        lines += [
            "### Networks: one frame a run, eight, and INT8",
            "",
            "Whole pipelines with NVDEC, vtest.avi as it is (768x576) and what reads the outputs, profiled for some seconds;",
            "latency is a frame's from the source to the sink, with what waits in queues, because nothing holds the source back.",
            f"{'; '.join(told['machines'])}.",
            "",
            *table(told["head"], told["rows"]),
            "",
            source(file, script="scripts/profile --networks FOLDER gpunms=yolov8n.onnx ... && scripts/report FOLDER/*"),
            "",
        ]
    return lines


# What the rows of many streams are bound by where it is not the network, as the tracer and profiles of CPU time told.
STREAM_BOUNDS = [
    "Bounds besides the network: with 300 objects a frame, one stream in batches of 4 by the one thread that decodes results and",
    "tracks them; NVDEC by its engines. What spreads the latency of live frames at 80 % load was not found: four ways of waiting",
    "for the GPU gave the same. At batch 1 the session loop ran at 1,365 to 1,510 frames per second in three visits, with the same",
    "variant, and the pipelines at 1,316 to 1,353: which 0.07 ms a frame the pipelines lose in the fastest of them was not found.",
    "",
]

# What is known of the two GPUs' rows.
TWO_GPUS = [
    "Two GPUs of one host, in one process and in two: both come to twice one GPU. The file also has the pipelines of one of these GPUs.",
    "",
]


def on_two_gpus(row: dict) -> bool:
    return "cuda:" in row.get("source", "")


def two_gpus(results: Path) -> list[str]:
    """Pipelines on two GPUs, beside one each: a host that has two is not always there."""
    file = newest(results, "gpu-two-gpus-*.json")
    told = json.loads(file.read_text())
    rows = [row for row in told["rows"] if on_two_gpus(row)]
    where = f"{told['date'][:10]}, commit {told['commit']}, {told['gpu']}, {told['cores']} cores."
    return ["### Two GPUs", "", *TWO_GPUS, where, source(file, script="scripts/bench --gpu"), "", *gpu_bench.streams(rows), ""]


def later(results: Path, kind: str, rows: list[dict]) -> tuple[list[str], list[dict]]:
    """The rows of this kind that were measured after the others, alone, and a sentence about them; else `rows`."""
    found = sorted(results.glob(f"gpu-{kind}-*.json"))
    if not found:
        return [], rows
    told = json.loads(found[-1].read_text())
    text = [
        f"Measured later than the rest: {told['date'][:10]}, commit {told['commit']}, {told['gpu']}, {told['cores']} cores.",
        told.get("note", ""),
    ]
    measured = [row for row in told["rows"] if measured_here(row)]
    return [*filter(None, text), source(found[-1], script="scripts/bench --gpu"), ""], measured


def with_others(rows: list[dict], former: list[dict]) -> list[dict]:
    """Whole pipelines, and before them those of models that were not measured again."""
    again = {row["row"] for row in rows}
    return [row for row in former if row["row"] not in again] + rows


def gpu(results: Path) -> list[str]:
    file = newest(results, "gpu-20??-??-??.json")
    told = json.loads(file.read_text())
    rows = [row for row in told["rows"] if measured_here(row)]
    (of_operations, operations), (of_streams, streams) = later(results, "operations", rows), later(results, "streams", rows)
    of_lines, lines = later(results, "lines", rows)
    return [
        "## Speed on the GPU",
        "",
        f"{told['date'][:10]}, commit {told['commit']}: {told['gpu']}, driver {told['driver']}, {told['cores']} cores of",
        f"{told['processor']}, torch {told['torch']}, torchvision {told['torchvision']}.",
        "",
        source(file, script="scripts/bench --gpu"),
        "",
        "### Operations",
        "",
        "Times are on the device, launches included. The floor is the time of the bytes that must move, at the speed of a copy",
        "measured in the same run, and of the launches.",
        "",
        *of_operations,
        *gpu_bench.operations([row for row in operations if row["row"].startswith(gpu_bench.FLOOR)] + compared(operations)),
        "",
        "### Operations that also exist on the CPU",
        "",
        "Medians by the clock, with copies and waiting; the CPU is one core of the GPU's host.",
        "",
        *crossover(rows),
        "",
        "### Pipelines of one stream",
        "",
        "Pipelines begin with NVDEC, which alone is hardly faster than the YOLOv8n pipeline and keeps it from its goal, and were run",
        "once. The session loops run the model alone. The goal is 90 % (without a detector 95 %) of ONNX Runtime's IO binding.",
        "",
        *of_lines,
        *gpu_bench.lines(with_others(lines, rows)),
        "",
        "### Pipelines of many streams",
        "",
        "One model shared by all (`instance`): frames that were decoded before, so that NVDEC is not the limit, NVDEC's own, and",
        "live sources at 80 % of the highest frame rate, without a timeout for batches. The network has random weights, so that",
        "thousands of boxes enter the suppression: gpunms keeps as many as the column says (300, its usual limit, where it is",
        "empty), which all become metadata and are tracked. CPU time is that of the whole process.",
        "",
        *of_streams,
        *STREAM_BOUNDS,
        *gpu_bench.streams([row for row in streams if not on_two_gpus(row)]),
        "",
        *two_gpus(results),
        *networks(results),
        *tests(results),
    ]


# What the counts of tests do not say.
TESTS = [
    "1.28.8 ran those of transfers, too. What failed there is that Python's torch and CuPy read our tensors: the machine's Python",
    "could not load a GStreamer with another C library, and the test is left out there since. Of the sanitizers' runs, those over",
    "`channels_last` and `every_decoder` are of 2026-11-24, the others older. On that day initcheck found that the kernel",
    "`compare_small` read up to three candidates beyond the last one, which it ignores; their memory is cleared since, but no run",
    "of initcheck has confirmed it yet. On two H100 a search for the fastest variant could not be stopped, and a box whose",
    "decayed confidence is the threshold but for its last bits was on one side only: the search can be stopped since, and",
    "the comparison takes such boxes for ties.",
]


def tests(results: Path) -> list[str]:
    """What the tests on the GPU came to."""
    plain, sanitizer = results / "gpu-tests-h200.txt", results / "gpu-sanitizer-h200.txt"

    def count(text: str, what: str) -> int:
        return sum(int(number) for number in re.findall(rf"test result: .*?(\d+) {what}", text))

    def passed(text: str) -> int:
        # The harness counts those that say that they are skipped.
        return count(text, "passed") - text.count("... skipped: ")

    newer = {version: results / f"gpu-tests-{version}-h200.txt" for version in ("1.26.2", "1.28.8")}
    one, two = results / "gpu-tests-h100.txt", results / "gpu-tests-h100-x2.txt"
    runs = [("tests, GStreamer 1.22.0", plain.read_text())]
    runs += [("the same on two H100", two.read_text()), ("the same on one H100, later", one.read_text())]
    runs += [(f"those of lines and regions, GStreamer {version}", file.read_text()) for version, file in newer.items()]
    rows = [[name, passed(text), count(text, "failed")] for name, text in runs]
    for part in sanitizer.read_text().split("# compute-sanitizer --tool ")[1:]:
        tool = part.splitlines()[0].split(" (")[0]
        rows.append([f"compute-sanitizer {tool}", count(part, "passed"), count(part, "failed")])
    return [
        "### Tests on the GPU",
        "",
        *table(["run", "passed", "failed"], rows),
        "",
        *TESTS,
        "",
        source(plain, two, one, *newer.values(), sanitizer, script="scripts/test --gpu"),
    ]


# --- The page ----------------------------------------------------------------------------------------------------


def page(results: Path) -> str:
    uncommitted = [[what, figure, f"`{script}`", "not in benches/results"] for what, figure, script in UNCOMMITTED]
    sections = [
        "# Benchmarks",
        "",
        "<!-- Written by `scripts/bench --report` from the raw files in benches/results. Do not edit. -->",
        "",
        "Every table is made from raw output in [benches/results/](../benches/results) by `scripts/bench --report`. Each section",
        "names the raw file, the script that measures it, and the machine. Medians unless stated otherwise.",
        "",
        "- [Accuracy](#accuracy)",
        "- [Speed on the CPU](#speed-on-the-cpu)",
        "- [Speed on the GPU](#speed-on-the-gpu)",
        "- [Figures without raw output](#figures-without-raw-output)",
        "",
        "## Accuracy",
        "",
        *tracking(results),
        "",
        *poses(results),
        "",
        *tiles(results),
        *models(results),
        "",
        *parity(results),
        "",
        "## Speed on the CPU",
        "",
        *pipeline(results),
        "",
        *tracker_speed(results),
        "",
        *peaks(results),
        "",
        *metrics(results),
        *profiles(results),
        *metadata(results),
        *starts(results),
        *publishing(results),
        *service(results),
        *gpu(results),
        "",
        "## Figures without raw output",
        "",
        *table(["what", "figure", "script that prints it", "raw output"], uncommitted),
        "",
    ]
    return "\n".join(sections)


# What docs/profiling.md says of each scenario's kind of fault: the headings are those of its own table.
SCENARIOS = ("copies", "launches", "batches", "decoder", "threads")
MARKS = ("<!-- scenarios -->", "<!-- /scenarios -->")


def scenarios(results: Path) -> list[str]:
    """What was gained in each scenario, a table for each machine, and what the profiles said."""
    lines = ["<!-- Written by `scripts/bench --report` from benches/results. Do not edit. -->", ""]
    for file in sorted(results.glob("scenarios-*.json")):
        told = json.loads(file.read_text())
        name = told["gpu"] or f"{told['processor']}, {told['cores']} cores, no GPU"
        lines += [f"### {name}", ""]
        rows = []
        for scenario in SCENARIOS:
            row = told["scenarios"].get(scenario)
            if row:
                rates = [f"{row[which]['frames_per_second']:,.1f}" for which in ("before", "after")]
                rows.append([scenario, *rates, f"{row['gain']:.2f}", row["before"].get("what", "–")])
        lines += table(["fault", "frames a second", "mended", "times", "what its profile says"], rows)
        keys = " ".join(f"{key}={Path(value).name}" for key, value in told["values"].items())
        lines += [
            "",
            f"Medians of {told['rounds']} rounds in turns. {source(file, script=f'scripts/profile --scenarios FOLDER {keys}'.strip())}",
            "",
        ]
    return lines


def with_scenarios(text: str, results: Path) -> str:
    """docs/profiling.md with the tables between its marks."""
    head, rest = text.split(MARKS[0])
    _, tail = rest.split(MARKS[1])
    return "\n".join([head + MARKS[0], *scenarios(results), MARKS[1] + tail])


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench --report", description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=ROOT / "benches" / "results", metavar="FOLDER")
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "benchmarks.md", metavar="FILE")
    given = parser.parse_args()
    given.output.write_text(page(given.results))
    profiling = given.output.with_name("profiling.md")
    if profiling.is_file():
        profiling.write_text(with_scenarios(profiling.read_text(), given.results))
    print(given.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
