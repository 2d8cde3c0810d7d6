"""Measures what cudainfer-batch costs besides the frames: many clips against one long video of the same frames, peak memory over
videos of growing length, and the time from the last frame to the closed files.

python3 tools bench.batch [--clips N] [--seconds S] [--longest FRAMES] OUTPUT.json

It runs the program of target/release, or of the folder that CUDAINFER_BUILT names, with a test model, and writes what it measured with
the machine and the kind of build.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import shutil
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


def run(folder: Path, program: Path, out: str, videos: list[Path], jobs: int) -> dict[str, float]:
    """Runs the program over videos. Returns seconds, frames and its peak memory in MB."""
    manifest = folder / f"{out}.txt"
    manifest.write_text("".join(f"{video}\n" for video in videos))
    model = ROOT / ".cache/test-models/detector.onnx"
    command = [str(program / "cudainfer-batch"), "run", "--pipeline", str(folder / "p.launch"), "--set", f"model={model}"]
    command += ["--out", str(folder / out), "--jobs", str(jobs), str(manifest)]
    environment = {**os.environ, "GST_PLUGIN_PATH": str(program)}
    begin = time.monotonic()
    process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - begin
    if process.returncode != 0:
        sys.exit(f"bench.batch: the run over {out} ended with {process.returncode}")
    summaries = [json.loads(path.read_text()) for path in (folder / out).glob("*.summary.json")]
    frames = sum(summary["frames"]["decoded"] for summary in summaries)
    last = max(summary["frames"]["seconds-after-last"] for summary in summaries)
    return {
        "seconds": round(seconds, 3),
        "frames": frames,
        "frames-per-second": round(frames / seconds, 1),
        "peak-mb": round(usage.ru_maxrss / 1000, 1),
        "longest-seconds-after-last-frame": round(last, 4),
    }


def video(path: Path, frames: int) -> None:
    """A small video in H.264."""
    clips.launch(
        f"videotestsrc num-buffers={frames} pattern=ball ! video/x-raw,format=I420,width=64,height=48,framerate={RATE}/1"
        f" ! x264enc speed-preset=ultrafast key-int-max=50 threads=1 ! h264parse ! mp4mux ! filesink location={path}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clips", type=int, default=1000)
    parser.add_argument("--seconds", type=int, default=10, help="length of a clip")
    parser.add_argument("--longest", type=int, default=1_000_000, help="frames of the longest video")
    parser.add_argument("output", type=Path)
    arguments = parser.parse_args()
    program = Path(os.environ.get("CUDAINFER_BUILT", built()))
    with tempfile.TemporaryDirectory(dir=ROOT / "out" if (ROOT / "out").is_dir() else None) as name:
        folder = Path(name)
        (folder / "p.launch").write_text(PIPELINE)
        frames = arguments.seconds * RATE
        video(folder / "clip.mp4", frames)
        many = [folder / f"clip{number:05}.mp4" for number in range(arguments.clips)]
        for clip in many:
            os.link(folder / "clip.mp4", clip)
        video(folder / "long.mp4", frames * arguments.clips)
        measured: dict[str, dict] = {
            "clips": run(folder, program, "clips", many, 2),
            "one long video": run(folder, program, "long", [folder / "long.mp4"], 1),
        }
        length = 10_000
        while length <= arguments.longest:
            video(folder / f"of{length}.mp4", length)
            measured[f"a video of {length} frames"] = run(folder, program, f"of{length}", [folder / f"of{length}.mp4"], 1)
            shutil.rmtree(folder / f"of{length}")
            length *= 10
    ratio = measured["clips"]["frames-per-second"] / measured["one long video"]["frames-per-second"]
    each = (measured["clips"]["seconds"] - measured["one long video"]["seconds"]) / arguments.clips
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    result = {
        "date": time.strftime("%Y-%m-%d"),
        "commit": commit.stdout.strip(),
        "machine": f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores",
        "build": program.name,
        "memory-limit": resource.getrlimit(resource.RLIMIT_AS)[0],
        "clips": arguments.clips,
        "seconds-of-a-clip": arguments.seconds,
        "share-of-one-long-video": round(ratio, 3),
        "more-seconds-a-clip": round(each, 4),
        "runs": measured,
    }
    arguments.output.write_text(json.dumps(result, indent=1) + "\n")
    print(arguments.output.read_text(), end="")


if __name__ == "__main__":
    main()
