"""Which pictures are of whom: a folder with a folder for each name."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

from cudainfer_tools.pipeline import PipelineError

SUFFIXES = (".bmp", ".jpeg", ".jpg", ".png", ".ppm", ".tif", ".tiff", ".webp")
Note = Callable[[str], None]


def visible(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if not path.name.startswith("."))


def is_picture(path: Path) -> bool:
    return path.is_file() and path.suffix.lower() in SUFFIXES


def by_name(folder: Path, note: Note) -> dict[str, list[Path]]:
    """The pictures of each name in a folder of folders; `note` is given what is left out."""
    if not folder.is_dir():
        raise PipelineError(f"'{folder}' is no folder: give one that has a folder of pictures for each name")
    found: dict[str, list[Path]] = {}
    for path in visible(folder):
        if not path.is_dir():
            note(f"'{path}' is left out: it is in no folder with a name")
            continue
        pictures = [file for file in visible(path) if is_picture(file)]
        for other in set(visible(path)) - set(pictures):
            note(f"'{other}' is left out: it is no picture that ends in {', '.join(SUFFIXES)}")
        if not pictures:
            raise PipelineError(f"the folder '{path}' has no pictures: put some of '{path.name}' there, or remove it")
        found[path.name] = pictures
    if not found:
        raise PipelineError(f"'{folder}' has no folders: put the pictures of each name into a folder that is called so")
    return without_copies(found, note)


def without_copies(found: dict[str, list[Path]], note: Note) -> dict[str, list[Path]]:
    """Each picture once. The same one under two names is an error: neither would be recognised by it."""
    owners: dict[bytes, tuple[str, Path]] = {}
    kept: dict[str, list[Path]] = {name: [] for name in found}
    for name, pictures in found.items():
        for picture in pictures:
            digest = hashlib.sha256(picture.read_bytes()).digest()
            owner, first = owners.setdefault(digest, (name, picture))
            if owner != name:
                raise PipelineError(f"'{first}' and '{picture}' are the same picture under two names: remove the wrong one")
            if first != picture:
                note(f"'{picture}' is left out: it is a copy of '{first}'")
            else:
                kept[name].append(picture)
    return kept
