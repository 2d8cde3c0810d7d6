"""How fast operations and pipelines are on the GPU."""

from __future__ import annotations

import json
from pathlib import Path

from cudainfer_tools.bench.gpu import tables
from cudainfer_tools.bench.report.drawing import drawing
from cudainfer_tools.bench.report.markdown import newest, source, table
from cudainfer_tools.bench.report.tests import tests


def measured_here(row: dict) -> bool:
    """Leaves out what a row only cites: it has a rate and no times."""
    return "fps" not in row or any(name in row for name in ("median_ms", "p50_ms", "p95_ms"))


def compared(rows: list[dict]) -> list[dict]:
    """Operations that have a goal or are compared with somebody else's; of ours, the kernel that is used."""
    groups = tables.by_row([row for row in rows if "median_us" in row]).values()
    shown = [group for group in groups if any(map(tables.notable, group))]
    return [row for group in shown for row in group if row["who"] == tables.OURS or not row["who"].startswith(tables.OURS)]


def crossover(rows: list[dict]) -> list[str]:
    """Where the GPU is faster than the CPU, by the clock."""
    both = [
        (group[0]["row"].removesuffix(", wall clock"), {row["who"].removeprefix(tables.OURS): row["median_us"] for row in group})
        for group in tables.by_row([row for row in rows if row["row"].endswith("wall clock")]).values()
    ]
    lines = [
        [name, f"{time['']:.1f}", f"{time[' on the CPU']:.1f}", f"{time[' on the CPU'] / time['']:.1f}"] for name, time in both
    ]
    return table(["operation", "GPU, µs", "CPU, µs", "ratio"], lines)


def networks(results: Path) -> list[str]:
    """What scripts/report made of the profiles of each network."""
    lines = []
    for file in sorted(results.glob("networks-*.json")):
        reported = json.loads(file.read_text())
        lines += [
            "### Networks: one frame a run, eight, and INT8",
            "",
            "Whole pipelines with NVDEC, vtest.avi as it is (768x576) and what reads the outputs, profiled for some seconds;",
            "latency is a frame's from the source to the sink, with what waits in queues, because nothing holds the source back.",
            f"{'; '.join(reported['machines'])}.",
            "",
            *table(reported["head"], reported["rows"]),
            "",
            source(file, script="scripts/profile --networks FOLDER gpunms=yolov8n.onnx ... && scripts/report FOLDER/*"),
            "",
        ]
    return lines


def alone(results: Path) -> list[str]:
    """Operations that were measured alone, without a copy and a launch to compare with: lines of the benchmark program, after one that says
    where."""
    file = newest(results, "operations-alone-*.jsonl")
    lines, machine, programs = [], {}, []
    for row in map(json.loads, file.read_text().splitlines()):
        if "machine" in row:
            machine = row
            programs.append(f"cargo bench -p cudainfer-benches --bench {row['program'].replace(' ', ' -- ')}")
            continue
        goal = row["goal_us"]
        aim = "" if goal is None else f"≤ {goal:g}: {'met' if row['median_us'] <= goal else '**missed**'}"
        card = machine["machine"].removeprefix("NVIDIA ").split(" ")[0]
        lines.append([row["row"], card, machine["commit"], f"{row['median_us']:.2f} ({row['p95_us']:.2f})", aim])
    return [
        "Measured again alone, on one GPU each: what is here is newer than the same rows above.",
        "",
        *table(["operation", "GPU", "commit", "median µs (p95)", "goal, µs"], lines),
        "",
        source(file, script="; ".join(programs)),
        "",
    ]


# What the rows of many streams are bound by where it is not the network.
STREAM_BOUNDS = [
    "Bounds besides the network: with 300 objects a frame, one stream in batches of 4 by the one thread that decodes results and",
    "tracks them; NVDEC by its engines. One stream at batch 1 by what is between the network's runs on the GPU: a frame is prepared and",
    "copied, its output copied, decoded and suppressed. Live, the first frame of a batch of 16 waits for the last one, which comes 15 frames",
    "later, 1.2 ms at 80 % of the highest rate: half of that in the median, all of it in the 99th percentile, so that 2.1 and 2.7 ms, a",
    "spread of 1.3, are what arrivals and the network's run come to before anything varies. With an interval by the host's cores: to follow",
    "what boxes show takes 0.2 ms of processor time a frame more than `motion`, 17 of 32 cores in all at this rate; 16 cores give less.",
    "",
]

