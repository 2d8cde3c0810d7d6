"""Tests of tune_tracker for poses: what it reads, how identities are scored, and what is tried."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import io
import json
import tempfile
import unittest
from pathlib import Path

from cudainfer_tools.evaluate.identity_scenes import SCENES, make
from cudainfer_tools.evaluate.identity_tables import table
from cudainfer_tools.pipeline import PipelineError
from cudainfer_tools.repository import ROOT
from cudainfer_tools.tune_tracker import __main__ as tune
from cudainfer_tools.tune_tracker import pose_trials, poses
from cudainfer_tools.tune_tracker.search import setting

FRAMES = 40
HEAD = "track,frame_idx,instance.score,nose.x,nose.y,nose.score,tail.x,tail.y,tail.score"


def row(frame: int, track: str, x: float, y: float = 50.0, score: float = 0.8) -> str:
    """An animal that is 20 pixels long."""
    return f"{track},{frame},{score},{x},{y},{score},{x + 20},{y},{score}"


def walkers(frames: int = FRAMES, shift: float = 0.0, named: bool = True) -> list[str]:
    """Two animals that walk side by side."""
    tracks = ("left", "right") if named else ("", "")
    rows = [row(frame, track, shift + 100 * n + frame) for frame in range(frames) for n, track in enumerate(tracks)]
    return [HEAD, *rows]


def record(frame: int, *xs: float, box: bool = False, identities: tuple[int, ...] = ()) -> str:
    """Those animals in a record, whose coordinates are half a pixel more."""
    objects = []
    for number, x in enumerate(xs):
        points = [{"name": name, "x": x + 0.5 + more, "y": 50.5, "score": 0.6} for name, more in (("nose", 0), ("tail", 20))]
        one: dict = {"label": "mouse", "keypoints": points}
        if box:
            one |= {"confidence": 0.9, "box": {"x": x, "y": 40, "w": 20, "h": 20}}
        if identities:
            one["track"] = {"id": identities[number], "state": "tracked"}
        objects.append(one)
    return json.dumps({"frame": frame, "objects": objects})


def has_scipy() -> bool:
    try:
        return importlib.util.find_spec("scipy") is not None
    except ModuleNotFoundError:
        return False


@unittest.skipUnless(has_scipy(), "scripts/setup evaluate installs SciPy with TrackEval")
class Case(unittest.TestCase):
    def setUp(self) -> None:
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = Path(place.name)

    def file(self, name: str, lines: list[str]) -> Path:
        path = self.folder / name
        path.write_text("".join(line + "\n" for line in lines))
        return path

    def read(self, found: list[str], truth: list[str], name: str = "found.csv", truth_name: str = "truth.csv") -> poses.PoseClip:
        with contextlib.redirect_stdout(io.StringIO()):
            return poses.read(self.file(name, found), self.file(truth_name, truth))

    def refused(self, found: list[str], truth: list[str], name: str = "found.csv", truth_name: str = "truth.csv") -> str:
        with self.assertRaises(PipelineError) as raised:
            self.read(found, truth, name, truth_name)
        return str(raised.exception)


class Reading(Case):
    def test_records_and_tables_of_the_same_poses_lie_on_each_other(self):
        records = [record(frame, 100 + frame, float(frame)) for frame in range(FRAMES)]
        read = self.read(records, walkers(), "found.jsonl")
        # The second object of each record is the animal whose name comes first.
        self.assertEqual(read.animals, [[2, 1]] * FRAMES)
        self.assertEqual((read.labelled, read.identities), ([2] * FRAMES, ["left", "right"]))
        self.assertEqual(read.found[0][0].points["nose"], (100.5, 50.5))
        self.assertEqual(read.found[0][0].points, poses.read_frames(self.folder / "truth.csv", "it")[0][1].points)
        self.assertAlmostEqual(read.found[0][0].confidence, 0.6)
        self.assertFalse(read.is_boxed())
        # The box is not much thinner than long, as the element has it: frame, confidence, x, y, w, h and the points.
        self.assertEqual(read.lines()[0], "0,0.6000,100.500,48.000,20.000,5.000,100.500,50.500,120.500,50.500")

    def test_boxes_of_a_detector_and_identities_of_records_are_taken(self):
        found = [record(frame, 100 + frame, float(frame), box=True) for frame in range(FRAMES)]
        truth = [record(frame, 100 + frame, identities=(7,)) for frame in range(FRAMES)]
        read = self.read(found, truth, "found.jsonl", "truth.jsonl")
        self.assertEqual((read.animals, read.identities), ([[1, 0]] * FRAMES, ["7"]))
        self.assertTrue(read.is_boxed())
        self.assertEqual(read.lines()[0].split(",")[1:6], ["0.9000", "100.000", "40.000", "20.000", "20.000"])

    def test_what_is_far_from_every_animal_is_none_and_animals_are_whose_they_are_together(self):
        rows = [row(frame, "", x) for frame in range(FRAMES) for x in (frame, 8.0 + frame, 300.0)]
        truth = [HEAD, *(row(frame, name, x) for frame in range(FRAMES) for name, x in (("a", 6.0 + frame), ("b", 13.0 + frame)))]
        # By itself each would be nearest to "a".
        self.assertEqual(self.read([HEAD, *rows], truth).animals, [[1, 2, 0]] * FRAMES)

    def test_halves_share_the_animals(self):
        first, second = self.read(walkers(named=False), walkers()).halves()
        self.assertEqual((len(first.found), len(second.found)), (20, 20))
        self.assertEqual(first.identities, second.identities)
        self.assertEqual(second.found[0][0].points["nose"], (20.5, 50.5))

    def test_what_is_wrong_is_a_sentence(self):
        fine = walkers(named=False)
        self.assertIn("has no poses", self.refused(fine, [HEAD]))
        self.assertIn("has no identities", self.refused(fine, fine))
        self.assertIn("'left' twice in frame 3", self.refused(fine, [*walkers(), row(3, "left", 500)]))
        self.assertIn("is no table of SLEAP", self.refused(fine, ["frame,x,y", "1,2,3"]))
        self.assertIn("is no table of SLEAP", self.refused([], walkers()))
        self.assertIn(
            "line 2: a frame or a coordinate is no number", self.refused(fine, [HEAD, row(0, "a", 1).replace("50", "x", 1)])
        )
        self.assertIn("line 2 is of frame -1", self.refused(fine, [HEAD, row(-1, "a", 1)]))
        self.assertIn("goes to frame 99, and the clip to frame 39", self.refused(fine, walkers(100)))
        self.assertIn("another video, or in another size", self.refused(fine, walkers(shift=1000)))
        other = [line.replace("nose", "head").replace("tail", "end") for line in walkers()]
        self.assertIn("has the points end, head, and", self.refused(fine, other))
        self.assertIn("the second half of the clip, of 20 frames, has 0 poses", self.refused(fine, walkers(20)))
        self.assertIn("no record of a frame", self.refused(["[1]"], walkers(), "found.jsonl"))
        records = [record(frame, float(frame)) for frame in range(30)]
        self.assertIn("goes to frame 39, and the clip to frame 29", self.refused(records, walkers(), "found.jsonl"))
        with self.assertRaisesRegex(PipelineError, "there is no the ground truth|there is no"):
            poses.read_frames(self.folder / "nowhere.csv", "the ground truth")

    def test_a_video_has_to_become_poses_first(self):
        given = tune.argparse.Namespace(source=Path("flies.mp4"), ground_truth=Path("truth.csv"))
        with self.assertRaisesRegex(PipelineError, "'flies.mp4' is no file of poses.*scripts/run pose-topdown"):
            tune.tune_poses(given, 0.0)


class Made(Case):
    def test_tables_of_a_made_video_are_a_clip_whose_animals_are_all_found(self):
        scene = dataclasses.replace(SCENES[3], frames=60)
        frames = make(scene)
        found, truth = (self.file(f"{is_labelled}.csv", [table(frames, is_labelled)]) for is_labelled in (False, True))
        with contextlib.redirect_stdout(io.StringIO()):
            clip = poses.read(found, truth)
        wanted = [[one.animal for one in frame] for frame in frames]
        self.assertEqual(clip.identities, ["animal_1", "animal_2", "animal_3"])
        # An animal that is found twice is itself by the pose that its label is.
        self.assertEqual(clip.animals, wanted)


class Scoring(Case):
    def scores(self, *given: list[int]) -> pose_trials.PoseScores:
        clip = self.read(walkers(named=False), walkers())
        return pose_trials.scores(clip, [list(of) for of in given])

    def test_identities_that_stay_are_right_whatever_their_numbers(self):
        self.assertEqual(self.scores(*[[9, 4]] * FRAMES), pose_trials.PoseScores(100.0, 0, 0, 2))

    def test_a_switch_a_break_and_what_they_cost(self):
        # Exchanged from the middle on: half of both is right.
        self.assertEqual(self.scores(*[[1, 2]] * 20, *[[2, 1]] * 20), pose_trials.PoseScores(50.0, 2, 0, 2))
        # One animal has no identity for ten frames, twice: of 80 labelled and 60 given identities, 60 are right.
        given = [[1, 2]] * 5 + [[1, 0]] * 10 + [[1, 2]] * 10 + [[1, 0]] * 10 + [[1, 2]] * 5
        found = self.scores(*given)
        self.assertEqual((found.switches, found.breaks, found.identities), (0, 2, 2))
        self.assertAlmostEqual(found.idf1, 200 * 60 / (80 + 60))
        self.assertEqual(self.scores(*[[0, 0]] * FRAMES).idf1, 0.0)


class Trying(Case):
    def test_all_that_is_tried_are_properties_of_the_element(self):
        clip = self.read(walkers(named=False), walkers())
        page = (ROOT / "docs/elements/tracker.md").read_text()
        names = {name for _, values in pose_trials.tried(clip) for value in values for name in value}
        self.assertEqual({name for name in names if f"| `{name}` |" not in page}, set())
        self.assertLessEqual({"max-tracks", "sigmas", "similarity"}, names)

    def test_the_program_is_asked_for_what_the_words_say(self):
        file = Path("poses.csv")
        asked = pose_trials.arguments(setting({"algorithm": "auto", "similarity": "oks"}), False, file)
        self.assertEqual(asked, ["auto", "0", "oks", "poses.csv"])
        more = {"algorithm": "sort", "similarity": "oks", "sigmas": "0.2", "max-tracks": "2", "iou": "0.1"}
        asked = pose_trials.arguments(setting(more), True, file)
        self.assertEqual(asked, ["sort", "2", "oks", "poses.csv", "boxes=detector", "iou=0.1", "sigmas=0.2"])
        boxes = setting({**more, "similarity": "keypoint-boxes", "sigmas": ""})
        self.assertEqual(pose_trials.arguments(boxes, False, file)[:3], ["sort", "2", "iou"])
        self.assertNotIn("sigmas", dict(boxes))

    def test_trials_are_what_each_setting_reaches_and_are_not_made_twice(self):
        # As a tracker that tells the two apart, and with max-tracks=1 none.
        program = self.file(
            "program",
            [
                f"#!/bin/sh\necho run >> {self.folder}/runs",
                """case "$2" in 1) awk '{print 1}' "$4" ;; *) awk '{print NR % 2 + 1}' "$4" ;; esac""",
            ],
        )
        program.chmod(0o755)
        clip = self.read(walkers(named=False), walkers())
        trials = pose_trials.PoseTrials((*clip.halves(), clip), program, self.folder)
        right, one = (
            setting({"algorithm": "auto", "similarity": "oks"}),
            setting({"algorithm": "auto", "similarity": "oks", "max-tracks": "1"}),
        )
        self.assertEqual(trials.by(2)([right, one]), [100.0, 50.0])
        self.assertEqual(trials.by(0)([right]), [100.0])
        self.assertEqual(trials.by(2)([one]), [50.0])
        self.assertEqual(((self.folder / "runs").read_text(), trials.settings()), ("run\n" * 3, 2))
        wrong = self.file("wrong", ["#!/bin/sh", "echo 'no such parameter' >&2; exit 1"])
        wrong.chmod(0o755)
        with self.assertRaisesRegex(PipelineError, "algorithm=auto similarity=oks: no such parameter"):
            pose_trials.PoseTrials((clip,), wrong, self.folder).by(0)([right])


if __name__ == "__main__":
    unittest.main()
