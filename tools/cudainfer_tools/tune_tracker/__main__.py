"""Finds the parameters of the element `tracker` for a labelled clip. Started by scripts/autotune tracker.

A few hundred settings are tried, by HOTA of TrackEval; of poses, by IDF1. What is printed to paste is the best on the whole clip; what that is worth on
other pictures is shown by the clip's halves: the best on one is tried on the other.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cudainfer_tools import machine, pipeline
from cudainfer_tools.evaluate.mot_scores import Sequence, scores
from cudainfer_tools.evaluate.tracks import OUT, run_line
from cudainfer_tools.repository import ROOT
from cudainfer_tools.tune_tracker import EXAMPLE, pose_trials, poses
from cudainfer_tools.tune_tracker.clip import Clip, read, truth_file
from cudainfer_tools.tune_tracker.search import Score, Setting, search, setting, words
from cudainfer_tools.tune_tracker.trials import Trials, track

# The clips of the trials.
HALVES, WHOLE = (0, 1), 2
DEFAULT = setting({"algorithm": "auto"})
# What poses are tracked by, whatever else is set.
POSES = {"similarity": "oks"}
DEFAULT_OF_POSES = setting({"algorithm": "auto", **POSES})
DETECTIONS = {".txt", ".csv", ".jsonl"}
SHOWN = ("HOTA", "DetA", "AssA", "MOTA", "IDF1", "switches")


@dataclass(frozen=True)
class Found:
    """What is better than the default, by which figure, and what the left-out halves say."""

    metric: str
    shown: tuple[str, ...]
    default: Setting
    chosen: Setting
    # By "defaults" and "chosen".
    figures: dict[str, dict[str, float]]
    left_out: list[tuple[Setting, float]]


def left_out(by: Callable[[int], Score], find: Callable[[Score], Setting], default: Setting) -> list[tuple[Setting, float]]:
    """For each half what was chosen on the other one, and by how much better that is than the default."""
    found = []
    for half in HALVES:
        chosen = find(by(1 - half))
        before, after = by(half)([default, chosen])
        found.append((chosen, after - before))
    return found


def whole(clip: Clip, truth: Path, program: Path, tried: list[Setting]) -> list[dict[str, float]]:
    """TrackEval's figures of settings on the clip from its beginning to its end."""
    sequence = Sequence("clip", truth, clip.frames)
    with tempfile.TemporaryDirectory() as folder:
        files = {str(number): {"clip": file} for number, file in enumerate(track(program, clip, tried, Path(folder)))}
        return list(scores([sequence], files).values())


def verdict(gains: list[float], metric: str = "HOTA") -> str:
    """What the left-out halves say."""
    mean = sum(gains) / len(gains)
    if min(gains) > 0:
        return f"Both confirm a gain: on other pictures of this camera, expect about {mean:+.1f} {metric}."
    if mean > 0:
        return f"Only one of them gains: on other pictures of this camera, {mean:+.1f} {metric} may be chance. Label a longer clip to be sure."
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
        "source",
        type=Path,
        metavar="VIDEO|DETECTIONS",
        help="a video, det.txt of the MOTChallenge, records (.jsonl), or SLEAP's table of poses (.csv)",
    )
    parser.add_argument(
        "--ground-truth",
        type=Path,
        required=True,
        metavar="GT",
        help="gt.txt of the MOTChallenge or its folder; of poses a table of SLEAP, or records, with identities",
    )
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
    if given.ground_truth.suffix in poses.SUFFIXES:
        tune_poses(given, begun)
        return
    truth = truth_file(given.ground_truth)
    if not given.source.is_file():
        raise pipeline.PipelineError(f"there is no file '{given.source}'")
    detections = detections_of(given.source, pipeline.values(given.set))
    clip = read(detections, truth, [name for name in given.classes.split(",") if name])
    subprocess.run(EXAMPLE, cwd=ROOT, check=True)
    program = pipeline.built() / "examples" / "mot"
    with Trials((*clip.halves(), clip), program) as trials:
        chosen = search(trials.by(WHOLE))
        tried_on_others = left_out(trials.by, search, DEFAULT)
    figures = dict(zip(("defaults", "chosen"), whole(clip, truth, program, [DEFAULT, chosen]), strict=True))
    name = given.source.parent.parent.name if given.source.name == "det.txt" else given.source.stem
    result = {"clip": name, "frames": clip.frames, "settings": trials.settings()}
    report(Found("HOTA", SHOWN, DEFAULT, chosen, figures, tried_on_others), result, f"autotune-tracker-{name}", begun)


