"""How fast videos are labelled, beside sleap-nn's own command."""

from __future__ import annotations

import json
from pathlib import Path

from cudainfer_tools.bench.report.markdown import source, table
from cudainfer_tools.bench.sleap.sides import PYTORCH

HEAD = ["model", "what labels", "frames a batch", "frames/s", "times sleap-nn, PyTorch", "frames/s without start-up", "times"]
HEAD += ["start-up, s", "memory, MB", "instances a frame"]
HEAD_OF_GPU = ["GPU memory, MiB", "GPU in use"]


def cells(row: dict, theirs: dict | None, gpu: bool) -> list[str]:
    """Those of a row; `theirs` is that of sleap-nn with the same model."""

    def times(name: str) -> str:
        return f"{row[name] / theirs[name]:.1f}" if theirs else ""

    found = [
        row["row"],
        row["who"],
        row["batch"],
        f"{row['fps']:.1f}",
        times("fps"),
        f"{row['steady_fps']:.1f}",
        times("steady_fps"),
    ]
    found += [f"{row['start_s']:.1f}", f"{row['peak_mb']:,.0f}", f"{row['instances'] / row['frames']:.3f}"]
    if gpu:
        found += [f"{row['gpu_mib']:,}" if row["gpu_mib"] is not None else "", f"{row['gpu_percent'] or 0:.0f} %"]
    return [str(cell) for cell in found]


def labelling(results: Path, device: str) -> list[str]:
    """The section of a device; none where nothing was measured on it."""
    files = sorted(results.glob(f"{device}-sleap-20*.json"))
    if not files:
        return []
    reported = json.loads(files[-1].read_text())
    measured = [row for row in reported["rows"] if "failed" not in row]
    # The faster one of its settings.
    theirs = {row["row"]: row for row in sorted(measured, key=lambda row: row["fps"]) if row["who"].startswith(PYTORCH)}
    gpu = device == "cuda"
    rows = [cells(row, theirs.get(row["row"]), gpu) for row in measured]
    failed = [f"- {row['row']}, {row['who']}: failed. {row['failed']}" for row in reported["rows"] if "failed" in row]
    frames = " or ".join(
        f"{count:,}" for count in sorted({row["frames"] for row in measured if not row["who"].startswith("cudainfer-batch")})
    )
    rounds = "One round" if reported["rounds"] == 1 else f"Medians of {reported['rounds']} rounds"
    if (runs := reported.get("runs", 1)) > 1:
        rounds = f"Rows of {runs} runs on machines of one kind; {rounds[0].lower()}{rounds[1:]}"
    whose, ours = reported["sleap"], reported["cudainfer"]
    machine = f"{reported['processor']}, {reported['cores']} cores" + (f", {reported['gpu']}" if gpu else "")
    of_gpu = ["GPU in use is the mean of nvidia-smi's utilization.gpu after start-up; its memory is what was not in use before."]
    return [
        f"### Labels of a video beside sleap-nn{', on a GPU' if gpu else ''}",
        "",
        "Whole processes, from start to end, that read two flies (384x384 H.264, decoded on the CPU where nothing else is said) and write labels: `sleap-nn predict`",
        "with the trainings (PyTorch) and with what `sleap-nn export` writes (ONNX), and the pipelines of [pose.md](pose.md) with that export and",
        "with what scripts/export writes of the trainings. None tracks, but cudainfer-batch, whose frames are those of all of its files.",
        f"{frames} frames; the size of batch that was fastest of {', '.join(map(str, reported['batches']))}; start-up is known from one that is",
        f"shorter. {rounds}; other processes had at most {max((row['others'] for row in measured), default=0):.0%} of the cores."
        + (f" {of_gpu[0]}" if gpu else ""),
        f"sleap-nn {whose['sleap-nn']}, torch {whose['torch']}, onnxruntime {whose['onnxruntime']}, Python {whose['python']}; GStreamer {ours['gstreamer']} with",
        f"{ours['decoder']}, {ours['onnxruntime']}. {machine}.",
        "",
        *table(HEAD + (HEAD_OF_GPU if gpu else []), rows),
        "",
        *(failed + [""] if failed else []),
        source(
            files[-1],
            script=f"scripts/bench --sleap --device {device} --reference python --checkpoints DIR --exports DIR --video flies.mp4",
        ),
        "",
    ]
