"""Makes tracks as MOTChallenge text and scores them with TrackEval. Started by scripts/evaluate."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from cudainfer_tools import pipeline
from cudainfer_tools.evaluate.mot_scores import scores, sequence
from cudainfer_tools.repository import ROOT

OUT = ROOT / "out" / "evaluate"
TRACKER = "cudainfer"
ALGORITHMS = ("auto", "sort", "bytetrack", "ocsort", "botsort", "cbiou")


def mot_lines(results: list[str]) -> list[str]:
    """JSON lines of inferpublish as MOTChallenge text: frame from 1, id, the track's
    box as x, y, w, h, the detection's confidence, and -1 three times."""
    lines = []
    for result in results:
        frame = json.loads(result)
        for item in frame["objects"]:
            if (track := item.get("track")) and track["state"] in ("tracked", "carried"):
                box = track["box"]
                size = ",".join(f"{box[k]:.2f}" for k in "xywh")
                lines.append(f"{frame['frame'] + 1},{track['id']},{size},{item['confidence']:.4f},-1,-1,-1\n")
    return lines


def tracking_line(video: Path, results: Path, properties: str, values: dict[str, str] | None = None) -> list[str]:
    """detect-track.launch up to inferpublish: nothing is drawn or encoded. The properties are the tracker's, the values those of the
    pipeline's keys."""
    line = pipeline.read("detect-track").arguments((values or {}) | {"video": str(video), "json": str(results)})
    tracker, end = line.index("tracker"), line.index("inferpublish")
    return [*line[: tracker + 1], *properties.split(), *line[tracker + 1 : end + 2], "!", "fakesink"]


def run_line(video: Path, results: Path, properties: str = "", values: dict[str, str] | None = None) -> list[str]:
    """Builds the plugin, runs the tracking line, and returns what it publishes."""
    build = ["cargo", "build", "--release", "--locked", "--package", "gst-plugin-cudainfer"]
    subprocess.run(build, cwd=ROOT, check=True)
    command = pipeline.command(tracking_line(video, results, properties, values), "-q")
    print(pipeline.printable(command), flush=True)
    subprocess.run(command, env=pipeline.environment(), check=True)
    return results.read_text().splitlines()


def track_video(video: Path, tracks: Path, properties: str) -> None:
    tracks.write_text("".join(mot_lines(run_line(video, tracks.with_suffix(".jsonl"), properties))))


def detect(video: Path) -> Path:
    """What the line detects in a video, as MOTChallenge detections."""
    lines = []
    for result in run_line(video, OUT / f"{video.stem}.jsonl"):
        frame = json.loads(result)
        for item in frame["objects"]:
            if box := item.get("box"):
                size = ",".join(str(box[k]) for k in "xywh")
                lines.append(f"{frame['frame'] + 1},-1,{size},{item['confidence']},-1,-1,-1\n")
    detections = OUT / f"{video.stem}-detections.txt"
    detections.write_text("".join(lines))
    return detections


def track_detections(detections: Path, algorithm: str, tracks: Path) -> None:
    """Runs the tracker on a detection file of the MOTChallenge."""
    example = ["cargo", "run", "--release", "--locked", "--quiet", "--package", "cudainfer-kernels", "--example", "mot"]
    command = [*example, "--", "--algorithm", algorithm, str(detections.absolute())]
    with tracks.open("w") as file:
        subprocess.run(command, cwd=ROOT, stdout=file, check=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/evaluate", description=__doc__)
    parser.add_argument("--ground-truth", type=Path, required=True, metavar="GT")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--video", type=Path, default=ROOT / ".cache/video/vtest.avi")
    source.add_argument("--detections", type=Path)
    source.add_argument("--tracks", type=Path)
    parser.add_argument("--algorithm", choices=ALGORITHMS, default="auto")
    parser.add_argument(
        "--tracker", default="", metavar="PROPERTIES", help="properties of the pipeline's tracker, such as 'appearance=histogram'"
    )
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
            track_video(given.video, tracks, given.tracker)
    except subprocess.CalledProcessError as error:
        print(f"evaluate: {error.cmd[0]} failed, see above", file=sys.stderr)
        return 1
    truth = sequence(given.ground_truth, tracks)
    for name, value in scores([truth], {TRACKER: {truth.name: tracks}})[TRACKER].items():
        print(f"{name:<16}{value:>8.1f}" if name[0].isupper() else f"{name:<16}{value:>8.0f}")
    print(tracks)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except pipeline.PipelineError as error:
        sys.exit(f"evaluate: {error}")
