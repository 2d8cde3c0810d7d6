"""How far an animal is from where it is expected after some frames, learned from the file itself.

A link joins the end of a path to the beginning of another one, `gap` frames later. Its cost is the negative logarithm of a
probability density: of the middle's way beyond what the velocities on both sides say, of how much the pose has changed (turned,
mostly), and of the gap's length. The first two are Student's t distributions whose scales and tails are fitted, for gaps of 1 to
256 frames, to pairs of moments of the same track (as TrackletStitcher of DeepLabCut, Lauer et al., Nature Methods 2022, has
residuals of motion from both sides; its weights are constants). A track's own swaps are among them, but are rare.
"""

from __future__ import annotations

import bisect
import math
import random
from dataclasses import dataclass

import numpy as np

# Chosen: frames that a velocity is fitted to on either side, and at least.
SIDE, LEAST = 5, 3
# They are within this many frames.
RECENT = 2 * SIDE
PAIRED = {count: np.triu_indices(count, 1) for count in range(LEAST, SIDE + 1)}
# Gaps that are looked at; longer ones are as the longest.
GAPS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
# Pairs that are kept of each gap, and those that a distribution is fitted to at least.
PAIRS, FEW = 1000, 30
# No network finds points better, in pixels.
EXACT = 0.1
TAILS = (0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 30.0)

Moment = tuple[int, np.ndarray]


@dataclass
class End:
    """Where a path ends or begins: its frame, the pose there, and each point's velocity, if there are frames enough."""

    frame: int
    pose: np.ndarray
    velocity: np.ndarray | None


