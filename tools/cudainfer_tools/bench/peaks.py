"""Times the search for local peaks with integral refinement on the CPU against numpy, OpenCV and PyTorch, in turns, on the
same maps. Started by scripts/bench --peaks.

    python3 tools bench.peaks PROGRAM [--rounds N]

PROGRAM is kernels/examples/peaks.rs, built. The maps are like those of bench/gpu/peers/peaks.py: gaussians (sigma 2) over noise,
four a channel. What is not installed is left out.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from cudainfer_tools.bench import results

THRESHOLD, PATCH, PEOPLE = 0.3, 5, 4
SIZES = ((13, 96, 96), (2, 192, 192))
RUNS = 200
# Slow peers get fewer runs.
SECONDS = 2.0
GOAL = 5.0
# Peaks that are found have to be the same to be compared, to a fraction of a cell.
SAME = 1e-3


def gaussians(channels: int, height: int, width: int, seed: int = 1) -> np.ndarray:
    random = np.random.default_rng(seed)
    maps = 0.05 * random.random((channels, height, width))
    for channel in maps:
        for x, y in random.random((PEOPLE, 2)) * (width, height):
            channel += 0.8 * np.outer(np.exp(-((np.arange(height) - y) ** 2) / 8), np.exp(-((np.arange(width) - x) ** 2) / 8))
    return maps.astype(np.float32)


def refined(maps: np.ndarray, highest: np.ndarray) -> np.ndarray:
    """`[P, 3]`: channel, x and y of the cells of `maps` `[C, H, W]` that are `highest`, the centres of mass around them."""
    channel, y, x = np.nonzero((maps == highest) & (maps > THRESHOLD))
    around = np.arange(PATCH, dtype=np.float32) - PATCH // 2
    half = PATCH // 2
    padded = np.pad(maps, [(0, 0), (half, half), (half, half)])
    window = np.arange(PATCH)
    crops = padded[channel[:, None, None], (y[:, None] + window)[:, :, None], (x[:, None] + window)[:, None, :]]
    total = crops.sum((1, 2))
    return np.stack([channel, x + crops.sum(1) @ around / total, y + crops.sum(2) @ around / total], 1)


def by_numpy(maps: np.ndarray) -> Callable[[], np.ndarray]:
    def run() -> np.ndarray:
        padded = np.pad(maps, [(0, 0), (1, 1), (1, 1)], constant_values=-np.inf)
        rows = np.maximum(np.maximum(padded[:, :-2], padded[:, 1:-1]), padded[:, 2:])
        return refined(maps, np.maximum(np.maximum(rows[..., :-2], rows[..., 1:-1]), rows[..., 2:]))

    return run


def by_opencv(maps: np.ndarray) -> Callable[[], np.ndarray]:
    import cv2

    kernel = np.ones((3, 3), np.uint8)
    return lambda: refined(maps, np.stack([cv2.dilate(channel, kernel) for channel in maps]))


def by_torch(maps: np.ndarray) -> Callable[[], np.ndarray]:
    import torch

    from cudainfer_tools.bench.gpu.peers.peaks import local_peaks

    tensor = torch.from_numpy(maps)[None]

    def run() -> np.ndarray:
        with torch.inference_mode():
            points, _, of = local_peaks(tensor)
        return np.concatenate([of[:, 1:].numpy(), points.numpy()], 1)

    return run


PEERS = {"numpy": by_numpy, "OpenCV and numpy": by_opencv, "torch": by_torch}


def ours(program: Path, maps: np.ndarray) -> tuple[float, np.ndarray]:
    """Median microseconds of our operation in a process of its own, and its peaks."""
    with tempfile.NamedTemporaryFile() as file:
        maps.tofile(file.name)
        command = [str(program), file.name, *map(str, maps.shape), str(RUNS)]
        reported = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    return statistics.median(reported["us"][RUNS // 4 :]), np.array(reported["peaks"]).reshape(-1, 3)


def timed(run: Callable[[], np.ndarray]) -> float:
    times: list[float] = []
    end = time.perf_counter() + SECONDS
    while len(times) < RUNS and (len(times) < RUNS // 10 or time.perf_counter() < end):
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) * 1e6)
    return statistics.median(times[len(times) // 4 :])


def agree(mine: np.ndarray, theirs: np.ndarray) -> bool:
    return len(mine) == len(theirs) and all(np.abs(theirs - peak).max(1).min() < SAME for peak in mine)


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench --peaks", description=__doc__.splitlines()[0])
    parser.add_argument("program", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    rows: list[dict] = []
    versions: dict[str, str] = {}
    good = True
    for size in SIZES:
        maps, runs = gaussians(*size), {}
        for name, peer in PEERS.items():
            try:
                runs[name] = peer(maps)
            except ImportError as error:
                print(f"bench: {name} is left out: {error}", file=sys.stderr)
        _, peaks = ours(given.program, maps)
        for name, run in runs.items():
            if not agree(peaks, run()):
                print(f"bench: {name} finds other peaks than we do", file=sys.stderr)
                return 1
        turns = [(ours(given.program, maps)[0], {name: timed(run) for name, run in runs.items()}) for _ in range(given.rounds)]
        mine = statistics.median(turn for turn, _ in turns)
        what = f"local peaks + integral {'x'.join(map(str, size))}"
        print(f"{what}, {len(peaks)} peaks: {mine:.1f} µs")
        row: dict = {"row": what, "us": [round(turn, 2) for turn, _ in turns], "peers": {}}
        for name in runs:
            ratio = statistics.median(theirs[name] / own for own, theirs in turns)
            met = "met" if ratio >= GOAL else "MISSED"
            good &= ratio >= GOAL
            print(
                f"  {name:<18}{statistics.median(theirs[name] for _, theirs in turns):>9.1f} µs, {ratio:.1f} x (goal {GOAL:g}: {met})"
            )
            row["peers"][name] = {"us": [round(theirs[name], 2) for _, theirs in turns], "ratio": round(ratio, 2)}
        rows.append(row)
    for name in ("numpy", "cv2", "torch"):
        versions |= {name: sys.modules[name].__version__} if name in sys.modules else {}
    results.write("cpu-peaks", {"versions": versions, "rows": rows})
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
