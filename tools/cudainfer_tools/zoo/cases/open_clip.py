"""open_clip's image encoders with random weights: embeddings of frames, and classes that texts stand for. The frames are whole: they are
resized and cropped here and there."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np
import open_clip
import torch
from PIL import Image

from cudainfer_tools.zoo.cases.case import Case, enliven, session, top

LIBRARY = f"open_clip {version('open_clip_torch')}"
LABELS = ("street", "meadow", "bus", "bicycle", "woman with a bag", "empty square", "football match", "night sky")
WHOLE = "Whole frames: open_clip resizes and crops them itself."
ZERO_SHOT = (
    "The model's second input are the embeddings of texts, which open_clip's text encoder has made of 'a photo of a …': texts.npy, "
    "scaled to length 1. Its output is `100 * image @ texts.T` of embeddings of length 1, and open_clip's probabilities are the softmax."
)


class ZeroShot(torch.nn.Module):
    """A model as open_clip's own example of zero-shot classification uses it: logits of texts for an image."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, image: torch.Tensor, texts: torch.Tensor) -> torch.Tensor:
        features = self.model.encode_image(image, normalize=True)
        return self.model.logit_scale.exp() * features @ texts.T


class Encoder(torch.nn.Module):
    """The image encoder of a model."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return self.model.encode_image(image)


def prepared(frames: np.ndarray, name: str) -> tuple[torch.nn.Module, list[torch.Tensor], str]:
    """A model, what its own preprocessing makes of the frames, and [input] of a sidecar that says the same."""
    torch.manual_seed(0)
    model, _, preprocess = open_clip.create_model_and_transforms(name, pretrained=None)
    model.eval()
    # Models are trained from 1/0.07 on, and end at 100.
    model.logit_scale.data.fill_(math.log(100))
    inputs = [preprocess(Image.fromarray(frame))[None] for frame in frames]
    enliven(model, lambda: model.encode_image(torch.cat(inputs[::4])))
    values = open_clip.get_model_preprocess_cfg(model)
    assert (values["resize_mode"], values["interpolation"]) == ("shortest", "bicubic"), values
    sidecar = f'[input]\nmean = {list(values["mean"])}\nstd = {list(values["std"])}\nresize = "center-crop"\ninterpolation = "pil-bicubic"\n'
    return model, inputs, sidecar


def export(folder: Path, model: torch.nn.Module, inputs: Sequence[torch.Tensor], names: list[str], output: str) -> None:
    """Writes the model."""
    torch.onnx.export(
        model.eval(), tuple(inputs), folder / "model.onnx", dynamo=False, opset_version=17, input_names=names, output_names=[output]
    )


def embeddings(folder: Path, frames: np.ndarray, name: str) -> None:
    """What the encoder says of a frame, scaled to length 1."""
    model, inputs, sidecar = prepared(frames, name)
    export(folder, Encoder(model), inputs[:1], ["image"], "features")
    with torch.no_grad():
        vectors = torch.cat([model.encode_image(image, normalize=True) for image in inputs]).numpy()
    expected = [[{"class": 0, "score": 0.0, "embedding": vector}] for vector in vectors]
    Case(LIBRARY, "embed", expected, sidecar=sidecar, note=WHOLE).write(folder, frames)


def zero_shot(folder: Path, frames: np.ndarray, name: str) -> None:
    """The five likeliest texts."""
    model, inputs, sidecar = prepared(frames, name)
    words = open_clip.get_tokenizer(name)([f"a photo of a {label}" for label in LABELS])
    with torch.no_grad():
        texts = model.encode_text(words, normalize=True)
        logits = [100.0 * model.encode_image(image, normalize=True) @ texts.T for image in inputs]
    np.save(folder / "texts.npy", texts.numpy())
    export(folder, ZeroShot(model), (inputs[0], texts), ["image", "texts"], "logits")
    net = session(folder)
    expected = []
    for image, theirs in zip(inputs, logits, strict=True):
        ours = net.run(None, {"image": image.numpy(), "texts": texts.numpy()})[0]
        assert np.abs(ours - theirs.numpy()).max() < 1e-2, "the export computes something else"
        expected.append(top(theirs[0].softmax(0).numpy()))
    sidecar += f'[constants]\ntexts = {{ file = "texts.npy" }}\n[output]\nlabels = {json.dumps(LABELS)}\n'
    Case(LIBRARY, "classify top-k=5", expected, sidecar=sidecar, note=f"{WHOLE} {ZERO_SHOT}").write(folder, frames)


CASES = {
    "open_clip-RN50": partial(embeddings, name="RN50"),
    "open_clip-ViT-S-32": partial(embeddings, name="ViT-S-32"),
    "open_clip-ViT-S-32-zero-shot": partial(zero_shot, name="ViT-S-32"),
}
