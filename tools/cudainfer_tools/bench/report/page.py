"""docs/benchmarks.md as a whole."""

from __future__ import annotations

from pathlib import Path

from cudainfer_tools.bench.report.accuracy import (
    identities,
    intervals,
    models,
    parity,
    poses,
    precision,
    second_pass,
    sleap,
    still_scenes,
    tiles,
    tracking,
    tuned,
    tuned_poses,
)
from cudainfer_tools.bench.report.costs import labels, metadata, metrics, profiles, publishing, service, wall
from cudainfer_tools.bench.report.cpu import peaks, pipeline, starts, tracker_speed
from cudainfer_tools.bench.report.gpu import gpu
from cudainfer_tools.bench.report.left_out import ideas, left_out
from cudainfer_tools.bench.report.markdown import table
from cudainfer_tools.bench.report.runtimes import engine, networks, providers, steps
from cudainfer_tools.bench.report.sleap import labelling

# Of a run without raw output in benches/results: what was measured, the figure, and the script that prints it.
UNCOMMITTED = [
    (
        "People tracked in vtest.avi with `appearance=auto`, the default; with `none`; with `histogram`",
        "HOTA 60.1, IDF1 84.9, 9 identity switches; 55.1, 72.9, 12; 60.1, 84.9, 9",
        "scripts/evaluate --ground-truth PETS09-S2L1 --tracker appearance=none",
    ),
    (
        "The same in TUD-Campus (71 frames: too few for `auto` to switch histograms on)",
        "HOTA 42.5, IDF1 58.3, 3 identity switches; 42.5, 58.3, 3; 42.6, 58.3, 1",
        "scripts/evaluate --video TUD-Campus.mp4 --ground-truth TUD-Campus --tracker appearance=none",
    ),
    (
        "The same in TUD-Stadtmitte",
        "HOTA 42.4, IDF1 64.7, 3 identity switches; 42.4, 64.6, 3; 42.4, 64.7, 3",
        "scripts/evaluate --video TUD-Stadtmitte.mp4 --ground-truth TUD-Stadtmitte --tracker appearance=none",
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
        *left_out(results),
        *ideas(results),
        *tracking(results),
        "",
        *tuned(results),
        *tuned_poses(results),
        *second_pass(results),
        *poses(results),
        "",
        *sleap(results),
        "",
        *identities(results),
        *tiles(results),
        *models(results),
        "",
        *parity(results),
        "",
        *intervals(results),
        "",
        *still_scenes(results),
        *precision(results),
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
        *providers(results),
        "",
        *publishing(results),
        *labels(results),
        *service(results),
        *wall(results),
        *labelling(results, "cpu"),
        *gpu(results),
        *networks(results),
        "",
        *engine(results),
        "",
        *steps(results),
        "",
        *labelling(results, "cuda"),
        "",
        "## Figures without raw output",
        "",
        *table(["what", "figure", "script that prints it", "raw output"], uncommitted),
        "",
    ]
    return "\n".join(sections)
