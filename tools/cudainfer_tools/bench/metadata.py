"""Measures what each form of metadata costs: a model that always finds the same objects, gpunms and tracker with each `metadata`, in
turns, by the CPU time of the whole process. Needs GStreamer 1.24. Started by scripts/bench --metadata.

    python3 tools bench.metadata [--rounds N] [--frames N]

Each pipeline also runs with one frame: the difference is the frames', without what starting takes.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from cudainfer_tools import pipeline
from cudainfer_tools.bench import results

KINDS = ("roi", "analytics", "both")
OBJECTS = (8, 100)
# Side of the frames and of the model's input.
SIDE = 320
VERSION = re.compile(r"GStreamer (\d+\.\d+\.\d+)")


def boxes(count: int) -> np.ndarray:
    """[1, count, 6]: corners, confidence and class of objects that do not overlap."""
    columns = int(np.ceil(np.sqrt(count)))
    step = SIDE / columns
    corners = [((i % columns) * step, (i // columns) * step) for i in range(count)]
    return np.array([[[x + 1, y + 1, x + step - 1, y + step - 1, 0.9, i % 4] for i, (x, y) in enumerate(corners)]], np.float32)


def write_model(file: Path, count: int) -> None:
    """A model that always finds `count` objects, a little surer of them the brighter the first pixel is, with its sidecar."""
    constants = [
        numpy_helper.from_array(boxes(count), "boxes"),
        numpy_helper.from_array(np.array([[[0, 0, 0, 0, 0.05, 0]]], np.float32), "surer"),
        numpy_helper.from_array(np.zeros(4, np.int64), "first"),
        numpy_helper.from_array(np.ones(4, np.int64), "after"),
        numpy_helper.from_array(np.array([1, 1, 1], np.int64), "one"),
    ]
    nodes = [
        helper.make_node("Slice", ["image", "first", "after"], ["pixel"]),
        helper.make_node("Reshape", ["pixel", "one"], ["brightness"]),
        helper.make_node("Mul", ["brightness", "surer"], ["more"]),
        helper.make_node("Add", ["boxes", "more"], ["detections"]),
    ]
    inputs = [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, SIDE, SIDE])]
    outputs = [helper.make_tensor_value_info("detections", TensorProto.FLOAT, [1, count, 6])]
    graph = helper.make_graph(nodes, "always-the-same", inputs, outputs, constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), file)
    file.with_suffix(".toml").write_text('[output]\ndecoder = "end-to-end"\nlabels = ["a", "b", "c", "d"]\n')


def run(model: Path, kind: str, frames: int) -> float:
    """CPU seconds of the whole process."""
    line = f"videotestsrc pattern=snow num-buffers={frames} ! video/x-raw,format=RGB,width={SIDE},height={SIDE} ! fusedpreproc device=cpu"
    line += f" ! trtinfer device=cpu intra-threads=1 model={model} ! gpunms metadata={kind} ! tracker metadata={kind} ! fakesink sync=false"
    process = subprocess.Popen(
        pipeline.command(line.split()),
        env=pipeline.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0 or "WARNING" in output:
        sys.exit(output[-2000:] + "bench: the pipeline failed, see above")
    return usage.ru_utime + usage.ru_stime


def summary(turns: dict[int, list[dict[str, float]]]) -> list[dict]:
    """Microseconds of CPU time a frame with each kind, and how many more than with roi, by the number of objects: medians of the
    rounds."""
    rows = []
    for count, rounds in turns.items():
        row: dict[str, float] = {"objects": count}
        for kind in KINDS:
            row[kind] = 1e6 * statistics.median(turn[kind] for turn in rounds)
            row[f"{kind}_more"] = 1e6 * statistics.median(turn[kind] - turn["roi"] for turn in rounds)
        rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/bench --metadata", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--frames", type=int, default=3000)
    given = parser.parse_args()
    version = VERSION.search(subprocess.run(["gst-launch-1.0", "--version"], check=True, capture_output=True, text=True).stdout)
    assert version is not None, "gst-launch-1.0 does not name its version"
    if tuple(map(int, version[1].split("."))) < (1, 24, 0):
        sys.exit(f"bench: GStreamer {version[1]} has no analytics metadata: run it in the folder of a newer one, by --in FOLDER")
    turns: dict[int, list[dict[str, float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for count in OBJECTS:
            model = Path(folder) / f"{count}.onnx"
            write_model(model, count)
            turns[count] = []
            for number in range(given.rounds):
                order = results.turn(KINDS, number)
                turn = {kind: (run(model, kind, given.frames + 1) - run(model, kind, 1)) / given.frames for kind in order}
                turns[count].append(turn)
                print(
                    f"{count} objects, round {number + 1}: " + ", ".join(f"{kind} {1e6 * turn[kind]:.0f} us" for kind in KINDS),
                    flush=True,
                )
    rows = summary(turns)
    for row in rows:
        print(
            f"{row['objects']:>4} objects: roi {row['roi']:.0f} us a frame, analytics {row['analytics_more']:+.0f} us, both {row['both_more']:+.0f} us"
        )
    results.write(
        "cpu-metadata", {"gstreamer": version[1], "load": os.getloadavg(), "frames": given.frames, "rows": rows, "turns": turns}
    )


if __name__ == "__main__":
    pipeline.start("bench", main)
