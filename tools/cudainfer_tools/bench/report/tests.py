"""What the tests on the GPU came to."""

from __future__ import annotations

import re
from pathlib import Path

from cudainfer_tools.bench.report.markdown import source, table

# What the counts of tests do not say.
TESTS = [
    "1.28.8 ran those of transfers, too. What failed there is that Python's torch and CuPy read our tensors: the machine's Python",
    "could not load a GStreamer with another C library, and the test is left out there since. On 2026-11-24 initcheck found that the kernel",
    "`compare_small` read up to three candidates beyond the last one, which it ignores; their memory is cleared since. On 2026-11-30 memcheck,",
    "initcheck and synccheck ran over all kernels but five tests of minutes, whose kernels others run, and found nothing; nor did racecheck in what",
    "it was through with in 12 minutes, or on 2026-12-01. Runs of older code are those of what it was not through with, and the engine's.",
    "Of the tests of 2026-11-30, the golden records of one pipeline failed: its test model had two classes of the same score, and is another one since. What failed on two H100 compared frames of the source, whose rows have padding on the GPU, byte by byte: the",
    "test compares pictures that tensormap has made since, and passed on one H100 on 2026-11-28.",
]


def tests(results: Path) -> list[str]:
    """What the tests on the GPU came to."""
    plain = results / "gpu-tests-h200.txt"
    sanitizers = [results / "gpu-sanitizer-h200.txt", results / "gpu-sanitizer-fused-h100.txt"]

    def count(text: str, what: str) -> int:
        return sum(int(number) for number in re.findall(rf"test result: .*?(\d+) {what}", text))

    def passed(text: str) -> int:
        # The harness counts those that say that they are skipped.
        return count(text, "passed") - text.count("... skipped: ")

    newer = {version: results / f"gpu-tests-{version}-h200.txt" for version in ("1.26.2", "1.28.8")}
    one, two = results / "gpu-tests-h100.txt", results / "gpu-tests-h100-x2.txt"
    runs = [("tests, GStreamer 1.22.0", plain.read_text())]
    fused = results / "gpu-tests-fused-h200.txt"
    runs += [("those of the engine fused, 2026-12-01", fused.read_text())]
    runs += [("all of them on one H100", one.read_text()), ("the same on two H100, later", two.read_text())]
    runs += [(f"those of lines and regions, GStreamer {version}", file.read_text()) for version, file in newer.items()]
    rows = [[name, passed(text), count(text, "failed")] for name, text in runs]
    for part in "".join(file.read_text() for file in sanitizers).split("# compute-sanitizer --tool ")[1:]:
        tool = part.splitlines()[0].split(" (")[0]
        rows.append([f"compute-sanitizer {tool}", count(part, "passed"), count(part, "failed")])
    return [
        "### Tests on the GPU",
        "",
        *table(["run", "passed", "failed"], rows),
        "",
        *TESTS,
        "",
        source(plain, fused, one, two, *newer.values(), *sanitizers, script="scripts/test --gpu"),
    ]
