"""Tracking on sequences that took no part in choosing parameters, and the ideas that were tried on them."""

from __future__ import annotations

import json
from pathlib import Path

from cudainfer_tools.bench.report.markdown import source, table

# By how much `auto` must be better than the best tracker of another package, on average, and how far below it on one sequence.
AHEAD = {"HOTA": 2.0, "IDF1": 3.0}
ALLOWED = 0.5
OURS = ("auto", "sort", "bytetrack", "ocsort", "botsort", "cbiou", "chosen")


def goals(found: dict) -> list[str]:
    """Whether `auto` is as far above the best tracker of another package as it must be."""
    others = {who: of for who, of in found["summary"].items() if who not in OURS}
    lines = []
    for metric, goal in AHEAD.items():
        means = {who: of[metric]["mean"] for who, of in others.items()}
        best = max(means, key=means.__getitem__)
        above = others[best][metric]["auto above"]
        met = "met" if above >= goal else "**missed**"
        lines.append(
            f"- `auto`: {metric} {above:+.1f} against `{best}`, the best of another package (goal: at least {goal:+}): {met}"
        )
    best = max(others, key=lambda who: others[who]["HOTA"]["mean"])
    below = {one["name"]: one["figures"]["auto"]["HOTA"] - one["figures"][best]["HOTA"] for one in found["sequences"]}
    worse = [f"{name} {more:+.1f}" for name, more in below.items() if more < -ALLOWED]
    listed = f"below on {', '.join(worse)}: **missed**" if worse else "met"
    lines.append(f"- On no sequence more than {ALLOWED} HOTA below `{best}` (goal): {listed}")
    return lines


def left_out(results: Path) -> list[str]:
    """Tracking on sequences that took no part in choosing parameters."""
    file = results / "left-out.json"
    if not file.exists():
        # The sequences are not part of the repository.
        return []
    found = json.loads(file.read_text())
    rows = []
    for who, of in found["summary"].items():
        cells = [
            [f"{one['mean']:.1f}", f"{one['auto above']:+.1f} ({one['low']:+.1f} to {one['high']:+.1f})"] for one in of.values()
        ]
        rows.append([f"`{who}`" if who != "chosen" else "chosen on the other sequences", *cells[0], *cells[1]])
    chosen = [
        [one["name"], one["frames"], *(f"{one['figures'][who]['HOTA']:.1f}" for who in ("auto", "chosen")), f"`{one['chosen']}`"]
        for one in found["sequences"]
    ]
    better = found["summary"]["chosen"]["HOTA"]
    verdict = "does not pay" if better["high"] >= 0 else "pays"
    return [
        "### Parameters that other sequences chose",
        "",
        "For each sequence of MOT15, parameters are chosen on all others (HOTA over them together, the values and the search of",
        f"`scripts/autotune tracker`, {found['settings']} settings) and tried on it; `auto` and the package `trackers` {found['trackers']}",
        "are tried as they are. Three numbers of `auto` are not the papers': the filter's noise and the quartile of `auto-confidence`,",
        "chosen on ADL-Rundle-6, KITTI-13 and TUD-Campus, and `iou`, chosen on vtest.avi, which is PETS09-S2L1; for `auto`, these four are",
        f"not left out. Figures are means over {len(found['sequences'])} sequences, whatever their length; in brackets is where 95 % of the",
        "means of resampled sequences lie (paired differences, 10,000 times). With so few sequences, it is a rough guide.",
        "",
        *table(["tracker", "HOTA", "`auto` above it", "IDF1", "`auto` above it"], rows),
        "",
        *goals(found),
        "",
        f"To choose anew for other sequences {verdict} here: the constants of `auto` stay as they are unless the interval says otherwise.",
        "",
        *table(["sequence", "frames", "HOTA of `auto`", "HOTA of what the others chose", "which is"], chosen),
        "",
        source(file, script="scripts/evaluate tracker --left-out mot15"),
        "",
    ]


def cell(found: dict[str, float]) -> str:
    return f"{found['mean']:+.1f} ({found['low']:+.1f} to {found['high']:+.1f})"


def ideas(results: Path) -> list[str]:
    """What was tried to make `auto` better."""
    file = results / "tracker-ideas.json"
    if not file.exists():
        # As above.
        return []
    found = json.loads(file.read_text())
    rows = [
        [
            one["idea"],
            one["paper"],
            *(cell(one[metric][which]) for metric in AHEAD for which in ("as published", "disturbed")),
            "yes" if one.get("kept") else "no",
        ]
        for one in found["ideas"]
    ]
    first, *others = found["auto"]["HOTA"]
    published = [one["HOTA"]["as published"]["mean"] for one in found["ideas"]]
    gaining = {
        which: [one["HOTA"][which]["mean"] for one in found["ideas"] if one["HOTA"][which]["low"] > 0]
        for which in ("as published", "disturbed")
    }

    def count(which: str) -> str:
        means = gaining[which]
        return (
            f"{len(means)} are above `auto` by an interval without zero, by {max(means):+.1f} at most"
            if means
            else "none is above `auto`"
        )

    return [
        "### Ideas of other trackers",
        "",
        "Each was tried alone in `auto`, with its paper's numbers where it has some, on the published detections of the same sequences and on",
        "four copies of them whose boxes are shifted by 1.5 % and scaled by 2 % (standard deviations), and of which one in fifty is missing.",
        f"`auto` itself has HOTA {first:.1f} on the published boxes, and {sum(others) / len(others):.1f} on the copies.",
        "Figures are differences from `auto`, means over the sequences; in brackets is where 95 % of the means of resampled sequences lie.",
        f"On the published boxes the ideas change HOTA by {min(published):+.1f} to {max(published):+.1f}: {count('as published')}.",
        f"On the copies, {count('disturbed')}. What gains on the published boxes, too, is kept. Deep OC-SORT's weights of appearance (Maggiolino et al.,",
        "ICIP 2023) are not among the ideas: MOT15 has no frames here.",
        "",
        *table(["idea", "whose", "HOTA, published", "HOTA, copies", "IDF1, published", "IDF1, copies", "kept"], rows),
        "",
        f"The code of what was not kept, and the script (`python3 tools evaluate.ideas mot15`), are in commit {found['commit']}.",
        f"Raw output: [{file.name}](../benches/results/{file.name}).",
        "",
    ]
