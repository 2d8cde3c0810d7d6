"""Sections of docs/reliability.md about streams from their start to their end: random walks, golden results, bad neighbours, hours."""

from __future__ import annotations

import json
import re
import statistics
from pathlib import Path

from cudainfer_tools.bench.report.markdown import newest, printed, source, table
from cudainfer_tools.soak.growth import an_hour, at_rest


def walk(results: Path) -> list[str]:
    """What tests/walk printed, after remarks that begin with '#'."""
    if not list(results.glob("walk-*.txt")):
        return []
    file = newest(results, "walk-*.txt")
    remarks, lines = printed(file)
    rows: list[list[str]] = []
    for line in lines:
        if match := re.match(r"after (\d+) operations: (\d+) KiB, (\d+) threads, (\d+) files", line):
            rows.append([f"{int(match[1]):,}", f"{int(match[2]) / 1024:.1f}", match[3], match[4]])
    said = [line for line in lines if line.startswith(("CUDAINFER_WALK_SEED", "operations: ", "frames: "))]
    return [
        "## Whatever is done to a running pipeline",
        "",
        "Promise: whatever users do to a pipeline of eight streams, in whatever order, each frame that came in comes out with its own result,",
        "was dropped and reported, or was flushed. Nothing hangs, and memory, threads and open files stay. Test: tests/walk, which",
        "`scripts/soak --walk [OPERATIONS] [SEED]` runs.",
        "",
        *remarks,
        "",
        *[f"- {line}" for line in said],
        "",
        "What is held when all streams have been removed:",
        "",
        *table(["after operations", "memory in use, MB", "threads", "open files"], rows),
        "",
        source(file, script="scripts/soak --walk"),
        "",
    ]


def golden(folder: Path) -> list[str]:
    """How much is golden, from the files themselves."""
    files = [json.loads(file.read_text()) for file in sorted(folder.glob("*.json"))]
    records = sum(len(file["records"]) for file in files)
    frames = sum(len(pad) for file in files for pad in file["frames"])
    return [
        "## Golden results",
        "",
        "Promise: a pipeline makes the same of the same frames with every GStreamer. Test: `golden` in tests/elements/plugin; each of the",
        f"{len(files)} files of pipelines/ runs on a video that the test makes, and its {records} records and {frames} frames are compared with those in",
        "tests/golden/results: frames by a CRC, and records, but for numbers with a fraction, by another; these numbers may differ by their last",
        "digit, and between CPU and GPU by 0.001 (confidences) and 0.1 pixels. `UPDATE_GOLDEN=1` writes them again.",
        "",
    ]


def isolation(results: Path) -> list[str]:
    """What benches/isolation.rs printed, after what it ran on."""
    if not list(results.glob("isolation-*.jsonl")):
        return []
    file = newest(results, "isolation-*.jsonl")
    header, *lines = [json.loads(line) for line in file.read_text().splitlines()]
    rates = [line for line in lines if line["what"] == "rate"]
    overloads = [line for line in lines if line["what"] == "overload"]
    alone = {line["round"]: line for line in rates if line["bad"] == "Nothing"}
    words = {
        "Nothing": "nothing bad",
        "Garbage": "noise, then frames that are too short",
        "Blocked": "nothing takes its frames",
        "Caps": "other caps in each frame",
        "Crowd": "10,000 objects in each frame",
    }
    rows = []
    for bad, word in words.items():
        own = [line for line in rates if line["bad"] == bad]
        share = statistics.median(line["mean"] / alone[line["round"]]["mean"] for line in own)
        slowest = min(line["slowest"] / line["wanted"] for line in own)
        rows.append(
            [word, f"{statistics.median(line['mean'] for line in own):.2f}", f"{100 * share:.1f} %", f"{100 * slowest:.1f} %"]
        )
    pressed = [
        [
            line["sent"],
            line["came_out"],
            line["dropped"],
            line["unaccounted"],
            f"{line['announced_ms']:.0f}",
            f"{line['p50_ms']:.0f}",
            f"{line['p99_ms']:.0f}",
            "not in 4" if line["recovery_s"] is None else f"{line['recovery_s']:.2f}",
        ]
        for line in overloads
    ]
    return [
        "## A bad neighbour, and too many frames",
        "",
        "Promise: one stream that misbehaves changes no result of the others and takes no more than 5 % of their frame rate; a stream that sends",
        "five times what the machine can do loses frames that are counted, is as late as is announced, and recovers within two seconds.",
        "Test of the results: tests/serving/bad_stream.rs. Of the rates:",
        "",
        f"{header['processor']}, {header['cores']} cores, Cargo's profile {header['profile']}; the load average before was {header['load']:.1f}. "
        f"Sixteen streams of one pipeline share a model; fifteen send {rates[0]['wanted']} frames a second each, {len(alone)} rounds. {header.get('remark', '')}".strip(),
        "",
        *table(
            [
                "the sixteenth",
                "frames a second of each other stream",
                "of that without",
                "the slowest of all rounds, of what it sends",
            ],
            rows,
        ),
        "",
        "A live stream with `leaky=downstream` at five times the model's speed, then for 4 s at half of it; times are those of frames that come out;",
        "it has recovered with the first second in which no frame is lost or later than is announced:",
        "",
        *table(
            ["sent", "came out", "dropped", "not accounted for", "announced, ms", "median, ms", "99 %, ms", "recovery, s"], pressed
        ),
        "",
        source(file, script="scripts/bench --isolation"),
        "",
    ]


