"""What docs/models.md says of frame rates."""

from __future__ import annotations

from collections.abc import Sequence

from cudainfer_tools.zoo.speed.rows import COLUMNS, Runs


def rate(fps: float) -> str:
    """Frames per second with as many places as mean something."""
    return f"{fps:.0f}" if fps >= 100 else f"{fps:.1f}" if fps >= 10 else f"{fps:.2f}"


def cell(row: dict | None) -> str:
    """A row's cell; "–" where there is no figure."""
    return rate(row["fps"]) if row and "fps" in row else "–"


def machine_of(machine: dict) -> str:
    """What a run was measured on."""
    where = machine.get("gpu") or f"{machine['processor']}, {machine['cores']} cores"
    return f"{where} (commit {machine['commit']}, {machine['date'][:10]})"


def machines(runs: Runs, columns: Sequence[str]) -> str:
    """What the rows of these columns were measured on."""
    used = [run["machine"] for run in runs if any(row["column"] in columns for row in run["rows"])]
    return " and ".join(dict.fromkeys(map(machine_of, used))) or "nothing yet"


def section(runs: Runs, refused: Sequence[str]) -> list[str]:
    """The section. `refused` are cases that the engine fused does not take, which the page lists elsewhere."""
    found: dict[str, dict[str, dict]] = {}
    for run in runs:
        for row in run["rows"]:
            found.setdefault(row["case"], {})[row["column"]] = row
    reasons = [
        f"- {case}, {COLUMNS[column]}: {row['why']}"
        for case, of in sorted(found.items())
        for column, row in of.items()
        if "why" in row and not (column == "fused" and case in refused)
    ]
    return [
        "",
        "## Frames per second",
        "",
        f"CPU: the row's whole pipeline on {machines(runs, ['cpu'])}: frames of bytes in memory, provider=cpu, the median of three windows of 1.5 s or "
        f"more. GPU: the model alone, one frame a run, on {machines(runs, ['cuda', 'fused'])}: the session loop (benches/gpu/session.rs) on random "
        "frames that lie on the GPU, in trtinfer's fastest variant. Of pipelines with several models, the first model. Weights are random there, "
        "and distributed as the model's own. Most models here are small, or see small frames. – is not measured, or listed below; what the engine fused does not "
        "take is listed [above](#the-engine-fused).",
        "",
        f"| model | {' | '.join(COLUMNS.values())} |",
        f"|{'|'.join(['---'] * (1 + len(COLUMNS)))}|",
        *(f"| {case} | {' | '.join(cell(of.get(column)) for column in COLUMNS)} |" for case, of in sorted(found.items())),
        *(["", *reasons] if reasons else []),
        "",
        "Raw output: [zoo-speed.json](../benches/results/zoo-speed.json). Scripts: `scripts/evaluate zoo --speed`; on a GPU machine "
        "`python3 tools zoo.speed.gpu`, with what `python3 tools zoo.speed.pack` has packed.",
    ]
