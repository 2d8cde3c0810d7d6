"""Compares what our elements find with what the models' own libraries find, for models of many families. Started by
scripts/evaluate zoo.

    python3 tools zoo --reference PYTHON [--keep] [CASE...]

PYTHON is one that has the libraries, or some of them (tools/cudainfer_tools/zoo/requirements.txt); what it lacks is left out. It exports the
models with random weights, or takes those that a package ships, and runs their own post-processing on 20 frames: of vtest.avi,
of a face, of text. Our side runs the exported file in a pipeline on the CPU. The rows of what ran go to
benches/results/zoo.json, from which docs/models.md is made. Without CASE, words of names, everything runs, and rows of what
did not run leave the file. --keep takes models that were exported before.

    python3 tools zoo --fused [--compare] [CASE...]

asks the engine fused which of the exported models it takes, for benches/results/zoo-fused.json and the same page; --compare has the
engine's reference compute them as well. Without CASE, all.

    python3 tools zoo --speed [--take FILE] [CASE...]

measures how many frames a second the exported models' pipelines take on this machine's CPU, for benches/results/zoo-speed.json and the
same page. --take adds the rows of FILE instead, which a GPU machine has written (tools/cudainfer_tools/zoo/speed/gpu.py).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from cudainfer_tools import pipeline, repository
from cudainfer_tools.repository import ROOT
from cudainfer_tools.zoo import fused, objects, ours
from cudainfer_tools.zoo.objects import Masks
from cudainfer_tools.zoo.page import page
from cudainfer_tools.zoo.speed import cpu
from cudainfer_tools.zoo.speed import rows as speed
from cudainfer_tools.zoo.verdict import FAR, Verdict, compare, compare_masks, compare_samples

OUT = ROOT / "out" / "evaluate" / "zoo"
VIDEOS = {"street": ("vtest.avi", 39), "close-up": ("carphone.mp4", 5)}
RESULTS = ROOT / "benches" / "results" / "zoo.json"
PAGE = ROOT / "docs" / "models.md"
FRAMES = 20
# A case with fewer results on all frames together proves nothing.
FEWEST = 20


def decode(video: Path, file: Path, every: int) -> None:
    """20 frames of a video as RGB, `[20, H, W, 3]`."""
    raw = file.with_suffix(".rgb")
    line = ["filesrc", f"location={video}", "!", "decodebin", "!", "videoconvert", "!", "video/x-raw,format=RGB", "!"]
    shown = pipeline.launched([*line, "fakesink", "num-buffers=1"], "-v").stdout
    width, height = (int(shown.rpartition(f"{side}=(int)")[2].split(",")[0].split()[0]) for side in ("width", "height"))
    pipeline.run([*line, "filesink", f"location={raw}"])
    np.save(file, np.fromfile(raw, np.uint8).reshape(-1, height, width, 3)[::every][:FRAMES])
    raw.unlink()


def frames() -> Path:
    """The frames of the street; those of the face lie beside them."""
    OUT.mkdir(parents=True, exist_ok=True)
    for name, (video, every) in VIDEOS.items():
        if not (OUT / f"{name}.npy").exists():
            decode(ROOT / ".cache" / "video" / video, OUT / f"{name}.npy", every)
    return OUT / "street.npy"


def judge(folder: Path) -> tuple[dict, Verdict]:
    """The case in this folder, and how far our results are from the library's."""
    case = json.loads((folder / "case.json").read_text())
    try:
        if case["mask_classes"]:
            wanted = np.load(folder / "masks.npz")
            return case, compare_masks(wanted["masks"], wanted["tied"], ours.masks(folder, case))
        if case["greatest"]:
            wanted = np.load(folder / "samples.npz")["samples"]
            return case, compare_samples(wanted, ours.samples(folder, case, wanted.size), case["greatest"])
        rotated = any("corners" in one for frame in case["expected"] for one in frame)
        found = [ours.results(record, rotated) for record in ours.published(folder, case)]
        pairs: list[list[tuple[int, int]]] = []
        verdict = compare(case["expected"], found, max(FAR, 2 * case["pixels"]), pairs)
        if (folder / "objects.npz").exists():
            line = [*ours.pipeline_of(folder, case), *ours.elements_of(folder, case)]
            shape = tuple(np.load(folder / "objects.npz")["shape"].tolist())
            verdict.see(objects.compare(folder, objects.found(line, folder / "objects", case["size"], shape), pairs))
        if verdict.unmatched and case["exact"]:
            exact = compare(case["exact"], found)
            if exact.unmatched == 0:
                exact.ties = verdict.unmatched
                exact.see(Masks(verdict.overlap, verdict.other_samples, verdict.samples, verdict.compared))
                return case, exact
        return case, verdict
    except (pipeline.PipelineError, ValueError) as error:
        expected = sum(map(len, case["expected"]))
        return case, Verdict(expected, 0, expected, 0.0, 0.0, error=str(error))


