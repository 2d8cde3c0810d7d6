"""Makes the tiny models that the tests run, in .cache/test-models: what comes out of each follows from its input in a
way that a test can calculate. Run by scripts/test; does nothing where the models are newer than this package.

    NAME.onnx, and NAME.toml where the model has a sidecar
"""

from __future__ import annotations

from pathlib import Path

from cudainfer_tools.test_models import (
    batches,
    cells,
    classes,
    detectors,
    earlier,
    labs,
    lists,
    others,
    plain,
    planes,
    points,
    prompts,
    queries,
    recurrent,
    sleap,
    vocabulary,
)
from cudainfer_tools.test_models.graph import FOLDER

STAMP = FOLDER / ".made"
MAKERS = (
    plain.identities,
    plain.several,
    detectors.detectors,
    batches.batches,
    detectors.heads,
    detectors.extents,
    cells.faces,
    cells.priors,
    cells.anchors,
    cells.coverage,
    lists.lists,
    queries.queries,
    detectors.declared,
    detectors.unsuppressed,
    points.heat_maps,
    points.groups,
    points.tags,
    points.interest,
    points.lanes,
    classes.classifiers,
    classes.attributes,
    classes.numbers,
    classes.plates,
    classes.text,
    planes.class_maps,
    planes.masks,
    planes.maps,
    planes.tasks,
    points.keypoints,
    sleap.exports,
    labs.networks,
    recurrent.recurrent,
    earlier.earlier,
    earlier.clips,
    vocabulary.vocabulary,
    prompts.prompts,
    cells.region_head,
    others.others,
    # It cuts a model of another in two.
    others.failing,
)


def sources() -> bytes:
    """What the models are made by: this package's files."""
    return b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))


def main() -> None:
    made_by = sources()
    if STAMP.is_file() and STAMP.read_bytes() == made_by:
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    for old in FOLDER.iterdir():
        old.unlink()
    for make in MAKERS:
        make()
    STAMP.write_bytes(made_by)


if __name__ == "__main__":
    main()
