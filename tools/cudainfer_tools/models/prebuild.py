"""Fills the engine cache for a model, so that its first start is as fast as all others.

scripts/prebuild MODEL [--provider auto|tensorrt|tensorrt-rtx|cuda|cpu] [--device auto|cuda|cuda:N|cpu]
                 [--batch-size N] [--cache FOLDER]

It runs the model on one batch, which builds what is kept, and once more, and prints what lies where and how long both
took, by their parts.
Give the options that trtinfer will be given: entries for other options are of no use to it.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from cudainfer_tools import pipeline

LOG = "cudainfer-cache:4,cudainfer-engine:4"
FILLED = re.compile(r"filled '(.+)'$")
USED = re.compile(r"comes from '(.+)'$")
UNWRITABLE = re.compile(r"('.+' cannot be written: .+)$")
# What the parts of a start took, as trtinfer logs them.
PARTS = re.compile(r"the start took: (.+)$")
PART = re.compile(r"([a-z-]+) (\d+) ms")


@dataclass(frozen=True)
class Start:
    """One start of the line: how long it took, whether it filled the cache, the entry that it used, what it could not
    write, and the milliseconds of its parts until the first frame."""

    seconds: float
    filled: bool
    used: Path | None
    unwritable: str | None
    parts: dict[str, int]


def say(sentence: str) -> None:
    print(f"prebuild: {sentence}", flush=True)


def launch(options: argparse.Namespace) -> list[str]:
    """gst-launch-1.0's arguments: as many pictures as fill a batch, through the model."""
    values = {"model": options.model, "provider": options.provider, "device": options.device}
    values |= {"batch-size": options.batch_size, "engine-cache": options.cache}
    # gst-launch reads a backslash as an escape, and keeps an argument's spaces and quotes by itself.
    properties = [f"{name}={value}".replace("\\", "\\\\") for name, value in values.items() if value is not None]
    source = ["videotestsrc", f"num-buffers={options.batch_size or 1}"]
    line = [source, ["cudainferupload"], ["fusedpreproc"], ["trtinfer", "name=prebuild", *properties], ["fakesink"]]
    return [word for element in line for word in ["!", *element]][1:]


def start(arguments: list[str], loud: bool) -> Start:
    """Runs the line; `loud` prints what it says of its progress and its warnings. Exits where it fails."""
    with tempfile.NamedTemporaryFile(suffix=".log") as log:
        environment = pipeline.environment() | {"LC_ALL": "C.UTF-8"}
        environment |= {"GST_DEBUG": LOG, "GST_DEBUG_FILE": log.name, "GST_DEBUG_NO_COLOR": "1"}
        began = time.monotonic()
        command = pipeline.command(arguments)
        # Both outputs in one, or their order would be lost.
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
            errors: list[str] = []
            for line in process.stdout or ():
                if error := heard(line.rstrip(), loud):
                    if not errors:
                        # It kills nothing where the process has ended.
                        killer = threading.Timer(pipeline.PATIENCE_S, process.kill)
                        killer.daemon = True
                        killer.start()
                    errors.append(error)
        seconds = time.monotonic() - began
        if process.returncode or errors:
            failed = f"gst-launch-1.0 failed with status {process.returncode}"
            raise pipeline.PipelineError(errors[0] if errors else failed)
        words = Path(log.name).read_text(errors="replace").splitlines()

    def found(pattern: re.Pattern[str]) -> str | None:
        return next((match[1] for line in words if (match := pattern.search(line))), None)

    used = found(USED)
    parts = {name: int(ms) for name, ms in PART.findall(found(PARTS) or "")}
    return Start(seconds, found(FILLED) is not None, Path(used) if used else None, found(UNWRITABLE), parts)


def table(starts: dict[str, Start]) -> str:
    """The parts of each start in milliseconds, and all of it from gst-launch's begin to its end."""
    names = list(next(iter(starts.values())).parts)
    lines = [f"{'':<16}" + "".join(f"{name:>10}" for name in [*names, "all, ms"])]
    for called, one in starts.items():
        numbers = [*(one.parts.get(name, 0) for name in names), round(1e3 * one.seconds)]
        lines.append(f"{called:<16}" + "".join(f"{number:>10}" for number in numbers))
    return "\n".join(lines)


def heard(line: str, loud: bool) -> str | None:
    """Passes on what a line of gst-launch's says to the user; returns an error's sentence."""
    if line.startswith("Progress: "):
        if loud:
            print(line, flush=True)
    elif line.startswith(("ERROR: from ", "WARNING: from ")):
        kind, *_, sentence = line.split(": ", 2)
        sentence = sentence.removeprefix("prebuild: ")
        if kind == "ERROR":
            return sentence
        if loud:
            say(sentence)
    elif line.startswith(("WARNING: erroneous pipeline: ", "(gst-launch")) or "could not set property" in line:
        return line.removeprefix("WARNING: ")
    return None


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="scripts/prebuild", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model")
    parser.add_argument("--provider", choices=["auto", "tensorrt", "tensorrt-rtx", "cuda", "cpu"])
    parser.add_argument("--device")
    parser.add_argument("--batch-size", type=int, metavar="N")
    parser.add_argument("--cache", metavar="FOLDER", help="as trtinfer's property engine-cache")
    options = parser.parse_args()
    if options.batch_size is not None and options.batch_size < 1:
        parser.error("--batch-size is at least 1")
    arguments = launch(options)
    # The list of plugins is made before the first start, so that both take the same way.
    inspect = ["gst-inspect-1.0", "trtinfer"]
    if subprocess.run(inspect, env=pipeline.environment(), stdout=subprocess.DEVNULL, check=False).returncode:
        raise pipeline.PipelineError("GStreamer does not find the plugin: see README")
    first = start(arguments, loud=True)
    then = start(arguments, loud=False)
    if then.used is None:
        if first.unwritable:
            raise pipeline.PipelineError(first.unwritable)
        say(f"nothing is kept for this model on its provider; a start takes {then.seconds:.1f} s")
        print(table({"a start": then}))
        return
    files = [entry for entry in os.scandir(then.used) if entry.is_file()]
    megabytes = sum(entry.stat().st_size for entry in files) / 1e6
    say(f"{'built' if first.filled else 'it was there already'}: {then.used} ({megabytes:.1f} MB)")
    print("".join(f"    {line}\n" for line in (then.used / "key.txt").read_text().splitlines()), end="")
    say(f"the first start took {first.seconds:.2f} s, a start takes {then.seconds:.2f} s now")
    print(table({"first": first, "from the cache": then}))


if __name__ == "__main__":
    try:
        main()
    except pipeline.PipelineError as error:
        sys.exit(f"prebuild: {error}")
    except FileNotFoundError:
        sys.exit("prebuild: gst-launch-1.0 is not installed: start scripts/setup")
