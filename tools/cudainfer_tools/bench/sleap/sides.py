"""What is compared: the commands that label a video, of sleap-nn and ours, and what each has found."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cudainfer_tools import pipeline
from cudainfer_tools.repository import ROOT

# By type of model: the folders of its checkpoints, of which a top-down one has two, and of its export.
MODELS = {
    "single_instance": (("single_instance",), "single_instance"),
    "bottomup": (("bottomup",), "bottomup"),
    "topdown": (("centroid", "centered_instance"), "topdown"),
}
# Decoders of the GPU: all sides decode on the CPU, but one.
ON_GPU = "nvh264dec:NONE,nvh264sldec:NONE"
PYTORCH, ONNX = "sleap-nn, PyTorch", "sleap-nn, ONNX"
# PyTorch's threads spin where they wait for each other, and lose most of their time where another process has a core meanwhile.
PASSIVE = {"OMP_WAIT_POLICY": "PASSIVE"}
COMPLETE = re.compile(r"Inference complete \| frames=(\d+) \| instances=(\d+) ")
# What ONNX Runtime says before it goes on with the CPU.
FELL_BACK = re.compile(r"Failed to create CUDAExecutionProvider")


@dataclass(frozen=True)
class Found:
    """What a run has made: a check that both sides do the same work."""

    frames: int
    instances: int


@dataclass(frozen=True)
class Side:
    """A way to label videos. `command` is of the videos, of frames in a batch and of the folder for results; `found` reads that folder
    and what the command has printed."""

    who: str
    command: Callable[[list[Path], int, Path], list[str]]
    found: Callable[[Path, str], Found]
    environment: dict[str, str]
    # Starts in so short a time that the long video serves to choose the batch; with the short one, start-up would decide.
    starts_fast: bool = False
    files: int = 1


def of_sleap(python: Path, device: str) -> Callable[..., Side]:
    """Makes sides of `sleap-nn predict`: of the folders of checkpoints, or of an export."""

    def command(videos: list[Path], batch: int, out: Path, models: list[Path], runtime: list[str]) -> list[str]:
        words = [str(python), "-c", "from sleap_nn.cli import cli; cli()", "predict", "--data_path", str(videos[0])]
        words += [word for model in models for word in ("--model_paths", str(model))]
        return [*words, *runtime, "--device", device, "--batch_size", str(batch), "--output_path", str(out / "labels.slp")]

    def found(out: Path, log: str) -> Found:
        said = COMPLETE.search(log)
        if not said or not (out / "labels.slp").is_file():
            raise pipeline.PipelineError("sleap-nn has not said how many frames and instances there are, or has written no labels")
        return Found(int(said[1]), int(said[2]))

    # As outside a bundle, whose libraries are GStreamer's.
    own = os.environ.get("CUDAINFER_HOST_LIBRARIES", os.environ.get("LD_LIBRARY_PATH", ""))
    environment = {**os.environ, "LD_LIBRARY_PATH": own, "COLUMNS": "400"}

    def side(models: list[Path], who: str, more: dict[str, str] | None = None) -> Side:
        runtime = ["--runtime", "onnx"] if who == ONNX else []
        return Side(who, lambda videos, batch, out: command(videos, batch, out, models, runtime), found, environment | (more or {}))

    return side


def labelled(out: Path, _: str = "") -> Found:
    """Of all tables that inferpublish has written into a folder."""
    tables = sorted(out.glob("*.csv"))
    if not tables:
        raise pipeline.PipelineError("there is no table of labels")
    frames = 0
    for table in tables:
        frames += json.loads(table.with_suffix(".json").read_text())["videos"][0]["backend_metadata"]["shape"][0]
    rows = 0
    for table in tables:
        with table.open() as file:
            rows += sum(1 for _ in file) - 1
    return Found(frames, rows)


def settings(batch: int, device: str) -> dict[str, str]:
    """trtinfer's. By default it would go on with the CPU where the GPU cannot be used."""
    return {"batch-size": str(batch), "device": device, "provider": device}


