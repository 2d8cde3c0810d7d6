"""How good what is found is: tracks, poses, tiles, models of other libraries, the GPU against the CPU."""

from __future__ import annotations

import json
import re
from pathlib import Path

from cudainfer_tools.bench.report.markdown import source, table

SCORES = ["HOTA", "DetA", "AssA", "MOTA", "IDF1", "identity switches", "false positives", "misses"]


def scores(file: Path) -> list[str]:
    """The tables of scripts/evaluate mot: a heading a group of sequences, and a row a tracker."""
    lines, rows = [], []
    for line in [*file.read_text().splitlines()[1:], ""]:
        if ": all together" in line:
            names, _, note = line.partition(": all together")
            lines += ["", names + note + ":", ""]
        elif numbers := re.fullmatch(r" *(\w+)((?: +-?[\d.]+){8})", line):
            rows.append([f"`{numbers[1]}`", *numbers[2].split()])
        elif rows:
            lines += table(["tracker", *SCORES], rows)
            rows = []
        if goal := re.fullmatch(r"(\w+): (\w+) ([+-][\d.]+) against (.+) \(goal: at least (\S+)\): (\w+)", line):
            met = "met" if goal[6] == "met" else "**missed**"
            lines += [""] if lines[-1].startswith("|") else []
            lines.append(f"- `{goal[1]}`: {goal[2]} {goal[3]} against {goal[4]} (goal: at least {goal[5]}): {met}")
    return lines


def tracking(results: Path) -> list[str]:
    public, own = results / "mot-mot15.txt", results / "mot-vtest.txt"
    versions = public.read_text().splitlines()[0].split(", ", 1)[1]
    return [
        "### Tracking accuracy",
        "",
        f"Scored by TrackEval, beside the Python package `trackers` on the same detections ({versions}). Rows whose name ends",
        "in `Tracker` are of that package. MOT15 has no frames here, so that `botsort` sees no camera motion.",
        "",
        "#### The published detections of MOT15",
        *scores(public),
        "",
        source(public, script="scripts/evaluate mot mot15"),
        "",
        "#### NanoDet on vtest.avi",
        "",
        "vtest.avi is, frame for frame, the sequence PETS09-S2L1. The defaults of `iou` were chosen on this video.",
        *scores(own),
        "",
        source(own, script="scripts/evaluate mot mot15 --video PETS09-S2L1=vtest.avi"),
    ]


def second_pass(results: Path) -> list[str]:
    """Tracks before and after the second pass over a file."""
    file = results / "second-pass.json"
    if not file.exists():
        # As above.
        return []
    found = json.loads(file.read_text())
    kinds = {"none": "as tracker gives them", "fill": "`second-pass=fill`", "join": "`second-pass=join`"}
    rows = [
        [f"`{algorithm}`", kinds[kind], *(f"{value:.{0 if name[0].islower() else 1}f}" for name, value in of.items())]
        for algorithm, passes in found["together"].items()
        for kind, of in passes.items()
    ]
    chosen = [
        [one["name"], *(f"{of[metric]:.1f}" for metric in ("HOTA", "IDF1") for of in one["figures"].values()), f"`{one['chosen']}`"]
        for one in found["sequences"]
    ]

    def gain(who: str, metric: str) -> str:
        one = found["gains"][who][metric]
        return f"{one['mean']:+.1f} ({one['low']:+.1f} to {one['high']:+.1f})"

    return [
        "### A second pass over finished tracks",
        "",
        f"`second-pass` of inferpublish on the published detections of MOT15, {len(chosen)} sequences together (TrackEval {found['trackeval']}),",
        f"with the defaults `{found['defaults']}`.",
        "",
        *table(["tracker", "tracks", *SCORES], rows),
        "",
        "Sequence by sequence, of `auto`: before, after `second-pass=join`, and with the two gaps that are best on all other sequences (of",
        "36 pairs). The defaults and the constants of joining were chosen on these sequences; the last column says what gaps others would have",
        "chosen. Means over sequences, in brackets where 95 % of the means of resampled sequences lie: HOTA",
        f"{gain('after', 'HOTA')} with the defaults and {gain('chosen on the others', 'HOTA')} with what the others chose, IDF1",
        f"{gain('after', 'IDF1')} and {gain('chosen on the others', 'IDF1')}.",
        "",
        *table(
            [
                "sequence",
                "HOTA before",
                "after",
                "chosen on the others",
                "IDF1 before",
                "after",
                "chosen on the others",
                "which is",
            ],
            chosen,
        ),
        "",
        source(file, script="scripts/evaluate second-pass mot15"),
        "",
    ]


