"""docs/reliability.md as a whole: what is promised, the test that tries it, and what it came to."""

from __future__ import annotations

import re
from pathlib import Path

from cudainfer_tools.bench.report.markdown import newest, printed, source, table
from cudainfer_tools.bench.report.whole_life import whole_life


def fuzzing(results: Path) -> list[str]:
    """What scripts/fuzz printed, after its remarks, which begin with '#'."""
    file = newest(results, "fuzz-*.txt")
    remarks, lines = printed(file)
    rows = [line.split(None, 4) for line in lines if not line.startswith("target ")]
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
    if not newest_of:
        return []
    remarks, rows = [], []
    for kind, file in newest_of.items():
        said, lines = printed(file)
        remarks += [f"- {remark}" for remark in said]
        program = ""
        for line in lines:
            if named := PROGRAM.match(line):
                program = named[1]
            elif ended := RESULT.match(line):
                rows.append([kind, program, *ended.groups()])
    return [
        "## Memory, leaks, races and undefined behaviour",
        "",
        "Promise: no use of memory beyond its end or after it, no leak, no race, no undefined behaviour. Test: the compiler's sanitizers and",
        "Miri over the tests, `scripts/test --sanitize address|leak|thread|miri`; on the GPU compute-sanitizer, `scripts/test --gpu`",
        "([benchmarks.md](benchmarks.md#tests-on-the-gpu)). Leaks are looked for in the crates without GStreamer; those of pipelines are what tests/walk",
        "and scripts/torture count.",
        "",
        *remarks,
        "",
        *table(["sanitizer", "program", "tests passed", "failed"], rows),
        "",
        source(*newest_of.values(), script="scripts/test --sanitize"),
        "",
    ]


def torture(results: Path) -> list[str]:
    """What scripts/torture printed at its end: a row for each kind of fault, after its remarks, which begin with '#'."""
    file = newest(results, "torture-*.txt")
    remarks, lines = printed(file)
    rows = [line.split() for line in lines if not line.startswith("scenario ")]
    totals: dict[tuple[str, str], list[float]] = {}
    for scenario, seam, _, calls, *counts, longest in rows:
        sums = totals.setdefault((scenario, seam), [0] * 7)
        sums[0] = max(sums[0], int(calls))
        sums[1:6] = [total + int(count) for total, count in zip(sums[1:6], counts, strict=True)]
        sums[6] = max(sums[6], float(longest))
    return [
        "## Calls that fail",
        "",
        "Promise: whichever call of the system, of a library or of the allocator fails, an ERROR, a WARNING or a line of the log names it,",
        "or nothing is harmed; nothing hangs (inferpublish waits ten seconds for a destination that takes nothing); nothing is lost that was",
        "acknowledged; no thread or file is left over; and the same pipeline runs again. Test: `torture` of tests and of serve, one n of each kind",
        "in every `cargo test`; every n in `scripts/torture [WHAT]`.",
        "",
        *remarks,
        "",
        *table(
            ["scenario", "calls of this kind", "in a run", "faults", "ERROR", "WARNING or log", "unharmed", "broken", "longest"],
            [
                [scenario, seam, *(str(int(sum)) for sum in sums[:6]), f"{sums[6]:.1f} s"]
                for (scenario, seam), sums in totals.items()
            ],
        ),
        "",
        source(file, script="scripts/torture"),
        "",
    ]


SIMULATIONS = {
    "delivery": (
        "Delivery to brokers",
        "Promise: nothing that was acknowledged is lost, order is kept, all is counted and reported, and everything arrives within 40 s after disk "
        "and broker are well, whenever the process is killed or the power fails. Test: `brokers/src/simulation`, on a clock, a disk and a broker "
        "that are made up. [what-is-lost.md](what-is-lost.md) has the faults one by one.",
    ),
    "supervisor": (
        "Streams of cudainfer-serve",
        "Promise: a stream has at most one pipeline beside those that were abandoned, waits no longer than `longest`, comes back when its source does, "
        "ends when it is stopped, and its state in the API is true. Test: `serve/src/stream/thread/simulation.rs`, with pipelines that fail, stall, "
        "end and hang.",
    ),
    "fleet": (
        "All streams of cudainfer-serve",
        "Promise: what streams there are, and their keys, is what the file and the API have said, after any reload, change or refusal; what an answer "
        "called kept is there in the next process, also when this one is killed or its folder cannot be written for a while; every answer is true. "
        "Test: `serve/src/fleet/simulation.rs`, with the product's threads and files, and runs that are made up.",
    ),
}


def unit(results: Path) -> list[str]:
    """What tools/try-unit printed: a line `PROMISE: yes, N s` for each promise, after where that was, which begins with '#'."""
    files = sorted(results.glob("unit-*.txt"))
    if not files:
        return []
    # By where that was.
    found: dict[str, dict[str, str]] = {}
    for file in files:
        remarks, lines = printed(file)
        said = (line.rpartition(": ") for line in lines)
        found[" ".join(remarks).removeprefix("tools/try-unit: ")] = {promise: answer for promise, _, answer in said}
    promises = dict.fromkeys(promise for said in found.values() for promise in said)
    return [
        "## The service's unit",
        "",
        "Promise: cudainfer-serve runs in its sandbox under systemd, which starts it again where that helps and only there. Test: `tools/try-unit FOLDER`",
        "starts the systemd of a distribution with the unit, a model and a video.",
        "",
        *table(["promise", *found], [[promise, *(said.get(promise, "") for said in found.values())] for promise in promises]),
        "",
        source(*files, script="tools/try-unit"),
        "",
    ]


def simulations(results: Path) -> list[str]:
    """What the simulations printed: lines `NAME WHAT COUNT`, after remarks, which begin with '#'."""
    text: list[str] = []
    for name, (title, promise) in SIMULATIONS.items():
        if not any(results.glob(f"simulation-{name}-*.txt")):
            continue
        file = newest(results, f"simulation-{name}-*.txt")
        remarks, lines = printed(file)
        rows = [line.split()[1:] for line in lines if line.startswith(f"{name} ")]
        text += [
            f"## {title}",
            "",
            promise,
            "",
            *remarks,
            "",
            *table(["what happened", "times"], [[what, f"{float(count):,.0f}"] for what, count in rows]),
            "",
            source(file, script="cargo test with CUDAINFER_SIMULATION_SEEDS"),
            "",
        ]
    return text


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
        *torture(results),
        *simulations(results),
        *unit(results),
        *whole_life(results),
    ]
    return "\n".join(sections)
