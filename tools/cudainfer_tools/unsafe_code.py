"""Counts `unsafe` in the crates that the plugin and the programs link: python3 tools unsafe_code [--write]

With --write, the table of docs/dependencies.md is written anew. The crates' sources must have been fetched (cargo fetch).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from cudainfer_tools.repository import ROOT

PAGE = ROOT / "docs" / "dependencies.md"
MARKS = ("<!-- unsafe -->\n", "<!-- /unsafe -->\n")
PROGRAMS = ("gst-plugin-cudainfer", "cudainfer-batch", "cudainfer-serve")
# Crates with fewer are summed up.
LISTED = 100
# Comments, texts and characters, in which the word means nothing.
NO_CODE = re.compile(r"//[^\n]*|/\*.*?\*/|r#*\".*?\"#*|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])'", re.DOTALL)


def count(text: str) -> int:
    """How often `unsafe` is in the code of a Rust file."""
    return len(re.findall(r"\bunsafe\b(?!_)", NO_CODE.sub(" ", text)))


def linked() -> set[tuple[str, str]]:
    """The crates of others that are linked, each with its version."""
    packages = [option for name in PROGRAMS for option in ("--package", name)]
    command = ["cargo", "tree", "--offline", "--locked", "--edges", "normal", "--prefix", "none", "--format", "{p}", *packages]
    listed = subprocess.run(
        [*command, "--target", "x86_64-unknown-linux-gnu"], capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout
    found = re.findall(r"^([\w-]+) v(\S+)(?: \((.*)\))?", listed, re.MULTILINE)
    return {(name, version) for name, version, source in found if not source.startswith("/")}


def rows() -> list[tuple[str, str, int]]:
    sources = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo")) / "registry" / "src"
    counted = []
    for name, version in linked():
        folders = list(sources.glob(f"*/{name}-{version}"))
        if not folders:
            raise SystemExit(f"the sources of {name} {version} are not in {sources}: run cargo fetch")
        files = [file for file in folders[0].rglob("*.rs") if not {"tests", "benches", "examples"} & set(file.parts)]
        counted.append((name, version, sum(count(file.read_text(errors="replace")) for file in files)))
    return sorted(counted, key=lambda row: (-row[2], row[0]))


def table() -> str:
    counted = rows()
    many = [row for row in counted if row[2] >= LISTED]
    few = [row for row in counted if 0 < row[2] < LISTED]
    lines = ["| crate | version | `unsafe` |", "|---|---|---|"]
    lines += [f"| {name} | {version} | {number} |" for name, version, number in many]
    lines.append(f"| {len(few)} others, each with fewer than {LISTED} | | {sum(row[2] for row in few)} |")
    lines.append(f"| {len(counted) - len(many) - len(few)} without any | | 0 |")
    return "\n".join(lines) + "\n"


def main() -> None:
    text = table()
    if "--write" not in sys.argv:
        print(text, end="")
        return
    page = PAGE.read_text()
    before, rest = page.split(MARKS[0])
    _, after = rest.split(MARKS[1])
    PAGE.write_text(f"{before}{MARKS[0]}\n{text}\n{MARKS[1]}{after}")


if __name__ == "__main__":
    main()