def tuned(results: Path) -> list[str]:
    """What scripts/autotune tracker gains on clips."""
    files = sorted(results.glob("autotune-tracker-*.json"))
    if not files:
        # As above.
        return []
    rows = []
    for file in files:
        found = json.loads(file.read_text())
        before, after = (found["figures"][who]["HOTA"] for who in ("defaults", "chosen"))
        halves = [f"{one['HOTA']:+.1f}" for one in found["left out"]]
        name = file.stem.removeprefix("autotune-tracker-")
        rows.append([name, found["frames"], found["settings"], f"{before:.1f}", f"{after:.1f}", *halves, f"`{found['chosen']}`"])
    head = ["clip", "frames", "settings tried", "HOTA, defaults", "HOTA, chosen", "gain on the first half, left out", "second"]
    return [
        "### A tracker tuned on a clip",
        "",
        "What `scripts/autotune tracker` finds for sequences of MOT15 and their published detections. The gain on a clip is that on the",
        "pictures that parameters were chosen on; a half is left out when they are chosen on the other one.",
        "",
        *table([*head, "which is"], rows),
        "",
        source(*files, script="scripts/autotune tracker mot15/SEQUENCE/det/det.txt --ground-truth mot15/SEQUENCE"),
        "",
    ]


def tuned_poses(results: Path) -> list[str]:
    """What scripts/autotune tracker gains on made videos of animals."""
    files = sorted(results.glob("autotune-poses-*.json"))
    if not files:
        return []
    rows = []
    for file in files:
        found = json.loads(file.read_text())
        before, after = (found["figures"][who] for who in ("defaults", "chosen"))
        halves = [f"{one['IDF1']:+.1f}" for one in found["left out"]]
        values = [f"{of['IDF1']:.1f} ({of['switches']:.0f}, {of['breaks']:.0f})" for of in (before, after)]
        rows.append([found["clip"], found["animals"], found["frames"], found["settings"], *values, *halves, f"`{found['chosen']}`"])
    head = ["video", "animals", "frames", "settings tried", "defaults: IDF1 (switches, breaks)", "chosen"]
    return [
        "### Poses tuned on a video",
        "",
        "What `scripts/autotune tracker` finds for made videos of animals ([identities](#identities) describes them), where the defaults are those of",
        "`tracker similarity=oks` without `max-tracks`. The halves as above.",
        "",
        *table([*head, "gain on the first half, left out", "second", "which is"], rows),
        "",
        source(
            *files,
            script="python3 tools evaluate.identity_tables FOLDER, scripts/autotune tracker FOLDER/VIDEO.csv --ground-truth FOLDER/VIDEO-labelled.csv",
        ),
        "",
    ]


def models(results: Path) -> list[str]:
    file = results / "zoo.json"
    rows = json.loads(file.read_text())
    equal = sum(row["holds"] for row in rows)
    libraries = ", ".join(dict.fromkeys(row["library"] for row in rows))
    in_fused = results / "zoo-fused.json"
    of_fused = json.loads(in_fused.read_text())
    taken = sum(row["taken"] for row in of_fused)
    return [
        "### Models of other libraries",
        "",
        f"{equal} of {len(rows)} models are read as their own libraries read them ({libraries}): [models.md](models.md) has each.",
        "",
        source(file, script="scripts/evaluate zoo --reference PYTHON"),
        "",
        f"The engine fused takes {taken} of {len(of_fused)} of them ([which](models.md#the-engine-fused)).",
        "",
        source(in_fused, script="scripts/evaluate zoo --fused"),
        "",
        "How fast they are is [there](models.md#frames-per-second), too.",
        "",
        source(results / "zoo-speed.json", script="scripts/evaluate zoo --speed"),
    ]


