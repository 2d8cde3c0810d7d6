"""Runs the tests that need a GPU, and NVIDIA's compute-sanitizer over those of kernels. Started by scripts/test
--gpu.

    python3 tools gpu.tests [--no-sanitizer | --all] [--tool TOOL] [FILTER...]

FILTER is a part of the tests' names, as in `cargo test`. What the programs print goes through; a summary follows.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple, TextIO

from cudainfer_tools.gpu import programs
from cudainfer_tools.repository import ROOT

# One after the other, because some measure the device's memory; what they say at once, should one hang.
OPTIONS = ["--ignored", "--test-threads=1", "--nocapture"]
# Tests that are left out under a tool unless --all is given, by a part of their names: on an H200 each alone takes from
# ten seconds to minutes under it, and others run the same kernels.
SLOW = [
    "peaks::every_mode",
    "peaks::batch::rows_of_batches",
    "detect::batch::rows_of_batches",
    "preproc::every_combination",
    "contract::a_hundred_runs",
]
SLOWER = [
    "peaks::large_maps",
    "peaks::batch::batches_with_more",
    "detect::any_number",
    "detect::every_decoder",
    "suppression::all_of_25200",
    "segment::clean::opening",
]
# What tests the engine's other parts: cuDNN's kernels are not ours to check.
OF_CUDNN = ["cudnns_engines", "taken_again", "share_their_constants"]
# By program and tool.
LEFT_OUT = {
    "kernels-gpu": {"memcheck": SLOW, "racecheck": SLOW + SLOWER, "initcheck": SLOW, "synccheck": SLOW},
    "fused-gpu": dict.fromkeys(("memcheck", "racecheck", "initcheck", "synccheck"), OF_CUDNN),
}
# Of the engine's random networks, as many as a tool is through with in minutes.
NETWORKS = {"memcheck": "24", "racecheck": "4", "initcheck": "24", "synccheck": "24"}
# No program needs longer, nor a module of tests under a tool; one that does hangs.
LIMIT_S = 600
# How many modules share the GPU: the tool's work is the processor's for the most part.
LANES = 4
RESULT = re.compile(r"^test result: .*?(\d+) passed; (\d+) failed", re.MULTILINE)
# A test that finds that this machine lacks what it needs reports it: the harness knows no such end.
SKIPPED = re.compile(r"\bskipped: (.*)$", re.MULTILINE)
FOUND = re.compile(r"^=+ (?:ERROR|RACECHECK) SUMMARY: (\d+) .*$", re.MULTILINE)
LISTED = re.compile(r"^(\S+): test$", re.MULTILINE)


class Result(NamedTuple):
    """What became of a program's tests: in words, and how many."""

    said: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0


def run(command: list[str], env: dict[str, str] | None = None, to: TextIO = sys.stdout) -> tuple[bool, str]:
    """Whether it ended well, and its output, which is also written as it comes."""
    print("==", " ".join(command), flush=True, file=to)
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        cwd=ROOT,
        env=os.environ | (env or {}),
        start_new_session=True,
    )
    # With what it has started: compute-sanitizer is not the program that hangs.
    limit = threading.Timer(LIMIT_S, os.killpg, (process.pid, signal.SIGKILL))
    limit.start()
    lines = []
    try:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            print(line, end="", flush=True, file=to)
    except KeyboardInterrupt:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    finally:
        limit.cancel()
    return process.wait() == 0, "".join(lines)


def tests(name: str, path: Path, filters: list[str]) -> Result:
    """What became of a test program's tests."""
    good, output = run([str(path), *OPTIONS, *filters])
    return counted(name, good, output)


def counted(name: str, good: bool, output: str) -> Result:
    """What became of the tests that a program's output tells of."""
    why = SKIPPED.findall(output)
    if match := RESULT.search(output):
        passed, failed = int(match[1]) - len(why), int(match[2])
    else:
        passed, failed = 0, 0
    failed += int(not good and not failed)  # it crashed, at the end or before
    said = f"{name}: {passed} passed, {failed} failed"
    for reason, times in Counter(why).items():
        said += f", {times} skipped ({reason})"
    return Result(said + ("" if match else " (it did not end)"), passed, failed, len(why))


