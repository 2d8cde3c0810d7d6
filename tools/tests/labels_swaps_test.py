"""Tests of cudainfer-labels --repair-swaps: which exchanged identities are given back, and what is left alone."""

import contextlib
import io
import json
import math
import random
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
import sleap_io

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from cudainfer import labels, swaps
from cudainfer.poses import LabelsError
from cudainfer.swaps.motion import Motion, Samples
from cudainfer.swaps.segments import Cutter

HEADER = "track,frame_idx,instance.score,nose.x,nose.y,nose.score,back.x,back.y,back.score,tail.x,tail.y,tail.score"
FRAMES, MEETING = 400, 200


def pose(x, y, heading, length=30.0, chance=None):
    """Nose, back and tail of an animal, as a network finds them."""
    found = []
    for along in (length / 2, 0.0, -length / 2):
        noise = (chance.gauss(0, 0.5), chance.gauss(0, 0.5)) if chance else (0, 0)
        found.append((x + along * math.cos(heading) + noise[0], y + along * math.sin(heading) + noise[1]))
    return found


def walkers(animals, seed=1):
    """Animals that walk, a little uneven, on straight lines which all meet in the middle of the video: the poses of each frame."""
    chance = random.Random(seed)
    frames = []
    for frame in range(FRAMES):
        here = []
        for animal in range(animals):
            heading = math.pi * animal / animals + 0.3
            way = 2.0 * (frame - MEETING) + 3 * math.sin(frame / 9 + animal)
            # They miss each other's centre by less than their length.
            x, y = 500 + way * math.cos(heading) + 4 * animal, 500 + way * math.sin(heading) - 3 * animal
            here.append(pose(x, y, heading, chance=chance))
        frames.append(here)
    return frames


def row(track, frame, points):
    cells = [",," if point is None else f"{point[0]:.4f},{point[1]:.4f},0.900000" for point in points]
    return ",".join([track, str(frame), "0.900000", *cells])


def rows(frames, given=lambda frame, animal: animal, names=("track_1", "track_2", "track_3")):
    """A row for each pose that is there, named by what an animal is taken for."""
    return [
        row(names[given(frame, animal)], frame, points)
        for frame, here in enumerate(frames)
        for animal, points in enumerate(here)
        if points is not None
    ]


def exchanged_after(start, order=(1, 0)):
    return lambda frame, animal: order[animal] if frame >= start else animal


