"""What this machine is: written beside figures that were measured on it."""

from __future__ import annotations

import platform
import re
from pathlib import Path


def processor() -> str:
    names = re.findall(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    return names[0] if names else platform.processor()
