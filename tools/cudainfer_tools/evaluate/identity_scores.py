"""How well identities stay. Used by evaluate/identities.py.

Identities count from 1 and are 0 where an instance has none; they are listed as the instances of each frame are.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

from cudainfer_tools.evaluate.identity_scenes import Frames, Instance

# For each frame the identity of each instance.
Identities = list[list[int]]


@dataclass(frozen=True)
class Scores:
    """Figures of one tracker on one video."""

    # How many identities there are.
    identities: int
    # How often an animal's identity is another one than before.
    switches: int
    # The share of the animals' instances that have the identity that is its animal's, by the best choice of whose each is.
    right: float
    # The share of the animals' instances that have none.
    without: float
    # How many instances that are no animal have one.
    wrong: int


def scores(frames: Frames, identities: Identities, animals: int) -> Scores:
    """Against the animals that are known."""
    last: dict[int, int] = {}
    together: dict[tuple[int, int], int] = {}
    switches = without = wrong = 0
    for instance, identity in pairs(frames, identities):
        if instance.animal == 0:
            wrong += identity > 0
        elif identity == 0:
            without += 1
        else:
            switches += last.get(instance.animal, identity) != identity
            last[instance.animal] = identity
            together[instance.animal, identity] = together.get((instance.animal, identity), 0) + 1
    given = sorted({identity for frame in identities for identity in frame if identity > 0})
    seen = sum(instance.animal > 0 for instance, _ in pairs(frames, identities))
    # Of many identities, those that are an animal's most often are enough to choose from.
    likely = {max(given, key=lambda one: together.get((animal, one), 0)) for animal in range(1, animals + 1) if given}
    likely |= set(given[:animals])
    padded = [*sorted(likely), *[0] * animals]
    best = max(
        sum(together.get((animal, one), 0) for animal, one in enumerate(choice, 1))
        for choice in set(itertools.permutations(padded[: animals + len(likely)], animals))
    )
    return Scores(len(given), switches, best / max(seen, 1), without / max(seen, 1), wrong)


def pairs(frames: Frames, identities: Identities) -> list[tuple[Instance, int]]:
    return [pair for one in zip(frames, identities, strict=True) for pair in zip(*one, strict=True)]


@dataclass(frozen=True)
class Unaided:
    """Figures of one tracker on a video whose animals are not known."""

    identities: int
    # Pairs of identities that, in the next frame that has both, would be nearer had they been given the other way round.
    swaps: int
    # How often an identity is missing in a frame that has instances for all.
    breaks: int
    # Instances without an identity.
    without: int


def unaided(frames: Frames, identities: Identities, animals: int) -> Unaided:
    """By the nearest motion: from a frame to the next, animals move little."""
    before: dict[int, Instance] = {}
    swaps = breaks = without = 0
    for frame, given in zip(frames, identities, strict=True):
        now = {identity: instance for instance, identity in zip(frame, given, strict=True) if identity > 0}
        without += given.count(0)
        breaks += max(0, min(animals, len(frame)) - len(now))
        for a, b in itertools.combinations(sorted(before.keys() & now.keys()), 2):
            kept = apart(before[a], now[a]) + apart(before[b], now[b])
            swapped = apart(before[a], now[b]) + apart(before[b], now[a])
            swaps += swapped < kept
        before |= now
    return Unaided(len({one for frame in identities for one in frame if one > 0}), swaps, breaks, without)


def apart(a: Instance, b: Instance) -> float:
    """The mean distance of the points that both have; that of the means of all where there are none."""
    both = [(p, q) for p, q in zip(a.points, b.points, strict=True) if not math.isnan(p[0] + q[0])]
    if not both:
        both = [(middle(a), middle(b))]
    return sum(math.dist(p, q) for p, q in both) / len(both)


def middle(one: Instance) -> tuple[float, float]:
    there = [point for point in one.points if not math.isnan(point[0])]
    return sum(x for x, _ in there) / len(there), sum(y for _, y in there) / len(there)
