"""docs/reliability.md as a whole: what is promised, the test that tries it, and what it came to."""

from __future__ import annotations

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
}


def simulations(results: Path) -> list[str]:
    """What the simulations printed: lines `NAME WHAT COUNT`, after remarks, which begin with '#'."""
    text: list[str] = []
    for name, (title, promise) in SIMULATIONS.items():
        if not any(results.glob(f"simulation-{name}-*.txt")):
            continue
        file = newest(results, f"simulation-{name}-*.txt")
        lines = file.read_text().splitlines()
        remarks = [line.removeprefix("#").strip() for line in lines if line.startswith("#")]
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
        *simulations(results),
    ]
    return "\n".join(sections)
