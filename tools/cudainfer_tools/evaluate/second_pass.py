"""What a second pass over finished tracks is worth (second-pass of inferpublish). Started by scripts/evaluate second-pass.

    python3 tools evaluate.second_pass DIR [--results FOLDER]

DIR has a folder a sequence: det/det.txt, gt/gt.txt and seqinfo.ini. The tracks of each algorithm are scored as they are, with gaps filled, and
with tracks joined as well. For each sequence, the two gaps are also chosen on all others, by the mean of HOTA, and tried on it: that says what
the defaults owe to these sequences. The figures go to second-pass.json in FOLDER (default: benches/results).
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from cudainfer_tools import machine, pipeline
from cudainfer_tools.evaluate.left_out import interval
from cudainfer_tools.evaluate.mot_scores import Sequence, scores, sequence
from cudainfer_tools.evaluate.tracks import ALGORITHMS
from cudainfer_tools.repository import ROOT
from cudainfer_tools.tune_tracker import EXAMPLE

NONE, FILL, JOIN = "none", "fill", "join"
# The gaps that are filled and joined over by default, in frames: kernels/src/track/second_pass/mod.rs.
DEFAULT = (8, 15)
TRIED = [(fill, join) for fill in (0, 4, 8, 12, 20, 30) for join in (0, 5, 10, 15, 20, 30)]
KEPT = ("HOTA", "DetA", "AssA", "MOTA", "IDF1", "switches", "false positives", "misses")


def run(program: Path, *arguments: str | Path) -> str:
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise pipeline.PipelineError(f"{program} failed: {done.stderr.strip()}")
    return done.stdout


def passed(program: Path, tracks: Path, kind: str, gaps: tuple[int, int], out: Path) -> Path:
    """The file of what the second pass makes of a file of tracks."""
    if kind == NONE:
        return tracks
    fill, join = map(str, gaps)
    out.write_text(run(program, "--second-pass", kind, "--fill-gap", fill, "--join-gap", join, tracks))
    return out


def rounded(found: dict[str, float]) -> dict[str, float]:
    return {name: round(found[name], 3) for name in KEPT}


def before_and_after(program: Path, sequences: list[Sequence], tracks: dict[str, dict[str, Path]], folder: Path) -> dict:
    """TrackEval's figures by algorithm and pass, over all sequences together."""
    files = {
        f"{algorithm} {kind}": {
            name: passed(program, file, kind, DEFAULT, folder / f"{algorithm}-{kind}-{name}.txt") for name, file in of.items()
        }
        for algorithm, of in tracks.items()
        for kind in (NONE, FILL, JOIN)
    }
    found = scores(sequences, files)
    return {algorithm: {kind: rounded(found[f"{algorithm} {kind}"]) for kind in (NONE, FILL, JOIN)} for algorithm in tracks}


def by_sequence(program: Path, sequences: list[Sequence], tracks: dict[str, Path], folder: Path) -> dict[str, dict]:
    """For each sequence the figures of `auto` as it is, and with every pair of gaps."""
    found = {}
    for one in sequences:
        files = {NONE: {one.name: tracks[one.name]}}
        for gaps in TRIED:
            out = folder / f"{one.name}-{gaps[0]}-{gaps[1]}.txt"
            files[words(gaps)] = {one.name: passed(program, tracks[one.name], JOIN, gaps, out)}
        found[one.name] = scores([one], files)
        print(f"{one.name}: HOTA {found[one.name][NONE]['HOTA']:.1f}, {found[one.name][words(DEFAULT)]['HOTA']:.1f}", flush=True)
    return found


def words(gaps: tuple[int, int]) -> str:
    """As properties of inferpublish."""
    return f"fill-gap={gaps[0]} join-gap={gaps[1]}"


def left_out(found: dict[str, dict]) -> list[dict]:
    """For each sequence the gaps that are best on all others, and what they and the defaults reach on it."""
    rows = []
    for name, of in found.items():
        others = [theirs for other, theirs in found.items() if other != name]
        # Of equals the first that was tried.
        best = max(map(words, TRIED), key=lambda tried: sum(theirs[tried]["HOTA"] for theirs in others))
        kinds = {"before": of[NONE], "after": of[words(DEFAULT)], "chosen on the others": of[best]}
        figures = {who: {metric: round(one[metric], 3) for metric in ("HOTA", "IDF1")} for who, one in kinds.items()}
        rows.append({"name": name, "chosen": best, "figures": figures})
    return rows


def gains(rows: list[dict]) -> dict[str, dict[str, dict[str, float]]]:
    """By how much each is above what was before, as a mean over sequences with its interval."""
    made: dict[str, dict[str, dict[str, float]]] = {}
    for who in ("after", "chosen on the others"):
        for metric in ("HOTA", "IDF1"):
            more = [row["figures"][who][metric] - row["figures"]["before"][metric] for row in rows]
            low, high = interval(more)
            values = {"mean": sum(more) / len(more), "low": low, "high": high}
            made.setdefault(who, {})[metric] = {name: round(value, 2) for name, value in values.items()}
    return made


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/evaluate second-pass", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--results", type=Path, default=ROOT / "benches" / "results", metavar="FOLDER")
    given = parser.parse_args()
    folders = sorted(path.parent.parent for path in given.folder.glob("*/det/det.txt"))
    if len(folders) < 3:
        parser.error(
            f"'{given.folder}' has {len(folders)} folders with det/det.txt: to leave one out and choose on others, 3 are needed"
        )
    if lacking := next((path for path in folders if not (path / "gt" / "gt.txt").is_file()), None):
        parser.error(f"'{lacking}' has no gt/gt.txt")
    subprocess.run(EXAMPLE, cwd=ROOT, check=True)
    program = pipeline.built() / "examples" / "mot"
    sequences = [sequence(path) for path in folders]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        tracks: dict[str, dict[str, Path]] = {algorithm: {} for algorithm in ALGORITHMS}
        for algorithm, of in tracks.items():
            for path, one in zip(folders, sequences, strict=True):
                of[one.name] = folder / f"{algorithm}-{one.name}.txt"
                of[one.name].write_text(run(program, "--algorithm", algorithm, path / "det" / "det.txt"))
        together = before_and_after(program, sequences, tracks, folder)
        rows = left_out(by_sequence(program, sequences, tracks["auto"], folder))
    result = {
        "commit": machine.commit(),
        "trackeval": importlib.metadata.version("trackeval"),
        "defaults": words(DEFAULT),
        "together": together,
        "sequences": rows,
        "gains": gains(rows),
    }
    for algorithm, kinds in together.items():
        for kind, of in kinds.items():
            print(f"{algorithm:<10}{kind:<6}" + "  ".join(f"{name} {value:.1f}" for name, value in of.items()))
    print(json.dumps(result["gains"]))
    file = given.results / "second-pass.json"
    file.write_text(json.dumps(result, indent=1) + "\n")
    print(file)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except pipeline.PipelineError as error:
        sys.exit(f"evaluate: {error}")
