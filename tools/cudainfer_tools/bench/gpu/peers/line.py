"""What users write instead of a whole pipeline: OpenCV decodes on the CPU, PyTorch does the rest."""

from __future__ import annotations

import itertools
import json
import sys
import time
from pathlib import Path

import torch

from cudainfer_tools.bench.gpu import models
from cudainfer_tools.bench.gpu.measuring import NETWORKS
from cudainfer_tools.bench.gpu.peers import preproc
from cudainfer_tools.bench.gpu.peers.detect import yolov8

# As bench/gpu/lines.py calls that of the same network.
ROW = "yolov8n-640-float16"
FRAMES = 800


def run(video: Path) -> None:
    """Plays the beginning of `video` to warm up, then more of it for the figures."""
    try:
        import cv2
    except ImportError as error:
        print(f"peers: the Python loop is left out: {error}", file=sys.stderr)
        return
    if not video.is_file():
        print(f"peers: the Python loop is left out: there is no {video} (scripts/gpu-bundle makes it)", file=sys.stderr)
        return
    model = models.yolov8n(models.from_video(str(video), NETWORKS["yolov8n"].side)).cuda().half()
    model = model.to(memory_format=torch.channels_last)
    torch.backends.cudnn.benchmark = True

    def play(limit: int) -> tuple[list[float], int, int]:
        capture = cv2.VideoCapture(str(video))
        ends, found, copied = [time.perf_counter()], 0, 0
        while True:
            read, frame = capture.read()
            if not read or len(ends) - 1 == limit:
                return ends, found, copied
            rgb = torch.from_numpy(frame).cuda().permute(2, 0, 1).flip(0)[None].float()
            # Where they are needed, on the host: this waits for the device.
            objects = yolov8(model(preproc.letterbox(rgb).contiguous(memory_format=torch.channels_last))[0].float()).cpu()
            found, copied = found + len(objects), copied + objects.nbytes
            ends.append(time.perf_counter())

    with torch.inference_mode():
        play(60)
        ends, found, copied = play(FRAMES)
    frames = len(ends) - 1
    times = sorted(b - a for a, b in itertools.pairwise(ends))
    print(
        json.dumps(
            {
                "row": ROW,
                "who": "Python loop (OpenCV, torch, torchvision)",
                "fps": round(frames / (ends[-1] - ends[0]), 1),
                "p95_ms": round(times[frames * 95 // 100] * 1e3, 3),
                "bytes_to_host_per_frame": copied // frames,
                "objects_per_frame": round(found / frames, 1),
                "frames": frames,
            }
        ),
        flush=True,
    )
