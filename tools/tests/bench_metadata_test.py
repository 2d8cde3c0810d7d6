"""The model and the summary of the bench of metadata."""

import unittest

from cudainfer_tools.bench import metadata, results


class Metadata(unittest.TestCase):
    def test_boxes_lie_in_the_frame_and_do_not_overlap(self):
        for count in metadata.OBJECTS:
            found = metadata.boxes(count)[0]
            self.assertEqual(found.shape, (count, 6))
            self.assertTrue((found[:, :4] >= 0).all() and (found[:, :4] <= metadata.SIDE).all())
            for i, a in enumerate(found):
                apart = (a[2] <= found[:, 0]) | (found[:, 2] <= a[0]) | (a[3] <= found[:, 1]) | (found[:, 3] <= a[1])
                self.assertEqual(apart.sum(), count - 1, i)

    def test_each_kind_goes_first_in_its_turn(self):
        turns = [results.turn("abc", number) for number in range(4)]
        self.assertEqual(turns, [list("abc"), list("bca"), list("cab"), list("abc")])

    def test_what_a_kind_costs_is_told_against_roi_of_the_same_round(self):
        rounds = [{"roi": a * 1e-6, "analytics": (a + 2) * 1e-6, "both": (a + 5) * 1e-6} for a in (10, 50, 20)]
        (row,) = metadata.summary({8: rounds})
        reported = {name: round(value, 6) for name, value in row.items()}
        self.assertEqual(
            reported,
            {
                "objects": 8,
                "roi": 20,
                "roi_more": 0,
                "analytics": 22,
                "analytics_more": 2,
                "both": 25,
                "both_more": 5,
            },
        )


if __name__ == "__main__":
    unittest.main()
