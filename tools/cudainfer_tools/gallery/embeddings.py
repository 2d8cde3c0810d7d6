"""The embeddings of pictures, made by the elements that a pipeline has, too: so the same picture has the same embedding."""

from __future__ import annotations

import json
import signal
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cudainfer_tools import pipeline
from cudainfer_tools.gallery.pictures import Note
from cudainfer_tools.pipeline import PipelineError

# Pictures of one process, which loads the models once.
AT_ONCE = 16
# Seconds that they may take: the model is loaded in these, too.
LIMIT_S = 600


@dataclass(frozen=True)
class Models:
    """What makes an embedding of a picture."""

    model: Path
    """It sees the whole picture, or each object that the detector finds."""
    detector: Path | None = None
    crop: str | None = None
    """How objects are cut out: fusedpreproc's roi-crop. None: the sidecar's."""
    output: str | None = None
    """The model's output with the embedding, if it has several."""


@dataclass(frozen=True)
class Embedding:
    """A vector, and the name of the model that has made it."""

    vector: np.ndarray[Any, Any]
    model: str


def escaped(value: object) -> str:
    """gst-launch reads a backslash as an escape, and keeps an argument's spaces and quotes by itself."""
    return str(value).replace("\\", "\\\\")


def branch(picture: Path, records: Path, models: Models) -> list[str]:
    """gst-launch-1.0's arguments for one picture: its record goes to a file of its own."""
    # Cameras write into the picture how they were held.
    line: list[list[str]] = [["filesrc", f"location={escaped(picture)}"], ["decodebin"], ["videoconvert"]]
    line += [["videoflip", "video-direction=auto"], ["videoconvert"]]
    if models.detector:
        line += [["fusedpreproc"], ["trtinfer", f"model={escaped(models.detector)}", "instance=detector"], ["gpunms"]]
        crop = [f"roi-crop={models.crop}"] if models.crop else []
        line += [["fusedpreproc", "roi=objects", *crop]]
    else:
        line += [["fusedpreproc"]]
    output = [f"output={escaped(models.output)}"] if models.output else []
    line += [["trtinfer", f"model={escaped(models.model)}", "instance=embeddings"], ["embed", *output]]
    line += [["inferpublish", f"location={escaped(records)}", "embeddings=true"], ["fakesink"]]
    return [word for element in line for word in ["!", *element]][1:]


def run(pictures: Sequence[Path], folder: Path, models: Models) -> str | None:
    """Has the records of pictures written to FOLDER/NUMBER.jsonl; returns an error of the pipeline."""
    words = [word for number, picture in enumerate(pictures) for word in branch(picture, folder / f"{number}.jsonl", models)]
    done = pipeline.launched(words, "-q", limit_s=LIMIT_S)
    errors = pipeline.ERROR.search(done.stdout + done.stderr)
    if done.returncode == 0 and not errors:
        return None
    if done.returncode == -signal.SIGKILL and not errors:
        return f"gst-launch-1.0 did not end within {LIMIT_S} s"
    return errors[3] if errors else f"gst-launch-1.0 failed with status {done.returncode}: {done.stderr.strip()[-300:]}"


def largest(record: dict[str, Any]) -> tuple[Embedding | None, int]:
    """The embedding of the largest object of a record, and how many objects have one."""

    def area(found: dict[str, Any]) -> float:
        box = found.get("box")
        return box["w"] * box["h"] if box else 0.0

    found = sorted((one for one in record["objects"] if one.get("embeddings")), key=area, reverse=True)
    if not found:
        return None, 0
    first = found[0]["embeddings"][0]
    return Embedding(np.array(first["values"], np.float32), first["model"]), len(found)


def of_pictures(pictures: Sequence[Path], models: Models, note: Note) -> dict[Path, Embedding]:
    """The embedding of each picture that has one; `note` is given why others have none."""
    found: dict[Path, Embedding] = {}
    for begin in range(0, len(pictures), AT_ONCE):
        some = pictures[begin : begin + AT_ONCE]
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            if run(some, folder, models) is None:
                for number, picture in enumerate(some):
                    take(picture, folder / f"{number}.jsonl", found, note)
                continue
            # One of them ends the pipeline of all, so each has its own.
            for picture in some:
                if error := run([picture], folder, models):
                    note(f"'{picture}' is left out: {error}")
                else:
                    take(picture, folder / "0.jsonl", found, note)
    return found


def take(picture: Path, records: Path, found: dict[Path, Embedding], note: Note) -> None:
    lines = records.read_text().splitlines() if records.is_file() else []
    embedding, count = largest(json.loads(lines[0])) if lines else (None, 0)
    if embedding is None:
        note(f"'{picture}' is left out: no object was found in it, or none with an embedding")
        return
    if count > 1:
        note(f"'{picture}' has {count} objects, and the largest is taken")
    if not np.isfinite(embedding.vector).all() or not embedding.vector.any():
        raise PipelineError(f"the embedding of '{picture}' has no direction, so the model or its sidecar is wrong")
    found[picture] = embedding
