"""Galleries as files: a .npz with an array [pictures, numbers] of float32 for each name, and the model's name as bytes."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from cudainfer_tools.pipeline import PipelineError

# The array with the name of the model, in UTF-8.
MODEL = "__model__"
Vectors = np.ndarray[Any, Any]


@dataclass
class Gallery:
    """Names with their embeddings, and the model that has made them."""

    model: str | None = None
    names: dict[str, Vectors] = field(default_factory=dict)

    def add(self, name: str, vectors: Vectors, model: str | None) -> None:
        """Gives a name more embeddings, which must be of the same model as those that are there."""
        if not name or name == MODEL:
            raise PipelineError(f"'{name}' cannot be a name: choose another one")
        if self.model and model and self.model != model:
            raise PipelineError(
                f"the gallery was built with the model '{self.model}', and these embeddings are of '{model}'. Build all of it with one model"
            )
        length = next((known.shape[1] for known in self.names.values()), vectors.shape[1])
        if vectors.shape[1] != length:
            raise PipelineError(
                f"the gallery has embeddings of {length} numbers, and these have {vectors.shape[1]}: they are of another model"
            )
        self.model = self.model or model
        before = self.names.get(name)
        self.names[name] = vectors if before is None else np.concatenate([before, vectors])


def read(path: Path) -> Gallery:
    """Reads a gallery, or a file of unknowns."""
    gallery = Gallery()
    if not zipfile.is_zipfile(path):
        # Whether it is there at all.
        path.stat()
        raise PipelineError(f"'{path}' is no gallery: it is no .npz")
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as arrays:
            for name in arrays.files:
                array = arrays[name]
                if name == MODEL:
                    gallery.model = array.tobytes().decode("utf-8", "replace")
                elif array.ndim in (1, 2) and array.dtype.kind == "f" and array.size:
                    gallery.add(name, np.atleast_2d(array).astype(np.float32), None)
                else:
                    raise PipelineError(
                        f"'{path}' is no gallery: '{name}' is {array.dtype} of shape {array.shape}, and not [pictures, numbers]"
                    )
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, AttributeError) as error:
        raise PipelineError(f"'{path}' cannot be read as a gallery: {error}") from error
    return gallery


def write(path: Path, gallery: Gallery) -> None:
    """Writes it as a whole: identify may read it at any time."""
    arrays: dict[str, Vectors] = {name: gallery.names[name] for name in sorted(gallery.names)}
    if gallery.model:
        arrays[MODEL] = np.frombuffer(gallery.model.encode(), np.uint8)
    path.parent.mkdir(parents=True, exist_ok=True)
    under_way = path.with_name(f".{path.name}.tmp")
    # numpy.savez has a parameter `file`, so nobody could be called that.
    with zipfile.ZipFile(under_way, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array(member, np.ascontiguousarray(array), allow_pickle=False)
    under_way.replace(path)
