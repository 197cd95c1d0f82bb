"""noise.svg: how noise biases the choice of a defocus, and what the corrections do.

Left: the energy of Eq. 4 for one plane, by its formula and by an experiment that solves for the
sharp image at every scale. Right: the cost volume of noise alone.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import torch
from common import INK, LEFT, RIGHT, lens, save, scene

from napari_dpdeblur.fitting.defocus.cost_volume import compute_cost_volume
from napari_dpdeblur.fitting.parameters import Parameters
from napari_dpdeblur.generators import finish
from napari_dpdeblur.optics import KernelGrid, TileLayout, bias_correction

PARAMETERS = Parameters()
NOISE_VARIANCE, INVERSE_POWER = PARAMETERS.optics.noise_variance, PARAMETERS.optics.inverse_power
TRUE_SCALE = 0.8
SCALES = np.linspace(0.1, 1.6, 31)
SIZE_PX = 192
TRIALS = 8
FLOOR = NOISE_VARIANCE * INVERSE_POWER  # C = sigma^2 |Phi|^2


def spectra(grid: KernelGrid, scale: float) -> np.ndarray:
    """Fourier transforms of the left and right kernel of one tile: (2, n, n)."""
    kernels = np.zeros((2, SIZE_PX, SIZE_PX))
    scaled = grid.scaled(scale).kernels[0].numpy()
    height, width = scaled.shape[-2:]
    kernels[:, :height, :width] = scaled
    return np.asarray(np.fft.fft2(np.roll(kernels, (-(height // 2), -(width // 2)), (-2, -1))))


def expected(true: np.ndarray, tried: np.ndarray) -> tuple[float, float]:
    """Both terms of Eq. 4 as means over frequencies."""
    total = (np.abs(tried) ** 2).sum(0) + FLOOR
    mismatch = np.abs(true[0] * tried[1] - true[1] * tried[0]) ** 2 / INVERSE_POWER / total
    noise = NOISE_VARIANCE * ((np.abs(true) ** 2).sum(0) + FLOOR) / total
    return float(mismatch.mean()), float(noise.mean() + NOISE_VARIANCE)


def measured(
    true: np.ndarray, tried: np.ndarray, generator: np.random.Generator
) -> tuple[float, float]:
    """Energy and squared error of the views at the best sharp image, mean of random scenes."""
    energy = error = 0.0
    for _ in range(TRIALS):
        sharp = np.fft.fft2(generator.normal(0, INVERSE_POWER**-0.5, (SIZE_PX, SIZE_PX)))
        noise = np.fft.fft2(generator.normal(0, NOISE_VARIANCE**0.5, (2, SIZE_PX, SIZE_PX)))
        views = true * sharp + noise
        best = (tried.conj() * views).sum(0) / ((np.abs(tried) ** 2).sum(0) + FLOOR)
        misfit = (np.abs(tried * best - views) ** 2).sum(0)
        error += float(misfit.mean()) / SIZE_PX**2
        energy += float((misfit + FLOOR * np.abs(best) ** 2).mean()) / SIZE_PX**2
    return energy / TRIALS, error / TRIALS


def noise_cost(grid: KernelGrid, correct: bool) -> np.ndarray:
    """Mean cost of views that are nothing but noise, per scale."""
    generator = torch.Generator().manual_seed(0)
    views = torch.randn(2, 1, SIZE_PX, SIZE_PX, generator=generator) * NOISE_VARIANCE**0.5
    layout = TileLayout.regular(SIZE_PX, SIZE_PX, 1, 1)
    falling = torch.tensor(SCALES[::-1].copy(), dtype=torch.float32)
    steps = compute_cost_volume(
        views, grid, layout, falling, (4.0, 4.0), PARAMETERS.cost_volume, correct
    )
    return np.asarray(finish(steps).cost.mean((1, 2)))[::-1]


def main() -> None:
    """Two panels."""
    grid = lens(scene(96, 128)).select([27], 1, 1)
    true = spectra(grid, TRUE_SCALE)
    tried = [spectra(grid, float(scale)) for scale in SCALES]
    mismatch, noise = np.array([expected(true, each) for each in tried]).T
    generator = np.random.default_rng(0)
    energy = np.array([measured(true, each, generator)[0] for each in tried[::2]])
    unit = NOISE_VARIANCE
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.2, 3.4), layout="constrained")
    left.plot(SCALES, mismatch / unit, color=RIGHT, label="mismatch, first term")
    left.plot(SCALES, noise / unit, color=LEFT, label="noise, second term")
    left.plot(SCALES, (mismatch + noise) / unit, color=INK, label="energy (Eq. 4)")
    left.plot(SCALES[::2], energy / unit, "o", ms=3, color=INK, label="energy, experiment")
    left.axvline(TRUE_SCALE, color="0.7", lw=0.8, zorder=0)
    left.set(xlabel="tried defocus scale", ylabel="in units of the noise variance")
    left.set(title=f"one plane at scale {TRUE_SCALE:g}")
    left.legend(fontsize=7)
    bias = bias_correction([grid.scaled(float(scale)) for scale in SCALES]).numpy()
    right.plot(SCALES, bias / unit, color=RIGHT, label="B(d) of Eq. 5, of the paper")
    for correct, color, label in ((False, LEFT, "as it is"), (True, INK, "divided")):
        right.plot(
            SCALES,
            noise_cost(grid, correct) / unit,
            color=color,
            label=f"cost of noise alone, {label}",
        )
    right.set(xlabel="defocus scale", title="what noise alone costs, per scale", ylim=(0, None))
    right.legend(fontsize=7)
    save(figure, "noise.svg")


if __name__ == "__main__":
    main()
