"""What this machine is, and what is measured on it: written beside figures."""

from __future__ import annotations

import platform
import re
import subprocess
from pathlib import Path

from cudainfer_tools.repository import ROOT


def processor() -> str:
    names = re.findall(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    return names[0] if names else platform.processor()


def printed(command: list[str]) -> str:
    """What a command prints; nothing where it fails or there is no such program."""
    try:
        return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""


def commit() -> str | None:
    """Of the repository, or of what a bundle was made of."""
    bundled = ROOT / "commit"
    return (bundled.read_text() if bundled.exists() else printed(["git", "describe", "--always", "--dirty"])).strip() or None


def gpu() -> dict[str, str | None]:
    """The first GPU, its driver and the CUDA that this one knows; None without nvidia-smi."""
    name, _, driver = (
        printed(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]).partition("\n")[0].partition(", ")
    )
    cuda = re.search(r"CUDA Version: *([\d.]+)", printed(["nvidia-smi"]))
    return {"gpu": name or None, "driver": driver or None, "driver_cuda": cuda[1] if cuda else None}
