"""How fast pipelines, tracking and the search for peaks are on the CPU, and how long a start takes."""

from __future__ import annotations

import json
import re
import statistics
from pathlib import Path

from cudainfer_tools.bench.report.markdown import newest, source, table
from cudainfer_tools.bench.starts import table as starts_table


def of_rounds(reported: dict) -> dict[str, list[float]]:
    """Frames a second of each round, by side."""
    return {side: [run["frames"] / run["seconds"] for run in runs] for side, runs in reported["runs"].items()}


def pipeline(results: Path) -> list[str]:
    file = newest(results, "cpu-20??-??-??.json")
    reported = json.loads(file.read_text())
    speed = of_rounds(reported)
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
        for row in reported["streams"]
    ]
    network = max(statistics.median(turn["bare"] for turn in row["turns"]) for row in reported["streams"])
    bound = network / statistics.median(speed["loop"])
    head = ["streams", "rounds", "frames/s", "session loop, frames/s", "session loop beside decoding, frames/s"]
    head += ["share of the loop", "share of the loop beside decoding", "latency p50, ms", "p99, ms"]
    return [
        "### Detect and track, against a Python loop",
        "",
        f"{reported['date'][:10]}, {reported['processor']}, {reported['cores']} shared virtual cores, {reported['threads']} threads, ONNX Runtime",
        f"{reported['onnxruntime']}; NanoDet on vtest.avi, {len(ratios)} rounds in turns. Both sides decode, detect and track.",
        "",
        *table(["frames per second", "median", "lowest", "highest"], rows),
        "",
        f"{100 * reported['outside']:.1f} % of the pipeline's CPU time is spent outside ONNX Runtime (goal: less than 10 %). The network",
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
    reported = json.loads(file.read_text())
    columns = list(next(iter(reported["us"].values())))
    foreign = [name for name in columns if name in reported["versions"]]
    head = ["boxes a frame"] + [
        f"{name} {reported['versions'][name]} (ByteTrack)" if name in foreign else f"`{name}`" for name in columns
    ]
    rows = [[count] + [f"{row[name]:,.1f}" if name in row else "" for name in columns] for count, row in reported["us"].items()]
    return [
        "### Tracking speed",
        "",
        f"Microseconds a frame on one core of {reported['machine']}. [Plot](../benches/results/track-speed.svg).",
        "",
        *table(head, rows),
        "",
        *(f"- {line.replace('MISSED', '**missed**')}" for line in reported["goals"] if "streams" in line),
        "",
        source(file, script="scripts/bench --tracks"),
    ]


def peaks(results: Path) -> list[str]:
    file, other = newest(results, "cpu-peaks-20*.json"), results / "cpu-peaks-h200-host.txt"
    reported, rows = json.loads(file.read_text()), []
    for row in reported["rows"]:
        ours = statistics.median(row["us"])
        for name, peer in row["peers"].items():
            rows.append(
                [row["row"], f"{reported['processor']}, {reported['cores']} cores", f"{ours:.0f}", name]
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


def starts(results: Path) -> list[str]:
    """How long a start takes: on the CPU, and on the GPU, whose rows are among the others of its bench."""
    parts = []
    for pattern, script in (("cpu-starts-20*.json", "scripts/bench --starts"), ("gpu-lines-20*.json", "scripts/bench --gpu")):
        for file in sorted(results.glob(pattern))[-1:]:
            reported = json.loads(file.read_text())
            if rows := starts_table(reported["rows"]):
                where = reported.get("gpu", reported["processor"])
                parts += ["", f"{where}, {reported['cores']} cores:", *rows, "", source(file, script=script)]
    if not parts:
        return []
    return [
        "### Start-up",
        "",
        "From the start of gst-launch-1.0 to the first frame after gpunms, with an empty engine cache and with what that start left in",
        "it; medians. The parts are those of trtinfer's `stats`: searching and warming up of other sizes go on beside the frames.",
        *parts,
        "",
    ]
