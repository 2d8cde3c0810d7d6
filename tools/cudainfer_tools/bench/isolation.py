"""Keeps what benches/isolation.rs prints: what a bad stream takes from fifteen others, and what overload does. Started by
scripts/bench --isolation.

    python3 tools bench.isolation [--rounds N] [--seconds N]
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys

from cudainfer_tools.machine import commit, processor
from cudainfer_tools.repository import ROOT


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/bench --isolation", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=6)
    parser.add_argument("--profile", default="bench", help="Cargo's profile")
    given = parser.parse_args()
    command = ["cargo", "bench", "--locked", "--profile", given.profile, "-p", "cudainfer-benches", "--bench", "isolation", "--"]
    command += [str(given.rounds), str(given.seconds)]
    file = ROOT / "benches" / "results" / f"isolation-{datetime.date.today().isoformat()}.jsonl"
    header = {
        "processor": processor(),
        "cores": len(os.sched_getaffinity(0)),
        "commit": commit(),
        "profile": given.profile,
        "load": os.getloadavg()[1],
    }
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout is not None
    with file.open("w") as kept:
        print(json.dumps(header), file=kept)
        for line in process.stdout:
            print(line, end="", flush=True)
            if line.startswith("{"):
                kept.write(line)
    if process.wait() != 0:
        sys.exit(f"benches/isolation.rs ended with status {process.returncode}")
    print(file.relative_to(ROOT))


if __name__ == "__main__":
    main()
