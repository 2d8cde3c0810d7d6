"""docs/reliability.md as a whole: what is promised, the test that tries it, and what it came to."""

from __future__ import annotations

from pathlib import Path

from cudainfer_tools.bench.report.markdown import newest, source, table
from cudainfer_tools.bench.report.whole_life import whole_life


def fuzzing(results: Path) -> list[str]:
    """What scripts/fuzz printed, after its remarks, which begin with '#'."""
    file = newest(results, "fuzz-*.txt")
    lines = file.read_text().splitlines()
    remarks = [line.removeprefix("#").strip() for line in lines if line.startswith("#")]
    rows = [line.split(None, 4) for line in lines if line and not line.startswith(("#", "target "))]
    return [
        "## Readers of what others wrote",
        "",
        "Promise: no file, text or answer that somebody else wrote ends the process, keeps it busy for more than a second, or takes more",
        "memory than ten times its own size. Test: `fuzz_TARGET` beside each reader, with its examples and mutations of them in every",
        "`cargo test`; with coverage by libFuzzer in `scripts/fuzz [TARGET] [SECONDS]`.",
        "",
        *remarks,
        "",
        *table(
            ["target", "cases", "cases a second", "most that one case has taken"],
            [[row[0], f"{int(row[1]):,}", row[2], row[4]] for row in rows],
        ),
        "",
        source(file, script="scripts/fuzz"),
        "",
    ]


def reliability(results: Path) -> str:
    sections = [
        "# Reliability",
        "",
        "<!-- Written by `scripts/bench --report` from the raw files in benches/results. Do not edit. -->",
        "",
        "What is promised, which test tries it, and what it came to, from raw output in [benches/results/](../benches/results).",
        "Whom cudainfer trusts with what is in [SECURITY.md](../SECURITY.md).",
        "",
        *fuzzing(results),
        *whole_life(results),
    ]
    return "\n".join(sections)
