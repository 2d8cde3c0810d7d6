"""Measures how fast videos are labelled: by `sleap-nn predict`, with its checkpoints (PyTorch) and its exports (ONNX Runtime), and by
cudainfer. Started by scripts/bench --sleap.

    python3 tools bench.sleap --reference PYTHON --checkpoints DIR --exports DIR --video FILE [--networks DIR] [--device cpu|cuda]
                 [--models NAME,...] [--sides TEXT,...] [--frames N] [--copies N] [--files N] [--batches N,...] [--rounds N]
                 [--most-others SHARE] [--rows FILE]... [--results FOLDER]

Each side gets the same two videos: the first --frames frames of --video, and --copies copies of that, one after the other. It runs
once for each size of batch, and the fastest one is taken; then `rounds` times over both videos, in processes of their own from start to
end. A row, printed as a line of JSON, has the medians:
    {"row": model, "who", "device", "batch", "tried": {batch: frames/s}, "frames", "instances", "seconds", "fps", "steady_fps",
     "start_s", "peak_mb", "gpu_mib", "gpu_percent", "others"}          or    {"row", "who", "device", "batch", "failed": what was wrong}
`seconds`, `fps`, `peak_mb` and those of the GPU are of the long video, of a process from its start to its end. `steady_fps` is what the
long one has more frames, by what it takes longer; `start_s` is the rest. `gpu_mib` is the most memory of the GPU, of all processes, less
what was in use before; `gpu_percent` is the mean of nvidia-smi's utilization.gpu, asked ten times a second, after `start_s`.
`others` is the largest share of the cores that other processes had during a run. Sides lose differently much to them, PyTorch most, so
that figures are not written to --results where it is above --most-others.
All decode on the CPU, but for one row of a GPU. --rows adds rows from elsewhere: JSON objects, one a line.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import NoReturn

from cudainfer_tools import pipeline, repository
from cudainfer_tools.bench import results
from cudainfer_tools.bench.sleap import clip
from cudainfer_tools.bench.sleap.process import Run, run
from cudainfer_tools.bench.sleap.sides import FELL_BACK, MODELS, ONNX, Found, Side, sides
from cudainfer_tools.machine import commit, gpu
from cudainfer_tools.repository import ROOT

OUT = ROOT / "out" / "bench" / "sleap"
# Frames of the short video (0: all), copies of it in the long one, files at a time, and rounds.
DEFAULTS = {"cpu": (110, 5, 2, 3), "cuda": (0, 5, 8, 1)}
LIMIT_S = 900.0
PROVIDER = "CUDAExecutionProvider"
VERSIONS = """
import importlib.metadata as m, json, sys, onnxruntime
names = ("sleap-nn", "sleap-io", "torch", "lightning", "numpy")
found = {name: m.version(name) for name in names} | {"onnxruntime": onnxruntime.__version__}
print(json.dumps(found | {"python": sys.version.split()[0], "providers": onnxruntime.get_available_providers()}))
"""


class Bench:
    """Runs sides over the two videos."""

    def __init__(self, videos: dict[str, Path], device: str, batches: list[int], rounds: int):
        self.videos, self.device, self.batches, self.rounds = videos, device, batches, rounds

    def once(self, side: Side, length: str, batch: int) -> tuple[Run, Found]:
        """A run over the short or the long video; PipelineError where it fails."""
        with tempfile.TemporaryDirectory(dir=OUT) as name:
            folder = Path(name)
            out = folder / "labels"
            out.mkdir()
            video = self.videos[length]
            videos = clip.names(video, side.files) if side.files > 1 else [video]
            measured = run(side.command(videos, batch, out), side.environment, folder, LIMIT_S)
            if measured.status != 0:
                raise pipeline.PipelineError(measured.last_words())
            if self.device == "cuda" and FELL_BACK.search(measured.log):
                raise pipeline.PipelineError(f"it ran on the CPU: {measured.last_words()}")
            found = side.found(out, measured.log)
        print(f"{side.who}, batch {batch}, {length}: {measured.seconds:.2f} s, {found}", file=sys.stderr, flush=True)
        return measured, found

    def row(self, kind: str, side: Side) -> dict:
        """Chooses the size of batch, then measures."""
        trial = "long" if side.starts_fast else "short"
        row: dict = {"row": kind, "who": side.who, "device": self.device, "batch": self.batches[0]}
        tried, short = {}, []
        try:
            for batch in self.batches:
                row["batch"] = batch
                measured, found = self.once(side, trial, batch)
                tried[batch] = (found.frames / measured.seconds, measured, found)
            row["batch"] = batch = max(tried, key=lambda size: tried[size][0])
            row["tried"] = {str(size): round(rate, 2) for size, (rate, _, _) in tried.items()}
            # What starts slowly has begun with its first round already. The others may have filled a cache meanwhile.
            if not side.starts_fast:
                short.append(tried[batch][1:])
            while len(short) < self.rounds:
                short.append(self.once(side, "short", batch))
            long = [self.once(side, "long", batch) for _ in range(self.rounds)]
            return row | figures(short, long)
        except pipeline.PipelineError as error:
            return row | {"failed": str(error)}


def figures(short: list[tuple[Run, Found]], long: list[tuple[Run, Found]]) -> dict:
    """Medians of the runs over both videos."""
    frames, seconds = long[0][1].frames, median(run.seconds for run, _ in long)
    more = seconds - median(run.seconds for run, _ in short)
    if more <= 0:
        raise pipeline.PipelineError(
            "the long video took no longer than the short one: take more --copies, on a machine that does nothing else"
        )
    steady = (frames - short[0][1].frames) / more
    start = max(seconds - frames / steady, 0.0)
    gpu = [(run.gpu_mib(), run.gpu_percent(start)) for run, _ in long]
    memory, used = ([value for value in column if value is not None] for column in zip(*gpu, strict=True))
    return {
        "frames": frames,
        "instances": long[0][1].instances,
        "seconds": round(seconds, 3),
        "fps": round(frames / seconds, 2),
        "steady_fps": round(steady, 2),
        "start_s": round(start, 2),
        "peak_mb": round(max(run.peak_mb for run, _ in long), 1),
        "gpu_mib": round(max(memory)) if memory else None,
        "gpu_percent": round(median(used), 1) if used else None,
        "others": round(max(run.others for run, _ in short + long), 3),
    }


def networks(given: argparse.Namespace) -> Path:
    """What scripts/export makes of the checkpoints."""
    if given.networks:
        return given.networks
    folder = OUT / "networks"
    for name in sorted({name for kind in given.models for name in MODELS[kind][0]}):
        command = repository.command("export.sleap", given.checkpoints / name, "--output", folder / name, python=given.reference)
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return folder


def versions(python: Path) -> dict:
    own = os.environ.get("CUDAINFER_HOST_LIBRARIES", os.environ.get("LD_LIBRARY_PATH", ""))
    environment = {**os.environ, "LD_LIBRARY_PATH": own}
    done = subprocess.run([python, "-c", VERSIONS], capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        raise pipeline.PipelineError(f"{python} has no sleap-nn that can be used: {done.stderr.strip()[-400:]}")
    gstreamer = subprocess.run(["gst-launch-1.0", "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()[2]
    libav = subprocess.run(["gst-inspect-1.0", "--exists", "avdec_h264"], check=False).returncode == 0
    library = Path(os.environ.get("ORT_DYLIB_PATH", "")).resolve().name
    decoder = "avdec_h264" if libav else "openh264dec"
    return {
        "sleap": json.loads(done.stdout.splitlines()[-1]),
        "cudainfer": {"gstreamer": gstreamer, "onnxruntime": library, "decoder": decoder},
    }


def no_provider(*_: object) -> NoReturn:
    raise pipeline.PipelineError(f"the reference's onnxruntime has no {PROVIDER}: it would run on the CPU")


def words(convert: Callable) -> Callable[[str], list]:
    return lambda text: [convert(word) for word in text.split(",")]


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/bench --sleap", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--reference", type=Path, required=True, help="a Python with sleap-nn, onnx and onnxruntime")
    parser.add_argument("--checkpoints", type=Path, required=True, help="folder of the trainings, one folder for each type")
    parser.add_argument("--exports", type=Path, required=True, help="folder of what `sleap-nn export` made of them")
    parser.add_argument("--video", type=Path, required=True, help="H.264 in MP4: the video of two flies that they were made for")
    parser.add_argument("--networks", type=Path, help="folder of what scripts/export made of them (default: made here)")
    parser.add_argument("--device", choices=tuple(DEFAULTS), default="cpu")
    parser.add_argument("--models", type=words(str), default=list(MODELS), metavar="NAME,...", help="default: all")
    parser.add_argument("--sides", type=words(str), default=[""], metavar="TEXT,...", help="those with such a text in their name")
    parser.add_argument("--frames", type=int, help="of the short video; 0: all")
    parser.add_argument("--copies", type=int, help="of the short video, in the long one")
    parser.add_argument("--files", type=int, help="that cudainfer-batch has at a time")
    parser.add_argument("--batches", type=words(int), default=[1, 4, 16], metavar="N,...", help="default: 1,4,16")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--most-others", type=float, default=0.1, metavar="SHARE", help="default: 0.1 of all cores")
    parser.add_argument("--rows", type=Path, action="append", default=[], metavar="FILE")
    parser.add_argument("--results", type=Path, default=ROOT / "benches" / "results", metavar="FOLDER")
    given = parser.parse_args()
    for name, value in zip(("frames", "copies", "files", "rounds"), DEFAULTS[given.device], strict=True):
        if getattr(given, name) is None:
            setattr(given, name, value)
    for name in ("checkpoints", "exports", "video", "reference", "networks"):
        path = getattr(given, name)
        if path and not path.exists():
            parser.error(f"there is no '{path}'")
        # Not resolved: a Python of a virtual environment is a link.
        setattr(given, name, path and path.absolute())
    if unknown := [name for name in given.models if name not in MODELS]:
        parser.error(f"there are no models '{unknown[0]}', but {', '.join(MODELS)}")
    if given.copies < 2:
        parser.error("--copies must be 2 or more: start-up is known from what the copies take longer")
    lines = [json.loads(line) for file in given.rows for line in file.read_text().splitlines() if line.startswith("{")]
    # The first line of a run says what it ran on. Of rows of the same side, the last counts.
    rows = list({(line["row"], line["who"]): line for line in lines if "row" in line}.values())
    OUT.mkdir(parents=True, exist_ok=True)
    measured_on = {"commit": commit(), **gpu(), **versions(given.reference)}
    print(json.dumps(measured_on), file=sys.stderr, flush=True)
    videos = {"short": OUT / "short.mp4", "long": OUT / "long.mp4"}
    clip.cut(given.video, given.frames, videos["short"])
    clip.repeat(videos["short"], given.copies, videos["long"])
    folders = {"checkpoints": given.checkpoints, "exports": given.exports, "networks": networks(given)}
    bench = Bench(videos, given.device, given.batches, given.rounds)
    for kind in given.models:
        for side in sides(kind, folders, given.reference, given.device, given.files):
            if any(text in side.who for text in given.sides):
                if side.who == ONNX and given.device == "cuda" and PROVIDER not in measured_on["sleap"]["providers"]:
                    # sleap-nn would take the CPU, and say nothing.
                    side = replace(side, command=no_provider)
                rows.append(bench.row(kind, side))
                print(json.dumps(rows[-1]), flush=True)
    shutil.rmtree(OUT, ignore_errors=True)
    worst = max((row for row in rows if "others" in row), key=lambda row: row["others"], default=None)
    if worst and worst["others"] > given.most_others:
        raise pipeline.PipelineError(
            f"other processes had {worst['others']:.0%} of the cores during {worst['row']}, {worst['who']}, but at most "
            f"{given.most_others:.0%} may be: nothing was written. Run it on a machine that does nothing else."
        )
    rows.sort(key=lambda row: list(MODELS).index(row["row"]))
    setting = {name: getattr(given, name) for name in ("copies", "files", "batches", "rounds")} | {"runs": 1 + len(given.rows)}
    results.write(f"{given.device}-sleap", {**measured_on, "video": given.video.name, **setting, "rows": rows}, given.results)
    return 1 if any("failed" in row and not row["who"].startswith("sleap-nn") for row in rows) else 0


if __name__ == "__main__":
    pipeline.start("bench", main)
