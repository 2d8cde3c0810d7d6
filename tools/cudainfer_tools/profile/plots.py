"""The plots of a profile, as SVG in light and in dark. Each is None where there is nothing to show."""

from __future__ import annotations

import io
from collections.abc import Callable

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from cudainfer_tools.profile import measures
from cudainfer_tools.profile.summary import Profile

# Okabe and Ito's colours, which the colour-blind tell apart, and matplotlib's twenty for further elements.
COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#B8A800", "#888888"]
COLOURS += [to_hex(colour) for colour in matplotlib.colormaps["tab20"](range(20))]
THEMES = {"light": ("#ffffff", "#1a1a1a", "#d0d0d0"), "dark": ("#16181d", "#e8e8e8", "#3a3d45")}
WIDTH = 10.0
# Of the timeline.
FRAMES, ROWS = 100, 24
LONGEST = 28


def shortened(name: str) -> str:
    """A name that fits beside a plot."""
    return name if len(name) <= LONGEST else f"{name[: LONGEST // 2 - 1]}…{name[-LONGEST // 2 :]}"


def style(theme: str) -> dict:
    """matplotlib's parameters of a theme."""
    back, text, lines = THEMES[theme]
    return {
        "figure.facecolor": back,
        "axes.facecolor": back,
        "savefig.facecolor": back,
        "text.color": text,
        "axes.labelcolor": text,
        "xtick.color": text,
        "ytick.color": text,
        "axes.edgecolor": lines,
        "grid.color": lines,
        "legend.edgecolor": lines,
        "legend.facecolor": back,
        "font.size": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "svg.hashsalt": "cudainfer",
    }


def svg(plot: Callable[[Profile], Figure | None], profile: Profile, theme: str) -> str | None:
    """A plot as SVG, which depends on nothing outside."""
    with pyplot.rc_context(style(theme)):
        figure = plot(profile)
        if figure is None:
            return None
        file = io.StringIO()
        figure.savefig(file, format="svg", metadata={"Date": None})
        pyplot.close(figure)
        return file.getvalue()


def canvas(height: float) -> tuple[Figure, Axes]:
    figure, axes = pyplot.subplots(figsize=(WIDTH, height), layout="constrained")
    axes.grid(alpha=0.6)
    axes.set_axisbelow(True)
    return figure, axes


def element_latency(profile: Profile) -> Figure | None:
    """Time of a buffer in each element, from p50 over p95 to p99."""
    elements = profile.facts.elements
    if not elements:
        return None
    figure, axes = canvas(1.2 + 0.34 * len(elements))
    least = 1e-3
    for place, one in enumerate(elements):
        low, middle, high = (max(value, least) for value in (one.p50, one.p95, one.p99))
        axes.plot([low, high], [place, place], color=COLOURS[0], alpha=0.4, linewidth=6, solid_capstyle="butt")
        axes.plot(low, place, "o", color=COLOURS[0])
        axes.plot(middle, place, "d", color=COLOURS[1])
        axes.plot(high, place, "|", color=COLOURS[5], markersize=12, markeredgewidth=2)
    axes.set_yticks(range(len(elements)), [shortened(one.name) for one in elements])
    axes.set_ylim(len(elements) - 0.5, -0.5)
    axes.set_xscale("log")
    axes.set_xlabel("ms a buffer, by the clock, without the elements downstream (0.001 and less at the edge)")
    marks = [("o", COLOURS[0], "p50"), ("d", COLOURS[1], "p95"), ("|", COLOURS[5], "p99")]
    handles = [Line2D([], [], marker=mark, color=colour, linestyle="", label=label) for mark, colour, label in marks]
    figure.legend(handles=handles, loc="outside upper right", ncols=3, frameon=False)
    return figure


def end_to_end(profile: Profile) -> Figure | None:
    """How long frames are on their way, from their first call to the end of the last one."""
    times = [1e3 * (frame.left - frame.entered) for frame in profile.frames]
    if len(times) < 2:
        return None
    figure, axes = canvas(3.2)
    axes.hist(times, bins=60, color=COLOURS[0])
    latency = measures.latency(profile.frames)
    handles = []
    for key, colour in (("p50", COLOURS[2]), ("p95", COLOURS[1]), ("p99", COLOURS[5])):
        axes.axvline(latency[key], color=colour, linewidth=2)
        handles.append(Line2D([], [], color=colour, linewidth=2, label=f"{key} {latency[key]:.1f} ms"))
    axes.set(xlabel="ms from the first element to the last", ylabel="frames")
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    figure.legend(handles=handles, loc="outside upper right", ncols=3, frameon=False)
    return figure