class Repairs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.table = self.folder / "run.csv"
        self.said = ""

    def repair(self, lines):
        """The lines of a table after the repair, and what was done."""
        self.table.write_text("\n".join([HEADER, *lines]) + "\n")
        edges = [["nose", "back"], ["back", "tail"]]
        self.table.with_suffix(".json").write_text(json.dumps({"skeletons": [{"nodes": [], "edges": edges}]}))
        out, said = self.folder / "out.csv", io.StringIO()
        with contextlib.redirect_stderr(said):
            done = swaps.repair(self.table, out)
        self.said = said.getvalue()
        header, *found = out.read_text().splitlines()
        self.assertEqual(header, HEADER)
        # In all but tracks.
        self.same([line.split(",", 1)[1] for line in found], [line.split(",", 1)[1] for line in lines])
        return found, done

    def same(self, found, wanted):
        # Of thousands of rows, unittest's own comparison takes minutes.
        self.assertEqual(len(found), len(wanted))
        differ = [(one, other) for one, other in zip(found, wanted, strict=True) if one != other]
        self.assertEqual((len(differ), differ[:2]), (0, []))

    def test_two_that_cross_and_are_exchanged_are_given_back(self):
        frames = walkers(2)
        found, done = self.repair(rows(frames, exchanged_after(MEETING)))
        self.same(found, rows(frames))
        self.assertEqual((done.repaired, done.instances), (1, 2 * (FRAMES - MEETING)))
        self.assertRegex(
            self.said, r"frames \d+ to 200: track_2 becomes track_1, track_1 becomes track_2; the path costs [\d.]+, and"
        )

    def test_two_that_cross_and_are_not_exchanged_stay_byte_for_byte(self):
        lines = rows(walkers(2))
        found, done = self.repair(lines)
        self.same(found, lines)
        self.assertEqual((done.repaired, done.instances, self.said), (0, 0, ""))
        self.assertTrue((self.folder / "out.csv").read_bytes() == self.table.read_bytes())

    def test_two_that_are_exchanged_for_some_frames_get_these_back(self):
        frames = walkers(2)
        found, done = self.repair(rows(frames, lambda frame, animal: 1 - animal if MEETING <= frame < MEETING + 3 else animal))
        self.same(found, rows(frames))
        self.assertEqual(done.instances, 6)
        self.assertIn("exchanged back and forth", self.said)

    def test_exchanged_far_from_each_other_they_are_given_back(self):
        frames = walkers(2)
        found, _ = self.repair(rows(frames, exchanged_after(60)))
        self.same(found, rows(frames))

    def test_exchanged_while_both_are_out_of_sight_they_are_given_back(self):
        frames = walkers(2)
        for frame in range(MEETING - 8, MEETING + 6):
            frames[frame] = [None, None]
        frames[MEETING + 6][0] = None
        found, done = self.repair(rows(frames, exchanged_after(MEETING)))
        self.same(found, rows(frames))
        self.assertEqual(done.repaired, 1)

    def test_three_that_are_exchanged_in_a_cycle_are_given_back(self):
        frames = walkers(3)
        found, done = self.repair(rows(frames, exchanged_after(MEETING + 1, (1, 2, 0))))
        self.same(found, rows(frames))
        self.assertEqual(done.instances, 3 * (FRAMES - MEETING - 1))

    def test_points_that_are_absent_hinder_nothing_and_no_instance_is_lost(self):
        frames, chance = walkers(2), random.Random(3)
        for here in frames:
            for points in here:
                if chance.random() < 0.3:
                    points[chance.randrange(3)] = None
        # One has no point at all where they meet, so its name is the one that is left.
        frames[MEETING][1] = [None, None, None]
        found, _ = self.repair(rows(frames, exchanged_after(MEETING)))
        self.same(found, rows(frames))

    def test_bodies_decide_where_motion_speaks_for_the_tracker(self):
        # They change ways while they are out of sight, and the tracker goes by the ways.
        chance = random.Random(4)
        frames = []
        for frame in range(1500):
            here = []
            for animal in (0, 1):
                place = 1 - animal if frame >= 800 else animal
                x, y = 300 + 60 * math.sin(frame / 40 + 2 * place), 300 + 60 * math.cos(frame / 23 + 2 * place)
                here.append(None if 700 <= frame < 900 else pose(x, y, frame / 40, 30.0 + 4 * animal, chance))
            frames.append(here)
        found, done = self.repair(rows(frames, exchanged_after(800)))
        self.same(found, rows(frames))
        self.assertGreater(done.separation, 2)
        self.assertIn("the bodies' measures decided", self.said)

    def test_individuals_that_the_model_names_are_not_touched(self):
        named = rows(walkers(2), exchanged_after(MEETING), ("female", '"male, old"'))
        numbered = rows(walkers(2, seed=2))
        lines = sorted([*named, *numbered], key=lambda line: int(line.split(",0.900000")[0].rsplit(",", 1)[1]))
        found, _ = self.repair(lines)
        self.same([line for line in found if line.startswith(("female", '"male'))], named)
        self.same(found, lines)

    def test_a_file_of_one_individual_stays_byte_for_byte(self):
        lines = rows([[here[0]] for here in walkers(1)])
        found, done = self.repair([*lines, *[row("", FRAMES, pose(1, 2, 3))]])
        self.same(found[:-1], lines)
        self.assertEqual(done, swaps.Repairs())
        self.assertIn("there is one individual", self.said)

    def test_tracks_too_short_to_show_how_animals_move_stay(self):
        lines = rows(walkers(2)[:12])
        self.same(self.repair(lines)[0], lines)
        self.assertIn("too short", self.said)

    def test_what_has_no_swaps_to_repair_is_a_sentence(self):
        for lines, wanted in (
            ([row("", 0, pose(1, 2, 3))], "has an identity of the tracker. Put tracker max-tracks=N"),
            ([row("female", 0, pose(1, 2, 3))], "has an identity of the tracker"),
            ([row("track_1", 3, pose(1, 2, 3)), row("track_1", 2, pose(1, 2, 3))], "line 3 of .* frame 2, after frame 3. Sort"),
            ([row("track_1", 3, pose(1, 2, 3))] * 2, "line 3 of .* is track_1 once more in frame 3"),
            ([row(f"track_{n}", 0, pose(1, 2, 3)) for n in range(33)], "has 33 tracks; at most 32 .* Set max-tracks"),
            ([row("track_1", 0, pose(1, 2, 3)[:2])], "line 2 of .* is no row"),
        ):
            with self.subTest(wanted), self.assertRaisesRegex(LabelsError, wanted):
                self.repair(lines)
        other = self.folder / "other.csv"
        other.write_text("frame,x,y\n0,1,2\n")
        with self.assertRaisesRegex(LabelsError, "other columns than SLEAP's"):
            swaps.repair(other, self.folder / "out.csv")


