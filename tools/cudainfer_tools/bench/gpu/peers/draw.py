"""What users call instead of the operation `draw`: torchvision draws boxes and labels on RGB with PIL, on the CPU. The
frame goes there and back; that it would have to become RGB and NV12 again is left out."""

from __future__ import annotations

import torch
from torchvision.utils import draw_bounding_boxes

from cudainfer_tools.bench.gpu.peers.measure import measure, row

BOXES = 20
FRAMES = 8


def run() -> None:
    frames = [torch.randint(0, 256, (3, 1080, 1920), dtype=torch.uint8, device="cuda") for _ in range(FRAMES)]
    corner = torch.tensor([[i % 7 * 250 + 31, i // 7 * 330 + 47] for i in range(BOXES)])
    boxes = torch.cat([corner, corner + torch.tensor([170, 290])], 1)
    labels = [f"person {i} 0.{50 + i}" for i in range(BOXES)]

    def draw(i: int) -> torch.Tensor:
        frame = frames[i % FRAMES].cpu()
        return draw_bounding_boxes(frame, boxes, labels, colors="red", width=4).cuda()

    row("draw 20 boxes with labels on NV12 1080p", "torchvision (RGB, by PIL on the CPU)", measure(draw))
