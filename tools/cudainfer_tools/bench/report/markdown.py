"""Markdown's tables, and the raw files that figures come from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def newest(results: Path, pattern: str) -> Path:
    """The file of that pattern with the latest date in its name."""
    found = sorted(results.glob(pattern))
    if not found:
        raise FileNotFoundError(f"there is no '{pattern}' in {results}")
    return found[-1]


def printed(file: Path) -> tuple[list[str], list[str]]:
    """What a script printed: its remarks, which begin with '#', and the other lines that are not empty."""
    remarks, lines = [], []
    for line in file.read_text().splitlines():
        if line.startswith("#"):
            remarks.append(line.removeprefix("#").strip())
        elif line:
            lines.append(line)
    return remarks, lines


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return [f"| {' | '.join(map(str, cells))} |" for cells in lines]


def source(*files: Path, script: str) -> str:
    raw = ", ".join(f"[{file.name}](../benches/results/{file.name})" for file in files)
    return f"Raw output: {raw}. Script: `{script}`."
