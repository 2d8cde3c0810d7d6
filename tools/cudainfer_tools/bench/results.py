"""What benches on this machine's CPU share: whose turn it is, and where raw figures go (benches/results/KIND-DATE.json)."""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Iterable
from pathlib import Path

from cudainfer_tools.machine import processor
from cudainfer_tools.repository import ROOT


def turn(names: Iterable[str], number: int) -> list[str]:
    """The order of what is compared in this round: who goes first changes."""
    names = list(names)
    first = number % len(names)
    return names[first:] + names[:first]


def write(kind: str, figures: dict, folder: Path = ROOT / "benches" / "results") -> None:
    """Writes the figures, after when and where they were measured, and prints the file's path."""
    now = datetime.datetime.now(datetime.UTC)
    reported = {"date": now.isoformat(timespec="seconds"), "processor": processor(), "cores": os.cpu_count(), **figures}
    file = folder / f"{kind}-{now:%Y-%m-%d}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(reported, indent=1) + "\n")
    print(file.relative_to(ROOT) if file.is_relative_to(ROOT) else file)