def poses(results: Path) -> list[str]:
    file = results / "pose-accuracy.txt"
    rows: list[list[str]] = []
    text, what = file.read_text(), ""
    for line in text.splitlines()[1:]:
        if first := re.fullmatch(r"(.+): (\d+) frames, (\d+) instances of the reference, (\d+) of ours", line):
            what, rows = first[1], [*rows, [first[1], first[2], first[3], first[4]]]
        elif same := re.search(r"in (\d+) of the (\d+) frames .* \(([\d.]+)%, goal (\S+): (\w+)\)", line):
            rows[-1] += [f"{same[1]} of {same[2]} ({same[3]} %)"]
        elif apart := re.search(r"by ([\d.]+) pixels \(median\), ([\d.]+) .*, ([\d.]+) \(most\)", line):
            rows[-1] += [apart[1], apart[2], apart[3]]
    if not what or any(len(row) != 8 for row in rows):
        raise ValueError(f"{file} is not as scripts/evaluate pose writes it")
    head = ["network and crops", "frames", "instances of the reference", "instances of cudainfer"]
    head += ["frames with the same instances, of those where the reference is stable"]
    head += ["distance of points, px: median", "99 of 100", "largest"]
    return [
        "### Pose accuracy",
        "",
        "Each point is compared with the reference's: sleap-nn's own functions for two flies (384x384), a NumPy version of the",
        "published algorithm for PoseNet (vtest.avi). A frame is stable where the reference finds the same instances with maps",
        "rounded to float16 and with thresholds changed by a twentieth. sleap-nn cuts crops at whole pixels, cudainfer where they",
        "are asked for: hence the distances in the rows with sleap-nn's crops.",
        "",
        *table(head, rows),
        "",
        source(file, script="scripts/evaluate pose --models sleap --video flies.mp4 --reference python"),
    ]


def sleap(results: Path) -> list[str]:
    """The tables of scripts/evaluate sleap: one for each size of frames."""
    file = results / "sleap-accuracy.txt"
    first, _, *lines = file.read_text().splitlines()
    rows: list[list[str]] = []
    size = ""
    form = (
        r"(.+) \((.+)\): (\d+) frames, (\d+) instances of sleap-nn, (\d+) of ours; (\d+) missing, (\d+) more, (\d+) points of one side only; "
        r"(\d+) points apart by ([\d.]+) px \(mean\), ([\d.]+) \(most\): (\w+)"
    )
    for line in lines:
        if re.fullmatch(r"\d+x\d+", line):
            size = line
        elif row := re.fullmatch(form, line):
            met = "met" if row[12] == "met" else "**missed**"
            rows.append([row[1], row[2], size, row[4], row[6], row[7], row[8], row[10], row[11], met])
        else:
            raise ValueError(f"{file} is not as scripts/evaluate sleap writes it: {line}")
    head = ["model", "written by", "frames", "instances of sleap-nn", "missing", "more", "points of one side only"]
    head += ["distance of points, px: mean", "largest", "goal (0.05 px, the same instances)"]
    versions = first.split(", ", 2)[2]
    return [
        "### SLEAP's models",
        "",
        f"Test networks of sleap-nn on two flies, against its own predictions on the same frames ({versions}): what scripts/export writes",
        "against the PyTorch path, what `sleap-nn export` writes against its ONNX path. The second size is one that no stride divides.",
        "In float16 a map may have its maximum in another cell: one of a pair that are almost equal. A network that sees scaled frames",
        "(single_instance) differs at the edges of frames that are padded, because sleap-nn pads after it scales.",
        "",
        *table(head, rows),
        "",
        source(file, script="scripts/evaluate sleap --checkpoints DIR --exports DIR --video flies.mp4 --reference python"),
    ]


MADE = ("identities", "switches", "right", "without", "wrong")
UNAIDED = ("identities", "swaps", "breaks", "without")
FIGURES = {
    "identities": "identities",
    "switches": "switches",
    "right": "right, %",
    "without": "without an identity",
    "wrong": "false ones with one",
    "swaps": "swaps",
    "breaks": "breaks",
}
# Of what `cudainfer-labels --repair-swaps` makes of it.
REPAIRED = {
    "switches": "switches, repaired",
    "right": "right, %, repaired",
    "swaps": "swaps, repaired",
}


