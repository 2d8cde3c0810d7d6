"""The tables of what was measured on the GPU: operations beside their floors, pipelines of one stream and of many."""

from __future__ import annotations

OURS = "cudainfer"
FLOOR = "floor: "


def key(row: str) -> str:
    return " ".join(row.lower().split())


def by_row(rows: list[dict]) -> dict[str, list[dict]]:
    merged: dict[str, list[dict]] = {}
    for row in rows:
        merged.setdefault(key(row["row"]), []).append(row)
    return merged


def floors(rows: list[dict]) -> dict[str, float]:
    """Bytes a microsecond on the device and over the bus, and microseconds a launch, as measured."""
    of = {row["row"].removeprefix(FLOOR): row for row in rows if row["row"].startswith(FLOOR)}
    launches = [of[name]["median_us"] for name in ("launch", "launch in a graph") if name in of]
    speed = {name: of[name]["bytes"] / of[name]["median_us"] for name in of if name.startswith("copy")}
    return {
        "device": speed.get("copy on the device", float("nan")),
        "bus": speed.get("copy over the bus", float("nan")),
        "launch": min(launches, default=float("nan")),
    }


def goal(met: bool, text: str) -> str:
    return f"{text}: {'met' if met else '**missed**'}"


def operations(rows: list[dict]) -> list[str]:
    """The table of operations."""
    floor = floors(rows)
    table = [
        f"Copies on the device {floor['device'] / 1e6:.2f} TB/s (read and written), over the bus "
        f"{floor['bus'] / 1e3:.1f} GB/s; {floor['launch']:.2f} µs a launch.",
        "",
        "| operation | cudainfer: median µs (p95) | floor, µs | floor / median | alternative: median µs (p95) | speed-up | goal, µs |",
        "|---|---|---|---|---|---|---|",
    ]
    for merged in by_row([row for row in rows if "median_us" in row and not row["row"].startswith(FLOOR)]).values():
        ours = next((row for row in merged if row["who"] == OURS), None)
        peers = [row for row in merged if row["who"] != OURS]
        time, least, reached, target = "", "", "", ""
        if ours:
            time = f"{ours['median_us']:.2f} ({ours['p95_us']:.2f})"
            bus = floor["bus" if key(ours["row"]).startswith(("upload", "download")) else "device"]
            bound = ours.get("bytes", 0) / bus + ours.get("launches", 0) * floor["launch"]
            least, reached = f"{bound:.2f}", f"{bound / ours['median_us']:.0%}"
            if ours.get("goal_us") is not None:
                target = goal(ours["median_us"] <= ours["goal_us"], f"≤ {ours['goal_us']:.4g}")
        theirs = "<br>".join(f"{row['who']}: {row['median_us']:.2f} ({row['p95_us']:.2f})" for row in peers)
        ratios = "<br>".join(f"{row['median_us'] / ours['median_us']:.1f}" for row in peers) if ours else ""
        table.append(f"| {merged[0]['row']} | {time} | {least} | {reached} | {theirs} | {ratios} | {target} |")
    return table


def lines(rows: list[dict]) -> list[str]:
    """The table of whole lines; none if there is no such row."""
    rows = [row for row in rows if "fps" in row and "batch" not in row]
    if not rows:
        return []
    table = [
        "",
        "| model | what runs it | frames/s | p95, ms | bytes to the host a frame | host waits a frame | launches a frame | speed-up of cudainfer | goal |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for merged in by_row(rows).values():
        ours = next((row["fps"] for row in merged if row["who"] == OURS), None)
        for row in merged:
            counts = row.get("per_frame", {})
            shown = [
                row.get("p95_ms"),
                row.get("bytes_to_host_per_frame", counts.get("device-to-host-bytes")),
                row.get("host_waits_per_frame", counts.get("host-waits")),
                counts.get("launches"),
            ]
            cells = ["" if value is None else f"{round(value, 2) + 0.0:.6g}" for value in shown]
            ratio = f"{ours / row['fps']:.2f}" if ours and row["who"] != OURS else ""
            target = row.get("goal")
            if isinstance(target, int | float):
                target = goal(row["fps"] >= target, f"≥ {target:g}")
            cells = [row["row"], row["who"], f"{row['fps']:g}", *cells, ratio, target or ""]
            table.append(f"| {' | '.join(cells)} |")
    return table


def streams(rows: list[dict]) -> list[str]:
    """The table of many streams into one model, with the bare loop's rows; none if there is no such row."""
    rows = [row for row in rows if "fps" in row and "batch" in row]
    if not rows:
        return []
    table = [
        "",
        "| model | frames from | streams | batch size | objects a frame | frames/s | share of the session loop | latency p50, ms | p99, ms | CPU a frame, ms | frames a batch | goals |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        share = f"{row['of_bare']:.0%}" if "of_bare" in row else ""
        shown = (row.get(name) for name in ("p50_ms", "p99_ms", "cpu_ms_per_frame", "mean_batch"))
        numbers = ["" if value is None else f"{value:.6g}" for value in shown]
        goals = "<br>".join(goal(reported["met"], reported["goal"]) for reported in row.get("goals", []))
        cells = [row["row"], row.get("source", row["who"]), row.get("streams", ""), row["batch"], row.get("objects", "")]
        cells += [f"{row['fps']:g}", share, *numbers, goals]
        table.append(f"| {' | '.join(map(str, cells))} |")
    return table


def notable(row: dict) -> bool:
    """What --from shows: floors, lines, and what has a goal or a peer."""
    shown = row["row"].startswith(FLOOR) or "fps" in row or row.get("goal_us") is not None
    return shown or not row["who"].startswith(OURS)
