"""Files of labels: sleap-io writes everything but the rows (skeleton, video, tracks, provenance) with one frame as an example, whose
datasets then give way to those of all frames, of the same types, which are filled block after block.

sleap-io's own way takes about 2 kB of memory for each instance (docs/benchmarks.md). Its layouts that are known here are those of
`io/slp.py` (`write_lfs`), `io/analysis_h5.py` (`write_labels`) and `io/nwb_predictions.py` (`build_track_pose_estimation_list`);
another one is an error.
"""

from __future__ import annotations

import csv
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cudainfer.poses import BLOCK, UNTRACKED, LabelsError, Poses, Records, Survey, Table

if TYPE_CHECKING:
    import h5py

FORMATS = {".slp": "slp", ".h5": "analysis_h5", ".nwb": "nwb"}
SLP_FORMAT = 1.4
SLP = {
    "frames": [("frame_id", "<u8"), ("video", "<u4"), ("frame_idx", "<u8")]
    + [("instance_id_start", "<u8"), ("instance_id_end", "<u8")],
    "instances": [("instance_id", "<i8"), ("instance_type", "u1"), ("frame_id", "<u8"), ("skeleton", "<u4"), ("track", "<i4")]
    + [("from_predicted", "<i8"), ("score", "<f4"), ("point_id_start", "<u8"), ("point_id_end", "<u8"), ("tracking_score", "<f4")],
    "pred_points": [("x", "<f8"), ("y", "<f8"), ("visible", "?"), ("complete", "?"), ("score", "<f8")],
}
ANALYSIS = {
    "tracks": ("<f8", ["track", "xy", "node", "frame"]),
    "track_occupancy": ("u1", ["frame", "track"]),
    "point_scores": ("<f8", ["track", "node", "frame"]),
    "instance_scores": ("<f8", ["track", "frame"]),
    "tracking_scores": ("<f8", ["track", "frame"]),
}
# Datasets of a node of a track, with the size of an entry.
NWB = {"data": (2,), "confidence": (), "timestamps": ()}


def write(source: Table | Records, survey: Survey, out: Path, video: Path | None) -> None:
    """Writes the file of labels that the ending of `out` names; the header of the source lies beside `out` for a while."""
    try:
        if out.suffix == ".csv":
            table(source, out)
        else:
            {".slp": slp, ".h5": analysis, ".nwb": nwb}[out.suffix](heading(source, out, video), source, survey, out)
    except LabelsError:
        raise
    except Exception as error:
        # HDF5 has half a page around the number.
        number = re.search(r"[Ee]rrno (?:= )?(\d+)", str(error))
        reason = os.strerror(int(number[1])) if number else error
        raise LabelsError(f"'{out.name}' cannot be written: {reason}") from error


def heading(source: Table | Records, out: Path, video: Path | None) -> Any:
    """What sleap-io reads from a source without rows: its skeleton and video."""
    try:
        import sleap_io
    except ImportError:
        raise LabelsError(
            f"sleap-io is not installed, which writes {out.suffix}. Install it with: pip install 'cudainfer[sleap]'"
        ) from None
    head = out.with_name("head.csv")
    source.head(head)
    try:
        labels = sleap_io.load_file(str(head))
    except Exception as error:
        raise LabelsError(
            f"sleap-io cannot read the header of '{source.path}', or the .json beside it: {error}. Name a table of inferpublish format=sleap"
        ) from error
    nodes = labels.skeletons[0].node_names
    if sorted(nodes) != sorted(source.nodes):
        raise LabelsError(
            f"'{source.path}' has the points {', '.join(source.nodes)}, and the .json beside it {', '.join(nodes)}. Name a table with the "
            ".json of its own, or without one"
        )
    labels.provenance["filename"] = str(source.path)
    if video is not None:
        for known in labels.videos:
            known.replace_filename(str(video))
    return labels


