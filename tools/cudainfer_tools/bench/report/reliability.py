"""docs/reliability.md as a whole: what is promised, the test that tries it, and what it came to."""

from __future__ import annotations

import re
from pathlib import Path

from cudainfer_tools.bench.report.markdown import newest, source, table


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


# How cargo names a program before its tests, and what these came to.
PROGRAM = re.compile(r"^ *Running .*/([\w-]+)-[0-9a-f]{16}\)$")
RESULT = re.compile(r"^test result: .*?(\d+) passed; (\d+) failed")


def sanitizers(results: Path) -> list[str]:
    """What scripts/test --sanitize printed of each program, the newest run of each kind, after remarks that begin with '#'."""
    newest_of = {file.name.split("-")[1]: file for file in sorted(results.glob("sanitize-*.txt"))}
    remarks, rows = [], []
    for kind, file in newest_of.items():
        program = ""
        for line in file.read_text().splitlines():
            if line.startswith("#"):
                remarks.append(f"- {line.removeprefix('#').strip()}")
            elif named := PROGRAM.match(line):
                program = named[1]
            elif ended := RESULT.match(line):
                rows.append([kind, program, *ended.groups()])
    return [
        "## Memory, leaks, races and undefined behaviour",
        "",
        "Promise: no use of memory beyond its end or after it, no leak, no race, no undefined behaviour. Test: the compiler's sanitizers and",
        "Miri over the tests, `scripts/test --sanitize address|leak|thread|miri`; on the GPU compute-sanitizer, `scripts/test --gpu`",
        "([benchmarks.md](benchmarks.md#tests-on-the-gpu)). What is known of others' libraries is in tools/sanitizers.",
        "",
        *remarks,
        "",
        *table(["sanitizer", "program", "tests passed", "failed"], rows),
        "",
        source(*newest_of.values(), script="scripts/test --sanitize"),
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
        *sanitizers(results),
    ]
    return "\n".join(sections)
