"""The search for a tracker's parameters: one after the other, from the algorithms' own values on, as long as HOTA rises."""

from __future__ import annotations

from collections.abc import Callable

from cudainfer_tools.evaluate.tracks import ALGORITHMS

# Parameters that differ from their algorithm's own, by the properties' names; `algorithm` is always there.
Setting = tuple[tuple[str, str], ...]
# The scores of settings.
Score = Callable[[list[Setting]], list[float]]

# Less is noise, and makes the line longer.
LEAST_GAIN = 0.1
# Whose search begins at all: the default, and the best of the others.
STARTS = 2
ROUNDS = 2

WITH_WEAK = ("auto", "bytetrack", "botsort", "cbiou")
WITH_MOMENTUM = ("auto", "ocsort")


def options(name: str, *values: float) -> list[dict[str, str]]:
    return [{name: f"{value:g}"} for value in values]


def confidences(high: float, new: float) -> dict[str, str]:
    return {"auto-confidence": "false", "high-confidence": f"{high:g}", "new-confidence": f"{new:g}"}


# What is tried, in this order, and with which algorithms. Values that belong together are tried together; an empty one takes back what was set.
Tried = list[tuple[tuple[str, ...], list[dict[str, str]]]]
TRIED: Tried = [
    (
        WITH_WEAK,
        [
            {"auto-confidence": "true"},
            *(confidences(high, high + more) for high in (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8) for more in (0.0, 0.1)),
            confidences(0.9, 0.95),
        ],
    ),
    (("sort", "ocsort"), options("min-confidence", 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)),
    (WITH_WEAK, options("min-confidence", 0.05, 0.1, 0.2, 0.3)),
    (ALGORITHMS, options("max-lost", 1, 5, 10, 20, 30, 60, 90, 150)),
    (ALGORITHMS, options("iou", 0.02, 0.05, 0.1, 0.2, 0.3, 0.4)),
    (WITH_WEAK, options("iou-low", 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)),
    (ALGORITHMS, options("min-hits", 0, 1, 2, 3, 5)),
    (WITH_MOMENTUM, options("momentum", 0, 0.1, 0.2, 0.3, 0.5)),
    (("cbiou",), options("buffer", 0.1, 0.2, 0.3, 0.4)),
    (("cbiou",), options("buffer-wide", 0.3, 0.4, 0.5, 0.7)),
]


def setting(values: dict[str, str]) -> Setting:
    """Without the thresholds that others adapt."""
    adapts = values.get("auto-confidence") == "true"
    adapted = ("high-confidence", "new-confidence") if adapts else ()
    return tuple(sorted((name, value) for name, value in values.items() if value and name not in adapted))


def words(chosen: Setting) -> str:
    """As one types it, the algorithm first."""
    return " ".join(f"{name}={value}" for name, value in sorted(chosen, key=lambda pair: (pair[0] != "algorithm", pair[0])))


def search(score: Score, always: dict[str, str] | None = None, tried: Tried = TRIED, least: float = LEAST_GAIN) -> Setting:
    """The best setting that is found; all that begin the search have what is `always` set."""
    begun = [setting({"algorithm": algorithm, **(always or {})}) for algorithm in ALGORITHMS]
    scores = dict(zip(begun, score(begun), strict=True))
    others = sorted(begun[1:], key=lambda one: -scores[one])
    best = [climb(start, scores[start], score, tried, least) for start in [begun[0], *others][:STARTS]]
    # Of equals the default's.
    return max(best, key=lambda found: found[1])[0]


def climb(start: Setting, reached: float, score: Score, all_tried: Tried, least: float) -> tuple[Setting, float]:
    algorithm = dict(start)["algorithm"]
    best = start
    for _ in range(ROUNDS):
        before = best
        for algorithms, values in all_tried:
            if algorithm not in algorithms:
                continue
            tried = [setting({**dict(best), **value}) for value in values]
            found, candidate = max(zip(score(tried), tried, strict=True), key=lambda pair: pair[0])
            if found >= reached + least:
                best, reached = candidate, found
        if best == before:
            break
    return best, reached
