"""By how much something grows in an hour, from samples of which some are far off."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

# All pairs of this many samples are compared; of more, some are left out.
MOST = 600


def theil_sen(points: Sequence[tuple[float, float]]) -> float:
    """The median of the slopes between all pairs of points (Theil 1950, Sen 1968): up to 29 % of the points may be anything."""
    points = points[:: len(points) // MOST + 1]
    slopes = [
        (second[1] - first[1]) / (second[0] - first[0])
        for place, first in enumerate(points)
        for second in points[place + 1 :]
        if second[0] != first[0]
    ]
    if not slopes:
        raise ValueError("a slope needs two samples at different times")
    return statistics.median(slopes)


# Samples at rest from which on there is a slope in their second half.
LEAST_RESTS = 6


def at_rest(samples: Sequence[dict]) -> Sequence[dict]:
    """Those of a process at rest, where there are enough of them; else all."""
    resting = [sample for sample in samples if sample.get("rest")]
    return resting if len(resting) >= LEAST_RESTS else samples


def an_hour(samples: Sequence[dict], field: str) -> float | None:
    """The growth of a field in an hour over the second half of the samples; None where it could not be measured."""
    end = max(sample["seconds"] for sample in samples)
    half = [sample for sample in samples if sample["seconds"] >= end / 2]
    points = [(sample["seconds"] / 3600, float(sample[field])) for sample in half if sample.get(field) is not None]
    return theil_sen(points) if len(points) > 2 else None
