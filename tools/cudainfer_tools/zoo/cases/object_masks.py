"""The masks of objects that a library makes, packed into the case's folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np

# Values nearer to the threshold than this part of the greatest are rounding's to decide.
NEAR = 1e-5


def write(folder: Path, masks: list[np.ndarray], tied: list[np.ndarray]) -> None:
    """For each frame `[n, H, W]` of booleans: the masks in the order of the expected results, and samples that rounding
    decides."""
    shape = next(frame.shape[1:] for frame in masks if len(frame))
    flat = {
        name: np.concatenate([frame.reshape(-1, *shape) for frame in frames]) for name, frames in (("masks", masks), ("tied", tied))
    }
    np.savez_compressed(
        folder / "objects.npz", counts=[len(frame) for frame in masks], shape=shape,
        **{name: np.packbits(values.astype(bool)) for name, values in flat.items()},
    )  # fmt: skip


def near(values: np.ndarray, threshold: float = 0.0) -> np.ndarray:
    """Which of the values, `[n, H, W]`, are at the threshold but for rounding."""
    away = np.abs(values - threshold)
    return away < NEAR * np.maximum(np.abs(values).max(axis=(1, 2), keepdims=True, initial=0), 1e-6)
