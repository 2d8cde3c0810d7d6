"""Writes kernels/src/segment/tests/instances.txt: masks of single objects as Ultralytics' process_mask with upsample, rfdetr's
post-processing and torchvision's paste_masks_in_image make them. Needs torch, torchvision and ultralytics.

    python3 tools reference.instances > kernels/src/segment/tests/instances.txt

Each line has a case's name, the mask's width and its samples, row by row. The values are `numbers` below, which
kernels/src/segment/tests/instances.rs has, too.
"""

import numpy as np
import torch
import torch.nn.functional as F
from torchvision.models.detection.roi_heads import paste_masks_in_image
from ultralytics.utils.ops import process_mask


def numbers(count: int, seed: int) -> np.ndarray:
    """-1 to 1, in steps that float32 has."""
    steps = (np.arange(count, dtype=np.uint64) + np.uint64(seed)) * np.uint64(2654435761) % np.uint64(1 << 32)
    return (steps >> np.uint64(8)).astype(np.float32) / np.float32(1 << 23) - np.float32(1)


def show(name: str, masks: torch.Tensor) -> None:
    """Prints each mask."""
    for mask in masks:
        samples = "".join(str(int(v)) for v in mask.flatten())
        print(name, mask.shape[-1], samples)


BOXES = torch.tensor([[8.0, 4.0, 40.5, 30.25], [-3.5, -2.0, 20.0, 50.0], [33.3, 10.7, 33.9, 11.2], [50.0, 20.0, 90.0, 40.0]])

# A frame as large as the input.
prototypes = torch.tensor(numbers(5 * 9 * 17, 1).reshape(5, 9, 17))
coefficients = torch.tensor(numbers(4 * 5, 1000).reshape(4, 5))
show("ultralytics", process_mask(prototypes, coefficients, BOXES, (36, 68), upsample=True))

# To a frame of another size.
maps = torch.tensor(numbers(6 * 9 * 12, 2).reshape(6, 1, 9, 12))[[4, 1]]
show("rfdetr", (F.interpolate(maps, size=(29, 50), mode="bilinear", align_corners=False) > 0.0)[:, 0])
show("cells", (maps > 0.0)[:, 0])

# Probabilities in boxes, in a frame of 68x36.
masks = torch.tensor((numbers(4 * 7 * 7, 3) + np.float32(1)).reshape(4, 1, 7, 7) / np.float32(2))
show("torchvision", (paste_masks_in_image(masks, BOXES, (36, 68)) > 0.5)[:, 0])
