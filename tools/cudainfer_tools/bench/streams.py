"""Times several files through one shared model against the bare session loop, in turns. Part of scripts/bench."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess

from cudainfer_tools import pipeline, repository
from cudainfer_tools.bench import serving

SECONDS = 5.0
# Of the bare loop, with four streams.
GOAL = {"streams": 4, "share": 0.95}
DOWNSTREAM = "gpunms classes=person ! tracker ! fakesink sync=false"


def decoding(video: str) -> list[str]:
    """The words of a line that decodes."""
    return ["filesrc", f"location={video}", "!", "decodebin", "!", "videoconvert"]


def frame_bytes(video: str) -> int:
    """Size of a decoded frame in I420, whose planes' rows are padded to four bytes."""
    import cv2

    capture = cv2.VideoCapture(video)
    width, height = (int(capture.get(key)) for key in (cv2.CAP_PROP_FRAME_WIDTH, cv2.CAP_PROP_FRAME_HEIGHT))
    if not width * height:
        raise pipeline.PipelineError(f"OpenCV cannot read '{video}'")
    padded = [-(-side // 4) * 4 for side in (width, (width + 1) // 2)]
    rows = -(-height // 2) * 2
    return padded[0] * rows + padded[1] * rows


def decoding_alone(video: str, frames: int) -> float:
    """CPU milliseconds that decoding takes a frame."""
    words = [*decoding(video), "!", "identity", f"eos-after={frames + 1}", "silent=true", "!", "fakesink", "sync=false"]
    before = os.times()
    pipeline.run(words)
    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return 1e3 * spent / frames


def bare_loop(given: argparse.Namespace, streams: int | None = None) -> float:
    """Frames a second of the model alone; with `streams`, as many files are decoded beside it, a frame for each."""
    numbers = (given.batch, given.workers, max(1, given.threads // given.workers), SECONDS)
    command = repository.command("bench.session", given.model, *numbers)
    if streams:
        words = [*decoding(given.video), "!", "video/x-raw,format=I420", "!", "fdsink"]
        line = json.dumps(pipeline.command(words, "-q"))
        command += ["--beside", line, str(frame_bytes(given.video)), str(streams)]
    reported = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    return reported["frames"] / reported["seconds"]


def run(given: argparse.Namespace) -> list[dict]:
    """Measures and prints a row for each number of streams."""
    settings = {
        "instance": "bench",
        "batch-size": given.batch,
        "workers": given.workers,
        "intra-threads": max(1, given.threads // given.workers),
    }
    line = f"fusedpreproc ! {serving.element(given.model, settings)} ! {DOWNSTREAM}"
    source = " ".join(decoding(given.video))
    decode = decoding_alone(given.video, 200)
    print(f"{source} ! {line}\ndecoding alone takes {decode:.2f} ms of CPU a frame", flush=True)
    rows = []
    for streams in given.streams:
        turns = []
        for _ in range(given.rounds_of_streams):
            reported = serving.load(source, line, streams=streams, seconds=SECONDS)
            turns.append(reported | {"bare": bare_loop(given), "beside": bare_loop(given, streams)})
        shares = {name: statistics.median(turn["fps"] / turn[name] for turn in turns) for name in ("bare", "beside")}
        middle = {name: statistics.median(turn[name] for turn in turns) for name in ("fps", "bare", "beside", "p50_ms", "p99_ms")}
        fill = serving.mean_batch(turns[-1])
        print(
            f"{streams:>3} streams: {middle['fps']:.1f} frames/s, {shares['bare']:.0%} of the bare loop's {middle['bare']:.1f},"
            f" {shares['beside']:.0%} of its {middle['beside']:.1f} with decoding beside it;"
            f" p50 {middle['p50_ms']:.0f} ms, p99 {middle['p99_ms']:.0f} ms"
            + (f", {fill:.1f} frames a batch" if fill else "")
            + (f" (goal: {GOAL['share']:.0%} or more)" if streams == GOAL["streams"] else ""),
            flush=True,
        )
        rows.append(
            {"streams": streams, "batch": given.batch, "decoding_ms": round(decode, 3), "line": line, "turns": turns}
            | {f"share_of_{name}": round(share, 4) for name, share in shares.items()}
        )
    return rows
