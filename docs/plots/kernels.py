"""kernels.png: the kernels of the synthetic lens over the field, and scaled by the defocus."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from common import LEFT, RIGHT, lens, red_and_cyan, save, scene, show

SCALES = (0.25, 0.5, 1.0, 1.5)
DENSE = np.linspace(0.1, 1.6, 31)
TILE = 27  # near the middle of 6 x 8


def main() -> None:
    """Grid, four scales, disparity against scale."""
    grid = lens(scene(96, 128))
    kernels = grid.kernels.numpy()
    size = kernels.shape[-1]
    figure = plt.figure(figsize=(9.2, 3.6), layout="constrained")
    parts = figure.add_gridspec(2, 8)
    field = kernels.reshape(grid.rows, grid.cols, 2, size, size)
    mosaic = field.transpose(2, 0, 3, 1, 4).reshape(2, grid.rows * size, grid.cols * size)
    show(
        figure.add_subplot(parts[:, :4]),
        red_and_cyan(*mosaic),
        "Kernels of the field at scale 1, left red, right cyan",
    )
    for number, scale in enumerate(SCALES):
        axes = figure.add_subplot(parts[0, 4 + number])
        left, right = _padded(grid.scaled(scale).kernels[TILE].numpy(), 95)
        show(axes, red_and_cyan(left, right), f"scale {scale:g}")
    axes = figure.add_subplot(parts[1, 4:])
    scaled = [grid.scaled(float(scale)) for scale in DENSE]
    axes.plot(
        DENSE,
        [float(g.disparity_px()[TILE]) for g in scaled],
        color=LEFT,
        label="disparity, left - right",
    )
    axes.plot(DENSE, [g.rms_radius_px() for g in scaled], color=RIGHT, label="rms radius")
    axes.set(xlabel="defocus scale d", ylabel="px")
    axes.legend()
    save(figure, "kernels.png")


def _padded(kernels: np.ndarray, size: int) -> np.ndarray:
    rims = [(size - side) // 2 for side in kernels.shape[-2:]]
    return np.pad(kernels, ((0, 0), *((rim, rim) for rim in rims)))


if __name__ == "__main__":
    main()