def tune_poses(given: argparse.Namespace, begun: float) -> None:
    if given.source.suffix not in poses.SUFFIXES:
        raise pipeline.PipelineError(
            f"'{given.source}' is no file of poses, and the ground truth '{given.ground_truth}' has poses: write them first, as with "
            "scripts/run pose-topdown json=poses.jsonl, and name that file"
        )
    clip = poses.read(given.source, given.ground_truth)
    subprocess.run([*EXAMPLE[:-1], "identities"], cwd=ROOT, check=True)
    program = pipeline.built() / "examples" / "identities"
    with tempfile.TemporaryDirectory() as folder:
        trials = pose_trials.PoseTrials((*clip.halves(), clip), program, Path(folder))

        def find(score: Score) -> Setting:
            return search(score, POSES, pose_trials.tried(clip), pose_trials.LEAST_GAIN)

        chosen = find(trials.by(WHOLE))
        tried_on_others = left_out(trials.by, find, DEFAULT_OF_POSES)
        reached = [one.figures() for one in trials.of([DEFAULT_OF_POSES, chosen], WHOLE)]
    figures = dict(zip(("defaults", "chosen"), reached, strict=True))
    name = given.source.stem
    result = {"clip": name, "frames": len(clip.found), "animals": len(clip.identities), "settings": trials.settings()}
    found = Found("IDF1", tuple(reached[0]), DEFAULT_OF_POSES, chosen, figures, tried_on_others)
    report(found, result, f"autotune-poses-{name}", begun)


def report(found: Found, result: dict, file: str, begun: float) -> None:
    """Prints what was found, and writes it to a file beside what `result` has."""
    metric, chosen, figures = found.metric, found.chosen, found.figures
    print(f"{result['settings']} settings in {time.monotonic() - begun:.0f} s\n")
    print(f"{'':<10}" + "".join(f"{name:>12}" for name in found.shown))
    for who, reached in figures.items():
        print(f"{who:<10}" + "".join(f"{reached[name]:>12.{0 if name.islower() else 1}f}" for name in found.shown))
    gain = figures["chosen"][metric] - figures["defaults"][metric]
    if chosen == found.default or gain <= 0:
        defaults = " ".join(["tracker", *(f"{name}={value}" for name, value in found.default if name != "algorithm")])
        print(f"\nNothing is better on this clip than the defaults: {defaults}")
    else:
        count = len(set(chosen) - set(found.default))
        print(f"\n{gain:+.1f} {metric} on this clip, for which {count} of the defaults change:\n\n  tracker {words(chosen)}")
    gains = [more for _, more in found.left_out]
    print("\nThe halves of the clip, each with what was chosen on the other one:")
    for name, (other, more) in zip(("first", "second"), found.left_out, strict=True):
        print(f"  {name:<7}{more:+.1f} {metric}   {words(other)}")
    print(verdict(gains, metric))
    result = {
        "commit": machine.commit(),
        **result,
        "figures": {who: {metric: round(value, 3) for metric, value in of.items()} for who, of in figures.items()},
        "chosen": words(chosen),
        "left out": [{"chosen": words(other), metric: round(more, 3)} for other, more in found.left_out],
    }
    out = ROOT / "out" / f"{file}.json"
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
