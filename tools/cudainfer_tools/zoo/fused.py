"""Which of the exported models the engine fused takes, and how far what it computes is from ONNX Runtime: fused/examples/takes.rs on each."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from cudainfer_tools.repository import ROOT

RESULTS = ROOT / "benches" / "results" / "zoo-fused.json"
# Larger models take minutes: the reference computes one number after the other.
LONGEST = 600


def built() -> Path:
    """The example's program. It computes on the CPU, and so is optimised."""
    options = ["--locked", "--example", "takes", "--config", "profile.dev.package.cudainfer-fused.opt-level=3"]
    subprocess.run(["cargo", "build", "-q", "-p", "cudainfer-fused", *options], cwd=ROOT, check=True)
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug" / "examples" / "takes"


def row(program: Path, folder: Path, compares: bool) -> dict:
    """What the engine says of the case in a folder."""
    width, height = json.loads((folder / "case.json").read_text())["size"]
    compared = ["--compare", str(folder / "frames.rgb")] if compares else []
    arguments = ["--size", f"{width}x{height}", *compared]
    line = subprocess.run(
        [program, *arguments, folder / "model.onnx"], stdout=subprocess.PIPE, text=True, check=True, timeout=LONGEST
    ).stdout
    verdict, *columns = line.rstrip("\n").split("\t")
    one = {"case": folder.name, "taken": verdict == "taken"}
    if not one["taken"]:
        return one | {"why": columns[0]}
    names = ("name", "difference", "sensitivity")
    outputs = [dict(zip(names, columns[at : at + 3], strict=True)) for at in range(2, len(columns), 3)]
    one |= {"nodes": int(columns[0]), "steps": int(columns[1])}
    return one | ({"outputs": outputs} if outputs else {})


def count(out: Path, words: list[str], compares: bool) -> list[dict]:
    """The rows of the cases in a folder, or of those whose names contain one of the words; other rows stay as they are. A comparison
    stays as well, until it is made anew."""
    before = {one["case"]: one for one in json.loads(RESULTS.read_text())} if RESULTS.exists() else {}
    program = built()
    for folder in sorted(file.parent for file in out.glob("*/case.json")):
        name = folder.name
        if words and not any(word in name for word in words):
            continue
        old = {key: value for key, value in before.get(name, {}).items() if key == "outputs"}
        try:
            found = row(program, folder, compares)
        except subprocess.TimeoutExpired:
            found = row(program, folder, False)
        before[name] = found | (old if found["taken"] and "outputs" not in found else {})
        print(" ".join(f"{value}" for value in before[name].values()), flush=True)
        rows = sorted(before.values(), key=lambda one: one["case"])
        RESULTS.write_text(json.dumps(rows, indent=1) + "\n")
    return sorted(before.values(), key=lambda one: one["case"])


def section(rows: list[dict]) -> list[str]:
    """What docs/models.md says of the engine."""
    taken, refused = [one for one in rows if one["taken"]], [one for one in rows if not one["taken"]]
    compared = [(one, output) for one in taken for output in one.get("outputs", [])]
    lines = [
        "",
        "## The engine fused",
        "",
        f"[The engine fused](elements/trtinfer.md#the-engine-fused) takes {len(taken)} of {len(rows)} models of this page; ONNX Runtime runs "
        "the others. The engine itself says which, for one image of the model's size: that needs no GPU, and most have not been run on one.",
        "",
        "| model | why ONNX Runtime runs it |",
        "|---|---|",
        *(f"| {one['case']} | {one['why']} |" for one in refused),
    ]
    if compared:
        lines += [
            "",
            "What the engine's plan of a model computes, in float32 on the CPU, beside what ONNX Runtime computes of the same frame. Both "
            "figures are the largest difference of a number, as a share of the larger one of that number and the root of the mean square of "
            "all. The second one is what ONNX Runtime's own numbers change by where the frame is multiplied by 1.000001: lists whose order "
            "is that of their scores change altogether where two scores are nearly equal.",
            "",
            "| model | output | difference | of the runtime itself |",
            "|---|---|---|---|",
            *(
                f"| {one['case']} | {output['name']} | {output['difference']} | {output['sensitivity']} |"
                for one, output in compared
            ),
        ]
    return [*lines, "", "Raw output: [zoo-fused.json](../benches/results/zoo-fused.json). Script: `scripts/evaluate zoo --fused`."]
