"""Several profiles as one table and one plot. Started by scripts/report, whose head says how."""

from __future__ import annotations

import argparse
import base64
import io
import json
import sys
from html import escape
from pathlib import Path

from matplotlib import pyplot

from cudainfer_tools.profile import measures, page, plots, summary
from cudainfer_tools.profile.trace import TraceError

HEAD = [
    "run",
    "model",
    "streams",
    "frames a run",
    "frames a second",
    "latency p50",
    "latency p99",
    "run p50",
    "GPU memory",
    "GPU power",
    "bound",
]


def models(profile: summary.Profile) -> str:
    """The names of the files that the pipeline names as models."""
    found = [word.removeprefix("model=") for word in profile.run.get("words", []) if word.startswith("model=")]
    return ", ".join(dict.fromkeys(Path(name).stem for name in found)) or "–"


def named(profiles: list[summary.Profile]) -> list[str]:
    """The folders' names, with those that they lie in where names repeat."""
    names = [profile.folder.absolute().name for profile in profiles]
    if len(set(names)) == len(names):
        return names
    return ["/".join(profile.folder.absolute().parts[-2:]) for profile in profiles]


def row(name: str, profile: summary.Profile) -> list[str]:
    """The cells of a run."""
    latency, gpu, workers = measures.latency(profile.frames), summary.gpu_figures(profile), profile.facts.workers
    # Of several networks in a row, the one that is busiest.
    worker = max(workers, key=lambda worker: worker.taken, default=None)
    return [
        name,
        models(profile),
        str(len(profile.trace.streams())),
        f"{worker.batch:.1f}" if worker else "–",
        f"{profile.facts.rate:,.1f}",
        f"{latency['p50']:.1f} ms" if latency else "–",
        f"{latency['p99']:.1f} ms" if latency else "–",
        f"{worker.gpu_p50 or worker.p50:.2f} ms" if worker and (worker.gpu_p50 or worker.p50) else "–",
        f"{gpu['memory_mib']:,.0f} MiB" if "memory_mib" in gpu else "–",
        f"{gpu['power_w']:.0f} W" if "power_w" in gpu else "–",
        profile.bound.kind,
    ]


def markdown(rows: list[list[str]]) -> str:
    """The table as Markdown."""
    lines = [HEAD, ["---"] * len(HEAD), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def plot(names: list[str], profiles: list[summary.Profile]) -> pyplot.Figure:
    """Frames a second, and latency from p50 to p99, of each run."""
    height = 1.4 + 0.34 * len(profiles)
    figure, (rates, latencies) = pyplot.subplots(1, 2, figsize=(plots.WIDTH, height), layout="constrained", sharey=True)
    figure.set_layout_engine("constrained", wspace=0.08)
    places = range(len(profiles))
    rates.barh(places, [profile.facts.rate for profile in profiles], color=plots.COLOURS[0])
    rates.set_xlabel("frames a second")
    for place, profile in enumerate(profiles):
        latency = measures.latency(profile.frames)
        if latency:
            latencies.plot(
                [latency["p50"], latency["p99"]], [place, place], color=plots.COLOURS[5], linewidth=4, solid_capstyle="butt"
            )
            latencies.plot(latency["p50"], place, "o", color=plots.COLOURS[1])
    latencies.set_xlabel("latency from end to end, p50 to p99, ms")
    latencies.set_xlim(left=0)
    rates.set_yticks(places, [plots.shortened(name) for name in names])
    rates.set_ylim(len(profiles) - 0.5, -0.5)
    for axes in (rates, latencies):
        axes.grid(alpha=0.6)
        axes.set_axisbelow(True)
        axes.xaxis.set_major_locator(plots.MaxNLocator(4, prune="upper"))
    return figure


def drawn(names: list[str], profiles: list[summary.Profile], theme: str) -> str:
    """The plot as the address of a picture."""
    with pyplot.rc_context(plots.style(theme)):
        figure, file = plot(names, profiles), io.StringIO()
        figure.savefig(file, format="svg", metadata={"Date": None})
        pyplot.close(figure)
    return "data:image/svg+xml;base64," + base64.b64encode(file.getvalue().encode()).decode()


def html(title: str, profiles: list[summary.Profile], rows: list[list[str]]) -> str:
    """The page."""
    names = [cells[0] for cells in rows]
    machines = dict.fromkeys(page.machine(profile) for profile in profiles)
    return "\n".join(
        [
            page.head(title),
            f"<h1>{escape(title)}</h1>",
            f'<p class="faint">{escape("; ".join(machines))}</p>',
            page.table(HEAD, rows),
            f'<p><picture><source media="(prefers-color-scheme: dark)" srcset="{drawn(names, profiles, "dark")}">'
            f'<img alt="Frames a second and latency of each run" src="{drawn(names, profiles, "light")}"></picture></p>',
            "</body></html>\n",
        ]
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/report", description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("out", "report.html"))
    parser.add_argument("--title", default="Runs")
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    options = parser.parse_args()
    profiles = []
    for folder in options.folders:
        try:
            profiles.append(summary.read(folder))
        except TraceError as error:
            print(f"report: left out: {error}", file=sys.stderr)
    if not profiles:
        raise TraceError("no folder has a profile")
    rows = [row(name, profile) for name, profile in zip(named(profiles), profiles, strict=True)]
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(html(options.title, profiles, rows))
    machines = list(dict.fromkeys(page.machine(profile) for profile in profiles))
    reported = {"title": options.title, "machines": machines, "head": HEAD, "rows": rows}
    options.output.with_suffix(".json").write_text(json.dumps(reported, indent=1, ensure_ascii=False) + "\n")
    print(markdown(rows), "", options.output, sep="\n")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except TraceError as error:
        sys.exit(f"report: {error}")
