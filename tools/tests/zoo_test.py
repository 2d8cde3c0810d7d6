"""Tests of zoo's comparison, and that docs/models.md is what it makes of benches/results/zoo.json."""

import json
import math
import unittest

import numpy as np

from cudainfer_tools.zoo import fused, page
from cudainfer_tools.zoo.__main__ import PAGE, RESULTS, merged
from cudainfer_tools.zoo.objects import Masks
from cudainfer_tools.zoo.ours import results
from cudainfer_tools.zoo.speed import rows as speed_rows
from cudainfer_tools.zoo.verdict import Verdict, apart, compare, compare_masks, compare_samples


def box(x=0.0, score=0.5, kind=0, **more):
    return {"class": kind, "score": score, "box": [x, 10.0, x + 20, 30.0], **more}


CASE = {"pixels": 0.05, "scores": 1e-3, "overlap": 0.99}


class Results(unittest.TestCase):
    def test_boxes_corners_points_and_classes_are_taken_from_a_record(self):
        upright = {"label_id": 2, "confidence": 0.5, "box": {"x": 1, "y": 2, "w": 3, "h": 4}}
        point, deep = {"x": 5, "y": 6, "score": 0.7}, {"x": 1, "y": 2, "z": -3, "score": 0.5}
        named = {"label": "x", "classification": [{"label": "cat", "label_id": 1, "confidence": 0.9}]}
        found = results({"objects": [{**upright, "keypoints": [point, deep]}, named]})
        self.assertEqual(found[0], {"class": 2, "score": 0.5, "box": [1, 2, 4, 6], "keypoints": [[5, 6, 0.7], [1, 2, 0.5, -3]]})
        self.assertEqual(found[1], {"class": 1, "score": 0.9, "text": "cat"})
        valued = results({"objects": [{**upright, "values": [{"name": "age", "value": 31.5}]}]})
        self.assertEqual(valued[0]["values"], [31.5])
        both = results({"objects": [{**named, "values": [{"name": "age", "value": 31.5}]}]})
        self.assertEqual(both, [{"class": 1, "score": 0.9, "text": "cat", "values": [31.5]}])
        black = {"classes": [{"label": "black", "label_id": 0, "confidence": 0.8}]}
        several = results({"objects": [{**named, "classifications": [{"classes": named["classification"]}, black]}]})
        self.assertEqual([one["text"] for one in several], ["cat", "black"])
        turned = {**upright, "box": {"x": 0, "y": 0, "w": 4, "h": 2, "angle": math.pi / 2}}
        corners = results({"objects": [turned]})[0]["corners"]
        self.assertTrue(np.allclose(sorted(map(tuple, np.round(corners, 6))), [(1, -1), (1, 3), (3, -1), (3, 3)]))

    def test_of_rotated_boxes_an_upright_one_has_corners_too(self):
        upright = {"label_id": 0, "confidence": 0.5, "box": {"x": 1, "y": 2, "w": 3, "h": 4}}
        corners = results({"objects": [upright]}, rotated=True)[0]["corners"]
        self.assertEqual(sorted(map(tuple, corners)), [(1, 2), (1, 6), (4, 2), (4, 6)])


class Apart(unittest.TestCase):
    def test_any_corner_may_be_first_either_way_round(self):
        corners = [[0.0, 0.0], [4.0, 0.0], [4.0, 2.0], [0.0, 2.0]]
        other = [[4.0, 2.3], [4.0, 0.0], [0.0, 0.0], [0.0, 2.0]]
        self.assertAlmostEqual(apart({"corners": corners}, {"corners": other}), 0.3)

    def test_points_without_a_score_are_compared_by_place(self):
        ours = box(keypoints=[[1.0, 2.0, 0.9]])
        self.assertAlmostEqual(apart(ours, box(keypoints=[[1.0, 2.5]])), 0.5)
        self.assertEqual(apart(ours, box()), math.inf)
        self.assertEqual(apart(ours, box(keypoints=[[1.0, 2.0], [1.0, 2.0]])), math.inf)

    def test_third_coordinates_are_compared_where_the_library_gives_some(self):
        ours = box(keypoints=[[1.0, 2.0, 0.9, -3.0]])
        self.assertAlmostEqual(apart(ours, box(keypoints=[[1.0, 2.0, 1.0, -3.5]])), 0.5)
        self.assertEqual(apart(ours, box(keypoints=[[1.0, 2.0, 1.0]])), 0)
        flat = box(keypoints=[[1.0, 2.0, 0.9]])
        self.assertEqual(apart(flat, box(keypoints=[[1.0, 2.0, 1.0, -3.5]])), math.inf)

    def test_another_text_is_another_result(self):
        self.assertEqual(apart({"text": "noon"}, {"text": "moon"}), math.inf)
        self.assertEqual(apart({"text": "noon"}, {"text": "noon"}), 0)


