"""The demo's pipeline (pipelines/detect-track.launch) without an end: its video is pictures in a circle, at their own speed."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

from cudainfer_tools import pipeline
from cudainfer_tools.repository import ROOT
from cudainfer_tools.soak.process import Watched

# A second of the video.
RATE = 10
PICTURES = 200


def video() -> Path:
    """The demo's video; on a GPU machine that of the bundle, which is the same."""
    videos = [ROOT / ".cache" / "video" / name for name in ("vtest.avi", "vtest-1080p.mp4")]
    return next(path for path in videos if path.is_file())


def pictures(folder: Path, environment: dict[str, str]) -> str:
    """The first pictures of the video as files; returns their names' pattern."""
    cut = f"filesrc location={video()} ! decodebin ! identity eos-after={PICTURES + 1} ! videoconvert ! jpegenc"
    command = ["gst-launch-1.0", "-q", *shlex.split(f"{cut} ! multifilesink location={folder}/%03d.jpg")]
    subprocess.run(command, check=True, env=environment)
    return f"{folder}/%03d.jpg"


def line(pattern: str, folder: Path) -> str:
    """The pipeline with that source, with rotating files of results, and without a video's file, whose index would grow."""
    text = (pipeline.PIPELINES / "detect-track.launch").read_text()
    text = " ".join(row for row in text.splitlines() if not row.startswith("#"))
    source = f"multifilesrc location={pattern} loop=true caps=image/jpeg,framerate={RATE}/1 ! jpegdec"
    results = f"{folder}/demo.jsonl max-size=1000000 max-files=2"
    for old, new in {
        "filesrc location={video} ! decodebin": source,
        "mp4mux ! filesink location={output}": "fakesink sync=true",
        "location={json}": f"location={results}",
        "{model}": str(ROOT / ".cache/models/nanodet.onnx"),
        "{classes}": "person",
    }.items():
        if old not in text:
            raise pipeline.PipelineError(f"pipelines/detect-track.launch has no '{old}' any more: change soak/demo.py with it")
        text = text.replace(old, new)
    return text


def start(folder: Path, environment: dict[str, str]) -> Watched:
    command = ["gst-launch-1.0", "-q", *shlex.split(line(pictures(folder, environment), folder))]
    return Watched("demo", command, folder, environment)
