"""Identities after `cudainfer-labels --repair-swaps`. Used by evaluate/identities.py."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

from cudainfer_tools.evaluate.identity_scenes import Frames
from cudainfer_tools.evaluate.identity_scores import Identities
from cudainfer_tools.repository import ROOT

PROGRAM = [sys.executable, "-m", "cudainfer.labels"]


def repaired(frames: Frames, identities: Identities, folder: Path) -> Identities:
    """What the program makes of identities, by way of tables as inferpublish writes them."""
    table, out = folder / "tracked.csv", folder / "repaired.csv"
    points = max((len(one.points) for frame in frames for one in frame), default=0)
    names = [f"point{number}" for number in range(points)]
    lines = ["track,frame_idx,instance.score," + ",".join(f"{name}.x,{name}.y,{name}.score" for name in names)]
    for number, (frame, given) in enumerate(zip(frames, identities, strict=True)):
        for one, identity in zip(frame, given, strict=True):
            cells = [",," if math.isnan(x) else f"{x:.4f},{y:.4f},1.000000" for x, y in one.points]
            lines.append(",".join([f"track_{identity}" if identity else "", str(number), f"{one.score:.6f}", *cells]))
    table.write_text("\n".join(lines) + "\n")
    table.with_suffix(".json").write_text(json.dumps({"skeletons": [{"nodes": names, "edges": list(pairwise(names))}]}))
    command = [*PROGRAM, str(table), "--repair-swaps", "-o", str(out)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    subprocess.run(command, env=environment, check=True, stderr=subprocess.DEVNULL)
    rows = [line.split(",", 1) for line in out.read_text().splitlines()[1:]]
    if [row for _, row in rows] != [line.split(",", 1)[1] for line in lines[1:]]:
        raise ValueError(f"'{out}' differs from '{table}' in more than tracks")
    tracks = iter(int(track.removeprefix("track_") or 0) for track, _ in rows)
    return [[next(tracks) for _ in frame] for frame in frames]
