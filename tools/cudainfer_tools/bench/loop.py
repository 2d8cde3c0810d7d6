"""What a user would write instead of the pipeline: a loop of OpenCV, ONNX Runtime and `trackers`' ByteTrack.

    python3 tools bench.loop VIDEO MODEL THREADS [MOT.txt]

Detects people with NanoDet and tracks them, as vectorised as NumPy allows; prints {"frames":N,"seconds":S} as JSON. The
clock starts with everything loaded and one inference done. With MOT.txt the tracks are written as MOTChallenge text,
which shows with scripts/evaluate that the loop does the same work.
"""

from __future__ import annotations

import json
import sys
import time
import tomllib
from pathlib import Path

import cv2
import numpy as np
import onnxruntime
import supervision
from trackers import ByteTrackTracker

PERSON = 0
STRIDES = (8, 16, 32)


def main(video: str, model: str, threads: int, mot: str | None) -> None:
    sidecar = tomllib.loads(Path(model).with_suffix(".toml").read_text())
    mean = np.array(sidecar["input"]["mean"], np.float32).reshape(3, 1, 1)
    scale = 1 / np.array(sidecar["input"]["std"], np.float32).reshape(3, 1, 1)
    confidence, iou = sidecar["output"]["confidence"], sidecar["output"]["iou"]

    cv2.setNumThreads(threads)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    size = session.get_inputs()[0].shape[2]
    outputs = session.get_outputs()
    classes = len(sidecar["output"]["labels"])
    # Scores and boxes of each stride, in the order of the strides: the finer one has more cells.
    scores = sorted((o for o in outputs if o.shape[2] == classes), key=lambda o: -o.shape[1])
    boxes = sorted((o for o in outputs if o.shape[2] != classes), key=lambda o: -o.shape[1])
    wanted = [o.name for o in scores + boxes]
    bins = np.arange(boxes[0].shape[2] // 4, dtype=np.float32)
    centres_of, strides_of = [], []
    for stride in STRIDES:
        cells = np.stack(np.meshgrid(np.arange(size // stride), np.arange(size // stride)), -1).reshape(-1, 2)
        centres_of.append((cells + 0.5) * stride)
        strides_of.append(np.full(len(cells), stride))
    centres, strides = np.concatenate(centres_of).astype(np.float32), np.concatenate(strides_of).astype(np.float32)

    capture = cv2.VideoCapture(video)
    tracker = ByteTrackTracker(frame_rate=capture.get(cv2.CAP_PROP_FPS))
    session.run(wanted, {name: np.zeros((1, 3, size, size), np.float32)})
    rows: list[str] = []
    frames, start = 0, time.perf_counter()
    while True:
        read, frame = capture.read()
        if not read:
            break
        frames += 1
        height, width = frame.shape[:2]
        tensor = cv2.dnn.blobFromImage(frame, 1.0, (size, size), swapRB=False)
        tensor -= mean
        tensor *= scale
        found = session.run(wanted, {name: tensor})
        score = np.concatenate([o[0, :, PERSON] for o in found[:3]])
        kept = np.flatnonzero(score > confidence)
        score = score[kept]
        logits = np.concatenate(found[3:], axis=1)[0, kept].reshape(-1, 4, len(bins))
        weights = np.exp(logits - logits.max(-1, keepdims=True))
        sides = (weights @ bins) / weights.sum(-1) * strides[kept, None]
        corners = np.concatenate([centres[kept] - sides[:, :2], centres[kept] + sides[:, 2:]], axis=1)
        corners = np.clip(corners, 0, size) * np.array([width / size, height / size] * 2, np.float32)
        rectangles = np.concatenate([corners[:, :2], corners[:, 2:] - corners[:, :2]], axis=1)
        chosen = np.array(cv2.dnn.NMSBoxes(rectangles, score, confidence, iou), int).reshape(-1)
        detections = supervision.Detections(xyxy=corners[chosen], confidence=score[chosen], class_id=np.zeros(len(chosen), int))
        tracks = tracker.update(detections)
        if mot:
            for (x1, y1, x2, y2), conf, track in zip(tracks.xyxy, tracks.confidence, tracks.tracker_id, strict=True):
                if track >= 0:
                    rows.append(f"{frames},{track},{x1:.2f},{y1:.2f},{x2 - x1:.2f},{y2 - y1:.2f},{conf:.4f},-1,-1,-1\n")
    if mot:
        Path(mot).write_text("".join(rows))
    print(json.dumps({"frames": frames, "seconds": time.perf_counter() - start}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4] if len(sys.argv) > 4 else None)
