"""Prints the values that kernels/src/peaks/tests/dark.rs compares with: heat maps decoded in NumPy as the papers say.

    python3 tools reference.refinement

Written from the papers, not from anybody's code: "Distribution-Aware Coordinate Representation for Human Pose Estimation"
(Zhang et al., CVPR 2020; section 3.2, equations 6 to 10: the blurred map scaled to its old maximum, its logarithm, one
Newton step with differences over two cells) and "The Devil Is in the Details" (Huang et al., CVPR 2020; the unit of length
is the size less 1; its published decoder takes differences over one cell, of values from 0.001 to 50, edges continued).
The whole map is blurred, by a plain two-dimensional sum, and scaled by its greatest value.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

# What lies around a map: zeros, or its mirror image.
Border = Literal["constant", "symmetric"]
WIDTH, HEIGHT = 48, 64  # of maps for an input of 192x256
# Centre of the person's point, standard deviation, and the height of a neighbour's.
MAPS = [
    ((20.3, 31.7), 2.0, 0.3),
    ((10.5, 40.25), 2.0, 0.6),
    ((33.8, 12.1), 3.0, 0.0),
    ((1.2, 30.4), 2.0, 0.2),
    ((45.6, 62.2), 2.0, 0.0),
]


def heat_map(centre: tuple[float, float], sigma: float, neighbour: float) -> np.ndarray:
    """A Gaussian, a lower one beside it, and a ripple all over."""
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH].astype(np.float64)
    dx, dy = x - centre[0], y - centre[1]
    values = 0.8 * np.exp(-(dx**2 + dy**2) / (2 * sigma**2))
    values += neighbour * np.exp(-((dx - 4) ** 2 + (dy + 3) ** 2) / (2 * sigma**2))
    return (values + 0.01 * np.sin(1.7 * x + 0.9 * y)).astype(np.float32).astype(np.float64)


def blurred(values: np.ndarray, size: int, sigma: float = 0.0, border: Border = "constant") -> np.ndarray:
    """By a Gaussian of that many cells, zeros or the mirrored map outside, scaled to the old maximum."""
    radius = (size - 1) // 2
    sigma = sigma or 0.3 * ((size - 1) * 0.5 - 1) + 0.8
    line = np.exp(-(np.arange(-radius, radius + 1.0) ** 2) / (2 * sigma**2))
    kernel = np.outer(line, line) / np.outer(line, line).sum()
    padded = np.pad(values, radius, mode=border)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (size, size))
    result = np.einsum("yxij,ij->yx", windows, kernel)
    return result * values.max() / result.max()


def newton(values: np.ndarray, x: int, y: int, spacing: int) -> tuple[float, float]:
    """The maximum of the Taylor expansion around a cell, whose second derivatives are over `spacing` cells."""

    def f(dx: int, dy: int) -> float:
        return values[y + dy, x + dx]

    gradient = np.array([f(1, 0) - f(-1, 0), f(0, 1) - f(0, -1)]) / 2
    s = spacing
    xx = (f(s, 0) - 2 * f(0, 0) + f(-s, 0)) / s**2
    yy = (f(0, s) - 2 * f(0, 0) + f(0, -s)) / s**2
    if spacing == 2:
        xy = (f(1, 1) - f(1, -1) - f(-1, 1) + f(-1, -1)) / 4
    else:
        xy = (f(1, 1) - f(1, 0) - f(0, 1) + 2 * f(0, 0) - f(-1, 0) - f(0, -1) + f(-1, -1)) / 2
    dx, dy = -np.linalg.solve(np.array([[xx, xy], [xy, yy]]), gradient)
    return x + dx, y + dy


def peak(values: np.ndarray) -> tuple[int, int]:
    """Column and row of the greatest value."""
    y, x = np.unravel_index(values.argmax(), values.shape)
    return int(x), int(y)


def dark(values: np.ndarray, size: int) -> tuple[float, float]:
    """DarkPose; no refinement at the edge."""
    x, y = peak(values)
    if not (2 <= x < WIDTH - 2 and 2 <= y < HEIGHT - 2):
        return x, y
    return newton(np.log(np.maximum(blurred(values, size), 1e-10)), x, y, 2)


def dark_udp(values: np.ndarray, size: int, sigma: float = 0.0, border: Border = "constant") -> tuple[float, float]:
    """UDP's way."""
    column, row = peak(values)
    logarithms = np.pad(np.log(np.clip(blurred(values, size, sigma, border), 1e-3, 50)), 1, mode="edge")
    x, y = newton(logarithms, column + 1, row + 1, 1)
    return x - 1, y - 1


def shift(values: np.ndarray) -> tuple[float, float]:
    """A quarter towards the greater neighbour."""
    x, y = peak(values)
    return (
        x + 0.25 * np.sign(values[y, x + 1] - values[y, x - 1]),
        y + 0.25 * np.sign(values[y + 1, x] - values[y - 1, x]),
    )


def show(name: str, at: tuple[float, float]) -> None:
    print(f"    {name}: ({at[0]:.4f}, {at[1]:.4f})")


def main() -> None:
    for centre, sigma, neighbour in MAPS:
        values = heat_map(centre, sigma, neighbour)
        print(centre, sigma, neighbour)
        show("shift", shift(values))
        for size in (11, 17):
            show(f"dark, {size}", dark(values, size))
            x, y = dark_udp(values, size)
            show(f"dark-udp, {size}", (x, y))
            # From the map's unit of length to the input's.
            show("    on the input", (x / (WIDTH - 1) * 191, y / (HEIGHT - 1) * 255))
        # As transformers reads ViTPose, and the same over wider kernels.
        for size, sigma in ((11, 0.8), (11, 2.0), (31, 4.0)):
            show(f"dark-udp, {size}, {sigma}, mirrored", dark_udp(values, size, sigma, "symmetric"))


if __name__ == "__main__":
    main()
