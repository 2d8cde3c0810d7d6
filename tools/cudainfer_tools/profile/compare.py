"""Two profiles side by side: their figures, and what became of them."""

from __future__ import annotations

from cudainfer_tools.profile import measures
from cudainfer_tools.profile.summary import Profile, gpu_figures


def figures(profile: Profile) -> dict[str, tuple[float, str]]:
    """Named figures with their unit, in the order in which they are shown."""
    latency = measures.latency(profile.frames)
    found = {"frames a second": (profile.facts.rate, "")}
    found |= {f"latency {key}": (latency[key], " ms") for key in ("p50", "p95", "p99") if latency}
    if profile.facts.cores_used is not None:
        found["cores used"] = (profile.facts.cores_used, "")
    found |= {name: (value, "") for name, value in gpu_figures(profile).items()}
    for worker in profile.facts.workers:
        found[f"{worker.element}: frames a run"] = (worker.batch, "")
        found[f"{worker.element}: run p50"] = (worker.p50, " ms")
    for element in profile.facts.elements:
        found[f"{element.name}: CPU"] = (element.cpu, " ms")
        found[f"{element.name}: waits"] = (element.waiting, " ms")
    return found


def rows(before: Profile, after: Profile) -> list[list[str]]:
    """Name, both figures, and the second divided by the first; a figure that only one has is "–" in the other."""
    one, two = figures(before), figures(after)
    names = list(one) + [name for name in two if name not in one]
    return [[name, said(one.get(name)), said(two.get(name)), ratio(one.get(name), two.get(name))] for name in names]


def said(figure: tuple[float, str] | None) -> str:
    return f"{figure[0]:,.3f}{figure[1]}" if figure else "–"


def ratio(one: tuple[float, str] | None, two: tuple[float, str] | None) -> str:
    return f"{two[0] / one[0]:.2f}" if one and two and one[0] > 0 else ""


def text(before: Profile, after: Profile) -> str:
    """For the terminal."""
    table = [["", before.name, after.name, "after / before"], *rows(before, after)]
    widths = [max(len(row[column]) for row in table) for column in range(4)]
    lines = [
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ]
    return "\n".join([f"before: {before.bound.what}", f"after:  {after.bound.what}", "", *lines]) + "\n"
