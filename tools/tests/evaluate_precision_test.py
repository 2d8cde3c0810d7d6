"""Tests of evaluate/precision.py."""

import unittest

from cudainfer_tools.evaluate import precision
from cudainfer_tools.models.agreement import Agreement


class Precision(unittest.TestCase):
    def test_a_row_has_the_agreement_and_takes_the_place_of_its_like(self):
        found = Agreement(true=4, found=5, overlaps=[1.0, 0.5], changes=[0.1, -0.1])
        new = precision.row("net", "provider=openvino", "a CPU", found, "a.mp4", 3)
        self.assertEqual((new["precision"], new["recall"], new["f1"]), (0.4, 0.5, 0.4444))
        self.assertEqual((new["mean_iou"], new["confidence_off"], new["frames"]), (0.75, 0.1, 3))
        others = [{"model": "net", "properties": "provider=fused"}, {"model": "another", "properties": "provider=openvino"}]
        before = [*others, {"model": "net", "properties": "provider=openvino"}]
        self.assertEqual(precision.merged(before, [new]), [others[1], others[0], new])


if __name__ == "__main__":
    unittest.main()