# What is known of the two GPUs' rows.
TWO_GPUS = ["Two GPUs of one host, in one process and in two: both come to twice one GPU.", ""]


def on_two_gpus(row: dict) -> bool:
    return "cuda:" in row.get("source", "")


def two_gpus(results: Path) -> list[str]:
    """Pipelines on two GPUs, beside one each: a host that has two is not always there."""
    file = newest(results, "gpu-two-gpus-*.json")
    reported = json.loads(file.read_text())
    rows = [row for row in reported["rows"] if on_two_gpus(row)]
    where = f"{reported['date'][:10]}, commit {reported['commit']}, {reported['gpu']}, {reported['cores']} cores."
    return [
        "### Two GPUs",
        "",
        *TWO_GPUS,
        where,
        source(file, script="scripts/bench --gpu"),
        "",
        *tables.streams(rows),
        "",
    ]


def mattes(results: Path) -> list[str]:
    """Mattes of large frames."""
    file = newest(results, "matting-*.jsonl")
    where, *rows = map(json.loads, file.read_text().splitlines())
    without = {row["row"]: row["fps"] for row in rows if row["who"] != tables.OURS}
    shown = [
        [row["row"], f"{row['fps']:,.0f}", f"{without[row['row']]:,.0f}", f"{row['p50_ms']:.2f}", f"{row['p99_ms']:.2f}"]
        for row in rows
        if row["who"] == tables.OURS
    ]
    return [
        "### Mattes of 4K and 8K frames",
        "",
        "Selfie segmentation (256x256, a soft mask) on frames in CUDA memory, of a pair one run for each picture. The frames are repeated, so",
        "each is copied before a mask is put into it. Latency is that from trtinfer's input to the end, with what waits in queues.",
        "",
        f"{where['date'][:10]}, commit {where['commit']}, {where['gpu']}, {where['cores']} cores.",
        source(file, script="python3 tools bench.gpu.matting --load PROGRAM .cache/models/selfie.onnx"),
        "",
        *table(["frames", "frames/s", "without masks, frames/s", "latency p50, ms", "p99, ms"], shown),
        "",
    ]


def later(results: Path, kind: str, rows: list[dict]) -> tuple[list[str], list[dict]]:
    """The rows of this kind that were measured after the others, alone, and a sentence about them; else `rows`."""
    found = sorted(results.glob(f"gpu-{kind}-20*.json"))
    if not found:
        return [], rows
    reported = json.loads(found[-1].read_text())
    text = [
        f"Measured later than the rest: {reported['date'][:10]}, commit {reported['commit']}, {reported['gpu']}, {reported['cores']} cores.",
        reported.get("note", ""),
    ]
    measured = [row for row in reported["rows"] if measured_here(row)]
    return [*filter(None, text), source(found[-1], script="scripts/bench --gpu"), ""], measured


def with_others(rows: list[dict], former: list[dict]) -> list[dict]:
    """Whole pipelines, and before them those of models that were not measured again."""
    again = {row["row"] for row in rows}
    return [row for row in former if row["row"] not in again] + rows


def gpu(results: Path) -> list[str]:
    file = newest(results, "gpu-20??-??-??.json")
    reported = json.loads(file.read_text())
    rows = [row for row in reported["rows"] if measured_here(row)]
    (of_operations, operations), (of_streams, streams) = later(results, "operations", rows), later(results, "streams", rows)
    of_lines, lines = later(results, "lines", rows)
    of_cuda, cuda = later(results, "streams-cuda", [])
    return [
        "## Speed on the GPU",
        "",
        f"{reported['date'][:10]}, commit {reported['commit']}: {reported['gpu']}, driver {reported['driver']}, {reported['cores']} cores of",
        f"{reported['processor']}, torch {reported['torch']}, torchvision {reported['torchvision']}.",
        "",
        source(file, script="scripts/bench --gpu"),
        "",
        "### Operations",
        "",
        "Times are on the device, launches included. The floor is the time of the bytes that must move, at the speed of a copy",
        "measured in the same run, and of the launches.",
        "",
        *of_operations,
        *tables.operations([row for row in operations if row["row"].startswith(tables.FLOOR)] + compared(operations)),
        "",
        *alone(results),
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
        *tables.lines(with_others(lines, rows)),
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
        *tables.streams([row for row in streams if not on_two_gpus(row)]),
        "",
        *of_cuda,
        *tables.streams(cuda),
        "",
        *two_gpus(results),
        *mattes(results),
        *drawing(results),
        *networks(results),
        *tests(results),
    ]
