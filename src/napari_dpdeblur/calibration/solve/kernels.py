"""Solve for the blur kernels of all tiles, given the latent image and the captured views.

Mannan and Langer (2016): per tile and view, minimise

    1/2 |A k - b|^2 + l1/2 |grad k|^2 + l2/2 |k|^2 + l3 T'k + l4/2 |grad(A k) - grad b|^2

subject to k >= 0 and sum k = 1, where A convolves with the latent image, b is the captured view
and T a radial penalty. A is never built: it and its adjoint are FFTs of one tile. The two data
terms are one, of images filtered by sqrt(1 + l4 |omega|^2), because filters commute.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field, replace

import numpy as np
import torch

from napari_dpdeblur.calibration.solve.kernel_problem import KernelProblem
from napari_dpdeblur.calibration.solve.levels import Levels
from napari_dpdeblur.calibration.solve.refine_geometry import tile_stretches
from napari_dpdeblur.calibration.solve.settings import SolveSettings
from napari_dpdeblur.calibration.solve.tile_observations import TargetObservations, TileObservations
from napari_dpdeblur.errors import CalibrationError
from napari_dpdeblur.optics import TileLayout

__all__ = [
    "KernelSolution",
    "SolveSettings",
    "TargetObservations",
    "fill_from_neighbours",
    "solve_kernels",
]

CHUNK_TILES = 8


@dataclass(frozen=True, eq=False)
class KernelSolution:
    """Kernels (P, 2, K, K) and how well they explain the views.

    ``residual`` (2, H, W): view minus model, weighted to uniform noise; ``noise`` (P,): standard
    deviation of the noise on the same scale; ``solved`` (P,): false where filled from neighbours;
    ``levels``: those of the views before they were corrected.
    """

    kernels: np.ndarray
    residual: np.ndarray
    noise: np.ndarray
    solved: np.ndarray
    levels: Levels = field(default_factory=Levels)


def solve_kernels(
    observations: TargetObservations, settings: SolveSettings
) -> Generator[tuple[int, int], None, KernelSolution]:
    """Solve all tiles; yields (tiles done, tiles in total) and returns the solution."""
    height, width = observations.valid.shape
    layout = TileLayout.regular(height, width, settings.rows, settings.cols)
    tiles = TileObservations.of(observations, layout, settings)
    size = settings.kernel_px
    kernels = np.zeros((len(tiles.latent), 2, size, size), np.float32)
    residual = np.zeros_like(tiles.views)
    todo = np.flatnonzero(tiles.solvable)
    if len(todo) == 0:
        raise CalibrationError(
            "No tile of the calibrated field contains enough of the pattern; make the screen fill "
            "the centre of the image."
        )
    for start in range(0, len(todo), CHUNK_TILES):
        chunk = todo[start : start + CHUNK_TILES]
        with torch.no_grad():
            problem, found = _solve_chunk(tiles, chunk, settings)
            residual[chunk] = problem.residual(found).numpy()
        kernels[chunk] = found.numpy()
        yield start + len(chunk), len(todo)
    filled = fill_from_neighbours(kernels, tiles.solvable, settings.rows, settings.cols)
    picture = tiles.joined(residual, layout)
    return KernelSolution(filled, picture, tiles.noise, tiles.solvable)


def _solve_chunk(
    tiles: TileObservations, chunk: np.ndarray, settings: SolveSettings
) -> tuple[KernelProblem, torch.Tensor]:
    """Kernels (n, 2, K, K) of some tiles: rough, then with the geometry refined."""
    problem = KernelProblem.of(tiles, chunk, settings)
    if tiles.render is None or settings.rough_iterations == 0:
        return problem, problem.minimise(settings.iterations)
    rough = problem.minimise(settings.rough_iterations)
    for tile, stretch in zip(chunk, tile_stretches(problem, rough), strict=True):
        tiles.render_again(tile, stretch)
    problem = replace(KernelProblem.of(tiles, chunk, settings), start=rough)
    return problem, problem.minimise(settings.iterations)


def fill_from_neighbours(
    kernels: np.ndarray, solved: np.ndarray, rows: int, cols: int
) -> np.ndarray:
    """Fill tiles without a kernel with the mean of the nearest solved ones."""
    filled = kernels.copy()
    row, col = np.divmod(np.arange(rows * cols), cols)
    for tile in np.flatnonzero(~solved):
        distance = np.hypot(row - row[tile], col - col[tile])
        distance[~solved] = np.inf
        nearest = distance <= distance.min() + 0.5
        filled[tile] = kernels[nearest].mean(axis=0)
    return filled
