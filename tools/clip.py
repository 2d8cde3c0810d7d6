"""Makes the clip in H.264 that GPUs decode: vtest.avi at 1920x1080, twice in a row, 1590 frames in MP4. Used by
scripts/gpu-bundle and scripts/profile --scenarios."""

from __future__ import annotations

import subprocess
from pathlib import Path

CACHE = Path(__file__).resolve().parent.parent / ".cache" / "video"
CLIP = CACHE / "vtest-1080p.mp4"


def make() -> Path:
    """The clip's path; it is made where it is missing."""
    if CLIP.is_file():
        return CLIP
    part, source = CLIP.with_suffix(".part"), CACHE / "vtest.avi"
    line = (
        "concat name=twice ! videoconvert ! videoscale ! video/x-raw,format=I420,width=1920,height=1080,pixel-aspect-ratio=1/1 "
        "! x264enc pass=quant quantizer=24 speed-preset=veryfast ! video/x-h264,profile=high ! h264parse "
        "! mp4mux ! filesink"
    )
    words = [*line.split(), f"location={part}", *2 * ["filesrc", f"location={source}", "!", "decodebin", "!", "twice."]]
    subprocess.run(["gst-launch-1.0", "-q", *words], check=True)
    part.rename(CLIP)
    return CLIP


if __name__ == "__main__":
    make()
