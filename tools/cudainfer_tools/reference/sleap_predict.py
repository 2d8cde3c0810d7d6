"""What sleap-nn itself predicts, as JSON lines. Run by evaluate/sleap.py in a Python that has sleap-nn.

    python3 tools reference.sleap_predict checkpoints FRAMES WIDTH HEIGHT THRESHOLD MODEL_DIR...
    python3 tools reference.sleap_predict export FRAMES WIDTH HEIGHT THRESHOLD EXPORT_DIR

The first is its PyTorch path (`Predictor.from_model_paths`: one folder of a training, or two for top-down), the second that
of `--runtime onnx` (`Predictor.from_export_dir`). FRAMES is 8-bit grey, one frame after the other. A line has the instances
of a frame, each a list of points, [x, y, score] in sleap-nn's coordinates (pixel i has its centre at i) or null.

Frames are predicted at their own size: max_height and max_width of the training, to which sleap-nn would scale them, are set
to it. An export's frames are padded to the backbone's stride, by sleap-nn's `apply_pad_to_stride`, where it is no divisor.

Nothing of sleap-nn (GPL-3.0) is copied here: its functions are called.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np


def instances(found: Any) -> list[list[list[float] | None]]:
    """The instances of a frame in sleap-nn's Outputs; those without points are none."""
    if found.pred_keypoints is None:
        # Of a centroid model.
        if found.pred_centroids is None:
            return []
        points, scores = found.pred_centroids[0].unsqueeze(1), found.pred_centroid_values[0].unsqueeze(1)
    else:
        points, scores = found.pred_keypoints[0], found.pred_peak_values[0]
    rows = np.concatenate([points.cpu().numpy(), scores.cpu().numpy()[..., None]], -1).astype(float)
    plain = [[None if np.isnan(point[:2]).any() else [round(v, 5) for v in point] for point in row] for row in rows]
    return [row for row in plain if any(row)]


def stride(folder: Path) -> int:
    """What the sides of an export's frames must be multiples of."""
    from omegaconf import OmegaConf

    config = OmegaConf.load(min(folder.glob("training_config*.yaml")))
    (backbone,) = (entry for entry in config.model_config.backbone_config.values() if entry is not None)
    scale = config.data_config.preprocessing.scale or 1.0
    return round(backbone.max_stride / scale)


def main() -> None:
    # sleap-nn logs there.
    out, sys.stdout = sys.stdout, sys.stderr
    import torch
    from omegaconf import OmegaConf
    from sleap_nn.data.resizing import apply_pad_to_stride
    from sleap_nn.inference.predictor import Predictor

    kind, frames, width, height, threshold = sys.argv[1], Path(sys.argv[2]), *map(float, sys.argv[3:6])
    folders = sys.argv[6:]
    torch.set_num_threads(1)
    multiple = 1
    if kind == "export":
        predictor = Predictor.from_export_dir(folders[0], runtime="onnx", device="cpu")
        multiple = stride(Path(folders[0]))
    else:
        keys = ("ensure_rgb", "ensure_grayscale", "crop_size", "scale")
        sizes = {"max_height": int(height), "max_width": int(width)}
        predictor = Predictor.from_model_paths(
            folders, device="cpu", peak_threshold=threshold, preprocess_config=OmegaConf.create(dict.fromkeys(keys) | sizes)
        )
    for frame in np.memmap(frames, np.uint8, "r").reshape(-1, 1, 1, int(height), int(width)):
        image = torch.from_numpy(np.array(frame))
        if kind == "export":
            # The graph of a network of three channels takes three.
            channels = predictor.layer.backend._session.get_inputs()[0].shape[1]
            image = apply_pad_to_stride(image, multiple).expand(-1, channels, -1, -1)
        with torch.inference_mode():
            print(json.dumps(instances(predictor.layer.predict(image))), file=out, flush=True)


if __name__ == "__main__":
    main()
