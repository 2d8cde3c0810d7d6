"""Tests of evaluate/second_pass.py: what is chosen without a sequence, and what is gained."""

from __future__ import annotations

import unittest
from pathlib import Path
from unittest import mock

from cudainfer_tools import pipeline
from cudainfer_tools.evaluate import second_pass
from cudainfer_tools.evaluate.second_pass import DEFAULT, NONE, TRIED, words


def figures(before: float, liked: tuple[int, int]) -> dict:
    """Of a sequence on which one pair of gaps is better than all others."""
    found = {words(gaps): {"HOTA": before + (5.0 if gaps == liked else 1.0), "IDF1": before} for gaps in TRIED}
    return found | {NONE: {"HOTA": before, "IDF1": before}}


class SecondPass(unittest.TestCase):
    def test_gaps_are_chosen_without_the_sequence_that_they_are_tried_on(self):
        found = {"a": figures(40, (4, 5)), "b": figures(50, (4, 5)), "c": figures(60, (20, 30))}
        rows = {row["name"]: row for row in second_pass.left_out(found)}
        self.assertEqual(rows["c"]["chosen"], "fill-gap=4 join-gap=5", "not what it likes itself")
        self.assertEqual(rows["c"]["figures"]["chosen on the others"]["HOTA"], 61.0)
        self.assertEqual(rows["c"]["figures"]["before"], {"HOTA": 60, "IDF1": 60})
        self.assertIn(DEFAULT, TRIED)

    def test_gains_are_paired_by_sequence(self):
        rows = second_pass.left_out({name: figures(before, DEFAULT) for name, before in (("a", 10), ("b", 50), ("c", 90))})
        made = second_pass.gains(rows)
        self.assertEqual(made["after"]["HOTA"], {"mean": 5.0, "low": 5.0, "high": 5.0})
        self.assertEqual(made["after"]["IDF1"]["mean"], 0.0)

    def test_the_pass_is_the_programs_and_its_error_is_shown(self):
        tracks, out = Path("/nowhere/tracks.txt"), Path("/nowhere/out.txt")
        self.assertEqual(second_pass.passed(Path("/bin/false"), tracks, NONE, DEFAULT, out), tracks)
        done = mock.Mock(returncode=1, stderr="line 3: no number\n")
        with (
            mock.patch("subprocess.run", return_value=done) as ran,
            self.assertRaisesRegex(pipeline.PipelineError, "line 3: no number"),
        ):
            second_pass.passed(Path("/p/mot"), tracks, "join", (4, 5), out)
        self.assertEqual(
            ran.call_args.args[0], [Path("/p/mot"), "--second-pass", "join", "--fill-gap", "4", "--join-gap", "5", tracks]
        )


if __name__ == "__main__":
    unittest.main()
