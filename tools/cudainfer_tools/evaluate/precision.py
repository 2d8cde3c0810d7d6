"""Compares the objects that a detector finds on other providers and in other precisions with those of ONNX Runtime on the CPU in the
model's own numbers, over a video. Started by scripts/evaluate precision.

    python3 tools evaluate.precision [--model MODEL] [--video VIDEO] [--frames N] PROPERTIES...

PROPERTIES are trtinfer's, in one word: "provider=openvino precision=bfloat16". The rows go to benches/results/precision.json, beside
those of other models and properties.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

from cudainfer_tools import machine, pipeline
from cudainfer_tools.models import agreement
from cudainfer_tools.repository import ROOT

RESULTS = ROOT / "benches/results/precision.json"
REFERENCE = "provider=cpu"
# More than vtest.avi has.
ALL = 1_000_000


def row(model: str, properties: str, processor: str, found: agreement.Agreement, video: str, frames: int) -> dict:
    """What is kept of a comparison."""
    return {
        "model": model,
        "properties": properties,
        "processor": processor,
        "video": video,
        "frames": frames,
        "true": found.true,
        "found": found.found,
        "precision": round(found.precision, 4),
        "recall": round(found.recall, 4),
        "f1": round(found.f1, 4),
        "mean_iou": round(found.mean_iou, 4),
        "confidence_off": round(found.mean_absolute_change, 5),
    }


def merged(before: list[dict], rows: list[dict]) -> list[dict]:
    """The rows of before, with new ones of the same model and properties in their places."""
    known = {(one["model"], one["properties"]): one for one in [*before, *rows]}
    return [known[key] for key in sorted(known)]


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/evaluate precision", description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, default=ROOT / ".cache/models/nanodet.onnx")
    parser.add_argument("--video", type=Path, default=ROOT / ".cache/video/vtest.avi")
    parser.add_argument("--frames", type=int, default=ALL, help="of the video, from its beginning; all of them unless given")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("properties", nargs="+", metavar="PROPERTIES")
    given = parser.parse_args()
    pipeline.find_openvino()
    processor = machine.gpu()["gpu"] or machine.processor()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "objects.jsonl"

        def detect(properties: str) -> list[list[dict]]:
            file.unlink(missing_ok=True)
            return agreement.detect(given.model, given.video, given.frames, file, "engine-cache=none", *properties.split())

        truth = detect(REFERENCE)
        rows = []
        for properties in given.properties:
            found = agreement.agreement(truth, detect(properties))
            one = row(given.model.stem, properties, processor, found, given.video.name, len(truth))
            rows.append(one)
            print(f"{properties}: F1 {one['f1']:.4f} of {one['true']} objects in {one['frames']} frames", flush=True)
    before = json.loads(given.results.read_text()) if given.results.exists() else []
    given.results.write_text(json.dumps(merged(before, rows), indent=1) + "\n")
    print(given.results)


if __name__ == "__main__":
    main()