class Compare(unittest.TestCase):
    def test_each_result_is_paired_once_with_the_nearest_of_its_class(self):
        theirs = [[box(0.0), box(0.5, score=0.4)]]
        ours = [[box(0.51, score=0.4001), box(0.02, score=0.5002)]]
        verdict = compare(theirs, ours)
        self.assertEqual((verdict.expected, verdict.found, verdict.unmatched), (2, 2, 0))
        self.assertAlmostEqual(verdict.pixels, 0.02)
        self.assertAlmostEqual(verdict.scores, 2e-4)
        self.assertTrue(verdict.holds(CASE))

    def test_of_boxes_that_are_alike_the_scores_tell_which_is_which(self):
        theirs = [[box(0.0, score=0.5), box(0.004, score=0.503)]]
        ours = [[box(0.0, score=0.503), box(0.01, score=0.5)]]
        self.assertTrue(compare(theirs, ours).holds(CASE))

    def test_another_class_another_place_and_another_number_are_told(self):
        for ours in ([box(kind=1)], [box(2.1)], [], [box(), box(50)]):
            verdict = compare([[box()]], [ours])
            self.assertGreater(verdict.unmatched, 0, ours)
            self.assertFalse(verdict.holds(CASE))

    def test_too_far_and_another_score_do_not_hold(self):
        self.assertFalse(compare([[box()]], [[box(0.06)]]).holds(CASE))
        self.assertFalse(compare([[box()]], [[box(score=0.502)]]).holds(CASE))
        points = [[box(keypoints=[[1.0, 1.0, 0.5]])]], [[box(keypoints=[[1.0, 1.0, 0.6]])]]
        self.assertFalse(compare(*points).holds(CASE))

    def test_cells_that_rounding_decides_are_ties(self):
        wanted, tied = np.array([[[1, 2], [3, 4]]]), np.array([[[False, True], [False, False]]])
        ours = np.array([[[1, 1, 7, 7], [1, 1, 7, 7], [3, 3, 4, 4], [3, 3, 4, 4]]])
        verdict = compare_masks(wanted, tied, ours)
        self.assertEqual((verdict.unmatched, verdict.ties, verdict.holds(CASE)), (0, 1, True))
        verdict = compare_masks(wanted, ~tied, ours)
        self.assertEqual((verdict.unmatched, verdict.ties, verdict.holds(CASE)), (1, 0, False))

    def test_samples_may_be_apart_by_rounding_only(self):
        wanted = np.array([[0.0, 100.4], [254.6, 7.0]])
        near = compare_samples(wanted, np.float32([0, 100, 255, 7]), 255)
        self.assertLess(near.scores, 0.5 / 255)
        self.assertAlmostEqual(compare_samples(wanted, np.float32([3, 100, 255, 7]), 255).scores, 3 / 255)

    def test_embeddings_and_values_are_compared_number_by_number(self):
        self.assertAlmostEqual(compare([[box(values=[31.0])]], [[box(values=[31.5])]]).scores, 0.5)
        self.assertEqual(compare([[box(values=[31.0])]], [[box()]]).unmatched, 2)
        ours, theirs = ({"class": 0, "score": 0.0, "embedding": values} for values in ([0.6, 0.8], [0.6, 0.79]))
        verdict = compare([[theirs]], [[ours]])
        self.assertAlmostEqual(verdict.scores, 0.01)
        self.assertGreater(compare([[theirs]], [[{**ours, "embedding": [1.0]}]]).unmatched, 0)

    def test_masks_that_overlap_less_do_not_hold(self):
        verdict = compare([[box()]], [[box()]])
        self.assertTrue(verdict.holds(CASE))
        verdict.see(Masks(lowest=0.98, other=2, samples=100, compared=1))
        self.assertFalse(verdict.holds(CASE))


