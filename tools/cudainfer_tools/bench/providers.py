"""Compares ONNX Runtime and OpenVINO on this machine's CPU, in turns: frames a second of models alone, fed with decoded frames, and
of detect-track against the Python loop of scripts/bench. Started by scripts/bench --providers.

    python3 tools bench.providers [--rounds N] [--seconds N] [--video VIDEO]
"""

from __future__ import annotations

import argparse
import os
import statistics

import onnxruntime

from cudainfer_tools import pipeline
from cudainfer_tools.bench import cpu, results, serving
from cudainfer_tools.repository import ROOT

# What is compared with the first one, by trtinfer's properties.
SIDES: dict[str, dict[str, object]] = {
    "ONNX Runtime": {"provider": "cpu"},
    "OpenVINO": {"provider": "openvino"},
    "OpenVINO, bfloat16": {"provider": "openvino", "precision": "bfloat16"},
}
MODELS = ("nanodet", "selfie", "posenet")
LOOP = "Python loop"


def alone(model: str, video: str, seconds: float, settings: dict[str, object]) -> float:
    """Frames a second of the model alone."""
    source = f'filesrc location="{video}" ! decodebin ! videoconvert'
    line = f"fusedpreproc ! {serving.element(model, settings)} ! fakesink sync=false"
    return serving.load(source, line, keep=32, warm_up=1, seconds=seconds)["fps"]


def whole(model: str, video: str, settings: dict[str, object]) -> dict:
    """A run of detect-track over the video, as bench.cpu makes it."""
    line = pipeline.read("detect-track").arguments({"video": video, "model": model})
    line = line[: line.index("inferpublish")] + ["fakesink"]
    at = line.index("trtinfer") + 1
    line[at:at] = [f"{name}={value}" for name, value in settings.items()]
    return cpu.run_pipeline(pipeline.command(line))


def ratios(rounds: list[dict[str, float]], first: str) -> dict[str, dict[str, float]]:
    """Of each side, the median of its frames a second, and of the rounds' own ratios to the first side."""
    return {
        side: {
            "fps": round(statistics.median(turn[side] for turn in rounds), 2),
            "ratio": round(statistics.median(turn[side] / turn[first] for turn in rounds), 3),
        }
        for side in rounds[0]
    }


def table(name: str, found: dict[str, dict[str, float]]) -> str:
    return "\n".join(f"{name:<14}{side:<22}{row['fps']:>8.1f} frames/s{row['ratio']:>7.2f}" for side, row in found.items())


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/bench --providers", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--video", default=str(ROOT / ".cache/video/vtest.avi"))
    given = parser.parse_args()
    pipeline.find_openvino()
    threads = len(os.sched_getaffinity(0))
    common: dict[str, object] = {"device": "cpu", "engine-cache": "none"}
    load = os.getloadavg()

    models: dict[str, list[dict[str, float]]] = {model: [] for model in MODELS}
    demo: list[dict[str, float]] = []
    nanodet = str(ROOT / ".cache/models/nanodet.onnx")
    for number in range(given.rounds):
        for model, rounds in models.items():
            file = str(ROOT / f".cache/models/{model}.onnx")
            order = results.turn(SIDES, number)
            turn = {side: alone(file, given.video, given.seconds, common | SIDES[side]) for side in order}
            rounds.append({side: turn[side] for side in SIDES})
        loop = cpu.run_loop([given.video, nanodet, str(threads)])
        frames = loop["frames"]
        turn = {side: frames / whole(nanodet, given.video, common | SIDES[side])["seconds"] for side in results.turn(SIDES, number)}
        demo.append({LOOP: frames / loop["seconds"]} | {side: turn[side] for side in SIDES})
        print(f"round {number + 1} of {given.rounds}", flush=True)

    found = {model: ratios(rounds, next(iter(SIDES))) for model, rounds in models.items()}
    found["detect-track"] = ratios(demo, LOOP)
    for name, rows in found.items():
        print(table(name, rows))
    results.write(
        "cpu-providers",
        {
            "load": load,
            "threads": threads,
            "onnxruntime": onnxruntime.__version__,
            "openvino": os.environ.get("CUDAINFER_OPENVINO"),
            "rows": found,
            "runs": models | {"detect-track": demo},
        },
    )


if __name__ == "__main__":
    pipeline.start("bench", main)
