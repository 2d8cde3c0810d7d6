"""transformers' models of depth, super-resolution, keypoints and embeddings with random weights, their configurations beside the
exported file as save_pretrained writes them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
import transformers

from cudainfer_tools.zoo.cases.case import Case, Maker, enliven, resized, session, spread
from cudainfer_tools.zoo.cases.transformers import LIBRARY, export

if TYPE_CHECKING:
    from transformers.configuration_utils import PretrainedConfig
    from transformers.image_processing_base import ImageProcessingMixin

SIZE = 224
BACKBONE = {"hidden_size": 48, "num_hidden_layers": 4, "num_attention_heads": 4}


def small(config: Callable[..., PretrainedConfig], **more: object) -> PretrainedConfig:
    """A small transformer."""
    return config(**BACKBONE, intermediate_size=96, **more)


def depth(folder: Path, frames: np.ndarray, kind: str, config: PretrainedConfig, processor: ImageProcessingMixin) -> None:
    """Depth from the least to the greatest of each frame, as its pipeline paints it, but in 16 bits."""
    frames = resized(frames, SIZE, SIZE)
    torch.manual_seed(0)
    model = getattr(transformers, kind)(config).eval()
    inputs = processor(images=list(frames), return_tensors="pt")["pixel_values"]
    enliven(model, lambda: model(pixel_values=inputs[::4]))
    # Before the last layer and after it, what is below 0 is cut off.
    last = [module for module in model.modules() if isinstance(module, torch.nn.Conv2d)][-2:]
    spread([last[0]], lambda: model(pixel_values=inputs[::4]), 0.0, 1.0, 0.5)
    spread([last[1]], lambda: model(pixel_values=inputs[::4]), 0.5, 4.0, 0.9)
    export(folder, model, processor, SIZE, ["predicted_depth"])
    net = session(folder)
    expected = []
    for one in inputs:
        found = transformers.utils.ModelOutput(
            predicted_depth=torch.from_numpy(net.run(None, {"pixel_values": one[None].numpy()})[0])
        )
        values = processor.post_process_depth_estimation(found, target_sizes=[(SIZE, SIZE)])[0]["predicted_depth"].double().numpy()
        expected.append((values - values.min()) / (values.max() - values.min()) * 65535)
    Case(LIBRARY, "tensormap output=gray16", []).write_samples(folder, frames, np.stack(expected), 65535)


def depth_anything(folder: Path, frames: np.ndarray) -> None:
    backbone = transformers.Dinov2Config(
        **BACKBONE, image_size=SIZE, patch_size=14, out_features=["stage1", "stage2", "stage3", "stage4"],
        reshape_hidden_states=False, apply_layernorm=True,
    )  # fmt: skip
    config = transformers.DepthAnythingConfig(
        backbone_config=backbone, patch_size=14, reassemble_hidden_size=48, neck_hidden_sizes=[16, 16, 32, 32],
        fusion_hidden_size=16, head_hidden_size=8,
    )  # fmt: skip
    processor = transformers.DPTImageProcessor(size={"height": SIZE, "width": SIZE}, do_pad=False)
    depth(folder, frames, "DepthAnythingForDepthEstimation", config, processor)


def dpt(folder: Path, frames: np.ndarray) -> None:
    config = small(
        transformers.DPTConfig, image_size=SIZE, backbone_out_indices=[0, 1, 2, 3], neck_hidden_sizes=[16, 16, 32, 32],
        fusion_hidden_size=16,
    )  # fmt: skip
    depth(folder, frames, "DPTForDepthEstimation", config, transformers.DPTImageProcessor(size={"height": SIZE, "width": SIZE}))


def swin2sr(folder: Path, frames: np.ndarray, size: int = 64) -> None:
    """A picture twice as large: what is beyond 0 to 1 is cut off, as its pipeline does."""
    frames = resized(frames, size, size)
    torch.manual_seed(0)
    config = transformers.Swin2SRConfig(image_size=size, embed_dim=24, depths=[2, 2], num_heads=[2, 2], window_size=8, upscale=2)
    model = transformers.Swin2SRForImageSuperResolution(config).eval()
    processor = transformers.Swin2SRImageProcessor(do_pad=False)
    inputs = torch.from_numpy(np.stack([frame.transpose(2, 0, 1) for frame in frames]).astype(np.float32) / 255)
    with torch.no_grad():
        # A picture of all shades.
        made = model(pixel_values=inputs[:4]).reconstruction
        last = [module for module in model.modules() if isinstance(module, torch.nn.Conv2d)][-1]
        last.weight.mul_(0.25 / float(made.std()))
        last.bias.fill_(0.5)
    export(folder, model, processor, size, ["reconstruction"])
    net = session(folder)
    expected = [net.run(None, {"pixel_values": one[None].numpy()})[0][0].clip(0, 1).transpose(1, 2, 0) * 255.0 for one in inputs]
    Case(LIBRARY, "tensormap output=rgb", []).write_samples(folder, frames, np.stack(expected), 255)


def vitpose(folder: Path, frames: np.ndarray, width: int = 192, height: int = 256) -> None:
    """17 points of a person who fills the frame."""
    frames = resized(frames, width, height)
    torch.manual_seed(0)
    backbone = transformers.VitPoseBackboneConfig(**BACKBONE, image_size=[height, width], out_features=["stage4"])
    model = transformers.VitPoseForPoseEstimation(
        transformers.VitPoseConfig(backbone_config=backbone, num_labels=17, use_simple_decoder=False)
    ).eval()
    processor = transformers.VitPoseImageProcessor(size={"height": height, "width": width})
    mean, std = (torch.tensor(values)[:, None, None] for values in (processor.image_mean, processor.image_std))
    inputs = torch.stack([(torch.from_numpy(frame.transpose(2, 0, 1).copy()).float() / 255 - mean) / std for frame in frames])
    # Smooth maps, as trained ones are: of noise the refinement is noise as well.
    tent = torch.tensor([1.0, 3.0, 3.0, 1.0]) / 4
    for module in model.modules():
        if isinstance(module, torch.nn.ConvTranspose2d):
            module.weight.data = torch.randn(*module.weight.shape[:2], 1, 1) * torch.outer(tent, tent)
    enliven(model, lambda: model(pixel_values=inputs[::4]))
    spread(
        [[module for module in model.modules() if isinstance(module, torch.nn.Conv2d)][-1]],
        lambda: model(pixel_values=inputs[::4]),
        0.5,
        1.0,
        0.02,
    )
    export(folder, model, processor, width, ["heatmaps"], height=height)
    net = session(folder)
    maps = np.concatenate([net.run(None, {"pixel_values": one[None].numpy()})[0] for one in inputs])
    # The frame from its first pixel to its last, as UDP measures it.
    center, scale = (np.tile(np.array(pair, np.float32), (len(maps), 1)) for pair in
                     ([(width - 1) / 2, (height - 1) / 2], [(width - 1) / 200, (height - 1) / 200]))  # fmt: skip
    points, scores = processor.keypoints_from_heatmaps(maps, center, scale)
    # Its pixels have their centres at whole numbers, ours at halves.
    rows = np.concatenate([points + 0.5, scores], axis=2)
    expected = [[{"class": 0, "score": 0.0, "keypoints": one}] for one in rows]
    # It returns every point, however low its score is.
    Case(LIBRARY, "peakfind threshold=-1000", expected).write(folder, frames)


def embedding(
    folder: Path, frames: np.ndarray, kind: str, config: PretrainedConfig, processor: ImageProcessingMixin, output: str
) -> None:
    """A vector of the frame, scaled to length 1 as for a comparison by cosine."""
    frames = resized(frames, SIZE, SIZE)
    torch.manual_seed(0)
    model = getattr(transformers, kind)(config).eval()
    inputs = processor(images=list(frames), return_tensors="pt")["pixel_values"]
    export(folder, model, processor, SIZE, [output])
    net = session(folder)
    vectors = np.concatenate([net.run(None, {"pixel_values": one[None].numpy()})[0] for one in inputs]).astype(np.float64)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    expected = [[{"class": 0, "score": 0.0, "embedding": vector}] for vector in vectors]
    Case(LIBRARY, "embed", expected).write(folder, frames)


CASES: dict[str, Maker] = {
    "depth-anything": depth_anything,
    "dpt": dpt,
    "swin2sr": swin2sr,
    "vitpose": vitpose,
    "clip-image-tower": partial(
        embedding, kind="CLIPVisionModelWithProjection", config=small(transformers.CLIPVisionConfig, projection_dim=64),
        processor=transformers.CLIPImageProcessor(), output="image_embeds",
    ),
    "dinov2": partial(
        embedding, kind="Dinov2Model", config=transformers.Dinov2Config(**BACKBONE, image_size=SIZE),
        processor=transformers.BitImageProcessor(crop_size={"height": SIZE, "width": SIZE}, size={"shortest_edge": SIZE}), output="pooler_output",
    ),
}  # fmt: skip