class Page(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.rows = json.loads(RESULTS.read_text())
        self.in_fused = json.loads(fused.RESULTS.read_text())
        self.speeds = speed_rows.read()

    def test_the_page_is_what_the_results_say(self):
        reported = "run scripts/evaluate zoo --page"
        self.assertEqual(PAGE.read_text(), page.page(self.rows, self.in_fused, self.speeds), reported)

    def test_a_changed_result_changes_the_page(self):
        row = next(row for row in self.rows if row["holds"])
        changed = [{**other, "holds": other["holds"] and other is not row} for other in self.rows]
        good = sum(other["holds"] for other in self.rows)
        self.assertIn(f"{good - 1} of {len(self.rows)} models", page.page(changed, self.in_fused, self.speeds))
        self.assertGreater(
            page.page(changed, self.in_fused, self.speeds).count("**differs**"),
            page.page(self.rows, self.in_fused, self.speeds).count("**differs**"),
        )

    def test_models_that_the_engine_refuses_are_listed_with_the_reason(self):
        output = {"name": "scores", "difference": "1.5e-06", "sensitivity": "2.0e-06"}
        taken = {"case": "a", "taken": True, "nodes": 3, "steps": 2, "outputs": [output]}
        lines = fused.section([taken, {"case": "b", "taken": False, "why": "the operator Loop of node 'x' is not supported"}])
        self.assertIn("takes 1 of 2 models of this page", "\n".join(lines))
        self.assertIn("| b | the operator Loop of node 'x' is not supported |", lines)
        self.assertIn("| a | scores | 1.5e-06 | 2.0e-06 |", lines)

    def test_a_sidecar_is_written_out_and_nothing_is_said_by_whom(self):
        row = {"sidecar": '[input]\nscale = 1.0\n\n[output]\ndecoder = "db"\n', "declared_by": ""}
        self.assertEqual(page.needs(row), '`[input] scale = 1.0`<br>`[output] decoder = "db"`')
        self.assertEqual(page.needs({"sidecar": "", "declared_by": "its metadata"}), "nothing: its metadata")
        self.assertEqual(page.needs({"sidecar": "", "declared_by": ""}), "nothing: the shapes")

    def test_rows_of_one_library_stay_together_and_what_ran_replaces_what_was_there(self):
        old = [{"case": "a", "library": "x 1", "n": 1}, {"case": "b", "library": "y 1", "n": 1}]
        new = {"b": {"case": "b", "library": "y 1", "n": 2}, "c": {"case": "c", "library": "x 1", "n": 2}}
        rows = merged(old, new)
        self.assertEqual([(row["case"], row["n"]) for row in rows], [("a", 1), ("c", 2), ("b", 2)])

    def test_a_verdict_says_how_loose_it_is(self):
        row = {"holds": True, "unread": "", "error": "", "ties": 2, "kind": "results", "allowed": {"pixels": 0.05, "scores": 1e-3}}
        self.assertEqual(page.verdict(row), "equal but for 2 ties")
        self.assertEqual(page.verdict(row | {"ties": 0, "allowed": {"pixels": 2.5, "scores": 0.1}}), "within 2.5 px and 0.1")
        self.assertEqual(page.verdict(row | {"holds": False}), "**differs**")
        self.assertEqual(page.verdict(row | {"holds": False, "error": "refused"}), "**refused**")
        self.assertEqual(page.verdict(row | {"holds": False, "unread": "no scores"}), "not read: no scores")
        self.assertFalse(Verdict(1, 1, 0, 0.0, 0.0, error="x").holds(CASE))


if __name__ == "__main__":
    unittest.main()
