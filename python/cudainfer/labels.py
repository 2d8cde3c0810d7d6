"""cudainfer-labels: makes labels that SLEAP opens of what inferpublish has written.

    cudainfer-labels RUN.csv -o OUT.slp
    cudainfer-labels RUN.jsonl --video fly.mp4 -o OUT.slp
    cudainfer-labels RUN.csv --repair-swaps -o OUT.slp

RUN.csv is a table of `inferpublish format=sleap`, RUN.jsonl has records of frames (`format=json`). OUT ends with .slp,
.h5 (analysis), .nwb or .csv, and is written by sleap-io: pip install 'cudainfer[sleap]'. A .csv is a table of the same form, beside
which a .json has the skeleton's edges; records become one line after line, however long they are.

--repair-swaps looks back over the identities of `tracker max-tracks=N`: where animals met or were out of sight, they are exchanged if
the whole path is much likelier so, by how they move and turn and how long they are. Each repair is printed, with its frames.
Individuals that the model tells apart by itself are not touched.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FORMATS = {".slp": "slp", ".h5": "analysis_h5", ".nwb": "nwb"}
FRAME = "cudainfer.frame/"


class LabelsError(Exception):
    """Labels cannot be made; the message says what to do."""


def frames(path: Path) -> Iterator[dict[str, Any]]:
    """The records of frames of a file, one after the other."""
    with path.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            try:
                record = json.loads(line)
                if record["schema"].startswith(FRAME):
                    yield record
            except (ValueError, KeyError, TypeError, AttributeError):
                raise LabelsError(
                    f"line {number} of '{path}' is no record of inferpublish. Name a file of format=json, or of format=sleap with the ending "
                    ".csv"
                ) from None


class Skeleton:
    """Names of points and the edges between them, in the order in which records show them."""

    def __init__(self, path: Path) -> None:
        self.nodes: list[str] = []
        self.edges: list[tuple[str, str]] = []
        nodes, edges = set(), set()
        for record in frames(path):
            for found in record["objects"]:
                names = [point["name"] for point in found.get("keypoints", [])]
                pairs = [(names[a], names[b]) for a, b in found.get("edges", [])]
                self.nodes += [name for name in dict.fromkeys(names) if name not in nodes]
                self.edges += [pair for pair in dict.fromkeys(pairs) if pair not in edges]
                nodes.update(names)
                edges.update(pairs)
        if not nodes:
            raise LabelsError(
                f"no object in '{path}' has keypoints. Put peakfind before inferpublish, or name another file"
            )


def track_name(track: dict[str, Any]) -> str:
    """The name of an identity: the individual's, else one of its number."""
    return str(track.get("name", f"track_{track['id']}"))


def row(record: dict[str, Any], found: dict[str, Any], nodes: list[str]) -> list[str]:
    """An object as a row of SLEAP's table: its pixels have their centre at whole numbers, and ours their edges."""
    points = {point["name"]: point for point in reversed(found["keypoints"])}
    scores = sum(point["score"] for point in points.values())
    score = found.get("pose_score", found.get("confidence", scores))
    track = track_name(found["track"]) if "track" in found else ""
    cells = [track, str(record["frame"]), f"{score:.6f}"]
    for point in map(points.get, nodes):
        cells += (
            ["", "", ""]
            if point is None
            else [f"{point['x'] - 0.5:.4f}", f"{point['y'] - 0.5:.4f}", f"{point['score']:.6f}"]
        )
    return cells


def table(path: Path, out: Path, video: Path | None) -> None:
    """Writes records as SLEAP's table, and its skeleton, video and tracks beside it."""
    skeleton = Skeleton(path)
    tracks: dict[int, str] = {}
    last: dict[str, Any] = {}
    with out.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        of_points = [f"{name}.{column}" for name in skeleton.nodes for column in ("x", "y", "score")]
        rows.writerow(["track", "frame_idx", "instance.score", *of_points])
        for last in frames(path):
            for found in last["objects"]:
                if found.get("keypoints"):
                    rows.writerow(row(last, found, skeleton.nodes))
                    if "track" in found:
                        tracks[found["track"]["id"]] = track_name(found["track"])
    name = str(video or last["source"])
    shape = [last["frame"] + 1, last["height"], last["width"], 3]
    beside = {
        "version": "1.0",
        "videos": [{"filename": name, "backend_metadata": {"type": "MediaVideo", "filename": name, "shape": shape}}],
        "skeletons": [
            {"name": "Skeleton-0", "nodes": skeleton.nodes, "edges": skeleton.edges, "symmetries": []}
        ],
        "tracks": [name for _, name in sorted(tracks.items())],
        "suggestions": [],
        "provenance": {"written_by": "cudainfer-labels"},
    }
    out.with_suffix(".json").write_text(json.dumps(beside, indent=2) + "\n", encoding="utf-8")


