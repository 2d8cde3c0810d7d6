"""report.html: one page that needs nothing beside it, light or dark as the reader's system is."""

from __future__ import annotations

import base64
from collections.abc import Callable
from html import escape

from cudainfer_tools.profile import measures, plots
from cudainfer_tools.profile.summary import Profile, gpu_figures

STYLE = """
:root { --back: #ffffff; --text: #1a1a1a; --faint: #5c5c5c; --line: #d0d0d0; --box: #f4f6f8; --mark: #0072b2; }
@media (prefers-color-scheme: dark) {
  :root { --back: #16181d; --text: #e8e8e8; --faint: #a5a9b3; --line: #3a3d45; --box: #1f2229; --mark: #56b4e9; }
}
body { background: var(--back); color: var(--text); font: 15px/1.5 system-ui, sans-serif; max-width: 1100px; margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.5em; overflow-wrap: anywhere; } h2 { font-size: 1.15em; margin-top: 2em; }
.bound { background: var(--box); border-left: 5px solid var(--mark); padding: .8em 1em; font-size: 1.05em; overflow-wrap: anywhere; }
.faint { color: var(--faint); }
pre { background: var(--box); padding: .8em 1em; white-space: pre-wrap; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { border-bottom: 1px solid var(--line); padding: .25em .8em; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
img { width: 100%; height: auto; }
.figures { display: flex; flex-wrap: wrap; gap: 1em; }
.figure { background: var(--box); padding: .5em 1em; min-width: 8em; } .figure b { display: block; font-size: 1.4em; }
.two { display: grid; grid-template-columns: 1fr 1fr; gap: 1.5em; } .two > * { min-width: 0; }
"""


def table(head: list[str], rows: list[list[str]]) -> str:
    """An HTML table."""
    cells = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    lines = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{cells}</tr></thead><tbody>{lines}</tbody></table></div>'


def picture(plot: Callable, profile: Profile, title: str) -> str | None:
    """A plot in both themes, of which the browser shows the one that the reader's system has."""
    made = {theme: plots.svg(plot, profile, theme) for theme in plots.THEMES}
    drawn = {theme: text for theme, text in made.items() if text is not None}
    if drawn.keys() != made.keys():
        return None
    data = {theme: "data:image/svg+xml;base64," + base64.b64encode(text.encode()).decode() for theme, text in drawn.items()}
    return (
        f'<picture><source media="(prefers-color-scheme: dark)" srcset="{data["dark"]}">'
        f'<img alt="{escape(title)}" src="{data["light"]}"></picture>'
    )


def figures(profile: Profile) -> str:
    """The few figures that one looks at first."""
    facts, latency, gpu = profile.facts, measures.latency(profile.frames), gpu_figures(profile)
    found = [("frames a second", f"{facts.rate:,.1f}")]
    found += [(f"latency {key}", f"{latency[key]:.1f} ms") for key in ("p50", "p99") if latency]
    if facts.cores_used is not None:
        found.append(("cores used", f"{facts.cores_used:.1f} of {facts.cores}"))
    names = {"utilization_percent": ("GPU busy", "%"), "memory_mib": ("GPU memory", "MiB"), "power_w": ("GPU power", "W")}
    found += [(names[key][0], f"{value:,.0f} {names[key][1]}") for key, value in gpu.items()]
    return (
        '<div class="figures">'
        + "".join(f'<div class="figure"><b>{escape(value)}</b>{escape(name)}</div>' for name, value in found)
        + "</div>"
    )


def elements(profile: Profile) -> str:
    """The table of elements."""
    rows = [
        [
            one.name,
            one.factory,
            f"{one.buffers:,}",
            *(f"{value:.3f}" for value in (one.p50, one.p95, one.p99, one.cpu, one.waiting)),
            f"{100 * one.computing:.0f} %",
        ]
        for one in profile.facts.elements
    ]
    return table(["element", "kind", "buffers", "p50 ms", "p95 ms", "p99 ms", "CPU ms", "waits ms", "share"], rows)


def head(title: str) -> str:
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f'<meta name="color-scheme" content="light dark"><title>{escape(title)}</title><style>{STYLE}</style></head><body>'
    )


def conclusion(profile: Profile) -> str:
    """What bounds the pipeline, and what else is worth a look."""
    notes = "".join(f"<li>{escape(note)}</li>" for note in profile.notes)
    return f'<p class="bound">{escape(profile.bound.what)} {escape(profile.bound.remedy)}</p>' + (
        f"<ul>{notes}</ul>" if notes else ""
    )


def machine(profile: Profile) -> str:
    """Where it ran."""
    run = profile.run
    parts = [run.get("processor"), f"{run['cores']} cores" if run.get("cores") else None, run.get("gpu")]
    return ", ".join(part for part in parts if part)


def report(profile: Profile) -> str:
    """The page of one profile."""
    parts = [head(f"Profile: {profile.name}"), f"<h1>{escape(profile.name)}</h1>", conclusion(profile), figures(profile)]
    if profile.run.get("command"):
        parts.append(f'<h2>Pipeline</h2><pre>{escape(profile.run["command"])}</pre><p class="faint">{escape(machine(profile))}</p>')
    parts += [
        "<h2>Elements</h2>",
        elements(profile),
        '<p class="faint">Times of a buffer by the clock, without the elements downstream; CPU: what its thread computed of that; share: '
        "of the whole time, on the CPU.</p>",
    ]
    for title, plot, nothing in plots.PLOTS:
        drawn = picture(plot, profile, title)
        explained = escape((plot.__doc__ or "").strip())
        parts.append(f'<h2>{escape(title)}</h2><p class="faint">{explained if drawn else escape(nothing)}</p>{drawn or ""}')
    return "\n".join(parts) + "</body></html>\n"


def compared(before: Profile, after: Profile, rows: list[list[str]]) -> str:
    """The page of two profiles side by side; `rows` are figures of both, and their ratio."""
    both = (before, after)
    title = f"{before.name} and {after.name}"
    parts = [head(title), f"<h1>{escape(title)}</h1>", '<div class="two">']
    parts += [
        f"<div><h2>{escape(one.name)}</h2>{conclusion(one)}<pre>{escape(one.run.get('command') or '')}</pre></div>" for one in both
    ]
    parts += ["</div>", table(["", before.name, after.name, "after / before"], rows)]
    for name, plot, _ in plots.PLOTS:
        drawn = [picture(plot, one, f"{name}, {one.name}") for one in both]
        if any(drawn):
            parts.append(
                f'<h2>{escape(name)}</h2><div class="two">' + "".join(f"<div>{one or ''}</div>" for one in drawn) + "</div>"
            )
    return "\n".join(parts) + "</body></html>\n"
