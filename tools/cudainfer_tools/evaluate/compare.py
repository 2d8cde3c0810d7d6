"""Compares the boxes of two runs of inferpublish, frame by frame: another provider, another machine.

scripts/compare REFERENCE.jsonl OTHER.jsonl

Boxes are paired in the order of the lines, in the frames in which both runs have the same number of objects.
"""

import json
import sys
from pathlib import Path


def main(files: list[str]) -> None:
    if len(files) != 2:
        sys.exit(__doc__.strip())
    reference, other = ([json.loads(line) for line in Path(file).read_text().splitlines()] for file in files)
    pairs = [(a["objects"], b["objects"]) for a, b in zip(reference, other, strict=False)]
    same = [(a, b) for a, b in pairs if len(a) == len(b)]
    boxes = [(x["box"], y["box"]) for a, b in same for x, y in zip(a, b, strict=True) if "box" in x and "box" in y]
    worst = max((abs(x[side] - y[side]) for x, y in boxes for side in "xywh"), default=0.0)
    print(f"{len(reference)} and {len(other)} frames; the same number of objects in {len(same)}")
    print(f"{len(boxes)} boxes, at most {worst:.2f} px apart")


if __name__ == "__main__":
    main(sys.argv[1:])
