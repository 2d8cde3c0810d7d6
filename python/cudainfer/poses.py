"""Poses that inferpublish has written, read some frames at a time: memory does not grow with the number of instances."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

# Instances are read by this number of frames: those of frames 0 to 1023, of 1024 to 2047, and so on.
BLOCK = 1024
FRAME = "cudainfer.frame/"
OF_INSTANCE = ["track", "frame_idx", "instance.score"]
OF_POINT = ("x", "y", "score")
UNTRACKED = -1


class LabelsError(Exception):
    """Labels cannot be made; the message says what to do."""


class Poses(NamedTuple):
    """The instances of some frames, in the order of the frames."""

    frames: np.ndarray  # [N] int64
    tracks: np.ndarray  # [N] int64, indices into the names of tracks, or UNTRACKED
    scores: np.ndarray  # [N] float64
    points: np.ndarray  # [N, nodes, 3] float64: x and y, 0 being the first pixel's centre, and score; NaN where there is no point


def columns(nodes: list[str]) -> list[str]:
    """The header of SLEAP's table."""
    return OF_INSTANCE + [f"{name}.{column}" for name in nodes for column in OF_POINT]


class Table:
    """A table of `inferpublish format=sleap`."""

    ROWS = 1 << 14

    def __init__(self, path: Path) -> None:
        self.path = path
        # In the order in which they appear, with their indices.
        self.tracks: dict[str, int] = {}
        with path.open(encoding="utf-8", errors="replace", newline="") as file:
            header = next(csv.reader(file), [])
        self.nodes = [name.removesuffix(".x") for name in header[3::3]]
        if header != columns(self.nodes) or not self.nodes:
            raise self.error("its header is another one")

    def error(self, what: object) -> LabelsError:
        return LabelsError(f"'{self.path}' cannot be read: {what}. Name a table of inferpublish format=sleap")

    def head(self, to: Path) -> None:
        """Writes the table without its rows, and the JSON that lies beside it."""
        write_header(to, self.nodes)
        beside = self.path.with_suffix(".json")
        if beside.is_file():
            to.with_suffix(".json").write_bytes(beside.read_bytes())

    def rows(self) -> Iterator[Poses]:
        import pandas

        numbers = dict.fromkeys(columns(self.nodes)[2:], "float64")
        kinds = {"track": "str", "frame_idx": "int64"} | numbers
        # An animal may be called "NA" or "None".
        empty = {name: [""] for name in numbers}
        try:
            with pandas.read_csv(
                self.path, dtype=kinds, na_values=empty, keep_default_na=False, chunksize=self.ROWS, index_col=False
            ) as tables:
                for rows in tables:
                    codes, names = pandas.factorize(rows["track"].to_numpy(dtype=object))
                    known = [self.tracks.setdefault(name, len(self.tracks)) if name else UNTRACKED for name in names]
                    points = rows[list(numbers)[1:]].to_numpy().reshape(len(rows), len(self.nodes), 3)
                    points[np.isnan(points[:, :, :2]).any(axis=2), :2] = np.nan
                    # An instance without a score has 1, as for sleap-io.
                    scores = rows["instance.score"].fillna(1).to_numpy()
                    yield Poses(rows["frame_idx"].to_numpy(), np.array(known)[codes], scores, points)
        except ValueError as error:
            raise self.error(error) from error

    def blocks(self) -> Iterator[Poses]:
        """Its instances, those of BLOCK frames at a time."""
        parts: list[Poses] = []
        for rows in self.rows():
            if not len(rows.frames):
                continue
            cuts = np.flatnonzero(np.diff(rows.frames // BLOCK)) + 1
            for part in map(Poses._make, zip(*(np.split(array, cuts) for array in rows), strict=True)):
                if parts and parts[0].frames[0] // BLOCK != part.frames[0] // BLOCK:
                    yield Poses(*map(np.concatenate, zip(*parts, strict=True)))
                    parts = []
                parts.append(part)
        if parts:
            yield Poses(*map(np.concatenate, zip(*parts, strict=True)))


class Records:
    """Records of frames (`format=json`). Nodes, edges and tracks are those of the records that were read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.tracks: dict[str, int] = {}
        self.identities: dict[int, str] = {}
        self.places: dict[str, int] = {}
        self.edges: dict[tuple[str, str], None] = {}
        self.last: dict[str, Any] = {}

    @property
    def nodes(self) -> list[str]:
        return list(self.places)

    def records(self) -> Iterator[dict[str, Any]]:
        with self.path.open(encoding="utf-8", errors="replace") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    record = json.loads(line)
                    if not record["schema"].startswith(FRAME):
                        continue
                    source, *_ = (record[name] for name in ("source", "frame", "objects"))
                except (ValueError, KeyError, TypeError, AttributeError):
                    raise LabelsError(
                        f"line {number} of '{self.path}' is no record of inferpublish. Name a file of format=json, or of format=sleap "
                        "with the ending .csv"
                    ) from None
                if source != (before := self.last.get("source", source)):
                    raise LabelsError(
                        f"'{self.path}' has records of '{before}' and of '{source}', and labels are of one video. Write the records of "
                        "each into a file of its own"
                    )
                self.last = record
                yield record

    def blocks(self) -> Iterator[Poses]:
        """Their instances, those of BLOCK frames at a time."""
        found: list[tuple[int, int, float, list[dict[str, Any]]]] = []
        for record in self.records():
            frame = record["frame"]
            if found and found[0][0] // BLOCK != frame // BLOCK:
                yield self.poses(found)
                found = []
            for instance in record["objects"]:
                if points := instance.get("keypoints"):
                    names = [point["name"] for point in points]
                    self.edges.update(dict.fromkeys((names[a], names[b]) for a, b in instance.get("edges", [])))
                    for name in names:
                        self.places.setdefault(name, len(self.places))
                    score = instance.get("pose_score", instance.get("confidence"))
                    found.append((frame, self.track(instance), np.nan if score is None else score, points))
        if found:
            yield self.poses(found)

    def track(self, instance: dict[str, Any]) -> int:
        """The index of its track's name: the individual's, else one of its number."""
        if "track" not in instance:
            return UNTRACKED
        track = instance["track"]
        name = str(track.get("name", f"track_{track['id']}"))
        self.identities[track["id"]] = name
        return self.tracks.setdefault(name, len(self.tracks))

    def poses(self, found: list[tuple[int, int, float, list[dict[str, Any]]]]) -> Poses:
        frames, tracks, scores, instances = zip(*found, strict=True)
        points = np.full((len(found), len(self.places), 3), np.nan)
        # Where two points have one name, the first one counts.
        all_points = [(i, point) for i, of_instance in enumerate(instances) for point in reversed(of_instance)]
        at = [i for i, _ in all_points], [self.places[point["name"]] for _, point in all_points]
        points[at] = [(point["x"] - 0.5, point["y"] - 0.5, point["score"]) for _, point in all_points]
        score = np.array(scores, np.float64)
        return Poses(
            np.array(frames, np.int64),
            np.array(tracks, np.int64),
            np.where(np.isnan(score), np.nansum(points[:, :, 2], axis=1), score),
            points,
        )

    def head(self, to: Path) -> None:
        """Writes SLEAP's table without rows, and the JSON that lies beside it; the records were read before."""
        write_header(to, self.nodes)
        shape = [self.last["frame"] + 1, self.last["height"], self.last["width"], 3]
        video = self.last["source"]
        beside = {
            "version": "1.0",
            "videos": [
                {"filename": video, "backend_metadata": {"type": "MediaVideo", "filename": video, "shape": shape}}
            ],
            "skeletons": [
                {"name": "Skeleton-0", "nodes": self.nodes, "edges": list(self.edges), "symmetries": []}
            ],
            "tracks": list(dict.fromkeys(name for _, name in sorted(self.identities.items()))),
            "suggestions": [],
            "provenance": {"written_by": "cudainfer-labels"},
        }
        to.with_suffix(".json").write_text(json.dumps(beside, indent=2) + "\n", encoding="utf-8")


def write_header(to: Path, nodes: list[str]) -> None:
    with to.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerow(columns(nodes))


class Survey:
    """What must be known of all instances before the first one is written."""

    def __init__(self, source: Table | Records) -> None:
        self.instances = 0
        # Frames with instances, and the greatest number of a frame.
        self.frames = 0
        self.last = -1
        # Of a frame, at most.
        self.most_of_frame = 0
        self.most_untracked = 0
        self.untracked = 0
        # Instances of a frame with the track of another one.
        self.repeated = 0
        # By track, how often each node was found.
        self.points: dict[int, np.ndarray] = {}
        for block in source.blocks():
            self.add(source, block)

    def add(self, source: Table | Records, block: Poses) -> None:
        steps = np.diff(block.frames, prepend=max(self.last, 0))
        if (steps < 0).any():
            frame = block.frames[np.argmax(steps < 0)]
            raise LabelsError(
                f"the instances of '{source.path}' are not in the order of their frames: frame {frame} comes after a later one. Labels are "
                "of one run of one video: name the file of one"
            )
        self.last = int(block.frames[-1])
        self.instances += len(block.frames)
        _, counts = np.unique(block.frames, return_counts=True)
        self.frames += len(counts)
        self.most_of_frame = max(self.most_of_frame, int(counts.max()))
        alone = block.tracks == UNTRACKED
        _, counts = np.unique(block.frames[alone], return_counts=True)
        self.untracked += int(alone.sum())
        self.most_untracked = max(self.most_untracked, int(counts.max(initial=0)))
        tracked = block.frames[~alone] * len(source.tracks) + block.tracks[~alone]
        self.repeated += len(tracked) - len(np.unique(tracked))
        seen = ~np.isnan(block.points[:, :, 0])
        for track in np.unique(block.tracks).tolist():
            counts = seen[block.tracks == track].sum(axis=0)
            # Nodes may have come since.
            before = self.points.get(track, counts[:0])
            counts[: len(before)] += before
            self.points[track] = counts
