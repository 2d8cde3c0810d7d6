"""Quantises a detector and compares it with the float32 one. Started by scripts/quantize.

Weights are INT8 by channel, activations INT8 by tensor and symmetric, as TensorRT wants them. What follows the last
convolutions, and these themselves, stays in float32: boxes and scores would be rounded to 255 steps there. The ranges of
activations leave out the outermost values (PERCENTILE): on NanoDet and vtest.avi that gave the best F1 of minimum and
maximum, entropy and other percentiles.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import logging
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnxruntime import quantization

from cudainfer_tools import pipeline
from cudainfer_tools.models import agreement
from cudainfer_tools.repository import ROOT

PERCENTILE = 99.999
WEIGHTED = {"Conv", "ConvTranspose", "Gemm", "MatMul"}
TIMED_RUNS = 30


class Calibration(quantization.CalibrationDataReader):
    """The tensors of `files`, read one at a time."""

    def __init__(self, files: list[Path], name: str, dims: list[int]):
        self.files, self.name, self.dims = files, name, dims
        self.feeds = self.read(files)

    def read(self, files: list[Path]) -> Iterator[dict[str, np.ndarray]]:
        return ({self.name: np.fromfile(file, np.float32).reshape(self.dims)} for file in files)

    def get_next(self) -> dict[str, np.ndarray] | None:
        return next(self.feeds, None)

    def set_range(self, start_index: int, end_index: int) -> None:
        self.feeds = self.read(self.files[start_index:end_index])

    def __len__(self) -> int:
        return len(self.files)


def check(model: Path) -> None:
    """Refuses what cannot be quantised."""
    try:
        graph = onnx.load(model, load_external_data=False).graph
    except Exception as error:  # protobuf's own, which is no ValueError
        raise pipeline.PipelineError(f"'{model}' is no ONNX model: {error}") from error
    constants = {tensor.name for tensor in graph.initializer}
    inputs = [given.name for given in graph.input if given.name not in constants]
    if len(inputs) != 1:
        raise pipeline.PipelineError(f"'{model}' has the inputs {', '.join(inputs)}: only models of one can be quantised")
    if any(node.op_type in ("QuantizeLinear", "DequantizeLinear") for node in graph.node):
        raise pipeline.PipelineError(f"'{model}' is quantised already: give the float32 model that it was made from")


def head(graph: onnx.GraphProto) -> list[str]:
    """Names of the nodes between the outputs and the last convolutions (or products) before them, with those."""
    makes = {output: node for node in graph.node for output in node.output}
    found, ahead = set(), [output.name for output in graph.output]
    while ahead:
        node = makes.get(ahead.pop())
        if node is not None and node.name not in found:
            found.add(node.name)
            ahead += [] if node.op_type in WEIGHTED else node.input
    return sorted(found)


def tensors(model: Path, video: Path, frames: int, folder: Path) -> Calibration:
    """What fusedpreproc makes of `frames` frames of the video."""
    program = pipeline.built() / "examples" / "tensors"
    command = [str(program), str(video), str(model), str(frames), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise pipeline.PipelineError(done.stderr.strip())
    tensor = json.loads(done.stdout)
    if tensor["type"] != "float32":
        kind = tensor["type"]
        raise pipeline.PipelineError(f"'{model}' takes {kind}: give the float32 model that it was made from")
    files = sorted(folder.glob("*.raw"))
    chosen = sorted({round(n) for n in np.linspace(0, len(files) - 1, frames)})
    return Calibration([files[n] for n in chosen], tensor["name"], tensor["dims"])


def quantize(model: Path, feeds: Calibration, output: Path, folder: Path) -> None:
    """Writes the INT8 model."""
    logging.getLogger().setLevel(logging.ERROR)  # the quantiser advises what is done here
    prepared = folder / "prepared.onnx"
    try:
        # Folds constants and batch normalisation, and infers the shapes.
        quantization.quant_pre_process(model, prepared, skip_symbolic_shape=True)
        with contextlib.redirect_stdout(io.StringIO()):  # it prints a line a frame
            quantization.quantize_static(
                prepared,
                output,
                feeds,
                quant_format=quantization.QuantFormat.QDQ,
                per_channel=True,
                calibrate_method=quantization.CalibrationMethod.Percentile,
                nodes_to_exclude=head(onnx.load(prepared).graph),
                # A stride of one keeps the activations of one frame in memory, not of all.
                extra_options={"ActivationSymmetric": True, "CalibPercentile": PERCENTILE, "CalibStridedMinMax": 1},
            )
    except Exception as error:  # whatever the quantiser trips over
        raise pipeline.PipelineError(f"ONNX Runtime cannot quantise '{model}': {error}") from error
    if (sidecar := model.with_suffix(".toml")).is_file():
        shutil.copyfile(sidecar, output.with_suffix(".toml"))


def milliseconds(models: list[Path], feeds: Calibration) -> list[float]:
    """Median time of an inference on this machine's CPU, run in turns on one of the tensors."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = len(os.sched_getaffinity(0))
    sessions = [onnxruntime.InferenceSession(str(model), options, ["CPUExecutionProvider"]) for model in models]
    feed = next(feeds.read(feeds.files[:1]))
    times: list[list[float]] = [[] for _ in models]
    for turn in range(TIMED_RUNS + 1):
        for session, spent in zip(sessions, times, strict=True):
            start = time.perf_counter()
            session.run(None, feed)
            if turn:  # the first warms up
                spent.append(time.perf_counter() - start)
    return [1e3 * statistics.median(spent) for spent in times]