class Memory(unittest.TestCase):
    def test_of_certain_frames_nothing_is_kept_but_the_two_tracks(self):
        poses = [{f"track_{animal}": pose(frame % 50, 400.0 * animal, 0) for animal in (0, 1)} for frame in range(2000)]
        samples = Samples()
        for frame, here in enumerate(poses):
            for name, points in here.items():
                samples.add(frame, name, np.array(points))
        cutter = Cutter(Motion(samples), [(0, 1)])
        for frame, here in enumerate(poses):
            cutter.add(frame, {name: np.array(points) for name, points in here.items()})
        self.assertEqual((len(cutter.first), cutter.events), (2, []))


class Program(unittest.TestCase):
    def test_records_and_tables_are_repaired_on_their_way(self):
        with tempfile.TemporaryDirectory() as folder:
            frames = walkers(2)
            given = exchanged_after(MEETING)
            records = Path(folder, "run.jsonl")
            with records.open("w") as lines:
                for frame, here in enumerate(frames):
                    objects = [
                        {
                            "keypoints": [
                                {"name": name, "x": x, "y": y, "score": 0.9}
                                for name, (x, y) in zip(("nose", "back", "tail"), points, strict=True)
                            ],
                            "track": {"id": given(frame, animal) + 1},
                        }
                        for animal, points in enumerate(here)
                    ]
                    size = {"source": "arena", "frame": frame, "width": 1000, "height": 1000}
                    lines.write(json.dumps({"schema": "cudainfer.frame/5", **size, "objects": objects}) + "\n")
            table, repaired, slp = (Path(folder, name) for name in ("run.csv", "repaired.csv", "run.slp"))
            said = io.StringIO()
            with contextlib.redirect_stderr(said):
                labels.convert(records, table, None)
                labels.convert(table, repaired, None, repair_swaps=True)
                labels.convert(records, slp, None, repair_swaps=True)
            self.assertEqual(said.getvalue().count("1 repaired, 400 instances have another identity"), 2)
            tracks = [line.split(",")[0] for line in repaired.read_text().splitlines()[1:]]
            self.assertTrue(tracks == ["track_1", "track_2"] * FRAMES)
            self.assertEqual(json.loads(repaired.with_suffix(".json").read_text())["tracks"], ["track_1", "track_2"])
            last = sleap_io.load_file(str(slp))[-1]
            noses = {instance.track.name: instance["nose"]["xy"][0] for instance in last.instances}
            for name, points in zip(("track_1", "track_2"), frames[-1], strict=True):
                self.assertAlmostEqual(noses[name], points[0][0] - 0.5, places=3)
            self.assertEqual(sorted(path.name for path in Path(folder).iterdir() if path.name.startswith(".")), [])

    def test_a_file_without_tracks_is_refused_and_leaves_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "run.csv")
            source.write_text(f"{HEADER}\n{row('', 0, pose(1, 2, 3))}\n")
            with self.assertRaisesRegex(labels.LabelsError, "Put tracker max-tracks=N before inferpublish"):
                labels.convert(source, Path(folder, "out.slp"), None, repair_swaps=True)
            self.assertEqual([path.name for path in Path(folder).iterdir()], ["run.csv"])


if __name__ == "__main__":
    unittest.main()
