"""Raw figures that were measured on this machine's CPU: benches/results/KIND-DATE.json."""

from __future__ import annotations

import datetime
import json
import os
from pathlib import Path

from machine import processor

ROOT = Path(__file__).resolve().parent.parent


def write(kind: str, figures: dict) -> None:
    """Writes the figures, behind when and where they were measured, and prints the file's path."""
    now = datetime.datetime.now(datetime.UTC)
    told = {"date": now.isoformat(timespec="seconds"), "processor": processor(), "cores": os.cpu_count(), **figures}
    file = ROOT / "benches" / "results" / f"{kind}-{now:%Y-%m-%d}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(told, indent=1) + "\n")
    print(file.relative_to(ROOT))