# What a soak has found, by its commit.
FOUND = {
    "a55f5b57": "At rest the service grew from 16.1 to 17.4 MB, in steps, which look like those of the table of kept pictures' ages as it doubles; the limits of "
    "retention bound it. Before SQLite's page cache was 0.5 MB instead of 2 (0fecc7a2), it grew from 16.1 to 18.9 MB, by 1.5 MB an hour.",
}


def soak(results: Path) -> list[str]:
    """The samples of scripts/soak, after what they were taken on."""
    if not list(results.glob("soak-*.jsonl")):
        return []
    sections = [
        "## Hours",
        "",
        "Promise: what runs for hours does not grow by more than a megabyte an hour, of the host's memory or a GPU's. Test: `scripts/soak HOURS`",
        "runs the demo's pipeline and cudainfer-serve with sixteen streams, to which something is done every few seconds. Growth is the median",
        "slope between all pairs of samples (Theil–Sen) of the second half, of what the allocator has given out; the service is judged at rest,",
        "when every two minutes all streams are removed for a moment, where it was (not before 2026-11-30's last run).",
        "",
    ]
    for pattern in ("soak-2*.jsonl", "soak-gpu-2*.jsonl"):
        if not list(results.glob(pattern)):
            continue
        file = newest(results, pattern)
        header, *samples = [json.loads(line) for line in file.read_text().splitlines()]
        done = samples.pop()["changes"] if "process" not in samples[-1] else {}
        rows = []
        for process in dict.fromkeys(sample["process"] for sample in samples):
            own = [sample for sample in samples if sample["process"] == process]
            cells: list[str] = [process]
            for field, unit in {"in_use_kb": 1024, "resident_kb": 1024, "gpu_mb": 1, "threads": 1, "files": 1}.items():
                growth = an_hour(at_rest(own), field)
                cells.append("" if growth is None else f"{own[-1][field] / unit:.0f} ({growth / unit:+.2f})")
            rows.append(cells)
        changes = ", ".join(f"{count} {name}" for name, count in sorted(done.items()))
        said = f"what was done: {changes}" if done else f"{max(sample.get('changes', 0) for sample in samples)} changes"
        minutes = max(sample["seconds"] for sample in samples) / 60
        if found := FOUND.get(header.get("commit")):
            sections += [found, ""]
        sections += [
            f"{header['gpu'] or header['processor']}, {header['cores']} cores, {minutes:.0f} minutes of {60 * header['hours']:.0f}, seed {header['seed']}; {said}. "
            "At the end, with what an hour adds:",
            "",
            *table(["process", "memory in use, MB", "resident, MB", "device memory, MB", "threads", "open files"], rows),
            "",
            f"[Plot](../benches/results/{file.with_suffix('.svg').name}). "
            + source(file, script=f"scripts/soak {header['hours']}"),
            "",
        ]
    return sections


def whole_life(results: Path) -> list[str]:
    return [*walk(results), *golden(results.parents[1] / "tests" / "golden" / "results"), *isolation(results), *soak(results)]
