"""What runs the network, compared: runtimes on the CPU, and the networks alone on a GPU."""

from __future__ import annotations

import json
import re
from pathlib import Path

from cudainfer_tools.bench.report.markdown import newest, source, table

# What a pipeline's rows are called.
CALLED = {"detect-track": "pipeline with a detector, beside a Python loop"}


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
    """`scripts/bench --networks`: the networks alone on a GPU."""
    file = newest(results, "network-speed-*.json")
    measured = json.loads(file.read_text())
    graph = "session loop, CUDA graph"
    ours: dict[tuple[str, int], dict[str, str]] = {}
    peers: dict[tuple[str, int], dict[str, float]] = {}
    for row in measured["rows"]:
        if row["who"] == graph:
            name = re.sub(r"-batch(\d+|s)$", "", row["row"])
            found = f"{row['fps']:,.0f}" + ("" if row["provider"] == "fused" else f" ({row['variant']})")
            ours.setdefault((name, row["batch"]), {})[row["provider"]] = found
        elif match := re.match(r"(\w+).* batch (\d+)$", row["row"]):
            batch = int(match[2])
            peers.setdefault((match[1].lower(), batch), {})[row["who"]] = batch / row["median_us"] * 1e6
    rows = []
    for (name, batch), of in ours.items():
        # They run in float16.
        same = (found for (called, of_batch), found in peers.items() if name.startswith(called) and of_batch == batch)
        peer = {} if name.endswith("int8") else next(same, {})
        torch = [peer.get(who) for who in ("torch, CUDA graph", "torch.compile, default, CUDA graph")]
        cells = [f"{fps:,.0f}" if fps else "–" for fps in torch]
        rows.append([name, batch, of.get("cuda", "–"), *cells, of.get("fused", "–")])
    machine = measured["machine"]
    head = ["network", "batch", "ONNX Runtime (variant)", "PyTorch, CUDA graph", "`torch.compile`, CUDA graph", "`provider=fused`"]
    return [
        "### The network alone",
        "",
        f"Frames a second on one {machine['gpu']} (driver {machine['driver']}, torch {machine['versions']['torch']}): the session loop",
        "with CUDA graphs, ONNX Runtime in the variant that engine search chose. Random weights; what is named without a type is float32.",
        f"ONNX Runtime computes int8 in float32, so its batches are left out. {machine.get('note', '')}".rstrip(),
        "",
        *table(head, rows),
        "",
        source(file, script="scripts/bench --networks"),
    ]
