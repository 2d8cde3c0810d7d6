"""Measures the memory and the time that cudainfer-labels needs, by the number of instances, against sleap-io's own reading and writing.

    python3 tools bench.labels [--most N] [--most-theirs N] [--folder FOLDER]

Runs are made up: two flies with two points each, no fly in one frame of ten, one point of eleven missing. FOLDER needs 5 GB for
10,000,000 instances, and is emptied of each file when it was measured. Figures go to benches/results.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from cudainfer_tools.bench import results
from cudainfer_tools.repository import ROOT

NODES = ("head", "thorax")
FLIES = 2
# Sources, with the endings that they are converted to.
CONVERSIONS = {".csv": (".slp", ".h5", ".nwb"), ".jsonl": (".slp",)}
FORMATS = {".slp": "slp", ".h5": "analysis_h5", ".nwb": "nwb"}
THEIRS = "import sleap_io, sys; sleap_io.save_file(sleap_io.load_file(sys.argv[1]), sys.argv[2], format=sys.argv[3], verbose=False)"
IMPORTS = "import sleap_io, h5py, pandas; sleap_io.Labels"
# Instances differ from those of other frames, up to this number of frames.
PERIOD = 1001


def points(fly: int, number: int) -> Iterator[tuple[str, float, float, float] | None]:
    """Of an instance: name, x, y and score, or None for one that is missing."""
    for place, name in enumerate(NODES):
        known = (number + 3 * fly + 5 * place) % 11 != 0
        x, y = 100 * fly + number * 0.0917 + 10 * place, 20 + number * 0.1731 % 300
        yield (name, round(x, 2), round(y, 2), 0.5 + number % 97 / 200) if known else None


def frames(instances: int) -> Iterator[int]:
    """The numbers of the frames with flies."""
    return (frame for frame in range(instances * 10 // (9 * FLIES) + 10) if frame % 10 != 3)


def row(fly: int, number: int) -> str:
    cells = [f"{point[1] - 0.5:.4f},{point[2] - 0.5:.4f},{point[3]:.6f}" if point else ",," for point in points(fly, number)]
    return f"0.{number % 900 + 100}000,{','.join(cells)}\n"


def instance(fly: int, number: int) -> str:
    found = [dict(zip(("name", "x", "y", "score"), point, strict=True)) for point in points(fly, number) if point]
    track = {"id": fly + 1, "age": number, "hits": number, "state": "tracked"}
    made = {"id": fly, "label": "keypoints", "pose_score": (number % 900 + 100) / 1000, "keypoints": found, "track": track}
    return json.dumps(made | ({"edges": [[0, 1]]} if len(found) == 2 else {}), separators=(",", ":"))


def write_run(path: Path, instances: int) -> None:
    """A run as inferpublish writes it: records, or a table with the JSON beside it."""
    made = row if path.suffix == ".csv" else instance
    pool = [[made(fly, number) for number in range(1, PERIOD + 1)] for fly in range(FLIES)]
    left = instances
    with path.open("w") as file:
        if path.suffix == ".csv":
            columns = [f"{name}.{column}" for name in NODES for column in ("x", "y", "score")]
            file.write(f"track,frame_idx,instance.score,{','.join(columns)}\n")
        for frame in frames(instances):
            here = [of_fly[frame % PERIOD] for of_fly in pool[:left]]
            left -= len(here)
            if path.suffix == ".csv":
                file.write("".join(f"track_{fly},{frame},{text}" for fly, text in enumerate(here, 1)))
            else:
                file.write(
                    f'{{"schema":"cudainfer.frame/5","source":"flies","frame":{frame},"pts":{frame * 40_000_000},"width":640,"height":480,'
                    f'"objects":[{",".join(here)}]}}\n'
                )
            if not left:
                break
    if path.suffix == ".csv":
        metadata = {"type": "MediaVideo", "filename": "flies.mp4", "shape": [frame + 1, 480, 640, 1], "grayscale": True}
        beside = {
            "version": "1.0",
            "videos": [{"filename": "flies.mp4", "backend_metadata": metadata}],
            "skeletons": [{"name": "Skeleton-0", "nodes": NODES, "edges": [NODES], "symmetries": []}],
        }
        path.with_suffix(".json").write_text(json.dumps(beside))


def measure(command: list[str]) -> dict[str, float]:
    """Seconds, and the peak of the resident memory in MB, of a program."""
    begin = time.monotonic()
    process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(ROOT / "python"), "PYTHONWARNINGS": "ignore"})
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"bench.labels: {' '.join(command)} ended with {process.returncode}")
    return {"seconds": round(time.monotonic() - begin, 1), "peak_mb": round(usage.ru_maxrss / 1000, 1)}


def rows(folder: Path, most: int, most_theirs: int) -> Iterator[dict]:
    size = 10_000
    while size <= most:
        for ending, targets in CONVERSIONS.items():
            run = folder / f"run{ending}"
            write_run(run, size)
            for target in targets:
                ours = [sys.executable, "-m", "cudainfer.labels", str(run), "-o", str(folder / f"out{target}")]
                theirs = [sys.executable, "-c", THEIRS, str(run), str(folder / f"out{target}"), FORMATS.get(target, "")]
                for by, command in {"cudainfer-labels": ours, "sleap-io": theirs}.items():
                    # It reads no records, and its NWB ends with an error where a frame has no instance.
                    if by == "sleap-io" and (ending == ".jsonl" or target == ".nwb" or size > most_theirs):
                        continue
                    made = {"by": by, "from": ending, "to": target, "instances": size, **measure(command)}
                    made["from_mb"] = round(run.stat().st_size / 1e6, 1)
                    made["to_mb"] = round((folder / f"out{target}").stat().st_size / 1e6, 1)
                    yield made
                    (folder / f"out{target}").unlink()
            run.unlink()
        size *= 10


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench --labels", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--most", type=int, default=10_000_000, help="instances of the longest run")
    parser.add_argument("--most-theirs", type=int, default=100_000, help="instances of the longest run for sleap-io itself")
    parser.add_argument("--folder", type=Path, help="where runs and labels are written, instead of TMPDIR")
    given = parser.parse_args()
    version = subprocess.check_output([sys.executable, "-c", "import sleap_io; print(sleap_io.__version__)"], text=True).strip()
    imports = measure([sys.executable, "-c", IMPORTS])["peak_mb"]
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        measured = []
        for made in rows(Path(folder), given.most, given.most_theirs):
            print(made, flush=True)
            measured.append(made)
    figures = {"sleap_io": version, "imports_mb": imports, "nodes": len(NODES), "animals": FLIES, "rows": measured}
    results.write("cpu-labels", figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
