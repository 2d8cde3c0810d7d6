"""Runs a pipeline under the tracer, and notes beside it what the process and the GPU did."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path

from cudainfer_tools import machine, pipeline

# Of nvidia-smi, every tenth of a second.
GPU_COLUMNS = ("utilization.gpu", "memory.used", "power.draw")
# For the end of a pipeline that is asked for it, and for its first frame: engines may have to be built.
PATIENCE_S = 20.0
PATIENCE_TO_START_S = 300.0
# What gst-launch-1.0 prints when every sink has its first frame, or has not to wait for one.
FLOWS = re.compile(r"^(Setting pipeline to PLAYING|Pipeline is live)", re.MULTILINE)


def tracers(folder: Path) -> str:
    """The value of GST_TRACERS that writes into `folder`."""
    path = folder.absolute()
    return f"cudainfertracer(json={path / 'elements.json'},trace={path / 'trace.json'})"


def launch(arguments: list[str], folder: Path, seconds: float | None) -> int:
    """Runs a pipeline to its end, or for that many seconds from when frames flow; its exit status. What it prints goes to log.txt."""
    command = pipeline.command(arguments, "-e")
    environment = pipeline.environment() | {"GST_TRACERS": tracers(folder), "LC_ALL": "C.UTF-8"}
    # Ctrl-C reaches gst-launch too, which ends its streams (-e).
    before = signal.signal(signal.SIGINT, lambda *_: None)
    load = os.getloadavg()[0]
    sampler = Sampler()
    began = time.monotonic()
    with (folder / "log.txt").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=environment)
        ended = threading.Event()
        ender = threading.Thread(target=end_after, args=(process, seconds, folder / "log.txt", ended))
        ender.start()
        _, status, usage = os.wait4(process.pid, 0)
        ended.set()
        ender.join()
    process.returncode = os.waitstatus_to_exitcode(status)
    samples = sampler.stop()
    signal.signal(signal.SIGINT, before)
    run = {
        "command": pipeline.printable(command),
        "words": arguments,
        "status": process.returncode,
        "wall_seconds": time.monotonic() - began,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "memory_bytes": usage.ru_maxrss * 1024,
        "cores": len(os.sched_getaffinity(0)),
        "load_before": load,
        "has_gpu": any(Path("/dev").glob("nvidia[0-9]*")) or Path("/dev/dxg").exists(),
        "processor": machine.processor(),
        "gpu": sampler.name,
        "gpu_columns": ["seconds", *GPU_COLUMNS],
        "gpu_samples": samples,
    }
    (folder / "run.json").write_text(json.dumps(run, indent=1))
    return process.returncode


def end_after(process: subprocess.Popen, seconds: float | None, log: Path, ended: threading.Event) -> None:
    """Ends its streams that many seconds after frames flow, and the process itself where that takes too long, or an error does not end it."""
    waited = time.monotonic() + PATIENCE_TO_START_S
    while not FLOWS.search(said := log.read_text(errors="replace")) and time.monotonic() < waited:
        if pipeline.ERROR.search(said):
            seconds = pipeline.PATIENCE_S
            break
        if ended.wait(0.05):
            return
    if seconds is None:
        return
    for patience, what in ((seconds, signal.SIGINT), (PATIENCE_S, signal.SIGKILL)):
        if ended.wait(patience):
            return
        os.kill(process.pid, what)


def failure(folder: Path) -> str | None:
    """The error of the pipeline that was profiled into `folder`, if its log has one."""
    said = pipeline.ERROR.search((folder / "log.txt").read_text(errors="replace"))
    return said[3] if said else None


class Sampler:
    """Asks nvidia-smi about the first GPU while something runs; without it there are no samples."""

    def __init__(self) -> None:
        self.samples: list[list[float | None]] = []
        self.name: str | None = None
        self.process: subprocess.Popen | None = None
        program = shutil.which("nvidia-smi")
        if program is None:
            return
        asked = subprocess.run(
            [program, "--query-gpu=name", "--format=csv,noheader", "-i", "0"], capture_output=True, text=True, check=False
        )
        if asked.returncode != 0:
            return
        self.name = asked.stdout.strip()
        words = [program, f"--query-gpu={','.join(GPU_COLUMNS)}", "--format=csv,noheader,nounits", "-i", "0", "-lms", "100"]
        self.began = time.monotonic()
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self) -> None:
        assert self.process is not None and self.process.stdout is not None
        for line in self.process.stdout:
            self.samples.append([time.monotonic() - self.began, *map(number, line.split(","))])

    def stop(self) -> list[list[float | None]]:
        """Ends it: seconds since the start, and the columns."""
        if self.process is not None:
            self.process.terminate()
            self.process.wait()
            self.reader.join()
        return self.samples


def number(text: str) -> float | None:
    """What nvidia-smi says; "[N/A]" is none."""
    try:
        return float(text)
    except ValueError:
        return None
