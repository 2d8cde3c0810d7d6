"""Writes docs/benchmarks.md and docs/reliability.md from the raw files in benches/results, measuring nothing. Started by scripts/bench --report.

    python3 tools bench.report [--results FOLDER] [--output FILE]

Every figure in the page comes from a raw file, except those of UNCOMMITTED, which the page marks as such.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from cudainfer_tools.bench.report.page import page
from cudainfer_tools.bench.report.reliability import reliability
from cudainfer_tools.bench.report.scenarios import with_scenarios
from cudainfer_tools.repository import ROOT


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench --report", description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=ROOT / "benches" / "results", metavar="FOLDER")
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "benchmarks.md", metavar="FILE")
    given = parser.parse_args()
    given.output.write_text(page(given.results))
    given.output.with_name("reliability.md").write_text(reliability(given.results))
    profiling = given.output.with_name("profiling.md")
    if profiling.is_file():
        profiling.write_text(with_scenarios(profiling.read_text(), given.results))
    print(given.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
