"""Measures what a scene costs in which nothing moves (motion=gate of fusedpreproc): NanoDet and tracker on the CPU. Started by
scripts/evaluate motion.

    python3 tools evaluate.motion [--video VIDEO] [--frames N]

The busy scene is the video. The empty one is what all its frames have in common, the median of each pixel, with noise of two gray levels that is
another one in each frame. Both become H.264 files of as many frames, which the pipeline decodes as it would a camera's stream; decoding alone
has a row. The figures are the processor's time of the whole process for a frame, from the frames after the first ones, so that loading the
model does not count; they go to benches/results/motion.json.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
from pathlib import Path

import numpy as np

from cudainfer_tools import machine, pipeline
from cudainfer_tools.evaluate.tracks import tracking_line
from cudainfer_tools.repository import ROOT

RESULTS = ROOT / "benches/results/motion.json"
VIDEO = ROOT / ".cache/video/vtest.avi"
# Of the video, for the median.
EVERY = 10
NOISE = 2.0
# Frames of the run whose time is taken off.
FIRST = 25
# The row of what is not ours.
DECODED = "decoded"


def size(video: Path) -> tuple[int, int, str]:
    """A video's width, height and frame rate."""
    line = ["filesrc", f"location={video}", "!", "decodebin", "!", "videoconvert", "!", "identity", "eos-after=1", "!", "fakesink"]
    caps = next(part for part in pipeline.run(line, "-v").splitlines() if "video/x-raw" in part and "width=" in part)
    field = {name: caps.partition(f"{name}=")[2].partition(",")[0].rpartition(")")[2] for name in ("width", "height", "framerate")}
    return int(field["width"]), int(field["height"]), field["framerate"]


def empty_scene(video: Path, frames: int, encoded: Path) -> None:
    """Writes the video's median picture with noise as H.264."""
    width, height, rate = size(video)
    raw = encoded.with_suffix(".raw")
    caps = f"video/x-raw,format=GRAY8,width={width},height={height}"
    pipeline.run(
        ["filesrc", f"location={video}", "!", "decodebin", "!", "videoconvert", "!", caps, "!", "filesink", f"location={raw}"]
    )
    # GStreamer pads rows to four bytes.
    row = (width + 3) // 4 * 4
    pictures = np.memmap(raw, np.uint8, "r").reshape(-1, height, row)[::EVERY, :, :width]
    median = np.median(pictures, axis=0)
    chance = np.random.default_rng(1)
    with raw.open("wb") as out:
        for _ in range(frames):
            picture = np.clip(np.rint(median + chance.normal(0, NOISE, median.shape)), 0, 255).astype(np.uint8)
            out.write(np.pad(picture, ((0, 0), (0, row - width))).tobytes())
    parse = f"rawvideoparse width={width} height={height} format=gray8 framerate={rate}"
    encode(["filesrc", f"location={raw}", "!", *parse.split()], encoded)
    raw.unlink()


def encode(source: list[str], encoded: Path) -> None:
    line = [*source, "!", "videoconvert", "!", "video/x-raw,format=I420", "!", "x264enc", "speed-preset=veryfast", "bitrate=4000"]
    pipeline.run([*line, "!", "mp4mux", "!", "filesink", f"location={encoded}"])


def processor_seconds(video: Path, frames: int, motion: str, results: Path) -> float:
    """The processor's time for the first frames of a video; where motion is "decoded", without what comes after decoding."""
    results.unlink(missing_ok=True)
    line = tracking_line(video, results, "")
    decoded = line.index("fusedpreproc")
    rest = ["fakesink"] if motion == DECODED else [line[decoded], f"motion={motion}", *line[decoded + 1 :]]
    line = [*line[:decoded], "identity", f"eos-after={frames}", "!", *rest]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    pipeline.run(line)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/evaluate motion", description=__doc__.splitlines()[0])
    parser.add_argument("--video", type=Path, default=VIDEO)
    parser.add_argument("--frames", type=int, default=500)
    parser.add_argument("--results", type=Path, default=RESULTS)
    given = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        scenes = {scene: folder / f"{scene}.mp4" for scene in ("busy", "empty")}
        encode(["filesrc", f"location={given.video}", "!", "decodebin"], scenes["busy"])
        empty_scene(given.video, given.frames + 1, scenes["empty"])
        for scene, video in scenes.items():
            for motion in (DECODED, "ignore", "gate"):
                start = processor_seconds(video, FIRST, motion, folder / "objects.jsonl")
                whole = processor_seconds(video, given.frames, motion, folder / "objects.jsonl")
                frames = given.frames - FIRST
                cpu_ms = 1e3 * (whole - start) / frames
                rows.append({"scene": scene, "motion": motion, "frames": frames, "cpu_ms_per_frame": round(cpu_ms, 3)})
                print(scene, motion, f"{cpu_ms:.2f} ms of processor time a frame", flush=True)
    of = {"commit": machine.commit(), "processor": machine.processor(), "video": given.video.name}
    given.results.write_text(json.dumps([row | of for row in rows], indent=1) + "\n")
    print(given.results)


if __name__ == "__main__":
    main()
