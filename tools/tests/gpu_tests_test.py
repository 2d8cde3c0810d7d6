"""What gpu/tests.py reads off what the test programs print."""

from __future__ import annotations

import unittest

from cudainfer_tools.gpu import tests

# As a program with --nocapture on one thread prints it.
OUTPUT = """
running 3 tests
test a ... ok
test two_gpus::b ... skipped: it needs two GPUs, and there are 1
ok
test two_gpus::c ... skipped: it needs two GPUs, and there are 1
ok

test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 9 filtered out; finished in 0.01s
"""


class Counted(unittest.TestCase):
    def test_what_is_skipped_has_not_passed_and_is_said_with_its_reason(self):
        said, passed, failed, skipped = tests.counted("gpu_transfer", True, OUTPUT)
        self.assertEqual((passed, failed, skipped), (1, 0, 2))
        self.assertEqual(said, "gpu_transfer: 1 passed, 0 failed, 2 skipped (it needs two GPUs, and there are 1)")

    def test_what_failed_or_crashed_is_counted(self):
        failed = OUTPUT.replace("3 passed; 0 failed", "2 passed; 1 failed")
        self.assertEqual(tests.counted("p", False, failed)[1:], (0, 1, 2))
        hung = tests.counted("p", False, "running 3 tests\n")
        self.assertEqual(hung, ("p: 0 passed, 1 failed (it did not end)", 0, 1, 0))
        self.assertEqual(tests.counted("p", False, OUTPUT)[1:], (1, 1, 2), "it crashed at its end")

    def test_the_tests_of_a_module_go_together_without_those_that_are_left_out(self):
        listed = "a: test\nm::b: test\nm::c: test\nm::n::slow: test\nm::n::d: test\n\n5 tests, 0 benchmarks\n"
        self.assertEqual(tests.by_module(listed, [], []), [["a"], ["m::b", "m::c"], ["m::n::slow", "m::n::d"]])
        self.assertEqual(tests.by_module(listed, ["m::"], ["slow"]), [["m::b", "m::c"], ["m::n::d"]])

    def test_modules_with_a_finding_and_those_that_do_not_end_are_named(self):
        modules = [["m::a", "m::b"], ["n::c"], ["d"]]
        ended = "test result: ok. 2 passed; 0 failed; 0 ignored\n"
        clean = ended + "========= ERROR SUMMARY: 0 errors\n"
        done = [(True, clean), (False, ended + "========= ERROR SUMMARY: 3 errors\n"), (False, "running 1 test\n")]
        said, passed, failed, _ = tests.summed("k, memcheck", modules, done, [])
        self.assertEqual((passed, failed), (1, 2))
        self.assertEqual(said, "k, memcheck: 4 tests, 3 errors (bad: n, d did not end)")
        races = ended + "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n"
        self.assertEqual(
            tests.summed("k, racecheck", [["m::a"]], [(True, races)], ["x"])[:3],
            ("k, racecheck: 2 tests, 0 errors (left out: x)", 1, 0),
        )


if __name__ == "__main__":
    unittest.main()
