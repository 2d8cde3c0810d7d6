"""Makes tracks as MOTChallenge text and scores them with TrackEval. Started by scripts/evaluate."""

from __future__ import annotations

import argparse
import configparser
import contextlib
import io
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pipeline

OUT = pipeline.ROOT / "out" / "evaluate"
TRACKER = "cudainfer"


def mot_lines(results: list[str]) -> list[str]:
    """JSON lines of inferpublish as MOTChallenge text: frame from 1, id, the track's
    box as x, y, w, h, the detection's confidence, and -1 three times."""
    lines = []
    for result in results:
        frame = json.loads(result)
        for item in frame["objects"]:
            if track := item.get("track"):
                box = track["box"]
                size = ",".join(f"{box[k]:.2f}" for k in "xywh")
                lines.append(f"{frame['frame'] + 1},{track['id']},{size},{item['confidence']:.4f},-1,-1,-1\n")
    return lines


def track_video(video: Path, tracks: Path) -> None:
    """Builds the plugin and runs detect-track.launch up to inferpublish: nothing is drawn or encoded."""
    build = ["cargo", "build", "--release", "--locked", "--package", "gst-plugin-cudainfer"]
    subprocess.run(build, cwd=pipeline.ROOT, check=True)
    results = tracks.with_suffix(".jsonl")
    line = pipeline.read("detect-track").arguments({"video": str(video), "json": str(results)})
    end = line.index("inferpublish")
    command = pipeline.command(line[: end + 2] + ["!", "fakesink"], "-q")
    print(pipeline.printable(command), flush=True)
    subprocess.run(command, env=pipeline.environment(), check=True)
    tracks.write_text("".join(mot_lines(results.read_text().splitlines())))


def track_detections(detections: Path, algorithm: str, tracks: Path) -> None:
    """Runs the tracker on a detection file of the MOTChallenge."""
    example = ["cargo", "run", "--release", "--locked", "--quiet", "--package", "cudainfer-kernels", "--example", "mot"]
    command = [*example, "--", "--algorithm", algorithm, str(detections.absolute())]
    with tracks.open("w") as file:
        subprocess.run(command, cwd=pipeline.ROOT, stdout=file, check=True)


def read_mot(path: Path) -> np.ndarray:
    """The rows of a MOTChallenge file, at least two-dimensional."""
    return np.loadtxt(path, delimiter=",", ndmin=2) if path.stat().st_size else np.zeros((0, 10))


def sequence(ground_truth: Path, tracks: Path) -> tuple[Path, str, int]:
    """The ground truth's file, name and number of frames; a bare file's length is its last frame, or the tracks'."""
    if ground_truth.is_dir():
        file, info = ground_truth / "gt" / "gt.txt", configparser.ConfigParser()
        if info.read(ground_truth / "seqinfo.ini"):
            return file, info["Sequence"]["name"], int(info["Sequence"]["seqLength"])
        return file, ground_truth.name, last_frame(file, tracks)
    return ground_truth, ground_truth.stem, last_frame(ground_truth, tracks)


def last_frame(*paths: Path) -> int:
    return int(max((rows[:, 0].max() for rows in map(read_mot, paths) if len(rows)), default=0))


def score(ground_truth: Path, tracks: Path) -> dict[str, float]:
    """TrackEval's figures: HOTA, MOTA and IDF1 in per cent, identity switches, false positives and misses."""
    import trackeval

    file, name, frames = sequence(ground_truth, tracks)
    # MOT15 marks nothing to be ignored; later ground truth has a class and a visibility, and distractors.
    benchmark = "MOT15" if read_mot(file).shape[1] > 9 else "MOT17"
    with tempfile.TemporaryDirectory() as folder:
        truth, mine = Path(folder) / "gt" / name / "gt", Path(folder) / "tracks" / TRACKER / "data"
        truth.mkdir(parents=True)
        mine.mkdir(parents=True)
        shutil.copy(file, truth / "gt.txt")
        shutil.copy(tracks, mine / f"{name}.txt")
        quiet = {"PRINT_CONFIG": False, "PRINT_RESULTS": False, "TIME_PROGRESS": False, "BREAK_ON_ERROR": True}
        files = {"OUTPUT_SUMMARY": False, "OUTPUT_DETAILED": False, "PLOT_CURVES": False, "OUTPUT_EMPTY_CLASSES": False}
        # TrackEval prints its progress, and each metric its settings.
        with contextlib.redirect_stdout(io.StringIO()):
            dataset = trackeval.datasets.MotChallenge2DBox(
                {
                    "GT_FOLDER": str(truth.parent.parent),
                    "TRACKERS_FOLDER": str(mine.parent.parent),
                    "TRACKERS_TO_EVAL": [TRACKER],
                    "BENCHMARK": benchmark,
                    "SKIP_SPLIT_FOL": True,
                    "SEQ_INFO": {name: frames},
                    "PRINT_CONFIG": False,
                }
            )
            evaluator = trackeval.Evaluator({"USE_PARALLEL": False, "LOG_ON_ERROR": None, **quiet, **files})
            metrics = [trackeval.metrics.HOTA(), trackeval.metrics.CLEAR(), trackeval.metrics.Identity()]
            everything, _ = evaluator.evaluate([dataset], metrics)
    found = everything["MotChallenge2DBox"][TRACKER][name]["pedestrian"]
    return {
        "HOTA": 100 * float(np.mean(found["HOTA"]["HOTA"])),
        "MOTA": 100 * float(found["CLEAR"]["MOTA"]),
        "IDF1": 100 * float(found["Identity"]["IDF1"]),
        "switches": float(found["CLEAR"]["IDSW"]),
        "false positives": float(found["CLEAR"]["CLR_FP"]),
        "misses": float(found["CLEAR"]["CLR_FN"]),
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/evaluate", description=__doc__)
    parser.add_argument("--ground-truth", type=Path, required=True, metavar="GT")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--video", type=Path, default=pipeline.ROOT / ".cache/video/vtest.avi")
    source.add_argument("--detections", type=Path)
    source.add_argument("--tracks", type=Path)
    parser.add_argument("--algorithm", choices=["sort", "bytetrack"], default="bytetrack")
    given = parser.parse_args()
    for path in (given.ground_truth, given.detections or given.tracks or given.video):
        if not path.exists():
            parser.error(f"there is no '{path}'")

    OUT.mkdir(parents=True, exist_ok=True)
    tracks = OUT / f"{(given.detections or given.tracks or given.video).stem}.txt"
    try:
        if given.tracks:
            tracks = given.tracks
        elif given.detections:
            track_detections(given.detections, given.algorithm, tracks)
        else:
            track_video(given.video, tracks)
    except subprocess.CalledProcessError as error:
        print(f"evaluate: {error.cmd[0]} failed, see above", file=sys.stderr)
        return 1
    for name, value in score(given.ground_truth, tracks).items():
        print(f"{name:<16}{value:>8.1f}" if name.isupper() else f"{name:<16}{value:>8.0f}")
    print(tracks)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except pipeline.PipelineError as error:
        sys.exit(f"evaluate: {error}")
