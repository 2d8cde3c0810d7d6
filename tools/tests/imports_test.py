"""The tests here load with the Python packages that scripts/test installs, whatever else the .venv has."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
import unittest

from cudainfer_tools.repository import ROOT

TOOLS = ROOT / "tools"

# Loads the modules that it is given, as if the packages named in its first argument were not installed.
LOADER = """
import importlib, sys

class Absent:
    hidden = set(sys.argv[1].split(","))

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.hidden:
            raise ModuleNotFoundError(f"{name} is none of the packages of scripts/test", name=name)

sys.meta_path.insert(0, Absent())
for module in sys.argv[2:]:
    importlib.import_module(module)
"""


def required() -> set[str]:
    """The distributions that scripts/test installs, and what these require."""
    script = (ROOT / "scripts/test").read_text()
    extras = " ".join(re.findall(r'extras\+?="([\w ]*)"', script)).split()
    files = [TOOLS / "requirements.txt", *(TOOLS / f"requirements-{extra}.txt" for extra in extras)]
    waiting = [line for file in files for line in file.read_text().splitlines() if line and not line.startswith("#")]
    found: set[str] = set()
    while waiting:
        name = normal(re.split(r"[^\w.-]", waiting.pop().strip(), maxsplit=1)[0])
        if name in found:
            continue
        found.add(name)
        try:
            needs = importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:
            continue
        waiting += [need for need in needs if "extra ==" not in need]
    return found


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


class Imports(unittest.TestCase):
    def test_tests_need_no_other_packages_than_are_installed_for_them(self):
        known = required()
        owners = importlib.metadata.packages_distributions()
        hidden = sorted(package for package, by in owners.items() if not known & set(map(normal, by)))
        self.assertNotIn("numpy", hidden)
        modules = [f"tests.{file.stem}" for file in sorted((TOOLS / "tests").glob("*_test.py"))]
        command = [sys.executable, "-c", LOADER, ",".join(hidden), *modules]
        done = subprocess.run(command, cwd=TOOLS, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
