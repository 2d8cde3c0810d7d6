"""Measures what cudainfer-batch costs besides the frames: many clips against one long video of the same frames, peak memory over
videos of growing length, and the time from the last frame to the closed files.

python3 tools bench.batch [--clips N] [--seconds S] [--longest FRAMES] [--real-clips N] OUTPUT.json

It runs the program of target/release, or of the folder that CUDAINFER_BUILT names, and writes what it measured with the machine and the
kind of build. Frames of 64x48 pixels and a test's detector cost almost nothing, so that all else shows; with --real-clips,
clips of 640x480 pixels and NanoDet are compared as well. Each length is measured in Matroska and in MP4, whose demuxer keeps a table of all frames:
its memory without cudainfer is measured beside.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from cudainfer_tools.cluster import clips
from cudainfer_tools.pipeline import built
from cudainfer_tools.repository import ROOT

PIPELINE = """# Detects, and writes records
# video=  the video
# model=  the detector
# json=./out/x.jsonl  records
filesrc location={video} ! decodebin ! videoconvert ! fusedpreproc ! trtinfer model={model} ! gpunms
  ! inferpublish location={json} ! fakesink
"""
RATE = 25
CHEAPEST = ROOT / ".cache/test-models/detector.onnx"


def peak_mb(command: list[str], environment: dict[str, str]) -> float:
    """Runs a command to its end. Returns its peak memory in MB."""
    process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"bench.batch: {' '.join(command)} ended with {process.returncode}")
    return round(usage.ru_maxrss / 1000, 1)


def run(folder: Path, program: Path, out: str, videos: list[Path], model: Path = CHEAPEST) -> dict[str, float]:
    """Runs the program over videos, as many at a time as it does by default. Returns seconds, frames and its peak memory in MB."""
    manifest = folder / f"{out}.txt"
    manifest.write_text("".join(f"{video}\n" for video in videos))
    command = [str(program / "cudainfer-batch"), "run", "--pipeline", str(folder / "p.launch"), "--set", f"model={model}"]
    command += ["--out", str(folder / out), str(manifest)]
    begin = time.monotonic()
    peak = peak_mb(command, {**os.environ, "GST_PLUGIN_PATH": str(program)})
    seconds = time.monotonic() - begin
    summaries = [json.loads(path.read_text()) for path in (folder / out).glob("*.summary.json")]
    frames = sum(summary["frames"]["decoded"] for summary in summaries)
    last = max(summary["frames"]["seconds-after-last"] for summary in summaries)
    return {
        "seconds": round(seconds, 3),
        "frames": frames,
        "frames-per-second": round(frames / seconds, 1),
        "peak-mb": peak,
        "longest-seconds-after-last-frame": round(last, 4),
    }


def video(path: Path, frames: int, size: tuple[int, int] = (64, 48)) -> None:
    """A video in H.264."""
    width, height = size
    clips.launch(
        f"videotestsrc num-buffers={frames} pattern=ball"
        f" ! video/x-raw,format=I420,width={width},height={height},framerate={RATE}/1"
        f" ! x264enc speed-preset=ultrafast key-int-max=50 threads=1 ! h264parse ! mp4mux ! filesink location={path}"
    )


def compare(folder: Path, program: Path, count: int, frames: int, size: tuple[int, int], model: Path) -> dict:
    """Many clips against one long video of the same frames."""
    name = f"{model.stem} {size[0]}x{size[1]}"
    video(folder / "clip.mp4", frames, size)
    many = [folder / f"clip{number:05}.mp4" for number in range(count)]
    for clip in many:
        os.link(folder / "clip.mp4", clip)
    video(folder / "long.mp4", frames * count, size)
    short = run(folder, program, f"clips of {name}", many, model)
    long = run(folder, program, f"long {name}", [folder / "long.mp4"], model)
    for path in [*folder.glob("clip*.mp4"), folder / "long.mp4"]:
        path.unlink()
    return {
        "count": count,
        "model": model.name,
        "pixels": f"{size[0]}x{size[1]}",
        "clips": short,
        "one long video": long,
        "share-of-one-long-video": round(short["frames-per-second"] / long["frames-per-second"], 3),
        "more-seconds-a-clip": round((short["seconds"] - long["seconds"]) / count, 4),
    }


def lengths(folder: Path, program: Path, longest: int) -> dict[str, dict]:
    """Memory and time over videos of growing length."""
    measured: dict[str, dict] = {}
    frames = 10_000
    while frames <= longest:
        mp4, matroska = folder / "video.mp4", folder / "video.mkv"
        video(mp4, frames)
        clips.launch(f"filesrc location={mp4} ! qtdemux ! h264parse ! matroskamux ! filesink location={matroska}")
        found: dict = {"matroska": run(folder, program, f"{frames} mkv", [matroska])}
        found["mp4"] = run(folder, program, f"{frames} mp4", [mp4])
        alone = ["gst-launch-1.0", "-q", "filesrc", f"location={mp4}", "!", "qtdemux", "!", "fakesink"]
        found["peak-mb-of-the-mp4-demuxer-alone"] = peak_mb(alone, dict(os.environ))
        measured[f"{frames} frames"] = found
        frames *= 10
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clips", type=int, default=1000)
    parser.add_argument("--seconds", type=int, default=10, help="length of a clip")
    parser.add_argument("--real-clips", type=int, default=0, help="how many of them with NanoDet")
    parser.add_argument("--longest", type=int, default=1_000_000, help="frames of the longest video")
    parser.add_argument("output", type=Path)
    arguments = parser.parse_args()
    program = Path(os.environ.get("CUDAINFER_BUILT", built()))
    with tempfile.TemporaryDirectory(dir=ROOT / "out" if (ROOT / "out").is_dir() else None) as name:
        folder = Path(name)
        (folder / "p.launch").write_text(PIPELINE)
        kinds = [(arguments.clips, (64, 48), CHEAPEST), (arguments.real_clips, (640, 480), ROOT / ".cache/models/nanodet.onnx")]
        frames = arguments.seconds * RATE
        compared = [compare(folder, program, count, frames, size, model) for count, size, model in kinds if count]
        measured = lengths(folder, program, arguments.longest)
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    result = {
        "date": time.strftime("%Y-%m-%d"),
        "commit": commit.stdout.strip(),
        "machine": f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores",
        "build": program.name,
        "memory-limit": resource.getrlimit(resource.RLIMIT_AS)[0],
        "seconds-of-a-clip": arguments.seconds,
        "clips-against-one-long-video": compared,
        "lengths": measured,
    }
    arguments.output.write_text(json.dumps(result, indent=1) + "\n")
    print(arguments.output.read_text(), end="")


if __name__ == "__main__":
    main()
