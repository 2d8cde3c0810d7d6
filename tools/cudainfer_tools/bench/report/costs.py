"""What a pipeline pays for metrics, profiles, metadata and publishing, the service for streams that come and go, and labels by their number."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from statistics import median

from cudainfer_tools.bench.report.markdown import newest, source, table


def metrics(results: Path) -> list[str]:
    found = sorted(results.glob("cpu-metrics-20*.json"))
    if not found:
        # Not measured on a quiet machine yet.
        return []
    reported = json.loads(found[-1].read_text())
    sides = [reported["with"], reported["traced"]]
    lost = [1 - 1 / (1 + side["seconds"]) for side in sides]
    rows = [
        ["frames per second lost, detect and track", *(f"{part:.2%}" for part in lost)],
        ["more CPU time, detect and track", *(f"{side['cpu']:.2%}" for side in sides)],
        ["CPU time of each call of an element", *(f"{side['call_ns']:.0f} ns" for side in sides)],
    ]
    text = []
    if "scrape_us" in reported:
        scatters = (f"{side['scatter'][0]:+.1%} to {side['scatter'][1]:+.1%}" for side in sides)
        rows.insert(1, ["its rounds: more time by the clock", *scatters])
        rows.append(["calls, and a scrape every second, as a part of the CPU time", *(f"{side['parts']:.3%}" for side in sides)])
        text = [
            "",
            f"A scrape takes {reported['scrape_us']:.0f} µs of CPU time. Where the rounds scatter by more than the goal, 1 %, the parts tell more.",
        ]
    return [
        "### Metrics",
        "",
        "What `GST_TRACERS=cudainfertracer(metrics=...)` costs while it is scraped every second, and what it costs with `otlp=` besides,",
        "which sends one frame in 100 as a trace; measured in turns with a pipeline without it.",
        f"{reported['processor']}, {reported['cores']} cores.",
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
    reported = json.loads(found[-1].read_text())
    rows = [
        [f"`{row['profile']}`", f"{row['fps']:.1f}", f"{row['ratio']:.0%}", f"{row['file_ms']:.0f} ms", f"{row['live_ms']:.0f} ms"]
        for row in reported["rows"]
    ]
    head = [
        "`profile`",
        "frames/s from a file",
        "of `throughput`",
        "in trtinfer, from a file",
        f"in trtinfer, live, {reported['live_fps']} frames/s",
    ]
    return [
        "### Profiles of trtinfer",
        "",
        "Detect and track with each `profile`, in turns: from a file as fast as it goes, and downstream of a live source that leaves the model",
        "time. How long trtinfer has a frame is what GStreamer's latency tracer says, the median of the rounds' medians.",
        f"{reported['processor']}, {reported['cores']} cores; load of the machine at the end {reported['load'][0]:.1f}, so compare the rows rather than",
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
    reported = json.loads(found[-1].read_text())
    alike = [[turn["roi"] for turn in rounds] for rounds in reported["turns"].values()]
    scatter = 1e6 * max(max(rounds) - min(rounds) for rounds in alike)
    rows = [
        [str(row["objects"]), f"{row['roi']:.0f} us", f"{row['analytics_more']:+.0f} us", f"{row['both_more']:+.0f} us"]
        for row in reported["rows"]
    ]
    return [
        "### Forms of metadata",
        "",
        "CPU time a frame of a whole pipeline whose model always finds the same objects, with what gpunms and tracker write by `metadata`:",
        "regions of interest, GStreamer's analytics metadata, or both, which is the default where GStreamer has them. Without what starting",
        f"takes; medians of {len(alike[0])} rounds in turns, in which the same differed by up to {scatter:.0f} us. GStreamer {reported['gstreamer']},",
        f"{reported['processor']}, {reported['cores']} cores.",
        "",
        *table(["objects a frame", "`roi`", "`analytics`, more", "`both`, more"], rows),
        "",
        source(found[-1], script="scripts/bench --metadata"),
        "",
    ]


def publishing(results: Path) -> list[str]:
    found = sorted(results.glob("cpu-publishing-20*.json"))
    if not found:
        # Not measured on a quiet machine yet.
        return []
    reported = json.loads(found[-1].read_text())
    counts = ("written", "acknowledged", "dropped", "failed")
    rows = [
        [row["destination"], f"{row['fps']:.1%}", f"{row['least']:.1%} to {row['most']:.1%}", f"{row['cpu']:.1%}"]
        + [row[count] for count in counts]
        for row in reported["rows"]
    ]
    return [
        "### Publishing",
        "",
        "Frames per second and CPU time of a frame with inferpublish, against the same pipeline (detect and track) without it: the",
        f"median, and the range, of the rounds' ratios; {reported['frames']} frames a run. The brokers are on the same machine; Kafka is",
        f"librdkafka's mock of a cluster. The last columns are what became of the records. {reported['processor']}, {reported['cores']} cores.",
        "",
        *table(["destination", "frames per second", "range", "CPU time", *counts], rows),
        "",
        source(found[-1], script="scripts/bench --publishing"),
        "",
    ]


def labels(results: Path) -> list[str]:
    found = sorted(results.glob("cpu-labels-20*.json"))
    if not found:
        return []
    reported = json.loads(found[-1].read_text())
    sizes = sorted({row["instances"] for row in reported["rows"]})
    cells: dict[tuple[str, ...], dict[int, str]] = {}
    for row in reported["rows"]:
        of_size = cells.setdefault((row["by"], f"`{row['from']}`", f"`{row['to']}`"), {})
        of_size[row["instances"]] = f"{row['peak_mb']:.0f} MB, {row['seconds']:.1f} s"
    rows = [[*what, *(of_size.get(size, "") for size in sizes)] for what, of_size in sorted(cells.items())]
    return [
        "### Labels for SLEAP",
        "",
        f"Peak of resident memory, and time, by the number of instances in a run of {reported['animals']} animals with {reported['nodes']} points each; sleap-io",
        f"{reported['sleap_io']} itself reads and writes the same tables. {reported['imports_mb']:.0f} MB of it are what Python, sleap-io, h5py and pandas take alone.",
        f"{reported['processor']}, {reported['cores']} cores, shared with other work: memory can be compared, times only roughly.",
        "",
        *table(["by", "from", "to", *(f"{size:,}" for size in sizes)], rows),
        "",
        source(found[-1], script="scripts/bench --labels"),
        "",
    ]


def service(results: Path) -> list[str]:
    """What cudainfer-serve's process has while streams are added and removed: some of the rows that its test prints."""
    found = sorted(results.glob("cpu-serve-cycles-20*.csv"))
    if not found:
        return []
    with found[-1].open(newline="") as file:
        reported = [row for row in csv.DictReader(file) if int(row["cycles"]) in (0, 1000, 2000, 5000, 7500, 10000)]
    rows = [
        [row["source"], row["cycles"], f"{int(row['resident_kb']) / 1024:.1f} MB", row["descriptors"], row["threads"]]
        for row in reported
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


def wall(results: Path) -> list[str]:
    """What the page's wall costs in the browser and in the service."""
    if not list(results.glob("page-*.jsonl")):
        return []
    file = newest(results, "page-*.jsonl")
    header, *rounds = [json.loads(line) for line in file.read_text().splitlines()]
    names = {
        "page_in_browser_percent": "the browser, more than with an empty page",
        "empty_browser_percent": "the browser with an empty page",
        "page_in_service_percent": "the service, more than without a browser",
        "service_alone_percent": "the service without one: decoding, inference, tracking",
    }
    rows = [
        [name, f"{median(own):.1f} %", ", ".join(f"{value:.1f}" for value in sorted(own))]
        for key, name in names.items()
        for own in [[line[key] for line in rounds]]
    ]
    each = median(line["pictures_per_second_each"] for line in rounds)
    return [
        "### The page of cudainfer-serve",
        "",
        f"The wall with the pictures of {header['streams']} cameras, {each:.1f} a second of each, in a window of 1920x1080: CPU time as a part of one core,",
        f"{len(rounds)} rounds of {header['seconds']:.0f} s (goal: 5 % each). {header['browser'].strip()} draws without a GPU. {header['processor']}, {header['cores']} cores.",
        "",
        *table(["what", "of one core", "each round"], rows),
        "",
        source(file, script="scripts/bench --page"),
        "",
    ]
