"""Networks as papers report them: one frame a run, eight frames of eight streams a run, and INT8; each one a profile.

Started by scripts/profile --networks FOLDER ELEMENT=MODEL.onnx..., where ELEMENT reads the network's outputs. Of MODEL.onnx
come MODEL-batch8.onnx, or MODEL.onnx itself if its batch is open, and MODEL-int8.onnx, which scripts/quantize makes;
what is not there is left out, with a line that reports it. scripts/report makes one table of the folders.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from cudainfer_tools import pipeline
from cudainfer_tools.gpu import clip
from cudainfer_tools.profile import launch, summary

STREAMS = 8
SECONDS = 6.0


def forms(model: Path) -> dict[str, tuple[Path, int]]:
    """The runs of a network: a name, the file, and the streams, which are also the frames of a run."""
    if not model.is_file():
        raise pipeline.PipelineError(f"there is no file '{model}'. Name an ONNX file")
    several = model.with_name(f"{model.stem}-batch{STREAMS}.onnx")
    found = {
        "single": (model, 1),
        f"batch{STREAMS}": (several if several.is_file() else model, STREAMS),
        "int8": (model.with_name(f"{model.stem}-int8.onnx"), 1),
    }
    for name, (file, _) in found.items():
        if not file.is_file():
            print(f"profile: {model.stem}-{name} is left out: there is no '{file}'", file=sys.stderr)
    return {name: form for name, form in found.items() if form[0].is_file()}


def line(decoder: str, model: Path, streams: int, downstream: str) -> list[str]:
    """The pipeline's words: `streams` times the same, on one instance."""
    together = ["instance=shared", f"batch-size={streams}"] if streams > 1 else []
    stream = [
        "multifilesrc",
        f"location={clip.LOOP_FILES}",
        "loop=true",
        "!",
        "h264parse",
        "!",
        decoder,
        "!",
        "queue",
        "!",
        "fusedpreproc",
        "!",
        "trtinfer",
        f"model={model}",
        "warm-up=complete",
        *together,
        "!",
        downstream,
        "!",
        "fakesink",
        "sync=false",
    ]
    return stream * streams


def decoder() -> str:
    """NVDEC where it works, else whatever the CPU decodes with."""
    for name in ("nvh264dec", "avdec_h264", "openh264dec"):
        if subprocess.run(["gst-inspect-1.0", "--exists", name], check=False).returncode == 0:
            return name
    raise pipeline.PipelineError("there is no decoder for H.264: install gstreamer1.0-libav")


def run(folder: Path, networks: dict[str, Path], seconds: float | None) -> None:
    """Profiles each form of each network into a folder of its own."""
    clip.make(clip.LOOP)
    by = decoder()
    for downstream, model in networks.items():
        for name, (file, streams) in forms(model).items():
            place = folder / f"{model.stem}-{name}"
            place.mkdir()
            if launch.launch(line(by, file, streams, downstream), place, seconds or SECONDS) != 0:
                print(f"profile: {place.name} failed: {launch.failure(place) or place / 'log.txt'}", file=sys.stderr)
                continue
            profile = summary.read(place)
            summary.write(profile)
            print(f"{place.name:<24} {profile.facts.rate:>8.1f} frames a second; {profile.bound.kind}", flush=True)
