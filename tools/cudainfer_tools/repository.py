"""Where the repository is, and how a module of this package is started in a process of its own."""

from __future__ import annotations

import sys
from pathlib import Path

# In the Debian package it is /usr/share/cudainfer, with a part of the files.
ROOT = Path(__file__).resolve().parents[2]


def command(module: str, *arguments: object, python: str | Path = sys.executable) -> list[str]:
    """The command that runs a module, by its name in this package, with a Python that need not have the package installed."""
    return [str(python), str(ROOT / "tools"), module, *map(str, arguments)]