def save(path: Path, out: Path, video: Path | None) -> None:
    """Writes a table as the kind of file that the ending of `out` names."""
    try:
        import sleap_io
    except ImportError:
        raise LabelsError(
            f"sleap-io is not installed, which writes {out.suffix}. Install it with: pip install 'cudainfer[sleap]'"
        ) from None
    try:
        labels = sleap_io.load_file(str(path))
    except Exception as error:
        raise LabelsError(
            f"sleap-io cannot read '{path}': {error}. Name a table of inferpublish format=sleap"
        ) from error
    if video is not None:
        for known in labels.videos:
            known.replace_filename(str(video))
    try:
        sleap_io.save_file(labels, str(out), format=FORMATS[out.suffix], verbose=False)
    except Exception as error:
        more = ". Instances need tracks there: put tracker before inferpublish" if out.suffix == ".nwb" else ""
        raise LabelsError(f"sleap-io cannot write '{out.name}': {error}{more}") from error


def repaired(path: Path, folder: Path) -> Path:
    """A table in a folder that has the identities of another one, repaired."""
    from cudainfer import swaps

    out = folder / "repaired.csv"
    try:
        print(f"cudainfer-labels: {swaps.repair(path, out)}", file=sys.stderr)
    except swaps.TableError as error:
        raise LabelsError(str(error)) from error
    if path.with_suffix(".json").is_file():
        shutil.copyfile(path.with_suffix(".json"), out.with_suffix(".json"))
    return out


def convert(path: Path, out: Path, video: Path | None, repair_swaps: bool = False) -> None:
    """Makes the file `out` of what inferpublish has written; it is whole, or not there."""
    if path.suffix not in (".csv", ".jsonl"):
        raise LabelsError(f"'{path}' ends with neither .csv nor .jsonl. Name a table or records of inferpublish")
    if out.suffix not in (*FORMATS, ".csv"):
        raise LabelsError(f"'{out}' ends with none of {', '.join(FORMATS)} and .csv. Choose one of them for -o")
    if path.suffix == out.suffix and not repair_swaps:
        raise LabelsError(f"'{path}' is a table already. Choose another ending for -o")
    for named in filter(None, (path, video)):
        if not named.is_file():
            raise LabelsError(f"there is no file '{named}'. Name one that exists")
    if not out.parent.is_dir():
        raise LabelsError(f"there is no folder '{out.parent}'. Make it, or name another one for -o")
    with tempfile.TemporaryDirectory(prefix=".cudainfer-labels-", dir=out.parent) as folder:
        made, source = Path(folder, out.name), path
        if path.suffix == ".jsonl":
            source = Path(folder, "records.csv")
            table(path, source, video)
        if repair_swaps:
            source = repaired(source, Path(folder))
        if out.suffix != ".csv":
            save(source, made, video)
        else:
            os.replace(source, made)
            if source.with_suffix(".json").is_file():
                os.replace(source.with_suffix(".json"), out.with_suffix(".json"))
        os.replace(made, out)


def main() -> None:
    """The program cudainfer-labels."""
    parser = argparse.ArgumentParser(
        "cudainfer-labels", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path, help="what inferpublish has written: .csv or .jsonl")
    parser.add_argument("--video", type=Path, help="the video's path, if it lies elsewhere now")
    parser.add_argument("--repair-swaps", action="store_true", help="give exchanged identities back, see above")
    parser.add_argument("-o", dest="out", type=Path, required=True, help="the file to write")
    asked = parser.parse_args()
    try:
        convert(asked.run, asked.out, asked.video, asked.repair_swaps)
    except LabelsError as error:
        sys.exit(f"cudainfer-labels: {error}")


if __name__ == "__main__":
    main()
