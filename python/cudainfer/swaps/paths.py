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
from cudainfer.swaps.motion import LEAST, SIDE, Moment, Motion, end_of
from cudainfer.swaps.segments import Event, Segment

# Chosen: the tracker is right unless something else is a hundred times as likely. An exchange changes two links and what follows; one
# that is taken back changes four links.
CHANGED_LINK, EXCHANGED = 1.15, 2.3
# States of an event that are kept; individuals whose permutations are all looked at.
MOST_STATES, MOST_PERMUTED = 500, 6


@dataclass(frozen=True)
class Chain:
    """A path within an event: its last segment, and what was before. A segment may be nobody's: a mistake of the detector."""

    segment: Segment
    before: Chain | None
    nobody: bool = False

    @property
    def real(self) -> Chain:
        """Without what is nobody's at its end. What a path begins with is somebody's."""
        return self.before.real if self.nobody and self.before else self

    def segments(self) -> Iterator[Segment]:
        at: Chain | None = self
        while at is not None:
            yield at.segment
            at = at.before

    def last(self) -> list[Moment]:
        """The last moments, over as many segments as it takes."""
        found, at = list(self.segment.last), self
        while len(found) < SIDE and at.before is not None:
            at = at.before.real
            found = [*at.segment.last, *found]
        return found[-SIDE:]


@dataclass
class Outcome:
    """Who goes on where after an event: the cost, and each lane's path; `goes_to` has the lane that a path ends in."""

    cost: float
    changed: int
    paths: dict[int, Chain]
    goes_to: dict[int, int]

    @property
    def kept(self) -> bool:
        """Whether it is what the tracker made of it."""
        return self.changed == 0

    @cached_property
    def total(self) -> float:
        """The cost, and what it has to be less by than others'."""
        return self.cost + CHANGED_LINK * self.changed + EXCHANGED * any(path != lane for path, lane in self.goes_to.items())


# The cost with what changed links cost more, the number of these, and the path of each lane. The key is what the paths end in.
State = tuple[float, int, tuple[Chain, ...]]
Key = tuple[tuple[int, bool], ...]


def outcomes(event: Event, motion: Motion, end: int) -> list[Outcome]:
    """How an event may end: the cheapest way for each, and first what the tracker made of it."""
    lanes = sorted(event.before)
    links = Links(motion)
    before = tuple(Chain(event.before[lane], None) for lane in lanes)
    best: dict[tuple[int, ...], Outcome] = {}
    for own in (True, False):
        states: dict[Key, State] = {tuple((id(chain.segment), False) for chain in before): (0.0, 0, before)}
        previous = event.before.copy()
        for segment in sorted(event.segments, key=lambda one: (one.start, one.lane)):
            states = step(states, segment, previous[segment.lane], own, links)
            previous[segment.lane] = segment
        for cost, changed, paths in states.values():
            total = cost - CHANGED_LINK * changed + sum(motion.of_leaving(end - path.real.segment.end) for path in paths)
            goes_to = ends_in(event, dict(zip(lanes, paths, strict=True)))
            key = (own, *goes_to.values())
            outcome = Outcome(total, changed, dict(zip(lanes, paths, strict=True)), goes_to)
            if key not in best or outcome.total < best[key].total:
                best[key] = outcome
    return list(best.values())


def step(states: dict[Key, State], segment: Segment, previous: Segment, own: bool, links: Links) -> dict[Key, State]:
    """The states after a segment has begun, which continues one of the paths that had ended; `own`: that of `previous`, as the
    tracker has it."""
    found: dict[Key, State] = {}
    # Velocities are not seen in so few frames: whoever is there may be nobody.
    nobody = (False, True) if segment.end - segment.start < LEAST - 1 else (False,)
    for key, (cost, changed, paths) in states.items():
        for number, path in enumerate(paths):
            change = path.segment is not previous
            if path.segment.end >= segment.start or (own and change):
                continue
            for mistake in nobody:
                more = cost + CHANGED_LINK * change + (links.mistake if mistake else links.cost(path.real, segment))
                then = (*key[:number], (id(segment), mistake), *key[number + 1 :])
                if then not in found or more < found[then][0]:
                    found[then] = (more, changed + change, (*paths[:number], Chain(segment, path, mistake), *paths[number + 1 :]))
    return dict(sorted(found.items(), key=lambda item: item[1][0])[:MOST_STATES])


class Links:
    """Costs of links within an event."""

    def __init__(self, motion: Motion) -> None:
        self.motion = motion
        self.mistake = motion.anywhere
        self.known: dict[tuple[int, ...], float] = {}

    def cost(self, chain: Chain, segment: Segment) -> float:
        key, at = [id(segment), id(chain.segment)], chain
        moments = len(chain.segment.last)
        while moments < SIDE and at.before is not None:
            at = at.before.real
            moments += len(at.segment.last)
            key.append(id(at.segment))
        if (found := self.known.get(tuple(key))) is None:
            found = self.known[tuple(key)] = self.motion.cost(end_of(chain.last()), end_of(segment.first[::-1]))
        return found


def ends_in(event: Event, paths: dict[int, Chain]) -> dict[int, int]:
    """The lane that each path ends in."""
    lane_of = {id(segment): lane for lane, segment in after(event).items()}
    found = {lane: lane_of[id(path.segment)] for lane, path in paths.items() if id(path.segment) in lane_of}
    # A path that has ended before takes a lane in which nothing is any more.
    free = [lane for lane in paths if lane not in found.values()]
    for lane in paths:
        if lane not in found:
            found[lane] = free.pop(free.index(lane) if lane in free else 0)
    return dict(sorted(found.items()))


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
