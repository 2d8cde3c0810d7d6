"""Tests of tune_tracker: what it reads, how it scores, and what it chooses."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import numpy as np

from cudainfer_tools.evaluate.mot_scores import Sequence, scores
from cudainfer_tools.pipeline import PipelineError
from cudainfer_tools.tune_tracker import __main__ as tune
from cudainfer_tools.tune_tracker import clip, scoring, search, trials

FRAMES = 40


def has_trackeval() -> bool:
    try:
        return importlib.util.find_spec("trackeval") is not None
    except ModuleNotFoundError:
        return False


def row(frame: float, identity: float, x: float, *more: float) -> str:
    return ",".join(f"{value:g}" for value in (frame, identity, x, 50, 20, 40, *(more or (1, -1, -1, -1))))


def walkers(frames: int = FRAMES, shift: float = 0.0) -> list[str]:
    """Two people who walk side by side."""
    return [row(frame, number, shift + 100 * number + frame) for frame in range(1, frames + 1) for number in (1, 2)]


class Case(unittest.TestCase):
    def setUp(self) -> None:
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = Path(place.name)

    def file(self, name: str, lines: list[str]) -> Path:
        path = self.folder / name
        path.write_text("".join(line + "\n" for line in lines))
        return path

    def read(self, detections: Path, truth: Path, classes: list[str] | None = None) -> clip.Clip:
        with contextlib.redirect_stdout(io.StringIO()):
            return clip.read(detections, truth, classes or [])

    def refused(self, detections: list[str], truth: list[str], name: str = "det.txt") -> str:
        with self.assertRaises(PipelineError) as raised:
            self.read(self.file(name, detections), self.file("gt.txt", truth))
        return str(raised.exception)


def record(frame: int, *objects: dict) -> str:
    return json.dumps({"frame": frame, "objects": list(objects)})


def person(x: float, label: str = "person") -> dict:
    return {"label": label, "confidence": 0.9, "box": {"x": x, "y": 50, "w": 20, "h": 40}}


class Reading(Case):
    def test_a_clip_is_cut_in_the_middle_and_both_halves_count_from_one(self):
        read = self.read(self.file("det.txt", walkers()), self.file("gt.txt", walkers()))
        first, second = read.halves()
        self.assertEqual([half.frames for half in (first, second)], [20, 20])
        for half in (first, second):
            for rows in (half.truth, half.detections):
                self.assertEqual((rows[:, 0].min(), rows[:, 0].max(), len(rows)), (1, 20, 40))
        self.assertEqual(second.truth[0, 2], 100 + 21)

    def test_records_are_detections_and_have_the_clips_length(self):
        lines = [record(n, person(100 + n + 1), person(200 + n + 1), person(5, "dog")) for n in range(FRAMES)]
        truth = self.file("gt.txt", walkers(30))
        read = self.read(self.file("objects.jsonl", lines), truth, ["person"])
        self.assertEqual((read.frames, len(read.detections), read.found()), (FRAMES, 80, 60))
        with self.assertRaisesRegex(PipelineError, "several classes, dog, person.*--classes dog"):
            self.read(self.folder / "objects.jsonl", truth)
        with self.assertRaisesRegex(PipelineError, "no boxes of the classes cat"):
            self.read(self.folder / "objects.jsonl", truth, ["cat"])

    def test_rows_that_do_not_count_are_left_out(self):
        marked = [*walkers(), *(row(frame, 9, 900, 0, -1, -1, -1) for frame in range(1, FRAMES + 1))]
        self.assertEqual(len(self.read(self.file("det.txt", walkers()), self.file("gt.txt", marked)).counted()), 80)
        # Ground truth from MOT16 on has classes.
        later = [row(frame, number, 100 * number + frame, 1, number, 1) for frame in range(1, 41) for number in (1, 2)]
        read = self.read(self.file("det.txt", walkers()), self.file("gt.txt", later))
        self.assertEqual((read.benchmark(), len(read.counted())), ("MOT17", 40))

    def test_what_is_wrong_is_a_sentence(self):
        fine = walkers()
        self.assertIn("is empty", self.refused(fine, []))
        self.assertIn("is empty", self.refused([], fine))
        self.assertIn("line 2 has 5 columns, and at least 8", self.refused(fine, [fine[0], "1,1,5,5,5"]))
        self.assertIn("line 1 has 6 columns, and at least 7", self.refused([row(1, 1, 5)[: -len(",1,-1,-1,-1")]], fine))
        self.assertIn("line 2 has 9 columns, and the first has 10", self.refused(fine, [fine[0], fine[1][:-3]]))
        self.assertIn("'frame,id' is not a row of numbers", self.refused(fine, ["frame,id"]))
        self.assertIn("frames count from 1", self.refused(fine, [row(0, 1, 5)]))
        self.assertIn("goes to frame 200, and the clip has 40", self.refused(fine, walkers(200)))
        self.assertIn("another video, or in another size", self.refused(fine, walkers(shift=1000)))
        self.assertIn("none counts", self.refused(fine, [row(1, 1, 100, 0, -1, -1, -1)]))
        self.assertIn("the second half of the clip, of 20 frames, has 0 boxes", self.refused(fine, walkers(20)))
        self.assertIn("no record of a frame", self.refused(["[1]"], fine, "objects.jsonl"))
        records = [record(n, person(101 + n)) for n in range(30)]
        self.assertIn("goes to frame 40, and the clip has 30", self.refused(records, fine, "objects.jsonl"))
        with self.assertRaisesRegex(PipelineError, "there is no '.*/nowhere/gt/gt.txt'|there is no '.*nowhere'"):
            clip.truth_file(self.folder / "nowhere")

    def test_a_last_box_after_the_last_detection_is_no_other_video(self):
        self.assertEqual(self.read(self.file("det.txt", walkers(38)), self.file("gt.txt", walkers())).frames, 40)


class Overlaps(unittest.TestCase):
    def test_they_are_intersection_over_union(self):
        boxes = np.array([[0.0, 0, 10, 10], [5, 0, 10, 10], [100, 0, 10, 10], [0, 0, 0, 0]])
        # 50 of 150.
        wanted = [[1, 1 / 3, 0, 0], [1 / 3, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]]
        np.testing.assert_allclose(clip.overlaps(boxes, boxes), wanted, atol=1e-12)


@unittest.skipUnless(has_trackeval(), "scripts/setup evaluate installs TrackEval")
class Scoring(Case):
    def test_it_is_trackevals_own_figure_at_the_same_overlaps(self):
        for later in (False, True):
            more = (1, 1, 1) if later else (1, -1, -1, -1)
            truth = [row(n, i, 100 * i + n, *more) for n in range(1, 41) for i in (1, 2)]
            # The second person's track breaks in the middle, and a third one is nobody.
            tracks = [row(n, i if n < 20 or i == 1 else 7, 100 * i + n + 2) for n in range(1, 41) for i in (1, 2)]
            tracks += [row(n, 5, 700) for n in range(1, 11)]
            read = self.read(self.file("det.txt", walkers()), self.file("gt.txt", truth))
            file = self.file("tracks.txt", tracks)
            theirs = scores([Sequence("clip", self.folder / "gt.txt", 40)], {"one": {"clip": file}})["one"]["HOTA"]
            whole = scoring.Scorer(read)
            # TrackEval's 19 overlaps instead of five of them.
            whole.metric.array_labels = np.arange(0.05, 0.99, 0.05)
            found = whole.hota(np.loadtxt(file, delimiter=","))
            self.assertAlmostEqual(100 * float(np.mean(found["HOTA"])), theirs, places=6)
            self.assertTrue(30 < theirs < 90, theirs)

    def test_trials_are_what_each_setting_reaches_on_each_clip_and_are_not_made_twice(self):
        # As a tracker that gives each detection the number of its row in two for an identity, and with max-lost=1 none at all.
        program = self.file(
            "program",
            [
                f"#!/bin/sh\necho run >> {self.folder}/runs; n=0",
                """while read -r line; do case "$line" in""",
                """*max-lost=1) : > "$3/$n.txt" ;; *) awk -F, -v OFS=, '{$2 = NR % 2 + 1; print}' "$4" > "$3/$n.txt" ;;""",
                """esac; n=$((n + 1)); done < "$2" """,
            ],
        )
        program.chmod(0o755)
        halves = self.read(self.file("det.txt", walkers()), self.file("gt.txt", walkers())).halves()
        all_found, none = search.setting({"algorithm": "auto"}), search.setting({"algorithm": "auto", "max-lost": "1"})
        with trials.Trials(halves, program) as made:
            self.assertEqual(made.by(0, 1)([all_found, none]), [100.0, 0.0])
            self.assertEqual(made.by(1)([none, all_found]), [0.0, 100.0])
        self.assertEqual((self.folder / "runs").read_text(), "run\nrun\n", "once for each half")
        wrong = self.file("wrong", ["#!/bin/sh", "echo 'no such parameter' >&2; exit 1"])
        wrong.chmod(0o755)
        with trials.Trials(halves, wrong) as made, self.assertRaisesRegex(PipelineError, "no such parameter"):
            made.of([none], 0)

    def test_parts_count_together_as_one_clip_would(self):
        read = self.read(self.file("det.txt", walkers()), self.file("gt.txt", walkers()))
        halves = [scoring.Scorer(half).hota(half.truth) for half in read.halves()]
        self.assertAlmostEqual(scoring.together(*halves), 100.0)
        nothing = scoring.Scorer(read.halves()[1]).hota(np.zeros((0, 10)))
        # Half of the boxes are found: DetA is a half, and AssA of those that are found is 1.
        self.assertAlmostEqual(scoring.together(halves[0], nothing), 100 * 0.5**0.5)


class Search(unittest.TestCase):
    def test_it_climbs_as_long_as_hota_rises_and_leaves_the_rest_alone(self):
        asked: list[search.Setting] = []

        def score(tried: list[search.Setting]) -> list[float]:
            asked.extend(tried)
            found = []
            for one in map(dict, tried):
                value = {"auto": 40.0, "cbiou": 41.0}.get(one["algorithm"], 30.0)
                if one["algorithm"] == "auto":
                    value += 3.0 * (one.get("max-lost") == "60") + 0.05 * (one.get("iou") == "0.2")
                    value += 1.0 * (one.get("new-confidence") == "0.5")
                found.append(value)
            return found

        chosen = search.search(score)
        words = search.words(chosen)
        self.assertEqual(words, "algorithm=auto auto-confidence=false high-confidence=0.4 max-lost=60 new-confidence=0.5")
        begun = {dict(one)["algorithm"] for one in asked if len(one) > 1}
        self.assertEqual(begun, {"auto", "cbiou"}, "the default and the best of the others")

    def test_thresholds_that_adapt_are_not_set_as_well(self):
        values = {"algorithm": "auto", "high-confidence": "0.5", "new-confidence": "0.6"}
        self.assertEqual(search.words(search.setting({**values, "auto-confidence": "true"})), "algorithm=auto auto-confidence=true")
        self.assertEqual(len(search.setting({**values, "auto-confidence": "false"})), 4)

    def test_of_equals_the_default_is_taken(self):
        self.assertEqual(search.search(lambda tried: [1.0] * len(tried)), (("algorithm", "auto"),))

    def test_all_that_is_tried_are_properties_of_the_element(self):
        page = (tune.ROOT / "docs/elements/tracker.md").read_text()
        names = {name for _, values in search.TRIED for value in values for name in value}
        self.assertEqual({name for name in names if f"| `{name}` |" not in page}, set())


class Video(Case):
    def test_a_video_is_seen_once_by_detect_track_and_what_was_detected_before_is_taken_as_it_is(self):
        seen = []

        def line(video: Path, results: Path, properties: str = "", values: dict[str, str] | None = None) -> list[str]:
            seen.append((video, values))
            results.write_text("")
            return []

        video = self.file("street.mp4", [])
        with mock.patch.object(tune, "run_line", line), mock.patch.object(tune, "OUT", self.folder / "out"):
            found = tune.detections_of(video, {"model": "m.onnx"})
            self.assertEqual(tune.detections_of(self.file("det.txt", []), {}), self.folder / "det.txt")
        self.assertEqual(found, self.folder / "out" / "street.jsonl")
        self.assertEqual(seen, [(video, {"model": "m.onnx"})])


class Verdict(unittest.TestCase):
    def test_it_is_what_the_left_out_halves_say(self):
        self.assertIn("expect about +1.5 HOTA", tune.verdict([1.0, 2.0]))
        self.assertIn("+0.5 HOTA may be chance", tune.verdict([-1.0, 2.0]))
        self.assertIn("Keep the defaults", tune.verdict([-1.0, 0.5]))


if __name__ == "__main__":
    unittest.main()
