"""The videos that both sides label: one that is short, and one with copies of it, long enough that start-up does not decide."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from cudainfer_tools import pipeline

# Without B-frames, so that copies follow each other without a gap.
ENCODE = "videoconvert ! video/x-raw,format=I420 ! x264enc pass=quant quantizer=18 bframes=0 ! h264parse ! mp4mux"


def cut(video: Path, frames: int, to: Path) -> None:
    """The first frames of a video, in grey; all, as they are in the file, with 0."""
    if not frames:
        shutil.copyfile(video, to)
        return
    # It needs numpy, which the Python of a bundle may not load beside GStreamer's libraries.
    from cudainfer_tools.evaluate.pose import decode

    raw = to.with_suffix(".gray")
    (width, height), _ = decode(video, raw, "GRAY8", 1)
    line = ["filesrc", f"location={raw}", f"blocksize={width * height}", f"num-buffers={frames}", "!", "rawvideoparse"]
    line += ["format=gray8", f"width={width}", f"height={height}", "framerate=15/1", "!", *ENCODE.split()]
    pipeline.run([*line, "!", "filesink", f"location={to}"])
    raw.unlink()


def repeat(video: Path, copies: int, to: Path) -> None:
    """Copies of a video in MP4, one after the other, without encoding it again."""
    line = ["concat", "name=joined", "!", "h264parse", "!", "mp4mux", "!", "filesink", f"location={to}"]
    for _ in range(copies):
        line += ["filesrc", f"location={video}", "!", "qtdemux", "!", "h264parse", "!", "joined."]
    pipeline.run(line)


def names(video: Path, files: int) -> list[Path]:
    """Other names of a video, as cudainfer-batch refuses two of one name."""
    found = [video.with_name(f"{video.stem}-{number}{video.suffix}") for number in range(files)]
    for name in found:
        name.unlink(missing_ok=True)
        os.link(video, name)
    return found