def line(videos: list[Path], out: Path, models: list[Path], of_network: dict[str, str]) -> list[str]:
    """The pipeline of docs/pose.md, without a tracker, as sleap-nn has none by default."""
    words = ["filesrc", f"location={videos[0]}", "!", "decodebin", "!", "videoconvert", "!", "cudainferupload"]
    for number, model in enumerate(models):
        words += ["!", "fusedpreproc", *(["roi=objects"] if number else [])]
        words += ["!", "trtinfer", f"model={model}", *(f"{name}={value}" for name, value in of_network.items())]
        words += ["!", "peakfind"]
    words += ["!", "inferpublish", "format=sleap", f"location={out / 'labels.csv'}", "!", "fakesink"]
    return pipeline.command(words, "-q")


def many(videos: list[Path], batch: int, out: Path, models: list[Path], device: str) -> list[str]:
    """cudainfer-batch with the pipelines of labels, which have a tracker."""
    name = "labels-topdown" if len(models) > 1 else "labels-bottomup"
    words = [str(Path(os.environ.get("CUDAINFER_BUILT", pipeline.built())) / "cudainfer-batch"), "run"]
    words += ["--pipeline", str(ROOT / "pipelines" / f"{name}.launch"), "--out", str(out), "--jobs", str(len(videos))]
    if len(models) > 1:
        words += ["--set", f"detector={models[0]}", "--set", "finder=peakfind", "--set", "classes="]
    words += ["--set", f"model={models[-1]}"]
    words += [word for name, value in settings(batch, device).items() for word in ("--override", f"trtinfer.{name}={value}")]
    return [*words, *map(str, videos)]


def sides(kind: str, folders: dict[str, Path], python: Path, device: str, files: int) -> list[Side]:
    """All that label with a type of model, sleap-nn first. `folders` are those of checkpoints, exports and networks, which are what
    scripts/export has made of the checkpoints."""
    names, export = MODELS[kind]
    checkpoints, exported = [folders["checkpoints"] / name for name in names], [folders["exports"] / export]
    networks = {
        precision: [folders["networks"] / name / file for name in names]
        for precision, file in (("float32", "model.onnx"), ("float16", "model_fp16.onnx"))
    }
    theirs = of_sleap(python, device)
    everywhere = pipeline.environment() | ({"CUDA_VISIBLE_DEVICES": ""} if device == "cpu" else {})
    environment = everywhere | {"GST_PLUGIN_FEATURE_RANK": ON_GPU}

    def ours(who: str, models: list[Path], environment: dict[str, str] = environment, **more: str) -> Side:
        def command(videos: list[Path], batch: int, out: Path) -> list[str]:
            return line(videos, out, models, settings(batch, device) | more)

        return Side(who, command, labelled, environment, starts_fast=True)

    def ours_of(models: list[Path]) -> Side:
        who = f"cudainfer-batch, {files} files at a time, float32"
        return Side(who, lambda videos, batch, out: many(videos, batch, out, models, device), labelled, environment, True, files)

    # As ONNX Runtime does in sleap-nn's process; and as a user's pipeline does.
    rounded = ours("cudainfer, sleap-nn's export, TF32", exported, precision="tf32")
    decoded = ours("cudainfer, float32, decoded on the GPU", networks["float32"], everywhere)
    of_gpu = [rounded, decoded] if device == "cuda" else []
    passive = [theirs(checkpoints, f"{PYTORCH}, OMP_WAIT_POLICY=PASSIVE", PASSIVE)] if device == "cpu" else []
    return [
        theirs(checkpoints, PYTORCH),
        *passive,
        theirs(exported, ONNX),
        ours("cudainfer, sleap-nn's export", exported),
        *of_gpu,
        *(ours(f"cudainfer, {precision}", models) for precision, models in networks.items()),
        ours_of(networks["float32"]),
    ]
