"""Says how a model is read, where that is written, and writes the sidecar that would say the same, ready to paste.

scripts/inspect MODEL [--element gpunms|classify|segmask|peakfind|tensormap] [--decoder NAME]

It runs the model once on the CPU, through trtinfer and the element that decodes its outputs: the one whose section the
sidecar or the model's own words fill, else gpunms.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from cudainfer_tools import pipeline

ELEMENTS = ("gpunms", "classify", "segmask", "peakfind", "tensormap")
# What gst-launch-1.0 -m prints for a message, and for the details in it.
MESSAGE = re.compile(r'^Got message #\d+ from element "(?P<element>[^"]+)" \(info\): (?P<structure>.*)$', re.M)
DETAILS = re.compile(r'details=\(structure\)("(?:[^"\\]|\\.)*"|\S+)')
FIELD = re.compile(r'(reading|sidecar)=\(string\)("(?:[^"\\]|\\.)*"|[^,; ]*)')
WARNING = re.compile(r"^WARNING: from element [^:]+:\S*: (.*)$", re.M)
# A warning about this machine, not about the model.
NO_GPU = "no GPU is used"
PICTURE = "make video with output=rgb"
SECTIONS = {"[classify]": "classify", "[segment]": "segmask", "[peaks]": "peakfind", "[map]": "tensormap"}


@dataclass(frozen=True)
class Reading:
    """What an element says about a model: its sentence, and the sidecar that would say the same."""

    text: str
    sidecar: str


def unquoted(text: str) -> str:
    """A string as GstStructure writes it: backslashes before what is not a letter, octal numbers for other bytes."""
    if not text.startswith('"'):
        return text
    data = re.sub(
        rb"\\([0-3][0-7]{2}|.)",
        lambda m: bytes([int(m[1], 8)]) if len(m[1]) == 3 else m[1],
        text[1:-1].encode(),
        flags=re.S,
    )
    return data.decode(errors="replace")


def readings(output: str) -> dict[str, Reading]:
    """What each element said, from the output of gst-launch-1.0 -m."""
    found = {}
    for message in MESSAGE.finditer(output):
        details = DETAILS.search(message["structure"])
        inner = unquoted(details[1]) if details else ""
        if inner.startswith("cudainfer-reading"):
            fields = {name: unquoted(value) for name, value in FIELD.findall(inner)}
            text = fields.get("reading", "").removeprefix(f"{message['element']}: ")
            found[message["element"]] = Reading(text, fields.get("sidecar", ""))
    return found


def arguments(model: Path, element: str | None, decoder: str | None, *, picture: bool = False) -> list[str]:
    """A pipeline's arguments: the model alone, or with the element after it."""
    # gst-launch reads a backslash as an escape.
    location = str(model).replace("\\", "\\\\")
    words = ["videotestsrc", "num-buffers=1", "!", "video/x-raw,format=RGB,width=640,height=480"]
    words += ["!", "fusedpreproc", "device=cpu"]
    words += ["!", "trtinfer", "name=model", "provider=cpu", "device=cpu", f"model={location}"]
    if element:
        words += ["!", element, "name=outputs", "device=cpu"]
        words += [f"decoder={decoder}"] if decoder else []
        words += ["output=rgb"] if picture else []
    return [*words, "!", "fakesink"]


def run(words: list[str]) -> tuple[dict[str, Reading], list[str], str]:
    """What the elements of a line said, the warnings, and the first error's sentence."""
    done = subprocess.run(
        pipeline.command(words, "-m"),
        env=pipeline.environment(),
        check=False,
        capture_output=True,
        text=True,
        errors="replace",
    )
    output = done.stdout + done.stderr
    warnings = [text for text in dict.fromkeys(WARNING.findall(output)) if NO_GPU not in text]
    error = pipeline.ERROR.search(output) if done.returncode else None
    failure = error[3] if error else done.stderr.strip() if done.returncode else ""
    return readings(output), warnings, failure


def chosen(sidecar: str) -> str:
    """The element for a model with this sidecar."""
    # A detector's masks have a section as well.
    if "\ndecoder = " in sidecar:
        return "gpunms"
    return next((name for section, name in SECTIONS.items() if section in sidecar.splitlines()), "gpunms")


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="scripts/inspect", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=Path, help="the ONNX file")
    parser.add_argument("--element", choices=ELEMENTS, help="the element that decodes the outputs")
    parser.add_argument("--decoder", help="decoder of gpunms")
    options = parser.parse_args()
    if options.decoder and options.element not in (None, "gpunms"):
        parser.error(f"--decoder is an option of gpunms, not of {options.element}")
    said, warnings, failure = run(arguments(options.model, None, None))
    if "model" not in said:
        raise pipeline.PipelineError(failure or "trtinfer said nothing about the model")
    element = options.element or ("gpunms" if options.decoder else chosen(said["model"].sidecar))
    said, warnings, failure = run(arguments(options.model, element, options.decoder))
    # tensormap reports it where the output is a picture, not a map.
    if element == "tensormap" and PICTURE in failure:
        said, warnings, failure = run(arguments(options.model, element, None, picture=True))
    print(f"input    {said['model'].text}" if "model" in said else "input    unknown")
    outputs = said.get("outputs")
    print(f"outputs  {outputs.text} ({element})" if outputs else f"outputs  {element} cannot read them")
    for warning in warnings:
        print(f"warning  {warning}")
    if failure:
        print(f"error    {failure}")
        print("         (another element is named with --element, another decoder with --decoder)")
    sidecar = (outputs or said.get("model") or Reading("", "")).sidecar
    path = options.model.with_suffix(".toml")
    note = "replaces" if path.exists() else "is not there yet"
    print(f"\n# {path.name}, which {note}: says the same" if sidecar else "\nNothing that a sidecar could say is known.")
    print(sidecar, end="")
    if failure:
        sys.exit(1)


if __name__ == "__main__":
    try:
        main()
    except pipeline.PipelineError as error:
        sys.exit(f"inspect: {error}")
    except FileNotFoundError:
        sys.exit("inspect: gst-launch-1.0 is not installed: start scripts/setup")
