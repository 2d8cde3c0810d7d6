"""What the tests on the GPU came to."""

from __future__ import annotations

import re
from pathlib import Path

from cudainfer_tools.bench.report.markdown import source, table

# What the counts of tests do not say.
TESTS = [
    "1.28.8 ran those of transfers, too. What failed there is that Python's torch and CuPy read our tensors: the machine's Python",
    "could not load a GStreamer with another C library, and the test is left out there since. Of the sanitizers' runs, those over",
    "`channels_last` and `every_decoder` are of 2026-11-24, the others older. On that day initcheck found that the kernel",
    "`compare_small` read up to three candidates beyond the last one, which it ignores; their memory is cleared since, but no run",
    "of initcheck has confirmed it yet. On two H100 a search for the fastest variant could not be stopped, and a box whose",
    "decayed confidence is the threshold but for its last bits was on one side only: the search can be stopped since, and",
    "the comparison takes such boxes for ties.",
]


def tests(results: Path) -> list[str]:
    """What the tests on the GPU came to."""
    plain, sanitizer = results / "gpu-tests-h200.txt", results / "gpu-sanitizer-h200.txt"

    def count(text: str, what: str) -> int:
        return sum(int(number) for number in re.findall(rf"test result: .*?(\d+) {what}", text))

    def passed(text: str) -> int:
        # The harness counts those that say that they are skipped.
        return count(text, "passed") - text.count("... skipped: ")

    newer = {version: results / f"gpu-tests-{version}-h200.txt" for version in ("1.26.2", "1.28.8")}
    one, two = results / "gpu-tests-h100.txt", results / "gpu-tests-h100-x2.txt"
    runs = [("tests, GStreamer 1.22.0", plain.read_text())]
    runs += [("the same on two H100", two.read_text()), ("the same on one H100, later", one.read_text())]
    runs += [(f"those of lines and regions, GStreamer {version}", file.read_text()) for version, file in newer.items()]
    rows = [[name, passed(text), count(text, "failed")] for name, text in runs]
    for part in sanitizer.read_text().split("# compute-sanitizer --tool ")[1:]:
        tool = part.splitlines()[0].split(" (")[0]
        rows.append([f"compute-sanitizer {tool}", count(part, "passed"), count(part, "failed")])
    return [
        "### Tests on the GPU",
        "",
        *table(["run", "passed", "failed"], rows),
        "",
        *TESTS,
        "",
        source(plain, two, one, *newer.values(), sanitizer, script="scripts/test --gpu"),
    ]
