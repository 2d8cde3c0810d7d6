"""Looks back over a table of poses for identities that were exchanged, and gives them back where the whole path costs less so.

Three passes over the file: the first learns how the animals move, the second cuts the tracks where they may have been exchanged and
keeps what these places need, the third writes. Only names change, and in each frame they are the same names, otherwise distributed.
Individuals with names of their own are not touched.
"""

from __future__ import annotations

import bisect
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cudainfer.poses import LabelsError
from cudainfer.swaps.body import Looks
from cudainfer.swaps.motion import Motion, Samples
from cudainfer.swaps.paths import MOST_PERMUTED, Outcome, after, by_motion, by_motion_and_bodies, outcomes, whose
from cudainfer.swaps.segments import Cutter, Event, Segment
from cudainfer.swaps.tables import Row, Table

__all__ = ["Repairs", "repair"]
# More tracks are not the individuals of a video, but pieces.
MOST_TRACKS = 32
ROUNDS = 5
# Of each track, where its stretches begin, and the name that each has.
Spans = dict[str, tuple[list[int], list[str]]]


@dataclass
class Repairs:
    """What was done to a table."""

    # Events in which identities may have been exchanged.
    events: int = 0
    # Of these, those that were decided against the tracker, and how many instances have another identity now.
    repaired: int = 0
    instances: int = 0
    # How far apart the two individuals whose bodies differ most are, in standard deviations; 0 where nobody was certain for long.
    separation: float = 0.0

    def __str__(self) -> str:
        return (
            f"{self.events} places where identities may have been exchanged, {self.repaired} repaired, "
            f"{self.instances} instances have another identity"
        )


def poses(rows: list[Row]) -> dict[str, np.ndarray]:
    """The poses with at least one point."""
    return {row.track: row.pose for row in rows if row.pose is not None and not np.isnan(row.pose[:, 0]).all()}


def repair(path: Path, out: Path) -> Repairs:
    """Writes the table `out` of the table `path`, and says on stderr what it changes."""
    table = Table(path)
    samples = Samples()
    for frame, rows in table.frames():
        for track, pose in poses(rows).items():
            samples.add(frame, track, pose)
    if not samples.tracks:
        raise LabelsError(f"no instance in '{path}' has an identity of the tracker. Put tracker max-tracks=N before inferpublish")
    if len(samples.tracks) > MOST_TRACKS:
        raise LabelsError(
            f"'{path}' has {len(samples.tracks)} tracks; at most {MOST_TRACKS} individuals can be followed. "
            "Set max-tracks of tracker to their number"
        )
    motion = Motion(samples)
    if not motion.known or len(samples.tracks) == 1:
        why = "there is one individual" if len(samples.tracks) == 1 else "the tracks are too short to show how animals move"
        print(f"cudainfer-labels: no swap is looked for in '{path.name}': {why}", file=sys.stderr)
        shutil.copyfile(path, out)
        return Repairs()
    cutter = Cutter(motion, table.pairs())
    for frame, rows in table.frames():
        cutter.add(frame, poses(rows))
    events = [(event, outcomes(event, motion, cutter.frame)) for event in sorted(cutter.events, key=lambda one: one.end)]
    segments = [*cutter.first, *(segment for event in cutter.events for segment in event.segments)]
    chosen, looks = choose(cutter, events, segments)
    names = list(cutter.names)
    found = Repairs(len(events), separation=looks.separation)
    for (event, possible), outcome in zip(events, chosen, strict=True):
        if not outcome.kept:
            found.repaired += 1
            report(event, possible[0], outcome, names)
    named = whose(len(names), cutter.first, chosen)
    spans: Spans = {name: ([], []) for name in names}
    for segment in sorted(segments, key=lambda one: one.start):
        starts, given = spans[names[segment.lane]]
        starts.append(segment.start)
        given.append(names[named[id(segment)]])
    found.instances = write(table, out, spans)
    return found


def choose(cutter: Cutter, events: list[tuple[Event, list[Outcome]]], segments: list[Segment]) -> tuple[list[Outcome], Looks]:
    """The outcome of each event. Bodies are learned where most is certain at a time, and then again from what was chosen."""
    lanes = len(cutter.lanes)
    chosen = by_motion([possible for _, possible in events])
    now = {segment.lane: segment for segment in cutter.first}
    best = now.copy()
    for event, _ in events:
        now |= after(event)
        if min(segment.body.count for segment in now.values()) > min(segment.body.count for segment in best.values()):
            best = now.copy()
    bodies = [segment.body for segment in segments]
    looks = Looks([[best[lane].body] for lane in range(lanes)], bodies)
    for _ in range(ROUNDS if lanes <= MOST_PERMUTED and looks.tell_apart else 0):
        before, chosen = chosen, by_motion_and_bodies(lanes, cutter.first, events, looks)
        if [id(one) for one in chosen] == [id(one) for one in before]:
            break
        named = whose(lanes, cutter.first, chosen)
        groups = [[segment.body for segment in segments if named[id(segment)] == lane] for lane in range(lanes)]
        looks = Looks(groups, bodies)
    return chosen, looks


def report(event: Event, kept: Outcome, outcome: Outcome, names: list[str]) -> None:
    """Says on stderr what is repaired."""
    last = max(segment.start for segment in event.segments)
    moved = [f"{names[lane]} becomes {names[path]}" for path, lane in sorted(outcome.goes_to.items()) if path != lane]
    print(
        f"cudainfer-labels: frames {event.start} to {last}: {', '.join(moved) or 'exchanged back and forth'}; "
        f"the path costs {outcome.cost:.1f}, and {kept.cost:.1f} as it was"
        + ("; the bodies' measures decided" if outcome.total >= kept.total else ""),
        file=sys.stderr,
    )


def write(table: Table, out: Path, spans: Spans) -> int:
    """Writes the table with other names; how many instances have another one."""
    changed = 0
    with out.open("w", encoding="utf-8", newline="") as file:
        file.write(table.header)
        for frame, rows in table.frames():
            there = poses(rows)
            given = {}
            for track in there:
                starts, names = spans[track]
                given[track] = names[bisect.bisect_right(starts, frame) - 1]
            assert len(set(given.values())) == len(given)
            # An instance without points takes a name that is left.
            left = [name for name in spans if name not in given.values()]
            for row in rows:
                if row.track in spans and row.track not in there:
                    given[row.track] = left.pop(left.index(row.track) if row.track in left else 0)
                name = given.get(row.track, row.track)
                changed += name != row.track
                file.write(row.line if name == row.track else name + row.line[len(row.track) :])
    return changed
