"""Finds the parameters of the element `tracker` for a labelled clip. Started by scripts/autotune tracker.

A few hundred settings are tried, by HOTA of TrackEval. What is printed to paste is the best on the whole clip; what that is worth on
other pictures is shown by the clip's halves: the best on one is tried on the other.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path

from cudainfer_tools import machine, pipeline
from cudainfer_tools.evaluate.mot_scores import Sequence, scores
from cudainfer_tools.evaluate.tracks import OUT, run_line
from cudainfer_tools.repository import ROOT
from cudainfer_tools.tune_tracker import EXAMPLE
from cudainfer_tools.tune_tracker.clip import Clip, read, truth_file
from cudainfer_tools.tune_tracker.search import Setting, search, setting, words
from cudainfer_tools.tune_tracker.trials import Trials, track

# The clips of the trials.
HALVES, WHOLE = (0, 1), 2
DEFAULT = setting({"algorithm": "auto"})
DETECTIONS = {".txt", ".csv", ".jsonl"}
SHOWN = ("HOTA", "DetA", "AssA", "MOTA", "IDF1", "switches")


def left_out(trials: Trials) -> list[tuple[Setting, float]]:
    """For each half what was chosen on the other one, and by how much more HOTA that has than the default."""
    found = []
    for half in HALVES:
        chosen = search(trials.by(1 - half))
        before, after = trials.by(half)([DEFAULT, chosen])
        found.append((chosen, after - before))
    return found


def whole(clip: Clip, truth: Path, program: Path, tried: list[Setting]) -> list[dict[str, float]]:
    """TrackEval's figures of settings on the clip from its beginning to its end."""
    sequence = Sequence("clip", truth, clip.frames)
    with tempfile.TemporaryDirectory() as folder:
        files = {str(number): {"clip": file} for number, file in enumerate(track(program, clip, tried, Path(folder)))}
        return list(scores([sequence], files).values())


def verdict(gains: list[float]) -> str:
    """What the left-out halves say."""
    mean = sum(gains) / len(gains)
    if min(gains) > 0:
        return f"Both confirm a gain: on other pictures of this camera, expect about {mean:+.1f} HOTA."
    if mean > 0:
        return f"Only one of them gains: on other pictures of this camera, {mean:+.1f} HOTA may be chance. Label a longer clip to be sure."
    return (
        "On average they gain nothing: what fits this clip does not fit its other half. Keep the defaults, or label a longer clip."
    )


def detections_of(source: Path, values: dict[str, str]) -> Path:
    """The file of detections; those of a video are found by detect-track."""
    if source.suffix in DETECTIONS:
        return source
    OUT.mkdir(parents=True, exist_ok=True)
    results = OUT / f"{source.stem}.jsonl"
    results.unlink(missing_ok=True)
    run_line(source.absolute(), results, values=values)
    return results


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/autotune tracker", description=__doc__.splitlines()[0])
    parser.add_argument(
        "source", type=Path, metavar="VIDEO|DETECTIONS", help="a video, det.txt of the MOTChallenge, or records (.jsonl)"
    )
    parser.add_argument("--ground-truth", type=Path, required=True, metavar="GT", help="gt.txt of the MOTChallenge, or its folder")
    parser.add_argument("--classes", default="", metavar="NAME,NAME", help="of records: the classes of the ground truth")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="for a video: what detect-track uses, such as model=FILE",
    )
    return parser.parse_args()


def main() -> None:
    given = arguments()
    begun = time.monotonic()
    truth = truth_file(given.ground_truth)
    if not given.source.is_file():
        raise pipeline.PipelineError(f"there is no file '{given.source}'")
    detections = detections_of(given.source, pipeline.values(given.set))
    clip = read(detections, truth, [name for name in given.classes.split(",") if name])
    subprocess.run(EXAMPLE, cwd=ROOT, check=True)
    program = pipeline.built() / "examples" / "mot"
    with Trials((*clip.halves(), clip), program) as trials:
        chosen = search(trials.by(WHOLE))
        tried_on_others = left_out(trials)
    figures = dict(zip(("defaults", "chosen"), whole(clip, truth, program, [DEFAULT, chosen]), strict=True))
    print(f"{trials.settings()} settings in {time.monotonic() - begun:.0f} s\n")
    print(f"{'':<10}" + "".join(f"{name:>10}" for name in SHOWN))
    for who, found in figures.items():
        print(f"{who:<10}" + "".join(f"{found[name]:>10.{0 if name == 'switches' else 1}f}" for name in SHOWN))
    gain = figures["chosen"]["HOTA"] - figures["defaults"]["HOTA"]
    if chosen == DEFAULT or gain <= 0:
        print("\nNothing is better on this clip than the defaults: tracker")
    else:
        count = len(set(chosen) - set(DEFAULT))
        print(f"\n{gain:+.1f} HOTA on this clip, for which {count} of the defaults change:\n\n  tracker {words(chosen)}")
    gains = [more for _, more in tried_on_others]
    print("\nThe halves of the clip, each with what was chosen on the other one:")
    for name, (other, more) in zip(("first", "second"), tried_on_others, strict=True):
        print(f"  {name:<7}{more:+.1f} HOTA   {words(other)}")
    print(verdict(gains))
    name = given.source.parent.parent.name if given.source.name == "det.txt" else given.source.stem
    result = {
        "commit": machine.commit(),
        "clip": name,
        "frames": clip.frames,
        "settings": trials.settings(),
        "figures": {who: {metric: round(value, 3) for metric, value in of.items()} for who, of in figures.items()},
        "chosen": words(chosen),
        "left out": [{"chosen": words(other), "HOTA": round(more, 3)} for other, more in tried_on_others],
    }
    out = ROOT / "out" / f"autotune-tracker-{name}.json"
    out.parent.mkdir(exist_ok=True)
    out.write_text(json.dumps(result, indent=1) + "\n")
    print(f"\n{out}")


if __name__ == "__main__":
    # Not pipeline.start, which changes the working directory: files are named from the user's.
    try:
        main()
    except pipeline.PipelineError as error:
        raise SystemExit(f"autotune: {error}") from None
    except subprocess.CalledProcessError as error:
        raise SystemExit(f"autotune: {error.cmd[0]} failed, see above") from None
