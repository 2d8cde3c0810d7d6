"""A command that is measured as a whole: its time, its memory, and what the GPU does meanwhile."""

from __future__ import annotations

import os
import re
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from cudainfer_tools import pipeline
from cudainfer_tools.profile.launch import GPU_COLUMNS, Sampler

USED, MEMORY = (1 + GPU_COLUMNS.index(name) for name in ("utilization.gpu", "memory.used"))
# For nvidia-smi to say what is used before the command starts.
PATIENCE_TO_SAMPLE_S = 5.0
# Colours and the like, which rich prints.
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass
class Run:
    """What a command has taken. `samples` are of the GPU: seconds since the command's start, its use in %, its memory in MiB."""

    status: int
    seconds: float
    peak_mb: float
    samples: list[tuple[float, float, float]]
    # Memory of the GPU that was in use before.
    idle_mib: float
    # Share of all cores that other processes had meanwhile.
    others: float
    log: str

    def gpu_mib(self) -> float | None:
        """The most memory of the GPU, of all processes, less what was in use before."""
        return max((memory for _, _, memory in self.samples), default=None)

    def gpu_percent(self, since: float) -> float | None:
        """The mean of nvidia-smi's utilization.gpu, the share of the time in which a kernel ran, from `since` on."""
        used = [used for at, used, _ in self.samples if at >= since]
        return fmean(used) if used else None

    def last_words(self) -> str:
        """The line that tells why it failed, as far as lines can."""
        if said := pipeline.ERROR.search(self.log):
            return said[3][:400]
        lines = [line.strip() for line in self.log.splitlines() if line.strip()]
        told = [line for line in lines if re.search(r"error|exception|invalid", line, re.IGNORECASE)]
        return (told or lines or [f"it ended with {self.status}"])[-1][:400]


def busy_seconds() -> float:
    """CPU time of all processes since the machine's start, and what its host took."""
    user, nice, system, _, _, irq, softirq, steal = map(int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def run(command: list[str], environment: dict[str, str], folder: Path, limit: float) -> Run:
    """Runs a command to its end, or kills it after `limit` seconds. What it prints is kept."""
    sampler = Sampler()
    before = time.monotonic()
    while sampler.process and not sampler.samples and time.monotonic() < before + PATIENCE_TO_SAMPLE_S:
        time.sleep(0.01)
    idle = [sample[MEMORY] or 0.0 for sample in sampler.samples]
    log = folder / "log.txt"
    with log.open("w") as out:
        busy, began = busy_seconds(), time.monotonic()
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=environment)
        killer = threading.Timer(limit, process.kill)
        killer.start()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - began
        others = (busy_seconds() - busy - usage.ru_utime - usage.ru_stime) / seconds / (os.cpu_count() or 1)
        killer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    samples = []
    for sample in sampler.stop():
        if (at := (sample[0] or 0.0) - (began - sampler.began if sampler.process else 0.0)) >= 0:
            samples.append((at, sample[USED] or 0.0, (sample[MEMORY] or 0.0) - (idle[0] if idle else 0.0)))
    said = ESCAPES.sub("", log.read_text(errors="replace")).replace("\r", "\n")
    if seconds >= limit:
        said += f"\nerror: it did not end in {limit:.0f} s"
    return Run(process.returncode, seconds, usage.ru_maxrss * 1024 / 1e6, samples, idle[0] if idle else 0.0, max(others, 0.0), said)
