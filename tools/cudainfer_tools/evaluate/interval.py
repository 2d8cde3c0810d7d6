"""Scores tracking where the model sees some frames only (interval of fusedpreproc), and how fast the pipeline is then: NanoDet on the CPU, on
videos of MOTChallenge sequences. Started by scripts/evaluate interval.

    python3 tools evaluate.interval FOLDER --video SEQUENCE=VIDEO... [--intervals 0,2,4] [--tracker PROPERTIES]

FOLDER has a folder for each sequence (gt/gt.txt, seqinfo.ini). The rows go to benches/results/interval.json, beside those of other sequences.
The frame rates are gst-launch's, from PLAYING to the end, and want a quiet machine.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

from cudainfer_tools import machine, pipeline
from cudainfer_tools.evaluate.mot_scores import scores, sequence
from cudainfer_tools.evaluate.tracks import mot_lines, tracking_line
from cudainfer_tools.repository import ROOT

RESULTS = ROOT / "benches/results/interval.json"
WAYS = ("flow", "motion", "none")
KEPT = ("HOTA", "DetA", "AssA", "MOTA", "IDF1", "switches")


def run(video: Path, results: Path, interval: int, properties: str) -> float:
    """Tracks a video by detect-track.launch up to inferpublish, whose lines go to a file. Returns the seconds from PLAYING to the end."""
    results.unlink(missing_ok=True)
    line = tracking_line(video, results, properties)
    line.insert(line.index("fusedpreproc") + 1, f"interval={interval}")
    done = pipeline.launched(line)
    seconds = pipeline.played(done.stdout)
    if done.returncode != 0 or seconds is None:
        raise pipeline.PipelineError(done.stderr.strip() or "the pipeline did not end")
    return seconds


def row(folder: Path, video: Path, interval: int, way: str, properties: str) -> dict:
    """The scores and the speed of a video with an interval; without one, `way` is empty."""
    with tempfile.TemporaryDirectory() as place:
        results, tracks = Path(place) / "objects.jsonl", Path(place) / "tracks.txt"
        seconds = run(video, results, interval, f"{properties} between={way}" if way else properties)
        lines = results.read_text().splitlines()
        tracks.write_text("".join(mot_lines(lines)))
        truth = sequence(folder, tracks)
        found = scores([truth], {"cudainfer": {truth.name: tracks}})["cudainfer"]
    kept = {name: round(found[name], 2) for name in KEPT}
    return {"sequence": folder.name, "interval": interval, "between": way, **kept, "fps": round(len(lines) / seconds, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/evaluate interval", description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--video", action="append", required=True, metavar="SEQUENCE=VIDEO")
    parser.add_argument("--intervals", default="0,2,4")
    parser.add_argument("--tracker", default="", metavar="PROPERTIES", help="further properties of the tracker")
    parser.add_argument("--results", type=Path, default=RESULTS)
    given = parser.parse_args()
    of = {"commit": machine.commit(), "processor": machine.processor(), "tracker": given.tracker}
    before = json.loads(given.results.read_text()) if given.results.exists() else []
    known = {(one["sequence"], one["interval"], one["between"], one["tracker"]): one for one in before}
    for text in given.video:
        name, _, video = text.partition("=")
        for interval in map(int, given.intervals.split(",")):
            for way in WAYS if interval else ("",):
                one = row(given.folder / name, Path(video), interval, way, given.tracker) | of
                known[name, interval, way, given.tracker] = one
                print(f"{name} interval={interval} {way:<7}", *(f"{key} {one[key]}" for key in (*KEPT, "fps")), flush=True)
                given.results.write_text(json.dumps([known[key] for key in sorted(known)], indent=1) + "\n")
    print(given.results)


if __name__ == "__main__":
    main()
