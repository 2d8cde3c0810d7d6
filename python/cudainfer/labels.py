"""cudainfer-labels: makes labels that SLEAP opens of what inferpublish has written.

    cudainfer-labels RUN.csv -o OUT.slp
    cudainfer-labels RUN.jsonl --video fly.mp4 -o OUT.slp
    cudainfer-labels RUN.csv --repair-swaps -o OUT.slp

RUN.csv is a table of `inferpublish format=sleap`, RUN.jsonl has records of frames (`format=json`); both are read twice. OUT ends with
.slp, .h5 (analysis), .nwb or .csv; all but the last need sleap-io: pip install 'cudainfer[sleap]'. A .csv is a table of the same form,
beside which a .json has the skeleton's edges. Memory hardly depends on the length of the run.

--repair-swaps looks back over the identities of `tracker max-tracks=N`: where animals met or were out of sight, they are exchanged if
the whole path is much likelier so, by how they move and turn and how long they are. Each repair is printed, with its frames.
Individuals that the model tells apart by itself are not touched.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

from cudainfer.label_files import FORMATS, write
from cudainfer.poses import LabelsError, Records, Survey, Table


def repaired(path: Path, folder: Path, video: Path | None) -> Path:
    """A table in a folder that has the identities of another one, or of records, repaired."""
    from cudainfer import swaps

    if path.suffix == ".jsonl":
        records, path = path, folder / "records.csv"
        convert(records, path, video)
    out = folder / "repaired.csv"
    print(f"cudainfer-labels: {swaps.repair(path, out)}", file=sys.stderr)
    if path.with_suffix(".json").is_file():
        shutil.copyfile(path.with_suffix(".json"), out.with_suffix(".json"))
    return out


def convert(path: Path, out: Path, video: Path | None, repair_swaps: bool = False) -> None:
    """Makes the file `out` of what inferpublish has written; it is whole, or not there."""
    if path.suffix not in (".csv", ".jsonl"):
        raise LabelsError(f"'{path}' ends with neither .csv nor .jsonl. Name a table or records of inferpublish")
    if out.suffix not in (*FORMATS, ".csv"):
        raise LabelsError(f"'{out}' ends with none of {', '.join(FORMATS)} and .csv. Choose one of them for -o")
    if path.suffix == out.suffix and not repair_swaps:
        raise LabelsError(f"'{path}' is a table already. Choose another ending for -o")
    if path.suffix == out.suffix and video is not None:
        raise LabelsError(f"'{out}' keeps the video of '{path}'. Leave --video out, or choose another ending for -o")
    for named in filter(None, (path, video)):
        if not named.is_file():
            raise LabelsError(f"there is no file '{named}'. Name one that exists")
    if not out.parent.is_dir():
        raise LabelsError(f"there is no folder '{out.parent}'. Make it, or name another one for -o")
    with tempfile.TemporaryDirectory(prefix=".cudainfer-labels-", dir=out.parent) as folder:
        made = Path(folder, out.name)
        if repair_swaps:
            path = repaired(path, Path(folder), video)
        if path.suffix == out.suffix:
            os.replace(path, made)
            if path.with_suffix(".json").is_file():
                os.replace(path.with_suffix(".json"), made.with_suffix(".json"))
        else:
            source = Table(path) if path.suffix == ".csv" else Records(path)
            survey = Survey(source)
            if isinstance(source, Records) and not source.nodes:
                raise LabelsError(f"no object in '{path}' has keypoints. Put peakfind before inferpublish, or name another file")
            write(source, survey, made, video)
        if out.suffix == ".csv" and made.with_suffix(".json").is_file():
            os.replace(made.with_suffix(".json"), out.with_suffix(".json"))
        os.replace(made, out)


def main() -> None:
    """The program cudainfer-labels."""
    parser = argparse.ArgumentParser(
        "cudainfer-labels", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path, help="what inferpublish has written: .csv or .jsonl")
    parser.add_argument("--video", type=Path, help="the video's path, if it lies elsewhere now")
    parser.add_argument("--repair-swaps", action="store_true", help="give exchanged identities back, see above")
    parser.add_argument("-o", dest="out", type=Path, required=True, help="the file to write")
    asked = parser.parse_args()
    try:
        convert(asked.run, asked.out, asked.video, asked.repair_swaps)
    except LabelsError as error:
        print(f"cudainfer-labels: {error}", file=sys.stderr, flush=True)
        # HDF5 ends a process with a segmentation fault when it gives up a file that could not be closed, as on a full disk.
        os._exit(1)


if __name__ == "__main__":
    main()