def table(source: Table | Records, out: Path) -> None:
    """SLEAP's table, and the JSON beside it."""
    source.head(out)
    names = {UNTRACKED: ""} | {number: name for name, number in source.tracks.items()}
    with out.open("a", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        for block in source.blocks():
            for frame, track, score, points in zip(*(array.tolist() for array in block), strict=True):
                cells = [names[track], frame, f"{score:.6f}"]
                for x, y, of_point in points:
                    cells += [f"{x:.4f}", f"{y:.4f}", f"{of_point:.6f}"] if x == x else ["", "", ""]
                rows.writerow(cells)


def save_example(labels: Any, source: Table | Records, survey: Survey, out: Path) -> None:
    """Lets sleap-io write a file with one frame: an instance of each track, and as many without one as a frame has at most."""
    from sleap_io import LabeledFrame, PredictedInstance, Track, save_file

    labels.tracks = [Track(name) for name in source.tracks]
    tracks = [*labels.tracks, *([None] * survey.most_untracked)]
    skeleton = labels.skeletons[0]
    points = np.zeros((len(skeleton.nodes), 2))
    # In the types that sleap-io has for points and scores that it reads from a table.
    scores = np.zeros(len(points), np.float32)
    instances = [
        PredictedInstance.from_numpy(points, skeleton=skeleton, point_scores=scores, score=0.0, track=track) for track in tracks
    ]
    labels.labeled_frames = [LabeledFrame(video=labels.videos[0], frame_idx=0, instances=instances)] if instances else []
    save_file(labels, str(out), format=FORMATS[out.suffix], verbose=False)


def check(known: bool, what: str, out: Path) -> None:
    """The layout of what sleap-io has written must be known, or it would be filled with something else."""
    if not known:
        import sleap_io

        raise LabelsError(
            f"sleap-io {sleap_io.__version__} writes {out.suffix} with {what}, which cudainfer-labels does not know. Install sleap-io 0.9.5, "
            "or choose another ending for -o"
        )


def blocks(labels: Any, source: Table | Records) -> Iterator[Poses]:
    """The instances, their points in the order of the skeleton."""
    order = [source.nodes.index(name) for name in labels.skeletons[0].node_names]
    for block in source.blocks():
        yield block._replace(points=block.points[:, order])


def replace(file: h5py.Group, name: str, shape: tuple[int, ...], **layout: Any) -> h5py.Dataset:
    """A dataset of another shape, with the type and the attributes of the one that it takes the place of."""
    example = file[name]
    attributes, dtype = dict(example.attrs), example.dtype
    del file[name]
    made = file.create_dataset(name, shape, dtype, **layout)
    made.attrs.update(attributes)
    return made


def point_scores(block: Poses) -> np.ndarray:
    """Of each point, [N, nodes]; as sleap-io reads them from a table: of single precision, and 1 where there is none."""
    scores = block.points[:, :, 2].astype(np.float32)
    return np.where(np.isnan(scores), np.float32(1), scores)


def slp(labels: Any, source: Table | Records, survey: Survey, out: Path) -> None:
    """frames, instances and pred_points: a row for each, which say by number what belongs to what."""
    import h5py

    save_example(labels, source, survey, out)
    if survey.instances == 0:
        return
    nodes = len(labels.skeletons[0].nodes)
    with h5py.File(out, "r+") as file:
        form = float(file["metadata"].attrs["format_id"])
        check(form == SLP_FORMAT, f"format_id {form:g}", out)
        # Fields that are not set below keep the value that they have in the example.
        examples = {}
        for name, fields in SLP.items():
            check(file[name].dtype == np.dtype(fields), f"other fields in '{name}'", out)
            examples[name] = file[name][0]
        frames = replace(file, "frames", (survey.frames,))
        instances = replace(file, "instances", (survey.instances,))
        points = replace(file, "pred_points", (survey.instances * nodes,))
        frame = instance = 0
        for block in blocks(labels, source):
            numbers, starts, places, counts = np.unique(block.frames, return_index=True, return_inverse=True, return_counts=True)
            rows = np.full(len(numbers), examples["frames"])
            rows["frame_id"] = frame + np.arange(len(numbers))
            rows["frame_idx"] = numbers
            rows["instance_id_start"] = instance + starts
            rows["instance_id_end"] = instance + starts + counts
            frames[frame : frame + len(rows)] = rows

            rows = np.full(len(block.frames), examples["instances"])
            rows["instance_id"] = instance + np.arange(len(rows))
            rows["frame_id"] = frame + places
            rows["track"] = block.tracks
            rows["score"] = block.scores
            rows["point_id_start"] = rows["instance_id"] * nodes
            rows["point_id_end"] = rows["point_id_start"] + nodes
            instances[instance : instance + len(rows)] = rows

            at = instance * nodes
            frame, instance = frame + len(numbers), instance + len(rows)
            rows = np.full((len(rows), nodes), examples["pred_points"])
            rows["x"], rows["y"] = block.points[:, :, 0], block.points[:, :, 1]
            rows["visible"] = ~np.isnan(rows["x"])
            rows["score"] = point_scores(block)
            points[at : at + rows.size] = rows.ravel()


def analysis(labels: Any, source: Table | Records, survey: Survey, out: Path) -> None:
    """Arrays of all tracks and frames, where nothing is stored of a track in blocks of frames that it is not in."""
    import h5py

    video = labels.videos[0]
    frames = max(len(video), survey.last + 1)
    # sleap-io would write as many frames as the video has; closing it changes the metadata.
    metadata = dict(video.backend_metadata)
    video.close()
    video.open_backend = False
    video.backend_metadata = metadata | ({"shape": [1, *metadata["shape"][1:]]} if "shape" in metadata else {})
    save_example(labels, source, survey, out)
    # Without any track, the instances of a frame have places in their order.
    lost = survey.repeated + (survey.untracked if source.tracks else 0)
    if lost:
        print(
            f"cudainfer-labels: {out.name} has no place for {lost} of {survey.instances} instances, which have no track, or that of "
            "another one in their frame",
            file=sys.stderr,
        )
    nodes = len(labels.skeletons[0].nodes)
    # Chunks are written once, and as a whole: HDF5 has no need to keep them.
    with h5py.File(out, "r+", rdcc_nbytes=0) as file:
        file.attrs["video_backend_metadata"] = json.dumps(metadata)
        arrays = {}
        for name, (dtype, dims) in ANALYSIS.items():
            example = file[name]
            found = json.loads(example.attrs.get("dims", "null"))
            check(example.dtype == dtype and found == dims, f"'{name}' as {example.dtype} {found}", out)
            sizes = dict(zip(dims, example.shape, strict=True)) | {"frame": frames}
            chunks = sizes | {"track": 1, "frame": min(BLOCK, frames)}
            arrays[name] = replace(
                file,
                name,
                tuple(sizes.values()),
                chunks=tuple(chunks.values()),
                compression="gzip",
                fillvalue=np.nan if dtype == "<f8" else 0,
            )
        for block in blocks(labels, source):
            begin = int(block.frames[0]) // BLOCK * BLOCK
            end = min(begin + BLOCK, frames)
            _, starts, places = np.unique(block.frames, return_index=True, return_inverse=True)
            tracks = block.tracks if source.tracks else np.arange(len(places)) - starts[places]
            scores = point_scores(block)
            for track in np.unique(tracks[tracks >= 0]).tolist():
                of_track = tracks == track
                at = block.frames[of_track] - begin
                values = np.full((end - begin, nodes, 3), np.nan)
                values[at, :, :2] = block.points[of_track, :, :2]
                values[at, :, 2] = scores[of_track]
                arrays["tracks"][track, :, :, begin:end] = values[:, :, :2].T
                arrays["point_scores"][track, :, begin:end] = values[:, :, 2].T
                values = np.full(end - begin, np.nan)
                values[at] = block.scores[of_track]
                arrays["instance_scores"][track, begin:end] = values
                arrays["track_occupancy"][begin:end, track] = np.isin(np.arange(end - begin), at)


def nwb(labels: Any, source: Table | Records, survey: Survey, out: Path) -> None:
    """Series of a track's nodes: where and when each was found, the time being the number of the frame."""
    import h5py

    if survey.repeated or survey.most_untracked > 1:
        raise LabelsError(
            f"a frame of '{source.path}' has several instances with the same track, or with none, and in NWB each has its own. Put tracker "
            "before inferpublish, or choose another ending for -o"
        )
    save_example(labels, source, survey, out)
    names = {"track=untracked": UNTRACKED} | {f"track={name}": number for name, number in source.tracks.items()}
    with h5py.File(out, "r+") as file:
        series: dict[tuple[int, str], h5py.Group] = {}
        kinds = {"PoseEstimation": [], "PoseEstimationSeries": []}
        file["processing"].visititems(lambda _, found: kinds.get(found.attrs.get("neurodata_type"), []).append(found))
        for found in kinds["PoseEstimationSeries"]:
            *_, track, node = found.name.split("/")
            series[names[track], node] = found
        wanted = {(track, node) for track in survey.points for node in source.nodes}
        check(series.keys() == wanted, "other series", out)
        arrays = {}
        for (track, node), group in series.items():
            count = int(survey.points[track][source.nodes.index(node)])
            for name, size in NWB.items():
                known = name in group and (group[name].dtype, group[name].shape) == (np.float64, (1, *size))
                check(known, f"another form of '{name}'", out)
                arrays[track, node, name] = replace(group, name, (count, *size))
        written = dict.fromkeys(series, 0)
        for block in source.blocks():
            scores = point_scores(block)
            for track in np.unique(block.tracks).tolist():
                of_track = block.tracks == track
                for place, node in enumerate(source.nodes):
                    found = of_track & ~np.isnan(block.points[:, place, 0])
                    at = written[track, node]
                    written[track, node] = end = at + int(found.sum())
                    arrays[track, node, "data"][at:end] = block.points[found, place, :2]
                    arrays[track, node, "confidence"][at:end] = scores[found, place]
                    arrays[track, node, "timestamps"][at:end] = block.frames[found]
