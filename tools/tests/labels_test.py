"""Tests of cudainfer-labels, and of the tables that inferpublish writes, with the programs that read them."""

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import h5py
import numpy
import pandas
import sleap_io

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from cudainfer import labels, poses

# tests/elements/inferpublish/labels.rs compares them with what inferpublish writes.
TABLES = Path(__file__).resolve().parents[2] / "tests/elements/inferpublish/labels"


def record(frame, *objects):
    return {"schema": "cudainfer.frame/5", "source": "arena", "frame": frame, "width": 64, "height": 48} | {
        "objects": list(objects)
    }


def animal(points, **more):
    points = [{"name": name, "x": x, "y": y, "score": 0.5} for name, x, y in points]
    return {"id": 0, "label": "pose", "keypoints": points} | more


class Tables(unittest.TestCase):
    def test_sleap_io_reads_points_scores_tracks_edges_and_the_videos_size(self):
        found = sleap_io.load_file(str(TABLES / "sleap.csv"))
        self.assertEqual((len(found), [track.name for track in found.tracks]), (2, ["track_1", "track_2"]))
        self.assertEqual(found.skeletons[0].node_names, ["head", "thorax", "tail"])
        self.assertEqual(found.skeletons[0].edge_names, [("head", "thorax"), ("thorax", "tail")])
        self.assertEqual(found.videos[0].filename, "arena.mp4")
        self.assertEqual(found.videos[0].backend_metadata["shape"], [2, 48, 64, 1])
        by_track = {instance.track.name: instance for instance in found[0].instances}
        best = by_track["track_1"]
        self.assertEqual(best.score, 1.8)
        places = {node.name: tuple(best[node.name]["xy"]) for node in found.skeletons[0].nodes}
        self.assertEqual(places, {"head": (8, 8), "thorax": (28, 28), "tail": (48, 48)})
        self.assertEqual(by_track["track_2"]["tail"]["visible"], False)

    def test_deeplabcuts_table_has_individuals_and_a_row_for_each_frame(self):
        # As movement.io.load_poses.from_dlc_file and deeplabcut read it.
        found = pandas.read_csv(TABLES / "dlc.csv", header=[0, 1, 2, 3], index_col=0)
        self.assertEqual(found.columns.names, ["scorer", "individuals", "bodyparts", "coords"])
        self.assertEqual(list(found.columns.unique("individuals")), [f"individual{i}" for i in (1, 2, 3)])
        self.assertEqual(list(found.index), [0, 1])
        first = found.iloc[0].xs("individual1", level="individuals").droplevel("scorer")
        self.assertEqual((first["head", "x"], first["thorax", "y"], first["tail", "likelihood"]), (8, 28, 0.9))
        self.assertTrue(found.iloc[0].xs("individual3", level="individuals").isna().all())

    def test_lightning_poses_table_has_three_header_rows(self):
        # As Lightning Pose and movement.io.load_poses.from_lp_file read it.
        found = pandas.read_csv(TABLES / "lightning-pose.csv", header=[0, 1, 2], index_col=0)
        self.assertEqual(found.columns.names, ["scorer", "bodyparts", "coords"])
        self.assertEqual(found.loc[1, ("heatmap_tracker", "thorax", "x")], 63)
        self.assertTrue(found.xs("tail", axis=1, level="bodyparts").isna().all(axis=None))


