"""Tests of models/agreement.py."""

import unittest

from cudainfer_tools.models import agreement


def item(x: float, confidence: float, label: str = "person", w: float = 10.0) -> dict:
    return {"label": label, "confidence": confidence, "box": {"x": x, "y": 0.0, "w": w, "h": 10.0}}


class Agreement(unittest.TestCase):
    def test_the_same_boxes_agree_wholly(self):
        reported = agreement.agreement([[item(0, 0.5)], []], [[item(0, 0.5)], []])
        self.assertEqual(
            (reported.precision, reported.recall, reported.f1, reported.mean_iou, reported.mean_change), (1, 1, 1, 1, 0)
        )

    def test_misses_and_false_boxes_count(self):
        reported = agreement.agreement([[item(0, 0.5), item(50, 0.5)]], [[item(0, 0.7), item(90, 0.5), item(70, 0.5)]])
        self.assertAlmostEqual(reported.precision, 1 / 3)
        self.assertAlmostEqual(reported.recall, 1 / 2)
        self.assertAlmostEqual(reported.f1, 2 / 5)
        self.assertAlmostEqual(reported.mean_change, 0.2)

    def test_an_object_is_matched_once_and_by_the_surest(self):
        reported = agreement.agreement([[item(0, 0.5)]], [[item(1, 0.4), item(2, 0.6)]])
        self.assertEqual(len(reported.overlaps), 1)
        self.assertAlmostEqual(reported.mean_change, 0.1)
        self.assertAlmostEqual(reported.mean_iou, 8 / 12)

    def test_another_label_or_half_a_box_is_another_object(self):
        for other in (item(0, 0.5, "dog"), item(5, 0.5), item(0, 0.5, w=4.9)):
            self.assertEqual(agreement.agreement([[item(0, 0.5)]], [[other]]).overlaps, [])

    def test_changes_up_and_down_do_not_hide_each_other(self):
        reported = agreement.agreement([[item(0, 0.5), item(50, 0.5)]], [[item(0, 0.6), item(50, 0.4)]])
        self.assertAlmostEqual(reported.mean_change, 0.0)
        self.assertAlmostEqual(reported.mean_absolute_change, 0.1)

    def test_nothing_found_is_no_division_by_zero(self):
        reported = agreement.agreement([[]], [[]])
        self.assertEqual((reported.precision, reported.recall, reported.f1, reported.mean_iou), (0, 0, 0, 0))


if __name__ == "__main__":
    unittest.main()
