"""timm's classifiers and towers with random weights, with the config.json that timm writes for the Hugging Face Hub beside the model. The
frames are whole: they are resized and cropped here and there."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import timm
import torch
from PIL import Image
from timm.models._hub import save_config_for_hf

from cudainfer_tools.zoo.cases.case import Case, enliven, session, spread, top

LIBRARY = f"timm {timm.__version__}"
WHOLE = "Whole frames: timm resizes and crops them itself."


def classes(folder: Path, frames: np.ndarray, name: str) -> None:
    """The five best classes: softmax over the logits of what timm's own transform makes of a frame."""
    torch.manual_seed(0)
    model = timm.create_model(name, pretrained=False).eval()
    transform = timm.data.create_transform(**timm.data.resolve_model_data_config(model), is_training=False)
    inputs = [transform(Image.fromarray(frame))[None] for frame in frames]
    some = torch.cat(inputs[::4])
    enliven(model, lambda: model(some))
    last = [module for module in model.modules() if isinstance(module, torch.nn.Linear)][-1]
    spread([last], lambda: model(some), 0.0, 3.0, 0.1)
    torch.onnx.export(model, inputs[0], folder / "model.onnx", dynamo=False, opset_version=17, input_names=["image"])
    save_config_for_hf(model, str(folder / "config.json"))
    net = session(folder)
    scores = [torch.from_numpy(net.run(None, {"image": image.numpy()})[0])[0].softmax(0).numpy() for image in inputs]
    Case(LIBRARY, "classify top-k=5", [top(one) for one in scores], note=WHOLE).write(folder, frames)


def tower(folder: Path, frames: np.ndarray, name: str) -> None:
    """What a model without its last layer says of a frame, scaled to length 1 as for a comparison by cosine."""
    torch.manual_seed(0)
    model = timm.create_model(name, pretrained=False, num_classes=0).eval()
    transform = timm.data.create_transform(**timm.data.resolve_model_data_config(model), is_training=False)
    inputs = [transform(Image.fromarray(frame))[None] for frame in frames]
    enliven(model, lambda: model(torch.cat(inputs[::4])))
    torch.onnx.export(model, inputs[0], folder / "model.onnx", dynamo=False, opset_version=17, input_names=["image"])
    save_config_for_hf(model, str(folder / "config.json"))
    net = session(folder)
    vectors = np.concatenate([net.run(None, {"image": image.numpy()})[0] for image in inputs]).astype(np.float64)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    Case(LIBRARY, "embed", [[{"class": 0, "score": 0.0, "embedding": vector}] for vector in vectors], note=WHOLE).write(
        folder, frames
    )


CASES = {f"timm-{name}": partial(classes, name=name) for name in ("resnet18", "mobilenetv3_small_100", "vit_tiny_patch16_224")}
CASES["timm-resnet18-tower"] = partial(tower, name="resnet18")
