"""The assignment of segments to individuals that costs least.

Within an event, dynamic programming over who has which segment: a state is the last segment of each path, and the next segment to
begin continues one of the paths that have ended. This is exact but for the velocities, which are those of a state's cheapest
history (per-survivor processing, Raheli et al., IEEE Transactions on Communications 1995). Over the whole file, where bodies tell
individuals apart, Viterbi's algorithm over the permutations of the individuals, with what each event's outcomes and each segment's
body cost; else each event is decided by itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from cudainfer.swaps.body import Looks
from cudainfer.swaps.motion import SIDE, Moment, Motion, end_of
from cudainfer.swaps.segments import Event, Segment

# Chosen: what the tracker made of an event is changed where that is ten times as likely, and what follows it is exchanged where that is
# ten times as likely once more.
MARGIN = 2.3
# States of an event that are kept; individuals whose permutations are all looked at.
MOST_STATES, MOST_PERMUTED = 2000, 6


@dataclass(frozen=True)
class Chain:
    """A path within an event: its last segment, and what was before."""

    segment: Segment
    before: Chain | None

    def segments(self) -> Iterator[Segment]:
        at: Chain | None = self
        while at is not None:
            yield at.segment
            at = at.before

    def last(self) -> list[Moment]:
        """The last moments, over as many segments as it takes."""
        found: list[Moment] = []
        for segment in self.segments():
            found = [*segment.last, *found]
            if len(found) >= SIDE:
                break
        return found[-SIDE:]


@dataclass
class Outcome:
    """Who goes on where after an event: the cost, and each lane's path; `goes_to` has the lane that a path ends in."""

    cost: float
    paths: dict[int, Chain]
    goes_to: dict[int, int]

    @cached_property
    def kept(self) -> bool:
        """Whether it is what the tracker made of it."""
        return all(segment.lane == path for path, chain in self.paths.items() for segment in chain.segments())

    @cached_property
    def total(self) -> float:
        """The cost, and what it has to be less by than others'."""
        return self.cost + MARGIN * (not self.kept) + MARGIN * any(path != lane for path, lane in self.goes_to.items())


def outcomes(event: Event, motion: Motion, end: int) -> list[Outcome]:
    """How an event may end: the cheapest way for each, and first what the tracker made of it."""
    lanes = sorted(event.before)
    known: dict[tuple[int, ...], float] = {}

    def link(chain: Chain, segment: Segment) -> float:
        key, at, moments = [id(segment)], chain, 0
        while True:
            key.append(id(at.segment))
            moments += len(at.segment.last)
            if moments >= SIDE or at.before is None:
                break
            at = at.before
        if tuple(key) not in known:
            known[tuple(key)] = motion.cost(end_of(chain.last()), end_of(segment.first[::-1]))
        return known[tuple(key)]

    def leave(cost: float, paths: tuple[Chain, ...]) -> float:
        return cost + sum(motion.of_leaving(end - path.segment.end) for path in paths)

    # By the last segment of each path.
    states = {tuple(id(event.before[lane]) for lane in lanes): (0.0, tuple(Chain(event.before[lane], None) for lane in lanes))}
    own = next(iter(states.values()))
    for segment in sorted(event.segments, key=lambda one: (one.start, one.lane)):
        at = lanes.index(segment.lane)
        own = (own[0] + link(own[1][at], segment), (*own[1][:at], Chain(segment, own[1][at]), *own[1][at + 1 :]))
        following: dict[tuple[int, ...], tuple[float, tuple[Chain, ...]]] = {}
        for key, (cost, paths) in states.items():
            for number, path in enumerate(paths):
                if path.segment.end >= segment.start:
                    continue
                then = (*key[:number], id(segment), *key[number + 1 :])
                more = cost + link(path, segment)
                if then not in following or more < following[then][0]:
                    following[then] = (more, (*paths[:number], Chain(segment, path), *paths[number + 1 :]))
        states = dict(sorted(following.items(), key=lambda item: item[1][0])[:MOST_STATES])
    lane_of = {id(segment): lane for lane, segment in after(event).items()}
    found = [Outcome(leave(*own), dict(zip(lanes, own[1], strict=True)), {lane: lane for lane in lanes})]
    for cost, paths in states.values():
        goes_to = {lane: lane_of[id(path.segment)] for lane, path in zip(lanes, paths, strict=True) if id(path.segment) in lane_of}
        # A path that has ended before takes a lane in which nothing is any more.
        free = [lane for lane in lanes if lane not in goes_to.values()]
        for lane in lanes:
            if lane not in goes_to:
                goes_to[lane] = free.pop(free.index(lane) if lane in free else 0)
        found.append(Outcome(leave(cost, paths), dict(zip(lanes, paths, strict=True)), goes_to))
    return found


def after(event: Event) -> dict[int, Segment]:
    """The last segment of each lane."""
    return event.before | {segment.lane: segment for segment in sorted(event.segments, key=lambda one: one.start)}


def whose(lanes: int, first: list[Segment], chosen: list[Outcome]) -> dict[int, int]:
    """The lane whose name each segment has, by the segment's id. A path keeps the name that it began with."""
    found = {id(segment): segment.lane for segment in first}
    holds = list(range(lanes))
    for outcome in chosen:
        for path, chain in outcome.paths.items():
            found |= {id(segment): holds[path] for segment in chain.segments()}
        held = holds.copy()
        for path, lane in outcome.goes_to.items():
            holds[lane] = held[path]
    return found


def by_motion(events: list[list[Outcome]]) -> list[Outcome]:
    """Each event by itself."""
    return [min(found, key=lambda outcome: outcome.total) for found in events]


def by_motion_and_bodies(
    lanes: int, first: list[Segment], events: list[tuple[Event, list[Outcome]]], looks: Looks
) -> list[Outcome]:
    """All events together. A state says which individual each lane has; individuals have no names yet."""
    costs = {id(segment): looks.costs(segment.body) for event, _ in events for segment in after(event).values()}
    costs |= {id(segment): looks.costs(segment.body) for segment in first}
    states: dict[tuple[int, ...], tuple[float, tuple]] = {
        order: (sum(costs[id(segment)][order[segment.lane]] for segment in first), ())
        for order in itertools.permutations(range(lanes))
    }
    for event, found in events:
        following: dict[tuple[int, ...], tuple[float, tuple]] = {}
        new = [segment for lane, segment in after(event).items() if segment is not event.before[lane]]
        for order, (cost, history) in states.items():
            for outcome in found:
                then = list(order)
                for path, lane in outcome.goes_to.items():
                    then[lane] = order[path]
                more = cost + outcome.total + sum(costs[id(segment)][then[segment.lane]] for segment in new)
                key = tuple(then)
                if key not in following or more < following[key][0]:
                    following[key] = (more, (outcome, history))
        states = following
    _, history = min(states.values(), key=lambda state: state[0])
    chosen = []
    while history:
        outcome, history = history
        chosen.append(outcome)
    return chosen[::-1]