def sanitizer() -> str | None:
    """The tool of that name: by the path, else CUDA's own."""
    own = Path("/usr/local/cuda/bin/compute-sanitizer")
    return shutil.which("compute-sanitizer") or (str(own) if own.exists() else None)


def by_module(listed: str, filters: list[str], left_out: list[str]) -> list[list[str]]:
    """The names of the tests that a program lists, those of a module together."""
    modules: dict[str, list[str]] = {}
    for name in LISTED.findall(listed):
        wanted = not filters or any(part in name for part in filters)
        if wanted and not any(part in name for part in left_out):
            modules.setdefault(name.rpartition("::")[0], []).append(name)
    return list(modules.values())


def sanitized(tool: str, checker: str, name: str, path: Path, filters: list[str], left_out: list[str]) -> Result:
    """The same of a program's tests under one of the sanitizer's tools; each module counts as one test."""
    listed = subprocess.run([path, "--list", "--ignored"], stdout=subprocess.PIPE, text=True, check=True).stdout
    modules = by_module(listed, filters, left_out)
    # Tests ask for what the driver must refuse, and look at its answer themselves.
    command = [checker, "--tool", tool, "--report-api-errors", "no", "--error-exitcode", "99", str(path), *OPTIONS]
    show = threading.Lock()

    def of_module(tests: list[str]) -> tuple[bool, str]:
        shown = io.StringIO()
        done = run([*command, "--exact", *tests], {"CUDAINFER_NETWORKS": NETWORKS[tool]}, shown)
        with show:
            print(shown.getvalue(), end="", flush=True)
        return done

    with ThreadPoolExecutor(LANES) as lanes:
        return summed(f"{name}, {tool}", modules, list(lanes.map(of_module, modules)), left_out)


def summed(what: str, modules: list[list[str]], done: list[tuple[bool, str]], left_out: list[str]) -> Result:
    """What became of the modules' tests under a tool."""
    tests, errors, bad = 0, 0, []
    for names, (good, output) in zip(modules, done, strict=True):
        ended, found = RESULT.search(output), FOUND.search(output)
        tests += int(ended[1]) if ended else 0
        errors += int(found[1]) if found else 0
        if not (good and ended and found):
            bad.append((names[0].rpartition("::")[0] or names[0]) + ("" if ended else " did not end"))
    said = f"{what}: {tests} tests, {errors} errors"
    if bad:
        said += f" (bad: {', '.join(bad)})"
    if left_out:
        said += f" (left out: {', '.join(left_out)})"
    return Result(said, len(modules) - len(bad), len(bad))


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/test --gpu", description=__doc__.splitlines()[0])
    parser.add_argument("--no-sanitizer", action="store_true", help="only the tests, which is much faster")
    parser.add_argument("--all", action="store_true", help="no test is left out under the sanitizer")
    parser.add_argument("--tool", choices=sorted(NETWORKS), help="only the kernels' tests under this tool of the sanitizer")
    parser.add_argument("filter", nargs="*", help="a part of the tests' names")
    given = parser.parse_args()
    built = programs.programs("test")
    results = [] if given.tool else [tests(name, path, given.filter) for name, path in built.items()]
    checker = None if given.no_sanitizer else sanitizer()
    if checker:
        for name, tools in LEFT_OUT.items():
            for tool, left_out in tools.items():
                if given.tool not in (None, tool):
                    continue
                results.append(sanitized(tool, checker, name, built[name], given.filter, [] if given.all else left_out))
    elif not given.no_sanitizer:
        results.append(Result("compute-sanitizer: not installed here (it comes with the CUDA toolkit), not run"))
    print("\n== summary")
    for result in results:
        print(result.said)
    passed, failed, skipped = (sum(getattr(result, part) for result in results) for part in ("passed", "failed", "skipped"))
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped: not tested on this machine" if skipped else ""))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