def end_of(moments: list[Moment]) -> End:
    """The end of a path by its last moments, or its beginning by its first ones, in turn. Velocities are the medians of the slopes
    between all of the moments (Theil and Sen); a point that is missing is where it was last, moved along."""
    frame, pose = moments[-1]
    moments = [moment for moment in moments[-SIDE:] if abs(moment[0] - frame) < RECENT]
    if len(moments) < LEAST:
        return End(frame, pose, None)
    frames, poses = np.array([moment[0] for moment in moments]), np.array([moment[1] for moment in moments])
    early, late = PAIRED[len(moments)]
    slopes = (poses[late] - poses[early]) / (frames[late] - frames[early])[:, None, None]
    # NaN is sorted to the end.
    slopes.sort(axis=0)
    there = np.isfinite(slopes).sum(axis=0)
    if there.min() == len(early):
        velocity = (slopes[(len(early) - 1) // 2] + slopes[len(early) // 2]) / 2
    else:
        middles = [np.take_along_axis(slopes, at[None], 0)[0] for at in (np.maximum(there - 1, 0) // 2, there // 2)]
        velocity = (middles[0] + middles[1]) / 2
    seen = there[:, 0] > 0
    if not seen.any():
        return End(frame, pose, None)
    velocity[~seen] = velocity[seen].mean(axis=0)
    if not np.isnan(pose).any():
        return End(frame, pose, velocity)
    pose = pose.copy()
    for before, other in moments[-2::-1]:
        gone = np.isnan(pose[:, 0])
        pose[gone] = other[gone] + velocity[gone] * (frame - before)
    return End(frame, pose, velocity)


@dataclass
class Change:
    """From one pose to another: the points' mean way, and how far each is from that; velocities likewise. The points are those that
    both poses have; where there are none, the poses' middles have moved."""

    way: np.ndarray
    turn: np.ndarray
    velocities: list[tuple[np.ndarray, np.ndarray]]


def change(before: End, after: End) -> Change:
    ways = after.pose - before.pose
    both = ~np.isnan(ways[:, 0])
    if not both.any():
        way, turn, both = np.nanmean(after.pose, axis=0) - np.nanmean(before.pose, axis=0), np.zeros((0, 2)), both | True
    else:
        way, turn = apart(ways[both])
    known = [one.velocity for one in (before, after) if one.velocity is not None]
    return Change(way, turn, [apart(velocity[both]) for velocity in known])


def apart(of_points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The points' mean, and what each has beyond it."""
    mean = of_points.sum(axis=0) / len(of_points)
    return mean, of_points - mean


@dataclass
class Spread:
    """Student's t distribution of something that has two dimensions, by its distance from what is expected."""

    scale: float
    tail: float

    def cost(self, distance: float) -> float:
        return (
            math.log(2 * math.pi)
            + 2 * math.log(self.scale)
            + (self.tail / 2 + 1) * math.log1p((distance / self.scale) ** 2 / self.tail)
        )

    def beyond(self, cost: float) -> float:
        """The distance of a cost."""
        power = (cost - self.cost(0.0)) / (self.tail / 2 + 1)
        return self.scale * math.sqrt(self.tail * math.expm1(min(power, 100.0)))


def spread(distances: np.ndarray) -> Spread:
    """Half of the distances are below the distribution's median; its tail is the likeliest for the other half."""
    middle = max(float(np.median(distances)), EXACT)
    far = np.sort(distances)[len(distances) // 2 :]
    found = [Spread(middle / math.sqrt(tail * (4 ** (1 / tail) - 1)), tail) for tail in TAILS]
    return min(found, key=lambda one: sum(map(one.cost, far.tolist())))


class Samples:
    """What pass one takes of the file: moments of tracks some frames apart, and how long tracks have gaps."""

    def __init__(self) -> None:
        self.chance = random.Random(1)
        self.tracks: dict[str, list[Moment]] = {}
        self.pairs: dict[int, list[Change]] = {gap: [] for gap in GAPS}
        self.seen = dict.fromkeys(GAPS, 0)
        # The corners of where points are.
        self.low, self.high = np.full(2, np.inf), np.full(2, -np.inf)
        # Gaps by the power of two of the frames that are missing.
        self.missing = [0] * 24
        self.steps = 0

    def add(self, frame: int, track: str, pose: np.ndarray) -> None:
        self.low, self.high = np.fmin(self.low, np.nanmin(pose, axis=0)), np.fmax(self.high, np.nanmax(pose, axis=0))
        kept = self.tracks.setdefault(track, [])
        if kept:
            self.steps += 1
            if missing := frame - kept[-1][0] - 1:
                self.missing[min(missing.bit_length() - 1, len(self.missing) - 1)] += 1
        kept.append((frame, pose))
        if len(kept) >= 4 * GAPS[-1]:
            del kept[: 2 * GAPS[-1]]
        self.sample(kept)

    def sample(self, kept: list[Moment]) -> None:
        gap = self.chance.choice(GAPS)
        start = len(kept) - SIDE
        end = bisect.bisect_left(kept, kept[start][0] - gap, key=lambda moment: moment[0]) if start > 0 else 0
        if start <= 0 or end < SIDE - 1 or kept[end][0] != kept[start][0] - gap:
            return
        self.seen[gap] += 1
        at = len(self.pairs[gap]) if len(self.pairs[gap]) < PAIRS else self.chance.randrange(self.seen[gap])
        if at >= PAIRS:
            return
        before, after = end_of(kept[: end + 1]), end_of(kept[: start - 1 : -1])
        if before.velocity is not None and after.velocity is not None:
            self.pairs[gap][at : at + 1] = [change(before, after)]


@dataclass
class Expected:
    """What is expected after a gap, where a number of velocities is known: for how many frames they go on, and how far from there
    the middle and the pose are."""

    goes_on: float
    way: Spread
    turns_on: float
    pose: Spread | None
    usual_pose: float

    def cost(self, found: Change) -> float:
        way, turn = found.way, found.turn
        for velocity, turning in found.velocities:
            way = way - velocity * (self.goes_on / len(found.velocities))
            if len(turn):
                turn = turn - turning * (self.turns_on / len(found.velocities))
        cost = self.way.cost(math.hypot(way[0], way[1]))
        if self.pose is not None:
            cost += self.pose.cost(math.sqrt((turn**2).sum() / len(turn))) if len(turn) > 1 else self.usual_pose
        return cost


class Motion:
    """Costs of links."""

    def __init__(self, samples: Samples) -> None:
        self.known = [gap for gap in GAPS if len(samples.pairs[gap]) >= FEW]
        self.expected = {gap: expected(samples.pairs[gap], gap) for gap in self.known}
        # Chosen: one instance in a hundred is nobody's. It is anywhere, in any pose.
        width, height = samples.high - samples.low
        self.anywhere = math.log(100 * max(width * height, 1.0)) + (
            self.expected[self.known[-1]][0].usual_pose if self.known else 0.0
        )
        gaps = sum(samples.missing)
        self.vanishes = -math.log((gaps + 1) / (samples.steps + 2))
        self.stays = -math.log1p(-(gaps + 1) / (samples.steps + 2))
        every = gaps + len(samples.missing)
        self.gaps = [-math.log((count + 1) / every / 2**power) for power, count in enumerate(samples.missing)]
        self.longer = [
            -math.log((sum(samples.missing[power:]) + len(samples.missing) - power) / every)
            for power in range(len(samples.missing))
        ]

    def far(self, certain: float) -> tuple[float, float]:
        """Two distances of poses one frame apart: what is nearer than the first is usual; where another pose is beyond the second,
        taking it costs `certain` more, whatever the velocities."""
        expected = self.expected[self.known[0]][0]
        spreads = [one for one in (expected.way, expected.pose) if one]
        near = math.hypot(*(3 * one.scale for one in spreads))
        return near, near + math.sqrt(2) * max(one.beyond(one.cost(near) + certain) for one in spreads)

    def between(self, gap: int) -> tuple[int, int, float]:
        """The two gaps that are known around one, and where it is between them."""
        at = bisect.bisect_left(self.known, gap)
        if at == len(self.known) or self.known[at] == gap or at == 0:
            near = self.known[min(at, len(self.known) - 1)]
            return near, near, 0.0
        low, high = self.known[at - 1], self.known[at]
        return low, high, math.log(gap / low) / math.log(high / low)

    def cost(self, before: End, after: End) -> float:
        """Of a link."""
        gap = after.frame - before.frame
        found = change(before, after)
        low, high, share = self.between(gap)
        cost = self.expected[low][len(found.velocities)].cost(found)
        if share:
            cost += share * (self.expected[high][len(found.velocities)].cost(found) - cost)
        return cost + self.of_time(gap)

    def of_time(self, gap: int) -> float:
        if gap == 1:
            return self.stays
        return self.vanishes + self.gaps[min((gap - 1).bit_length() - 1, len(self.gaps) - 1)]

    def of_leaving(self, frames: int) -> float:
        """Of a path that does not come back in the file's last frames."""
        return self.vanishes + self.longer[min(frames.bit_length() - 1, len(self.longer) - 1)] if frames > 0 else 0.0


def expected(pairs: list[Change], gap: int) -> list[Expected]:
    """By the number of velocities that are known. One that is known alone is that before in half of the pairs, and that after in the
    other."""
    half = [Change(pair.way, pair.turn, [pair.velocities[number % 2]]) for number, pair in enumerate(pairs)]
    return [learned([Change(pair.way, pair.turn, []) for pair in pairs], gap), learned(half, gap), learned(pairs, gap)]


def learned(pairs: list[Change], gap: int) -> Expected:
    count = max(len(pairs[0].velocities), 1)
    ways = np.array([pair.way for pair in pairs])
    velocities = np.array([sum((one for one, _ in pair.velocities), start=np.zeros(2)) / count for pair in pairs])
    goes_on = share(ways, velocities, gap)
    turning = [pair for pair in pairs if len(pair.turn) > 1]
    turns = [pair.turn for pair in turning]
    going = [sum((one for _, one in pair.velocities), start=np.zeros_like(pair.turn)) / count for pair in turning]
    pose, usual, turns_on = None, 0.0, 0.0
    if len(turning) >= FEW:
        turns_on = share(turns, going, gap)
        left = [math.sqrt(((turn - turns_on * go) ** 2).sum() / len(turn)) for turn, go in zip(turns, going, strict=True)]
        pose = spread(np.array(left))
        usual = float(np.mean([pose.cost(one) for one in left]))
    return Expected(goes_on, spread(np.hypot(*(ways - goes_on * velocities).T)), turns_on, pose, usual)


def share(ways: list[np.ndarray] | np.ndarray, velocities: list[np.ndarray] | np.ndarray, gap: int) -> float:
    """The number of frames that velocities go on for, by least squares without the longest of ways, which are swaps, and not below 0
    or beyond the gap."""
    sizes = [float((way**2).mean()) for way in ways]
    usual = np.quantile(sizes, 0.99)
    kept = [(way, velocity) for way, velocity, size in zip(ways, velocities, sizes, strict=True) if size <= usual]
    size = sum(float((velocity**2).sum()) for _, velocity in kept)
    return min(max(sum(float((way * velocity).sum()) for way, velocity in kept) / size, 0.0), float(gap)) if size else 0.0
