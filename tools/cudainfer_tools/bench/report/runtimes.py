"""What runs the network, compared: runtimes on the CPU, and the networks alone on a GPU."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from statistics import median

from cudainfer_tools.bench.report.markdown import newest, source, table

# What a pipeline's rows are called.
CALLED = {"detect-track": "pipeline with a detector, beside a Python loop"}


# What the program fused_speed prints of a network.
MADE, SPEED = re.compile(r"^made in ([\d.]+)(m?)s", re.MULTILINE), re.compile(r"a run, (\d+) frames/s", re.MULTILINE)


def providers(results: Path) -> list[str]:
    """`scripts/bench --providers`: ONNX Runtime and OpenVINO on the CPU."""
    file = newest(results, "cpu-providers-*.json")
    measured = json.loads(file.read_text())
    kinds = list(dict.fromkeys(kind for row in measured["rows"].values() for kind in row))
    rows = []
    for name, row in measured["rows"].items():
        cells = [f"{row[kind]['fps']:.1f} ({row[kind]['ratio']:.2f})" if kind in row else "–" for kind in kinds]
        rows.append([CALLED.get(name, name), *cells])
    return [
        "### ONNX Runtime and OpenVINO",
        "",
        f"Frames a second on {measured['cores']} cores of {measured['processor']}, two workers, in turns; in brackets against the first",
        "column with a figure, the median of the rounds' ratios.",
        "",
        *table(["model", *kinds], rows),
        "",
        source(file, script="scripts/bench --providers"),
    ]


def networks(results: Path) -> list[str]:
    """`scripts/bench --networks`: the networks alone on a GPU; of rows in several files the last one, for each kind of GPU."""
    of_files = {file: json.loads(file.read_text()) for file in results.glob("network-speed-*.json")}
    files = sorted(of_files, key=lambda file: of_files[file]["machine"]["date"])
    measured = [of_files[file] for file in files]
    found: dict[tuple[str, int, str], dict[str, dict]] = {}
    for gpu, row in ((one["machine"]["gpu"], row) for one in measured for row in one["rows"]):
        name = re.sub(r"-batch(\d+|s)$", "", row["row"])
        found.setdefault((name, row["batch"], gpu), {})[f"{row.get('provider')} {row['who']}"] = row
    rows = []
    for (name, batch, gpu), of in found.items():
        cuda, fused = (of.get(f"{provider} session loop, CUDA graph") for provider in ("cuda", "fused"))
        if not fused:
            continue
        torch = [of.get(f"None {who}") for who in ("torch, CUDA graph", "torch.compile, default, CUDA graph")]
        speeds = [cuda and cuda["fps"], *(row and batch / row["median_us"] * 1e6 for row in torch)]
        cells = [f"{speed:,.0f}" if speed else "–" for speed in speeds]
        cells[0] += f" ({cuda['variant']})" if cuda else ""
        memory = [f"{row['device_mb']:,}" if row and "device_mb" in row else "–" for row in (cuda, fused)]
        others = list(filter(None, speeds))
        ratio = f"{fused['fps'] / max(others):.2f}" if others else "–"
        card = gpu.removeprefix("NVIDIA ").split(" ")[0]
        rows.append([name, batch, card, *cells, f"{fused['fps']:,.0f}", ratio, *memory])
    machines = [one["machine"] for one in measured]
    torch_version = next(one["versions"]["torch"] for one in reversed(machines) if "torch" in one["versions"])
    visits = "; ".join(f"{one['gpu']}, commit {one['commit']}" for one in machines)
    head = [
        "network",
        "batch",
        "GPU",
        "ONNX Runtime (variant)",
        "PyTorch, CUDA graph",
        "`torch.compile`, CUDA graph",
        "`provider=fused`",
    ]
    head += ["times the fastest other", "MB, ONNX Runtime", "MB, fused"]
    return [
        "### The network alone",
        "",
        f"Frames a second on one GPU ({visits}; driver {machines[-1]['driver']}, torch {torch_version}): the session loop",
        "with CUDA graphs, ONNX Runtime in the variant that engine search chose. Random weights; what is named without a type is float32.",
        "ONNX Runtime computes int8 in float32, so its batches are left out. MB is device memory that the model took at",
        "its first start, with the libraries' code.",
        *(one["note"] for one in machines if "note" in one),
        "",
        *table(head, rows),
        "",
        source(*files, script="scripts/bench --networks"),
    ]


def engine(results: Path) -> list[str]:
    """The engine's own program, without GStreamer, one visit after the other."""
    visits = [visit(file) for file in sorted(results.glob("fused-speed-*.txt"))]
    return ["### The engine fused alone", *(line for lines in visits for line in ("", *lines))]


