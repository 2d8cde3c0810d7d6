"""Runs every benchmark that needs a GPU and what users would call instead (bench/gpu/peers), in one go, and prints
what came of it as tables. Started by scripts/bench --gpu.

    python3 tools bench.gpu [--no-peers] [--line-runs N] [--no-operations | --no-lines] [--no-streams | --only-streams] [--rows FILE]...
                 [--pose-model FILE --pose-video FILE] [--results FOLDER]

Whole pipelines (bench/gpu/lines.py) and many streams into one model (bench/gpu/streams.py) are measured if there are
GStreamer, ONNX Runtime and the clip that scripts/gpu-bundle makes; their networks are exported by PyTorch first.
--pose-model is a network that groups points, with its sidecar beside it (default: that of SLEAP's two flies), and
--pose-video its video: then a pipeline of poses is measured too. --rows adds rows from elsewhere: JSON objects, one a
line. A row of one operation is
    {"row", "who", "median_us", "p95_us", "bytes", "launches", "goal_us"}       (peers: without the last three)
and one of a whole pipeline is
    {"row", "who", "fps", "p95_ms", "bytes_to_host_per_frame", "host_waits_per_frame", "goal"}   (goal: frames/s)
(or "per_frame", the elements' counters by name, in place of the two before "goal"), those of many streams are as
bench/gpu/streams.py says,
where `who` is cudainfer for ours. All rows and what they were measured on go to gpu-DATE.json in FOLDER (default:
benches/results).

    python3 tools bench.gpu --from FILE

shows such a file's rows that have a goal or a peer, measuring nothing. scripts/bench --report puts them into docs/benchmarks.md.

The floor of an operation is the time that its bytes take at the speed of a copy on the device (that of one over the
bus, where the row begins with "upload" or "download"), and that of its launches, each as long as the shorter of a bare
launch and one in a graph. All of these are measured in the same run.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from cudainfer_tools import repository
from cudainfer_tools.bench import starts
from cudainfer_tools.bench.gpu.measuring import NETWORKS, OF_PIPELINES, SESSION, host_python, machine, objects, output_of
from cudainfer_tools.bench.gpu.tables import by_row, lines, notable, operations, streams
from cudainfer_tools.gpu import programs
from cudainfer_tools.repository import ROOT

VIDEO = ROOT / ".cache" / "video" / "vtest-1080p.mp4"
# The network of poses, one of bench/gpu/models.py.
POSES, POSE_FRAMES = "flies-bottomup", "100,1000"
NANODET = ROOT / ".cache" / "models" / "nanodet.onnx"
# Feeds lines, and prints nothing without one.
LOAD = "benches-load"


def whole_lines(session: Path | None, load: Path | None, given: argparse.Namespace) -> tuple[list[dict], bool]:
    """What bench/gpu/lines.py and bench/gpu/streams.py print of exported networks."""
    needed: list[str | Path] = [shutil.which("gst-launch-1.0") or "gst-launch-1.0", VIDEO]
    needed += [os.environ["ORT_DYLIB_PATH"]] if "ORT_DYLIB_PATH" in os.environ else []
    if missing := next((file for file in needed if not Path(file).is_file()), None):
        print(f"bench: whole lines are left out: there is no {missing}", file=sys.stderr)
        return [], True
    python, env = host_python()
    with tempfile.TemporaryDirectory() as folder:
        models = []
        for name in OF_PIPELINES:
            network = NETWORKS[name]
            models.append(f"{folder}/{network.row()}.onnx")
            batches = "1" if given.no_streams else ",".join(map(str, network.batches))
            command = repository.command("bench.gpu.models", name, "--batch", batches, "--video", VIDEO, models[-1], python=python)
            if subprocess.run(command, env=env, stdout=sys.stderr, check=False).returncode != 0:
                return [], False
        shared = ["--video", str(VIDEO)] + (["--session", str(session)] if session else [])
        found: list[dict] = []
        good = True
        if load and not given.no_streams:
            command = repository.command("bench.gpu.streams", "--load", load)
            found, good = output_of([*command, *shared, *models])
        if not given.only_streams:
            models += [str(NANODET)] if NANODET.is_file() else []
            command = repository.command("bench.gpu.lines", "--runs", given.line_runs)
            printed, ended = output_of([*command, *shared, *models])
            found, good = found + printed, good and ended
            command = repository.command("bench.starts", "--device", "cuda", "--rounds", 3, "--rows")
            printed, ended = output_of([*command, models[0]])
            found, good = found + printed, good and ended
        if given.pose_model and not given.only_streams:
            printed, ended = pose_line(session, given, Path(folder))
            found, good = found + printed, good and ended
        return found, good


def pose_line(session: Path | None, given: argparse.Namespace, folder: Path) -> tuple[list[dict], bool]:
    """What bench/gpu/lines.py prints of --pose-model on --pose-video."""
    model, sidecar = folder / f"{POSES}.onnx", given.pose_model.with_suffix(".toml")
    shutil.copy(given.pose_model, model)
    default = ROOT / "pipelines" / "models" / f"{POSES}.toml"
    shutil.copy(sidecar if sidecar.is_file() else default, model.with_suffix(".toml"))
    command = repository.command("bench.gpu.lines", "--video", given.pose_video, "--frames", POSE_FRAMES)
    command += ["--session", str(session)] if session else []
    return output_of([*command, "--runs", str(given.line_runs), str(model)])


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/bench --gpu", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--no-peers", action="store_true", help="only ours")
    parser.add_argument("--no-operations", action="store_true", help="only whole pipelines")
    parser.add_argument("--no-lines", action="store_true", help="only operations")
    parser.add_argument("--no-streams", action="store_true", help="only one stream")
    parser.add_argument("--only-streams", action="store_true", help="only many streams")
    parser.add_argument("--line-runs", type=int, default=3, metavar="N", help="runs of each whole pipeline (default: 3)")
    parser.add_argument("--pose-model", type=Path, metavar="FILE", help="a network that groups points, for a pipeline of poses")
    parser.add_argument("--pose-video", type=Path, metavar="FILE", help="H.264 in MP4 for it, of at least 1000 frames")
    parser.add_argument("--rows", type=Path, action="append", default=[], metavar="FILE")
    parser.add_argument("--results", type=Path, default=ROOT / "benches" / "results", metavar="FOLDER")
    parser.add_argument("--from", type=Path, dest="former", metavar="FILE", help="show what was measured with a goal or a peer")
    given = parser.parse_args()
    if (given.pose_model is None) != (given.pose_video is None):
        parser.error("--pose-model and --pose-video belong together")
    if given.former:
        reported = json.loads(given.former.read_text())
        compared = [merged for merged in by_row(reported["rows"]).values() if any(map(notable, merged))]
        rows = [row for merged in compared for row in merged]
        print("\n".join(operations(rows) + lines(rows) + streams(rows)))
        return 0

    found: list[dict] = []
    good = True
    built = programs.programs("bench")
    session, load = built.pop(SESSION, None), built.pop(LOAD, None)
    if not given.no_operations and not given.only_streams:
        for path in built.values():
            printed, ended = output_of([str(path), "--bench"])
            found, good = found + printed, good and ended
        if not given.no_peers:
            python, env = host_python()
            printed, ended = output_of(repository.command("bench.gpu.peers", python=python), env)
            found, good = found + printed, good and ended
    if not given.no_lines:
        printed, ended = whole_lines(session, load, given)
        found, good = found + printed, good and ended
    for file in given.rows:
        found += [value for line in file.read_text().splitlines() for value in objects(line)]

    measured_on = machine()
    for value in found:
        measured_on |= value.get("versions", {})
    rows = [value for value in found if "row" in value]
    print("\n".join([f"{name}: {value}" for name, value in measured_on.items()]), end="\n\n")
    print("\n".join(operations(rows) + lines(rows) + streams(rows) + starts.table(rows)))
    given.results.mkdir(parents=True, exist_ok=True)
    file = given.results / f"gpu-{measured_on['date'][:10]}.json"
    file.write_text(json.dumps(measured_on | {"rows": rows}, indent=1) + "\n")
    print(f"\n{file}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