class Conversion(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.records = self.folder / "run.jsonl"

    def write(self, *records):
        self.records.write_text("".join(json.dumps(one) + "\n" for one in records))

    def convert(self, source, name, video=None):
        out = self.folder / name
        labels.convert(source, out, video)
        left = [path for path in self.folder.iterdir() if path.name.startswith(".")]
        self.assertEqual(left, [])
        return out

    def test_a_table_becomes_what_sleap_opens(self):
        for name in ("out.slp", "out.h5", "out.nwb"):
            self.assertGreater(self.convert(TABLES / "sleap.csv", name).stat().st_size, 0)
        found = sleap_io.load_file(str(self.folder / "out.slp"))
        self.assertEqual((len(found), len(found.tracks), found.skeletons[0].edge_names[0]), (2, 2, ("head", "thorax")))

    def test_records_become_the_same_rows_as_a_table(self):
        self.write(
            record(0, animal([("nose", 1.5, 2.0), ("tail", 3.0, 4.25)], edges=[[1, 0]], pose_score=0.75)),
            record(1),
            {"schema": "cudainfer.track/2"},
            record(
                5,
                animal([("ear", 0.5, 0.5)], track={"id": 12}),
                animal([("ear", 1.5, 0.5)], track={"id": 2, "name": "female"}),
                {"id": 1, "label": "car", "confidence": 0.9},
                animal([("tail", 9, 9)], confidence=0.25),
            ),
        )
        out = self.convert(self.records, "out.csv")
        self.assertEqual(
            out.read_text().splitlines(),
            [
                "track,frame_idx,instance.score,nose.x,nose.y,nose.score,tail.x,tail.y,tail.score,ear.x,ear.y,ear.score",
                ",0,0.750000,1.0000,1.5000,0.500000,2.5000,3.7500,0.500000,,,",
                "track_12,5,0.500000,,,,,,,0.0000,0.0000,0.500000",
                "female,5,0.500000,,,,,,,1.0000,0.0000,0.500000",
                ",5,0.250000,,,,8.5000,8.5000,0.500000,,,",
            ],
        )
        beside = json.loads(out.with_suffix(".json").read_text())
        self.assertEqual((beside["tracks"], beside["skeletons"][0]["edges"]), (["female", "track_12"], [["tail", "nose"]]))
        self.assertEqual(beside["videos"][0]["backend_metadata"]["shape"], [6, 48, 64, 3])
        found = sleap_io.load_file(str(self.convert(self.records, "out.slp")))
        self.assertEqual([frame.frame_idx for frame in found], [0, 5])

    def test_the_video_may_lie_elsewhere(self):
        video = self.folder / "there.mp4"
        video.touch()
        found = sleap_io.load_file(str(self.convert(TABLES / "sleap.csv", "out.slp", video)), open_videos=False)
        self.assertEqual(Path(found.videos[0].filename), video)

    def test_what_cannot_be_converted_is_a_sentence_and_leaves_no_file(self):
        self.write(record(0, {"id": 0, "label": "car"}))
        damaged = self.folder / "damaged.jsonl"
        damaged.write_text(json.dumps(record(0)) + "\n{\n")
        without = self.folder / "without.jsonl"
        without.write_text('{"schema": "cudainfer.frame/5", "source": "arena", "frame": 0}\n')
        untracked = self.folder / "untracked.csv"
        untracked.write_text("track,frame_idx,instance.score,a.x,a.y,a.score\n,0,1,1,1,1\n,0,1,2,2,1\n")
        for source, name, wanted in (
            (self.records, "out.slp", "no object in .* has keypoints. Put peakfind"),
            (damaged, "out.csv", "line 2 of .*damaged.jsonl' is no record"),
            (without, "out.slp", "line 1 of .*without.jsonl' is no record"),
            (self.records, "out.txt", "ends with none of .slp, .h5, .nwb and .csv"),
            (TABLES / "sleap.csv", "out.csv", "is a table already"),
            (TABLES / "sleap.json", "out.slp", "ends with neither .csv nor .jsonl"),
            (self.folder / "missing.csv", "out.slp", "there is no file"),
            (TABLES / "sleap.csv", "nowhere/out.slp", "there is no folder"),
            (untracked, "out.nwb", "several instances with the same track, or with none.* Put tracker before inferpublish"),
        ):
            with self.subTest(wanted), self.assertRaisesRegex(labels.LabelsError, wanted):
                self.convert(source, name)
            self.assertFalse((self.folder / name).exists())
        with self.assertRaisesRegex(labels.LabelsError, "there is no file 'none.mp4'"):
            self.convert(TABLES / "sleap.csv", "out.slp", Path("none.mp4"))

    def test_rows_that_are_not_of_one_run_or_not_rows_are_a_sentence(self):
        header = "track,frame_idx,instance.score,a.x,a.y,a.score\n"
        run = self.folder / "run.csv"
        for text, wanted in (
            (header + ",3,1,1,1,1\n,2,1,1,1,1\n", "not in the order of their frames: frame 2 comes after a later one"),
            (header + ",-1,1,1,1,1\n", "not in the order"),
            (header + ",0,1,left,1,1\n", "cannot be read: .*left"),
            (header + ",0.5,1,1,1,1\n", "cannot be read"),
            (header.replace("a.y", "b.y"), "its header is another one. Name a table of inferpublish format=sleap"),
            (header[: header.index(",a.x")] + "\n", "its header is another one"),
            ("", "its header is another one"),
        ):
            run.write_text(text)
            with self.subTest(wanted), self.assertRaisesRegex(labels.LabelsError, wanted):
                self.convert(run, "out.slp")
        run.write_text(header)
        beside = json.loads((TABLES / "sleap.json").read_text())
        run.with_suffix(".json").write_text(json.dumps(beside))
        with self.assertRaisesRegex(labels.LabelsError, "has the points a, and the .json beside it head, thorax, tail. Name"):
            self.convert(run, "out.slp")
        self.write(record(0, animal([("a", 1, 1)])), record(0, animal([("a", 1, 1)])) | {"source": "gate"})
        with self.assertRaisesRegex(labels.LabelsError, "has records of 'arena' and of 'gate', and labels are of one video"):
            self.convert(self.records, "out.slp")

    def test_a_full_disk_is_a_sentence_and_leaves_no_file(self):
        self.write(*(record(frame, animal([("a", frame % 97, frame * 0.37 % 48)], track={"id": 1})) for frame in range(20_000)))
        program = (
            "import resource, sys; from cudainfer import labels; limit = int(sys.argv.pop(1)); "
            "resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)); labels.main()"
        )
        for name, limit in (("out.slp", 100_000), ("out.h5", 60_000), ("out.nwb", 500_000), ("out.csv", 100_000)):
            command = [sys.executable, "-W", "ignore", "-c", program, str(limit), str(self.records), "-o", str(self.folder / name)]
            environment = {**os.environ, "PYTHONPATH": str(TABLES.parents[3] / "python")}
            ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
            wanted = f"cudainfer-labels: '{name}' cannot be written: File too large\n"
            self.assertEqual((ended.returncode, ended.stderr), (1, wanted))
            self.assertEqual([path.name for path in self.folder.iterdir()], ["run.jsonl"])

    def test_a_table_without_rows_is_a_file_without_frames(self):
        run = self.folder / "run.csv"
        run.write_text("track,frame_idx,instance.score,a.x,a.y,a.score\n")
        found = sleap_io.load_file(str(self.convert(run, "out.slp")))
        self.assertEqual((len(found), found.skeletons[0].node_names), (0, ["a"]))

    def test_without_sleap_io_it_says_how_to_get_it(self):
        with (
            mock.patch.dict(sys.modules, {"sleap_io": None}),
            self.assertRaisesRegex(labels.LabelsError, r"pip install 'cudainfer\[sleap\]'"),
        ):
            self.convert(TABLES / "sleap.csv", "out.slp")


def everything(path, *but):
    """All datasets of a file of HDF5, with their types and attributes."""
    found = {}

    def add(name, value):
        attributes = {key: value if numpy.isscalar(value) else value.tolist() for key, value in value.attrs.items()}
        if isinstance(value, h5py.Dataset):
            content = value[()]
            # Numbers that are no numbers equal themselves.
            content = content.tobytes() if isinstance(content, numpy.ndarray) and content.dtype != object else str(content)
            found[name] = (value.shape, value.dtype, content, attributes)
        else:
            found[name] = attributes

    with h5py.File(path) as file:
        add("", file)
        file.visititems(add)
    return {name: value for name, value in found.items() if name not in but}


class AsSleapIoWritesThem(unittest.TestCase):
    """The same run by sleap-io's own reader and writer, and by ours."""

    NODES = ("nose", "left", "right")

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        # Blocks begin within a part of the rows, and parts within a block.
        part = mock.patch.object(poses.Table, "ROWS", 7)
        part.start()
        self.addCleanup(part.stop)

    def run_of(self, tracks, frames, *more, length=3000, beside=True, symmetries=()):
        """A table of these frames with an instance of each of these tracks; of each third one, a point is missing."""
        rows = [poses.columns(self.NODES), *more]
        for number, frame in enumerate(frames):
            for place, track in enumerate(tracks):
                cells = [track, frame, f"{0.5 + number % 7 / 9:.6f}"]
                for node in range(3):
                    known = (number + place + node) % 3 != 0 or node == 1
                    cells += (
                        [f"{number % 90 + node / 3:.4f}", f"{place + node / 7:.4f}", f"{0.1 + node / 9:.6f}"] if known else [""] * 3
                    )
                rows.append(cells)
        run = self.folder / "run.csv"
        run.write_text("".join(",".join(map(str, cells)) + "\n" for cells in rows))
        video = {"type": "MediaVideo", "filename": "fly.mp4", "shape": [length, 48, 64, 1], "grayscale": True}
        skeleton = {"name": "fly", "nodes": ["right", "nose", "left"], "edges": [["nose", "left"], ["nose", "right"]]}
        skeleton["symmetries"] = symmetries
        if beside:
            made = {"version": "1.0", "videos": [{"filename": "fly.mp4", "backend_metadata": video}], "skeletons": [skeleton]}
            made |= {"tracks": sorted(filter(None, tracks)), "suggestions": [], "provenance": {"written_by": "a test"}}
            run.with_suffix(".json").write_text(json.dumps(made))
        return run

    def both(self, run, ending):
        theirs, ours = self.folder / f"theirs{ending}", self.folder / f"ours{ending}"
        sleap_io.save_file(sleap_io.load_file(str(run)), str(theirs), format=labels.FORMATS[ending], verbose=False)
        labels.convert(run, ours, None)
        return theirs, ours

    def runs(self, **skeleton):
        """With the frames at which blocks end, a frame far from others, no instance in the last frames, and an animal without points."""
        frames = [*range(12), 500, 1022, 1023, 1024, 1025, 2047, 2048, 2900]
        absent = ["second", 0, "0.25", *[""] * 9]
        yield "tracks", self.run_of(["second", "first", ""], frames, absent, **skeleton)
        yield "one track", self.run_of(["NA_1"], frames, **skeleton)
        yield "no tracks", self.run_of(["", ""], frames, ["", *absent[1:]], **skeleton)
        yield "a short video", self.run_of(["a", "b"], frames, length=5, **skeleton)
        (self.folder / "run.json").unlink()
        yield "nothing beside", self.run_of(["a", ""], frames, beside=False)

    def test_slp_has_the_same_datasets_of_the_same_types(self):
        for what, run in self.runs():
            with self.subTest(what):
                theirs, ours = map(everything, self.both(run, ".slp"))
                self.assertEqual(ours, theirs)

    def test_slp_is_loaded_as_the_same_labels(self):
        # sleap-io writes the two of a symmetry in any order.
        for what, run in self.runs(symmetries=[["left", "right"]]):
            with self.subTest(what):
                theirs, ours = (sleap_io.load_file(str(path)) for path in self.both(run, ".slp"))
                for found in zip(theirs.skeletons, ours.skeletons, strict=True):
                    names = [(one.name, one.node_names, one.edge_names, {*map(frozenset, one.symmetry_names)}) for one in found]
                    self.assertEqual(*names)
                videos = [
                    [(video.filename, video.shape, video.backend_metadata) for video in found.videos] for found in (theirs, ours)
                ]
                self.assertEqual(*videos)
                self.assertEqual(*([track.name for track in found.tracks] for found in (theirs, ours)))
                self.assertEqual(*({**found.provenance, "filename": ""} for found in (theirs, ours)))
                self.assertEqual(*([frame.frame_idx for frame in found] for found in (theirs, ours)))
                for of_theirs, of_ours in zip(theirs, ours, strict=True):
                    for one, other in zip(of_theirs, of_ours, strict=True):
                        self.assertIs(type(other), sleap_io.PredictedInstance)
                        self.assertEqual(one.track and one.track.name, other.track and other.track.name)
                        numpy.testing.assert_array_equal((one.score, one.tracking_score), (other.score, other.tracking_score))
                        for field in one.points.dtype.names:
                            numpy.testing.assert_array_equal(one.points[field], other.points[field])

    def test_analysis_has_the_same_arrays_and_says_what_it_has_no_place_for(self):
        for what, run in self.runs():
            said = io.StringIO()
            with self.subTest(what), contextlib.redirect_stderr(said):
                theirs, ours = map(everything, self.both(run, ".h5"))
                self.assertEqual(ours, theirs)
            self.assertEqual("no place for" in said.getvalue(), what in ("tracks", "nothing beside"), what)
        self.assertIn("ours.h5 has no place for 20 of 40 instances", said.getvalue())

    def test_nwb_has_the_same_series(self):
        run = self.run_of(["second", "first", ""], range(1100))
        found = []
        for path in self.both(run, ".nwb"):
            series = {}

            def add(name, value, series=series):
                if value.attrs.get("neurodata_type") == "PoseEstimationSeries":
                    attributes = {key: dict(value[key].attrs) for key in ("data", "confidence")}
                    if "timestamps" in value:
                        times = value["timestamps"][()]
                    else:
                        times = value["starting_time"][()] + numpy.arange(len(value["data"])) * value["starting_time"].attrs["rate"]
                    content = [array.tolist() for array in (value["data"][()], value["confidence"][()], times)]
                    series[name] = (value["data"].dtype, value["confidence"].dtype, times.dtype, content, attributes)

            with h5py.File(path) as file:
                file.visititems(add)
            found.append(series)
        self.assertEqual(len(found[0]), 9)
        self.assertEqual(*found)
        self.assertEqual(len(sleap_io.load_file(str(self.folder / "ours.nwb")).videos), 1)

    def test_nwb_has_the_times_of_frames_after_empty_ones(self):
        # sleap-io 0.9.5 itself ends with an IndexError: its times are as many as frames that are not empty.
        run = self.run_of(["a"], [3, 4, 2000])
        labels.convert(run, self.folder / "out.nwb", None)
        with h5py.File(self.folder / "out.nwb") as file:
            series = file["processing/SLEAP_VIDEO_000_fly/track=a/left"]
            self.assertEqual(series["timestamps"][()].tolist(), [3, 4, 2000])
            self.assertEqual(series["data"].shape, (3, 2))

    def test_records_are_the_same_labels_as_their_table(self):
        lines = []
        for frame in range(1500):
            found = [
                animal([(name, frame % 50 + 0.25 * place, 7.5) for place, name in enumerate(self.NODES) if (frame + place) % 4])
                | {"track": {"id": number}, "pose_score": 0.5}
                for number in range(frame % 3)
            ]
            lines.append(json.dumps(record(frame, *found)) + "\n")
        run = self.folder / "run.jsonl"
        run.write_text("".join(lines))
        for ending in (".csv", ".slp", ".h5", ".nwb"):
            labels.convert(run, self.folder / f"records{ending}", None)
        for ending in (".slp", ".h5"):
            labels.convert(self.folder / "records.csv", self.folder / f"table{ending}", None)
            changed = ("metadata", "provenance_json", "provenance")
            self.assertEqual(*(everything(self.folder / f"{name}{ending}", *changed) for name in ("records", "table")))

    def test_another_layout_of_sleap_io_is_an_error_and_leaves_no_file(self):
        run = self.run_of(["a", "b"], range(3))
        save = sleap_io.save_file

        def other_type(name, change):
            def altered(file):
                dtype = change(file[name].dtype)
                attributes = dict(file[name].attrs)
                content = numpy.zeros(file[name].shape, dtype)
                del file[name]
                file.create_dataset(name, data=content).attrs.update(attributes)

            return altered

        node = "processing/SLEAP_VIDEO_000_fly/track=a/left"
        for ending, alter, wanted in (
            (
                ".slp",
                lambda file: file["metadata"].attrs.modify("format_id", 3.0),
                "with format_id 3, which cudainfer-labels does not know",
            ),
            (
                ".slp",
                other_type("pred_points", lambda known: known.descr[:-1] + [("score", "<f4")]),
                "other fields in 'pred_points'",
            ),
            (".slp", other_type("instances", lambda known: known.descr + [("more", "u1")]), "other fields in 'instances'"),
            (".h5", other_type("tracks", lambda known: "<f4"), "'tracks' as float32"),
            (".h5", lambda file: file["tracks"].attrs.modify("dims", '["frame"]'), r"'tracks' as float64 \['frame'\]"),
            (".nwb", other_type(f"{node}/data", lambda known: "<f4"), "another form of 'data'"),
            (".nwb", lambda file: file.move(node, node + "-ear"), "other series"),
        ):

            def saved(labels, name, alter=alter, **more):
                save(labels, name, **more)
                with h5py.File(name, "r+") as file:
                    alter(file)

            out = self.folder / f"out{ending}"
            with (
                self.subTest(wanted),
                mock.patch("sleap_io.save_file", saved),
                self.assertRaisesRegex(
                    labels.LabelsError, f"sleap-io {sleap_io.__version__} writes {ending} with .*{wanted.split('with ')[-1]}"
                ),
            ):
                labels.convert(run, out, None)
            self.assertFalse(out.exists())


if __name__ == "__main__":
    unittest.main()