def write_page(rows: list[dict]) -> None:
    """Writes docs/models.md anew."""
    in_fused = json.loads(fused.RESULTS.read_text()) if fused.RESULTS.exists() else []
    PAGE.write_text(page(rows, in_fused, speed.read()))


def write_speeds(words: list[str], taken: Path | None) -> None:
    """Measures frame rates here, or takes over those of another file."""
    if taken is None:
        cpu.measure(OUT, words, lambda row: print(f"{row['case']:<28}{row.get('fps', row.get('why'))}", flush=True))
        return
    runs = speed.read()
    speed.take(runs, speed.read(taken))
    speed.write(runs)


def kind_of(case: dict) -> str:
    """What is counted of a case."""
    return "cells" if case["mask_classes"] else "samples" if case["greatest"] else "results"


def row(name: str, case: dict, verdict: Verdict) -> dict:
    """What the results file keeps of a case."""
    kept = ("library", "elements", "preprocessing", "sidecar", "declared_by", "note", "weights", "unread")
    figures = {key: round(value, 6) if isinstance(value, float) else value for key, value in vars(verdict).items()}
    allowed = {"pixels": case["pixels"], "scores": case["scores"], "overlap": case["overlap"]}
    holds = verdict.holds(case)
    return {"case": name, "holds": holds, "allowed": allowed, "kind": kind_of(case), **{k: case[k] for k in kept}, **figures}


def words(one: dict) -> str:
    """The line that is printed of a row."""
    verdict = "ok" if one["holds"] else "not read" if one["unread"] else "BAD"
    counts = f"{one['found']:>7} of {one['expected']:<7} unmatched {one['unmatched']:<5} ties {one['ties']:<3}"
    masks = f"masks {one['overlap']:.4f} ({one['other_samples']} of {one['samples']}) " if one["compared"] else ""
    return f"{one['case']:<28}{verdict:<9}{counts} {one['pixels']:.3f} px {one['scores']:.1e} {masks}{one['error']}"


def merged(before: list[dict], found: dict[str, dict]) -> list[dict]:
    """The rows of before with what ran in their places, and new ones, by library."""
    rows = {one["case"]: one for one in before} | found
    return sorted(rows.values(), key=lambda one: one["library"].split()[0])


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/evaluate zoo", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--reference", metavar="PYTHON", help="a Python with the models' libraries")
    parser.add_argument("--keep", action="store_true", help="take the models that were exported before")
    parser.add_argument("--page", action="store_true", help="only write docs/models.md anew from the results file")
    parser.add_argument("--fused", action="store_true", help="only ask the engine fused which of the exported models it takes")
    parser.add_argument("--compare", action="store_true", help="with --fused: compare what it computes with ONNX Runtime")
    parser.add_argument("--speed", action="store_true", help="only measure the exported models' pipelines on this CPU")
    parser.add_argument("--take", type=Path, metavar="FILE", help="with --speed: take over what a GPU machine has measured")
    parser.add_argument("cases", nargs="*", metavar="CASE", help="only the cases whose names contain one of these words")
    given = parser.parse_args()
    before = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    if given.fused:
        fused.count(OUT, given.cases, given.compare)
    if given.speed:
        write_speeds(given.cases, given.take)
    if given.page or given.fused or given.speed:
        write_page(before)
        return 0
    if not given.reference:
        parser.error("--reference PYTHON is needed: a Python with the models' libraries, or some of them")
    street = frames()
    keep = "--keep" if given.keep else "--anew"
    command = repository.command("zoo.cases", keep, OUT, street, *given.cases, python=given.reference)
    environment = os.environ | {"YOLO_AUTOINSTALL": "false", "YOLO_OFFLINE": "true"}
    found, failed = {}, []
    with (OUT / "export.log").open("w") as log:
        made = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, env=environment, cwd=OUT, text=True)
        assert made.stdout is not None
        for text in made.stdout:
            if not text.startswith("{"):
                continue
            line = json.loads(text)
            if "missing" in line:
                print(f"{line['library']}: left out, it is not in that Python ({line['missing']})", flush=True)
            elif "error" in line:
                failed.append(line["case"])
                print(f"{line['case']:<28}not exported: {line['error']} (see {OUT}/export.log)", flush=True)
            else:
                case, result = judge(OUT / line["case"])
                if result.expected < FEWEST and not result.error:
                    result.error = f"only {result.expected} results, which prove nothing"
                found[line["case"]] = row(line["case"], case, result)
                print(words(found[line["case"]]), flush=True)
                # Libraries may end the process; what was measured is kept.
                rows = merged(before if given.cases else [], found)
                RESULTS.write_text(json.dumps(rows, indent=1) + "\n")
                write_page(rows)
    if made.wait() != 0:
        raise pipeline.PipelineError(f"the export failed: see {OUT}/export.log")
    good = sum(one["holds"] for one in found.values())
    print(f"{good} of {len(found)} equal to their own library's; {RESULTS.relative_to(ROOT)}, {PAGE.relative_to(ROOT)}")
    return 0 if good == len(found) and not failed else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except pipeline.PipelineError as error:
        sys.exit(f"evaluate: {error}")
