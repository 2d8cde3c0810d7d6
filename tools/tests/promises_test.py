"""Pages that say what is promised name the tests that try it: these exist."""

from __future__ import annotations

import re
import tomllib
import unittest

from cudainfer_tools import unsafe_code
from cudainfer_tools.repository import ROOT

SECURITY = ROOT / "SECURITY.md"
LOST = ROOT / "docs" / "what-is-lost.md"
# `brokers/tests/publish/outages.rs: every_message_arrives`
NAMED = re.compile(r"`([\w./-]+\.(?:rs|py)): (\w+)`")


def rows(text: str, heading: str) -> list[list[str]]:
    """The cells of the first table after a heading, without the table's head."""
    lines = text.split(f"\n{heading}\n")[1].split("\n## ")[0].splitlines()
    table = [line for line in lines if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table[2:]]


class Promises(unittest.TestCase):
    def test_every_test_that_a_page_names_exists(self):
        for page in (SECURITY, LOST):
            named = NAMED.findall(page.read_text())
            self.assertGreater(len(named), 5, page.name)
            for file, test in named:
                path = ROOT / file
                self.assertTrue(path.is_file(), f"{page.name} names {file}, which is no file")
                # A test, and not some other function.
                kind = r"#\[test\]\n(?:\s*#\[.*\]\n)*\s*" if path.suffix == ".rs" else r"\s"
                found = re.search(rf"{kind}(?:fn|def) {test}\b", path.read_text())
                self.assertTrue(found, f"{page.name} names {test}, which is no test of {file}")

    def test_each_threat_has_its_test(self):
        for cells in rows(SECURITY.read_text(), "## What is trusted"):
            if cells[1] != "yes":
                self.assertRegex(cells[-1], NAMED, cells[0])

    def test_what_is_lost_is_said_for_each_fault_and_proved(self):
        for cells in rows(LOST.read_text(), "## What a delivery loses"):
            self.assertTrue(all(cells), cells)
            self.assertTrue(NAMED.search(cells[-1]) or "not tested" in cells[-1], cells)


class Dependencies(unittest.TestCase):
    def test_what_is_downloaded_has_an_exact_version_and_what_users_run_a_sum(self):
        for file in (ROOT / "tools").glob("requirements*.txt"):
            locked = (ROOT / "tools/locked" / file.name).read_text()
            packages = re.findall(r"^(?! |#)(?:.*\\\n)+.*$", locked, re.MULTILINE)
            self.assertEqual(
                len(packages), len(re.findall(r"^[^ #\n]", locked, re.MULTILINE)), f"{file.name} has a package without a sum"
            )
            versions = {package.split(" ")[0] for package in packages if "--hash=sha256:" in package}
            self.assertEqual(len(versions), len(packages), file.name)
            for line in file.read_text().splitlines():
                if line and not line.startswith("#"):
                    self.assertIn(line.split(" ")[0], versions, f"{file.name}: run tools/lock-requirements")
        for file in ("deploy/onnxruntime/wheels.toml", "tools/cudainfer_tools/setup_models/sources.toml"):
            text = (ROOT / file).read_text()
            tomllib.loads(text)
            urls = re.findall(r"^url = ", text, re.MULTILINE)
            sums = re.findall(r'= "[0-9a-f]{64}"', text)
            self.assertGreaterEqual(len(sums), len(urls), file)

    def test_unsafe_is_counted_in_code_alone(self):
        code = '// unsafe\n/* unsafe */ unsafe fn f() { let x = "unsafe"; unsafe { g(\'"\') } }\nunsafe_code!();'
        self.assertEqual(unsafe_code.count(code), 2)

    def test_the_table_of_unsafe_code_has_the_versions_that_are_locked(self):
        locked = {(package["name"], package["version"]) for package in tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]}
        table = (ROOT / "docs" / "dependencies.md").read_text().split(unsafe_code.MARKS[0])[1].split(unsafe_code.MARKS[1])[0]
        listed = re.findall(r"^\| ([\w-]+) \| (\d\S*) \| \d+ \|$", table, re.MULTILINE)
        self.assertGreater(len(listed), 20)
        self.assertEqual([crate for crate in listed if crate not in locked], [], "run python3 tools unsafe_code --write")
