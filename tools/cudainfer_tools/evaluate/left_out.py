"""How good tracking is on sequences that took no part in choosing parameters, beside other trackers. Started by scripts/evaluate tracker
--left-out.

    python3 tools evaluate.left_out DIR [--results FOLDER]

DIR has a folder a sequence: det/det.txt, gt/gt.txt and seqinfo.ini. For each sequence, parameters are chosen on all others, from the same
values as scripts/autotune tracker does, and tried on it; `auto` is tried as it is. Differences are paired by sequence, with the interval in
which 95 % of the means of resampled sequences lie. The figures go to left-out.json in FOLDER (default: benches/results).
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from cudainfer_tools import machine, pipeline
from cudainfer_tools.evaluate.mot import REFERENCES, by_reference
from cudainfer_tools.evaluate.mot_scores import Sequence, read_mot, scores
from cudainfer_tools.evaluate.tracks import ALGORITHMS
from cudainfer_tools.repository import ROOT
from cudainfer_tools.tune_tracker import EXAMPLE
from cudainfer_tools.tune_tracker.clip import Clip, read
from cudainfer_tools.tune_tracker.search import Setting, search, setting, words
from cudainfer_tools.tune_tracker.trials import Trials, track

KEPT = ("HOTA", "IDF1")
RESAMPLED = 10_000
SEED = 1
CHOSEN = "chosen"


def interval(differences: list[float]) -> tuple[float, float]:
    """The 2.5th and the 97.5th of a hundred means of as many sequences, drawn from these with replacement."""
    chance = np.random.default_rng(SEED)
    drawn = chance.choice(differences, (RESAMPLED, len(differences)))
    low, high = np.percentile(drawn.mean(axis=1), (2.5, 97.5))
    return float(low), float(high)


def choices(trials: Trials) -> list[Setting]:
    """For each clip what is best on all others."""
    numbers = range(len(trials.clips))
    return [search(trials.by(*(number for number in numbers if number != left))) for left in numbers]


def figures(name: str, clip: Clip, folder: Path, chosen: Setting, program: Path) -> dict[str, dict[str, float]]:
    """TrackEval's figures of our algorithms, of what was chosen without this sequence, and of other packages' trackers."""
    ours = [setting({"algorithm": algorithm}) for algorithm in ALGORITHMS]
    with tempfile.TemporaryDirectory() as place:
        files = dict(zip([*ALGORITHMS, CHOSEN], track(program, clip, [*ours, chosen], Path(place)), strict=True))
        for theirs in REFERENCES.values():
            files[theirs] = Path(place) / f"{theirs}.txt"
            files[theirs].write_text("".join(by_reference(theirs, read_mot(folder / "det" / "det.txt"), clip.frames)))
        sequence = Sequence(name, folder / "gt" / "gt.txt", clip.frames)
        found = scores([sequence], {who: {name: file} for who, file in files.items()})
    return {who: {metric: round(of[metric], 3) for metric in KEPT} for who, of in found.items()}


def summary(rows: list[dict]) -> dict[str, dict[str, dict[str, float]]]:
    """For each tracker and figure the mean over sequences, and by how much `auto` is above it, with the interval."""
    made: dict[str, dict[str, dict[str, float]]] = {}
    for who in rows[0]["figures"]:
        made[who] = {}
        for metric in KEPT:
            theirs = [row["figures"][who][metric] for row in rows]
            more = [row["figures"]["auto"][metric] - value for row, value in zip(rows, theirs, strict=True)]
            low, high = interval(more)
            values = {"mean": float(np.mean(theirs)), "auto above": float(np.mean(more)), "low": low, "high": high}
            made[who][metric] = {name: round(value, 2) for name, value in values.items()}
    return made


def lines(result: dict) -> list[str]:
    """What is printed."""
    made = [f"{'':<18}{'HOTA':>7}{'auto above it':>26}{'IDF1':>9}{'auto above it':>26}"]
    for who, of in result["summary"].items():
        cells = [f"{one['mean']:>7.1f}{one['auto above']:>+10.1f} ({one['low']:+.1f} to {one['high']:+.1f})" for one in of.values()]
        made.append(f"{who:<18}" + "  ".join(f"{cell:<33}" for cell in cells).rstrip())
    return made


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/evaluate tracker --left-out", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--results", type=Path, default=ROOT / "benches" / "results", metavar="FOLDER")
    given = parser.parse_args()
    folders = sorted(path.parent.parent for path in given.folder.glob("*/det/det.txt"))
    if len(folders) < 3:
        parser.error(
            f"'{given.folder}' has {len(folders)} folders with det/det.txt: to leave one out and choose on others, 3 are needed"
        )
    clips = tuple(read(folder / "det" / "det.txt", folder, []) for folder in folders)
    subprocess.run(EXAMPLE, cwd=ROOT, check=True)
    program = pipeline.built() / "examples" / "mot"
    with Trials(clips, program) as trials:
        chosen = choices(trials)
        tried = trials.settings()
    rows = []
    for folder, clip, one in zip(folders, clips, chosen, strict=True):
        found = figures(folder.name, clip, folder, one, program)
        rows.append({"name": folder.name, "frames": clip.frames, "chosen": words(one), "figures": found})
        print(
            f"{folder.name}: auto {found['auto']['HOTA']}, chosen on the others {found[CHOSEN]['HOTA']}: {words(one)}", flush=True
        )
    versions = {name: importlib.metadata.version(name) for name in ("trackers", "trackeval")}
    result = {"commit": machine.commit(), **versions, "settings": tried, "sequences": rows, "summary": summary(rows)}
    for line in lines(result):
        print(line)
    file = given.results / "left-out.json"
    file.write_text(json.dumps(result, indent=1) + "\n")
    print(file)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except pipeline.PipelineError as error:
        sys.exit(f"evaluate: {error}")
