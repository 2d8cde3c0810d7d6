"""RF-DETR with random weights, exported and post-processed by rfdetr itself."""

from __future__ import annotations

import shutil
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np
import rfdetr
import torch
from rfdetr.models.postprocess import PostProcess

from zoo.case import Case, planes, resized, session, spread

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
CONFIDENCE = 0.3
INPUT = f'[input]\nresize = "stretch"\nmean = {list(MEAN)}\nstd = {list(STD)}\n'


def queries(folder: Path, frames: np.ndarray, kind: str) -> None:
    """Boxes of the strongest pairs of query and class."""
    torch.manual_seed(2)
    model = getattr(rfdetr, kind)(pretrain_weights=None, num_classes=20, device="cpu")
    net, size = model.model.model.eval(), model.model.resolution
    frames = resized(frames, size, size)
    inputs = [planes(frame, mean=MEAN, std=STD) for frame in frames]
    some = torch.from_numpy(np.concatenate(inputs[::5]))
    scoring = [module for name, module in net.named_modules() if "class_embed" in name and isinstance(module, torch.nn.Linear)]
    spread(scoring, lambda: net(some), -0.85, 3.0, 1e-2)
    exported = model.export(output_dir=str(folder / "export"), verbose=False, shape=(size, size))
    shutil.move(next(Path(folder / "export").glob("*.onnx"), exported), folder / "model.onnx")
    run, finish = session(folder), PostProcess(num_select=model.model_config.num_select)
    expected = []
    for image in inputs:
        boxes, logits = run.run(["dets", "labels"], {run.get_inputs()[0].name: image})
        outputs = {"pred_boxes": torch.from_numpy(boxes), "pred_logits": torch.from_numpy(logits)}
        found = finish(outputs, torch.tensor([[size, size]]))[0]
        rows = zip(found["boxes"].clamp(0, size).tolist(), found["scores"].tolist(), found["labels"].tolist(), strict=True)
        expected.append([{"box": box, "score": score, "class": label} for box, score, label in rows if score > CONFIDENCE])
    elements = f"gpunms confidence={CONFIDENCE} top-k-after={model.model_config.num_select}"
    Case(f"rfdetr {version('rfdetr')}", elements, expected, sidecar=INPUT).write(folder, frames)


CASES = {"rf-detr-nano": partial(queries, kind="RFDETRNano"), "rf-detr-seg-nano": partial(queries, kind="RFDETRSegNano")}