def timeline(profile: Profile) -> Figure | None:
    """A hundred frames from the middle of the run: which thread is in which element, when the network runs, and when the GPU works."""
    if not profile.frames:
        return None
    middle = max(0, (len(profile.frames) - FRAMES) // 2)
    shown = profile.frames[middle : middle + FRAMES]
    start, end = shown[0].entered, max(frame.left for frame in shown)
    trace = profile.trace
    bars: dict[tuple[int, str], list[tuple[str, float, float]]] = {}
    for call in trace.calls:
        if call.start < end and call.end > start:
            # What an element called downstream is drawn over it, later.
            bars.setdefault((0, f"{trace.threads.get(call.thread) or 'thread'} {call.thread}"), []).append(
                (call.element, call.start, call.took)
            )
    for order, spans, title in ((1, trace.runs, "network"), (2, trace.gpu, "GPU stream")):
        for span in spans:
            if span.start < end and span.end > start:
                bars.setdefault((order, f"{title} {span.thread}"), []).append((span.name, span.start, span.took))
    rows = sorted(bars, key=lambda row: (row[0], -sum(took for _, _, took in bars[row])))
    left_out, rows = len(rows) - ROWS, rows[:ROWS]
    names = list(
        dict.fromkeys(row["name"] for row in trace.elements if any(row["name"] == name for key in rows for name, _, _ in bars[key]))
    )
    names += [name for key in rows for name, _, _ in bars[key] if name not in names]
    names = list(dict.fromkeys(names))
    colour_of = {name: COLOURS[place % len(COLOURS)] for place, name in enumerate(names)}
    figure, axes = canvas(1.4 + 0.34 * len(rows) + 0.22 * ((len(names) + 3) // 4))
    for place, row in enumerate(rows):
        drawn = sorted(bars[row], key=lambda bar: (bar[1], -bar[2]))
        axes.broken_barh(
            [(1e3 * (at - start), max(1e3 * took, 1e-6)) for _, at, took in drawn],
            (place - 0.38, 0.76),
            facecolors=[colour_of[name] for name, _, _ in drawn],
            linewidth=0,
        )
    axes.set_yticks(range(len(rows)), [shortened(name) for _, name in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlim(0, 1e3 * (end - start))
    more = f"; {left_out} threads that do less are left out" if left_out > 0 else ""
    axes.set_xlabel(f"ms; frames {middle + 1} to {middle + len(shown)} of {len(profile.frames)}{more}")
    figure.legend(
        handles=[Patch(color=colour_of[name], label=shortened(name)) for name in names[:24]],
        loc="outside upper left",
        ncols=4,
        frameon=False,
    )
    return figure


def batches(profile: Profile) -> Figure | None:
    """How many frames each run of a network had."""
    names = list(dict.fromkeys(run.name for run in profile.trace.runs))
    if not names:
        return None
    figure, axes = canvas(3.0)
    for place, name in enumerate(names[:8]):
        mine = [run for run in profile.trace.runs if run.name == name]
        axes.plot(
            [run.start for run in mine],
            [run.frames for run in mine],
            ".",
            markersize=4,
            color=COLOURS[place],
            label=shortened(name),
        )
    limit = max([worker.limit for worker in profile.facts.workers] + [1])
    axes.axhline(limit, color=COLOURS[5], linewidth=1, linestyle="--", label="batch-limit")
    axes.set(xlabel="seconds", ylabel="frames in a run")
    axes.set_ylim(0, 1.1 * max([limit, *(run.frames for run in profile.trace.runs)]))
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    figure.legend(loc="outside upper right", ncols=3, frameon=False)
    return figure


def memory(profile: Profile) -> Figure | None:
    """Memory of the device, of all processes, as nvidia-smi or the driver says it."""
    columns, samples = profile.run.get("gpu_columns", []), profile.run.get("gpu_samples", [])
    points = []
    if "memory.used" in columns:
        place = columns.index("memory.used")
        points = [(row[0], row[place]) for row in samples if row[place] is not None]
    points = points or [(at, used / 2**20) for at, used in profile.trace.memory]
    if len(points) < 2:
        return None
    figure, axes = canvas(2.6)
    axes.plot([at for at, _ in points], [used for _, used in points], color=COLOURS[0])
    axes.set(xlabel="seconds", ylabel="MiB")
    axes.set_ylim(0, 1.15 * max(used for _, used in points))
    return figure


def copies(profile: Profile) -> Figure | None:
    """Bytes between host and device, and waits for the GPU, of each element a frame."""
    facts = profile.facts
    kinds = [
        ("host-to-device-bytes", "KB to the GPU a frame", 1e3),
        ("device-to-host-bytes", "KB from the GPU a frame", 1e3),
        ("host-waits", "waits for the GPU a frame", 1.0),
    ]
    names = [one.name for one in facts.elements if any(facts.stat(one.name, key) for key, _, _ in kinds)]
    if not names:
        return None
    figure, all_axes = pyplot.subplots(1, 3, figsize=(WIDTH, 1.2 + 0.34 * len(names)), layout="constrained", sharey=True)
    # The last tick of one and the first of the next would touch.
    figure.set_layout_engine("constrained", wspace=0.08)
    for axes, (key, title, unit), colour in zip(all_axes, kinds, COLOURS, strict=False):
        axes.barh(range(len(names)), [facts.a_frame(name, key) / unit for name in names], color=colour)
        axes.set_xlabel(title)
        axes.xaxis.set_major_locator(MaxNLocator(3, prune="upper"))
        axes.grid(alpha=0.6)
        axes.set_axisbelow(True)
    all_axes[0].set_yticks(range(len(names)), [shortened(name) for name in names])
    all_axes[0].set_ylim(len(names) - 0.5, -0.5)
    return figure


def in_flight(profile: Profile) -> Figure | None:
    """How many frames are on their way, between their first call and the end of the last one."""
    times, numbers = measures.in_flight(profile.frames)
    if len(times) < 4:
        return None
    figure, axes = canvas(2.6)
    axes.step(times, numbers, where="post", color=COLOURS[2], linewidth=1)
    axes.set(xlabel="seconds", ylabel="frames")
    axes.set_ylim(0, 1.15 * max(numbers))
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    return figure


# Title, plot, and what is said where there is none.
PLOTS: list[tuple[str, Callable[[Profile], Figure | None], str]] = [
    ("Latency by element", element_latency, "No frame flowed."),
    ("Latency from end to end", end_to_end, "Fewer than two frames have a presentation time."),
    ("Timeline", timeline, "No frame has a presentation time."),
    ("Batches", batches, "No network ran."),
    ("Frames in flight", in_flight, "Fewer than two frames have a presentation time."),
    ("Copies and waits", copies, "Nothing was copied to or from a GPU."),
    ("Device memory", memory, "No GPU was used."),
]