def visit(file: Path) -> list[str]:
    """The engine's program on a GPU machine: each part of its raw output begins with == and what was run."""
    script = "cargo run --release --package cudainfer-fused --example fused_speed"
    head, *parts = file.read_text().split("\n== ")
    rows = []
    for part in parts:
        made, speed = MADE.search(part), SPEED.search(part)
        if made and speed:
            seconds = float(made[1]) / (1000 if made[2] else 1)
            rows.append([part.splitlines()[0], f"{int(speed[1]):,}", f"{seconds:.1f}"])
    of = " ".join(head.split())
    columns = ["what was run", "frames/s", "made in, s"]
    return [of, "", *table(columns, rows), "", source(file, script=script)]


# What the program fused_speed prints of a step: its time, and what it is.
STEP = re.compile(r"^TIME ([\d.]+) us: \d+ (.*)$", re.MULTILINE)
# Steps that are compared, by the beginning of what they are.
STEPS = {
    "the first convolution, of three channels": r"convolution \w+ \[16, 3, 3, 3\]",
    "other convolutions of float16 or integers": r"convolution (float16|int8)",
    "convolutions of float32": r"convolution float32",
    "maps: quantising, resizing, pooling, boxes": r"map",
    "softmax": r"softmax",
}
# What a counter of the profiler is, and how large one of a kernel is that counts here, in nanoseconds.
COUNTERS = {
    "instructions of a multiprocessor in a cycle (of 4)": "sm__inst_executed.avg.per_cycle_active",
    "memory, % of the most": "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "L2 cache, % of the most": "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "L1 cache and shared memory, % of the most": "l1tex__throughput.avg.pct_of_peak_sustained_active",
    "warps, % of the most": "sm__warps_active.avg.pct_of_peak_sustained_active",
}
LARGE = 12_000


def steps(results: Path) -> list[str]:
    """What bounds int8: the steps of one network in two types, and what the profiler counted of its convolutions."""
    file, counted = newest(results, "fused-steps-*.txt"), newest(results, "fused-counters-*.csv")
    head, *parts = file.read_text().split("\n== ")
    names = [part.splitlines()[0] for part in parts]
    sums = [dict.fromkeys(STEPS, 0.0) for _ in parts]
    for of, part in zip(sums, parts, strict=True):
        for time, what in STEP.findall(part):
            of[next(name for name, begin in STEPS.items() if re.match(begin, what))] += float(time)
    rows = [[name, *(f"{of[name]:.1f}" for of in sums)] for name in STEPS]
    rows.append(["all, one after another", *(f"{sum(of.values()):.1f}" for of in sums)])
    rows.append(["frames/s", *(f"{int(frames):,}" for part in parts for frames in SPEED.findall(part))])
    counters, _, *kernels = csv.reader(counted.read_text().splitlines())
    large = [dict(zip(counters, kernel, strict=True)) for kernel in kernels]
    large = [one for one in large if one["Kernel Name"].startswith(("convolution_matrix", "convolution_groups"))]
    large = [one for one in large if int(one["gpu__time_duration.sum"].replace(",", "")) >= LARGE]
    medians = [[what, f"{median(float(one[counter]) for one in large):.1f}"] for what, counter in COUNTERS.items()]
    return [
        "### What bounds int8",
        "",
        " ".join(head.split()),
        "",
        *table(["microseconds", *names], rows),
        "",
        f"What ncu counted of the {len(large)} convolutions of integers and float32 on tensor cores that take {LARGE // 1000} us or more, the medians:",
        "",
        *table(["counter", "median"], medians),
        "",
        "Of what was counted, the L1 cache with shared memory is the busiest, through which go the sums of integers, the table of SiLU and the packed",
        "results; a multiprocessor holds a quarter of the warps that fit. The first convolution multiplies number by number in both types. The",
        "heads' last convolutions and softmax are float32 in the quantised model, twice float16's memory, and quantising around them takes maps.",
        "",
        source(file, counted, script="cargo run --release --package cudainfer-fused --example fused_speed -- --steps"),
    ]
