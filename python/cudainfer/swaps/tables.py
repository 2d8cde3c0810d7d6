"""Tables of SLEAP's form with the identities that `tracker` gives, frame by frame."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cudainfer.poses import LabelsError

# Names of identities that the tracker has counted. Others are individuals that the model knows by their looks.
NUMBERED = re.compile(r"track_\d+")
# Points whose distances are all compared where a skeleton has no edges: more would be more measures than anybody has frames for.
MOST_WITHOUT_EDGES = 8


@dataclass
class Row:
    """A line of the table; `pose` [points, 2] in pixels, NaN where one is missing, is None for a row that is left alone."""

    line: str
    track: str
    pose: np.ndarray | None


class Table:
    """A table and the skeleton in the .json beside it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with path.open(encoding="utf-8", newline="") as lines:
            self.header = lines.readline()
        columns = self.header.strip().split(",")
        if columns[:3] != ["track", "frame_idx", "instance.score"] or len(columns) < 6 or len(columns) % 3:
            raise LabelsError(f"'{path}' has other columns than SLEAP's tables. Name a table of inferpublish format=sleap")
        self.nodes = [name.removesuffix(".x") for name in columns[3::3]]

    def pairs(self) -> list[tuple[int, int]]:
        """The points whose distances measure a body: the skeleton's edges, else all pairs."""
        beside = self.path.with_suffix(".json")
        skeletons = json.loads(beside.read_text(encoding="utf-8"))["skeletons"] if beside.is_file() else []
        edges = [edge for skeleton in skeletons for edge in skeleton["edges"]]
        found = {(self.nodes.index(a), self.nodes.index(b)) for a, b in edges if a in self.nodes and b in self.nodes}
        some = range(min(len(self.nodes), MOST_WITHOUT_EDGES))
        return sorted(found) or [(a, b) for a in some for b in some if a < b]

    def frames(self) -> Iterator[tuple[int, list[Row]]]:
        """The rows of each frame that has some, in the file's order."""
        number, rows = -1, []
        with self.path.open(encoding="utf-8", newline="") as lines:
            next(lines)
            for count, line in enumerate(lines, 2):
                cells = line.split(",", 2)
                try:
                    # A name may be quoted, and then have commas.
                    numbered = NUMBERED.fullmatch(cells[0])
                    frame = int(
                        cells[1]
                        if numbered or not cells[0]
                        else line.rsplit(",", 3 * len(self.nodes) + 2)[-3 * len(self.nodes) - 2]
                    )
                    pose = self.pose(cells[2]) if numbered else None
                except (ValueError, IndexError):
                    raise LabelsError(f"line {count} of '{self.path}' is no row of SLEAP's table. Write the table again") from None
                if frame < number:
                    raise LabelsError(
                        f"line {count} of '{self.path}' is of frame {frame}, after frame {number}. Sort the rows by frame"
                    )
                if frame > number and rows:
                    yield number, rows
                    rows = []
                if numbered and any(row.track == cells[0] for row in rows):
                    raise LabelsError(
                        f"line {count} of '{self.path}' is {cells[0]} once more in frame {frame}. Give each instance its own"
                    )
                number = frame
                rows.append(Row(line, cells[0], pose))
        if rows:
            yield number, rows

    def pose(self, cells: str) -> np.ndarray:
        """The points, which follow the score."""
        values = cells.rstrip("\r\n").split(",")
        if len(values) != 3 * len(self.nodes) + 1:
            raise ValueError(cells)
        there = [float(value or "nan") for value in values[1:]]
        return np.array((there[::3], there[1::3])).T