def agree(name: str, frames: int, reported: agreement.Agreement) -> list[str]:
    """The lines of a report that compare the objects of `name` with those of float32."""
    return [
        f"{f'objects in {frames} frames':<34}{reported.true:>10}{reported.found:>10}",
        f"{name} against float32's boxes, at an IoU of {agreement.SAME_IOU}:",
        f"{'  precision, recall, F1':<34}{reported.precision:>10.3f}{reported.recall:>10.3f}{reported.f1:>10.3f}",
        f"{'  mean IoU of the pairs':<34}{reported.mean_iou:>10.3f}",
        f"{'  confidence: change, absolute':<34}{reported.mean_change:>+10.3f}{reported.mean_absolute_change:>10.3f}",
    ]


def report(models: list[Path], times: list[float], frames: int, reported: agreement.Agreement) -> str:
    sizes = [model.stat().st_size / 1e6 for model in models]
    return "\n".join(
        [
            f"{'':<34}{'float32':>10}{'int8':>10}",
            f"{'size of the file, MB':<34}{sizes[0]:>10.1f}{sizes[1]:>10.1f}",
            f"{'an inference on this CPU, ms':<34}{times[0]:>10.1f}{times[1]:>10.1f}",
            *agree("int8", frames, reported),
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/quantize", description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("video", type=Path)
    parser.add_argument("--frames", type=int, default=64, metavar="N", help="to calibrate with (default: 64)")
    parser.add_argument(
        "--compare", type=int, default=1000, metavar="N", help="to compare on (default: 1000); 0 for what detects nothing"
    )
    parser.add_argument("--output", type=Path, metavar="FILE", help="default: MODEL-int8.onnx")
    parser.add_argument("--float16", action="store_true", help="compare precision=float16 instead, which needs no file")
    given = parser.parse_args()
    output = given.output or given.model.with_name(f"{given.model.stem}-int8.onnx")
    for file in (given.model, given.video):
        if not file.is_file():
            raise pipeline.PipelineError(f"there is no file '{file}'")
    if given.frames < 1 or given.compare < 0:
        raise pipeline.PipelineError("--frames wants a number from 1 on, --compare one from 0 on")
    if output.resolve() == given.model.resolve():
        raise pipeline.PipelineError(f"--output is the model itself, '{output}': name another file")
    if given.float16 and (given.output or not given.compare):
        raise pipeline.PipelineError("--float16 only compares: leave out --output and --compare 0")
    if not given.float16:
        check(given.model)
    results = ROOT / "out" / "quantize"
    results.mkdir(parents=True, exist_ok=True)

    truth: list[list[dict]] = []
    if given.compare:
        print("float32: detecting", flush=True)
        truth = agreement.detect(given.model, given.video, given.compare, results / "float32.jsonl")
        if not any(truth):
            raise pipeline.PipelineError(f"the float32 model finds nothing in '{given.video}': give a video with its objects")
    if given.float16:
        print("float16: detecting", flush=True)
        found = agreement.detect(given.model, given.video, given.compare, results / "float16.jsonl", "precision=float16")
        print(f"{'':<34}{'float32':>10}{'float16':>10}")
        print("\n".join(agree("float16", len(truth), agreement.agreement(truth, found))))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        feeds = tensors(given.model, given.video, given.frames, folder)
        print(f"int8: calibrating with {len(feeds)} frames", flush=True)
        quantize(given.model, feeds, output, folder)
        if not given.compare:
            print(f"{output}: not compared with float32", flush=True)
            return
        print("int8: detecting", flush=True)
        found = agreement.detect(output, given.video, given.compare, results / "int8.jsonl")
        models = [given.model, output]
        times = milliseconds(models, feeds)
    print(report(models, times, len(truth), agreement.agreement(truth, found)))
    print(output)


if __name__ == "__main__":
    try:
        main()
    except pipeline.PipelineError as error:
        sys.exit(f"quantize: {error}")
