"""Operations on constants, which are computed while converting."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def sparse_to_dense(indices: np.ndarray, shape: np.ndarray, values: np.ndarray, default: np.ndarray) -> np.ndarray:
    dense = np.full(shape.tolist(), default, values.dtype)
    if indices.size:
        dense[tuple(indices.T) if indices.ndim > 1 else indices] = values
    return dense


FOLD: dict[str, Callable[..., np.ndarray]] = {
    "Add": np.add,
    "AddV2": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Identity": lambda x: x,
    "Reshape": lambda x, shape: x.reshape(shape),
    "Transpose": lambda x, perm: x.transpose(perm),
    "SparseToDense": sparse_to_dense,
}
