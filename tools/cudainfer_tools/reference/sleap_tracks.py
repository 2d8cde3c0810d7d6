"""The identities that sleap-nn's own tracker gives to instances. Run by evaluate/identities.py in a Python of its own, which has
numpy, attrs, scipy, loguru, rich, opencv, pykalman, sleap-io and sleap-nn.

    python3 tools reference.sleap_tracks NUMBER INSTANCES

A line of INSTANCES is a frame: a list of [score, [[x, y] or null, ...]]. The answer is one JSON object: for each way to set the
tracker up, for each frame, the identity of each instance, from 1; 0 for those that have none. NUMBER of animals is what its options
for a known number of animals are set to: max_tracks, tracking_target_instance_count with culling before tracking, and single
breaks are connected afterwards.

Nothing of sleap-nn (GPL-3.0) is copied here: its classes are called as it publishes them. What else its packages import is stood
in for where it is not installed (torch is): tracking computes with NumPy.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import json
import logging
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np

from cudainfer_tools.reference.sleap import StandIn, version

# What differs from the defaults of sleap-nn's Tracker.
WAYS: dict[str, dict[str, Any]] = {
    "OKS": {},
    "OKS, wide": {"oks_stddev": 0.1},
    "centroids": {"features": "centroids", "scoring_method": "euclidean_dist"},
    "boxes": {"features": "bboxes", "scoring_method": "iou"},
    "Kalman": {"use_kalman": True},
}


def tracking() -> types.ModuleType:
    """sleap-nn's module of the tracker."""
    for name in ("attrs", "scipy.optimize", "loguru", "rich.progress", "cv2", "pykalman", "sleap_io"):
        importlib.import_module(name)
    # Where torch is installed, it is opened before stand-ins are: it takes one for dill, and fails.
    with contextlib.suppress(ImportError):
        importlib.import_module("torch.utils.data.datapipes")
    found = importlib.util.find_spec("sleap_nn")
    if found is None or not found.submodule_search_locations:
        raise ImportError("this Python has no sleap-nn")
    root = Path(found.submodule_search_locations[0])
    for name in ("sleap_nn", "sleap_nn.data"):
        package = types.ModuleType(name)
        package.__path__ = [str(root.joinpath(*name.split(".")[1:]))]
        sys.modules[name] = package
    sys.meta_path.append(StandIn())
    tracker = importlib.import_module("sleap_nn.tracking.tracker")
    sys.meta_path.pop()
    return tracker


def identities(module: types.ModuleType, number: int, frames: list[list[Any]], options: dict[str, Any]) -> list[list[int]]:
    """What one way gives, as run_tracker of sleap-nn runs it."""
    sleap_io = importlib.import_module("sleap_io")
    points = max((len(instance[1]) for frame in frames for instance in frame), default=1)
    skeleton = sleap_io.Skeleton([str(n) for n in range(points)])
    tracker = module.Tracker.from_config(
        candidates_method="local_queues",
        max_tracks=number,
        tracking_target_instance_count=number,
        tracking_pre_cull_to_target=1,
        **options,
    )
    video = sleap_io.Video("made.mp4", open_backend=False)
    made, labelled = [], []
    for index, frame in enumerate(frames):
        here = [
            sleap_io.PredictedInstance.from_numpy(
                np.array([point or [np.nan] * 2 for point in found], float), skeleton=skeleton, score=score
            )
            for score, found in frame
        ]
        made.append(here)
        tracked = tracker.track(untracked_instances=list(here), frame_idx=index)
        labelled.append(sleap_io.LabeledFrame(video=video, frame_idx=index, instances=tracked))
    module.connect_single_breaks(labelled, max_instances=number)
    names: dict[str, int] = {}
    return [[0 if one.track is None else names.setdefault(one.track.name, len(names) + 1) for one in here] for here in made]


def main(arguments: list[str]) -> None:
    number, file = int(arguments[0]), Path(arguments[1])
    frames = [json.loads(line) for line in file.read_text().splitlines()]
    module = tracking()
    logging.disable(logging.WARNING)
    importlib.import_module("loguru").logger.remove()
    found = {way: identities(module, number, frames, options) for way, options in WAYS.items()}
    print(json.dumps({"version": version(), "identities": found}))


if __name__ == "__main__":
    main(sys.argv[1:])
