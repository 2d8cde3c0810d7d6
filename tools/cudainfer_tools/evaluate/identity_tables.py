"""Writes the made videos of evaluate/identity_scenes.py as tables of SLEAP, for scripts/autotune tracker.

    python3 tools evaluate.identity_tables FOLDER

FOLDER gets NAME.csv, what a network would find, and NAME-labelled.csv, the same with the animals as tracks, without what is no animal.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

from cudainfer_tools.evaluate.identity_scenes import POINTS, SCENES, Frames, make

NAMES = [f"point{number}" for number in range(POINTS)]
HEAD = "track,frame_idx,instance.score," + ",".join(f"{name}.x,{name}.y,{name}.score" for name in NAMES)


def table(frames: Frames, is_labelled: bool) -> str:
    """The poses of all frames, or those of animals with their tracks."""
    lines = [HEAD]
    for number, frame in enumerate(frames):
        for one in frame:
            if is_labelled and not one.animal:
                continue
            cells = [",," if math.isnan(x) else f"{x:.4f},{y:.4f},{one.score:.6f}" for x, y in one.points]
            lines.append(",".join([f"animal_{one.animal}" if is_labelled else "", str(number), f"{one.score:.6f}", *cells]))
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python3 tools evaluate.identity_tables", description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    for scene in SCENES:
        frames = make(scene)
        (given.folder / f"{scene.name}.csv").write_text(table(frames, False))
        (given.folder / f"{scene.name}-labelled.csv").write_text(table(frames, True))
    print(given.folder)


if __name__ == "__main__":
    main()
