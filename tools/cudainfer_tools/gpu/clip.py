"""Makes clips in H.264, which GPUs decode, of vtest.avi. Used by scripts/gpu-bundle and scripts/profile."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from cudainfer_tools.repository import ROOT

CACHE = ROOT / ".cache" / "video"
# At 1920x1080, twice in a row: 1590 frames in MP4.
CLIP = CACHE / "vtest-1080p.mp4"
# As it is, 768x576, 795 frames of a byte stream, each in a file of its own: multifilesrc repeats them without end, and pushes
# each as one buffer, so that an end of the stream waits for one of them only.
LOOP = CACHE / "vtest-h264"
LOOP_FILES = LOOP / "%03d.h264"

ENCODE = "x264enc pass=quant quantizer=24 speed-preset=veryfast ! video/x-h264,profile=high ! h264parse !"
WAYS = {
    CLIP: (
        2,
        f"videoscale ! video/x-raw,format=I420,width=1920,height=1080,pixel-aspect-ratio=1/1 ! {ENCODE} "
        "mp4mux ! filesink location={}",
    ),
    LOOP: (
        1,
        f"video/x-raw,format=I420 ! {ENCODE} "
        "video/x-h264,stream-format=byte-stream,alignment=au ! multifilesink location={}/%03d.h264",
    ),
}


def make(clip: Path = CLIP) -> Path:
    """The clip's path, a file or a folder; it is made where it is missing."""
    if clip.exists():
        return clip
    times, way = WAYS[clip]
    part, source = clip.with_suffix(".part"), CACHE / "vtest.avi"
    if clip == LOOP:
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir()
    words = ["concat", "name=joined", "!", "videoconvert", "!", *(word.format(part) for word in way.split())]
    words += times * ["filesrc", f"location={source}", "!", "decodebin", "!", "joined."]
    subprocess.run(["gst-launch-1.0", "-q", *words], check=True)
    part.rename(clip)
    return clip


if __name__ == "__main__":
    for each in WAYS:
        make(each)
