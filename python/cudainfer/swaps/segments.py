"""Cuts tracks where identities may have been exchanged. What is between two cuts is one individual's for certain.

A track is cut in a frame where its instance could be another track's that was there before, be it near, or out of sight: where that
costs less than CERTAIN more. Tracks that could have been exchanged with each other are an event, which ends when all of them are
there and long enough to see where they go.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from cudainfer.swaps.body import Body, lengths
from cudainfer.swaps.motion import SIDE, End, Moment, Motion, end_of

# Chosen: what is likelier than an exchange by 10,000 to 1 is certain.
CERTAIN = float(np.log(10_000))


@dataclass
class Segment:
    """A stretch of a track between two cuts."""

    lane: int
    start: int
    end: int
    body: Body
    first: list[Moment] = field(default_factory=list)
    last: list[Moment] = field(default_factory=list)

    def add(self, frame: int, pose: np.ndarray) -> None:
        self.end = frame
        if len(self.first) < SIDE:
            self.first.append((frame, pose))
        self.last = [*self.last[1 - SIDE :], (frame, pose)]


@dataclass
class Event:
    """Where lanes may have been exchanged: the segments before it by lane, and those that began in it."""

    start: int
    end: int
    before: dict[int, Segment] = field(default_factory=dict)
    segments: list[Segment] = field(default_factory=list)


class Lane:
    """A track, where pass two of the file has come to."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.segment: Segment | None = None
        self.recent: list[Moment] = []
        self.event: Event | None = None

    def end(self) -> End:
        return end_of(self.recent)


class Cutter:
    """Finds events."""

    def __init__(self, motion: Motion, pairs: list[tuple[int, int]]) -> None:
        self.motion = motion
        self.near, self.far = motion.far(CERTAIN / 2)
        self.pairs = np.array(pairs).reshape(-1, 2)
        self.names: dict[str, int] = {}
        self.lanes: list[Lane] = []
        self.first: list[Segment] = []
        self.events: list[Event] = []
        self.frame = 0

    def add(self, frame: int, poses: dict[str, np.ndarray]) -> None:
        """The poses of a frame by track, all of them with a point."""
        self.frame = frame
        here: dict[int, np.ndarray] = {}
        for name, pose in poses.items():
            if name not in self.names:
                self.names[name] = len(self.lanes)
                self.lanes.append(Lane(self.names[name]))
            here[self.names[name]] = pose
        cut = self.confusable(frame, here)
        for number, pose in here.items():
            lane = self.lanes[number]
            returns = lane.event is not None and lane.recent[-1][0] < frame - 1
            if lane.segment is None or number in cut or returns:
                lane.segment = Segment(number, frame, frame, Body(len(self.pairs)))
                (lane.event.segments if lane.event else self.first).append(lane.segment)
            lane.segment.add(frame, pose)
            lane.segment.body.add(lengths(pose, self.pairs))
            lane.recent = [*lane.recent[1 - SIDE :], (frame, pose)]
        self.close(frame)

    def confusable(self, frame: int, here: dict[int, np.ndarray]) -> set[int]:
        """The lanes that may have been exchanged before this frame, which are joined to events."""
        if self.all_certain(frame, here):
            return set()
        ends = {lane.number: lane.end() for lane in self.lanes if lane.recent}
        starts = {number: End(frame, pose, None) for number, pose in here.items() if number in ends}
        own = {number: self.motion.cost(ends[number], start) for number, start in starts.items()} if len(ends) > 1 else {}
        found = set()
        for a in own:
            for b in ends:
                if b == a or (b in own and b < a):
                    continue
                more = self.motion.cost(ends[b], starts[a]) - own[a]
                more += self.motion.cost(ends[a], starts[b]) - own[b] if b in own else self.motion.vanishes
                if more < CERTAIN:
                    self.join(self.lanes[a], self.lanes[b], frame)
                    found |= {a, b}
        return found

    def all_certain(self, frame: int, here: dict[int, np.ndarray]) -> bool:
        """Whether nobody is absent and each is far from the others: most frames are so, and are passed over quickly."""
        if len(here) != len(self.lanes) or any(not lane.recent or lane.recent[-1][0] != frame - 1 for lane in self.lanes):
            return False
        before = np.array([lane.recent[-1][1] for lane in self.lanes])
        now = np.array([here[lane.number] for lane in self.lanes])
        squares = ((now[None] - before[:, None]) ** 2).sum(axis=-1)
        both = ~np.isnan(squares)
        common = both.sum(axis=-1)
        if not common.all():
            return False
        squares = np.where(both, squares, 0.0).sum(axis=-1) / common
        own = squares.diagonal().copy()
        np.fill_diagonal(squares, np.inf)
        return bool(own.max() < self.near**2 and squares.min() > self.far**2)

    def join(self, a: Lane, b: Lane, frame: int) -> None:
        """The event of two lanes from now on."""
        event = a.event or b.event
        if event is None:
            event = Event(frame, frame)
            self.events.append(event)
        other = b.event if b.event is not event else None
        if other is not None:
            event.start = min(event.start, other.start)
            event.before |= other.before
            event.segments += other.segments
            self.events.remove(other)
            for lane in self.lanes:
                lane.event = event if lane.event is other else lane.event
        for lane in (a, b):
            if lane.event is None and lane.segment:
                lane.event = event
                event.before[lane.number] = lane.segment

    def close(self, frame: int) -> None:
        """Ends the events whose lanes are all there, and long enough."""
        going_on = {
            id(lane.event)
            for lane in self.lanes
            if lane.event and lane.segment and (lane.segment.end < frame or len(lane.segment.first) < SIDE)
        }
        for lane in self.lanes:
            if lane.event:
                lane.event.end = frame
                lane.event = lane.event if id(lane.event) in going_on else None