def identities(results: Path) -> list[str]:
    file = results / "identities.json"
    if not file.exists():
        # The figures need SLEAP's tracker.
        return []
    found = json.loads(file.read_text())
    lines = [
        "### Identities",
        "",
        "`tracker max-tracks=N` beside SLEAP's own tracker on the same instances (sleap-nn "
        + f"{found['sleap-nn']}: local queues, `max_tracks` and target count N,",
        "culled before tracking, single breaks connected; its default, by OKS, and four other settings). A switch is an animal that gets",
        "another identity than it had; right is the share of its instances that have the identity that is its animal's. The flies'",
        "identities are not known: a swap is a pair of identities that would be nearer to where they were had they been given the other",
        "way round, a break an identity that is missing in a frame with instances enough. Repaired: after a second pass over the file,",
        "by `cudainfer-labels --repair-swaps`. The first five of the made videos and the flies were looked at when that was made; `fast` and",
        "`lengths` were not. Animals of the same build that are out of sight together, as in `hiding`, come back as either: nothing is",
        "repaired there. The last row of each table is `tracker` without `max-tracks`.",
        "",
    ]
    for video in found["videos"]:
        names = UNAIDED if video["name"] == "flies" else MADE
        again = [name for name in names if name in REPAIRED]
        rows = [
            [
                who,
                *(figure(name, figures[name]) for name in names),
                *(figure(name, figures.get("repaired", {}).get(name, "–")) for name in again),
            ]
            for who, figures in video["trackers"].items()
        ]
        lines += [f"#### {video['name'].capitalize()}: {video['what']} ({video['frames']} frames)", ""]
        lines += [*table(["tracker", *(FIGURES[name] for name in names), *(REPAIRED[name] for name in again)], rows), ""]
    command = "scripts/evaluate identities --reference PYTHON --models sleap --video flies.mp4"
    return [*lines, source(file, script=command), ""]


def figure(name: str, value: float | str) -> str:
    if isinstance(value, str):
        return value
    if name == "right":
        return f"{100 * value:.2f}"
    # A share of the made ones, a count of the others.
    return f"{100 * value:.2f} %" if name == "without" and isinstance(value, float) else str(value)


def tiles(results: Path) -> list[str]:
    file = results / "tiles.txt"
    if not file.exists():
        # Only its boxes are known, see UNCOMMITTED.
        return []
    reported, what, *lines = file.read_text().splitlines()
    number = r"([\d.]+)"
    form = (
        r"(.+): (\d+) boxes, cudainfer (\d+), in common (\d+), apart by at most "
        rf"{number} px and {number} of confidence; {number} frames/s, cudainfer {number}"
    )
    rows = [found.groups() for line in lines if (found := re.fullmatch(form, line))]
    if not rows or len(rows) != len(lines):
        raise ValueError(f"{file} is not as scripts/evaluate tiles writes it")
    exact = results / "tiles-exact.txt"
    same = []
    if exact.exists():
        found = re.fullmatch(form, exact.read_text().splitlines()[-1])
        if not found:
            raise ValueError(f"{exact} is not as scripts/evaluate tiles --exact writes it")
        _, theirs, ours, common, pixels, scores, *_ = found.groups()
        same = [
            f"If the reference resizes it in float64 instead, nothing is left of that difference: {theirs} boxes, {ours} of cudainfer,",
            f"{common} in common, at most {pixels} px and {scores} of confidence apart ([tiles-exact.txt](../benches/results/tiles-exact.txt),",
            "`scripts/evaluate tiles --exact`). So it is the samples, not the merging, that decide about boxes near a threshold.",
            "",
        ]
    return [
        "### Tiles",
        "",
        "`fusedpreproc roi=tiles` and gpunms beside SAHI and supervision's InferenceSlicer, with the same ONNX file, frames, tiles and",
        f"merging, on the CPU, in turns ({what}). {reported.split(', ', 2)[2]}. JSON has two decimals. With the whole frame as one more",
        "region, OpenCV resizes it with weights of 11 bits and rounds to 8.",
        "",
        *table(
            [
                "beside",
                "its boxes",
                "boxes of cudainfer",
                "in common",
                "largest distance, px",
                "of confidence",
                "its frames/s",
                "frames/s of cudainfer",
            ],
            [list(row) for row in rows],
        ),
        "",
        *same,
        source(file, script="scripts/evaluate tiles --reference python"),
        "",
    ]


