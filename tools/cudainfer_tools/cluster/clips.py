"""Clips, broken files and what is wanted of them, for trials of cudainfer-batch."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

# Two results for each video; `pace` is how long a frame takes, in microseconds.
PIPELINE = """# Detects, and writes records and drawn frames
# video=  the video
# model=  the detector
# pace=0  microseconds
# json=./out/x.jsonl  records
# drawn=./out/x.raw  frames
filesrc location={video} ! decodebin ! videoconvert ! video/x-raw,format=RGB ! identity sleep-time={pace}
  ! fusedpreproc ! trtinfer model={model} ! gpunms ! inferpublish location={json} ! inferoverlay ! filesink location={drawn}
"""
BROKEN = ("cut", "empty", "text", "sound")


def make(folder: Path, count: int, broken: int, frames: int = 20) -> list[Path]:
    """`count` files, of which `broken` cannot be decoded; all different."""
    folder.mkdir(parents=True, exist_ok=True)
    clips = []
    for number in range(count):
        clip = folder / f"clip{number:03}.mp4"
        kind = BROKEN[number // (count // broken) % len(BROKEN)] if number % (count // broken) == 0 else None
        if kind == "empty":
            clip.write_bytes(b"")
        elif kind == "text":
            clip.write_text("no video")
        elif kind == "sound":
            launch(f"audiotestsrc num-buffers=20 ! audioconvert ! wavenc ! filesink location={clip}")
        else:
            video(clip, number, frames)
        if kind == "cut":
            clip.write_bytes(clip.read_bytes()[: clip.stat().st_size // 2])
        clips.append(clip)
    return clips


def video(path: Path, number: int, frames: int) -> None:
    """A video in H.264, another one for each number."""
    launch(
        f"videotestsrc num-buffers={frames} pattern=ball foreground-color={0xFFFF0000 + number * 1000}"
        f" ! video/x-raw,format=I420,width={64 + 16 * (number % 3)},height=48,framerate=20/1"
        f" ! x264enc speed-preset=ultrafast key-int-max=10 threads=1 ! h264parse ! mp4mux ! filesink location={path}"
    )


def launch(description: str) -> None:
    subprocess.run(["gst-launch-1.0", "-q", *description.split()], check=True)


def results(folder: Path) -> dict[str, bytes]:
    """The results in a folder: records without times and identifiers, which differ in each run, all else byte for byte."""
    found = {}
    for path in sorted(folder.iterdir()):
        if path.suffix == ".raw":
            found[path.name] = path.read_bytes()
        elif path.suffix == ".jsonl":
            records = [json.loads(line) for line in path.read_text().splitlines()]
            lasting = [{key: value for key, value in record.items() if key not in ("id", "time")} for record in records]
            found[path.name] = json.dumps(lasting).encode()
    return found


def wrong(out: Path, serial: Path, last_log: str, count: int, broken: int) -> list[str]:
    """What is wrong in a folder after a trial: sentences. `last_log` is of a run over all `count` clips that came after it."""
    found = []
    good = count - broken
    if f"{good} of {count} videos complete ({good} of them before), {broken} failed" not in last_log:
        found.append("the last run has found something to do")
    if results(out) != results(serial):
        found.append("results differ from those of the serial run")
    if errors(out).keys() != errors(serial).keys():
        found.append("other videos have failed than in the serial run")
    if left := [path.name for path in out.iterdir() if path.name.startswith(".")]:
        found.append(f"hidden files are left: {left}")
    return found


def errors(folder: Path) -> dict[str, str]:
    """The sentences of the videos that have failed."""
    return {path.name: json.loads(path.read_text())["error"] for path in sorted(folder.glob("*.error.json"))}
