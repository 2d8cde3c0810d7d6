"""A program that is watched from outside: memory, threads, open files, and what it holds of a GPU."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from cudainfer_tools.machine import printed

SOURCE = Path(__file__).with_name("memory.c")


class Watched:
    """A running program whose allocator reports what is in use."""

    def __init__(self, name: str, command: list[str], folder: Path, environment: dict[str, str]) -> None:
        self.name, self.folder = name, folder
        self.report = folder / f"{name}.memory"
        self.log = folder / f"{name}.log"
        library = shim(folder)
        preloaded = {"LD_PRELOAD": str(library), "SOAK_MEMORY": str(self.report)} if library else {}
        # What a thread keeps of what it gave back counts as given out, and fills up for hours.
        preloaded["GLIBC_TUNABLES"] = "glibc.malloc.tcache_count=0"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, env={**environment, **preloaded})

    def sample(self) -> dict[str, float | None]:
        """What it holds now. Raises ProcessLookupError where it has ended."""
        if (code := self.process.poll()) is not None:
            raise ProcessLookupError(f"{self.name} has ended with {code}; its log is {self.log}:\n{self.log.read_text()[-2000:]}")
        proc = Path("/proc") / str(self.process.pid)
        status = dict(re.findall(r"^(\w+):\s+(\d+)", (proc / "status").read_text(), re.MULTILINE))
        return {
            "in_use_kb": self.in_use(),
            "resident_kb": int(status["VmRSS"]),
            "threads": int(status["Threads"]),
            "files": len(os.listdir(proc / "fd")),
            "gpu_mb": gpu_memory(self.process.pid),
        }

    def in_use(self) -> float | None:
        try:
            return int(self.report.read_text()) / 1024
        except (OSError, ValueError):
            return None

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise


def shim(folder: Path) -> Path | None:
    """The library that reports what is in use; None where there is no C compiler."""
    library = folder / "memory.so"
    if not library.exists():
        try:
            subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", library, SOURCE, "-lpthread"], check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"soak: no memory in use is measured, only resident memory: {error}")
            return None
    return library


def gpu_memory(process: int) -> float | None:
    """MiB of device memory that the process holds by the driver's count; None without a GPU. Within a container, where the driver does
    not know the process by this number, it is what all processes hold."""
    rows = printed(["nvidia-smi", "--query-compute-apps=pid,used_memory", "--format=csv,noheader,nounits"]).splitlines()
    of = {int(row.split(",")[0]): float(row.split(",")[1]) for row in rows if re.fullmatch(r"\d+, *\d+", row)}
    if process in of:
        return of[process]
    used = printed(["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]).split()
    return float(used[0]) if used and used[0].isdigit() else None
