"""What our elements find in a case's frames."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from cudainfer_tools import pipeline


def pipeline_of(folder: Path, case: dict) -> list[str]:
    """Our pipeline, to the link after trtinfer."""
    width, height = case["size"]
    line = ["filesrc", f"location={folder}/frames.rgb", f"blocksize={width * height * 3}", "!", "rawvideoparse"]
    line += [
        "format=rgb",
        f"width={width}",
        f"height={height}",
        "framerate=25/1",
        # Rows have no padding, which GStreamer expects where they are no multiple of 4 bytes.
        f"plane-strides=<{width * 3}>",
        "plane-offsets=<0>",
        "!",
    ]
    return [*line, *network_of(folder, case)]


def network_of(folder: Path, case: dict) -> list[str]:
    """What runs the model on frames, to the link after trtinfer."""
    preprocessing = ["fusedpreproc", *case["preprocessing"].split()]
    return [*preprocessing, "!", "trtinfer", f"model={folder}/model.onnx", "provider=cpu", "!"]


def elements_of(folder: Path, case: dict) -> list[str]:
    """The case's elements, whose further models lie in its folder."""
    return [word.replace("model=", f"model={folder}/") for word in case["elements"].split()]


def published(folder: Path, case: dict) -> list[dict]:
    """What our pipeline publishes of the case's frames."""
    out = folder / "found.jsonl"
    line = [
        *pipeline_of(folder, case),
        *elements_of(folder, case),
        "!",
        "inferpublish",
        f"location={out}",
        "embeddings=true",
        "!",
        "fakesink",
    ]
    pipeline.run(line)
    return [json.loads(text) for text in out.read_text().splitlines()]


def results(record: dict, rotated: bool = False) -> list[dict]:
    """A record's objects as the cases write results. Of rotated boxes, upright ones have no angle."""
    found = []
    for item in record["objects"]:
        one = {"class": item.get("label_id", 0), "score": item.get("confidence", item.get("pose_score", 0.0))}
        if box := item.get("box"):
            if "angle" in box or rotated:
                one["corners"] = corners(box)
            else:
                one["box"] = [box["x"], box["y"], box["x"] + box["w"], box["y"] + box["h"]]
        if "id" in item:
            one["object"] = item["id"]
        if vectors := item.get("embeddings"):
            one["embedding"] = vectors[0]["values"]
        if points := item.get("keypoints"):
            one["keypoints"] = [[p["x"], p["y"], p["score"], *([p["z"]] if "z" in p else [])] for p in points]
        if values := item.get("values"):
            one["values"] = [value["value"] for value in values]
        if first := item.get("classification"):
            named = [c for several in item.get("classifications", [{"classes": first}]) for c in several["classes"]]
            more = {"values": one["values"]} if values else {}
            found += [{"class": c["label_id"], "score": c["confidence"], "text": c["label"], **more} for c in named]
            continue
        found.append(one)
    return found


def corners(box: dict) -> list[list[float]]:
    """The four points of a rotated box."""
    angle = box.get("angle", 0.0)
    across = np.array([np.cos(angle), np.sin(angle)]) * box["w"] / 2
    down = np.array([-np.sin(angle), np.cos(angle)]) * box["h"] / 2
    center = np.array([box["x"] + box["w"] / 2, box["y"] + box["h"] / 2])
    return [list(center + a * across + d * down) for a, d in ((1, 1), (1, -1), (-1, -1), (-1, 1))]


def masks(folder: Path, case: dict) -> np.ndarray:
    """The class of each of our masks' cells, `[N, h, w]`."""
    width, height = case["size"]
    out = folder / "found.gray"
    line = [*pipeline_of(folder, case), "segmask", "output=gray", "!", "filesink", f"location={out}"]
    pipeline.run(line)
    return np.fromfile(out, np.uint8).reshape(-1, height, width) // (255 // (case["mask_classes"] - 1))


def samples(folder: Path, case: dict, count: int) -> np.ndarray:
    """The samples of the frames that our pipeline makes; not rounded as the greatest are."""
    out = folder / "found.samples"
    pipeline.run([*pipeline_of(folder, case), *elements_of(folder, case), "!", "filesink", f"location={out}"])
    found = np.fromfile(out, np.uint8 if case["greatest"] < 256 else "<u2")
    if found.size != count:
        raise ValueError(f"{found.size} samples, expected are {count}")
    return found.astype(np.float32)
