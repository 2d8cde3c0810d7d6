"""The masks of objects that a library makes, packed into the case's folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

# Values nearer to the threshold than this part of the greatest are rounding's to decide.
NEAR = 1e-5


def write(folder: Path, masks: Sequence[np.ndarray], tied: Sequence[np.ndarray]) -> None:
    """For each frame `[n, H, W]` of booleans: the masks in the order of the expected results, and samples that rounding
    decides."""
    shape = next(frame.shape[1:] for frame in masks if len(frame))

    def packed(frames: Sequence[np.ndarray]) -> npt.NDArray[np.uint8]:
        return np.packbits(np.concatenate([frame.reshape(-1, *shape) for frame in frames]).astype(bool))

    counts = [len(frame) for frame in masks]
    np.savez_compressed(folder / "objects.npz", counts=counts, shape=shape, masks=packed(masks), tied=packed(tied))


def near(values: np.ndarray, threshold: float = 0.0) -> np.ndarray:
    """Which of the values, `[n, H, W]`, are at the threshold but for rounding."""
    away = np.abs(values - threshold)
    return away < NEAR * np.maximum(np.abs(values).max(axis=(1, 2), keepdims=True, initial=0), 1e-6)
