"""Builds the galleries by which the element identify recognises faces, people, products and animals.

scripts/gallery FOLDER --model MODEL            builds one: FOLDER has a folder of pictures for each name
scripts/gallery add GALLERY NAME PICTURE... --model MODEL   adds pictures to a gallery, or makes one
scripts/gallery name UNKNOWNS unknown-3=NAME... --into GALLERY
                                                names unknowns that identify has collected (its property unknowns)
scripts/gallery show GALLERY                    lists names, and those of which pictures are alike

    --model MODEL      the model that makes embeddings, with the sidecar of the pipeline
    --detector MODEL   finds the objects in the pictures first, as a pipeline with `fusedpreproc roi=objects` does. Of several
                       the largest is taken. Without it, the whole picture is the object
    --crop NAME        how objects are cut out, fusedpreproc's roi-crop: align for faces with points
    --embedding-output NAME   the model's output with the embedding, if it has several
    --output FILE      where the gallery goes (default: FOLDER.npz)

The pictures go through this project's own elements, so a picture has the same embedding here and in a pipeline with the same models.
What is left out is named. A pipeline that runs takes a new gallery over when its property gallery is set again.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from cudainfer_tools.gallery import embeddings, file, pictures
from cudainfer_tools.gallery.embeddings import Models
from cudainfer_tools.gallery.file import Gallery
from cudainfer_tools.pipeline import PipelineError

COMMANDS = ("add", "name", "show")


def note(sentence: str) -> None:
    print(f"gallery: {sentence}", file=sys.stderr, flush=True)


def with_models(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--detector", type=Path)
    parser.add_argument("--crop")
    parser.add_argument("--embedding-output")


def models_of(options: argparse.Namespace) -> Models:
    for path in filter(None, (options.model, options.detector)):
        if not path.is_file():
            raise PipelineError(f"the model file '{path}' does not exist")
    return Models(options.model, options.detector, options.crop, options.embedding_output)


def fill(gallery: Gallery, names: dict[str, list[Path]], models: Models) -> None:
    """Adds the embeddings of each name's pictures."""
    everything = [picture for files in names.values() for picture in files]
    found = embeddings.of_pictures(everything, models, note)
    for name, files in names.items():
        of_name = [found[picture] for picture in files if picture in found]
        if not of_name:
            raise PipelineError(f"'{name}' has no picture with an embedding, so nothing is written: see what was left out above")
        gallery.add(name, np.stack([one.vector for one in of_name]), of_name[0].model)


def report(path: Path, gallery: Gallery) -> None:
    count = sum(len(vectors) for vectors in gallery.names.values())
    length = next(iter(gallery.names.values())).shape[1]
    print(f"{path}: {len(gallery.names)} names, {count} embeddings of {length} numbers, of the model '{gallery.model}'")


def build(words: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="scripts/gallery", usage=__doc__, add_help=False)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--output", type=Path)
    with_models(parser)
    options = parser.parse_args(words)
    # A folder that is given as `people/` or `.` has a name, too.
    output = options.output or options.folder.resolve().with_suffix(".npz")
    gallery = Gallery()
    fill(gallery, pictures.by_name(options.folder, note), models_of(options))
    file.write(output, gallery)
    report(output, gallery)


def add(words: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="scripts/gallery add")
    parser.add_argument("gallery", type=Path)
    parser.add_argument("name")
    parser.add_argument("pictures", type=Path, nargs="+")
    with_models(parser)
    options = parser.parse_args(words)
    gallery = file.read(options.gallery) if options.gallery.exists() else Gallery()
    fill(gallery, pictures.without_copies({options.name: options.pictures}, note), models_of(options))
    file.write(options.gallery, gallery)
    report(options.gallery, gallery)


def name(words: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="scripts/gallery name")
    parser.add_argument("unknowns", type=Path)
    parser.add_argument("pairs", nargs="+", metavar="unknown-N=NAME")
    parser.add_argument("--into", type=Path, required=True, metavar="GALLERY")
    options = parser.parse_args(words)
    unknowns = file.read(options.unknowns)
    gallery = file.read(options.into) if options.into.exists() else Gallery()
    for pair in options.pairs:
        unknown, _, new = pair.partition("=")
        if unknown not in unknowns.names or not new:
            raise PipelineError(f"'{pair}' is not unknown-N=NAME with one of {', '.join(sorted(unknowns.names)) or 'none at all'}")
        gallery.add(new, unknowns.names[unknown], unknowns.model)
    file.write(options.into, gallery)
    report(options.into, gallery)


def show(words: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="scripts/gallery show")
    parser.add_argument("gallery", type=Path)
    options = parser.parse_args(words)
    gallery = file.read(options.gallery)
    if not gallery.names:
        raise PipelineError(f"'{options.gallery}' has no names")
    report(options.gallery, gallery)
    for line in similarities(gallery):
        print(line)


def similarities(gallery: Gallery) -> list[str]:
    """Of each name: how many pictures it has, how unlike they are, and the other name that is most similar."""
    unit = {name: vectors / np.linalg.norm(vectors, axis=1, keepdims=True) for name, vectors in gallery.names.items()}
    lines = [f"{'name':<24}{'pictures':>9}{'least alike':>13}  most similar other name"]
    for name, vectors in unit.items():
        others = [(float((vectors @ other.T).max()), known) for known, other in unit.items() if known != name]
        nearest = "{1} {0:.3f}".format(*max(others)) if others else "-"
        own = f"{float((vectors @ vectors.T).min()):.3f}" if len(vectors) > 1 else "-"
        lines.append(f"{name:<24}{len(vectors):>9}{own:>13}  {nearest}")
    return lines


def main(words: list[str]) -> None:
    if not words or words[0] in ("-h", "--help"):
        print(__doc__, end="")
    elif words[0] in COMMANDS:
        {"add": add, "name": name, "show": show}[words[0]](words[1:])
    else:
        build(words)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except PipelineError as error:
        sys.exit(f"gallery: {error}")
    except FileNotFoundError as error:
        sys.exit(f"gallery: '{error.filename}' does not exist")
