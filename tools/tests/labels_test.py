"""Tests of cudainfer-labels, and of the tables that inferpublish writes, with the programs that read them."""

import json
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import pandas
import sleap_io

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from cudainfer import labels

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
        untracked = self.folder / "untracked.csv"
        untracked.write_text("track,frame_idx,instance.score,a.x,a.y,a.score\n,0,1,1,1,1\n,0,1,2,2,1\n")
        for source, name, wanted in (
            (self.records, "out.slp", "no object in .* has keypoints. Put peakfind"),
            (damaged, "out.csv", "line 2 of .*damaged.jsonl' is no record"),
            (self.records, "out.txt", "ends with none of .slp, .h5, .nwb and .csv"),
            (TABLES / "sleap.csv", "out.csv", "is a table already"),
            (TABLES / "sleap.json", "out.slp", "ends with neither .csv nor .jsonl"),
            (self.folder / "missing.csv", "out.slp", "there is no file"),
            (TABLES / "sleap.csv", "nowhere/out.slp", "there is no folder"),
            (untracked, "out.nwb", "cannot write 'out.nwb': .*put tracker before inferpublish"),
        ):
            with self.subTest(wanted), self.assertRaisesRegex(labels.LabelsError, wanted):
                self.convert(source, name)
            self.assertFalse((self.folder / name).exists())
        with self.assertRaisesRegex(labels.LabelsError, "there is no file 'none.mp4'"):
            self.convert(TABLES / "sleap.csv", "out.slp", Path("none.mp4"))

    def test_without_sleap_io_it_says_how_to_get_it(self):
        with (
            mock.patch.dict(sys.modules, {"sleap_io": None}),
            self.assertRaisesRegex(labels.LabelsError, r"pip install 'cudainfer\[sleap\]'"),
        ):
            self.convert(TABLES / "sleap.csv", "out.slp")


if __name__ == "__main__":
    unittest.main()