def intervals(results: Path) -> list[str]:
    file = results / "interval.json"
    every = json.loads(file.read_text())
    alone = {one["sequence"]: one for one in every if one["interval"] == 0}
    rows = [
        [
            one["sequence"],
            str(one["interval"]),
            f"`{one['between']}`" if one["between"] else "",
            *(f"{one[name]:.1f}" for name in ("HOTA", "DetA", "AssA", "MOTA", "IDF1")),
            f"{one['switches']:.0f}",
            f"{one['HOTA'] - alone[one['sequence']]['HOTA']:+.1f}",
            f"{one['fps']:.0f}",
            f"{one['fps'] / alone[one['sequence']]['fps']:.2f}",
        ]
        for one in every
    ]
    head = [
        "sequence",
        "interval",
        "between",
        "HOTA",
        "DetA",
        "AssA",
        "MOTA",
        "IDF1",
        "switches",
        "HOTA, difference",
        "frames/s",
        "ratio",
    ]
    of = ", ".join(sorted({f"{one['processor']}, commit {one['commit']}" for one in every}))
    return [
        "### Frames that the model does not see",
        "",
        f"NanoDet and tracker on a video, where the model sees every frame, or one of interval + 1 ({of}).",
        "`none` is what is left where nothing is carried on. Frame rates from PLAYING to the end of the video.",
        "",
        *table(head, rows),
        "",
        source(file, script="scripts/evaluate interval FOLDER --video SEQUENCE=VIDEO"),
    ]


def still_scenes(results: Path) -> list[str]:
    """What a scene costs in which nothing moves."""
    file = results / "motion.json"
    rows = json.loads(file.read_text())
    cost = {(row["scene"], row["motion"]): row["cpu_ms_per_frame"] for row in rows}
    scenes = {"busy": "the video", "empty": "empty"}

    def share(of_decoding: float) -> str:
        empty, busy = (
            cost[scene, way] - of_decoding * cost[scene, "decoded"] for scene, way in (("empty", "gate"), ("busy", "ignore"))
        )
        return f"{empty / busy:.1%}"

    return [
        "### A scene in which nothing moves",
        "",
        f"NanoDet and tracker with `motion=gate`, H.264 of {rows[0]['video']} and of its median picture with noise ({rows[0]['processor']}, commit",
        f"{rows[0]['commit']}). Processor time of the whole process, ms a frame.",
        "",
        *table(
            ["scene", "decoding alone", "`motion=ignore`", "`motion=gate`"],
            [[name, *(f"{cost[scene, way]:.2f}" for way in ("decoded", "ignore", "gate"))] for scene, name in scenes.items()],
        ),
        "",
        f"The empty scene costs {share(1)} of the video without the gate, where decoding is left out of both (goal: at most 5 %), and "
        f"{share(0)} with it.",
        "",
        source(file, script="scripts/evaluate motion"),
        "",
    ]


def precision(results: Path) -> list[str]:
    file = results / "precision.json"
    rows = [
        [
            one["model"],
            f"`{one['properties']}`",
            one["processor"],
            one["video"],
            f"{one['frames']:,}",
            f"{one['true']:,}",
            f"{one['found']:,}",
            *(f"{one[name]:.4f}" for name in ("precision", "recall", "f1", "mean_iou")),
            f"{one['confidence_off']:.5f}",
        ]
        for one in json.loads(file.read_text())
    ]
    head = ["model", "properties of trtinfer", "processor", "video", "frames", "objects of the reference", "objects found"]
    head += ["precision", "recall", "F1", "mean IoU", "confidence, mean difference"]
    return [
        "### Providers and precisions",
        "",
        "The objects of a video against those of ONNX Runtime on the CPU in the model's own numbers, paired frame by frame at an IoU of at",
        "least 0.5. vtest-1080p.mp4 is vtest.avi, twice, in 1920x1080 and H.264 (tools/cudainfer_tools/gpu/clip.py).",
        "",
        *table(head, rows),
        "",
        source(file, script="scripts/evaluate precision PROPERTIES..."),
    ]


def parity(results: Path) -> list[str]:
    file = results / "gpu-parity-h200.txt"
    found = re.findall(r"provider=(\w+)\n(\d+) and \d+ frames; .*\n(\d+) boxes, at most ([\d.]+) px apart", file.read_text())
    if not found:
        raise ValueError(f"{file} is not as scripts/compare writes it")
    return [
        "### The GPU against the CPU",
        "",
        "NanoDet on bikes.mp4, on an H200 (NVDEC, CUDA provider) against `provider=cpu` on a Xeon. JSON has two decimals.",
        "",
        *table(["`provider`", "frames", "boxes", "largest distance, px"], [list(row) for row in found]),
        "",
        source(file, script="scripts/compare cpu.jsonl cuda.jsonl"),
    ]
